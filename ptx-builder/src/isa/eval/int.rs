//! Integer arithmetic.
//!
//! Division by zero, whose result the manual leaves open, gives all ones as quotient and the dividend as remainder; the
//! one overflowing quotient, of the smallest number by -1, wraps.

use crate::emu::lane::{WarpFn, lanes};
use crate::isa::mods::{Half, Mods};
use crate::types::Ty;

/// One arm for each integer type: its Rust type and the one of twice the width.
macro_rules! each_int {
    ($ty:expr, $I:ident, $W:ident, $make:expr) => {
        each_int!(@arms $ty, $I, $W, $make, U16 u16 u32, S16 i16 i32, U32 u32 u64, S32 i32 i64, U64 u64 u128, S64 i64 i128)
    };
    (@arms $ty:expr, $I:ident, $W:ident, $make:expr, $($variant:ident $int:ident $wide:ident),*) => {
        match $ty {
            $(Ty::$variant => {
                #[allow(dead_code, reason = "not every formula needs the wide type")]
                type $W = $wide;
                type $I = $int;
                Some($make)
            })*
            _ => None,
        }
    };
}

/// `add`.
pub fn add(mods: &Mods) -> Option<WarpFn> {
    each_int!(mods.t()?, I, W, lanes!(|a: I, b: I| -> I { a.wrapping_add(b) }))
}

/// `sub`.
pub fn sub(mods: &Mods) -> Option<WarpFn> {
    each_int!(mods.t()?, I, W, lanes!(|a: I, b: I| -> I { a.wrapping_sub(b) }))
}

/// `add.sat.s32`.
pub fn add_sat(_: &Mods) -> Option<WarpFn> {
    Some(lanes!(|a: i32, b: i32| -> i32 { a.saturating_add(b) }))
}

/// `sub.sat.s32`.
pub fn sub_sat(_: &Mods) -> Option<WarpFn> {
    Some(lanes!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) }))
}

/// `mul.lo` and `mul.hi`.
pub fn mul(mods: &Mods) -> Option<WarpFn> {
    match Half::of(mods)? {
        Half::Lo => each_int!(mods.t()?, I, W, lanes!(|a: I, b: I| -> I { a.wrapping_mul(b) })),
        Half::Hi => {
            each_int!(
                mods.t()?,
                I,
                W,
                lanes!(|a: I, b: I| -> I { ((W::from(a) * W::from(b)) >> I::BITS) as I })
            )
        }
    }
}

/// `mul.wide`.
pub fn mul_wide(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U16 => Some(lanes!(|a: u16, b: u16| -> u32 { u32::from(a) * u32::from(b) })),
        Ty::S16 => Some(lanes!(|a: i16, b: i16| -> i32 { i32::from(a) * i32::from(b) })),
        Ty::U32 => Some(lanes!(|a: u32, b: u32| -> u64 { u64::from(a) * u64::from(b) })),
        Ty::S32 => Some(lanes!(|a: i32, b: i32| -> i64 { i64::from(a) * i64::from(b) })),
        _ => None,
    }
}

/// `mad.wide`.
pub fn mad_wide(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U16 => {
            Some(lanes!(|a: u16, b: u16, c: u32| -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }))
        }
        Ty::S16 => {
            Some(lanes!(|a: i16, b: i16, c: i32| -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) }))
        }
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
    each_int!(mods.t()?, I, W, lanes!(|a: I, b: I, c: I| -> I { a.wrapping_mul(b).wrapping_add(c) }))
}

/// `mad.hi`.
pub fn mad_hi(mods: &Mods) -> Option<WarpFn> {
    each_int!(
        mods.t()?,
        I,
        W,
        lanes!(|a: I, b: I, c: I| -> I { (((W::from(a) * W::from(b)) >> I::BITS) as I).wrapping_add(c) })
    )
}

/// `div` of integers.
pub fn div(mods: &Mods) -> Option<WarpFn> {
    each_int!(mods.t()?, I, W, lanes!(|a: I, b: I| -> I { if b == 0 { !0 } else { a.wrapping_div(b) } }))
}

/// `rem`.
pub fn rem(mods: &Mods) -> Option<WarpFn> {
    each_int!(mods.t()?, I, W, lanes!(|a: I, b: I| -> I { if b == 0 { a } else { a.wrapping_rem(b) } }))
}

/// `neg` of an integer.
pub fn neg(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::S16 => Some(lanes!(|a: i16| -> i16 { a.wrapping_neg() })),
        Ty::S32 => Some(lanes!(|a: i32| -> i32 { a.wrapping_neg() })),
        Ty::S64 => Some(lanes!(|a: i64| -> i64 { a.wrapping_neg() })),
        _ => None,
    }
}

/// `abs` of an integer.
pub fn abs(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::S16 => Some(lanes!(|a: i16| -> i16 { a.wrapping_abs() })),
        Ty::S32 => Some(lanes!(|a: i32| -> i32 { a.wrapping_abs() })),
        Ty::S64 => Some(lanes!(|a: i64| -> i64 { a.wrapping_abs() })),
        _ => None,
    }
}

/// `sad`.
pub fn sad(mods: &Mods) -> Option<WarpFn> {
    each_int!(mods.t()?, I, W, lanes!(|a: I, b: I, c: I| -> I { c.wrapping_add(a.abs_diff(b) as I) }))
}

/// Sum of `c` and the products of the bytes of `a` and `b`.
fn dot(a: [i32; 4], b: [i32; 4], c: u32) -> u32 {
    a.iter().zip(b).fold(c, |sum, (a, b)| sum.wrapping_add((a * b) as u32))
}

/// `dp4a`.
pub fn dp4a(mods: &Mods) -> Option<WarpFn> {
    fn signed(word: u32) -> [i32; 4] {
        word.to_le_bytes().map(|byte| i32::from(byte as i8))
    }
    fn unsigned(word: u32) -> [i32; 4] {
        word.to_le_bytes().map(i32::from)
    }
    match (mods.t()?, mods.s()?) {
        (Ty::U32, Ty::U32) => {
            Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { dot(unsigned(a), unsigned(b), c) }))
        }
        (Ty::U32, Ty::S32) => {
            Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { dot(unsigned(a), signed(b), c) }))
        }
        (Ty::S32, Ty::U32) => {
            Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { dot(signed(a), unsigned(b), c) }))
        }
        (Ty::S32, Ty::S32) => Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { dot(signed(a), signed(b), c) })),
        _ => None,
    }
}
