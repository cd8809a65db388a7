//! Numbers in the storage dtypes: one rounding in, exact widening out, and how far apart two of them may be.

use half::{bf16, f16};
use ptxsmith_builder::types::Dtype;

/// Whether the gate can store and load a dtype.
pub(super) fn is_known(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::F64)
}

/// Rounds to a [known](is_known) dtype, once, to nearest even.
pub(super) fn encode(dtype: Dtype, values: &[f64]) -> Vec<u8> {
    match dtype {
        Dtype::F32 => values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
        Dtype::F16 => values.iter().flat_map(|&value| f16::from_f64(value).to_le_bytes()).collect(),
        Dtype::Bf16 => values.iter().flat_map(|&value| bf16::from_f64(value).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}

/// Widens elements of a [known](is_known) dtype to f64, exactly.
pub(super) fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    let (quads, _) = bytes.as_chunks::<4>();
    let (pairs, _) = bytes.as_chunks::<2>();
    match dtype {
        Dtype::F32 => quads.iter().map(|&bytes| f32::from_le_bytes(bytes).into()).collect(),
        Dtype::F16 => pairs.iter().map(|&bytes| f16::from_le_bytes(bytes).into()).collect(),
        Dtype::Bf16 => pairs.iter().map(|&bytes| bf16::from_le_bytes(bytes).into()).collect(),
        _ => bytes.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect(),
    }
}

/// 2 to a power from -1022 to 1023.
pub(super) const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Relative error of one rounding to nearest, and half the smallest number above zero (in f64 the smallest normal one).
fn rounding(dtype: Dtype) -> (f64, f64) {
    let (digits, least) = match dtype {
        Dtype::F16 => (11, -24),
        Dtype::Bf16 => (8, -133),
        Dtype::F64 => (53, -1022),
        _ => (24, -149),
    };
    (power_of_two(-digits), power_of_two(least) / 2.0)
}

/// How far a result may be from an expected value: one rounding to the dtype, and `slack` for the arithmetic before it,
/// relative to `scale`, the largest expected magnitude of the row (what cancels in a sum was as large as that).
pub(super) fn limit(dtype: Dtype, expected: f64, scale: f64, slack: f64) -> f64 {
    let (relative, absolute) = rounding(dtype);
    relative * expected.abs() * (1.0 + slack) + absolute + slack * scale
}

/// A value in [-1, 1), exact in f32, from a seed and an index: the splitmix64 generator of Steele, Lea and Flood.
pub(super) fn uniform(seed: u64, index: u64) -> f64 {
    let mut z = seed.wrapping_add((index.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 40) as f64 / f64::from(1 << 23) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_rounded_once_and_comes_back() {
        for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::F64] {
            assert!(is_known(dtype));
            for index in 0..1000 {
                let value = uniform(1, index);
                let back = decode(dtype, &encode(dtype, &[value]))[0];
                assert!((back - value).abs() <= limit(dtype, value, 0.0, 0.0), "{dtype} {value}");
                assert_eq!(decode(dtype, &encode(dtype, &[back])), [back]);
            }
        }
        assert!(!is_known(Dtype::I32));
    }

    #[test]
    fn limits_are_half_a_unit_in_the_last_place() {
        assert_eq!(limit(Dtype::Bf16, 1.0, 0.0, 0.0), power_of_two(-8) + power_of_two(-134));
        // Halfway between two numbers is allowed, more is not.
        assert!(limit(Dtype::F16, 1.0, 1.0, 0.0) < power_of_two(-10));
        assert!(limit(Dtype::F32, 0.0, 100.0, 1e-6) > 0.99e-4);
    }

    #[test]
    fn the_generator_gives_the_published_values() {
        assert_eq!(uniform(7, 0), -0.220_340_609_550_476_07);
        assert_eq!(uniform(7, 1000), 0.618_028_283_119_201_7);
    }
}
