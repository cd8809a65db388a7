//! Floating-point numbers with a 320-bit significand: the arithmetic behind every baked frequency.
//!
//! Positions multiply frequencies, so a relative error of a frequency grows with the position; 320 bits leave more than 200
//! correct bits after any formula here, whatever the platform's libm does. Zero has all limbs zero; any other value has the top
//! bit of its top limb set. `+ - * /` and `sqrt` truncate: each is off by at most one unit of the last place (relative
//! 2^-319). There are no infinities: a division by zero, which callers rule out by checking their parameters, saturates at
//! an enormous value.

mod convert;
mod functions;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

pub use functions::{inv_two_pi, ln_2, pi};

const LIMBS: usize = 5;
/// Bits of the significand.
pub(crate) const BITS: u32 = 64 * LIMBS as u32;
/// Exponent of the value that a division by zero gives: out of reach of any other result.
const HUGE: i64 = 1 << 40;

/// A number `±0.m × 2^exponent` with a 320-bit fraction `0.m` in [1/2, 1), or zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Big {
    negative: bool,
    exponent: i64,
    /// Little-endian.
    limbs: [u64; LIMBS],
}

impl Big {
    /// 0.
    pub const ZERO: Big = Big { negative: false, exponent: 0, limbs: [0; LIMBS] };
    /// 1.
    pub const ONE: Big = Big { negative: false, exponent: 1, limbs: [0, 0, 0, 0, 1 << 63] };

    /// `n`, exactly.
    pub fn from_u64(n: u64) -> Big {
        Big::from_fraction(false, 64, &[n])
    }

    /// `numerator / denominator`; `denominator` is not zero.
    pub fn ratio(numerator: u64, denominator: u64) -> Big {
        Big::from_u64(numerator) / Big::from_u64(denominator)
    }

    /// The value of the fraction `0.limbs × 2^exponent` (little-endian limbs), truncated to the significand.
    fn from_fraction(negative: bool, exponent: i64, limbs: &[u64]) -> Big {
        let Some(top) = limbs.iter().rposition(|&limb| limb != 0) else {
            return Big::ZERO;
        };
        let shift = limbs[top].leading_zeros();
        let limb = |i: isize| if i < 0 { 0 } else { limbs[i as usize] };
        let mut out = [0; LIMBS];
        for (k, slot) in out.iter_mut().enumerate() {
            let i = top as isize - (LIMBS - 1 - k) as isize;
            *slot = if shift == 0 { limb(i) } else { limb(i) << shift | limb(i - 1) >> (64 - shift) };
        }
        let dropped = 64 * (limbs.len() - 1 - top) as i64 + i64::from(shift);
        Big { negative, exponent: exponent - dropped, limbs: out }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.limbs == [0; LIMBS]
    }

    /// Whether it is less than zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The absolute value.
    #[must_use]
    pub fn abs(self) -> Big {
        Big { negative: false, ..self }
    }

    /// The value times `2^n`, exactly.
    #[must_use]
    pub fn scale(self, n: i64) -> Big {
        if self.is_zero() { self } else { Big { exponent: self.exponent + n, ..self } }
    }

    /// The value over `n`, truncated; `n` is not zero. Cheaper than a general division.
    #[must_use]
    fn div_u64(self, n: u64) -> Big {
        let mut quotient = [0; LIMBS + 1];
        let mut rest = 0u128;
        for (i, slot) in quotient.iter_mut().enumerate().rev() {
            let limb = if i == 0 { 0 } else { self.limbs[i - 1] };
            let value = rest << 64 | u128::from(limb);
            *slot = (value / u128::from(n)) as u64;
            rest = value % u128::from(n);
        }
        Big::from_fraction(self.negative, self.exponent, &quotient)
    }

    /// The greatest whole number that is not above the value.
    #[must_use]
    pub fn floor(self) -> Big {
        if self.exponent <= 0 {
            return if self.negative && !self.is_zero() { -Big::ONE } else { Big::ZERO };
        }
        let whole_bits = self.exponent.min(i64::from(BITS)) as u32;
        let mut limbs = self.limbs;
        for (i, limb) in limbs.iter_mut().enumerate() {
            let fraction_bits = (BITS - whole_bits).saturating_sub(64 * i as u32);
            *limb = if fraction_bits >= 64 { 0 } else { *limb >> fraction_bits << fraction_bits };
        }
        let whole = Big { limbs, ..self };
        if self.negative && whole != self { whole - Big::ONE } else { whole }
    }

    /// The least whole number that is not below the value.
    #[must_use]
    pub fn ceil(self) -> Big {
        -(-self).floor()
    }

    /// The order of two significands with their exponents, signs left out.
    fn cmp_magnitude(&self, other: &Big) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self
                .exponent
                .cmp(&other.exponent)
                .then_with(|| self.limbs.iter().rev().cmp(other.limbs.iter().rev())),
        }
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Big) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Big {
    fn cmp(&self, other: &Big) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
    }
}

impl Neg for Big {
    type Output = Big;
    fn neg(self) -> Big {
        Big { negative: !self.negative && !self.is_zero(), ..self }
    }
}

impl Add for Big {
    type Output = Big;
    fn add(self, other: Big) -> Big {
        let (large, small) =
            if self.cmp_magnitude(&other) == Ordering::Less { (other, self) } else { (self, other) };
        // A limb below holds what the alignment shifts out; a limb above holds the carry.
        let mut sum = [0; LIMBS + 2];
        sum[1..=LIMBS].copy_from_slice(&large.limbs);
        let mut addend = [0; LIMBS + 2];
        addend[1..=LIMBS].copy_from_slice(&small.limbs);
        shift_right(&mut addend, (large.exponent - small.exponent).try_into().unwrap_or(u64::MAX));
        if large.negative == small.negative {
            add_limbs(&mut sum, &addend);
        } else {
            sub_limbs(&mut sum, &addend);
        }
        Big::from_fraction(large.negative, large.exponent + 64, &sum)
    }
}

impl Sub for Big {
    type Output = Big;
    fn sub(self, other: Big) -> Big {
        self + -other
    }
}

impl Mul for Big {
    type Output = Big;
    fn mul(self, other: Big) -> Big {
        let mut product = [0u64; 2 * LIMBS];
        for (i, &a) in self.limbs.iter().enumerate() {
            let mut carry = 0u128;
            for (j, &b) in other.limbs.iter().enumerate() {
                let value = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + carry;
                product[i + j] = value as u64;
                carry = value >> 64;
            }
            product[i + LIMBS] = carry as u64;
        }
        Big::from_fraction(self.negative != other.negative, self.exponent + other.exponent, &product)
    }
}

impl Div for Big {
    type Output = Big;
    fn div(self, other: Big) -> Big {
        let negative = self.negative != other.negative;
        if self.is_zero() {
            return Big::ZERO;
        }
        if other.is_zero() {
            return Big { negative, exponent: HUGE, ..Big::ONE };
        }
        // Restoring division, one bit of the quotient a step; the first bit has the weight 2^0.
        let mut rest = [0; LIMBS + 1];
        rest[..LIMBS].copy_from_slice(&self.limbs);
        let mut divisor = [0; LIMBS + 1];
        divisor[..LIMBS].copy_from_slice(&other.limbs);
        let mut quotient = [0u64; LIMBS + 1];
        for bit in (0..64 * (LIMBS + 1)).rev() {
            if rest.iter().rev().cmp(divisor.iter().rev()) != Ordering::Less {
                sub_limbs(&mut rest, &divisor);
                quotient[bit / 64] |= 1 << (bit % 64);
            }
            shift_left_one(&mut rest);
        }
        Big::from_fraction(negative, self.exponent - other.exponent + 1, &quotient)
    }
}

/// `a += b`; the sum fits.
fn add_limbs(a: &mut [u64], b: &[u64]) {
    let mut carry = false;
    for (x, &y) in a.iter_mut().zip(b) {
        let (sum, over) = x.overflowing_add(y);
        let (sum, over_carry) = sum.overflowing_add(u64::from(carry));
        *x = sum;
        carry = over || over_carry;
    }
}

/// `a -= b`; `a` is not less than `b`.
fn sub_limbs(a: &mut [u64], b: &[u64]) {
    let mut borrow = false;
    for (x, &y) in a.iter_mut().zip(b) {
        let (difference, under) = x.overflowing_sub(y);
        let (difference, under_borrow) = difference.overflowing_sub(u64::from(borrow));
        *x = difference;
        borrow = under || under_borrow;
    }
}

/// Shifts right by `count` bits; what falls out is lost.
fn shift_right(limbs: &mut [u64], count: u64) {
    let (whole, bits) = ((count / 64).min(limbs.len() as u64) as usize, (count % 64) as u32);
    for i in 0..limbs.len() {
        let low = limbs.get(i + whole).copied().unwrap_or(0);
        let high = limbs.get(i + whole + 1).copied().unwrap_or(0);
        limbs[i] = if bits == 0 { low } else { low >> bits | high << (64 - bits) };
    }
}

/// Shifts left by one bit; the top bit is zero.
fn shift_left_one(limbs: &mut [u64]) {
    let mut carry = 0;
    for limb in limbs {
        let out = *limb >> 63;
        *limb = *limb << 1 | carry;
        carry = out;
    }
}
