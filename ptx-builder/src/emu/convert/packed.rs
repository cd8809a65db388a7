//! Packed conversions: two values in one instruction.
//!
//! A packed register holds its upper element in the high bits. The forms with two operands put `a` there and `b` below.

use super::{Convert, float_to_float};
use crate::emu::float::{BF16, F16, F32, Format, join16, packed16, split16};

/// `cvt.{rn,rz}{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a, b`: `a` goes to the upper half. `format` is f16 or bf16.
pub fn half2_from_f32(format: Format, a: u32, b: u32, m: Convert) -> u32 {
    let convert = |bits: u32| float_to_float(F32, format, bits.into(), m) as u16;
    join16(convert(b), convert(a))
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.f32 d, a, b`: `a` goes to the upper byte.
pub fn f8x2_from_f32(format: Format, a: u32, b: u32, relu: bool) -> u16 {
    let m = Convert { relu, satfinite: true, ..Convert::RN };
    let convert = |bits: u32| float_to_float(F32, format, bits.into(), m) as u8;
    u16::from_le_bytes([convert(b), convert(a)])
}

/// `cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.{f16x2,bf16x2} d, a`: halves become bytes, in place. `half` is f16 or bf16.
pub fn f8x2_from_half2(half: Format, format: Format, a: u32, relu: bool) -> u16 {
    let m = Convert { relu, satfinite: true, ..Convert::RN };
    let convert = |bits: u16| float_to_float(half, format, bits.into(), m) as u8;
    let (low, high) = split16(a);
    u16::from_le_bytes([convert(low), convert(high)])
}

/// `cvt.rn{.relu}.f16x2.{e4m3x2,e5m2x2} d, a`: bytes become halves, in place and exactly.
pub fn f16x2_from_f8x2(format: Format, a: u16, relu: bool) -> u32 {
    widen(format, F16, a, relu)
}

/// `cvt.rn{.relu}.bf16x2.{e4m3x2,e5m2x2} d, a`: bytes become halves, in place and exactly.
pub fn bf16x2_from_f8x2(format: Format, a: u16, relu: bool) -> u32 {
    widen(format, BF16, a, relu)
}

fn widen(format: Format, half: Format, a: u16, relu: bool) -> u32 {
    let m = Convert { relu, ..Convert::RN };
    let [low, high] = a.to_le_bytes();
    packed16([join16(low.into(), high.into())], |[bits]| float_to_float(format, half, bits.into(), m) as u16)
}
