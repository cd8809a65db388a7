//! Conversions.
//!
//! The types of a conversion are part of its context, so that one function serves every pair that has no fast path.

use super::{context, conversion, rounding};
use crate::emu::convert::{
    self, IntType, bf16_from_f32, f16_from_f32, f32_from_bf16, f32_from_f16, float_to_float, float_to_int,
    int_to_float, int_to_int, round_to_integral,
};
use crate::emu::float::{BF16, E4M3, E5M2, F16, F32, F64, Format, TF32, join16};
use crate::emu::lane::{Class, WarpFn, lanes};
use crate::isa::mods::{IRnd, Mods, Relu};
use crate::types::Ty;

/// Bits of the context that hold the types, above those of the other modifiers.
const TO: u32 = 16;
const FROM: u32 = 23;
const INTEGRAL: u32 = 1 << 30;

fn integer(ty: Ty) -> Option<IntType> {
    Some(match ty {
        Ty::U8 => IntType::U8,
        Ty::U16 => IntType::U16,
        Ty::U32 => IntType::U32,
        Ty::U64 => IntType::U64,
        Ty::S8 => IntType::S8,
        Ty::S16 => IntType::S16,
        Ty::S32 => IntType::S32,
        Ty::S64 => IntType::S64,
        _ => return None,
    })
}

fn format(ty: Ty) -> Option<Format> {
    Some(match ty {
        Ty::F16 => F16,
        Ty::Bf16 => BF16,
        Ty::F32 => F32,
        Ty::F64 => F64,
        Ty::Tf32 => TF32,
        _ => return None,
    })
}

/// A number of one type.
#[derive(Clone, Copy)]
enum Number {
    Int(IntType),
    Float(Format),
}

fn number(ty: Ty) -> Option<Number> {
    integer(ty).map(Number::Int).or(format(ty).map(Number::Float))
}

/// The types that a context names.
#[inline]
fn types(context: u32) -> Option<(Number, Number)> {
    let ty = |shift: u32| Ty::ALL.get((context >> shift & 0x7f) as usize).copied().and_then(number);
    Some((ty(TO)?, ty(FROM)?))
}

fn convert(bits: u64, context: u32) -> u64 {
    let m = conversion(context);
    match types(context) {
        Some((Number::Int(to), Number::Int(from))) => in_register(to, int_to_int(from, to, bits, m.sat)),
        Some((Number::Int(to), Number::Float(from))) => {
            in_register(to, float_to_int(from, to, bits, rounding(context), m.ftz))
        }
        Some((Number::Float(to), Number::Int(from))) => int_to_float(from, to, bits, m),
        Some((Number::Float(to), Number::Float(_))) if context & INTEGRAL != 0 => {
            round_to_integral(to, bits, m)
        }
        Some((Number::Float(to), Number::Float(from))) => float_to_float(from, to, bits, m),
        None => 0,
    }
}

/// An integer as its register holds it: 8 bits are extended to 16.
fn in_register(ty: IntType, bits: u64) -> u64 {
    if ty == IntType::S8 { u64::from(bits as i8 as u16) } else { bits }
}

/// `cvt` between two numbers.
pub fn cvt(mods: &Mods) -> Option<WarpFn> {
    let (to, from) = (mods.t()?, mods.s()?);
    number(to).and(number(from))?;
    let integral = if IRnd::of(mods).is_some() && to == from && to.is_float() { INTEGRAL } else { 0 };
    let modifiers = context(mods);
    if modifiers == 0 && integral == 0 && IRnd::of(mods).is_none() {
        match (to, from) {
            (Ty::F32, Ty::F16) => return Some(lanes!(|a: u16| -> u32 { f32_from_f16(a) })),
            (Ty::F32, Ty::Bf16) => return Some(lanes!(|a: u16| -> u32 { f32_from_bf16(a) })),
            (Ty::F16, Ty::F32) => return Some(lanes!(|a: u32| -> u16 { f16_from_f32(a) })),
            (Ty::Bf16, Ty::F32) => return Some(lanes!(|a: u32| -> u16 { bf16_from_f32(a) })),
            (Ty::U64 | Ty::S64, Ty::U32) => return Some(lanes!(|a: u32| -> u64 { u64::from(a) })),
            (Ty::U64 | Ty::S64, Ty::S32) => return Some(lanes!(|a: i32| -> i64 { i64::from(a) })),
            (Ty::U32 | Ty::S32, Ty::U64 | Ty::S64) => return Some(lanes!(|a: u64| -> u32 { a as u32 })),
            (Ty::F32, Ty::U32) => return Some(lanes!(|a: u32| -> f32 { a as f32 })),
            (Ty::F32, Ty::S32) => return Some(lanes!(|a: i32| -> f32 { a as f32 })),
            _ => {}
        }
    }
    let function = match (Class::of(to)?, Class::of(from)?) {
        (Class::W32, Class::W32) => {
            lanes!(with file, at; |a: u32| -> u32 { convert(a.into(), at.context) as u32 })
        }
        (Class::W32, Class::W64) => lanes!(with file, at; |a: u64| -> u32 { convert(a, at.context) as u32 }),
        (Class::W64, Class::W32) => lanes!(with file, at; |a: u32| -> u64 { convert(a.into(), at.context) }),
        (Class::W64, Class::W64) => lanes!(with file, at; |a: u64| -> u64 { convert(a, at.context) }),
        _ => return None,
    };
    Some(function.with(modifiers | integral | (to as u32) << TO | (from as u32) << FROM))
}

/// Packing conversions: of two operands the first becomes the upper half; of one packed operand both halves stay where
/// they are.
pub fn cvt_pack(mods: &Mods) -> Option<WarpFn> {
    let context = context(mods);
    let relu = Relu::of(mods).is_some();
    Some(
        match (mods.t()?, mods.s()?) {
            (Ty::F16x2, Ty::F32) if context == 0 => {
                lanes!(|a: u32, b: u32| -> u32 { join16(f16_from_f32(b), f16_from_f32(a)) })
            }
            (Ty::Bf16x2, Ty::F32) if context == 0 => {
                lanes!(|a: u32, b: u32| -> u32 { join16(bf16_from_f32(b), bf16_from_f32(a)) })
            }
            (Ty::F16x2, Ty::F32) => lanes!(with file, at; |a: u32, b: u32| -> u32 {
                convert::half2_from_f32(F16, a, b, conversion(at.context))
            }),
            (Ty::Bf16x2, Ty::F32) => lanes!(with file, at; |a: u32, b: u32| -> u32 {
                convert::half2_from_f32(BF16, a, b, conversion(at.context))
            }),
            (Ty::E4m3x2, Ty::F32) => lanes!(with file, at; |a: u32, b: u32| -> u16 {
                convert::f8x2_from_f32(E4M3, a, b, conversion(at.context).relu)
            }),
            (Ty::E5m2x2, Ty::F32) => lanes!(with file, at; |a: u32, b: u32| -> u16 {
                convert::f8x2_from_f32(E5M2, a, b, conversion(at.context).relu)
            }),
            (Ty::E4m3x2, Ty::F16x2) => lanes!(with file, at; |a: u32| -> u16 {
                convert::f8x2_from_half2(F16, E4M3, a, conversion(at.context).relu)
            }),
            (Ty::E5m2x2, Ty::F16x2) => lanes!(with file, at; |a: u32| -> u16 {
                convert::f8x2_from_half2(F16, E5M2, a, conversion(at.context).relu)
            }),
            (Ty::E4m3x2, Ty::Bf16x2) => lanes!(with file, at; |a: u32| -> u16 {
                convert::f8x2_from_half2(BF16, E4M3, a, conversion(at.context).relu)
            }),
            (Ty::E5m2x2, Ty::Bf16x2) => lanes!(with file, at; |a: u32| -> u16 {
                convert::f8x2_from_half2(BF16, E5M2, a, conversion(at.context).relu)
            }),
            (Ty::F16x2, Ty::E4m3x2) if relu => {
                lanes!(|a: u16| -> u32 { convert::f16x2_from_f8x2(E4M3, a, true) })
            }
            (Ty::F16x2, Ty::E4m3x2) => lanes!(|a: u16| -> u32 { convert::f16x2_from_f8x2(E4M3, a, false) }),
            (Ty::F16x2, Ty::E5m2x2) if relu => {
                lanes!(|a: u16| -> u32 { convert::f16x2_from_f8x2(E5M2, a, true) })
            }
            (Ty::F16x2, Ty::E5m2x2) => lanes!(|a: u16| -> u32 { convert::f16x2_from_f8x2(E5M2, a, false) }),
            (Ty::Bf16x2, Ty::E4m3x2) => lanes!(with file, at; |a: u16| -> u32 {
                convert::bf16x2_from_f8x2(E4M3, a, conversion(at.context).relu)
            }),
            (Ty::Bf16x2, Ty::E5m2x2) => lanes!(with file, at; |a: u16| -> u32 {
                convert::bf16x2_from_f8x2(E5M2, a, conversion(at.context).relu)
            }),
            _ => return None,
        }
        .with(context),
    )
}

/// `cvt.pack`: two integers clamped to 16 bits, or to 8 below the low half of a third.
pub fn cvt_pack_int(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U16 => Some(lanes!(|a: u32, b: u32| -> u32 { convert::pack_saturated(16, false, a, b, 0) })),
        Ty::S16 => Some(lanes!(|a: u32, b: u32| -> u32 { convert::pack_saturated(16, true, a, b, 0) })),
        Ty::U8 => {
            Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { convert::pack_saturated(8, false, a, b, c) }))
        }
        Ty::S8 => Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { convert::pack_saturated(8, true, a, b, c) })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Mod;
    use crate::isa::mods::{Rnd, Sat};

    fn one(mods: &[Mod], bits: u64) -> u64 {
        cvt(&Mods::new(mods)).and_then(|function| function.scalar(&[bits])).expect("a row")
    }

    #[test]
    fn fast_paths_equal_the_general_one() {
        let pairs = [
            (Ty::F32, Ty::F16),
            (Ty::F32, Ty::Bf16),
            (Ty::F16, Ty::F32),
            (Ty::Bf16, Ty::F32),
            (Ty::U64, Ty::U32),
            (Ty::S64, Ty::S32),
            (Ty::U32, Ty::U64),
            (Ty::F32, Ty::U32),
            (Ty::F32, Ty::S32),
        ];
        for (to, from) in pairs {
            let general = context(&Mods::NONE) | (to as u32) << TO | (from as u32) << FROM;
            let mut bits = 1u64;
            for _ in 0..2000 {
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let operand = bits >> (64 - from.bits());
                let fast = one(&[Mod::t(to), Mod::s(from), Rnd::Rn.get()], operand);
                assert_eq!(fast, convert(operand, general), "{to} from {from}: {operand:#x}");
            }
        }
    }

    #[test]
    fn integers_extend_truncate_and_saturate() {
        assert_eq!(one(&[Mod::t(Ty::S32), Mod::s(Ty::S8)], 0xff), 0xffff_ffff);
        assert_eq!(one(&[Mod::t(Ty::S8), Mod::s(Ty::S32)], 0xffff_ff80), 0xff80);
        assert_eq!(one(&[Mod::t(Ty::U8), Mod::s(Ty::S32), Sat::Sat.get()], 0xffff_ffff), 0);
        assert_eq!(
            one(&[Mod::t(Ty::S32), Mod::s(Ty::F32), IRnd::Rmi.get()], (-0.5f32).to_bits().into()),
            0xffff_ffff
        );
        assert_eq!(
            one(&[Mod::t(Ty::F32), Mod::s(Ty::F32), IRnd::Rni.get()], 2.5f32.to_bits().into()),
            2f32.to_bits().into()
        );
    }

    #[test]
    fn the_first_operand_becomes_the_upper_half() {
        let mods = Mods::new(&[Mod::t(Ty::Bf16x2), Mod::s(Ty::F32), Rnd::Rn.get()]);
        let packed = cvt_pack(&mods).and_then(|f| f.scalar(&[1f32.to_bits().into(), 2f32.to_bits().into()]));
        assert_eq!(packed, Some(0x3f80_4000));
    }
}
