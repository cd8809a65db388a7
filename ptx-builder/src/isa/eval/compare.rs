//! Minimum, maximum and comparison.

use super::{context, extremum, ftz};
use crate::emu::float::compare::{self, FloatCompare};
use crate::emu::float::{BF16, F16, F32, F64, Format, packed16};
use crate::emu::lane::{WarpFn, lanes};
use crate::isa::mods::{Cmp, Mods};
use crate::types::Ty;

macro_rules! extremum {
    ($(#[$doc:meta])* $name:ident $f32:ident) => {
        $(#[$doc])*
        pub fn $name(mods: &Mods) -> Option<WarpFn> {
            Some(match mods.t()? {
                Ty::U16 => lanes!(|a: u16, b: u16| -> u16 { a.$name(b) }),
                Ty::S16 => lanes!(|a: i16, b: i16| -> i16 { a.$name(b) }),
                Ty::U32 => lanes!(|a: u32, b: u32| -> u32 { a.$name(b) }),
                Ty::S32 => lanes!(|a: i32, b: i32| -> i32 { a.$name(b) }),
                Ty::U64 => lanes!(|a: u64, b: u64| -> u64 { a.$name(b) }),
                Ty::S64 => lanes!(|a: i64, b: i64| -> i64 { a.$name(b) }),
                Ty::F32 => lanes!(with file, at; |a: u32, b: u32| -> u32 { compare::$f32(a, b, extremum(at.context)) }),
                Ty::F64 => lanes!(|a: u64, b: u64| -> u64 { compare::$name(F64, a, b, extremum(0)) }),
                Ty::F16 => lanes!(with file, at; |a: u16, b: u16| -> u16 { half(F16, a, b, at.context, compare::$name) }),
                Ty::Bf16 => lanes!(with file, at; |a: u16, b: u16| -> u16 { half(BF16, a, b, at.context, compare::$name) }),
                Ty::F16x2 => lanes!(with file, at; |a: u32, b: u32| -> u32 {
                    packed16([a, b], |[a, b]| half(F16, a, b, at.context, compare::$name))
                }),
                Ty::Bf16x2 => lanes!(with file, at; |a: u32, b: u32| -> u32 {
                    packed16([a, b], |[a, b]| half(BF16, a, b, at.context, compare::$name))
                }),
                _ => return None,
            }
            .with(context(mods)))
        }
    };
}

type Extremum = fn(Format, u64, u64, compare::MinMax) -> u64;

fn half(format: Format, a: u16, b: u16, context: u32, of: Extremum) -> u16 {
    of(format, a.into(), b.into(), extremum(context)) as u16
}

extremum!(
    /// `min`.
    min min_f32
);
extremum!(
    /// `max`.
    max max_f32
);

macro_rules! extremum_of_three {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub fn $name(mods: &Mods) -> Option<WarpFn> {
            Some(lanes!(with file, at; |a: u32, b: u32, c: u32| -> u32 {
                compare::$name(F32, a.into(), b.into(), c.into(), extremum(at.context)) as u32
            })
            .with(context(mods)))
        }
    };
}

extremum_of_three!(
    /// `min` of three floats.
    min3
);
extremum_of_three!(
    /// `max` of three floats.
    max3
);

macro_rules! integers {
    ($cmp:expr, $ty:ty) => {
        match $cmp {
            Cmp::Eq => lanes!(|a: $ty, b: $ty| -> bool { a == b }),
            Cmp::Ne => lanes!(|a: $ty, b: $ty| -> bool { a != b }),
            Cmp::Lt | Cmp::Lo => lanes!(|a: $ty, b: $ty| -> bool { a < b }),
            Cmp::Le | Cmp::Ls => lanes!(|a: $ty, b: $ty| -> bool { a <= b }),
            Cmp::Gt | Cmp::Hi => lanes!(|a: $ty, b: $ty| -> bool { a > b }),
            Cmp::Ge | Cmp::Hs => lanes!(|a: $ty, b: $ty| -> bool { a >= b }),
            _ => return None,
        }
    };
}

/// Comparisons in the order of their codes in a warp function's context.
const FLOATS: [(Cmp, FloatCompare); 14] = [
    (Cmp::Eq, FloatCompare::Eq),
    (Cmp::Ne, FloatCompare::Ne),
    (Cmp::Lt, FloatCompare::Lt),
    (Cmp::Le, FloatCompare::Le),
    (Cmp::Gt, FloatCompare::Gt),
    (Cmp::Ge, FloatCompare::Ge),
    (Cmp::Equ, FloatCompare::Equ),
    (Cmp::Neu, FloatCompare::Neu),
    (Cmp::Ltu, FloatCompare::Ltu),
    (Cmp::Leu, FloatCompare::Leu),
    (Cmp::Gtu, FloatCompare::Gtu),
    (Cmp::Geu, FloatCompare::Geu),
    (Cmp::Num, FloatCompare::Num),
    (Cmp::Nan, FloatCompare::Nan),
];

pub(super) fn float(format: Format, a: u64, b: u64, context: u32) -> bool {
    compare::compare(format, FLOATS[(context & 0xf) as usize % FLOATS.len()].1, a, b, ftz(context))
}

/// The code of a comparison of floats, with the other modifiers.
pub(super) fn float_context(mods: &Mods) -> Option<u32> {
    let cmp = Cmp::of(mods)?;
    let code = FLOATS.iter().position(|(known, _)| *known == cmp)? as u32;
    Some(code | context(mods) & !0xff)
}

/// `setp`.
pub fn setp(mods: &Mods) -> Option<WarpFn> {
    let cmp = Cmp::of(mods)?;
    Some(match mods.t()? {
        Ty::U16 | Ty::B16 => integers!(cmp, u16),
        Ty::S16 => integers!(cmp, i16),
        Ty::U32 | Ty::B32 => integers!(cmp, u32),
        Ty::S32 => integers!(cmp, i32),
        Ty::U64 | Ty::B64 => integers!(cmp, u64),
        Ty::S64 => integers!(cmp, i64),
        ty => {
            match ty {
                Ty::F32 => lanes!(with file, at; |a: u32, b: u32| -> bool { float(F32, a.into(), b.into(), at.context) }),
                Ty::F64 => lanes!(with file, at; |a: u64, b: u64| -> bool { float(F64, a, b, at.context) }),
                Ty::F16 => lanes!(with file, at; |a: u16, b: u16| -> bool { float(F16, a.into(), b.into(), at.context) }),
                Ty::Bf16 => lanes!(with file, at; |a: u16, b: u16| -> bool { float(BF16, a.into(), b.into(), at.context) }),
                _ => return None,
            }
            .with(float_context(mods)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Mod;

    #[test]
    fn unordered_comparisons_hold_for_nan() {
        let nan = u64::from(f32::NAN.to_bits());
        let holds = |cmp: Cmp, a: u64, b: u64| {
            let function = setp(&Mods::new(&[Mod::t(Ty::F32), cmp.get()])).expect("a row");
            function.scalar(&[a, b]) == Some(1)
        };
        for (cmp, _) in FLOATS {
            let unordered =
                matches!(cmp, Cmp::Equ | Cmp::Neu | Cmp::Ltu | Cmp::Leu | Cmp::Gtu | Cmp::Geu | Cmp::Nan);
            assert_eq!(holds(cmp, nan, 0), unordered, "{cmp:?}");
        }
        assert!(holds(Cmp::Eq, 0, 0x8000_0000));
        assert!(!holds(Cmp::Lt, 0x8000_0000, 0));
        assert!(setp(&Mods::new(&[Mod::t(Ty::F32), Cmp::Lo.get()])).is_none());
    }
}
