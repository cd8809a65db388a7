//! The instruction table: one row per instruction form, everything else derived from the row.
//!
//! A row ([`Form`]) is the syntax as the PTX manual writes it, with slots: `fma.rnd{.ftz}{.sat}.T d, a, b, c`. A segment
//! that names a [`Slot`] takes one of the slot's values (or of those the row allows), braces make it optional, anything
//! else is literal. Beside it stand the operand types, the requirements, the effect and the CPU semantics.
//! The enum [`Op`], the typed builder functions, the printer, the reader, the target check, the emulator, the table in the
//! docs and the assembler's test corpus all read the row; there is no second list of instructions.

use std::fmt;

use crate::emu::lane::WarpFn;
use crate::target::{PtxVersion, Target, Variant};
use crate::types::Ty;

pub mod eval;
pub mod mods;
pub mod special;
pub mod syntax;
pub mod table;

pub use mods::{Mod, Mods, Slot};
pub use special::SpecialReg;
pub use table::Op;

/// What the type of an operand is derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpTy {
    /// The type slot `T`.
    T,
    /// The type slot `S`.
    S,
    /// `T`, or a wider register (loads, stores and conversions zero- or sign-extend).
    WideT,
    /// `S`, or a wider register.
    WideS,
    /// `.vec` elements of `T` or wider; a single one without `.vec`.
    VecT,
    /// The packed elements of a `mov` that splits or joins: registers whose widths add up to `T`.
    PartsT,
    /// One type, whatever the slots say.
    Fixed(Ty),
    /// A 32- or 64-bit integer (a generic or state-space address held in a register).
    Address,
}

/// What an instruction does with an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Writes a register.
    Def,
    /// Reads a register, a literal or a special register.
    Use,
    /// Reads a register; a literal is not allowed.
    UseReg,
    /// An address in the state space of the `space` slot, or of the row's effect.
    Addr,
    /// A literal only.
    Imm,
}

/// One operand of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperandSpec {
    /// Read, written, address or literal.
    pub role: Role,
    /// Its type.
    pub ty: OpTy,
}

impl OpTy {
    /// The type that the modifiers give the operand; `None` for an address or where the slot is empty. For a wide or
    /// vector operand it is the type of one element in memory.
    pub fn of(self, mods: &Mods) -> Option<Ty> {
        match self {
            OpTy::T | OpTy::WideT | OpTy::VecT | OpTy::PartsT => mods.t(),
            OpTy::S | OpTy::WideS => mods.s(),
            OpTy::Fixed(ty) => Some(ty),
            OpTy::Address => None,
        }
    }
}

/// Which targets have an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmReq {
    /// This architecture number and every later one.
    AtLeast(u16),
    /// The named full targets only (`sm_90a`, `sm_100f`, …).
    OneOf(&'static [&'static str]),
}

impl SmReq {
    /// Whether `target` satisfies it. A family name in the list admits the `a` variants of that family.
    pub fn admits(self, target: Target) -> bool {
        match self {
            SmReq::AtLeast(number) => target.number() >= number,
            SmReq::OneOf(names) => names.iter().any(|name| match name.parse::<Target>() {
                Ok(named) if named.variant() == Variant::Family => {
                    target.variant() != Variant::Plain
                        && target.number() / 10 == named.number() / 10
                        && target.number() >= named.number()
                }
                Ok(named) => named == target,
                Err(_) => false,
            }),
        }
    }
}

impl fmt::Display for SmReq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SmReq::AtLeast(number) => write!(f, "sm_{number} or newer"),
            SmReq::OneOf(names) => f.write_str(&names.join(" or ")),
        }
    }
}

/// A condition on the modifiers of an instruction.
#[derive(Debug, Clone, Copy)]
pub enum When {
    /// A slot has this value.
    Has(Mod),
    /// A slot has any value.
    Any(Slot),
}

impl When {
    /// Whether it holds.
    pub fn holds(self, mods: &Mods) -> bool {
        match self {
            When::Has(modifier) => mods.has(modifier),
            When::Any(slot) => mods.raw(slot) != 0,
        }
    }
}

/// What an instruction needs, where every condition in `when` holds.
#[derive(Debug, Clone, Copy)]
pub struct Since {
    /// The conditions; empty means always.
    pub when: &'static [When],
    /// First PTX version.
    pub ptx: PtxVersion,
    /// The targets that have it.
    pub sm: SmReq,
}

/// What an instruction does beyond computing a value from its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: may be folded, merged and removed.
    Pure,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads and writes memory in one step.
    Atomic,
    /// Waits for other threads of the block.
    Barrier,
    /// Exchanges values between the lanes of a warp; the operand named `m` in the syntax is the member mask.
    Shuffle,
    /// Combines a value over the lanes of a warp (vote, redux, match, elect).
    Vote,
    /// Orders memory accesses.
    Fence,
    /// Ends the thread.
    Exit,
    /// Stops the kernel with an error.
    Trap,
    /// A hint without effect on values (prefetch, griddepcontrol.launch_dependents).
    Hint,
    /// Waits for a previous grid (griddepcontrol.wait).
    GridWait,
    /// Starts, commits or waits for an asynchronous copy.
    AsyncCopy,
    /// An operation on an mbarrier object.
    Mbarrier,
    /// Waits for the blocks of a cluster.
    ClusterBarrier,
}

/// How the emulator executes a row.
#[derive(Debug, Clone, Copy)]
pub enum Eval {
    /// Lane by lane, by the function that the modifiers select; `None` from it means that the row does not allow them.
    Lanes(fn(&Mods) -> Option<WarpFn>),
    /// By the emulator's arm for the row's [`Effect`] and [`Op`].
    Effect,
}

/// A row of the table.
#[derive(Debug)]
pub struct Form {
    /// The instruction.
    pub op: Op,
    /// Syntax with slots.
    pub syntax: &'static str,
    /// One sentence for the docs.
    pub doc: &'static str,
    /// The section of the PTX manual that describes it.
    pub section: &'static str,
    /// Values of slot `T`; empty if the syntax has none.
    pub types: &'static [Ty],
    /// Values of slot `S`; empty if the syntax has none.
    pub source_types: &'static [Ty],
    /// Slots whose values the row restricts.
    pub allowed: &'static [(Slot, &'static [Mod])],
    /// Operands in the order of the syntax.
    pub operands: &'static [OperandSpec],
    /// Requirements; every entry whose condition holds applies.
    pub since: &'static [Since],
    /// Effect.
    pub effect: Effect,
    /// CPU semantics.
    pub eval: Eval,
}

impl Form {
    /// The row of an instruction.
    pub fn of(op: Op) -> &'static Form {
        &table::FORMS[op as usize]
    }

    /// All rows.
    pub fn all() -> &'static [Form] {
        table::FORMS
    }

    /// The mnemonic: the syntax up to the first dot, brace or space.
    pub fn mnemonic(&self) -> &'static str {
        let end = self.syntax.find(['.', '{', ' ']).unwrap_or(self.syntax.len());
        &self.syntax[..end]
    }

    /// Requirements that apply with these modifiers.
    pub fn requirements<'a>(&'a self, mods: &'a Mods) -> impl Iterator<Item = &'a Since> {
        self.since.iter().filter(move |since| since.when.iter().all(|when| when.holds(mods)))
    }

    /// The type of an operand with these modifiers, as [`OpTy::of`], but doubled where the row is a widening one
    /// (`mul.wide`, `mad.wide`). The flag says whether a wider register is allowed as well.
    pub fn operand_ty(&self, spec: &OperandSpec, mods: &Mods) -> (Option<Ty>, bool) {
        let ty = spec.ty.of(mods);
        let wide = matches!(spec.ty, OpTy::WideT | OpTy::WideS);
        if wide && self.head().contains(&syntax::Segment::Literal("wide")) {
            return (ty.map(Ty::doubled), false);
        }
        (ty, wide || spec.ty == OpTy::VecT)
    }

    /// Whether the row allows a modifier.
    pub fn allows(&self, modifier: Mod) -> bool {
        match modifier.slot {
            Slot::T => modifier.ty().is_some_and(|ty| self.types.contains(&ty)),
            Slot::S => modifier.ty().is_some_and(|ty| self.source_types.contains(&ty)),
            slot => {
                self.head()
                    .iter()
                    .any(|segment| matches!(segment, syntax::Segment::Slot { slot: s, .. } if *s == slot))
                    && self.allowed.iter().all(|(s, values)| *s != slot || values.contains(&modifier))
            }
        }
    }

    /// The instruction's name part as segments.
    pub fn head(&self) -> &'static [syntax::Segment] {
        syntax::head(self.op)
    }
}
