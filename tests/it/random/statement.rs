//! The statements of random programs.

use std::sync::OnceLock;

use ptxsmith_builder::ir::{BlockId, Guard, Operand, Reg, Terminator};
use ptxsmith_builder::isa::mods::{AtomOp, Shfl, Space, Vec as Width, Vote};
use ptxsmith_builder::isa::{Effect, Eval, Form, Mod, Mods, Op, OpTy, OperandSpec, Role, Slot};
use ptxsmith_builder::target::{PtxVersion, Target};
use ptxsmith_builder::types::Ty;

use super::program::{Draw, FIXED, FIXED_BYTES, SLOT, THREADS, X_BYTES, Y_BYTES, at, literal, within};

/// How deep branches and loops stand in each other.
const DEPTH: usize = 3;
/// Every lane of a warp.
const FULL: u64 = 0xffff_ffff;
/// The newest version that both assemblers read.
const NEWEST: PtxVersion = PtxVersion::new(9, 0);

/// Rows that compute a value lane by lane, with combinations of their modifiers.
fn pure_forms() -> &'static [(&'static Form, Vec<Mods>)] {
    static FORMS: OnceLock<Vec<(&'static Form, Vec<Mods>)>> = OnceLock::new();
    FORMS.get_or_init(|| {
        let pure = Form::all()
            .iter()
            .filter(|form| form.effect == Effect::Pure && matches!(form.eval, Eval::Lanes(_)))
            .filter(|form| form.operands.iter().all(|spec| spec.role != Role::Addr));
        let narrow = |form: &Form, mods: &Mods| {
            form.operands.iter().all(|spec| form.operand_ty(spec, mods).0.is_some_and(|ty| ty.bits() <= 64))
        };
        pure.map(|form| (form, form.combinations().into_iter().filter(|mods| narrow(form, mods)).collect()))
            .filter(|(_, all): &(_, Vec<Mods>)| !all.is_empty())
            .collect()
    })
}

/// Whether a target has an instruction, in a version that both assemblers read.
fn is_there(form: &Form, mods: &Mods, target: Target) -> bool {
    form.requirements(mods).all(|since| since.sm.admits(target) && since.ptx <= NEWEST)
}

/// Whether an operand of the type may be a literal.
fn has_literals(ty: Ty) -> bool {
    ty.is_int() || ty.is_bits() || matches!(ty, Ty::F32 | Ty::F64)
}

impl Draw<'_> {
    /// A sequence of statements; what they define is not known behind it.
    pub(super) fn statements(&mut self, depth: usize) {
        let (live, uniform) = (self.live.len(), self.uniform.len());
        let count = if depth == 0 { 40 } else { 1 + self.tape.below(6) };
        for _ in 0..count {
            if self.tape.is_over() {
                break;
            }
            self.statement(depth);
        }
        if depth > 0 {
            self.live.truncate(live);
            self.uniform.truncate(uniform);
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.tape.below(20) {
            0..8 => self.compute(),
            8..10 => self.load(),
            10 => self.store(),
            11 if !self.emulated => self.add_to_counter(),
            12 | 13 if self.together => self.exchange_slots(),
            14 if self.together => self.exchange_fixed(),
            15 if self.together => self.exchange_lanes(),
            16 | 17 if depth < DEPTH => self.branch(depth),
            18 if depth < DEPTH => self.count_down(depth),
            19 if depth < DEPTH => self.search(depth),
            _ => self.compute(),
        }
    }

    /// A live register that an operand of the type may be.
    fn pick(&mut self, ty: Ty) -> Reg {
        let fitting: Vec<Reg> = self.live.iter().copied().filter(|reg| ty.agrees(self.ty(*reg))).collect();
        assert!(!fitting.is_empty(), "a value of every type is live, {ty} too");
        // The newest are the most interesting.
        let back = self.tape.below(fitting.len().min(6));
        fitting[fitting.len() - 1 - back]
    }

    fn source(&mut self, form: &Form, spec: &OperandSpec, mods: &Mods) -> Operand {
        let ty = form.operand_ty(spec, mods).0.expect("the forms are chosen so");
        let only = spec.role == Role::Imm;
        if only || (spec.role == Role::Use && has_literals(ty) && self.tape.one_in(4)) {
            if form.op == Op::CreatePolicy {
                return literal(ty, 0.5f32.to_bits().into());
            }
            let bits = u64::from(self.tape.word()).wrapping_mul(0x1_0001_8003);
            // Positions and lengths of bit fields are literals of a byte.
            let small = matches!(form.op, Op::Bfe | Op::Bfi) && spec.ty == OpTy::Fixed(Ty::U32);
            return literal(ty, if small || self.tape.one_in(2) { bits % 67 } else { bits });
        }
        Operand::Reg(self.pick(ty))
    }

    /// The register that takes a result, which is new or a variable, and whether it is new.
    fn result(&mut self, ty: Ty) -> (Reg, bool) {
        let own = ty.register();
        let variable = self.variables.iter().copied().find(|reg| self.ty(*reg) == own);
        match variable {
            Some(variable) if self.tape.one_in(3) => (variable, false),
            _ => (self.reg(ty), true),
        }
    }

    /// A guard, in a quarter of the cases.
    fn guard(&mut self) -> Option<Guard> {
        if !self.tape.one_in(4) {
            return None;
        }
        Some(Guard { pred: self.pick(Ty::Pred), negated: self.tape.one_in(2) })
    }

    fn compute(&mut self) {
        let forms = pure_forms();
        let (form, all) = &forms[self.tape.below(forms.len())];
        let mods = all[self.tape.below(all.len())];
        if !is_there(form, &mods, self.target) {
            return;
        }
        let mut operands = Vec::new();
        let mut defined = Vec::new();
        let mut may_guard = true;
        for spec in form.operands {
            if spec.role == Role::Def {
                let ty = form.operand_ty(spec, &mods).0.expect("the forms are chosen so");
                let (reg, new) = self.result(ty);
                if new {
                    defined.push(reg);
                }
                may_guard &= !new;
                operands.push(Operand::Reg(reg));
            } else {
                operands.push(self.source(form, spec, &mods));
            }
        }
        let guard = if may_guard { self.guard() } else { None };
        self.push_guarded(form.op, mods, operands, guard);
        self.live.extend(defined);
    }

    /// A type and a width of a vector, of at most `most` bytes.
    fn shape(&mut self, op: Op, space: Space, most: u32) -> Option<(Mods, Ty, u32)> {
        let form = Form::of(op);
        let ty = form.types[self.tape.below(form.types.len())];
        let width = [None, Some(Width::V2), Some(Width::V4), Some(Width::V8)][self.tape.below(4)];
        let mut mods = Mods::new(&[Mod::t(ty)]);
        if form.allows(space.get()) {
            mods.set(space.get());
        }
        if let Some(width) = width {
            mods.set(width.get());
        }
        let bytes = ty.bytes() * mods.vec() as u32;
        let fits = bytes <= most && form.misfit(&mods).is_none() && is_there(form, &mods, self.target);
        fits.then_some((mods, ty, bytes))
    }

    fn new_elements(&mut self, ty: Ty, mods: &Mods) -> Operand {
        let regs: Vec<Reg> = (0..mods.vec()).map(|_| self.reg(ty)).collect();
        self.live.extend(&regs);
        elements(regs, mods)
    }

    fn live_elements(&mut self, ty: Ty, mods: &Mods) -> Operand {
        let mut regs = vec![self.pick(ty)];
        while regs.len() < mods.vec() {
            let next = self.pick(ty);
            // The elements agree with each other, not only with the instruction.
            let alike = regs.iter().all(|reg| self.ty(*reg).agrees(self.ty(next)));
            regs.push(if alike { next } else { regs[0] });
        }
        elements(regs, mods)
    }

    fn load(&mut self) {
        let op = if self.tape.one_in(3) { Op::LdNc } else { Op::Ld };
        let Some((mods, ty, bytes)) = self.shape(op, Space::Global, X_BYTES) else { return };
        let offset = self.tape.below((X_BYTES / bytes) as usize) as u32 * bytes;
        let to = self.new_elements(ty, &mods);
        self.push_guarded(op, mods, vec![to, at(self.x, offset)], None);
    }

    fn store(&mut self) {
        let Some((mods, ty, bytes)) = self.shape(Op::St, Space::Global, X_BYTES) else { return };
        let offset = self.tape.below((Y_BYTES / bytes) as usize) as u32 * bytes;
        let from = self.live_elements(ty, &mods);
        let guard = self.guard();
        self.push_guarded(Op::St, mods, vec![at(self.y, offset), from], guard);
    }

    /// An atomic sum of integers: the order of the threads does not change it.
    fn add_to_counter(&mut self) {
        let value = self.pick(Ty::U32);
        let mods = Mods::new(&[Mod::t(Ty::U32), Space::Global.get()]);
        let guard = self.guard();
        self.push_guarded(Op::RedAdd, mods, vec![at(self.z, 0), Operand::Reg(value)], guard);
    }

    fn barrier(&mut self) {
        self.push(Op::BarSync, &[], vec![literal(Ty::U32, 0)]);
    }

    /// Every thread writes its slot and reads that of another one.
    fn exchange_slots(&mut self) {
        let Some((mods, ty, bytes)) = self.shape(Op::St, Space::Shared, SLOT) else { return };
        let offset = self.tape.below((SLOT / bytes) as usize) as u32 * bytes;
        let from = self.live_elements(ty, &mods);
        self.push_guarded(Op::St, mods, vec![at(self.slot, offset), from], None);
        self.barrier();
        let other = literal(Ty::B32, 1 + self.tape.below(THREADS as usize - 1) as u64);
        let other = self.value(Op::Xor, &[Mod::t(Ty::B32)], Ty::U32, vec![Operand::Reg(self.tid), other]);
        let slot = self.slot_of(other);
        let to = self.new_elements(ty, &mods);
        self.push_guarded(Op::Ld, mods, vec![to, at(slot, offset)], None);
        self.barrier();
    }

    /// One thread writes a place that every thread reads.
    fn exchange_fixed(&mut self) {
        let Some((mods, ty, bytes)) = self.shape(Op::St, Space::Shared, SLOT) else { return };
        let offset = self.tape.below((FIXED_BYTES / bytes) as usize) as u32 * bytes;
        let first = self.compare(self.tid, 1);
        let from = self.live_elements(ty, &mods);
        let guard = Some(Guard { pred: first, negated: false });
        self.push_guarded(Op::St, mods, vec![within(FIXED, offset), from], guard);
        self.barrier();
        let to = self.new_elements(ty, &mods);
        self.push_guarded(Op::Ld, mods, vec![to, within(FIXED, offset)], None);
        self.barrier();
    }

    fn exchange_lanes(&mut self) {
        let mask = literal(Ty::U32, FULL);
        match self.tape.below(if self.emulated { 1 } else { 3 }) {
            0 => {
                let mode = [Shfl::Bfly, Shfl::Idx, Shfl::Up, Shfl::Down][self.tape.below(4)];
                let clamp = if mode == Shfl::Up { 0 } else { 31 };
                let distance = literal(Ty::U32, self.tape.below(32) as u64);
                let from = Operand::Reg(self.pick(Ty::B32));
                let uses = vec![from, distance, literal(Ty::U32, clamp), mask];
                let to = self.value(Op::ShflSync, &[Mod::t(Ty::B32), mode.get()], Ty::B32, uses);
                self.live.push(to);
            }
            1 => {
                let vote = [Vote::All, Vote::Any, Vote::Uni][self.tape.below(3)];
                let uses = vec![Operand::Reg(self.pick(Ty::Pred)), mask];
                let to = self.value(Op::VoteSync, &[vote.get()], Ty::Pred, uses);
                self.live.push(to);
            }
            _ => {
                let ty = [Ty::U32, Ty::S32][self.tape.below(2)];
                let mods = [Mod::t(ty), [AtomOp::Add, AtomOp::Min, AtomOp::Max][self.tape.below(3)].get()];
                if is_there(Form::of(Op::Redux), &Mods::new(&mods), self.target) {
                    let uses = vec![Operand::Reg(self.pick(ty)), mask];
                    let to = self.value(Op::Redux, &mods, ty, uses);
                    self.live.push(to);
                }
            }
        }
    }

    /// A condition, and whether all threads of the block decide alike.
    fn condition(&mut self) -> (Reg, bool) {
        let limit = self.tape.below(9) as u32;
        if self.tape.one_in(2) {
            let reg = self.uniform[self.tape.below(self.uniform.len())];
            return (self.compare(reg, limit), true);
        }
        match self.tape.below(2) {
            0 => (self.pick(Ty::Pred), false),
            _ => (self.compare(self.tid, limit * 7), false),
        }
    }

    fn branch(&mut self, depth: usize) {
        let (pred, uniform) = self.condition();
        let negated = self.tape.one_in(2);
        let together = self.together;
        self.together &= uniform;
        let from = self.block();
        self.end_block(branch(pred, negated));
        self.statements(depth + 1);
        let mut end = from;
        if self.tape.one_in(2) {
            end = self.block();
            // An arm is never empty, or the jump would lead to the label that follows it.
            self.tick();
            let other = self.end_block(Terminator::Jump(from));
            self.aim(from, other);
            self.tick();
            self.statements(depth + 1);
        }
        self.tick();
        let join = self.end_block(Terminator::Fall);
        self.aim(end, join);
        self.tick();
        self.together = together;
    }

    /// An instruction that only keeps a block from being empty.
    fn tick(&mut self) {
        let reg = self.pick(Ty::U32);
        self.value(Op::Not, &[Mod::t(Ty::B32)], Ty::U32, vec![Operand::Reg(reg)]);
    }

    /// A new register with a number of rounds from 1 to 4, and whether all threads of the block have the same.
    fn rounds(&mut self) -> (Reg, bool) {
        let uniform = self.tape.one_in(2);
        let from = if uniform { self.uniform[self.tape.below(self.uniform.len())] } else { self.tid };
        let uses = vec![Operand::Reg(from), literal(Ty::B32, 3)];
        let rest = self.value(Op::And, &[Mod::t(Ty::B32)], Ty::U32, uses);
        let uses = vec![Operand::Reg(rest), literal(Ty::U32, 1)];
        (self.value(Op::AddI, &[Mod::t(Ty::U32)], Ty::U32, uses), uniform)
    }

    fn decrement(&mut self, counter: Reg) {
        let operands = vec![Operand::Reg(counter), Operand::Reg(counter), literal(Ty::U32, 1)];
        self.push(Op::SubI, &[Mod::t(Ty::U32)], operands);
    }

    /// `do { … } while (--counter > 0)`.
    fn count_down(&mut self, depth: usize) {
        let (counter, uniform) = self.rounds();
        let together = self.together;
        self.together &= uniform;
        let head = self.end_block(Terminator::Fall);
        self.tick();
        self.statements(depth + 1);
        self.decrement(counter);
        let done = self.compare(counter, 1);
        let back = self.block();
        self.end_block(branch(done, false));
        self.aim(back, head);
        self.tick();
        self.together = together;
    }

    /// `while (counter > 0) { …; if (p) break; --counter }`.
    fn search(&mut self, depth: usize) {
        let (counter, _) = self.rounds();
        let together = self.together;
        self.together = false;
        let head = self.end_block(Terminator::Fall);
        let done = self.compare(counter, 1);
        self.end_block(branch(done, true));
        let mut exits = vec![head];
        self.statements(depth + 1);
        if self.tape.one_in(2) {
            let (pred, _) = self.condition();
            exits.push(self.block());
            self.end_block(branch(pred, true));
        }
        self.decrement(counter);
        let exit = self.end_block(Terminator::Jump(head));
        for from in exits {
            self.aim(from, exit);
        }
        self.tick();
        self.together = together;
    }
}

/// A branch over what follows where the predicate does not hold, or with `negated` where it does; aimed later.
fn branch(pred: Reg, negated: bool) -> Terminator {
    Terminator::Branch { pred, negated: !negated, target: BlockId(0), uniform: false }
}

fn elements(regs: Vec<Reg>, mods: &Mods) -> Operand {
    match (regs.as_slice(), mods.get(Slot::Vec)) {
        ([one], None) => Operand::Reg(*one),
        _ => Operand::Vec(regs.into_iter().map(Operand::Reg).collect()),
    }
}
