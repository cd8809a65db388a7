//! The hot f32 and f64 operations on all 32 lanes of a warp, in `.rn`.
//!
//! Results are those of the scalar functions in [`super`], lane by lane; only the speed differs. Lanes that are not
//! active are computed as well: the caller keeps or drops them. Arrays hold raw bits, one element per lane.

use super::{F32, nan_f64};
use crate::emu::dispatch;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// One 32-bit register of a warp.
pub type Lanes32 = [u32; LANES];
/// One 64-bit register of a warp.
pub type Lanes64 = [u64; LANES];

const MAGNITUDE: u32 = 0x7fff_ffff;
const MIN_NORMAL: u32 = 0x0080_0000;

/// A float with a magnitude below the normal range becomes a zero of its sign; written without branches.
#[inline(always)]
fn flush(bits: u32) -> u32 {
    if bits & MAGNITUDE < MIN_NORMAL { bits & !MAGNITUDE } else { bits }
}

#[inline(always)]
pub(crate) fn input<const FTZ: bool>(bits: u32) -> f32 {
    f32::from_bits(if FTZ { flush(bits) } else { bits })
}

#[inline(always)]
pub(crate) fn output<const FTZ: bool>(value: f32) -> u32 {
    let bits = if value.is_nan() { F32.nan() as u32 } else { value.to_bits() };
    if FTZ { flush(bits) } else { bits }
}

#[inline(always)]
fn binary<const FTZ: bool>(d: &mut Lanes32, a: &Lanes32, b: &Lanes32, op: impl Fn(f32, f32) -> f32) {
    for ((d, &a), &b) in d.iter_mut().zip(a).zip(b) {
        *d = output::<FTZ>(op(input::<FTZ>(a), input::<FTZ>(b)));
    }
}

macro_rules! binary_f32 {
    ($name:ident, $doc:literal, $op:expr) => {
        #[doc = $doc]
        pub fn $name(d: &mut Lanes32, a: &Lanes32, b: &Lanes32, ftz: bool) {
            if ftz { binary::<true>(d, a, b, $op) } else { binary::<false>(d, a, b, $op) }
        }
    };
}

binary_f32!(add_f32, "`add.rn{.ftz}.f32`.", |a, b| a + b);
binary_f32!(sub_f32, "`sub.rn{.ftz}.f32`.", |a, b| a - b);
binary_f32!(mul_f32, "`mul.rn{.ftz}.f32`.", |a, b| a * b);

/// `fma.rn{.ftz}.f32`: `d = a · b + c`.
pub fn fma_f32(d: &mut Lanes32, a: &Lanes32, b: &Lanes32, c: &Lanes32, ftz: bool) {
    if ftz { dispatch::fma_f32::<true>(d, a, b, c) } else { dispatch::fma_f32::<false>(d, a, b, c) }
}

/// `fma.rn.f64`: `d = a · b + c`.
pub fn fma_f64(d: &mut Lanes64, a: &Lanes64, b: &Lanes64, c: &Lanes64) {
    dispatch::fma_f64(d, a, b, c);
    // Payload rules are too rare and too branchy for the vector loop.
    for (lane, d) in d.iter_mut().enumerate() {
        if f64::from_bits(*d).is_nan() {
            *d = nan_f64(&[a[lane], b[lane], c[lane]]);
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "powers of two, which are exact")]
mod tests {
    use super::*;
    use crate::emu::float::{self, Arith, Rounding, tests::Operands};

    #[test]
    fn lanes_equal_scalars() {
        let mut source = Operands::new(7);
        for _ in 0..5_000 {
            let [a, b, c] = [(); 3].map(|()| std::array::from_fn(|_| source.f32()));
            let mut d = [0; LANES];
            for ftz in [false, true] {
                let m = Arith { ftz, ..Arith::RN };
                add_f32(&mut d, &a, &b, ftz);
                assert_eq!(d, std::array::from_fn(|i| float::add_f32(a[i], b[i], m)));
                sub_f32(&mut d, &a, &b, ftz);
                assert_eq!(d, std::array::from_fn(|i| float::sub_f32(a[i], b[i], m)));
                mul_f32(&mut d, &a, &b, ftz);
                assert_eq!(d, std::array::from_fn(|i| float::mul_f32(a[i], b[i], m)));
                fma_f32(&mut d, &a, &b, &c, ftz);
                assert_eq!(d, std::array::from_fn(|i| float::fma_f32(a[i], b[i], c[i], m)));
            }
            let [a, b, c] = [(); 3].map(|()| std::array::from_fn(|_| source.f64()));
            let mut d = [0; LANES];
            fma_f64(&mut d, &a, &b, &c);
            assert_eq!(d, std::array::from_fn(|i| float::fma_f64(a[i], b[i], c[i], Rounding::Rn)));
        }
    }

    /// `fma` without a hardware instruction is the host's `mul_add`, the same function the scalar path uses.
    #[test]
    fn fused_not_separate() {
        // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 when fused and 0 when the product is rounded first.
        let a = [(1.0f32 + 2f32.powi(-12)).to_bits(); LANES];
        let c = [(-(1.0f32 + 2f32.powi(-11))).to_bits(); LANES];
        let mut d = [0; LANES];
        fma_f32(&mut d, &a, &a, &c, false);
        assert_eq!(d, [2f32.powi(-24).to_bits(); LANES]);
    }
}
