//! The builder of one entry: a stream of instructions, labels and jumps that `finish` turns into basic
//! blocks.
//!
//! The builder that is active on a thread is found through a thread-local, so that kernel values are small `Copy` handles and
//! `a + b` needs no context argument. It holds nothing but what the running [`build_entry`] put in, so the text still
//! depends on nothing else. A handle from another entry is an error of the build, never a silently wrong register.
//!
//! What is merged while building ("value numbering"): constants, special registers and integer address arithmetic over
//! values, where the earlier one dominates. Never loads, conversions, floats or reads of variables.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::hash::FastMap;
use crate::imm::Imm;
use crate::ir::{
    Entry, Guard, Inst, LaunchBounds, Operand, Param, ParamId, Place, Reg, SharedArray, SharedId,
};
use crate::isa::{Effect, Eval, Form, Mod, Mods, Op, Role};
use crate::target::Target;
use crate::types::Ty;

mod finish;
mod joins;
mod naming;

/// A jump target that may be placed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(u32);

/// A mistake found while an entry is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub place: Place,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// All mistakes of a build; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildErrors {
    /// The entry.
    pub entry: String,
    /// The mistakes, in the order of the source's execution.
    pub errors: Vec<BuildError>,
}

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}` cannot be built", self.entry)?;
        for error in &self.errors {
            write!(f, "\n{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildErrors {}

/// A register while its entry is built.
#[derive(Debug)]
struct RegBuild {
    ty: Ty,
    variable: bool,
    name: Option<Rc<str>>,
}

/// An element of the stream.
#[derive(Debug)]
enum Item {
    Inst(Inst),
    Label(Label),
    Comment(String),
    Jump(Label, Place),
    Branch { guard: Guard, target: Label, uniform: bool, place: Place },
    Ret(Place),
}

#[derive(Debug)]
struct LabelBuild {
    name: String,
    /// Length of the numbering stack when the first jump to it was made.
    first_jump: Option<usize>,
    placed: bool,
}

type Key = (Op, Mods, Vec<Operand>);

/// An entry under construction.
#[derive(Debug)]
pub struct Builder {
    name: String,
    place: Place,
    target: Target,
    generation: u32,
    params: Vec<Param>,
    shared: Vec<SharedArray>,
    bounds: LaunchBounds,
    regs: Vec<RegBuild>,
    items: Vec<Item>,
    labels: Vec<LabelBuild>,
    /// Labels that are jumped to and not placed yet.
    pending: Vec<Label>,
    numbered: FastMap<Rc<Key>, Reg>,
    numbering: Vec<Rc<Key>>,
    errors: Vec<BuildError>,
}

/// Identity of a register handle: the register and the build it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) reg: Reg,
    pub(crate) generation: u32,
}

thread_local! {
    static ACTIVE: RefCell<Vec<Builder>> = const { RefCell::new(Vec::new()) };
    static GENERATIONS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Runs `f` on the builder that is active on this thread. Outside of a build it gets one that is thrown away: the
/// handles that it makes are refused by every other.
pub(crate) fn with<R>(f: impl FnOnce(&mut Builder) -> R) -> R {
    ACTIVE.with_borrow_mut(|active| match active.last_mut() {
        Some(builder) => f(builder),
        None => f(&mut Builder::new("none", Target::all()[0], Place::default())),
    })
}

/// Takes the builder off the stack again when the body panics.
struct Active;

impl Drop for Active {
    fn drop(&mut self) {
        ACTIVE.with_borrow_mut(|active| active.pop());
    }
}

/// Builds an entry: `body` calls the functions of [`crate::ops`] and [`crate::lang`], which add to it.
#[track_caller]
pub fn build_entry(name: &str, target: Target, body: impl FnOnce()) -> Result<Entry, BuildErrors> {
    let place = Place::caller();
    ACTIVE.with_borrow_mut(|active| active.push(Builder::new(name, target, place)));
    let guard = Active;
    body();
    std::mem::forget(guard);
    let builder = ACTIVE.with_borrow_mut(Vec::pop);
    builder.unwrap_or_else(|| Builder::new(name, target, place)).finish()
}

impl Builder {
    fn new(name: &str, target: Target, place: Place) -> Builder {
        let generation = GENERATIONS.get().wrapping_add(1);
        GENERATIONS.set(generation);
        Builder {
            name: name.to_owned(),
            place,
            target,
            generation,
            params: Vec::new(),
            shared: Vec::new(),
            bounds: LaunchBounds::default(),
            regs: Vec::new(),
            items: Vec::new(),
            labels: Vec::new(),
            pending: Vec::new(),
            numbered: FastMap::default(),
            numbering: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// The target that is built for.
    pub fn target(&self) -> Target {
        self.target
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// The launch bounds, to be set.
    pub fn bounds_mut(&mut self) -> &mut LaunchBounds {
        &mut self.bounds
    }

    /// Records a mistake; the build goes on, so that all of them are reported.
    pub fn error(&mut self, place: Place, message: impl Into<String>) {
        let error = BuildError { message: message.into(), place };
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// Declares a parameter.
    pub fn param(&mut self, name: &str, ty: Ty, pointer_align: Option<u32>, place: Place) -> ParamId {
        let id = ParamId(self.params.len() as u32);
        self.params.push(Param { name: name.to_owned(), ty, pointer_align, place });
        id
    }

    /// Declares a shared array of `len` elements, or a dynamic one.
    pub fn shared(&mut self, name: &str, ty: Ty, len: Option<u32>, align: u32, place: Place) -> SharedId {
        let id = SharedId(self.shared.len() as u32);
        let taken =
            self.shared.iter().filter(|array| array.name.trim_end_matches(char::is_numeric) == name).count();
        let name = if taken == 0 { name.to_owned() } else { format!("{name}{taken}") };
        self.shared.push(SharedArray { name, align: align.max(ty.bytes()), ty, len, place });
        id
    }

    /// A new register of the type that `ty` is declared with.
    pub(crate) fn reg(&mut self, ty: Ty, variable: bool) -> Handle {
        let reg = Reg(self.regs.len() as u32);
        self.regs.push(RegBuild { ty: ty.register(), variable, name: None });
        Handle { reg, generation: self.generation }
    }

    /// Checks that a handle belongs to this build.
    pub(crate) fn own(&mut self, handle: Handle, place: Place) -> Reg {
        if handle.generation == self.generation {
            return handle.reg;
        }
        self.error(place, "this value belongs to another kernel, or was made outside of one");
        self.reg(Ty::B32, false).reg
    }

    /// Adds an instruction. Literals in operands that must be registers are moved into one first.
    pub fn push(
        &mut self,
        op: Op,
        mods: Mods,
        mut operands: Vec<Operand>,
        guard: Option<Guard>,
        place: Place,
    ) {
        let form = Form::of(op);
        for (operand, spec) in operands.iter_mut().zip(form.operands) {
            if let Some(ty) = spec.ty.of(&mods) {
                operand.retype_literals(ty);
            }
            let literal = spec.ty.of(&mods).is_none_or(has_literals);
            if (spec.role == Role::UseReg || !literal)
                && let Operand::Imm(imm) = *operand
            {
                *operand = Operand::Reg(self.constant(imm, place));
            }
        }
        self.items.push(Item::Inst(Inst { op, mods, operands, guard, place }));
    }

    /// A register that holds a literal.
    pub(crate) fn constant(&mut self, imm: Imm, place: Place) -> Reg {
        let ty = imm.ty.register();
        if ty == Ty::Pred {
            // PTX has no predicate literal outside of a few operands; a comparison of a constant makes one.
            let mods = [crate::isa::mods::Cmp::Eq.get(), Mod::t(Ty::U32)];
            let one = Operand::Imm(Imm::new(Ty::U32, imm.bits));
            return self.value(
                Op::Setp,
                Mods::new(&mods),
                vec![one, Operand::Imm(Imm::new(Ty::U32, 1))],
                ty,
                place,
            );
        }
        // f16 has no literals of its own.
        let mov = if ty == Ty::F16 { Ty::B16 } else { ty };
        self.value(Op::Mov, Mods::new(&[Mod::t(mov)]), vec![Operand::Imm(Imm { ty: mov, ..imm })], ty, place)
    }

    /// Adds an instruction with one result (operand 0, not in `uses`) and returns its register; an equal earlier one that
    /// dominates this place is reused where the rules of this module allow it.
    pub(crate) fn value(&mut self, op: Op, mods: Mods, mut uses: Vec<Operand>, ty: Ty, place: Place) -> Reg {
        let key = self.may_number(op, &mods, &uses).then(|| Rc::new((op, mods, uses.clone())));
        if let Some(reg) = key.as_ref().and_then(|key| self.numbered.get(key)) {
            return *reg;
        }
        let reg = self.reg(ty, false).reg;
        uses.insert(0, Operand::Reg(reg));
        self.push(op, mods, uses, None, place);
        if let Some(key) = key {
            self.numbered.insert(Rc::clone(&key), reg);
            self.numbering.push(key);
        }
        reg
    }

    fn may_number(&self, op: Op, mods: &Mods, uses: &[Operand]) -> bool {
        let form = Form::of(op);
        let family = match op {
            Op::Mov => !matches!(uses[0], Operand::Reg(_)),
            Op::MovPack | Op::MovUnpack => false,
            _ if form.mnemonic() == "cvt" => false,
            _ => mods.t().is_some_and(is_exact),
        };
        let mut stable = true;
        for operand in uses {
            operand.for_each_reg(&mut |reg| stable &= !self.regs[reg.index()].variable);
        }
        let changes = |operand: &Operand| matches!(operand, Operand::Special(special) if special.changes());
        form.effect == Effect::Pure && family && stable && !uses.iter().any(changes)
    }

    /// Computes a pure integer or predicate instruction whose operands are all literals.
    pub(crate) fn fold(op: Op, mods: &Mods, uses: &[Operand], result: Ty) -> Option<Imm> {
        let Eval::Lanes(select) = Form::of(op).eval else { return None };
        if !is_exact(mods.t()?) || result.is_float() || result == Ty::Pred {
            return None;
        }
        let mut values = Vec::with_capacity(uses.len());
        for operand in uses {
            let Operand::Imm(imm) = operand else { return None };
            values.push(imm.bits);
        }
        Some(Imm::new(result, select(mods)?.scalar(&values)?))
    }

    /// A new label; `name` is for readers and made unique.
    pub fn label(&mut self, name: &str) -> Label {
        self.labels.push(LabelBuild { name: name.to_owned(), first_jump: None, placed: false });
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts a label here. What was numbered after the first jump to it does not dominate this place and is forgotten.
    pub fn place(&mut self, label: Label) {
        let build = &mut self.labels[label.0 as usize];
        build.placed = true;
        if let Some(kept) = build.first_jump {
            for key in self.numbering.drain(kept.min(self.numbering.len())..) {
                self.numbered.remove(&key);
            }
            // What is numbered from here on stands at positions that were taken when those labels were jumped to, and
            // does not dominate them either.
            self.pending.retain(|other| *other != label);
            for other in &self.pending {
                let first = &mut self.labels[other.0 as usize].first_jump;
                *first = first.map(|first| first.min(kept));
            }
        }
        self.items.push(Item::Label(label));
    }

    fn jump_made(&mut self, label: Label) {
        let length = self.numbering.len();
        let build = &mut self.labels[label.0 as usize];
        if build.first_jump.is_none() && !build.placed {
            self.pending.push(label);
        }
        build.first_jump = Some(build.first_jump.map_or(length, |first| first.min(length)));
    }

    /// Jumps.
    pub fn jump(&mut self, label: Label, place: Place) {
        self.jump_made(label);
        self.items.push(Item::Jump(label, place));
    }

    /// Jumps where the guard holds.
    pub fn branch(&mut self, guard: Guard, target: Label, place: Place) {
        self.jump_made(target);
        self.items.push(Item::Branch { guard, target, uniform: false, place });
    }

    /// Jumps where the guard holds, which all lanes of a warp that come here decide alike: the author's promise.
    pub fn branch_uniform(&mut self, guard: Guard, target: Label, place: Place) {
        self.jump_made(target);
        self.items.push(Item::Branch { guard, target, uniform: true, place });
    }

    /// Ends the thread.
    pub fn ret(&mut self, place: Place) {
        self.items.push(Item::Ret(place));
    }

    /// A comment line for readers of the text.
    pub fn comment(&mut self, text: &str) {
        self.items.push(Item::Comment(text.to_owned()));
    }
}

/// Whether an operand of this type may be a literal.
fn has_literals(ty: Ty) -> bool {
    ty == Ty::Pred || ty.is_int() || ty.is_bits() || matches!(ty, Ty::F32 | Ty::F64)
}

/// Integers, bits and predicates: equal instructions give equal results, and the host computes them as the device does.
fn is_exact(ty: Ty) -> bool {
    ty == Ty::Pred || ty.is_int() || ty.is_bits()
}
