//! `.approx` instructions: a model with the manual's special values and error bounds.
//!
//! The true value is computed in f64 by this crate's own arithmetic ([`math`]), then one of three results is
//! chosen ([`ApproxMode`]): the nearest number of the format, or the one farthest up or down that the manual's bound
//! still allows. A kernel whose result holds up in all three does not depend on what a certain GPU returns.
//!
//! Invariants:
//! - Deterministic: the bits depend on operands and mode only, on every host.
//! - Entries of the manual's special-value tables are exact in all modes, and a finite result does not become
//!   infinite or the other way round.
//! - In `Nearest`, results that are exact on devices are exact here: `ex2` of integers, `rcp` of powers of two.
//! - `Upper` and `Lower` go by the bound alone. So a sine may exceed 1, a hyperbolic tangent may too, and a result
//!   with an absolute bound may change sign near zero, which real devices avoid.
//!
//! Where the manual gives no bound: `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` move by one unit of their 20-bit
//! fraction, `rsqrt.approx.f64` by one unit in the last place (after two roundings), and `div.approx` with a
//! subnormal divisor by 2 units.
//! `sin` and `cos` beyond 100π have no bound either: there the model multiplies by a rounded 1/2π in f32, as the
//! instruction sequence of the devices does, so that the phase is lost as it is there, and moves by the last bound.
//!
//! Bounds that are relative say nothing about subnormal results; the nearest number is always allowed.

pub mod math;

#[cfg(test)]
mod tests;

use super::float::soft::{self, F64_HIGH, Unpacked};
use super::float::{BF16, F16, F32, F64, Format, Rounding, nan_f64};

/// Which of the results that the manual allows an `.approx` instruction returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ApproxMode {
    /// The number nearest to the true value.
    #[default]
    Nearest,
    /// The largest number within the bound.
    Upper,
    /// The smallest number within the bound.
    Lower,
}

/// How far a result may be from the true value.
#[derive(Clone, Copy)]
enum Bound {
    /// Units in the last place, measured at the true value.
    Ulps(f64),
    /// Numbers of the format, counted from the correctly rounded result.
    Steps(u32),
    Relative(f64),
    Absolute(f64),
}

const TWO_POW_22: f64 = 4_194_304.0;
/// 2^-23 of `sqrt.approx.f32`.
const SQRT: Bound = Bound::Relative(0.5 / TWO_POW_22);
/// 2^-22.9 of `rsqrt.approx.f32`.
const RSQRT: Bound = Bound::Relative(1.071_773_462_536_293_1 * 0.5 / TWO_POW_22);
/// 2^-20.5 of `sin` and `cos` up to 2π.
const SIN_NEAR: Bound = Bound::Absolute(std::f64::consts::SQRT_2 * 2.0 / TWO_POW_22);
/// 2^-14.7 of `sin` and `cos` up to 100π.
const SIN_FAR: Bound = Bound::Absolute(1.231_144_413_344_916_3 / 32_768.0);
/// 2^-11 of `tanh.approx.f32`.
const TANH: Bound = Bound::Relative(1.0 / 2048.0);
/// 2^-9.9 of `ex2.approx.f16`.
const EX2_F16: Bound = Bound::Relative(1.071_773_462_536_293_1 / 1024.0);
/// 2^-7 of `ex2.approx.ftz.bf16`.
const EX2_BF16: Bound = Bound::Relative(1.0 / 128.0);
/// 2^-10.987 of `tanh.approx.f16`.
const TANH_F16: Bound = Bound::Absolute(1.009_051_633_844_681_3 / 2048.0);
/// 2^-8 of `tanh.approx.bf16`.
const TANH_BF16: Bound = Bound::Absolute(1.0 / 256.0);

/// 2^`exp` for any exponent of an f64, subnormal ones included.
fn power_of_two(exp: i32) -> f64 {
    f64::from_bits(if exp >= -1022 { ((exp + 1023) as u64) << 52 } else { 1 << (exp + 1074) })
}

/// The distance of two neighboring numbers of the format around `value`.
fn ulp(format: Format, value: f64) -> f64 {
    let binade = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let min_binade = 2 - (1 << (format.exp_bits() - 1));
    power_of_two(binade.max(min_binade) - format.frac_bits() as i32)
}

/// The result for a finite true value.
fn settle(format: Format, value: f64, bound: Bound, mode: ApproxMode) -> u64 {
    let nearest = format.from_f64(value, Rounding::Rn);
    let up = match mode {
        ApproxMode::Nearest => return nearest,
        ApproxMode::Upper => true,
        ApproxMode::Lower => false,
    };
    if format.is_infinite(nearest) {
        return nearest;
    }
    // An edge is rounded back towards the true value: it is the outermost number that is still inside.
    let outermost = |reach: f64| {
        if up {
            format.from_f64(value + reach, Rounding::Rm)
        } else {
            format.from_f64(value - reach, Rounding::Rp)
        }
    };
    let edge = match bound {
        Bound::Ulps(count) => outermost(count * ulp(format, value)),
        Bound::Relative(ratio) => outermost(ratio * value.abs()),
        Bound::Absolute(distance) => outermost(distance),
        // Never across zero: the one function with this bound, 2^x, is not negative.
        Bound::Steps(count) => (0..count).fold(nearest, |bits, _| {
            let next = format.step(bits, up);
            if format.is_infinite(next) || format.is_negative(next) { bits } else { next }
        }),
    };
    let farther = if up {
        format.order(edge) > format.order(nearest)
    } else {
        format.order(edge) < format.order(nearest)
    };
    // `.ftz` would take a subnormal edge of a normal result to zero, far outside the bound.
    let survives = !format.is_subnormal(edge) || format.is_subnormal(nearest) || format.is_zero(nearest);
    if farther && survives { edge } else { nearest }
}

/// Applies `.ftz` around a model of one operand; `special` answers NaN, infinities and zeros.
fn unary(
    format: Format,
    a: u64,
    ftz: bool,
    special: impl FnOnce(Unpacked) -> u64,
    finite: impl FnOnce(f64) -> u64,
) -> u64 {
    let flush = |bits| if ftz { format.flush(bits) } else { bits };
    let a = flush(a);
    flush(match format.unpack(a) {
        Unpacked::Nan => format.nan(),
        Unpacked::Finite(_) => finite(format.to_f64(a)),
        value @ (Unpacked::Zero(_) | Unpacked::Infinity(_)) => special(value),
    })
}

fn unary_f32(
    a: u32,
    ftz: bool,
    special: impl FnOnce(Unpacked) -> u64,
    finite: impl FnOnce(f64) -> u64,
) -> u32 {
    unary(F32, a.into(), ftz, special, finite) as u32
}

/// The zero, infinity or NaN that 1/a is for an infinity or a zero.
fn rcp_special(format: Format, value: Unpacked) -> u64 {
    match value {
        Unpacked::Zero(negative) => format.infinity(negative),
        Unpacked::Infinity(negative) => format.zero(negative),
        Unpacked::Nan | Unpacked::Finite(_) => format.nan(),
    }
}

/// The result of 1/√a for an infinity or a zero.
fn rsqrt_special(format: Format, value: Unpacked) -> u64 {
    if value == Unpacked::Infinity(true) { format.nan() } else { rcp_special(format, value) }
}

/// `rcp.approx{.ftz}.f32`: 1 ulp.
pub fn rcp_f32(a: u32, ftz: bool, mode: ApproxMode) -> u32 {
    let model = |x: f64| settle(F32, 1.0 / x, Bound::Ulps(1.0), mode);
    unary_f32(a, ftz, |value| rcp_special(F32, value), model)
}

/// `sqrt.approx{.ftz}.f32`: relative error 2^-23. `√-0` is `-0`; below that NaN.
pub fn sqrt_f32(a: u32, ftz: bool, mode: ApproxMode) -> u32 {
    let special =
        |value| if value == Unpacked::Infinity(true) { F32.nan() } else { F32.pack(value, Rounding::Rn) };
    unary_f32(a, ftz, special, |x| if x < 0.0 { F32.nan() } else { settle(F32, x.sqrt(), SQRT, mode) })
}

/// `rsqrt.approx{.ftz}.f32`: relative error 2^-22.9. `-0` gives `-Inf`; below that NaN.
pub fn rsqrt_f32(a: u32, ftz: bool, mode: ApproxMode) -> u32 {
    let model = |x: f64| if x < 0.0 { F32.nan() } else { settle(F32, 1.0 / x.sqrt(), RSQRT, mode) };
    unary_f32(a, ftz, |value| rsqrt_special(F32, value), model)
}

/// The result of 2^a for an infinity or a zero.
fn ex2_special(format: Format, value: Unpacked) -> u64 {
    match value {
        Unpacked::Infinity(true) => format.zero(false),
        Unpacked::Infinity(false) => format.infinity(false),
        Unpacked::Zero(_) => format.one(),
        Unpacked::Nan | Unpacked::Finite(_) => format.nan(),
    }
}

/// `ex2.approx{.ftz}.f32`: 2 ulp from the correctly rounded 2^a.
pub fn ex2_f32(a: u32, ftz: bool, mode: ApproxMode) -> u32 {
    let model = |x| settle(F32, math::exp2(x), Bound::Steps(2), mode);
    unary_f32(a, ftz, |value| ex2_special(F32, value), model)
}

/// `lg2.approx{.ftz}.f32`: absolute error 2^-22 for operands in (0.5, 2), relative error 2^-22 elsewhere. Zeros give
/// `-Inf`; negative numbers NaN.
pub fn lg2_f32(a: u32, ftz: bool, mode: ApproxMode) -> u32 {
    let special = |value| match value {
        Unpacked::Zero(_) => F32.infinity(true),
        Unpacked::Infinity(false) => F32.infinity(false),
        Unpacked::Infinity(true) | Unpacked::Nan | Unpacked::Finite(_) => F32.nan(),
    };
    unary_f32(a, ftz, special, |x| {
        if x < 0.0 {
            return F32.nan();
        }
        let near_one = 0.5 < x && x < 2.0;
        let bound =
            if near_one { Bound::Absolute(1.0 / TWO_POW_22) } else { Bound::Relative(1.0 / TWO_POW_22) };
        settle(F32, math::log2(x), bound, mode)
    })
}

/// The angle that `sin` and `cos` are taken of, and their bound there.
fn angle(x: f64) -> (f64, Bound) {
    use std::f64::consts::TAU;
    if x.abs() <= TAU {
        (x, SIN_NEAR)
    } else if x.abs() <= 50.0 * TAU {
        (x, SIN_FAR)
    } else {
        // 1/2π as f32; the product in f32 towards zero, then its fraction of a turn.
        const INV_TAU: u64 = 0x3e22_f983;
        let turns = F32.to_f64(soft::mul(F32, F32.from_f64(x, Rounding::Rn), INV_TAU, Rounding::Rz));
        ((turns - turns.round_ties_even()) * TAU, SIN_FAR)
    }
}

/// `sin.approx{.ftz}.f32`: absolute error 2^-20.5 in ±2π, 2^-14.7 in ±100π. Zeros give themselves, infinities NaN.
pub fn sin_f32(a: u32, ftz: bool, mode: ApproxMode) -> u32 {
    let special = |value| if let Unpacked::Zero(negative) = value { F32.zero(negative) } else { F32.nan() };
    unary_f32(a, ftz, special, |x| {
        let (x, bound) = angle(x);
        settle(F32, math::sin(x), bound, mode)
    })
}

/// `cos.approx{.ftz}.f32`: absolute error 2^-20.5 in ±2π, 2^-14.7 in ±100π. Zeros give 1, infinities NaN.
pub fn cos_f32(a: u32, ftz: bool, mode: ApproxMode) -> u32 {
    let special = |value| if let Unpacked::Zero(_) = value { F32.one() } else { F32.nan() };
    unary_f32(a, ftz, special, |x| {
        let (x, bound) = angle(x);
        settle(F32, math::cos(x), bound, mode)
    })
}

/// The result of tanh for an infinity or a zero.
fn tanh_special(format: Format, value: Unpacked) -> u64 {
    match value {
        Unpacked::Infinity(negative) => format.one() | format.zero(negative),
        Unpacked::Zero(negative) => format.zero(negative),
        Unpacked::Nan | Unpacked::Finite(_) => format.nan(),
    }
}

fn tanh(format: Format, a: u64, bound: Bound, mode: ApproxMode) -> u64 {
    unary(
        format,
        a,
        false,
        |value| tanh_special(format, value),
        |x| settle(format, math::tanh(x), bound, mode),
    )
}

/// `tanh.approx.f32`: relative error 2^-11.
pub fn tanh_f32(a: u32, mode: ApproxMode) -> u32 {
    tanh(F32, a.into(), TANH, mode) as u32
}

/// `tanh.approx.f16`: absolute error 2^-10.987.
pub fn tanh_f16(a: u16, mode: ApproxMode) -> u16 {
    tanh(F16, a.into(), TANH_F16, mode) as u16
}

/// `tanh.approx.bf16`: absolute error 2^-8.
pub fn tanh_bf16(a: u16, mode: ApproxMode) -> u16 {
    tanh(BF16, a.into(), TANH_BF16, mode) as u16
}

/// `ex2.approx.f16`: relative error 2^-9.9.
pub fn ex2_f16(a: u16, mode: ApproxMode) -> u16 {
    let model = |x| settle(F16, math::exp2(x), EX2_F16, mode);
    unary(F16, a.into(), false, |value| ex2_special(F16, value), model) as u16
}

/// `ex2.approx.ftz.bf16`: relative error 2^-7.
pub fn ex2_bf16(a: u16, mode: ApproxMode) -> u16 {
    let model = |x| settle(BF16, math::exp2(x), EX2_BF16, mode);
    unary(BF16, a.into(), true, |value| ex2_special(BF16, value), model) as u16
}

fn divide(a: u32, b: u32, ftz: bool, mode: ApproxMode, large: impl FnOnce(f64, f64) -> Option<u64>) -> u32 {
    let flush = |bits: u64| if ftz { F32.flush(bits) } else { bits };
    let (a, b) = (flush(a.into()), flush(b.into()));
    let (x, y) = (F32.to_f64(a), F32.to_f64(b));
    let result = if F32.is_nan(a) || F32.is_nan(b) {
        F32.nan()
    } else if let Some(result) = large(x, y) {
        result
    } else if x.is_finite() && y.is_finite() && x != 0.0 && y != 0.0 {
        settle(F32, x / y, Bound::Ulps(2.0), mode)
    } else {
        // Zeros and infinities, where a · (1/b) and a / b agree.
        soft::div(F32, a, b, Rounding::Rn)
    };
    flush(result) as u32
}

/// `div.approx{.ftz}.f32`: 2 ulp for 2^-126 ≤ |b| ≤ 2^126. A larger finite `b` gives a zero with the sign of the
/// quotient, or NaN if `a` is infinite.
pub fn div_f32(a: u32, b: u32, ftz: bool, mode: ApproxMode) -> u32 {
    divide(a, b, ftz, mode, |x, y| {
        let limit = power_of_two(126);
        (limit < y.abs() && y.is_finite()).then(|| {
            if x.is_infinite() { F32.nan() } else { F32.zero(x.is_sign_negative() != y.is_sign_negative()) }
        })
    })
}

/// `div.full{.ftz}.f32`: 2 ulp over the full range.
pub fn div_full_f32(a: u32, b: u32, ftz: bool, mode: ApproxMode) -> u32 {
    divide(a, b, ftz, mode, |_, _| None)
}

/// `rcp.approx.ftz.f64`: works on the upper word only, so a NaN with its payload in the lower word is an infinity; the
/// lower word of the result is zero. One unit of the 20-bit fraction.
pub fn rcp_ftz_f64(a: u64, mode: ApproxMode) -> u64 {
    let model = |x: f64| settle(F64_HIGH, 1.0 / x, Bound::Ulps(1.0), mode);
    unary(F64_HIGH, a, true, |value| rcp_special(F64_HIGH, value), model)
}

/// `rsqrt.approx.ftz.f64`: works on the upper word only, as [`rcp_ftz_f64`] does. One unit of the 20-bit fraction.
pub fn rsqrt_ftz_f64(a: u64, mode: ApproxMode) -> u64 {
    let model = |x: f64| {
        if x < 0.0 { F64_HIGH.nan() } else { settle(F64_HIGH, 1.0 / x.sqrt(), Bound::Ulps(1.0), mode) }
    };
    unary(F64_HIGH, a, true, |value| rsqrt_special(F64_HIGH, value), model)
}

/// `rsqrt.approx.f64`: 1/√a in f64, each operation rounded; the edges are one unit in the last place from there. NaN
/// payloads are kept.
pub fn rsqrt_f64(a: u64, mode: ApproxMode) -> u64 {
    let special = |value| rsqrt_special(F64, value);
    let result = unary(F64, a, false, special, |x| {
        if x < 0.0 {
            return F64.nan();
        }
        let nearest = (1.0 / x.sqrt()).to_bits();
        match mode {
            ApproxMode::Nearest => nearest,
            ApproxMode::Upper => nearest + 1,
            ApproxMode::Lower => nearest - 1,
        }
    });
    if F64.is_nan(result) { nan_f64(&[a]) } else { result }
}
