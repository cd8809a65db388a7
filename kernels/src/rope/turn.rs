//! Angles as fixed-point turns: how a position and a frequency become an angle without losing bits.
//!
//! An angle is a `u32` in units of 2^-32 turn, so that whole turns wrap away by themselves. Everything here is a sequence of
//! 32-bit multiplies, shifts and adds that the kernel emits one for one; these functions are its model, bit for bit. They work
//! on magnitudes, and the sign of a position or of an f32 angle is applied to the sine afterwards, so that position −p gives
//! exactly the conjugate of position p.

/// The first 96 bits of 1/2π after the binary point, most significant word first.
pub const INV_TWO_PI: [u32; 3] = [0x28be_60db, 0x9391_054a, 0x7f09_d5f4];

/// The part of a turn that one position adds, as a 96-bit fraction rounded to nearest.
///
/// 64 bits would be off by 2^-65 turn a position: 2^-25 turn, 1.9e-7 radians, at position 2^40, which is most of the error
/// that sine and cosine may have. With 96 bits the rounding stays below 2^-33 turn for every 64-bit position. A kernel with
/// 32-bit positions reads `hi` alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TurnFraction {
    /// Bits 2^-1 to 2^-64 of the fraction.
    pub hi: u64,
    /// Bits 2^-65 to 2^-96.
    pub lo: u32,
}

impl TurnFraction {
    /// The 32-bit words of the fraction, most significant first.
    pub const fn words(self) -> [u32; 3] {
        [(self.hi >> 32) as u32, self.hi as u32, self.lo]
    }

    /// `magnitude × fraction` modulo 1, for a position of at most 32 bits: two multiplies.
    ///
    /// The result is at most 2 units (2^-31 turn, 2.9e-9 radians) below the exact angle and never above it by more than the
    /// rounding of the fraction.
    pub const fn turn_u32(self, magnitude: u32) -> u32 {
        let [a, b, _] = self.words();
        magnitude.wrapping_mul(a).wrapping_add(mul_hi(magnitude, b))
    }

    /// `magnitude × fraction` modulo 1, for any 64-bit position: four multiplies.
    ///
    /// Gives the bits of [`turn_u32`](Self::turn_u32) for positions below 2^32. The result is at most 3 units of 2^-32 turn
    /// below the exact angle.
    pub const fn turn_u64(self, magnitude: u64) -> u32 {
        let [a, b, c] = self.words();
        let (low, high) = (magnitude as u32, (magnitude >> 32) as u32);
        low.wrapping_mul(a)
            .wrapping_add(mul_hi(low, b))
            .wrapping_add(high.wrapping_mul(b))
            .wrapping_add(mul_hi(high, c))
    }
}

/// The upper half of a 32-bit by 32-bit product (`mul.hi.u32`).
const fn mul_hi(a: u32, b: u32) -> u32 {
    ((a as u64 * b as u64) >> 32) as u32
}

/// The significand of `angle` with its top bit at bit 31, and `158 − biased exponent`:
/// `|angle| = significand × 2^-shift` with `shift` in −97 to 158. Subnormal angles come out as at most 2^-126.
const fn split(angle: f32) -> (u32, i32) {
    let bits = angle.to_bits();
    ((bits << 8) | 0x8000_0000, 158 - ((bits >> 23) & 0xff) as i32)
}

/// `|angle| / 2π` modulo 1 for an f32 angle in radians with `|angle| < 2^32`.
///
/// The angle is `m × 2^-n` with a 32-bit `m`, so a 64-bit window of 1/2π, shifted right by `n`, holds every bit that can reach
/// the result: one 64-bit shift (`shr.u64` gives 0 beyond 63) and two multiplies, with no table and no branch. The result is
/// at most 2 units of 2^-32 turn (2.9e-9 radians) below the exact turn and never above it.
pub const fn angle_turn(angle: f32) -> u32 {
    let (m, n) = split(angle);
    let window = (INV_TWO_PI[0] as u64) << 32 | INV_TWO_PI[1] as u64;
    let window = if n < 64 { window >> (n as u32 & 63) } else { 0 };
    times_window(m, (window >> 32) as u32, window as u32)
}

/// `|angle| / 2π` modulo 1 for an f32 angle in radians with `|angle| < 2^64`: the form for 64-bit positions.
///
/// Gives the bits of [`angle_turn`] below 2^32. Above, the window of 1/2π moves left by funnel shifts (`shf.l.clamp`). Beyond
/// 2^64, for infinities and NaN the result has no meaning.
pub const fn angle_turn_wide(angle: f32) -> u32 {
    let (m, n) = split(angle);
    if n >= 0 {
        return angle_turn(angle);
    }
    let left = if n < -32 { 32 } else { -n as u32 };
    let high = funnel_left(INV_TWO_PI[0], INV_TWO_PI[1], left);
    let low = funnel_left(INV_TWO_PI[1], INV_TWO_PI[2], left);
    times_window(m, high, low)
}

/// Bits 32 to 63 of `m × (high:low)`.
const fn times_window(m: u32, high: u32, low: u32) -> u32 {
    m.wrapping_mul(high).wrapping_add(mul_hi(m, low))
}

/// The upper word of `(high:low) << count`, `count` ≤ 32 (`shf.l.clamp.b32`).
const fn funnel_left(high: u32, low: u32, count: u32) -> u32 {
    ((((high as u64) << 32 | low as u64) << count) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rope::big::{Big, pi};

    /// The distance from `turn` up to the exact fraction, in units of 2^-32 turn, between −2^31 and 2^31.
    fn below(turn: u32, exact: &Big) -> f64 {
        let [low, high, ..] = exact.fraction(128);
        let whole = (high.wrapping_sub(u64::from(turn) << 32)).cast_signed();
        let unit = (1u64 << 32) as f64;
        whole as f64 / unit + low as f64 / unit / unit / unit
    }

    #[test]
    fn the_words_of_one_over_two_pi() {
        let [low, high, ..] = (Big::ONE / pi().scale(1)).fraction(128);
        assert_eq!(high, u64::from(INV_TWO_PI[0]) << 32 | u64::from(INV_TWO_PI[1]));
        assert_eq!((low >> 32) as u32, INV_TWO_PI[2]);
    }

    #[test]
    fn positions_up_to_64_bits_lose_at_most_three_units() {
        for (k, exponent) in (0..400u64).map(|k| (k, k % 23)) {
            // Frequencies from 1 down to 2^-22, positions over all magnitudes.
            let frequency = (Big::ONE + Big::ratio(k, 1009)).scale(-(exponent as i64)) / pi().scale(1);
            let [w0, w1, ..] = frequency.fraction(96);
            let fraction = TurnFraction { hi: w0 >> 32 | w1 << 32, lo: w0 as u32 };
            for bits in 1..=64 {
                let position = (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63) >> (64 - bits);
                let exact = frequency * Big::from_u64(position);
                let distance = below(fraction.turn_u64(position), &exact);
                assert!((-0.5..=3.0).contains(&distance), "position {position}: {distance} units");
                if let Ok(narrow) = u32::try_from(position) {
                    assert_eq!(fraction.turn_u32(narrow), fraction.turn_u64(position));
                }
            }
        }
    }

    #[test]
    fn f32_angles_up_to_two_to_the_64_lose_at_most_two_units() {
        let inverse = Big::ONE / pi().scale(1);
        for biased in 1..=190u32 {
            for k in 0..64u32 {
                let mantissa = if k == 63 { 0x7f_ffff } else { k.wrapping_mul(0x0012_9af5) & 0x7f_ffff };
                let angle = f32::from_bits(biased << 23 | mantissa);
                let exact = Big::from_f32(angle) * inverse;
                let distance = below(angle_turn_wide(angle), &exact);
                assert!((0.0..=2.0).contains(&distance), "angle {angle}: {distance} units");
                assert_eq!(angle_turn_wide(-angle), angle_turn_wide(angle));
                if biased < 159 {
                    assert_eq!(angle_turn(angle), angle_turn_wide(angle));
                }
            }
        }
        assert_eq!(angle_turn(0.0), 0);
        assert_eq!(angle_turn_wide(f32::MIN_POSITIVE / 2.0), 0);
    }
}
