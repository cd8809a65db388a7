//! Random well-typed kernels, as data in the form that the reader gives back.
//!
//! A program is drawn from a tape of numbers, so that any tape gives a program and a shorter one a smaller program. Every
//! thread reads its own 32 bytes of `x` and writes its own 64 of `y`; what threads exchange through shared memory is
//! ordered by barriers, which stand where all threads of the block come by. So no run has a finding and every run has
//! the same result.

use ptxsmith_builder::imm::Imm;
use ptxsmith_builder::ir::{
    Addr, Base, Block, BlockId, Comments, Entry, Guard, Inst, LaunchBounds, Module, Operand, Param, ParamId,
    Place, Reg, RegInfo, SharedArray, SharedId, Terminator,
};
use ptxsmith_builder::isa::mods::{Half, Space};
use ptxsmith_builder::isa::{Mod, Mods, Op, SpecialReg};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Ty;

/// Architectures that programs are for.
pub(super) const TARGETS: &[u16] = &[75, 80, 90, 100, 120];
/// Threads of a block: two warps.
pub(super) const THREADS: u32 = 64;
/// Blocks of the grid.
pub(super) const BLOCKS: u32 = 2;
/// Bytes of `x` that one thread reads, and their alignment.
pub(super) const X_BYTES: u32 = 32;
/// Bytes of `y` that one thread writes.
pub(super) const Y_BYTES: u32 = 64;
/// Bytes of shared memory that one thread writes at a time.
pub(super) const SLOT: u32 = 16;
/// The shared array with a slot for every thread, and the one that is accessed at constant offsets.
pub(super) const SLOTS: SharedId = SharedId(0);
pub(super) const FIXED: SharedId = SharedId(1);
/// Bytes of [`FIXED`].
pub(super) const FIXED_BYTES: u32 = 64;
/// The run-time value of the parameter `n`.
pub(super) const N: u32 = 5;

/// The numbers that a program is drawn from; beyond their end they are 0.
pub(super) struct Tape<'a> {
    choices: &'a [u32],
    at: usize,
}

impl Tape<'_> {
    /// A number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.word() as usize % limit
    }

    /// True once in `n` times.
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub(super) fn word(&mut self) -> u32 {
        let word = self.choices.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        word
    }

    pub(super) fn is_over(&self) -> bool {
        self.at >= self.choices.len()
    }
}

/// A program under construction.
pub(super) struct Draw<'a> {
    pub(super) tape: Tape<'a>,
    pub(super) target: Target,
    /// Only instructions that the emulator has: no atomics, votes and reductions over a warp.
    pub(super) emulated: bool,
    regs: Vec<Ty>,
    blocks: Vec<Block>,
    /// Registers that are assigned on every path to here.
    pub(super) live: Vec<Reg>,
    /// Those of them that may be assigned again.
    pub(super) variables: Vec<Reg>,
    /// Registers of `live` that are the same in all threads of the block.
    pub(super) uniform: Vec<Reg>,
    /// Whether all threads of the block come by here together.
    pub(super) together: bool,
    /// Addresses of the own bytes in `x`, `y` and the shared slots.
    pub(super) x: Reg,
    pub(super) y: Reg,
    pub(super) slot: Reg,
    /// Index in the block, and the address of all slots.
    pub(super) tid: Reg,
    pub(super) slots: Reg,
    /// Address of the counter that all threads add to.
    pub(super) z: Reg,
}

/// The program of a tape, with one entry of the given name; without what the emulator lacks if it is to be `emulated`.
pub(super) fn program(name: &str, choices: &[u32], emulated: bool) -> Module {
    let mut tape = Tape { choices, at: 0 };
    let target = Target::sm(TARGETS[tape.below(TARGETS.len())]).expect("a row of the target table");
    let none = Reg(0);
    let mut draw = Draw {
        tape,
        target,
        emulated,
        regs: Vec::new(),
        blocks: vec![empty_block()],
        live: Vec::new(),
        variables: Vec::new(),
        uniform: Vec::new(),
        together: true,
        x: none,
        y: none,
        slot: none,
        tid: none,
        slots: none,
        z: none,
    };
    draw.prologue();
    draw.statements(0);
    draw.epilogue();
    Module { target, entries: vec![draw.finish(name)] }
}

fn empty_block() -> Block {
    Block {
        label: None,
        comments: Comments::default(),
        insts: Vec::new(),
        term: Terminator::Fall,
        term_place: Place::default(),
    }
}

/// An address at a register.
pub(super) fn at(reg: Reg, offset: u32) -> Operand {
    Operand::Addr(Addr { base: Base::Reg(reg), offset: i64::from(offset) })
}

/// An address within a shared array.
pub(super) fn within(array: SharedId, offset: u32) -> Operand {
    Operand::Addr(Addr { base: Base::Shared(array), offset: i64::from(offset) })
}

/// A literal operand.
pub(super) fn literal(ty: Ty, bits: u64) -> Operand {
    Operand::Imm(Imm::new(ty, bits))
}

impl Draw<'_> {
    pub(super) fn reg(&mut self, ty: Ty) -> Reg {
        self.regs.push(ty.register());
        Reg(self.regs.len() as u32 - 1)
    }

    pub(super) fn ty(&self, reg: Reg) -> Ty {
        self.regs[reg.index()]
    }

    /// Adds an instruction to the last block.
    pub(super) fn push(&mut self, op: Op, mods: &[Mod], operands: Vec<Operand>) {
        self.push_guarded(op, Mods::new(mods), operands, None);
    }

    pub(super) fn push_guarded(&mut self, op: Op, mods: Mods, operands: Vec<Operand>, guard: Option<Guard>) {
        let inst = Inst { op, mods, operands, guard, place: Place::default() };
        self.blocks.last_mut().expect("there is a block").insts.push(inst);
    }

    /// Adds an instruction with one result, in a new register that stays out of the pools.
    pub(super) fn value(&mut self, op: Op, mods: &[Mod], ty: Ty, uses: Vec<Operand>) -> Reg {
        let reg = self.reg(ty);
        let operands = std::iter::once(Operand::Reg(reg)).chain(uses).collect();
        self.push(op, mods, operands);
        reg
    }

    /// Ends the last block and begins another one.
    pub(super) fn end_block(&mut self, term: Terminator) -> BlockId {
        self.blocks.last_mut().expect("there is a block").term = term;
        self.blocks.push(empty_block());
        self.block()
    }

    /// The last block.
    pub(super) fn block(&self) -> BlockId {
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// Lets the jump at the end of `from` go to `to`.
    pub(super) fn aim(&mut self, from: BlockId, to: BlockId) {
        match &mut self.blocks[from.index()].term {
            Terminator::Jump(target) | Terminator::Branch { target, .. } => *target = to,
            other => panic!("{other:?} has no target"),
        }
    }

    fn prologue(&mut self) {
        let u32_ = &[Mod::t(Ty::U32)];
        let u64_ = &[Mod::t(Ty::U64)];
        let param = |i| Operand::Addr(Addr { base: Base::Param(ParamId(i)), offset: 0 });
        let mut pointers = Vec::new();
        for i in 0..3 {
            let generic = self.value(Op::LdParam, u64_, Ty::U64, vec![param(i)]);
            let mods = [Mod::t(Ty::U64), Space::Global.get()];
            pointers.push(self.value(Op::CvtaTo, &mods, Ty::U64, vec![Operand::Reg(generic)]));
        }
        let n = self.value(Op::LdParam, u32_, Ty::U32, vec![param(3)]);
        let special = |special| vec![Operand::Special(special)];
        self.tid = self.value(Op::Mov, u32_, Ty::U32, special(SpecialReg::TidX));
        let block = self.value(Op::Mov, u32_, Ty::U32, special(SpecialReg::CtaidX));
        let uses = vec![Operand::Reg(block), literal(Ty::U32, THREADS.into()), Operand::Reg(self.tid)];
        let index = self.value(Op::MadLo, u32_, Ty::U32, uses);
        for (pointer, bytes) in [(0, X_BYTES), (1, Y_BYTES)] {
            let uses = vec![Operand::Reg(index), literal(Ty::U32, bytes.into())];
            let offset = self.value(Op::MulWide, u32_, Ty::U64, uses);
            let uses = vec![Operand::Reg(pointers[pointer]), Operand::Reg(offset)];
            let address = self.value(Op::AddI, u64_, Ty::U64, uses);
            *(if pointer == 0 { &mut self.x } else { &mut self.y }) = address;
        }
        self.z = pointers[2];
        self.slots = self.value(Op::Mov, u32_, Ty::U32, vec![Operand::Shared(SLOTS)]);
        self.slot = self.slot_of(self.tid);
        self.live.extend([n, self.tid, block, index]);
        self.uniform.extend([n, block]);
        self.seeds();
    }

    /// The address of a thread's slot.
    pub(super) fn slot_of(&mut self, thread: Reg) -> Reg {
        let mods = [Mod::t(Ty::U32), Half::Lo.get()];
        let uses = vec![Operand::Reg(thread), literal(Ty::U32, SLOT.into())];
        let offset = self.value(Op::MulI, &mods, Ty::U32, uses);
        self.value(
            Op::AddI,
            &[Mod::t(Ty::U32)],
            Ty::U32,
            vec![Operand::Reg(self.slots), Operand::Reg(offset)],
        )
    }

    /// A value and a variable of every register type.
    fn seeds(&mut self) {
        let types = Ty::ALL.iter().filter(|ty| ty.is_register() && ty.bits() <= 64 && **ty != Ty::Pred);
        for (i, ty) in types.enumerate() {
            let memory = if *ty == Ty::F16 { Ty::B16 } else { *ty };
            let mods = [Mod::t(memory), Space::Global.get()];
            let offset = (i as u32 * 8) % X_BYTES;
            for variable in [false, true] {
                let reg = self.value(Op::Ld, &mods, *ty, vec![at(self.x, offset)]);
                if variable {
                    self.variables.push(reg);
                }
                self.live.push(reg);
            }
        }
        let below = self.compare(self.tid, 7);
        self.live.push(below);
    }

    /// `reg < limit`, of unsigned words.
    pub(super) fn compare(&mut self, reg: Reg, limit: u32) -> Reg {
        let mods = [Mod::t(Ty::U32), ptxsmith_builder::isa::mods::Cmp::Lt.get()];
        self.value(Op::Setp, &mods, Ty::Pred, vec![Operand::Reg(reg), literal(Ty::U32, limit.into())])
    }

    /// Stores the last value of every type, so that the assembler cannot drop what made them.
    fn epilogue(&mut self) {
        let types = Ty::ALL.iter().filter(|ty| ty.is_register() && ty.bits() <= 64 && **ty != Ty::Pred);
        for (i, ty) in types.enumerate() {
            let reg = self.live.iter().rev().copied().find(|reg| self.ty(*reg) == *ty);
            let reg = reg.expect("a value of every type");
            let memory = if *ty == Ty::F16 { Ty::B16 } else { *ty };
            let offset = (i as u32 * 8) % Y_BYTES;
            let mods = [Mod::t(memory), Space::Global.get()];
            self.push(Op::St, &mods, vec![at(self.y, offset), Operand::Reg(reg)]);
        }
        self.blocks.last_mut().expect("there is a block").term = Terminator::Ret;
    }

    /// Brings registers and labels into the reader's order.
    fn finish(self, name: &str) -> Entry {
        let Draw { regs, mut blocks, .. } = self;
        let mut order: Vec<usize> = (0..regs.len()).collect();
        order.sort_by_key(|reg| regs[*reg]);
        let mut moved = vec![Reg(0); regs.len()];
        for (new, old) in order.iter().enumerate() {
            moved[*old] = Reg(new as u32);
        }
        let mut assigned = vec![0; regs.len()];
        let mut targets = vec![false; blocks.len()];
        for block in &mut blocks {
            for inst in &mut block.insts {
                inst.operands.iter_mut().for_each(|operand| operand.map_regs(&mut |reg| moved[reg.index()]));
                if let Some(guard) = &mut inst.guard {
                    guard.pred = moved[guard.pred.index()];
                }
                inst.for_each_def(|reg| assigned[reg.index()] += 1);
            }
            if let Terminator::Branch { pred, .. } = &mut block.term {
                *pred = moved[pred.index()];
            }
            if let Terminator::Branch { target, .. } | Terminator::Jump(target) = block.term {
                targets[target.index()] = true;
            }
        }
        for (i, block) in blocks.iter_mut().enumerate() {
            block.label = targets[i].then(|| format!("L{i}"));
        }
        let infos = order.iter().enumerate().map(|(new, old)| RegInfo {
            name: format!("r{old}"),
            ty: regs[*old],
            variable: assigned[new] > 1,
        });
        let pointer = |name: &str, align| param(name, Ty::U64, Some(align));
        let shared = |name: &str, bytes| SharedArray {
            name: name.to_owned(),
            align: SLOT,
            ty: Ty::B8,
            len: Some(bytes),
            place: Place::default(),
        };
        Entry {
            name: name.to_owned(),
            params: vec![
                pointer("x", X_BYTES),
                pointer("y", X_BYTES),
                pointer("z", 4),
                param("n", Ty::U32, None),
            ],
            bounds: LaunchBounds { block: Some([THREADS, 1, 1]), ..LaunchBounds::default() },
            shared: vec![shared("slots", THREADS * SLOT), shared("fixed", FIXED_BYTES)],
            regs: infos.collect(),
            blocks,
            place: Place::default(),
        }
    }
}

fn param(name: &str, ty: Ty, pointer_align: Option<u32>) -> Param {
    Param { name: name.to_owned(), ty, pointer_align, place: Place::default() }
}
