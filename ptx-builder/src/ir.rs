//! The intermediate representation: PTX itself, as plain data.
//!
//! * A [`Module`] is what one PTX file holds: a target and entries. The `.version` is not part of it: it follows from the
//!   instructions and the target.
//! * An [`Entry`] is a control-flow graph: basic blocks in text order over typed registers. Control falls from a block into
//!   the next one unless its [`Terminator`] says otherwise, exactly as in the text.
//! * A register is a value (assigned once) or a variable ([`RegInfo::variable`]).
//! * Indices ([`Reg`], [`BlockId`], …) are positions in the entry's tables; only the printer turns them into names.
//!
//! Equality ignores source places, so that a module read back from its text equals the one it was printed from.

use std::fmt;

use crate::imm::Imm;
use crate::isa::{Mods, Op, SpecialReg};
use crate::target::Target;
use crate::types::Ty;

macro_rules! index {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

index! {
    /// A register of an entry.
    Reg
    /// A basic block of an entry.
    BlockId
    /// A shared array of an entry.
    SharedId
    /// A parameter of an entry.
    ParamId
}

/// A place in the author's source, or in PTX text. All places are equal to each other.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    /// Path as the compiler was given it, relative to the workspace; empty for a place in PTX text or none at all.
    pub file: &'static str,
    /// 1-based line; 0 where there is none.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
}

impl Place {
    /// The caller's place.
    #[track_caller]
    pub fn caller() -> Place {
        let at = std::panic::Location::caller();
        Place { file: at.file(), line: at.line(), column: at.column() }
    }

    /// Whether it names a line.
    pub const fn is_known(&self) -> bool {
        self.line != 0
    }
}

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

impl Eq for Place {}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_known(), self.file) {
            (false, _) => f.write_str("unknown place"),
            (true, "") => write!(f, "{}:{}", self.line, self.column),
            (true, file) => write!(f, "{file}:{}:{}", self.line, self.column),
        }
    }
}

/// One PTX file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The target it is for.
    pub target: Target,
    /// Its kernels.
    pub entries: Vec<Entry>,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Parameters, in the order of the launch.
    pub params: Vec<Param>,
    /// Threads of a block, and what the assembler is told about occupancy.
    pub bounds: LaunchBounds,
    /// Shared arrays.
    pub shared: Vec<SharedArray>,
    /// Registers.
    pub regs: Vec<RegInfo>,
    /// Basic blocks in text order; the first is the start.
    pub blocks: Vec<Block>,
    /// Where it is declared.
    pub place: Place,
}

/// Launch bounds of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaunchBounds {
    /// `.reqntid`: the exact block size.
    pub block: Option<[u32; 3]>,
    /// `.maxntid`: the largest block size.
    pub max_block: Option<[u32; 3]>,
    /// `.minnctapersm`: blocks that must fit a multiprocessor.
    pub min_blocks: Option<u32>,
    /// `.maxnreg`: registers of a thread.
    pub max_regs: Option<u32>,
    /// `.reqnctapercluster`: the exact cluster size.
    pub cluster: Option<[u32; 3]>,
}

/// A kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Type; `.u64` for a pointer.
    pub ty: Ty,
    /// For a pointer to global memory: the alignment in bytes that it is promised to have.
    pub pointer_align: Option<u32>,
    /// Where it is declared.
    pub place: Place,
}

/// A shared array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedArray {
    /// Name.
    pub name: String,
    /// Alignment in bytes.
    pub align: u32,
    /// Element type of the declaration.
    pub ty: Ty,
    /// Number of elements; `None` declares an `extern` array whose size is given at the launch.
    pub len: Option<u32>,
    /// Where it is declared.
    pub place: Place,
}

impl SharedArray {
    /// Size in bytes, at most `u32::MAX`; `None` for a dynamic one.
    pub fn bytes(&self) -> Option<u32> {
        self.len.map(|len| len.saturating_mul(self.ty.bytes()))
    }
}

/// A register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegInfo {
    /// Name without the percent sign; unique in the entry.
    pub name: String,
    /// The type it is declared with.
    pub ty: Ty,
    /// Whether it is assigned more than once.
    pub variable: bool,
}

/// A basic block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Label; present where a branch names the block.
    pub label: Option<String>,
    /// Comment lines printed above the block.
    pub comments: Comments,
    /// Instructions.
    pub insts: Vec<Inst>,
    /// What happens at its end.
    pub term: Terminator,
    /// Where the terminator comes from.
    pub term_place: Place,
}

/// Comments are for readers: they never make two modules differ.
#[derive(Debug, Clone, Default)]
pub struct Comments(pub Vec<(usize, String)>);

impl PartialEq for Comments {
    fn eq(&self, _: &Comments) -> bool {
        true
    }
}

impl Eq for Comments {}

/// The end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminator {
    /// Control falls into the next block.
    Fall,
    /// Jumps.
    Jump(BlockId),
    /// Jumps if the predicate holds (or, if `negated`, does not), else falls into the next block.
    Branch {
        /// The predicate.
        pred: Reg,
        /// Jump where it does not hold.
        negated: bool,
        /// The target.
        target: BlockId,
        /// The author's promise that all lanes of a warp that execute it decide alike: `bra.uni`.
        uniform: bool,
    },
    /// Ends the thread: `ret`.
    Ret,
    /// Ends the thread: `exit`.
    Exit,
    /// Stops the kernel with an error.
    Trap,
}

/// A guard: the instruction is executed in the lanes where it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub pred: Reg,
    /// Execute where it does not hold.
    pub negated: bool,
}

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inst {
    /// The row.
    pub op: Op,
    /// Its modifiers, types included.
    pub mods: Mods,
    /// Operands in the order of the row's syntax.
    pub operands: Vec<Operand>,
    /// Guard.
    pub guard: Option<Guard>,
    /// Where it comes from.
    pub place: Place,
}

/// An operand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// A literal.
    Imm(Imm),
    /// A special register.
    Special(SpecialReg),
    /// The address of a shared array, in the shared state space.
    Shared(SharedId),
    /// The elements of a vector access or of a packing `mov`.
    Vec(Vec<Operand>),
    /// An address.
    Addr(Addr),
    /// `_`: a result that is not wanted.
    Sink,
}

/// An address: base plus a constant number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Addr {
    /// The base.
    pub base: Base,
    /// Bytes added to it.
    pub offset: i64,
}

/// The base of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    /// A register that holds an address.
    Reg(Reg),
    /// A shared array.
    Shared(SharedId),
    /// A parameter.
    Param(ParamId),
}

impl Operand {
    /// Calls `f` with every register the operand names.
    pub fn for_each_reg(&self, f: &mut impl FnMut(Reg)) {
        match self {
            Operand::Reg(reg) | Operand::Addr(Addr { base: Base::Reg(reg), .. }) => f(*reg),
            Operand::Vec(items) => items.iter().for_each(|item| item.for_each_reg(f)),
            Operand::Imm(_) | Operand::Special(_) | Operand::Shared(_) | Operand::Addr(_) | Operand::Sink => {
            }
        }
    }

    /// Gives literals of the same width the type that the instruction reads them as, so that equal instructions are equal
    /// data and are printed alike.
    pub fn retype_literals(&mut self, ty: Ty) {
        match self {
            Operand::Imm(imm) if ty.agrees(imm.ty.register()) && ty.bits() == imm.ty.bits() => imm.ty = ty,
            Operand::Vec(items) => items.iter_mut().for_each(|item| item.retype_literals(ty)),
            Operand::Reg(_) | Operand::Imm(_) | Operand::Special(_) => {}
            Operand::Shared(_) | Operand::Addr(_) | Operand::Sink => {}
        }
    }

    /// Replaces every register the operand names.
    pub fn map_regs(&mut self, f: &mut impl FnMut(Reg) -> Reg) {
        match self {
            Operand::Reg(reg) | Operand::Addr(Addr { base: Base::Reg(reg), .. }) => *reg = f(*reg),
            Operand::Vec(items) => items.iter_mut().for_each(|item| item.map_regs(f)),
            Operand::Imm(_) | Operand::Special(_) | Operand::Shared(_) | Operand::Addr(_) | Operand::Sink => {
            }
        }
    }
}

impl Inst {
    /// Calls `f` with every register it writes.
    pub fn for_each_def(&self, mut f: impl FnMut(Reg)) {
        let specs = crate::isa::Form::of(self.op).operands;
        for (operand, spec) in self.operands.iter().zip(specs) {
            if spec.role == crate::isa::Role::Def {
                operand.for_each_reg(&mut f);
            }
        }
    }

    /// Calls `f` with every register it reads, the guard included.
    pub fn for_each_use(&self, mut f: impl FnMut(Reg)) {
        if let Some(guard) = self.guard {
            f(guard.pred);
        }
        let specs = crate::isa::Form::of(self.op).operands;
        for (operand, spec) in self.operands.iter().zip(specs) {
            if spec.role != crate::isa::Role::Def {
                operand.for_each_reg(&mut f);
            }
        }
    }
}

impl Entry {
    /// Bytes of static shared memory, with the padding that alignments cost.
    pub fn static_shared_bytes(&self) -> u32 {
        self.shared.iter().fold(0, |end, array| match array.bytes() {
            Some(bytes) => {
                let start = end.checked_next_multiple_of(array.align.max(1)).unwrap_or(u32::MAX);
                start.saturating_add(bytes)
            }
            None => end,
        })
    }

    /// The blocks that control may go to from the end of `block`.
    pub fn successors(&self, block: BlockId) -> impl Iterator<Item = BlockId> {
        let next = BlockId(block.0 + 1);
        let in_range = next.index() < self.blocks.len();
        let (fall, jump) = match self.blocks[block.index()].term {
            Terminator::Fall => (true, None),
            Terminator::Jump(target) => (false, Some(target)),
            Terminator::Branch { target, .. } => (true, Some(target)),
            Terminator::Ret | Terminator::Exit | Terminator::Trap => (false, None),
        };
        (fall && in_range).then_some(next).into_iter().chain(jump)
    }
}
