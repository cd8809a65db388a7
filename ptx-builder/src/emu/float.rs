//! Floating-point arithmetic as PTX defines it: `add`, `sub`, `mul`, `fma`, `div`, `sqrt`, `rcp` on raw bits.
//!
//! Every result is rounded exactly once, in the mode asked for. Round-to-nearest on f32 and f64 uses the host's IEEE
//! operations; the other modes go through [`soft`]. f16 and bf16 go through f64, which holds their sums and products
//! with enough bits that the second rounding changes nothing, and through rounding to odd for `fma`, where it would.
//! The tests compare both ways with each other.
//!
//! Rules the manual gives, followed here:
//! - f32, f16 and bf16 results that are NaN: the manual leaves the payload open and the CUDA guide names
//!   `0x7fffffff` for f32; the canonical `0x7fffffff` and `0x7fff` are what devices return.
//! - f64: NaN payloads are kept.
//! - `.ftz` replaces subnormal operands and results by zeros of their sign.
//! - `.sat` clamps to `[+0, 1]` and turns NaN into `+0`; `.relu` turns negative results into `+0` and keeps NaN,
//!   canonical.
//! - `min` and `max` order `-0` below `+0`.
//!
//! Choices where the manual is silent:
//! - an f64 result takes the payload of its first NaN operand, made quiet; a NaN made from numbers is
//!   `0xfff8000000000000` (the constant of CUDA's headers);
//! - `.ftz` decides after rounding whether a result is subnormal;
//! - `.sat` and `.relu` turn `-0` into `+0`.
//!
//! The modules beside this one: [`soft`] (formats, exact arithmetic), [`compare`] (order, sign bits, tests),
//! [`half`] (storage conversions) and [`warp`] (32 lanes at once).

pub mod compare;
pub mod half;
pub mod soft;
pub mod warp;

#[cfg(test)]
pub(crate) mod tests;

pub use soft::{BF16, E4M3, E5M2, F16, F32, F64, Format, Rounding, TF32};

/// The modifiers of an arithmetic instruction. The default is `.rn` without any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arith {
    /// Rounding of the result.
    pub rounding: Rounding,
    /// `.ftz`.
    pub ftz: bool,
    /// `.sat`; excludes `relu`.
    pub sat: bool,
    /// `.relu`; excludes `sat`.
    pub relu: bool,
}

impl Arith {
    /// `.rn` alone.
    pub const RN: Self = Self { rounding: Rounding::Rn, ftz: false, sat: false, relu: false };
    /// `.rn.ftz`.
    pub const RN_FTZ: Self = Self { ftz: true, ..Self::RN };

    /// A rounding mode alone.
    pub const fn rounded(rounding: Rounding) -> Self {
        Self { rounding, ..Self::RN }
    }

    #[inline]
    fn input(self, format: Format, bits: u64) -> u64 {
        if self.ftz { format.flush(bits) } else { bits }
    }

    /// Applies `.ftz`, `.sat`, `.relu` and the canonical NaN to a rounded result.
    #[inline]
    fn output(self, format: Format, bits: u64) -> u64 {
        let bits = self.input(format, bits);
        if self.sat {
            saturate(format, bits)
        } else if self.relu {
            relu(format, bits)
        } else if format.is_nan(bits) {
            format.nan()
        } else {
            bits
        }
    }
}

/// `.sat`: clamps to `[+0, 1]`; NaN becomes `+0`.
#[inline]
pub const fn saturate(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) || format.is_negative(bits) {
        format.zero(false)
    } else if bits > format.one() {
        format.one()
    } else {
        bits
    }
}

/// `.relu`: negative values, `-0` too, become `+0`; NaN becomes the canonical NaN.
#[inline]
pub const fn relu(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) {
        format.nan()
    } else if format.is_negative(bits) {
        format.zero(false)
    } else {
        bits
    }
}

#[inline]
fn f32_op<const N: usize>(
    m: Arith,
    operands: [u32; N],
    native: impl FnOnce([f32; N]) -> f32,
    exact: impl FnOnce([u64; N]) -> u64,
) -> u32 {
    let operands = operands.map(|bits| m.input(F32, bits.into()));
    let result = if m.rounding == Rounding::Rn {
        native(operands.map(|bits| f32::from_bits(bits as u32))).to_bits().into()
    } else {
        exact(operands)
    };
    m.output(F32, result) as u32
}

/// `add.f32`.
#[inline]
pub fn add_f32(a: u32, b: u32, m: Arith) -> u32 {
    f32_op(m, [a, b], |[a, b]| a + b, |[a, b]| soft::add(F32, a, b, m.rounding))
}

/// `sub.f32`.
#[inline]
pub fn sub_f32(a: u32, b: u32, m: Arith) -> u32 {
    add_f32(a, b ^ 0x8000_0000, m)
}

/// `mul.f32`.
#[inline]
pub fn mul_f32(a: u32, b: u32, m: Arith) -> u32 {
    f32_op(m, [a, b], |[a, b]| a * b, |[a, b]| soft::mul(F32, a, b, m.rounding))
}

/// `fma.f32`: `a · b + c`.
#[inline]
pub fn fma_f32(a: u32, b: u32, c: u32, m: Arith) -> u32 {
    f32_op(m, [a, b, c], |[a, b, c]| a.mul_add(b, c), |[a, b, c]| soft::fma(F32, a, b, c, m.rounding))
}

/// `div.rnd.f32`: `a / b`.
#[inline]
pub fn div_f32(a: u32, b: u32, m: Arith) -> u32 {
    f32_op(m, [a, b], |[a, b]| a / b, |[a, b]| soft::div(F32, a, b, m.rounding))
}

/// `rcp.rnd.f32`: `1 / a`.
#[inline]
pub fn rcp_f32(a: u32, m: Arith) -> u32 {
    div_f32(1f32.to_bits(), a, m)
}

/// `sqrt.rnd.f32`.
#[inline]
pub fn sqrt_f32(a: u32, m: Arith) -> u32 {
    f32_op(m, [a], |[a]| a.sqrt(), |[a]| soft::sqrt(F32, a, m.rounding))
}

/// The NaN that an f64 operation returns: the first NaN among the operands, made quiet, or the one for an invalid
/// operation on numbers.
#[inline]
pub(crate) fn nan_f64(operands: &[u64]) -> u64 {
    const QUIET: u64 = 1 << 51;
    operands.iter().find(|&&bits| F64.is_nan(bits)).map_or(F64.nan(), |bits| bits | QUIET)
}

#[inline]
fn f64_op<const N: usize>(
    rounding: Rounding,
    operands: [u64; N],
    native: impl FnOnce([f64; N]) -> f64,
    exact: impl FnOnce([u64; N]) -> u64,
) -> u64 {
    let result = if rounding == Rounding::Rn {
        native(operands.map(f64::from_bits)).to_bits()
    } else {
        exact(operands)
    };
    if F64.is_nan(result) { nan_f64(&operands) } else { result }
}

/// `add.f64`.
#[inline]
pub fn add_f64(a: u64, b: u64, rounding: Rounding) -> u64 {
    f64_op(rounding, [a, b], |[a, b]| a + b, |[a, b]| soft::add(F64, a, b, rounding))
}

/// `sub.f64`.
#[inline]
pub fn sub_f64(a: u64, b: u64, rounding: Rounding) -> u64 {
    f64_op(rounding, [a, b], |[a, b]| a - b, |[a, b]| soft::add(F64, a, b ^ F64.sign_mask(), rounding))
}

/// `mul.f64`.
#[inline]
pub fn mul_f64(a: u64, b: u64, rounding: Rounding) -> u64 {
    f64_op(rounding, [a, b], |[a, b]| a * b, |[a, b]| soft::mul(F64, a, b, rounding))
}

/// `fma.f64`: `a · b + c`.
#[inline]
pub fn fma_f64(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    f64_op(rounding, [a, b, c], |[a, b, c]| a.mul_add(b, c), |[a, b, c]| soft::fma(F64, a, b, c, rounding))
}

/// `div.rnd.f64`: `a / b`.
#[inline]
pub fn div_f64(a: u64, b: u64, rounding: Rounding) -> u64 {
    f64_op(rounding, [a, b], |[a, b]| a / b, |[a, b]| soft::div(F64, a, b, rounding))
}

/// `rcp.rnd.f64`: `1 / a`.
#[inline]
pub fn rcp_f64(a: u64, rounding: Rounding) -> u64 {
    div_f64(1f64.to_bits(), a, rounding)
}

/// `sqrt.rnd.f64`.
#[inline]
pub fn sqrt_f64(a: u64, rounding: Rounding) -> u64 {
    f64_op(rounding, [a], |[a]| a.sqrt(), |[a]| soft::sqrt(F64, a, rounding))
}

/// A 16-bit operation through f64. `wide` must return the exact result, or one that a rounding from 53 bits cannot
/// tell from it.
#[inline]
fn half_op<const N: usize>(
    format: Format,
    m: Arith,
    operands: [u16; N],
    wide: impl FnOnce([f64; N]) -> f64,
    exact: impl FnOnce([u64; N]) -> u64,
) -> u16 {
    let operands = operands.map(|bits| m.input(format, bits.into()));
    let result = if m.rounding == Rounding::Rn {
        format.from_f64(wide(operands.map(|bits| format.to_f64(bits))), Rounding::Rn)
    } else {
        exact(operands)
    };
    m.output(format, result) as u16
}

/// `product + c` rounded to odd: if inexact, of the two neighbors the one with an odd last bit. A later rounding to
/// at most 51 bits then gives what rounding the exact sum would. `product` must be exact.
#[inline]
fn add_to_odd(product: f64, c: f64) -> f64 {
    let sum = product + c;
    if !sum.is_finite() {
        return sum;
    }
    // The exact error of the addition (two-sum); nothing overflows for 16-bit operands.
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    let bits = sum.to_bits();
    if error == 0.0 || bits & 1 == 1 {
        sum
    } else if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(bits + 1)
    } else {
        f64::from_bits(bits - 1)
    }
}

macro_rules! half_operations {
    ($format:expr, $name:literal: $add:ident $sub:ident $mul:ident $fma:ident) => {
        #[doc = concat!("`add.", $name, "`.")]
        #[inline]
        pub fn $add(a: u16, b: u16, m: Arith) -> u16 {
            half_op($format, m, [a, b], |[a, b]| a + b, |[a, b]| soft::add($format, a, b, m.rounding))
        }

        #[doc = concat!("`sub.", $name, "`.")]
        #[inline]
        pub fn $sub(a: u16, b: u16, m: Arith) -> u16 {
            $add(a, b ^ 0x8000, m)
        }

        #[doc = concat!("`mul.", $name, "`.")]
        #[inline]
        pub fn $mul(a: u16, b: u16, m: Arith) -> u16 {
            half_op($format, m, [a, b], |[a, b]| a * b, |[a, b]| soft::mul($format, a, b, m.rounding))
        }

        #[doc = concat!("`fma.", $name, "`: `a · b + c`, rounded once.")]
        #[inline]
        pub fn $fma(a: u16, b: u16, c: u16, m: Arith) -> u16 {
            half_op(
                $format,
                m,
                [a, b, c],
                |[a, b, c]| add_to_odd(a * b, c),
                |[a, b, c]| soft::fma($format, a, b, c, m.rounding),
            )
        }
    };
}

half_operations!(F16, "f16": add_f16 sub_f16 mul_f16 fma_f16);
half_operations!(BF16, "bf16": add_bf16 sub_bf16 mul_bf16 fma_bf16);

/// Packs two 16-bit values; `low` is element 0.
#[inline]
pub const fn join16(low: u16, high: u16) -> u32 {
    (high as u32) << 16 | low as u32
}

/// Splits a packed pair into (low, high).
#[inline]
pub const fn split16(pair: u32) -> (u16, u16) {
    (pair as u16, (pair >> 16) as u16)
}

/// Applies a 16-bit operation to both halves of packed operands (`.f16x2`, `.bf16x2`).
#[inline]
pub fn packed16<const N: usize>(operands: [u32; N], op: impl Fn([u16; N]) -> u16) -> u32 {
    join16(op(operands.map(|pair| split16(pair).0)), op(operands.map(|pair| split16(pair).1)))
}

/// Applies an f32 operation to both halves of 64-bit packed operands (`.f32x2`).
#[inline]
pub fn packed32<const N: usize>(operands: [u64; N], op: impl Fn([u32; N]) -> u32) -> u64 {
    let low = op(operands.map(|pair| pair as u32));
    let high = op(operands.map(|pair| (pair >> 32) as u32));
    u64::from(high) << 32 | u64::from(low)
}
