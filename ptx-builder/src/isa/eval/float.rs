//! Floating-point arithmetic.

use super::{FTZ, arith, context, ftz, rounding};
use crate::emu::approx;
use crate::emu::convert::{Convert, float_to_float};
use crate::emu::float::warp;
use crate::emu::float::{self, BF16, F16, F32, F64, Format, compare, packed16, packed32};
use crate::emu::lane::{WarpFn, lanes, whole};
use crate::isa::mods::{Mods, TestClass};
use crate::types::Ty;

/// Whether nothing but `.rn` and `.ftz` is asked for, which has fast paths.
fn plain(context: u32) -> bool {
    context & !FTZ == 0
}

macro_rules! two_operands {
    ($(#[$doc:meta])* $name:ident, |$a:ident, $b:ident| $plain:expr, $warp:ident, $f32:ident $f64:ident $f16:ident $bf16:ident) => {
        $(#[$doc])*
        pub fn $name(mods: &Mods) -> Option<WarpFn> {
            let context = context(mods);
            Some(match mods.t()? {
                Ty::F32 if context == 0 => lanes!(|$a: f32, $b: f32| -> u32 { canonical($plain) }),
                Ty::F32 if plain(context) => whole!(|d: u32, a: u32, b: u32| { warp::$warp(d, a, b, true) }),
                Ty::F32 => lanes!(with file, at; |a: u32, b: u32| -> u32 { float::$f32(a, b, arith(at.context)) }),
                Ty::F64 => lanes!(with file, at; |a: u64, b: u64| -> u64 { float::$f64(a, b, rounding(at.context)) }),
                Ty::F16 => lanes!(with file, at; |a: u16, b: u16| -> u16 { float::$f16(a, b, arith(at.context)) }),
                Ty::Bf16 => lanes!(with file, at; |a: u16, b: u16| -> u16 { float::$bf16(a, b, arith(at.context)) }),
                Ty::F16x2 => lanes!(with file, at; |a: u32, b: u32| -> u32 {
                    packed16([a, b], |[a, b]| float::$f16(a, b, arith(at.context)))
                }),
                Ty::Bf16x2 => lanes!(with file, at; |a: u32, b: u32| -> u32 {
                    packed16([a, b], |[a, b]| float::$bf16(a, b, arith(at.context)))
                }),
                Ty::F32x2 => lanes!(with file, at; |a: u64, b: u64| -> u64 {
                    packed32([a, b], |[a, b]| float::$f32(a, b, arith(at.context)))
                }),
                _ => return None,
            }
            .with(context))
        }
    };
}

two_operands!(
    /// `add` of floats.
    add_f, |a, b| a + b, add_f32, add_f32 add_f64 add_f16 add_bf16
);
two_operands!(
    /// `sub` of floats.
    sub_f, |a, b| a - b, sub_f32, sub_f32 sub_f64 sub_f16 sub_bf16
);
two_operands!(
    /// `mul` of floats.
    mul_f, |a, b| a * b, mul_f32, mul_f32 mul_f64 mul_f16 mul_bf16
);

/// `fma`.
pub fn fma(mods: &Mods) -> Option<WarpFn> {
    let context = context(mods);
    Some(
        match mods.t()? {
            Ty::F32 if context == 0 => {
                whole!(|d: u32, a: u32, b: u32, c: u32| { warp::fma_f32(d, a, b, c, false) })
            }
            Ty::F32 if plain(context) => {
                whole!(|d: u32, a: u32, b: u32, c: u32| { warp::fma_f32(d, a, b, c, true) })
            }
            Ty::F32 => lanes!(with file, at; |a: u32, b: u32, c: u32| -> u32 {
                float::fma_f32(a, b, c, arith(at.context))
            }),
            Ty::F64 if context == 0 => whole!(|d: u64, a: u64, b: u64, c: u64| { warp::fma_f64(d, a, b, c) }),
            Ty::F64 => lanes!(with file, at; |a: u64, b: u64, c: u64| -> u64 {
                float::fma_f64(a, b, c, rounding(at.context))
            }),
            Ty::F16 => lanes!(with file, at; |a: u16, b: u16, c: u16| -> u16 {
                float::fma_f16(a, b, c, arith(at.context))
            }),
            Ty::Bf16 => lanes!(with file, at; |a: u16, b: u16, c: u16| -> u16 {
                float::fma_bf16(a, b, c, arith(at.context))
            }),
            Ty::F16x2 => lanes!(with file, at; |a: u32, b: u32, c: u32| -> u32 {
                packed16([a, b, c], |[a, b, c]| float::fma_f16(a, b, c, arith(at.context)))
            }),
            Ty::Bf16x2 => lanes!(with file, at; |a: u32, b: u32, c: u32| -> u32 {
                packed16([a, b, c], |[a, b, c]| float::fma_bf16(a, b, c, arith(at.context)))
            }),
            Ty::F32x2 => lanes!(with file, at; |a: u64, b: u64, c: u64| -> u64 {
                packed32([a, b, c], |[a, b, c]| float::fma_f32(a, b, c, arith(at.context)))
            }),
            _ => return None,
        }
        .with(context),
    )
}

/// A float result whose NaN is the canonical one.
#[inline(always)]
fn canonical(value: f32) -> u32 {
    if value.is_nan() { F32.nan() as u32 } else { value.to_bits() }
}

/// `div` with a rounding.
pub fn div_f(mods: &Mods) -> Option<WarpFn> {
    Some(
        match mods.t()? {
            Ty::F32 if context(mods) == 0 => lanes!(|a: f32, b: f32| -> u32 { canonical(a / b) }),
            Ty::F32 => {
                lanes!(with file, at; |a: u32, b: u32| -> u32 { float::div_f32(a, b, arith(at.context)) })
            }
            Ty::F64 => {
                lanes!(with file, at; |a: u64, b: u64| -> u64 { float::div_f64(a, b, rounding(at.context)) })
            }
            _ => return None,
        }
        .with(context(mods)),
    )
}

macro_rules! one_operand {
    ($(#[$doc:meta])* $name:ident, $f32:ident $f64:ident, |$a:ident| $plain:expr) => {
        $(#[$doc])*
        pub fn $name(mods: &Mods) -> Option<WarpFn> {
            Some(match mods.t()? {
                Ty::F32 if context(mods) == 0 => lanes!(|$a: f32| -> u32 { canonical($plain) }),
                Ty::F32 => lanes!(with file, at; |a: u32| -> u32 { float::$f32(a, arith(at.context)) }),
                Ty::F64 => lanes!(with file, at; |a: u64| -> u64 { float::$f64(a, rounding(at.context)) }),
                _ => return None,
            }
            .with(context(mods)))
        }
    };
}

one_operand!(
    /// `sqrt` with a rounding.
    sqrt_f, sqrt_f32 sqrt_f64, |a| a.sqrt()
);
one_operand!(
    /// `rcp` with a rounding.
    rcp_f, rcp_f32 rcp_f64, |a| 1.0 / a
);

macro_rules! sign {
    ($(#[$doc:meta])* $name:ident $of:ident) => {
        $(#[$doc])*
        pub fn $name(mods: &Mods) -> Option<WarpFn> {
            Some(match mods.t()? {
                Ty::F32 => lanes!(with file, at; |a: u32| -> u32 { compare::$of(F32, a.into(), ftz(at.context)) as u32 }),
                Ty::F64 => lanes!(|a: u64| -> u64 { compare::$of(F64, a, false) }),
                Ty::F16 => lanes!(with file, at; |a: u16| -> u16 { compare::$of(F16, a.into(), ftz(at.context)) as u16 }),
                Ty::Bf16 => lanes!(|a: u16| -> u16 { compare::$of(BF16, a.into(), false) as u16 }),
                Ty::F16x2 => lanes!(with file, at; |a: u32| -> u32 {
                    packed16([a], |[a]| compare::$of(F16, a.into(), ftz(at.context)) as u16)
                }),
                Ty::Bf16x2 => lanes!(|a: u32| -> u32 { packed16([a], |[a]| compare::$of(BF16, a.into(), false) as u16) }),
                _ => return None,
            }
            .with(context(mods)))
        }
    };
}

sign!(
    /// `neg` of a float: the sign bit flipped.
    neg_f neg
);
sign!(
    /// `abs` of a float: the sign bit cleared.
    abs_f abs
);

/// A 16-bit float as f32, exactly.
fn wide(format: Format, bits: u16) -> u32 {
    float_to_float(format, F32, bits.into(), Convert::RN) as u32
}

macro_rules! mixed {
    ($(#[$doc:meta])* $name:ident: $f32:ident($($half:ident),*)) => {
        $(#[$doc])*
        pub fn $name(mods: &Mods) -> Option<WarpFn> {
            Some(match mods.s()? {
                Ty::F16 => lanes!(with file, at; |$($half: u16,)* c: u32| -> u32 {
                    float::$f32($(wide(F16, $half),)* c, arith(at.context))
                }),
                Ty::Bf16 => lanes!(with file, at; |$($half: u16,)* c: u32| -> u32 {
                    float::$f32($(wide(BF16, $half),)* c, arith(at.context))
                }),
                _ => return None,
            }
            .with(context(mods)))
        }
    };
}

mixed!(
    /// `add.f32` of a 16-bit and an f32 operand.
    add_mixed: add_f32(a)
);
mixed!(
    /// `sub.f32` of a 16-bit and an f32 operand.
    sub_mixed: sub_f32(a)
);
mixed!(
    /// `fma.f32` of two 16-bit and an f32 operand.
    fma_mixed: fma_f32(a, b)
);

/// `copysign`.
pub fn copysign(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::F32 => {
            Some(lanes!(|a: u32, b: u32| -> u32 { compare::copysign(F32, a.into(), b.into()) as u32 }))
        }
        Ty::F64 => Some(lanes!(|a: u64, b: u64| -> u64 { compare::copysign(F64, a, b) })),
        _ => None,
    }
}

/// `testp`.
pub fn testp(mods: &Mods) -> Option<WarpFn> {
    macro_rules! classes {
        ($($row:ident $class:ident),*) => {
            match (TestClass::of(mods)?, mods.t()?) {
                $((TestClass::$row, Ty::F32) => {
                    Some(lanes!(|a: u32| -> bool { compare::test(F32, compare::TestClass::$class, a.into()) }))
                }
                (TestClass::$row, Ty::F64) => {
                    Some(lanes!(|a: u64| -> bool { compare::test(F64, compare::TestClass::$class, a) }))
                })*
                _ => None,
            }
        };
    }
    classes!(
        Finite Finite, Infinite Infinite, Number Number, Notanumber NotANumber, Normal Normal, Subnormal Subnormal
    )
}

macro_rules! approximations {
    ($($(#[$doc:meta])* $name:ident, $($ty:ident $lane:ident $function:ident ($($more:ident)?)),*;)*) => {$(
        $(#[$doc])*
        pub fn $name(mods: &Mods) -> Option<WarpFn> {
            Some(match mods.t()? {
                $(Ty::$ty => approximations!(@one $lane $function $($more)?),)*
                _ => return None,
            }
            .with(context(mods)))
        }
    )*};
    (@one $lane:ident $function:ident ftz) => {
        lanes!(with file, at; |a: $lane| -> $lane { approx::$function(a, ftz(at.context), file.approx) })
    };
    (@one $lane:ident $function:ident) => {
        lanes!(with file, at; |a: $lane| -> $lane { approx::$function(a, file.approx) })
    };
    (@one $lane:ident $function:ident both) => {
        lanes!(with file, at; |a: $lane| -> $lane { packed16([a], |[a]| approx::$function(a, file.approx)) })
    };
}

approximations! {
    /// `rcp.approx`; for f64 always with `.ftz`.
    rcp_approx, F32 u32 rcp_f32 (ftz), F64 u64 rcp_ftz_f64 ();
    /// `sqrt.approx`.
    sqrt_approx, F32 u32 sqrt_f32 (ftz);
    /// `lg2.approx`.
    lg2_approx, F32 u32 lg2_f32 (ftz);
    /// `sin.approx`.
    sin_approx, F32 u32 sin_f32 (ftz);
    /// `cos.approx`.
    cos_approx, F32 u32 cos_f32 (ftz);
    /// `tanh.approx`.
    tanh_approx, F32 u32 tanh_f32 (), F16 u16 tanh_f16 (), Bf16 u16 tanh_bf16 (), F16x2 u32 tanh_f16 (both),
        Bf16x2 u32 tanh_bf16 (both);
    /// `ex2.approx`; for bf16 always with `.ftz`.
    ex2_approx, F32 u32 ex2_f32 (ftz), F16 u16 ex2_f16 (), Bf16 u16 ex2_bf16 (), F16x2 u32 ex2_f16 (both),
        Bf16x2 u32 ex2_bf16 (both);
}

/// `rsqrt.approx`.
pub fn rsqrt_approx(mods: &Mods) -> Option<WarpFn> {
    let context = context(mods);
    Some(
        match mods.t()? {
            Ty::F32 => {
                lanes!(with file, at; |a: u32| -> u32 { approx::rsqrt_f32(a, ftz(at.context), file.approx) })
            }
            Ty::F64 if ftz(context) => {
                lanes!(with file, at; |a: u64| -> u64 { approx::rsqrt_ftz_f64(a, file.approx) })
            }
            Ty::F64 => lanes!(with file, at; |a: u64| -> u64 { approx::rsqrt_f64(a, file.approx) }),
            _ => return None,
        }
        .with(context),
    )
}

/// `div.approx`.
pub fn div_approx(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::F32 => Some(
            lanes!(with file, at; |a: u32, b: u32| -> u32 {
                approx::div_f32(a, b, ftz(at.context), file.approx)
            })
            .with(context(mods)),
        ),
        _ => None,
    }
}

/// `div.full`.
pub fn div_full(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::F32 => Some(
            lanes!(with file, at; |a: u32, b: u32| -> u32 {
                approx::div_full_f32(a, b, ftz(at.context), file.approx)
            })
            .with(context(mods)),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Mod;
    use crate::isa::mods::{Ftz, Rnd, Sat};

    #[test]
    fn modifiers_reach_the_arithmetic() {
        let one = f64::from(1.0f32).to_bits();
        let f32 = |mods: &[Mod], a: f32, b: f32| {
            let mods = Mods::new(&[&[Mod::t(Ty::F32)], mods].concat());
            let function = add_f(&mods).expect("a row");
            function.scalar(&[a.to_bits().into(), b.to_bits().into()]).map(|bits| f32::from_bits(bits as u32))
        };
        let tiny = f32::from_bits(1);
        assert_eq!(f32(&[Rnd::Rn.get()], 1.0, tiny), Some(1.0));
        assert_eq!(f32(&[Rnd::Rp.get()], 1.0, tiny), Some(1.0 + f32::EPSILON));
        assert_eq!(f32(&[Rnd::Rn.get(), Ftz::Ftz.get()], 0.0, tiny), Some(0.0));
        assert_eq!(f32(&[Rnd::Rn.get(), Sat::Sat.get()], 1.0, 1.0), Some(1.0));
        assert_eq!(add_f(&Mods::new(&[Mod::t(Ty::U32)])).map(|_| ()), None);
        let double = add_f(&Mods::new(&[Mod::t(Ty::F64), Rnd::Rn.get()])).expect("a row");
        assert_eq!(double.scalar(&[one, one]), Some(2.0f64.to_bits()));
        assert_eq!(arith(context(&Mods::NONE)), float::Arith::RN);
    }
}
