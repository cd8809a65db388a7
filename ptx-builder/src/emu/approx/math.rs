//! Elementary functions in f64, from additions and multiplications only.
//!
//! The platform's math library differs between systems, so nothing of it is called: every operation here is an IEEE
//! one with a single correct result. Relative errors stay below 2^-45 (tests), which leaves the 24 bits of an f32 result
//! right but for true values within 2^-21 ulp of a tie.
//!
//! The polynomials are Taylor series on reduced arguments, summed from the small end.

use std::f64::consts::{LN_2, LOG2_E};

/// Evaluates `c[0] + c[1] x + c[2] x² + …`.
fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, &c| sum * x + c)
}

/// 2^x. Exact for integers; below -400 and above 400 the result is that of the limit, far outside f32.
pub fn exp2(x: f64) -> f64 {
    /// 1/n!
    const COEFFICIENTS: [f64; 15] = [
        1.0,
        1.0,
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5_040.0,
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
        1.0 / 479_001_600.0,
        1.0 / 6_227_020_800.0,
        1.0 / 87_178_291_200.0,
    ];
    let x = x.clamp(-400.0, 400.0);
    let whole = x.round_ties_even();
    let scale = f64::from_bits(((whole as i64 + 1023) as u64) << 52);
    polynomial((x - whole) * LN_2, &COEFFICIENTS) * scale
}

/// log₂ x for a positive, normal x. Exact for powers of two.
pub fn log2(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exp = (bits >> 52) as i32 - 1023;
    let mut mant = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mant > std::f64::consts::SQRT_2 {
        mant *= 0.5;
        exp += 1;
    }
    // ln m = 2 artanh s = 2 (s + s³/3 + s⁵/5 + …), with |s| < 0.172.
    const COEFFICIENTS: [f64; 12] = [
        1.0,
        1.0 / 3.0,
        1.0 / 5.0,
        1.0 / 7.0,
        1.0 / 9.0,
        1.0 / 11.0,
        1.0 / 13.0,
        1.0 / 15.0,
        1.0 / 17.0,
        1.0 / 19.0,
        1.0 / 21.0,
        1.0 / 23.0,
    ];
    let s = (mant - 1.0) / (mant + 1.0);
    f64::from(exp) + 2.0 * LOG2_E * s * polynomial(s * s, &COEFFICIENTS)
}

/// Splits an angle into a multiple of π/2 (modulo 4) and the rest in ±π/4, for |x| up to 400.
fn quadrant(x: f64) -> (i64, f64) {
    /// π/2 to 40 bits, so that a multiple up to 8000 is exact.
    const HALF_PI_HIGH: f64 = f64::from_bits(0x3ff9_21fb_5444_2000);
    /// π/2 less that.
    const HALF_PI_LOW: f64 = 7.443_547_480_486_623e-13;
    let count = (x * std::f64::consts::FRAC_2_PI).round_ties_even();
    (count as i64 & 3, (x - count * HALF_PI_HIGH) - count * HALF_PI_LOW)
}

fn sin_small(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 9] = [
        1.0,
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5_040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 355_687_428_096_000.0,
    ];
    x * polynomial(x * x, &COEFFICIENTS)
}

fn cos_small(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 10] = [
        1.0,
        -1.0 / 2.0,
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40_320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 20_922_789_888_000.0,
        -1.0 / 6_402_373_705_728_000.0,
    ];
    polynomial(x * x, &COEFFICIENTS)
}

/// sin x for |x| up to 400.
pub fn sin(x: f64) -> f64 {
    match quadrant(x) {
        (0, rest) => sin_small(rest),
        (1, rest) => cos_small(rest),
        (2, rest) => -sin_small(rest),
        (_, rest) => -cos_small(rest),
    }
}

/// cos x for |x| up to 400.
pub fn cos(x: f64) -> f64 {
    match quadrant(x) {
        (0, rest) => cos_small(rest),
        (1, rest) => -sin_small(rest),
        (2, rest) => -cos_small(rest),
        (_, rest) => sin_small(rest),
    }
}

/// tanh x.
pub fn tanh(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < 0.0625 {
        const COEFFICIENTS: [f64; 7] = [
            1.0,
            -1.0 / 3.0,
            2.0 / 15.0,
            -17.0 / 315.0,
            62.0 / 2_835.0,
            -1_382.0 / 155_925.0,
            21_844.0 / 6_081_075.0,
        ];
        return x * polynomial(x * x, &COEFFICIENTS);
    }
    // 1 - 2 / (e^2x + 1) would lose bits only below the series' range.
    let power = exp2(2.0 * LOG2_E * magnitude.min(25.0));
    ((power - 1.0) / (power + 1.0)).copysign(x)
}
