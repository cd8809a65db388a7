//! Integers, bits, moves and selection.

use crate::emu::lane::{WarpFn, lanes};
use crate::isa::mods::{Half, Mods};
use crate::types::Ty;

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
