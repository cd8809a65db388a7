//! Constants, square root, exponential, logarithm and power of [`Big`].

use std::sync::LazyLock;

use super::{BITS, Big};

/// π by Machin's formula, `16 atan(1/5) − 4 atan(1/239)`.
static PI: LazyLock<Big> =
    LazyLock::new(|| inverse_series(5, true).scale(4) - inverse_series(239, true).scale(2));
/// ln 2 as `18 atanh(1/26) − 2 atanh(1/4801) + 8 atanh(1/8749)` (Gourdon and Sebah).
static LN_2: LazyLock<Big> = LazyLock::new(|| {
    Big::from_u64(18) * inverse_series(26, false) - inverse_series(4801, false).scale(1)
        + inverse_series(8749, false).scale(3)
});

/// 1 over 2π.
static INV_TWO_PI: LazyLock<Big> = LazyLock::new(|| Big::ONE / PI.scale(1));

/// π.
pub fn pi() -> Big {
    *PI
}

/// 1 over 2π: turns in a radian.
pub fn inv_two_pi() -> Big {
    *INV_TWO_PI
}

/// The natural logarithm of 2.
pub fn ln_2() -> Big {
    *LN_2
}

/// `atan(1/n)` if `alternating`, else `atanh(1/n)`: the sum of `±1 / ((2k+1) n^(2k+1))`.
fn inverse_series(n: u64, alternating: bool) -> Big {
    let mut power = Big::ONE.div_u64(n);
    let mut sum = power;
    for k in 1u64.. {
        power = power.div_u64(n * n);
        let term = power.div_u64(2 * k + 1);
        if negligible(&term, &sum) {
            break;
        }
        sum = if alternating && k % 2 == 1 { sum - term } else { sum + term };
    }
    sum
}

/// Whether adding `term` to `sum` could not change it.
fn negligible(term: &Big, sum: &Big) -> bool {
    term.is_zero() || term.exponent < sum.exponent - i64::from(BITS)
}

impl Big {
    /// The square root; the value is not negative.
    #[must_use]
    pub fn sqrt(self) -> Big {
        if self.is_zero() {
            return self;
        }
        // An even exponent comes out as its half; the significand is then in [1/2, 2), and f64's root has 52 correct bits,
        // which Newton's step doubles three times.
        let half = self.exponent.div_euclid(2);
        let m = Big { exponent: self.exponent - 2 * half, ..self };
        let mut root = Big::from_f64(m.to_f64().sqrt());
        for _ in 0..3 {
            root = (root + m / root).scale(-1);
        }
        root.scale(half)
    }

    /// `e^self`, with a relative error below 2^-(300 − log2 |self|). The exponent of the result must fit 32 bits; beyond,
    /// the result is unspecified.
    #[must_use]
    pub fn exp(self) -> Big {
        let n = (self.to_f64() * std::f64::consts::LOG2_E).round() as i64;
        let n_ln_2 = Big::from_u64(n.unsigned_abs()) * ln_2();
        let rest = if n < 0 { self + n_ln_2 } else { self - n_ln_2 };
        // e^r = (e^(r / 2^8))^(2^8): eight squarings cost eight bits and save most of the series' terms.
        let small = rest.scale(-8);
        let (mut term, mut sum) = (Big::ONE, Big::ONE);
        for k in 1u64.. {
            term = (term * small).div_u64(k);
            if negligible(&term, &sum) {
                break;
            }
            sum = sum + term;
        }
        for _ in 0..8 {
            sum = sum * sum;
        }
        sum.scale(n)
    }

    /// The natural logarithm, with an absolute error below 2^-300 times the greater of 1 and the result; the value is
    /// positive.
    #[must_use]
    pub fn ln(self) -> Big {
        // ln(m 2^n) = ln m + n ln 2 with m in [1/2, 1). Each step of Halley's method for e^y = m triples the correct bits:
        // 52, 156, 468.
        let n = self.exponent;
        let m = Big { exponent: 0, ..self };
        let mut y = Big::from_f64(libm::log(m.to_f64()));
        for _ in 0..2 {
            let power = y.exp();
            y = y + ((m - power) / (m + power)).scale(1);
        }
        let n_ln_2 = Big::from_u64(n.unsigned_abs()) * ln_2();
        if n < 0 { y - n_ln_2 } else { y + n_ln_2 }
    }

    /// `self^exponent`; the base is positive. A power of 0 is exactly 1.
    #[must_use]
    pub fn pow(self, exponent: Big) -> Big {
        (exponent * self.ln()).exp()
    }
}
