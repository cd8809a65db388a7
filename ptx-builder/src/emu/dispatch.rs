//! Picks the processor's fused multiply-add at run time; the one place in this crate with `unsafe` code.
//!
//! On x86-64 the portable build has no FMA instruction, so `f32::mul_add` would call a software routine for every
//! lane. Where AVX2 and FMA are present a copy of the same loop compiled for them runs instead. Both give the same
//! bits: a fused multiply-add has one correct result. Other architectures take the portable loop, which is an
//! instruction wherever their baseline has one.
//!
//! The standard library caches the detection in an atomic, so asking per warp costs a load and a branch.

#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "calling a function compiled for detected CPU features needs an unsafe block"
    )
)]

use super::float::warp::{Lanes32, Lanes64, input, output};

#[inline(always)]
fn fma_f32_lanes<const FTZ: bool>(d: &mut Lanes32, a: &Lanes32, b: &Lanes32, c: &Lanes32) {
    for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
        *d = output::<FTZ>(input::<FTZ>(a).mul_add(input::<FTZ>(b), input::<FTZ>(c)));
    }
}

#[inline(always)]
fn fma_f64_lanes(d: &mut Lanes64, a: &Lanes64, b: &Lanes64, c: &Lanes64) {
    for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
        *d = f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Lanes32, Lanes64, fma_f32_lanes, fma_f64_lanes};

    pub(super) fn available() -> bool {
        std::is_x86_feature_detected!("fma") && std::is_x86_feature_detected!("avx2")
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn fma_f32<const FTZ: bool>(d: &mut Lanes32, a: &Lanes32, b: &Lanes32, c: &Lanes32) {
        fma_f32_lanes::<FTZ>(d, a, b, c);
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn fma_f64(d: &mut Lanes64, a: &Lanes64, b: &Lanes64, c: &Lanes64) {
        fma_f64_lanes(d, a, b, c);
    }
}

/// `d = a · b + c` in `.rn` for 32 lanes of f32, NaN canonical, with `.ftz` if `FTZ`.
pub(crate) fn fma_f32<const FTZ: bool>(d: &mut Lanes32, a: &Lanes32, b: &Lanes32, c: &Lanes32) {
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        // SAFETY: `available` has just found both features the callee is compiled for on this processor.
        unsafe { x86::fma_f32::<FTZ>(d, a, b, c) };
        return;
    }
    fma_f32_lanes::<FTZ>(d, a, b, c);
}

/// `d = a · b + c` in `.rn` for 32 lanes of f64. A NaN result has an unspecified payload.
pub(crate) fn fma_f64(d: &mut Lanes64, a: &Lanes64, b: &Lanes64, c: &Lanes64) {
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        // SAFETY: `available` has just found both features the callee is compiled for on this processor.
        unsafe { x86::fma_f64(d, a, b, c) };
        return;
    }
    fma_f64_lanes(d, a, b, c);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emu::float::tests::Operands;

    /// The selected loop and the portable one agree (they are the same one on a processor without FMA).
    #[test]
    fn selected_loop_equals_portable_loop() {
        let mut source = Operands::new(3);
        for _ in 0..2_000 {
            let [a, b, c] = [(); 3].map(|()| std::array::from_fn(|_| source.f32()));
            let (mut fast, mut slow) = ([0; 32], [0; 32]);
            fma_f32::<false>(&mut fast, &a, &b, &c);
            fma_f32_lanes::<false>(&mut slow, &a, &b, &c);
            assert_eq!(fast, slow);
            fma_f32::<true>(&mut fast, &a, &b, &c);
            fma_f32_lanes::<true>(&mut slow, &a, &b, &c);
            assert_eq!(fast, slow);
            let [a, b, c] = [(); 3].map(|()| std::array::from_fn(|_| source.f64()));
            let (mut fast, mut slow) = ([0; 32], [0; 32]);
            fma_f64(&mut fast, &a, &b, &c);
            fma_f64_lanes(&mut slow, &a, &b, &c);
            let bits = |lanes: Lanes64| lanes.map(|x| if f64::from_bits(x).is_nan() { 1 } else { x });
            assert_eq!(bits(fast), bits(slow));
        }
    }
}
