//! Conversions between [`Big`] and f64, f32 and binary fractions.

use super::{BITS, Big, LIMBS, shift_right, sub_limbs};

/// A discarded part this close to half a unit, in units of the 320th bit, counts as the tie that it is meant to be.
///
/// Powers with a whole result, such as (2^24 + 1)^2 raised to 1/2, come out of `exp` and `ln` a few units of the 300th bit
/// off; without this, chance would decide the rounding of the exact ties among them.
const TIE_SLACK_BITS: u32 = 40;

impl Big {
    /// The value of a finite `x`, exactly; infinities and NaN, which callers rule out, count as zero.
    pub fn from_f64(x: f64) -> Big {
        let bits = x.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (significand, exponent) = match (bits >> 52 & 0x7ff) as i64 {
            0x7ff => (0, 0),
            0 => (fraction, -1074),
            biased => (fraction | 1 << 52, biased - 1075),
        };
        Big::from_fraction(x.is_sign_negative() && significand != 0, exponent + 64, &[significand])
    }

    /// The value of a finite `x`, exactly.
    pub fn from_f32(x: f32) -> Big {
        Big::from_f64(f64::from(x))
    }

    /// The nearest f64, ties to even.
    pub fn to_f64(self) -> f64 {
        self.rounded(53, -1022)
    }

    /// The nearest f32, ties to even.
    pub fn to_f32(self) -> f32 {
        // The value has an f32's precision and range already, so that the conversion is exact.
        self.rounded(24, -126) as f32
    }

    /// The value rounded to `precision` bits of a format whose least normal exponent is `min_exponent`.
    fn rounded(self, precision: u32, min_exponent: i64) -> f64 {
        if self.is_zero() {
            return 0.0;
        }
        // The leading bit weighs 2^(exponent − 1); a subnormal keeps fewer bits.
        let missing = (min_exponent - (self.exponent - 1)).max(0);
        let kept = i64::from(precision) - missing;
        let magnitude = if kept < 0 {
            0.0
        } else {
            let kept = kept as u32;
            let mut top = self.limbs;
            shift_right(&mut top, u64::from(BITS - kept));
            let down = if kept == 0 { 0 } else { top[0] };
            let mut rest = self.limbs;
            keep_low_bits(&mut rest, BITS - kept);
            let up = match compare_to_half(&rest, BITS - kept) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => down & 1,
                std::cmp::Ordering::Greater => 1,
            };
            times_power_of_two((down + up) as f64, self.exponent - i64::from(kept))
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// The value modulo 1 as a fraction of `bits` ≤ 256 bits (little-endian limbs), to the nearest. A negative value wraps:
    /// −1/4 is 3/4.
    ///
    /// The last bit means something only while `bits` and the whole part of the value fit the significand, which holds
    /// below 2^40.
    pub fn fraction(&self, bits: u32) -> [u64; 4] {
        let shift = i64::from(BITS) - i64::from(bits) - self.exponent;
        let mut out = [0; 4];
        if let Ok(shift) = u64::try_from(shift)
            && shift <= u64::from(BITS)
        {
            let mut limbs = [0; LIMBS + 1];
            limbs[1..].copy_from_slice(&self.limbs);
            shift_right(&mut limbs, shift);
            let half = limbs[0] >> 63;
            out.copy_from_slice(&limbs[1..5]);
            let mut carry = half == 1;
            for limb in &mut out {
                let (sum, over) = limb.overflowing_add(u64::from(carry));
                *limb = sum;
                carry = over;
            }
        }
        if self.negative {
            let mut carry = true;
            for limb in &mut out {
                let (sum, over) = (!*limb).overflowing_add(u64::from(carry));
                *limb = sum;
                carry = over;
            }
        }
        keep_low_bits(&mut out, bits);
        out
    }
}

/// Clears all bits but the lowest `count`.
fn keep_low_bits(limbs: &mut [u64], count: u32) {
    for (i, limb) in limbs.iter_mut().enumerate() {
        let kept = count.saturating_sub(64 * i as u32);
        if kept < 64 {
            *limb &= (1 << kept) - 1;
        }
    }
}

/// The order of `rest`, which has `bits` bits, and 2^(bits − 1), with [`TIE_SLACK_BITS`] of slack.
fn compare_to_half(rest: &[u64; LIMBS], bits: u32) -> std::cmp::Ordering {
    let mut half = [0u64; LIMBS];
    half[((bits - 1) / 64) as usize] = 1 << ((bits - 1) % 64);
    let order = rest.iter().rev().cmp(half.iter().rev());
    let (mut distance, smaller) =
        if order == std::cmp::Ordering::Less { (half, rest) } else { (*rest, &half) };
    sub_limbs(&mut distance, smaller);
    shift_right(&mut distance, u64::from(TIE_SLACK_BITS));
    if distance == [0; LIMBS] { std::cmp::Ordering::Equal } else { order }
}

/// `x × 2^n`; exact where the result is representable, infinite where it is too large.
fn times_power_of_two(x: f64, n: i64) -> f64 {
    let power = |n: i64| f64::from_bits(((n + 1023) as u64) << 52);
    match n {
        -1022..=1023 => x * power(n),
        1024.. => x * power(1023) * power((n - 1023).min(1023)),
        // x is at most 2^53: one step down to the normal range, one step more.
        _ => x * power(-1022) * power((n + 1022).max(-1022)),
    }
}
