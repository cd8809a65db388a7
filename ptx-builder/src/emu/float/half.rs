//! Conversions between f32 and the 16-bit formats in a few integer operations: the storage path of most kernels.
//!
//! Raw bits in and out, subnormals included, ties to even. [`super::soft`] gives the same bits more slowly.

/// `cvt.f32.f16`: exact; NaN becomes `0x7fffffff`.
#[inline]
pub const fn f32_from_f16(bits: u16) -> u32 {
    let sign = (bits as u32 & 0x8000) << 16;
    let magnitude = bits as u32 & 0x7fff;
    if magnitude >= 0x7c00 {
        return if magnitude == 0x7c00 { sign | 0x7f80_0000 } else { 0x7fff_ffff };
    }
    if magnitude >= 0x0400 {
        return sign | ((magnitude << 13) + ((127 - 15) << 23));
    }
    // Subnormal: an integer multiple of 2^-24, exact in f32.
    sign | (magnitude as f32 * f32::from_bits((127 - 24) << 23)).to_bits()
}

/// `cvt.rn.f16.f32`, subnormal results included; NaN becomes `0x7fff`.
#[inline]
pub const fn f16_from_f32(bits: u32) -> u16 {
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return 0x7fff;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Below 2^-14: adding 1/2 puts the last f16 subnormal bit, 2^-24, at the last bit of the f32 sum.
        let sum = f32::from_bits(magnitude) + 0.5;
        return sign | (sum.to_bits() - 0x3f00_0000) as u16;
    }
    let rebased = magnitude - ((127 - 15) << 23);
    let rounded = rebased + 0x0fff + (rebased >> 13 & 1);
    sign | (rounded >> 13) as u16
}

/// `cvt.f32.bf16`: exact; a NaN keeps its bits.
#[inline]
pub const fn f32_from_bf16(bits: u16) -> u32 {
    (bits as u32) << 16
}

/// `cvt.rn.bf16.f32`, subnormal results included; NaN becomes `0x7fff`.
#[inline]
pub const fn bf16_from_f32(bits: u32) -> u16 {
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return 0x7fff;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}
