//! Selection, and comparisons whose result is combined with a predicate or is a number.

use super::compare::{self, float, float_context};
use crate::emu::float::{BF16, F16, F32, F64, packed16};
use crate::emu::lane::{WarpFn, lanes};
use crate::isa::mods::{BoolOp, Cmp, Ftz, Mods};
use crate::types::Ty;

/// Evaluates `$make` with the type `$I` and the function `$holds` set to an integer type and a comparison.
macro_rules! each_comparison {
    ($mods:expr, $ty:expr, $I:ident $holds:ident, $make:expr) => {
        match $ty {
            Ty::U16 | Ty::B16 => each_comparison!(@of $mods, u16, $I $holds, $make),
            Ty::S16 => each_comparison!(@of $mods, i16, $I $holds, $make),
            Ty::U32 | Ty::B32 => each_comparison!(@of $mods, u32, $I $holds, $make),
            Ty::S32 => each_comparison!(@of $mods, i32, $I $holds, $make),
            Ty::U64 | Ty::B64 => each_comparison!(@of $mods, u64, $I $holds, $make),
            Ty::S64 => each_comparison!(@of $mods, i64, $I $holds, $make),
            _ => None,
        }
    };
    (@of $mods:expr, $int:ident, $I:ident $holds:ident, $make:expr) => {
        each_comparison!(@cmp $mods, $int, $I $holds, $make, Eq ==, Ne !=, Lt <, Le <=, Gt >, Ge >=)
    };
    (@cmp $mods:expr, $int:ident, $I:ident $holds:ident, $make:expr, $($cmp:ident $op:tt),*) => {
        match Cmp::of($mods)? {
            $(Cmp::$cmp => {
                type $I = $int;
                #[inline(always)]
                fn $holds(a: $I, b: $I) -> bool {
                    a $op b
                }
                Some($make)
            })*
            _ => None,
        }
    };
}

/// `setp` combined with a predicate.
pub fn setp_bool(mods: &Mods) -> Option<WarpFn> {
    macro_rules! joined {
        ($op:tt) => {
            match mods.t()? {
                Ty::F32 => Some(lanes!(with file, at; |a: u32, b: u32, c: bool| -> bool {
                    float(F32, a.into(), b.into(), at.context) $op c
                }).with(float_context(mods)?)),
                Ty::F64 => Some(lanes!(with file, at; |a: u64, b: u64, c: bool| -> bool {
                    float(F64, a, b, at.context) $op c
                }).with(float_context(mods)?)),
                ty => each_comparison!(mods, ty, I holds, lanes!(|a: I, b: I, c: bool| -> bool { holds(a, b) $op c })),
            }
        };
    }
    match BoolOp::of(mods)? {
        BoolOp::And => joined!(&),
        BoolOp::Or => joined!(|),
        BoolOp::Xor => joined!(^),
    }
}

const ONE_F32: u32 = 0x3f80_0000;
const ONE_F16: u16 = 0x3c00;
const ONE_BF16: u16 = 0x3f80;

/// `set`.
pub fn set(mods: &Mods) -> Option<WarpFn> {
    macro_rules! set_to {
        ($one:expr) => {
            match mods.s()? {
                Ty::F32 => Some(lanes!(with file, at; |a: u32, b: u32| -> u32 {
                    if float(F32, a.into(), b.into(), at.context) { $one } else { 0 }
                }).with(float_context(mods)?)),
                Ty::F64 => Some(lanes!(with file, at; |a: u64, b: u64| -> u32 {
                    if float(F64, a, b, at.context) { $one } else { 0 }
                }).with(float_context(mods)?)),
                ty => each_comparison!(mods, ty, I holds, lanes!(|a: I, b: I| -> u32 { if holds(a, b) { $one } else { 0 } })),
            }
        };
    }
    match mods.t()? {
        Ty::U32 | Ty::S32 => set_to!(!0),
        Ty::F32 => set_to!(ONE_F32),
        _ => None,
    }
}

/// `set` of 16-bit floats.
pub fn set_half(mods: &Mods) -> Option<WarpFn> {
    let function = match mods.t()? {
        Ty::F16 => lanes!(with file, at; |a: u16, b: u16| -> u16 {
            if float(F16, a.into(), b.into(), at.context) { ONE_F16 } else { 0 }
        }),
        Ty::Bf16 => lanes!(with file, at; |a: u16, b: u16| -> u16 {
            if float(BF16, a.into(), b.into(), at.context) { ONE_BF16 } else { 0 }
        }),
        Ty::F16x2 => lanes!(with file, at; |a: u32, b: u32| -> u32 {
            packed16([a, b], |[a, b]| if float(F16, a.into(), b.into(), at.context) { ONE_F16 } else { 0 })
        }),
        Ty::Bf16x2 => lanes!(with file, at; |a: u32, b: u32| -> u32 {
            packed16([a, b], |[a, b]| if float(BF16, a.into(), b.into(), at.context) { ONE_BF16 } else { 0 })
        }),
        _ => return None,
    };
    Some(function.with(compare::float_context(mods)?))
}

/// `selp`.
pub fn selp(mods: &Mods) -> Option<WarpFn> {
    match mods.t()?.bits() {
        16 => Some(lanes!(|a: u16, b: u16, p: bool| -> u16 { if p { a } else { b } })),
        32 => Some(lanes!(|a: u32, b: u32, p: bool| -> u32 { if p { a } else { b } })),
        64 => Some(lanes!(|a: u64, b: u64, p: bool| -> u64 { if p { a } else { b } })),
        _ => None,
    }
}

/// `slct`: `-0` counts as zero, NaN selects `b`.
pub fn slct(mods: &Mods) -> Option<WarpFn> {
    /// Whether the bits of an f32 are at least zero.
    fn positive(c: u32) -> bool {
        f32::from_bits(c) >= 0.0
    }
    // A subnormal that is flushed counts as zero, whatever its sign.
    fn positive_ftz(c: u32) -> bool {
        positive(F32.flush(c.into()) as u32)
    }
    match (mods.t()?.bits(), mods.s()?, Ftz::of(mods).is_some()) {
        (16, Ty::S32, false) => Some(lanes!(|a: u16, b: u16, c: i32| -> u16 { if c >= 0 { a } else { b } })),
        (32, Ty::S32, false) => Some(lanes!(|a: u32, b: u32, c: i32| -> u32 { if c >= 0 { a } else { b } })),
        (64, Ty::S32, false) => Some(lanes!(|a: u64, b: u64, c: i32| -> u64 { if c >= 0 { a } else { b } })),
        (16, Ty::F32, false) => {
            Some(lanes!(|a: u16, b: u16, c: u32| -> u16 { if positive(c) { a } else { b } }))
        }
        (32, Ty::F32, false) => {
            Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { if positive(c) { a } else { b } }))
        }
        (64, Ty::F32, false) => {
            Some(lanes!(|a: u64, b: u64, c: u32| -> u64 { if positive(c) { a } else { b } }))
        }
        (16, Ty::F32, true) => {
            Some(lanes!(|a: u16, b: u16, c: u32| -> u16 { if positive_ftz(c) { a } else { b } }))
        }
        (32, Ty::F32, true) => {
            Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { if positive_ftz(c) { a } else { b } }))
        }
        (64, Ty::F32, true) => {
            Some(lanes!(|a: u64, b: u64, c: u32| -> u64 { if positive_ftz(c) { a } else { b } }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Mod;

    #[test]
    fn comparisons_join_predicates_and_become_numbers() {
        let one = u64::from(1f32.to_bits());
        let nan = u64::from(f32::NAN.to_bits());
        let setp = |ty, cmp: Cmp, join: BoolOp, operands: [u64; 3]| {
            setp_bool(&Mods::new(&[Mod::t(ty), cmp.get(), join.get()])).and_then(|f| f.scalar(&operands))
        };
        assert_eq!(setp(Ty::F32, Cmp::Ltu, BoolOp::And, [nan, one, 1]), Some(1));
        assert_eq!(setp(Ty::F32, Cmp::Lt, BoolOp::Or, [nan, one, 1]), Some(1));
        assert_eq!(setp(Ty::S32, Cmp::Lt, BoolOp::Xor, [0xffff_ffff, 0, 1]), Some(0));
        assert_eq!(setp(Ty::U32, Cmp::Lt, BoolOp::And, [0xffff_ffff, 0, 1]), Some(0));
        let set_as = |t, s, operands: [u64; 2]| {
            set(&Mods::new(&[Mod::t(t), Mod::s(s), Cmp::Ge.get()])).and_then(|f| f.scalar(&operands))
        };
        assert_eq!(set_as(Ty::F32, Ty::S64, [u64::MAX, u64::MAX]), Some(one));
        assert_eq!(set_as(Ty::U32, Ty::F32, [one, nan]), Some(0));
        let halves = set_half(&Mods::new(&[Mod::t(Ty::F16x2), Mod::s(Ty::F16x2), Cmp::Gt.get()]));
        assert_eq!(halves.and_then(|f| f.scalar(&[0x4000_3c00, 0x3c00_3c00])), Some(0x3c00_0000));
    }

    #[test]
    fn the_sign_selects() {
        let select =
            |c: u64| slct(&Mods::new(&[Mod::t(Ty::U32), Mod::s(Ty::F32)])).and_then(|f| f.scalar(&[1, 2, c]));
        assert_eq!(select(0x8000_0000), Some(1));
        assert_eq!(select((-1f32).to_bits().into()), Some(2));
        assert_eq!(select(f32::NAN.to_bits().into()), Some(2));
    }
}
