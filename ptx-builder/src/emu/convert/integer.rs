//! Conversions from and to integers: clamping, truncation, rounding, and `cvt.pack`.

use super::{Convert, integral};
use crate::emu::float::soft::{Exact, Unpacked};
use crate::emu::float::{F32, Format, Rounding};

/// An integer type of PTX. Values travel as `u64`; the bits above the type's width are ignored when read and zero
/// when returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntType {
    /// `.u8`
    U8,
    /// `.u16`
    U16,
    /// `.u32`
    U32,
    /// `.u64`
    U64,
    /// `.s8`
    S8,
    /// `.s16`
    S16,
    /// `.s32`
    S32,
    /// `.s64`
    S64,
}

impl IntType {
    /// Width in bits.
    pub const fn width(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 8,
            Self::U16 | Self::S16 => 16,
            Self::U32 | Self::S32 => 32,
            Self::U64 | Self::S64 => 64,
        }
    }

    /// Whether the type is signed.
    pub const fn signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// The smallest value.
    pub const fn min(self) -> i128 {
        if self.signed() { -(1 << (self.width() - 1)) } else { 0 }
    }

    /// The largest value.
    pub const fn max(self) -> i128 {
        (1 << (self.width() - self.signed() as u32)) - 1
    }

    /// The number that `bits` stand for.
    pub const fn value(self, bits: u64) -> i128 {
        let unused = 64 - self.width();
        if self.signed() {
            ((bits << unused) as i64 >> unused) as i128
        } else {
            (bits << unused >> unused) as i128
        }
    }

    /// The low bits of `value`, zero-extended.
    pub const fn truncate(self, value: i128) -> u64 {
        value as u64 & (u64::MAX >> (64 - self.width()))
    }

    /// The nearest number of the type, as bits.
    pub const fn clamp(self, value: i128) -> u64 {
        let value = if value < self.min() {
            self.min()
        } else if value > self.max() {
            self.max()
        } else {
            value
        };
        self.truncate(value)
    }
}

/// Converts a float to an integer (`.rni`, `.rzi`, `.rmi`, `.rpi`), clamped to the destination. NaN becomes 0.
///
/// `ftz` flushes an f32 operand first, which matters to `.rmi` and `.rpi`.
pub fn float_to_int(from: Format, to: IntType, bits: u64, rounding: Rounding, ftz: bool) -> u64 {
    let bits = if ftz && from == F32 { from.flush(bits) } else { bits };
    match from.unpack(bits) {
        Unpacked::Nan | Unpacked::Zero(_) => 0,
        Unpacked::Infinity(negative) => to.truncate(if negative { to.min() } else { to.max() }),
        Unpacked::Finite(exact) => {
            let magnitude = i128::try_from(integral(exact, rounding)).unwrap_or(i128::MAX);
            to.clamp(if exact.negative { -magnitude } else { magnitude })
        }
    }
}

/// Converts an integer to a float, rounded once. Zero becomes `+0`.
pub fn int_to_float(from: IntType, to: Format, bits: u64, m: Convert) -> u64 {
    let value = from.value(bits);
    let result = if value == 0 {
        to.zero(false)
    } else {
        let exact = Exact { negative: value < 0, exp: 0, mant: value.unsigned_abs(), sticky: false };
        to.round_pack(exact, m.rounding)
    };
    m.output(to, result)
}

/// Converts between integers: extends or truncates, or clamps with `sat`.
pub fn int_to_int(from: IntType, to: IntType, bits: u64, sat: bool) -> u64 {
    let value = from.value(bits);
    if sat { to.clamp(value) } else { to.truncate(value) }
}

/// `cvt.pack.sat`: clamps the `.s32` values `a` and `b` to integers of `width` bits (2, 4, 8 or 16), packs `a` above
/// `b` into the low bits and, above them, the low bits of `c` (which the 16-bit form does not have: pass 0).
pub fn pack_saturated(width: u32, signed: bool, a: u32, b: u32, c: u32) -> u32 {
    debug_assert!(matches!(width, 2 | 4 | 8 | 16), "cvt.pack has no {width}-bit form");
    let (min, max) =
        if signed { (-(1i64 << (width - 1)), (1i64 << (width - 1)) - 1) } else { (0, (1i64 << width) - 1) };
    let mask = (1u64 << width) - 1;
    let clamp = |bits: u32| i64::from(bits.cast_signed()).clamp(min, max) as u64 & mask;
    let packed = u64::from(c) << (2 * width) | clamp(a) << width | clamp(b);
    packed as u32
}
