//! `cvt`: conversions between floating-point formats and integers, bit for bit.
//!
//! Rules the manual gives:
//! - Float to integer clamps to the range of the destination, with or without `.sat`; NaN becomes 0.
//! - Integer to integer truncates, or clamps with `.sat`.
//! - Float destinations: `.sat` clamps to `[+0, 1]` with NaN to `+0`; `.relu` turns negative results into `+0` and
//!   NaN into the canonical NaN; `.satfinite` turns what exceeds the largest finite number, infinities too, into that
//!   number with its sign, and keeps NaN.
//! - `.ftz` flushes f32 operands and f32 results, nothing else.
//! - Packed forms with two operands put the first, `a`, into the upper half.
//!
//! Choices where the manual is silent:
//! - A NaN becomes the canonical NaN of the destination (`0x7f` for both 8-bit formats), but f64 keeps sign and payload,
//!   and bf16 to f32 is a shift, which is what the assembler makes of it.
//! - The low 13 bits of a tf32 result are zero, except in its NaN `0x7fffffff`.
//! - Devices are known to return `0x8000000000000000` instead of 0 for NaN converted to 64-bit integers; the manual's
//!   rule is followed, so a kernel must not depend on it.
//!
//! Limits: no stochastic rounding (`.rs`), no 4-bit, 6-bit or scale (`ue8m0`) formats.

mod integer;
mod packed;

#[cfg(test)]
mod tests;

pub use super::float::half::{bf16_from_f32, f16_from_f32, f32_from_bf16, f32_from_f16};
pub use integer::{IntType, float_to_int, int_to_float, int_to_int, pack_saturated};
pub use packed::{bf16x2_from_f8x2, f8x2_from_f32, f8x2_from_half2, f16x2_from_f8x2, half2_from_f32};

use super::float::soft::{Exact, Unpacked};
use super::float::{BF16, F16, F32, F64, Format, Rounding, relu, saturate};

/// The modifiers of a conversion to a floating-point format. The default is `.rn` without any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Convert {
    /// Rounding of the result.
    pub rounding: Rounding,
    /// `.ftz`: acts on f32 operands and results only.
    pub ftz: bool,
    /// `.sat`; excludes `relu` and `satfinite`.
    pub sat: bool,
    /// `.relu`.
    pub relu: bool,
    /// `.satfinite`.
    pub satfinite: bool,
}

impl Convert {
    /// `.rn` alone.
    pub const RN: Self =
        Self { rounding: Rounding::Rn, ftz: false, sat: false, relu: false, satfinite: false };

    /// A rounding mode alone.
    pub const fn rounded(rounding: Rounding) -> Self {
        Self { rounding, ..Self::RN }
    }

    fn input(self, format: Format, bits: u64) -> u64 {
        if self.ftz && format == F32 { format.flush(bits) } else { bits }
    }

    fn output(self, format: Format, bits: u64) -> u64 {
        let bits = self.input(format, bits);
        let bits = if self.satfinite && format.is_infinite(bits) {
            format.max_finite(format.is_negative(bits))
        } else {
            bits
        };
        if self.sat {
            saturate(format, bits)
        } else if self.relu {
            relu(format, bits)
        } else {
            bits
        }
    }
}

/// The NaN that `bits`, a NaN of format `from`, becomes in format `to`.
fn convert_nan(from: Format, to: Format, bits: u64) -> u64 {
    if to == F64 { from.nan_to_f64(bits) } else { to.nan() }
}

/// Converts between two floating-point formats. A same-format conversion applies the modifiers only.
///
/// Widening is exact, so its rounding mode does not matter.
pub fn float_to_float(from: Format, to: Format, bits: u64, m: Convert) -> u64 {
    let bits = m.input(from, bits);
    // The conversions of half storage in `.rn`, which kernels use most.
    let fast = match (from, to) {
        (F16, F32) => Some(f32_from_f16(bits as u16).into()),
        (BF16, F32) => Some(f32_from_bf16(bits as u16).into()),
        (F32, F16) if m.rounding == Rounding::Rn => Some(f16_from_f32(bits as u32).into()),
        (F32, BF16) if m.rounding == Rounding::Rn => Some(bf16_from_f32(bits as u32).into()),
        _ => None,
    };
    if let Some(result) = fast {
        return m.output(to, result);
    }
    let result = match from.unpack(bits) {
        Unpacked::Nan => convert_nan(from, to, bits),
        // A format without infinities overflows to NaN unless `.satfinite`, which PTX then demands.
        Unpacked::Infinity(negative) if m.satfinite => to.max_finite(negative),
        Unpacked::Finite(exact) if m.satfinite && to.infinity(false) == to.nan() => {
            let rounded = to.round_pack(exact, m.rounding);
            if to.is_nan(rounded) { to.max_finite(exact.negative) } else { rounded }
        }
        value => to.pack(value, m.rounding),
    };
    m.output(to, result)
}

/// Rounds a float to an integral value of the same format (`cvt.rni.f32.f32` and its like). The sign of a zero stays
/// that of the operand.
pub fn round_to_integral(format: Format, bits: u64, m: Convert) -> u64 {
    let bits = m.input(format, bits);
    let result = match format.unpack(bits) {
        Unpacked::Nan => convert_nan(format, format, bits),
        Unpacked::Infinity(_) | Unpacked::Zero(_) => bits,
        Unpacked::Finite(exact) => match integral(exact, m.rounding) {
            0 => format.zero(exact.negative),
            // Exact: the integer has no more bits than the operand had, or is a power of two.
            mant => format.round_pack(Exact { exp: 0, mant, ..exact }, Rounding::Rn),
        },
    };
    m.output(format, result)
}

/// The magnitude of `value` rounded to an integer, saturated at `u128::MAX`.
fn integral(value: Exact, rounding: Rounding) -> u128 {
    let Exact { negative, exp, mant, .. } = value;
    if exp >= 0 {
        let fits = i64::from(mant.leading_zeros()) >= i64::from(exp);
        return if fits { mant << exp } else { u128::MAX };
    }
    let shift = exp.unsigned_abs();
    // Operands have at most 53 bits, so a longer shift leaves a fraction below one half.
    if shift > 64 {
        let up = match rounding {
            Rounding::Rn | Rounding::Rz | Rounding::Rna => false,
            Rounding::Rm => negative,
            Rounding::Rp => !negative,
        };
        return u128::from(up);
    }
    let kept = mant >> shift;
    let dropped = mant & ((1 << shift) - 1);
    let half = 1u128 << (shift - 1);
    let up = match rounding {
        Rounding::Rn => dropped > half || dropped == half && kept & 1 == 1,
        Rounding::Rna => dropped >= half,
        Rounding::Rz => false,
        Rounding::Rm => negative && dropped != 0,
        Rounding::Rp => !negative && dropped != 0,
    };
    kept + u128::from(up)
}
