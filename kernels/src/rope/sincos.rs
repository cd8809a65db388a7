//! Sine and cosine of a fixed-point turn in f32: the polynomials, and the sequence that the kernel emits.
//!
//! The turn's nearest quarter decides which polynomial is which and the signs; what is left, `v` quarter turns with
//! |v| ≤ 1/2, is converted to f32 and put into `sin(π/2 v) = v S(v²)` and `cos(π/2 v) = 1 + v² C(v²)` by Horner's rule with fused
//! multiply-adds. The coefficients are minimax fits in the absolute error (Lawson's reweighted least squares), rounded to f32 one
//! after the other, each time with the rest fitted again. Only IEEE operations: every GPU and the emulator give the same bits.
//!
//! Bounds are absolute errors against the exact sine and cosine of the turn, conversion of the turn to f32 and all roundings
//! included, measured over every turn. One ulp of 1.0 is 2^-23 = 1.19e-7.

/// Which polynomials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SinCos {
    /// For f32 results: off by at most [`F32_BOUND`], 0.71 ulp of 1.0.
    F32,
    /// For f16 and bf16 results, two operations shorter: off by at most [`HALF_BOUND`], a 380th of an f16's rounding near 1.
    Half,
}

/// The coefficients of both polynomials, lowest power first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// Of `S`: powers 1, 3, 5, … of `v`.
    pub sin: &'static [f32],
    /// Of `C`: powers 2, 4, 6, … of `v`.
    pub cos: &'static [f32],
}

/// The largest error of [`SinCos::F32`].
pub const F32_BOUND: f64 = 8.41e-8;
/// The largest error of [`SinCos::Half`].
pub const HALF_BOUND: f64 = 6.41e-7;

const F32: Coefficients = Coefficients {
    sin: &[
        f32::from_bits(0x3fc9_0fda), // 1.57079625
        f32::from_bits(0xbf25_5db5), // -0.645961106
        f32::from_bits(0x3da3_2522), // 0.0796606690
        f32::from_bits(0xbb95_4ee9), // -0.00455652596
    ],
    cos: &[
        f32::from_bits(0xbf9d_e9e6), // -1.23370051
        f32::from_bits(0x3e81_e0d8), // 0.253668547
        f32::from_bits(0xbcaa_d89c), // -0.0208552405
        f32::from_bits(0x3a6a_3844), // 0.000893477583
    ],
};

const HALF: Coefficients = Coefficients {
    sin: &[
        f32::from_bits(0x3fc9_0f99), // 1.57078850
        f32::from_bits(0xbf25_4d69), // -0.645712435
        f32::from_bits(0x3d9f_10c2), // 0.0776686817
    ],
    cos: &[
        f32::from_bits(0xbf9d_e9d1), // -1.23369801
        f32::from_bits(0x3e81_d8c7), // 0.253607005
        f32::from_bits(0xbca7_588a), // -0.0204279609
    ],
};

/// 2^-32, which takes a turn shifted left by two, a signed 32-bit fraction of a quarter turn, to quarter turns.
pub const QUARTER_SCALE: f32 = f32::from_bits((127 - 32) << 23);
/// Half of a quarter turn in units of 2^-32 turn: added, it makes the top two bits the nearest quarter.
pub const HALF_QUARTER: u32 = 1 << 29;

impl SinCos {
    /// The coefficients.
    pub const fn coefficients(self) -> Coefficients {
        match self {
            SinCos::F32 => F32,
            SinCos::Half => HALF,
        }
    }

    /// The largest absolute error of either result, over every turn.
    pub const fn bound(self) -> f64 {
        match self {
            SinCos::F32 => F32_BOUND,
            SinCos::Half => HALF_BOUND,
        }
    }

    /// `(cos, sin)` of a turn; `negative` says that the angle is −`turn`. Turn 0 gives exactly (1, 0).
    ///
    /// As instructions: `add` and `shl` for the quarter and the rest, `cvt.rn.f32.s32`, two `mul`, the Horner steps, a `setp` on
    /// bit 30 with two `selp`, and two sign flips by `lop3`.
    pub fn cos_sin(self, turn: u32, negative: bool) -> (f32, f32) {
        let quarter = turn.wrapping_add(HALF_QUARTER);
        let v = (turn << 2).cast_signed() as f32 * QUARTER_SCALE;
        let u = v * v;
        let Coefficients { sin, cos } = self.coefficients();
        let s = v * horner(sin, u);
        let c = horner(cos, u).mul_add(u, 1.0);
        let swap = quarter >> 30 & 1 == 1;
        let (c, s) = if swap { (s, c) } else { (c, s) };
        // Cosine is negative in quarters 1 and 2, sine in 2 and 3.
        let c_sign = quarter.wrapping_add(1 << 30) & 0x8000_0000;
        let s_sign = (quarter ^ u32::from(negative) << 31) & 0x8000_0000;
        (f32::from_bits(c.to_bits() ^ c_sign), f32::from_bits(s.to_bits() ^ s_sign))
    }
}

/// `coefficients[0] + u (coefficients[1] + u (…))` with one rounding a step.
fn horner(coefficients: &[f32], u: f32) -> f32 {
    let mut steps = coefficients.iter().rev().copied();
    let last = steps.next().unwrap_or(0.0);
    steps.fold(last, |sum, coefficient| sum.mul_add(u, coefficient))
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    /// `(sin, cos)` of `v` quarter turns, |v| ≤ 0.51, by Taylor's series: right to 3e-16, and quick.
    fn exact(v: f64) -> (f64, f64) {
        let x = v * std::f64::consts::FRAC_PI_2;
        let u = -x * x;
        let (mut s, mut c) = (1.0, 1.0);
        // (2k)(2k+1) and (2k−1)(2k) for k = 8 down to 1.
        const SIN: [f64; 8] =
            [1. / 272., 1. / 210., 1. / 156., 1. / 110., 1. / 72., 1. / 42., 1. / 20., 1. / 6.];
        const COS: [f64; 8] =
            [1. / 240., 1. / 182., 1. / 132., 1. / 90., 1. / 56., 1. / 30., 1. / 12., 1. / 2.];
        for k in 0..8 {
            s = 1.0 + s * u * SIN[k];
            c = 1.0 + c * u * COS[k];
        }
        (s * x, c)
    }

    /// The largest error over all turns between 0 and 1/8 that convert to `significand × 2^exponent` for every `step`-th of
    /// `significands`. Of those with the same f32, the ends of the interval are the worst: the results are the same and the
    /// exact values are monotone.
    fn largest_error(form: SinCos, exponent: u32, significands: Range<u32>, step: usize) -> f64 {
        let reach = if exponent == 0 { 0.0 } else { f64::from(1u32 << exponent) / 2.0 };
        let mut largest = 0f64;
        for significand in significands.step_by(step) {
            let turn = significand << exponent;
            let (c, s) = form.cos_sin(turn, false);
            for end in [f64::from(turn) - reach, f64::from(turn) + reach] {
                let (exact_s, exact_c) = exact(end / f64::from(1u32 << 30));
                largest = largest.max((f64::from(s) - exact_s).abs()).max((f64::from(c) - exact_c).abs());
            }
        }
        largest
    }

    /// Every distinct f32 of the reduced range in an optimized build, every 61st in a debug build, which would take a minute
    /// for all. The other seven eighths of a turn differ by signs and by which result is which.
    #[test]
    fn both_forms_keep_their_bounds_over_the_reduced_range() {
        let step = if cfg!(debug_assertions) { 61 } else { 1 };
        for form in [SinCos::F32, SinCos::Half] {
            let halves = |exponent| {
                let from = if exponent == 0 { 0 } else { 1 << 23 };
                [(exponent, from..3 << 22), (exponent, 3 << 22..1 << 24)]
            };
            let error = std::thread::scope(|scope| {
                let parts: Vec<_> = (0..6)
                    .flat_map(halves)
                    .map(|(exponent, range)| scope.spawn(move || largest_error(form, exponent, range, step)))
                    .collect();
                parts.into_iter().map(|part| part.join().unwrap()).fold(0f64, f64::max)
            });
            assert!(error <= form.bound(), "{form:?}: {error:e}");
            assert!(
                error >= 0.95 * form.bound(),
                "{form:?}: {error:e} is below the stated bound: state it tighter"
            );
        }
    }

    #[test]
    fn eighths_differ_by_signs_and_exchange_only() {
        for form in [SinCos::F32, SinCos::Half] {
            for turn in (0..100_000u32).map(|k| k * 5_368).chain((0..4096).map(|k| (1 << 29) - 1 - k)) {
                let (c, s) = form.cos_sin(turn, false);
                assert!(c.abs() <= 1.0 && s.abs() <= 1.0);
                assert_eq!(form.cos_sin(turn, true), (c, -s));
                assert_eq!(form.cos_sin(turn.wrapping_neg(), false), (c, -s));
                assert_eq!(form.cos_sin(turn.wrapping_add(1 << 30), false), (-s, c));
                assert_eq!(form.cos_sin(turn.wrapping_add(2 << 30), false), (-c, -s));
                assert_eq!(form.cos_sin(turn.wrapping_add(3 << 30), false), (s, -c));
            }
            assert_eq!(form.cos_sin(0, false), (1.0, 0.0));
        }
    }
}
