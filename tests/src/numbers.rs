//! Numbers in the storage dtypes: one rounding in, exact widening out; tolerances; seeded values.

use half::{bf16, f16};
use ptxsmith_builder::types::Dtype;

/// Rounds to a dtype, once, to nearest even, and stores the elements one after the other.
pub fn encode(dtype: Dtype, values: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * dtype.bytes() as usize);
    for value in values {
        match dtype {
            Dtype::F32 => bytes.extend((*value as f32).to_le_bytes()),
            Dtype::F16 => bytes.extend(f16::from_f64(*value).to_le_bytes()),
            Dtype::Bf16 => bytes.extend(bf16::from_f64(*value).to_le_bytes()),
            Dtype::F64 => bytes.extend(value.to_le_bytes()),
            other => panic!("no test stores {other}"),
        }
    }
    bytes
}

/// Widens elements to f64, exactly.
pub fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    match dtype {
        Dtype::F32 => {
            bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect()
        }
        Dtype::F16 => bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f64()).collect(),
        Dtype::Bf16 => bytes.chunks_exact(2).map(|b| bf16::from_le_bytes([b[0], b[1]]).to_f64()).collect(),
        Dtype::F64 => {
            bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect()
        }
        other => panic!("no test loads {other}"),
    }
}

/// Values as they are after one rounding to a dtype.
pub fn rounded(dtype: Dtype, values: &[f64]) -> Vec<f64> {
    decode(dtype, &encode(dtype, values))
}

/// Default absolute and relative tolerance of a dtype against an unrounded reference.
pub fn tolerance(dtype: Dtype) -> (f64, f64) {
    match dtype {
        Dtype::F32 => (1e-5, 1.3e-6),
        Dtype::F16 => (1e-5, 1e-3),
        Dtype::Bf16 => (1e-5, 1.6e-2),
        _ => (0.0, 0.0),
    }
}

/// Half a unit in the last place of `value` rounded to `dtype`; what one correct rounding may cost.
pub fn half_ulp(dtype: Dtype, value: f64) -> f64 {
    let (digits, least) = match dtype {
        Dtype::F32 => (24, -149),
        Dtype::F16 => (11, -24),
        Dtype::Bf16 => (8, -133),
        _ => return 0.0,
    };
    let exponent = if value == 0.0 { least } else { exponent(value) - (digits - 1) };
    0.5 * 2f64.powi_exact(exponent.max(least))
}

fn exponent(value: f64) -> i32 {
    ((value.to_bits() >> 52 & 0x7ff) as i32) - 1023
}

trait PowerOfTwo {
    fn powi_exact(self, exponent: i32) -> f64;
}

impl PowerOfTwo for f64 {
    fn powi_exact(self, exponent: i32) -> f64 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    }
}

/// The first element that differs by more than `limit(expected)`.
pub fn first_difference(got: &[f64], expected: &[f64], limit: impl Fn(f64) -> f64) -> Option<String> {
    assert_eq!(got.len(), expected.len(), "as many results as expected values");
    got.iter().zip(expected).enumerate().find_map(|(i, (got, expected))| {
        let same = got == expected || (got.is_nan() && expected.is_nan());
        let within = (got - expected).abs() <= limit(*expected);
        (!same && !within)
            .then(|| format!("element {i} is {got:e}, expected {expected:e} within {:e}", limit(*expected)))
    })
}

/// A value in [-1, 1), exact in f32, from a seed and an index: the splitmix64 generator of Steele, Lea and Flood.
pub fn uniform(seed: u64, index: u64) -> f64 {
    let mut z = seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 40) as f64 / f64::from(1 << 23) - 1.0
}

/// `len` values of [`uniform`].
pub fn uniforms(seed: u64, len: usize) -> Vec<f64> {
    (0..len as u64).map(|i| uniform(seed, i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_values() {
        assert_eq!(uniform(7, 0), -0.22034060955047607);
        assert_eq!(uniform(7, 1000), 0.6180282831192017);
        assert_eq!(uniform(41, 2), -0.784217119216919);
    }

    #[test]
    fn half_an_ulp_is_what_rounding_may_cost() {
        assert_eq!(half_ulp(Dtype::Bf16, 1.0), 2f64.powi_exact(-8));
        assert_eq!(half_ulp(Dtype::F16, 1.5), 2f64.powi_exact(-11));
        assert_eq!(half_ulp(Dtype::F16, 0.0), 2f64.powi_exact(-25));
    }

    #[test]
    fn a_difference_is_found() {
        assert!(first_difference(&[1.0, 2.0], &[1.0, 2.1], |_| 0.01).is_some());
        assert!(first_difference(&[f64::NAN], &[f64::NAN], |_| 0.0).is_none());
        assert!(first_difference(&[0.0], &[f64::NAN], |_| 1.0).is_some());
    }
}
