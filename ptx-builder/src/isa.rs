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
    /// A slot has another value, or none.
    Lacks(Mod),
    /// A slot has any value.
    Any(Slot),
    /// A slot has no value.
    Absent(Slot),
    /// The type in slot `T` is one of these.
    T(&'static [Ty]),
    /// The type in slot `S` is one of these.
    S(&'static [Ty]),
}

impl When {
    /// Whether it holds.
    pub fn holds(self, mods: &Mods) -> bool {
        match self {
            When::Has(modifier) => mods.has(modifier),
            When::Lacks(modifier) => !mods.has(modifier),
            When::Any(slot) => mods.raw(slot) != 0,
            When::Absent(slot) => mods.raw(slot) == 0,
            When::T(types) => mods.t().is_some_and(|ty| types.contains(&ty)),
            When::S(types) => mods.s().is_some_and(|ty| types.contains(&ty)),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |types: &[Ty]| types.iter().map(|ty| format!(".{}", ty.suffix())).collect::<Vec<_>>().join(" ");
        match self {
            When::Has(modifier) => write!(f, ".{}", modifier.text()),
            When::Lacks(modifier) => write!(f, "no .{}", modifier.text()),
            When::Any(slot) => write!(f, "any .{}", slot.name()),
            When::Absent(slot) => write!(f, "no .{}", slot.name()),
            When::T(types) => write!(f, "T {}", list(types)),
            When::S(types) => write!(f, "S {}", list(types)),
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
    /// Combines a value over the lanes of a warp (vote, redux, match, elect), or waits for them.
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

/// Why modifiers are not one of a row's instructions.
#[derive(Debug, Clone, Copy)]
pub enum Misfit {
    /// A mandatory slot is empty.
    Missing(Slot),
    /// The row has no such slot, or not with this value.
    Unknown(Mod),
    /// The values exclude each other: all of these conditions hold.
    Excluded(&'static [When]),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Missing(slot) => write!(f, "form without .{}", slot.name()),
            Misfit::Unknown(modifier) => write!(f, "form with .{}", modifier.text()),
            Misfit::Excluded(conditions) => {
                let all: Vec<String> = conditions.iter().map(When::to_string).collect();
                write!(f, "form with {}", all.join(" and "))
            }
        }
    }
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
    /// Combinations that the row does not have, although each of their values is allowed: where every condition of one
    /// entry holds.
    pub except: &'static [&'static [When]],
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

    /// Whether an instruction whose results are not read may be dropped. Ordered and volatile loads may not: others see them.
    pub fn is_removable(&self) -> bool {
        match self.effect {
            Effect::Pure => true,
            Effect::Load => !matches!(self.op, Op::LdSem | Op::LdVolatile),
            _ => false,
        }
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

    /// What keeps these modifiers from being one of the row's instructions, if anything.
    pub fn misfit(&self, mods: &Mods) -> Option<Misfit> {
        for segment in self.head() {
            if let syntax::Segment::Slot { slot, optional: false } = segment
                && mods.get(*slot).is_none()
            {
                return Some(Misfit::Missing(*slot));
            }
        }
        if let Some(modifier) =
            mods.iter().find(|modifier| !self.has_slot(modifier.slot) || !self.allows(*modifier))
        {
            return Some(Misfit::Unknown(modifier));
        }
        let holds = |conditions: &&&'static [When]| conditions.iter().all(|when| when.holds(mods));
        self.except.iter().find(holds).map(|conditions| Misfit::Excluded(conditions))
    }

    fn has_slot(&self, slot: Slot) -> bool {
        self.head()
            .iter()
            .any(|segment| matches!(segment, syntax::Segment::Slot { slot: own, .. } if *own == slot))
    }

    /// The values that the row allows in a slot of its syntax.
    pub fn values(&self, slot: Slot) -> Vec<Mod> {
        match slot {
            Slot::T => self.types.iter().map(|ty| Mod::t(*ty)).collect(),
            Slot::S => self.source_types.iter().map(|ty| Mod::s(*ty)).collect(),
            slot => {
                let all = slot.values().iter().filter_map(|text| Mod::from_text(slot, text));
                all.filter(|modifier| self.allows(*modifier)).collect()
            }
        }
    }

    /// Combinations of modifiers that the row has: every choice of its types and mandatory slots, with no or one optional
    /// modifier, and for the first type of each width with two. It is what tests and tables go through; the row has
    /// combinations of three and more too.
    pub fn combinations(&self) -> Vec<Mods> {
        let slots = |wanted: bool| {
            let own = self.head().iter().filter_map(move |segment| match segment {
                syntax::Segment::Slot { slot, optional } if *optional == wanted => Some(*slot),
                _ => None,
            });
            own.collect::<Vec<_>>()
        };
        let mut bases = vec![Mods::NONE];
        for slot in slots(false) {
            let mut longer = Vec::new();
            for base in &bases {
                longer.extend(self.values(slot).into_iter().map(|value| base.with(value)));
            }
            bases = longer;
        }
        let extras: Vec<Mod> = slots(true).into_iter().flat_map(|slot| self.values(slot)).collect();
        let first_of_width = |mods: &Mods| match mods.t() {
            None => true,
            Some(ty) => self.types.iter().find(|other| other.bits() == ty.bits()) == Some(&ty),
        };
        let mut all = Vec::new();
        for base in bases {
            all.push(base);
            for (i, one) in extras.iter().enumerate() {
                all.push(base.with(*one));
                if !first_of_width(&base) {
                    continue;
                }
                let others = extras[i + 1..].iter().filter(|other| other.slot != one.slot);
                all.extend(others.map(|other| base.with(*one).with(*other)));
            }
        }
        all.retain(|mods| self.misfit(mods).is_none());
        all
    }

    /// The instruction's name part as segments.
    pub fn head(&self) -> &'static [syntax::Segment] {
        syntax::head(self.op)
    }
}
