//! Soft floating point: every format the emulator knows, as exact integers with one rounding routine.
//!
//! A finite number is `±mant · 2^exp` with `mant` in 128 bits. Each operation computes its result exactly, or with
//! enough leading bits plus a sticky flag, and [`Format::round_pack`] rounds once. No operation here touches a host
//! floating-point unit, so the results are the same on every machine.
//!
//! The 128 bits suffice for a fused multiply-add of f64: the product has at most 106 bits, so after the leading bit
//! of both terms is moved to bit 126 the aligned term loses bits only when the exponents differ by 21 or more; then
//! the sum cancels at most one leading bit and the sticky flag says all there is to know about the lost ones.
//!
//! Limits: no exception flags (PTX has none). A NaN result is the format's canonical NaN; payload rules are applied
//! by the callers in [`super`].

use super::half;

/// A rounding mode, named as the PTX modifiers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `.rn`, `.rni`: to nearest, ties to even.
    #[default]
    Rn,
    /// `.rz`, `.rzi`: towards zero.
    Rz,
    /// `.rm`, `.rmi`: towards negative infinity.
    Rm,
    /// `.rp`, `.rpi`: towards positive infinity.
    Rp,
    /// `.rna`: to nearest, ties away from zero (tf32 conversion only).
    Rna,
}

/// A binary floating-point format, with its encoding of special values.
///
/// Bits travel as `u64`, right-aligned in the register width of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    exp_bits: u32,
    frac_bits: u32,
    /// False for e4m3, whose largest exponent holds ordinary numbers and one NaN magnitude.
    has_infinity: bool,
    /// Unused low bits of the register (tf32 keeps its 19 bits on top of 32).
    low_pad: u32,
    nan: u64,
}

/// IEEE binary16 (`.f16`).
pub const F16: Format = Format { exp_bits: 5, frac_bits: 10, has_infinity: true, low_pad: 0, nan: 0x7fff };
/// bfloat16 (`.bf16`): the upper half of an f32.
pub const BF16: Format = Format { exp_bits: 8, frac_bits: 7, has_infinity: true, low_pad: 0, nan: 0x7fff };
/// TensorFloat-32 (`.tf32`): 8 exponent and 10 fraction bits on top of a 32-bit register; the low 13 bits are
/// ignored when read and zero when written.
pub const TF32: Format =
    Format { exp_bits: 8, frac_bits: 10, has_infinity: true, low_pad: 13, nan: 0x7fff_ffff };
/// IEEE binary32 (`.f32`).
pub const F32: Format =
    Format { exp_bits: 8, frac_bits: 23, has_infinity: true, low_pad: 0, nan: 0x7fff_ffff };
/// IEEE binary64 (`.f64`).
pub const F64: Format =
    Format { exp_bits: 11, frac_bits: 52, has_infinity: true, low_pad: 0, nan: 0xfff8_0000_0000_0000 };
/// The upper word of an f64 (1.11.20), which `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` work on.
pub const F64_HIGH: Format =
    Format { exp_bits: 11, frac_bits: 20, has_infinity: true, low_pad: 32, nan: 0x7fff_ffff_0000_0000 };
/// 8-bit float with 4 exponent and 3 fraction bits (`.e4m3`): no infinity, largest number 448, NaN `0x7f`.
pub const E4M3: Format = Format { exp_bits: 4, frac_bits: 3, has_infinity: false, low_pad: 0, nan: 0x7f };
/// 8-bit float with 5 exponent and 2 fraction bits (`.e5m2`): infinities as in IEEE, largest number 57344.
pub const E5M2: Format = Format { exp_bits: 5, frac_bits: 2, has_infinity: true, low_pad: 0, nan: 0x7f };

/// A nonzero number `±(mant + s) · 2^exp`, where `s` is 0, or strictly between 0 and 1 if `sticky` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Sign.
    pub negative: bool,
    /// Power of two of the lowest bit of `mant`.
    pub exp: i32,
    /// Magnitude; never zero.
    pub mant: u128,
    /// Whether nonzero bits were dropped below `mant`; then `mant` has at least 56 significant bits.
    pub sticky: bool,
}

/// What a bit pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpacked {
    /// Not a number, whatever its payload.
    Nan,
    /// An infinity; the field tells whether it is the negative one.
    Infinity(bool),
    /// A zero; the field tells whether it is the negative one.
    Zero(bool),
    /// A nonzero finite number.
    Finite(Exact),
}

impl Format {
    /// Number of fraction bits (23 for f32).
    #[inline]
    pub const fn frac_bits(self) -> u32 {
        self.frac_bits
    }

    /// Number of exponent bits (8 for f32).
    #[inline]
    pub const fn exp_bits(self) -> u32 {
        self.exp_bits
    }

    /// Width of the register that holds the format, in bits.
    #[inline]
    pub const fn width(self) -> u32 {
        1 + self.exp_bits + self.frac_bits + self.low_pad
    }

    /// The canonical NaN: what an operation of this format makes when no payload is kept.
    #[inline]
    pub const fn nan(self) -> u64 {
        self.nan
    }

    /// The sign bit.
    #[inline]
    pub const fn sign_mask(self) -> u64 {
        1 << (self.width() - 1)
    }

    #[inline]
    const fn exp_mask(self) -> u64 {
        (1 << self.exp_bits) - 1
    }

    #[inline]
    const fn frac_mask(self) -> u64 {
        (1 << self.frac_bits) - 1
    }

    #[inline]
    const fn bias(self) -> i32 {
        (1 << (self.exp_bits - 1)) - 1
    }

    /// The smallest power of two of the format: the weight of the last bit of a subnormal.
    #[inline]
    const fn min_exp(self) -> i32 {
        1 - self.bias() - self.frac_bits as i32
    }

    /// Magnitude bits, without sign and padding.
    #[inline]
    const fn magnitude(self, bits: u64) -> u64 {
        (bits & !self.sign_mask() & (self.sign_mask() | (self.sign_mask() - 1))) >> self.low_pad
    }

    /// The largest magnitude that is a finite number, without padding.
    #[inline]
    const fn max_magnitude(self) -> u64 {
        let all = (self.exp_mask() << self.frac_bits) | self.frac_mask();
        if self.has_infinity { (self.exp_mask() << self.frac_bits) - 1 } else { all - 1 }
    }

    #[inline]
    const fn signed(self, negative: bool, magnitude: u64) -> u64 {
        (magnitude << self.low_pad) | if negative { self.sign_mask() } else { 0 }
    }

    /// A zero of the given sign.
    #[inline]
    pub const fn zero(self, negative: bool) -> u64 {
        self.signed(negative, 0)
    }

    /// One.
    #[inline]
    pub const fn one(self) -> u64 {
        self.signed(false, (self.bias() as u64) << self.frac_bits)
    }

    /// An infinity of the given sign; the canonical NaN for a format without infinities.
    #[inline]
    pub const fn infinity(self, negative: bool) -> u64 {
        if self.has_infinity { self.signed(negative, self.exp_mask() << self.frac_bits) } else { self.nan }
    }

    /// The largest finite number (the manual's MAX_NORM) with the given sign.
    #[inline]
    pub const fn max_finite(self, negative: bool) -> u64 {
        self.signed(negative, self.max_magnitude())
    }

    /// Whether the sign bit is set.
    #[inline]
    pub const fn is_negative(self, bits: u64) -> bool {
        bits & self.sign_mask() != 0
    }

    /// Whether the bits are a NaN of any payload.
    #[inline]
    pub const fn is_nan(self, bits: u64) -> bool {
        let limit = if self.has_infinity { self.max_magnitude() + 1 } else { self.max_magnitude() };
        self.magnitude(bits) > limit
    }

    /// Whether the bits are an infinity of either sign.
    #[inline]
    pub const fn is_infinite(self, bits: u64) -> bool {
        self.has_infinity && self.magnitude(bits) == self.max_magnitude() + 1
    }

    /// Whether the bits are zero of either sign.
    #[inline]
    pub const fn is_zero(self, bits: u64) -> bool {
        self.magnitude(bits) == 0
    }

    /// Whether the bits are a nonzero number below the normal range.
    #[inline]
    pub const fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = self.magnitude(bits);
        magnitude != 0 && magnitude <= self.frac_mask()
    }

    /// A subnormal becomes a zero of its sign (`.ftz`); everything else stays.
    #[inline]
    pub const fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign_mask() } else { bits }
    }

    /// A number that orders finite values and infinities, with `-0 < +0`. Meaningless for NaN.
    #[inline]
    pub const fn order(self, bits: u64) -> i64 {
        let magnitude = self.magnitude(bits) as i64;
        if self.is_negative(bits) { -1 - magnitude } else { magnitude }
    }

    /// The f64 NaN with the sign and payload of a NaN of this format, the payload at the top of the fraction, quiet.
    pub const fn nan_to_f64(self, bits: u64) -> u64 {
        let payload = (self.magnitude(bits) & self.frac_mask()) << (F64.frac_bits - self.frac_bits);
        let quiet = 1 << (F64.frac_bits - 1);
        F64.signed(self.is_negative(bits), (F64.max_magnitude() + 1) | quiet | payload)
    }

    /// The next number above (`up`) or below, in the order of [`Format::order`] with the two zeros as one.
    /// NaN stays, and so does an infinity or largest number with nothing beyond it.
    pub const fn step(self, bits: u64, up: bool) -> u64 {
        if self.is_nan(bits) {
            return bits;
        }
        let negative = self.is_negative(bits);
        let magnitude = self.magnitude(bits);
        if magnitude == 0 {
            return self.signed(!up, 1);
        }
        if negative == up {
            return self.signed(negative, magnitude - 1);
        }
        let limit = if self.has_infinity { self.max_magnitude() + 1 } else { self.max_magnitude() };
        self.signed(negative, if magnitude < limit { magnitude + 1 } else { magnitude })
    }

    /// Decodes a bit pattern.
    #[inline]
    pub fn unpack(self, bits: u64) -> Unpacked {
        let negative = self.is_negative(bits);
        let magnitude = self.magnitude(bits);
        let exp = (magnitude >> self.frac_bits) as i32;
        let frac = magnitude & self.frac_mask();
        if self.is_nan(bits) {
            Unpacked::Nan
        } else if magnitude > self.max_magnitude() {
            Unpacked::Infinity(negative)
        } else if magnitude == 0 {
            Unpacked::Zero(negative)
        } else {
            let (mant, exp) = if exp == 0 { (frac, 1) } else { (frac | (1 << self.frac_bits), exp) };
            Unpacked::Finite(Exact {
                negative,
                exp: exp - 1 + self.min_exp(),
                mant: mant.into(),
                sticky: false,
            })
        }
    }

    /// Encodes a number, rounding it once. Overflow gives an infinity or the largest number, as IEEE 754 says for
    /// the mode; subnormal results are produced, never flushed.
    #[inline]
    pub fn round_pack(self, value: Exact, rounding: Rounding) -> u64 {
        let Exact { negative, exp, mant, sticky } = value;
        let top = 127 - mant.leading_zeros() as i32;
        // Weight of the last kept bit: a full significand below `top`, or the subnormal quantum.
        let quantum = (exp + top - self.frac_bits as i32).max(self.min_exp());
        let shift = quantum - exp;
        debug_assert!(mant != 0 && (!sticky || shift >= 2), "too few bits to round {value:?}");
        let (kept, half, rest) = match shift {
            ..=0 => (mant << -shift, false, sticky),
            1..=128 => {
                let low = mant & ((1 << (shift - 1)) - 1);
                let half = (mant >> (shift - 1)) & 1 == 1;
                (if shift == 128 { 0 } else { mant >> shift }, half, low != 0 || sticky)
            }
            _ => (0, false, true),
        };
        let up = match rounding {
            Rounding::Rn => half && (rest || kept & 1 == 1),
            Rounding::Rna => half,
            Rounding::Rz => false,
            Rounding::Rm => negative && (half || rest),
            Rounding::Rp => !negative && (half || rest),
        };
        // Adding the significand with its hidden bit to (exponent - 1) makes a carry move to the next binade, and a
        // subnormal that rounds up become the smallest normal, without a special case.
        let binade = (quantum - self.min_exp()) as u128;
        let magnitude = (binade << self.frac_bits) + kept + u128::from(up);
        if magnitude <= u128::from(self.max_magnitude()) {
            return self.signed(negative, magnitude as u64);
        }
        match rounding {
            Rounding::Rz => self.max_finite(negative),
            Rounding::Rm if !negative => self.max_finite(negative),
            Rounding::Rp if negative => self.max_finite(negative),
            Rounding::Rn | Rounding::Rna | Rounding::Rm | Rounding::Rp => self.infinity(negative),
        }
    }

    /// Encodes a decoded value of any format.
    #[inline]
    pub fn pack(self, value: Unpacked, rounding: Rounding) -> u64 {
        match value {
            Unpacked::Nan => self.nan,
            Unpacked::Infinity(negative) => self.infinity(negative),
            Unpacked::Zero(negative) => self.zero(negative),
            Unpacked::Finite(exact) => self.round_pack(exact, rounding),
        }
    }

    /// Rounds a host f64 to this format.
    #[inline]
    pub fn from_f64(self, value: f64, rounding: Rounding) -> u64 {
        if rounding == Rounding::Rn && value.is_finite() {
            // Host conversions for the formats that matter for speed; the tests compare them with the general way.
            match self {
                F32 => return (value as f32).to_bits().into(),
                F16 => return half::f16_from_f32(to_odd_f32(value)).into(),
                BF16 => return half::bf16_from_f32(to_odd_f32(value)).into(),
                _ => {}
            }
        }
        self.pack(F64.unpack(value.to_bits()), rounding)
    }

    /// The value as a host f64: exact for every format here. A NaN becomes some NaN.
    #[inline]
    pub fn to_f64(self, bits: u64) -> f64 {
        match self {
            F64 => f64::from_bits(bits),
            F32 => f32::from_bits(bits as u32).into(),
            F16 => f32::from_bits(half::f32_from_f16(bits as u16)).into(),
            BF16 => f32::from_bits(half::f32_from_bf16(bits as u16)).into(),
            _ => f64::from_bits(F64.pack(self.unpack(bits), Rounding::Rn)),
        }
    }
}

/// Rounds a finite f64 to an f32, as bits, to odd: of the two neighbors of an inexact value the one whose last bit is
/// set. Rounding that to 22 or fewer bits gives what rounding `value` would.
#[inline]
fn to_odd_f32(value: f64) -> u32 {
    let nearest = value as f32;
    let bits = nearest.to_bits();
    let back = f64::from(nearest);
    if back == value || bits & 1 == 1 {
        bits
    } else if (back < value) == (value > 0.0) {
        bits + 1
    } else {
        // Also the way back from an infinity to the largest number.
        bits - 1
    }
}

impl Exact {
    /// Moves the leading bit to bit 126.
    fn normalized(self) -> Self {
        let shift = self.mant.leading_zeros() as i32 - 1;
        if shift < 0 {
            return self;
        }
        Self { exp: self.exp - shift, mant: self.mant << shift, ..self }
    }

    fn times(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            exp: self.exp + other.exp,
            mant: self.mant * other.mant,
            sticky: false,
        }
    }
}

/// The zero that an exact cancellation leaves: negative only when rounding down.
fn cancelled(rounding: Rounding) -> Unpacked {
    Unpacked::Zero(rounding == Rounding::Rm)
}

fn sum(a: Unpacked, b: Unpacked, rounding: Rounding) -> Unpacked {
    match (a, b) {
        (Unpacked::Nan, _) | (_, Unpacked::Nan) => Unpacked::Nan,
        (Unpacked::Infinity(x), Unpacked::Infinity(y)) if x != y => Unpacked::Nan,
        (Unpacked::Infinity(x), _) | (_, Unpacked::Infinity(x)) => Unpacked::Infinity(x),
        (Unpacked::Zero(x), Unpacked::Zero(y)) if x == y => Unpacked::Zero(x),
        (Unpacked::Zero(_), Unpacked::Zero(_)) => cancelled(rounding),
        (Unpacked::Zero(_), other) | (other, Unpacked::Zero(_)) => other,
        (Unpacked::Finite(a), Unpacked::Finite(b)) => {
            let (a, b) = (a.normalized(), b.normalized());
            let (big, small) = if (a.exp, a.mant) >= (b.exp, b.mant) { (a, b) } else { (b, a) };
            let shift = big.exp - small.exp;
            let (aligned, sticky) = if shift > 126 {
                (0, true)
            } else {
                (small.mant >> shift, small.mant & ((1 << shift) - 1) != 0)
            };
            let mant = if big.negative == small.negative {
                big.mant + aligned
            } else {
                // With dropped bits the true difference lies just below `big - aligned`.
                big.mant - aligned - u128::from(sticky)
            };
            if mant == 0 { cancelled(rounding) } else { Unpacked::Finite(Exact { mant, sticky, ..big }) }
        }
    }
}

fn product(a: Unpacked, b: Unpacked) -> Unpacked {
    match (a, b) {
        (Unpacked::Nan, _) | (_, Unpacked::Nan) => Unpacked::Nan,
        (Unpacked::Infinity(_), Unpacked::Zero(_)) | (Unpacked::Zero(_), Unpacked::Infinity(_)) => {
            Unpacked::Nan
        }
        _ => {
            let negative = sign(a) != sign(b);
            match (a, b) {
                (Unpacked::Infinity(_), _) | (_, Unpacked::Infinity(_)) => Unpacked::Infinity(negative),
                (Unpacked::Finite(a), Unpacked::Finite(b)) => Unpacked::Finite(a.times(b)),
                _ => Unpacked::Zero(negative),
            }
        }
    }
}

fn sign(value: Unpacked) -> bool {
    match value {
        Unpacked::Nan => false,
        Unpacked::Infinity(negative) | Unpacked::Zero(negative) => negative,
        Unpacked::Finite(exact) => exact.negative,
    }
}

/// `a + b`, rounded once.
pub fn add(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    format.pack(sum(format.unpack(a), format.unpack(b), rounding), rounding)
}

/// `a · b`, rounded once.
pub fn mul(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    format.pack(product(format.unpack(a), format.unpack(b)), rounding)
}

/// `a · b + c`, rounded once.
pub fn fma(format: Format, a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    let product = product(format.unpack(a), format.unpack(b));
    format.pack(sum(product, format.unpack(c), rounding), rounding)
}

/// `a / b`, rounded once.
pub fn div(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    let (a, b) = (format.unpack(a), format.unpack(b));
    let negative = sign(a) != sign(b);
    let quotient = match (a, b) {
        (Unpacked::Nan, _) | (_, Unpacked::Nan) => Unpacked::Nan,
        (Unpacked::Infinity(_), Unpacked::Infinity(_)) | (Unpacked::Zero(_), Unpacked::Zero(_)) => {
            Unpacked::Nan
        }
        (Unpacked::Infinity(_), _) | (_, Unpacked::Zero(_)) => Unpacked::Infinity(negative),
        (Unpacked::Zero(_), _) | (_, Unpacked::Infinity(_)) => Unpacked::Zero(negative),
        (Unpacked::Finite(a), Unpacked::Finite(b)) => {
            // The dividend has 127 bits and the divisor at most 53, so the quotient has at least 74.
            let a = a.normalized();
            Unpacked::Finite(Exact {
                negative,
                exp: a.exp - b.exp,
                mant: a.mant / b.mant,
                sticky: a.mant % b.mant != 0,
            })
        }
    };
    format.pack(quotient, rounding)
}

/// `√a`, rounded once. `√-0` is `-0`; any other negative operand gives NaN.
pub fn sqrt(format: Format, a: u64, rounding: Rounding) -> u64 {
    let root = match format.unpack(a) {
        Unpacked::Finite(a) if !a.negative => {
            let mut a = a.normalized();
            if a.exp % 2 != 0 {
                a.mant >>= 1;
                a.exp += 1;
            }
            let mant = a.mant.isqrt();
            let sticky = mant * mant != a.mant;
            Unpacked::Finite(Exact { negative: false, exp: a.exp / 2, mant, sticky })
        }
        Unpacked::Finite(_) | Unpacked::Infinity(true) | Unpacked::Nan => Unpacked::Nan,
        same @ (Unpacked::Zero(_) | Unpacked::Infinity(false)) => same,
    };
    format.pack(root, rounding)
}
