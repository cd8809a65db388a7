//! Lane semantics of the pure rows that do not fit in one line of the table.
//!
//! A function here selects, by an instruction's modifiers, the warp-wide function that computes it; `None` says that
//! the row does not allow the combination.

use super::mods::{Cmp, Half, IRnd, Mods, Rnd};
use crate::emu::lane::{WarpFn, lanes};
use crate::types::Ty;

/// The NaN that arithmetic returns.
const NAN: f32 = f32::from_bits(0x7fff_ffff);

#[inline(always)]
fn canonical(value: f32) -> f32 {
    if value.is_nan() { NAN } else { value }
}

/// `add.rn`.
pub fn add_f(mods: &Mods) -> Option<WarpFn> {
    match (mods.t()?, Rnd::of(mods)?) {
        (Ty::F32, Rnd::Rn) => Some(lanes!(|a: f32, b: f32| -> f32 { canonical(a + b) })),
        _ => None,
    }
}

/// `sub.rn`.
pub fn sub_f(mods: &Mods) -> Option<WarpFn> {
    match (mods.t()?, Rnd::of(mods)?) {
        (Ty::F32, Rnd::Rn) => Some(lanes!(|a: f32, b: f32| -> f32 { canonical(a - b) })),
        _ => None,
    }
}

/// `mul.rn`.
pub fn mul_f(mods: &Mods) -> Option<WarpFn> {
    match (mods.t()?, Rnd::of(mods)?) {
        (Ty::F32, Rnd::Rn) => Some(lanes!(|a: f32, b: f32| -> f32 { canonical(a * b) })),
        _ => None,
    }
}

/// `fma.rn`.
pub fn fma(mods: &Mods) -> Option<WarpFn> {
    match (mods.t()?, Rnd::of(mods)?) {
        (Ty::F32, Rnd::Rn) => Some(lanes!(|a: f32, b: f32, c: f32| -> f32 { canonical(a.mul_add(b, c)) })),
        _ => None,
    }
}

/// `div.rn`.
pub fn div_f(mods: &Mods) -> Option<WarpFn> {
    match (mods.t()?, Rnd::of(mods)?) {
        (Ty::F32, Rnd::Rn) => Some(lanes!(|a: f32, b: f32| -> f32 { canonical(a / b) })),
        _ => None,
    }
}

/// `sqrt.rn`.
pub fn sqrt_f(mods: &Mods) -> Option<WarpFn> {
    match (mods.t()?, Rnd::of(mods)?) {
        (Ty::F32, Rnd::Rn) => Some(lanes!(|a: f32| -> f32 { canonical(a.sqrt()) })),
        _ => None,
    }
}

/// `rcp.rn`.
pub fn rcp_f(mods: &Mods) -> Option<WarpFn> {
    match (mods.t()?, Rnd::of(mods)?) {
        (Ty::F32, Rnd::Rn) => Some(lanes!(|a: f32| -> f32 { canonical(1.0 / a) })),
        _ => None,
    }
}

/// Integer `add`.
pub fn add_i(mods: &Mods) -> Option<WarpFn> {
    match mods.t()?.bits() {
        32 => Some(lanes!(|a: u32, b: u32| -> u32 { a.wrapping_add(b) })),
        64 => Some(lanes!(|a: u64, b: u64| -> u64 { a.wrapping_add(b) })),
        _ => None,
    }
}

/// Integer `sub`.
pub fn sub_i(mods: &Mods) -> Option<WarpFn> {
    match mods.t()?.bits() {
        32 => Some(lanes!(|a: u32, b: u32| -> u32 { a.wrapping_sub(b) })),
        64 => Some(lanes!(|a: u64, b: u64| -> u64 { a.wrapping_sub(b) })),
        _ => None,
    }
}

/// `mul.lo` and `mul.hi`.
pub fn mul_i(mods: &Mods) -> Option<WarpFn> {
    match (mods.t()?, Half::of(mods)?) {
        (Ty::U32 | Ty::S32, Half::Lo) => Some(lanes!(|a: u32, b: u32| -> u32 { a.wrapping_mul(b) })),
        (Ty::U64 | Ty::S64, Half::Lo) => Some(lanes!(|a: u64, b: u64| -> u64 { a.wrapping_mul(b) })),
        (Ty::U32, Half::Hi) => {
            Some(lanes!(|a: u32, b: u32| -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }))
        }
        (Ty::S32, Half::Hi) => {
            Some(lanes!(|a: i32, b: i32| -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 }))
        }
        (Ty::U64, Half::Hi) => {
            Some(lanes!(|a: u64, b: u64| -> u64 { ((u128::from(a) * u128::from(b)) >> 64) as u64 }))
        }
        (Ty::S64, Half::Hi) => {
            Some(lanes!(|a: i64, b: i64| -> i64 { ((i128::from(a) * i128::from(b)) >> 64) as i64 }))
        }
        _ => None,
    }
}

/// `mul.wide`.
pub fn mul_wide(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U32 => Some(lanes!(|a: u32, b: u32| -> u64 { u64::from(a) * u64::from(b) })),
        Ty::S32 => Some(lanes!(|a: i32, b: i32| -> i64 { i64::from(a) * i64::from(b) })),
        _ => None,
    }
}

/// `mad.wide`.
pub fn mad_wide(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U32 => {
            Some(lanes!(|a: u32, b: u32, c: u64| -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) }))
        }
        Ty::S32 => {
            Some(lanes!(|a: i32, b: i32, c: i64| -> i64 { (i64::from(a) * i64::from(b)).wrapping_add(c) }))
        }
        _ => None,
    }
}

/// `mad.lo`.
pub fn mad_lo(mods: &Mods) -> Option<WarpFn> {
    match mods.t()?.bits() {
        32 => Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { a.wrapping_mul(b).wrapping_add(c) })),
        64 => Some(lanes!(|a: u64, b: u64, c: u64| -> u64 { a.wrapping_mul(b).wrapping_add(c) })),
        _ => None,
    }
}

macro_rules! bitwise {
    ($(#[$doc:meta])* $name:ident, |$a:ident, $b:ident| $body:expr) => {
        $(#[$doc])*
        pub fn $name(mods: &Mods) -> Option<WarpFn> {
            match mods.t()? {
                Ty::B32 => Some(lanes!(|$a: u32, $b: u32| -> u32 { $body })),
                Ty::B64 => Some(lanes!(|$a: u64, $b: u64| -> u64 { $body })),
                Ty::Pred => Some(lanes!(|$a: bool, $b: bool| -> bool { $body })),
                _ => None,
            }
        }
    };
}

bitwise!(
    /// `and`.
    and, |a, b| a & b
);
bitwise!(
    /// `or`.
    or, |a, b| a | b
);
bitwise!(
    /// `xor`.
    xor, |a, b| a ^ b
);

/// `not`.
pub fn not(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::B32 => Some(lanes!(|a: u32| -> u32 { !a })),
        Ty::B64 => Some(lanes!(|a: u64| -> u64 { !a })),
        Ty::Pred => Some(lanes!(|a: bool| -> bool { !a })),
        _ => None,
    }
}

/// `shl`: amounts of the width and above give 0.
pub fn shl(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::B32 => Some(lanes!(|a: u32, n: u32| -> u32 { a.checked_shl(n).unwrap_or(0) })),
        Ty::B64 => Some(lanes!(|a: u64, n: u32| -> u64 { a.checked_shl(n).unwrap_or(0) })),
        _ => None,
    }
}

/// `shr`: amounts of the width and above give 0, or the sign for signed types.
pub fn shr(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U32 | Ty::B32 => Some(lanes!(|a: u32, n: u32| -> u32 { a.checked_shr(n).unwrap_or(0) })),
        Ty::S32 => Some(lanes!(|a: i32, n: u32| -> i32 { a >> n.min(31) })),
        Ty::U64 | Ty::B64 => Some(lanes!(|a: u64, n: u32| -> u64 { a.checked_shr(n).unwrap_or(0) })),
        Ty::S64 => Some(lanes!(|a: i64, n: u32| -> i64 { a >> n.min(63) })),
        _ => None,
    }
}

/// `min` of integers and f32 (a NaN operand gives the other one; -0 is below +0).
pub fn min(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U32 => Some(lanes!(|a: u32, b: u32| -> u32 { a.min(b) })),
        Ty::S32 => Some(lanes!(|a: i32, b: i32| -> i32 { a.min(b) })),
        Ty::U64 => Some(lanes!(|a: u64, b: u64| -> u64 { a.min(b) })),
        Ty::S64 => Some(lanes!(|a: i64, b: i64| -> i64 { a.min(b) })),
        Ty::F32 => Some(lanes!(|a: f32, b: f32| -> f32 {
            if a == b { f32::from_bits(a.to_bits() | b.to_bits()) } else { canonical(a.min(b)) }
        })),
        _ => None,
    }
}

/// `max` of integers and f32 (a NaN operand gives the other one; +0 is above -0).
pub fn max(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U32 => Some(lanes!(|a: u32, b: u32| -> u32 { a.max(b) })),
        Ty::S32 => Some(lanes!(|a: i32, b: i32| -> i32 { a.max(b) })),
        Ty::U64 => Some(lanes!(|a: u64, b: u64| -> u64 { a.max(b) })),
        Ty::S64 => Some(lanes!(|a: i64, b: i64| -> i64 { a.max(b) })),
        Ty::F32 => Some(lanes!(|a: f32, b: f32| -> f32 {
            if a == b { f32::from_bits(a.to_bits() & b.to_bits()) } else { canonical(a.max(b)) }
        })),
        _ => None,
    }
}

/// `mov` of one register.
pub fn mov(mods: &Mods) -> Option<WarpFn> {
    match mods.t()?.bits() {
        1 => Some(lanes!(|a: bool| -> bool { a })),
        64 => Some(lanes!(|a: u64| -> u64 { a })),
        16 | 32 => Some(lanes!(|a: u32| -> u32 { a })),
        _ => None,
    }
}

/// `selp`.
pub fn selp(mods: &Mods) -> Option<WarpFn> {
    match mods.t()?.bits() {
        64 => Some(lanes!(|a: u64, b: u64, p: bool| -> u64 { if p { a } else { b } })),
        16 | 32 => Some(lanes!(|a: u32, b: u32, p: bool| -> u32 { if p { a } else { b } })),
        _ => None,
    }
}

macro_rules! compare {
    ($cmp:expr, $ty:ty) => {
        match $cmp {
            Cmp::Eq => Some(lanes!(|a: $ty, b: $ty| -> bool { a == b })),
            Cmp::Ne => Some(lanes!(|a: $ty, b: $ty| -> bool { a != b })),
            Cmp::Lt | Cmp::Lo => Some(lanes!(|a: $ty, b: $ty| -> bool { a < b })),
            Cmp::Le | Cmp::Ls => Some(lanes!(|a: $ty, b: $ty| -> bool { a <= b })),
            Cmp::Gt | Cmp::Hi => Some(lanes!(|a: $ty, b: $ty| -> bool { a > b })),
            Cmp::Ge | Cmp::Hs => Some(lanes!(|a: $ty, b: $ty| -> bool { a >= b })),
            _ => None,
        }
    };
}

macro_rules! compare_float {
    ($cmp:expr, $ty:ty) => {
        match $cmp {
            Cmp::Ne => Some(lanes!(|a: $ty, b: $ty| -> bool { a < b || a > b })),
            Cmp::Equ => Some(lanes!(|a: $ty, b: $ty| -> bool { a.is_nan() || b.is_nan() || a == b })),
            Cmp::Neu => Some(lanes!(|a: $ty, b: $ty| -> bool { a != b })),
            Cmp::Ltu => Some(lanes!(|a: $ty, b: $ty| -> bool { a.is_nan() || b.is_nan() || a < b })),
            Cmp::Leu => Some(lanes!(|a: $ty, b: $ty| -> bool { a.is_nan() || b.is_nan() || a <= b })),
            Cmp::Gtu => Some(lanes!(|a: $ty, b: $ty| -> bool { a.is_nan() || b.is_nan() || a > b })),
            Cmp::Geu => Some(lanes!(|a: $ty, b: $ty| -> bool { a.is_nan() || b.is_nan() || a >= b })),
            Cmp::Num => Some(lanes!(|a: $ty, b: $ty| -> bool { !a.is_nan() && !b.is_nan() })),
            Cmp::Nan => Some(lanes!(|a: $ty, b: $ty| -> bool { a.is_nan() || b.is_nan() })),
            Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs => None,
            ordered => compare!(ordered, $ty),
        }
    };
}

/// `setp`.
pub fn setp(mods: &Mods) -> Option<WarpFn> {
    let cmp = Cmp::of(mods)?;
    match mods.t()? {
        Ty::U32 | Ty::B32 => compare!(cmp, u32),
        Ty::S32 => compare!(cmp, i32),
        Ty::U64 | Ty::B64 => compare!(cmp, u64),
        Ty::S64 => compare!(cmp, i64),
        Ty::U16 | Ty::B16 => compare!(cmp, u16),
        Ty::F32 => compare_float!(cmp, f32),
        Ty::F64 => compare_float!(cmp, f64),
        _ => None,
    }
}

/// `neg` and `abs` as sign-bit operations on floats.
pub fn neg_f(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::F32 => Some(lanes!(|a: u32| -> u32 { a ^ 0x8000_0000 })),
        _ => None,
    }
}

/// `abs` of a float.
pub fn abs_f(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::F32 => Some(lanes!(|a: u32| -> u32 { a & 0x7fff_ffff })),
        _ => None,
    }
}

/// Conversions.
pub fn cvt(mods: &Mods) -> Option<WarpFn> {
    match (mods.t()?, mods.s()?, Rnd::of(mods), IRnd::of(mods)) {
        (Ty::U64, Ty::U32, None, None) => Some(lanes!(|a: u32| -> u64 { u64::from(a) })),
        (Ty::S64, Ty::S32, None, None) => Some(lanes!(|a: i32| -> i64 { i64::from(a) })),
        (Ty::U32, Ty::U64, None, None) => Some(lanes!(|a: u64| -> u32 { a as u32 })),
        (Ty::U32, Ty::U16, None, None) => Some(lanes!(|a: u16| -> u32 { u32::from(a) })),
        (Ty::U16, Ty::U32, None, None) => Some(lanes!(|a: u32| -> u16 { a as u16 })),
        (Ty::F32, Ty::U32, Some(Rnd::Rn), None) => Some(lanes!(|a: u32| -> f32 { a as f32 })),
        (Ty::F32, Ty::S32, Some(Rnd::Rn), None) => Some(lanes!(|a: i32| -> f32 { a as f32 })),
        (Ty::F64, Ty::F32, None, None) => Some(lanes!(|a: f32| -> f64 { f64::from(a) })),
        (Ty::F32, Ty::F64, Some(Rnd::Rn), None) => Some(lanes!(|a: f64| -> f32 { canonical(a as f32) })),
        _ => None,
    }
}

/// Packing conversions: the first operand becomes the upper half.
pub fn cvt_pack(_: &Mods) -> Option<WarpFn> {
    None
}
