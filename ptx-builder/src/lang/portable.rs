//! Operations that have one instruction on newer targets and a replacement with the same bits on older ones.
//!
//! A bf16 sum, difference or product is one rounding of an exact value, and so is a bf16 `fma`, which sm_80 has while the
//! others need sm_90: `a + b` is `a · 1 + b`, `a - b` is `b · -1 + a`, `a · b` is `a · b + -0` (adding `-0` keeps the sign of
//! a zero product). Targets before sm_80 have neither and get an error that says so. The conversions with such
//! replacements are in [`packed`](super::packed).

use crate::builder::with;
use crate::ir::Place;
use crate::isa::mods::Rnd;
use crate::isa::{Mod, Op};
use crate::lang::grid::target;
use crate::ops::{max, max3, min, min3};
use crate::types::Ty;
use crate::value::{B16, B32, Operand, Scalar, Value, emit_value};

/// The first target with `fma.bf16`.
const FMA: u16 = 80;
/// The first target with `add`, `sub` and `mul` of bf16.
const ARITHMETIC: u16 = 90;
/// The first target with `min` and `max` of three operands.
const THREE: u16 = 100;

const ONE: u16 = 0x3f80;
const MINUS_ONE: u16 = 0xbf80;
const MINUS_ZERO: u16 = 0x8000;

/// A register type of bf16 values: one, or a pair.
pub trait Bf16Bits: Scalar {
    /// The type of the instructions.
    const BF16: Ty;
    /// The value that has these bits in each bf16.
    fn splat(bits: u16) -> Self;
}

impl Bf16Bits for B16 {
    const BF16: Ty = Ty::Bf16;
    fn splat(bits: u16) -> B16 {
        B16(bits)
    }
}

impl Bf16Bits for B32 {
    const BF16: Ty = Ty::Bf16x2;
    fn splat(bits: u16) -> B32 {
        B32(u32::from(bits) << 16 | u32::from(bits))
    }
}

/// One instruction of type bf16, or on sm_80 the `fma` of three operands.
#[track_caller]
fn arithmetic<T: Bf16Bits>(op: Op, direct: [Value<T>; 2], fused: [Value<T>; 3]) -> Value<T> {
    let place = Place::caller();
    let target = target();
    let mods = [Rnd::Rn.get(), Mod::t(T::BF16)];
    if target.number() >= ARITHMETIC {
        return emit_value(op, &mods, direct.map(|value| value.operand()).to_vec());
    }
    if target.number() < FMA {
        with(|b| {
            b.error(
                place,
                format!("bf16 arithmetic needs sm_{FMA} or newer, target is {target}; compute in f32"),
            )
        });
    }
    emit_value(Op::Fma, &mods, fused.map(|value| value.operand()).to_vec())
}

/// `a + b` of bf16 values or pairs ([`B16`], [`B32`]), rounded to nearest even once. Needs sm_80.
#[track_caller]
pub fn add_bf16<T: Bf16Bits>(a: impl Operand<T>, b: impl Operand<T>) -> Value<T> {
    let (a, b) = (a.value(), b.value());
    arithmetic(Op::AddF, [a, b], [a, Value::constant(T::splat(ONE)), b])
}

/// `a - b` of bf16 values or pairs, rounded to nearest even once. Needs sm_80.
#[track_caller]
pub fn sub_bf16<T: Bf16Bits>(a: impl Operand<T>, b: impl Operand<T>) -> Value<T> {
    let (a, b) = (a.value(), b.value());
    arithmetic(Op::SubF, [a, b], [b, Value::constant(T::splat(MINUS_ONE)), a])
}

/// `a · b` of bf16 values or pairs, rounded to nearest even once. Needs sm_80.
#[track_caller]
pub fn mul_bf16<T: Bf16Bits>(a: impl Operand<T>, b: impl Operand<T>) -> Value<T> {
    let (a, b) = (a.value(), b.value());
    arithmetic(Op::MulF, [a, b], [a, b, Value::constant(T::splat(MINUS_ZERO))])
}

/// The largest of three numbers; NaNs lose against numbers. One instruction from sm_100 on, two before.
#[track_caller]
pub fn max_of_three(a: impl Operand<f32>, b: impl Operand<f32>, c: impl Operand<f32>) -> Value<f32> {
    if target().number() >= THREE { max3(a, b, c) } else { max(max(a, b), c) }
}

/// The smallest of three numbers; NaNs lose against numbers. One instruction from sm_100 on, two before.
#[track_caller]
pub fn min_of_three(a: impl Operand<f32>, b: impl Operand<f32>, c: impl Operand<f32>) -> Value<f32> {
    if target().number() >= THREE { min3(a, b, c) } else { min(min(a, b), c) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::build_entry;
    use crate::emu::float::compare::{self, MinMax};
    use crate::emu::float::{self, Arith, F32};
    use crate::lang::memory::scalar_param;
    use crate::target::Target;

    /// Special values and a spread of others.
    fn bf16_values() -> Vec<u16> {
        let special = [
            0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, ONE, MINUS_ONE,
        ];
        special.into_iter().chain((0..=u16::MAX).step_by(97)).collect()
    }

    #[test]
    fn replacements_have_the_same_bits() {
        for a in bf16_values() {
            for b in bf16_values() {
                let fma = |a, b, c| float::fma_bf16(a, b, c, Arith::RN);
                assert_eq!(fma(a, ONE, b), float::add_bf16(a, b, Arith::RN), "{a:#x} + {b:#x}");
                assert_eq!(fma(b, MINUS_ONE, a), float::sub_bf16(a, b, Arith::RN), "{a:#x} - {b:#x}");
                assert_eq!(fma(a, b, MINUS_ZERO), float::mul_bf16(a, b, Arith::RN), "{a:#x} * {b:#x}");
            }
        }
    }

    #[test]
    fn two_maxima_are_one_of_three() {
        let values = [0u32, 0x8000_0000, 0x3f80_0000, 0xbf80_0000, 0x7fc0_0000, 0x7f80_0000, 1];
        let m = MinMax::default();
        for a in values {
            for b in values {
                for c in values {
                    let pairs = compare::max_f32(compare::max_f32(a, b, m), c, m);
                    assert_eq!(u64::from(pairs), compare::max3(F32, a.into(), b.into(), c.into(), m));
                    let pairs = compare::min_f32(compare::min_f32(a, b, m), c, m);
                    assert_eq!(u64::from(pairs), compare::min3(F32, a.into(), b.into(), c.into(), m));
                }
            }
        }
    }

    /// The instructions that a body makes for a target.
    fn ops(target: u16, body: impl FnOnce()) -> Vec<Op> {
        let target = Target::sm(target).expect("a target");
        let entry = build_entry("k", target, body).expect("builds");
        entry.blocks.iter().flat_map(|block| &block.insts).map(|inst| inst.op).collect()
    }

    /// Makes a value observable, so that it is not dropped.
    fn keep<T: Scalar>(value: Value<T>) {
        let at = crate::ops::At::from(scalar_param::<u64>("out"));
        crate::ops::none(Op::StGeneric, &[crate::value::bit_type(T::TY.bits())], &[], {
            vec![crate::ops::Argument::argument(at), value.operand()]
        });
    }

    #[test]
    fn the_target_picks() {
        let sum = || keep(add_bf16(scalar_param::<B32>("a"), scalar_param::<B32>("b")));
        assert!(ops(80, sum).contains(&Op::Fma) && !ops(80, sum).contains(&Op::AddF));
        assert!(ops(90, sum).contains(&Op::AddF) && !ops(90, sum).contains(&Op::Fma));
        let refused =
            build_entry("k", Target::sm(75).expect("a target"), sum).expect_err("sm_75 has no bf16");
        assert!(refused.to_string().contains("bf16 arithmetic needs sm_80"), "{refused}");
        let most = || {
            let number = |name| scalar_param::<f32>(name);
            keep(max_of_three(number("a"), number("b"), number("c")).bitcast::<B32>());
        };
        assert_eq!(ops(90, most).iter().filter(|op| **op == Op::Max).count(), 2);
        assert_eq!(ops(100, most).iter().filter(|op| **op == Op::Max3).count(), 1);
    }
}
