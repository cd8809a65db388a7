//! The native operators of kernel values: each is one instruction.
//!
//! Integers wrap. Floats are correctly rounded; which approximations exist is named in [`crate::ops`].

use std::ops;

use super::{Number, Operand, Scalar, Value, bit_type, emit_value};
use crate::ir;
use crate::isa::mods::{Half, Rnd};
use crate::isa::{Mod, Op};
use crate::types::Ty;

/// Arithmetic that the native operators of kernel values stand for.
pub trait Arithmetic: Number {
    /// The instruction of `+` and its modifiers.
    const ADD: (Op, &'static [Mod]);
    /// The instruction of `-`.
    const SUB: (Op, &'static [Mod]);
    /// The instruction of `*`.
    const MUL: (Op, &'static [Mod]);
}

const RN: &[Mod] = &[Rnd::Rn.get()];

macro_rules! arithmetic {
    ($($ty:ty: $add:ident $sub:ident $mul:ident $mods:expr, $mul_mods:expr;)*) => {$(
        impl Arithmetic for $ty {
            const ADD: (Op, &'static [Mod]) = (Op::$add, $mods);
            const SUB: (Op, &'static [Mod]) = (Op::$sub, $mods);
            const MUL: (Op, &'static [Mod]) = (Op::$mul, $mul_mods);
        }
    )*};
}

const LO: &[Mod] = &[Half::Lo.get()];

arithmetic! {
    f32: AddF SubF MulF RN, RN;
    f64: AddF SubF MulF RN, RN;
    u32: AddI SubI MulI &[], LO;
    i32: AddI SubI MulI &[], LO;
    u64: AddI SubI MulI &[], LO;
    i64: AddI SubI MulI &[], LO;
}

#[track_caller]
fn binary<T: Arithmetic>((op, extra): (Op, &'static [Mod]), a: ir::Operand, b: ir::Operand) -> Value<T> {
    if let Some(unchanged) = unchanged(op, &a, &b) {
        return Value::from_operand(unchanged);
    }
    let mut mods = vec![Mod::t(T::TY)];
    mods.extend_from_slice(extra);
    emit_value(op, &mods, vec![a, b])
}

/// The operand that integer arithmetic with 0 or 1 leaves as it is: host loops compute with such numbers.
fn unchanged(op: Op, a: &ir::Operand, b: &ir::Operand) -> Option<ir::Operand> {
    let is =
        |operand: &ir::Operand, number: u64| matches!(operand, ir::Operand::Imm(imm) if imm.bits == number);
    match op {
        Op::AddI | Op::SubI if is(b, 0) => Some(a.clone()),
        Op::AddI if is(a, 0) => Some(b.clone()),
        Op::MulI if is(b, 1) => Some(a.clone()),
        Op::MulI if is(a, 1) => Some(b.clone()),
        _ => None,
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $instruction:ident;)*) => {$(
        impl<T: Arithmetic, R: Operand<T>> ops::$trait<R> for Value<T> {
            type Output = Value<T>;
            #[track_caller]
            fn $method(self, other: R) -> Value<T> {
                binary(T::$instruction, self.operand(), other.operand())
            }
        }
        operators!(@host $trait $method $instruction: f32 f64 u32 i32 u64 i64);
    )*};
    (@host $trait:ident $method:ident $instruction:ident: $($ty:ty)*) => {$(
        impl ops::$trait<Value<$ty>> for $ty {
            type Output = Value<$ty>;
            #[track_caller]
            fn $method(self, other: Value<$ty>) -> Value<$ty> {
                binary(<$ty>::$instruction, self.operand(), other.operand())
            }
        }
    )*};
}

operators! {
    Add add ADD;
    Sub sub SUB;
    Mul mul MUL;
}

macro_rules! divisions {
    ($($trait:ident $method:ident $op:ident $mods:expr, $text:literal: $($ty:ty)*;)*) => {$($(
        impl<R: Operand<$ty>> ops::$trait<R> for Value<$ty> {
            type Output = Value<$ty>;
            #[doc = $text]
            #[track_caller]
            fn $method(self, other: R) -> Value<$ty> {
                let mut mods = vec![Mod::t(<$ty as Scalar>::TY)];
                mods.extend_from_slice($mods);
                emit_value(Op::$op, &mods, vec![self.operand(), other.operand()])
            }
        }
        impl ops::$trait<Value<$ty>> for $ty {
            type Output = Value<$ty>;
            #[doc = $text]
            #[track_caller]
            fn $method(self, other: Value<$ty>) -> Value<$ty> {
                ops::$trait::$method(Value::constant(self), other)
            }
        }
    )*)*};
}

divisions! {
    Div div DivF RN, "The quotient, correctly rounded.": f32 f64;
    Div div DivI &[], "The quotient, towards zero; by zero the result is unspecified.": u32 i32 u64 i64;
    Rem rem Rem &[], "The remainder, with the sign of the dividend; by zero the result is unspecified.": u32 i32 u64 i64;
}

macro_rules! unary {
    ($($trait:ident $method:ident $op:ident($ty:ident => $mod:expr): $($of:ty)*;)*) => {$($(
        impl ops::$trait for Value<$of> {
            type Output = Value<$of>;
            #[track_caller]
            fn $method(self) -> Value<$of> {
                const fn ty($ty: Ty) -> Ty {
                    $mod
                }
                emit_value(Op::$op, &[Mod::t(ty(<$of as Scalar>::TY))], vec![self.operand()])
            }
        }
    )*)*};
}

unary! {
    Neg neg NegF(ty => ty): f32 f64;
    Neg neg NegI(ty => ty): i32 i64;
    Not not Not(ty => bit_type(ty.bits())): u32 i32 u64 i64;
}

macro_rules! bit_operators {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        bit_operators!(@ints $trait $method $op: u32 i32 u64 i64);
        impl ops::$trait for Value<bool> {
            type Output = Value<bool>;
            #[track_caller]
            fn $method(self, other: Value<bool>) -> Value<bool> {
                let operands = vec![ir::Operand::Reg(self.reg()), ir::Operand::Reg(other.reg())];
                emit_value(Op::$op, &[Mod::t(Ty::Pred)], operands)
            }
        }
    )*};
    (@ints $trait:ident $method:ident $op:ident: $($ty:ty)*) => {$(
        impl<R: Operand<$ty>> ops::$trait<R> for Value<$ty> {
            type Output = Value<$ty>;
            #[track_caller]
            fn $method(self, other: R) -> Value<$ty> {
                let ty = bit_type(<$ty as Scalar>::TY.bits());
                emit_value(Op::$op, &[Mod::t(ty)], vec![self.operand(), other.operand()])
            }
        }
        impl ops::$trait<Value<$ty>> for $ty {
            type Output = Value<$ty>;
            #[track_caller]
            fn $method(self, other: Value<$ty>) -> Value<$ty> {
                ops::$trait::$method(Value::constant(self), other)
            }
        }
    )*};
}

bit_operators! {
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
}

macro_rules! shifts {
    ($($ty:ty)*) => {$(
        impl<R: Operand<u32>> ops::Shl<R> for Value<$ty> {
            type Output = Value<$ty>;
            #[track_caller]
            fn shl(self, amount: R) -> Value<$ty> {
                let ty = bit_type(<$ty as Scalar>::TY.bits());
                emit_value(Op::Shl, &[Mod::t(ty)], vec![self.operand(), amount.operand()])
            }
        }
        impl<R: Operand<u32>> ops::Shr<R> for Value<$ty> {
            type Output = Value<$ty>;
            #[track_caller]
            fn shr(self, amount: R) -> Value<$ty> {
                emit_value(Op::Shr, &[Mod::t(<$ty as Scalar>::TY)], vec![self.operand(), amount.operand()])
            }
        }
    )*};
}

shifts!(u32 i32 u64 i64);

impl ops::Not for Value<bool> {
    type Output = Value<bool>;
    #[track_caller]
    fn not(self) -> Value<bool> {
        emit_value(Op::Not, &[Mod::t(Ty::Pred)], vec![ir::Operand::Reg(self.reg())])
    }
}
