//! Typed builder functions: one for each `fn` column of the instruction table, so that `rcp_rn(x)` is one `rcp.rn` and a
//! wrong operand type does not compile.
//!
//! A parameter `Value<T>` takes anything that [`Operand<T>`] is implemented for. [`At`] is an address, [`Literal`] a number
//! that the instruction holds as a literal. Packed types and bf16 have no Rust type: their functions take [`B16`],
//! [`B32`] or [`B64`] and are named after the type, for example [`add_rn_f16x2`].
//!
//! [`B16`]: crate::value::B16
//! [`B32`]: crate::value::B32
//! [`B64`]: crate::value::B64

use crate::builder::with;
use crate::imm::Imm;
use crate::ir::{self, Addr, Base, Place};
use crate::isa::{Mod, Mods, Op};
use crate::types::Ty;
use crate::value::{F16, Float, Int, Operand, Scalar, Value, emit_value};

pub use crate::isa::table::functions::*;
pub use crate::value::select;

/// A floating-point type with `add`, `sub`, `mul` and `fma`.
pub trait Arith: Scalar {}

impl Arith for f32 {}
impl Arith for f64 {}
impl Arith for F16 {}

/// A signed 32- or 64-bit integer.
pub trait SignedInt: Int {}

impl SignedInt for i32 {}
impl SignedInt for i64 {}

/// A 32-bit integer.
pub trait Int32: Int {}

impl Int32 for u32 {}
impl Int32 for i32 {}

impl Float for f64 {}

/// An address: a register and a constant number of bytes.
#[derive(Debug, Clone, Copy)]
pub struct At {
    base: AtBase,
    offset: i64,
}

#[derive(Debug, Clone, Copy)]
enum AtBase {
    /// Shared memory.
    Word(Value<u32>),
    /// Any state space.
    Long(Value<u64>),
}

impl At {
    /// The address `bytes` further.
    pub fn skip(self, bytes: i64) -> At {
        At { offset: self.offset.wrapping_add(bytes), ..self }
    }
}

impl From<Value<u64>> for At {
    fn from(base: Value<u64>) -> At {
        At { base: AtBase::Long(base), offset: 0 }
    }
}

impl From<Value<u32>> for At {
    fn from(base: Value<u32>) -> At {
        At { base: AtBase::Word(base), offset: 0 }
    }
}

/// A number that an instruction holds as a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Literal(pub u32);

/// What a function of this module takes where it wants a `T`: a kernel value, an address or a literal.
#[diagnostic::on_unimplemented(
    message = "expected a kernel value of type `{T}`, found `{Self}`",
    label = "not a `Value<{T}>`, a `Var<{T}>` or a `{T}`",
    note = "kernel values are never converted silently: write `as {T}` to convert"
)]
pub trait Argument<T>: Copy {
    /// The operand of an instruction.
    #[track_caller]
    fn argument(self) -> ir::Operand;
}

impl<T: Scalar, V: Operand<T>> Argument<T> for V {
    #[track_caller]
    fn argument(self) -> ir::Operand {
        self.operand()
    }
}

impl Argument<At> for At {
    #[track_caller]
    fn argument(self) -> ir::Operand {
        let reg = match self.base {
            AtBase::Word(base) => base.reg(),
            AtBase::Long(base) => base.reg(),
        };
        ir::Operand::Addr(Addr { base: Base::Reg(reg), offset: self.offset })
    }
}

impl Argument<Literal> for Literal {
    fn argument(self) -> ir::Operand {
        ir::Operand::Imm(Imm::new(Ty::U32, u64::from(self.0)))
    }
}

/// The modifiers of a function's instruction: the types of its type parameters fill `T` and `S`, and `more` comes after.
fn modifiers(types: &[Ty], more: &[Mod]) -> Vec<Mod> {
    let slots = [Mod::t, Mod::s];
    types.iter().zip(slots).map(|(ty, slot)| slot(*ty)).chain(more.iter().copied()).collect()
}

/// The untyped type as wide as `T`.
pub(crate) fn bits_of<T: Scalar>() -> Mod {
    Mod::t(crate::value::bit_type(T::TY.bits()))
}

#[track_caller]
pub(crate) fn one<R: Scalar>(op: Op, types: &[Ty], more: &[Mod], uses: Vec<ir::Operand>) -> Value<R> {
    emit_value(op, &modifiers(types, more), uses)
}

#[track_caller]
pub(crate) fn none(op: Op, types: &[Ty], more: &[Mod], uses: Vec<ir::Operand>) {
    let place = Place::caller();
    with(|b| b.push(op, Mods::new(&modifiers(types, more)), uses, None, place));
}

#[track_caller]
pub(crate) fn two<R: Scalar, Q: Scalar>(
    op: Op,
    types: &[Ty],
    more: &[Mod],
    uses: Vec<ir::Operand>,
) -> (Value<R>, Value<Q>) {
    let place = Place::caller();
    with(|b| {
        let (first, second) = (b.reg(R::TY, false), b.reg(Q::TY, false));
        let mut operands = vec![ir::Operand::Reg(first.reg), ir::Operand::Reg(second.reg)];
        operands.extend(uses);
        b.push(op, Mods::new(&modifiers(types, more)), operands, None, place);
        (Value::from_handle(first), Value::from_handle(second))
    })
}
