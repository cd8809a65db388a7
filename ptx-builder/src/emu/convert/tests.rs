//! Exhaustive over the small formats; elsewhere an independent choice of the nearest neighbor, and host conversions.

#![expect(clippy::disallowed_methods, reason = "powers that bound an error or are exact, not results")]

use super::*;
use crate::emu::float::tests::Operands;
use crate::emu::float::{E4M3, E5M2, TF32, join16};

const NEAREST: Convert = Convert::RN;

fn f32_bits(value: f64) -> u32 {
    (value as f32).to_bits()
}

/// The value of a small float from its textbook definition.
fn textbook(format: Format, exp_bits: i32, bits: u64) -> f64 {
    let frac_bits = format.frac_bits() as i32;
    let sign = if bits >> (exp_bits + frac_bits) & 1 == 1 { -1.0 } else { 1.0 };
    let exp = (bits >> frac_bits) as i32 & ((1 << exp_bits) - 1);
    let frac = (bits & ((1 << frac_bits) - 1)) as f64 / f64::from(1 << frac_bits);
    let bias = (1 << (exp_bits - 1)) - 1;
    let ieee = format != E4M3;
    if exp == (1 << exp_bits) - 1 && (ieee || frac == 0.875) {
        return if ieee && frac == 0.0 { sign * f64::INFINITY } else { f64::NAN };
    }
    if exp == 0 { sign * frac * 2f64.powi(1 - bias) } else { sign * (1.0 + frac) * 2f64.powi(exp - bias) }
}

#[test]
fn decoding_equals_the_definition_for_every_pattern() {
    for (format, exp_bits) in [(F16, 5), (BF16, 8), (E4M3, 4), (E5M2, 5)] {
        for bits in 0..1u64 << format.width() {
            let expected = textbook(format, exp_bits, bits);
            let got = format.to_f64(bits);
            assert!(
                got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                "{bits:04x}: {got} instead of {expected}"
            );
            // Back again, in every mode: exact values do not move.
            for mode in [Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp, Rounding::Rna] {
                let back = format.from_f64(got, mode);
                assert_eq!(back, if got.is_nan() { format.nan() } else { bits }, "{bits:04x} {mode:?}");
            }
        }
    }
}

/// The general way, which [`float_to_float`] and [`Format::from_f64`] leave for these formats.
fn general(from: Format, to: Format, bits: u64) -> u64 {
    to.pack(from.unpack(bits), Rounding::Rn)
}

#[test]
fn fast_paths_equal_the_general_path() {
    for bits in 0..=u16::MAX {
        assert_eq!(u64::from(f32_from_f16(bits)), general(F16, F32, bits.into()), "{bits:04x}");
        let expected = general(BF16, F32, bits.into());
        let got = u64::from(f32_from_bf16(bits));
        assert!(got == expected || F32.is_nan(got) && F32.is_nan(expected), "{bits:04x}");
    }
    let mut source = Operands::new(11);
    let random = std::iter::repeat_with(|| source.f32()).take(500_000);
    for bits in random.chain(borders(F16)).chain(borders(BF16)) {
        assert_eq!(u64::from(f16_from_f32(bits)), general(F32, F16, bits.into()), "{bits:08x}");
        assert_eq!(u64::from(bf16_from_f32(bits)), general(F32, BF16, bits.into()), "{bits:08x}");
    }
}

/// f64 values at and just beside the values and ties of the narrow formats, where rounding twice would show.
#[test]
fn f64_narrows_in_one_rounding() {
    let mut source = Operands::new(16);
    let near = borders(F16).chain(borders(BF16)).flat_map(|bits| {
        let value = f64::from(f32::from_bits(bits)).to_bits();
        [value, value.wrapping_add(1), value.wrapping_sub(1)]
    });
    let f32_ties = {
        let mut source = Operands::new(17);
        std::iter::repeat_with(move || f64::from(f32::from_bits(source.f32())).to_bits())
            .map(|bits| bits + (1 << 28))
            .flat_map(|tie| [tie, tie + 1, tie - 1])
            .take(300_000)
    };
    for bits in std::iter::repeat_with(|| source.f64()).take(300_000).chain(near).chain(f32_ties) {
        for format in [F16, BF16, F32] {
            let got = format.from_f64(f64::from_bits(bits), Rounding::Rn);
            assert_eq!(got, general(F64, format, bits), "{bits:016x} to {} bits", format.width());
        }
    }
}

/// All f32 values of a small format, the midpoints between them, and the f32 neighbors of all these.
fn borders(format: Format) -> impl Iterator<Item = u32> {
    (0..1u64 << format.width()).filter(move |&bits| format.to_f64(bits).is_finite()).flat_map(move |bits| {
        let value = format.to_f64(bits);
        let next = format.to_f64(format.step(bits, true));
        let middle = if next.is_finite() { f32_bits((value + next) / 2.0) } else { f32_bits(value * 1.0001) };
        [f32_bits(value), middle].into_iter().flat_map(|bits| {
            let bits = u64::from(bits);
            [bits, F32.step(bits, true), F32.step(bits, false)].map(|bits| bits as u32)
        })
    })
}

/// Rounds `value` by looking through the sorted list of all numbers of the format.
fn nearest_by_search(numbers: &[(f64, u64)], value: f64, mode: Rounding) -> Option<u64> {
    let above = numbers.partition_point(|&(number, _)| number < value);
    let (&high, &low) = (numbers.get(above)?, numbers.get(above.checked_sub(1)?)?);
    if high.0 == value {
        return Some(high.1);
    }
    // Both distances are exact when they are close, because all three numbers then have nearly one exponent.
    let (down, up) = (value - low.0, high.0 - value);
    let even = if low.1 & 1 == 0 { low.1 } else { high.1 };
    let away = if value < 0.0 { low.1 } else { high.1 };
    let zero = if value < 0.0 { high.1 } else { low.1 };
    Some(match mode {
        Rounding::Rm => low.1,
        Rounding::Rp => high.1,
        Rounding::Rz => zero,
        Rounding::Rn | Rounding::Rna if down < up => low.1,
        Rounding::Rn | Rounding::Rna if down > up => high.1,
        Rounding::Rn => even,
        Rounding::Rna => away,
    })
}

#[test]
fn narrowing_equals_a_search_for_the_neighbor() {
    let mut source = Operands::new(12);
    for format in [F16, BF16, E4M3, E5M2] {
        let mut numbers: Vec<(f64, u64)> = (0..1u64 << format.width())
            .map(|bits| (format.to_f64(bits), bits))
            .filter(|&(value, bits)| value.is_finite() && bits != format.sign_mask())
            .collect();
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let random = std::iter::repeat_with(|| source.f32()).take(50_000);
        for (count, bits) in borders(format).chain(random).enumerate() {
            let value = f64::from(f32::from_bits(bits));
            let modes = [Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp, Rounding::Rna];
            // All modes for the 8-bit formats; one in turn for the 16-bit ones, which have many more borders.
            let chosen = if format.width() == 8 { &modes[..] } else { &modes[count % 5..][..1] };
            for &mode in chosen {
                if let Some(expected) = nearest_by_search(&numbers, value, mode) {
                    let got = float_to_float(F32, format, bits.into(), Convert::rounded(mode));
                    // The list has one zero only.
                    let zero = format.is_zero(got) && format.is_zero(expected);
                    assert!(got == expected || zero, "{bits:08x} {mode:?}: {got:04x}, not {expected:04x}");
                    assert_eq!(format.is_negative(got), value.is_sign_negative(), "{bits:08x}");
                }
            }
        }
    }
}

#[test]
fn eight_bit_limits() {
    let to = |format, value: f64| {
        let m = Convert { satfinite: true, ..NEAREST };
        float_to_float(F32, format, f32_bits(value).into(), m)
    };
    assert_eq!(E4M3.to_f64(0x7e), 448.0);
    assert_eq!(E5M2.to_f64(0x7b), 57344.0);
    for (value, e4m3, e5m2) in [
        (448.0, 0x7e, 0x5f),
        (464.0, 0x7e, 0x5f),
        (-1e9, 0xfe, 0xfb),
        (f64::INFINITY, 0x7e, 0x7b),
        (f64::NEG_INFINITY, 0xfe, 0xfb),
        (f64::NAN, 0x7f, 0x7f),
        (61440.0, 0x7e, 0x7b),
        (-0.0, 0x80, 0x80),
        (2f64.powi(-10), 0x00, 0x14),
        (2f64.powi(-10) * 1.001, 0x01, 0x14),
        (2f64.powi(-17), 0x00, 0x00),
    ] {
        assert_eq!((to(E4M3, value), to(E5M2, value)), (e4m3, e5m2), "{value}");
    }
    assert_eq!(f8x2_from_f32(E4M3, 1f32.to_bits(), (-2f32).to_bits(), false), 0x38c0);
    assert_eq!(f8x2_from_f32(E4M3, 1f32.to_bits(), (-2f32).to_bits(), true), 0x3800);
    assert_eq!(f8x2_from_half2(F16, E5M2, join16(0x3c00, 0xfc00), false), 0xfb3c);
    assert_eq!(f16x2_from_f8x2(E4M3, 0x38ff, false), join16(0x7fff, 0x3c00));
    assert_eq!(f16x2_from_f8x2(E5M2, 0xfcbc, true), 0);
    assert_eq!(f16x2_from_f8x2(E5M2, 0x7cbc, false), join16(0xbc00, 0x7c00));
    assert_eq!(bf16x2_from_f8x2(E4M3, 0x7e38, false), join16(0x3f80, 0x43e0));
}

#[test]
fn every_pair_of_bytes_widens_lane_by_lane() {
    for format in [E4M3, E5M2] {
        for pair in 0..=u16::MAX {
            let wide = f16x2_from_f8x2(format, pair, false);
            let [low, high] = pair.to_le_bytes();
            for (half, byte) in [(wide as u16, low), ((wide >> 16) as u16, high)] {
                let (got, expected) = (F16.to_f64(half.into()), format.to_f64(byte.into()));
                assert!(got.to_bits() == expected.to_bits() || half == 0x7fff && expected.is_nan());
            }
            // f16 holds every 8-bit number, so the way back is the identity but for NaN and infinity.
            let canonical = |byte: u8| match format.to_f64(byte.into()) {
                value if value.is_nan() => 0x7f,
                value if value.is_infinite() => byte - 1,
                _ => byte,
            };
            assert_eq!(
                f8x2_from_half2(F16, format, wide, false),
                u16::from_le_bytes([canonical(low), canonical(high)]),
                "{pair:04x}"
            );
        }
    }
}

#[test]
fn modifiers() {
    let cvt = |to, value: f32, m| float_to_float(F32, to, value.to_bits().into(), m);
    let sat = Convert { sat: true, ..NEAREST };
    assert_eq!(cvt(F16, 1.5, sat), 0x3c00);
    assert_eq!(cvt(F16, -1.5, sat), 0);
    assert_eq!(cvt(F32, -0.0, sat), 0);
    assert_eq!(cvt(F32, f32::NAN, sat), 0);
    let relu = Convert { relu: true, ..NEAREST };
    assert_eq!(cvt(BF16, -1.5, relu), 0);
    assert_eq!(cvt(BF16, f32::NAN, relu), 0x7fff);
    let satfinite = Convert { satfinite: true, ..NEAREST };
    assert_eq!(cvt(F16, 1e9, satfinite), 0x7bff);
    assert_eq!(cvt(F16, 1e9, NEAREST), 0x7c00);
    assert_eq!(cvt(BF16, -f32::INFINITY, satfinite), 0xff7f);
    assert_eq!(cvt(F16, 1e9, Convert::rounded(Rounding::Rz)), 0x7bff);
    let ftz = Convert { ftz: true, ..NEAREST };
    assert_eq!(float_to_float(F32, F32, 0x8000_0001, ftz), 0x8000_0000);
    assert_eq!(float_to_float(F64, F32, 2f64.powi(-140).to_bits(), ftz), 0);
    assert_eq!(float_to_float(F64, F32, 2f64.powi(-140).to_bits(), NEAREST), 1 << 9);
    assert_eq!(float_to_float(F16, F32, 1, ftz), 0x3380_0000);
    assert_eq!(float_to_float(F32, F64, 0xff80_0001, NEAREST), 0xfff8_0000_2000_0000);
    assert_eq!(half2_from_f32(BF16, 1f32.to_bits(), 2f32.to_bits(), NEAREST), 0x3f80_4000);
    assert_eq!(half2_from_f32(F16, 1f32.to_bits(), 2f32.to_bits(), NEAREST), 0x3c00_4000);
}

#[test]
fn tf32_rounds_in_its_three_modes() {
    let to = |bits: u32, rounding| float_to_float(F32, TF32, bits.into(), Convert::rounded(rounding));
    // A tie: ten fraction bits, then one half.
    assert_eq!(to(0x3f80_1000, Rounding::Rna), 0x3f80_2000);
    assert_eq!(to(0x3f80_1000, Rounding::Rn), 0x3f80_0000);
    assert_eq!(to(0xbf80_3000, Rounding::Rn), 0xbf80_4000);
    assert_eq!(to(0x3f80_1fff, Rounding::Rz), 0x3f80_0000);
    assert_eq!(to(0x7f7f_ffff, Rounding::Rna), 0x7f80_0000);
    assert_eq!(to(0x7f80_0001, Rounding::Rna), 0x7fff_ffff);
    let m = Convert { satfinite: true, ..Convert::rounded(Rounding::Rna) };
    assert_eq!(float_to_float(F32, TF32, 0x7f7f_ffff, m), 0x7f7f_e000);
    let mut source = Operands::new(13);
    for bits in std::iter::repeat_with(|| source.f32()).take(100_000) {
        if bits & 0x7fff_ffff < 0x7f7f_f000 {
            assert_eq!(to(bits, Rounding::Rna), u64::from((bits + 0x1000) & !0x1fff), "{bits:08x}");
        }
    }
}

#[test]
fn float_to_integer() {
    use IntType::*;
    let mut source = Operands::new(14);
    for _ in 0..200_000 {
        let bits = source.f32();
        let value = f32::from_bits(bits);
        for (mode, rounded) in [
            (Rounding::Rn, value.round_ties_even()),
            (Rounding::Rz, value.trunc()),
            (Rounding::Rm, value.floor()),
            (Rounding::Rp, value.ceil()),
        ] {
            let to = |int| float_to_int(F32, int, bits.into(), mode, false);
            // Rust's casts clamp and turn NaN into 0, as PTX does.
            assert_eq!(to(S8), u64::from(rounded as i8 as u8));
            assert_eq!(to(U8), u64::from(rounded as u8));
            assert_eq!(to(S16), u64::from(rounded as i16 as u16));
            assert_eq!(to(U16), u64::from(rounded as u16));
            assert_eq!(to(S32), u64::from(rounded as i32 as u32));
            assert_eq!(to(U32), u64::from(rounded as u32));
            assert_eq!(to(S64), rounded as i64 as u64);
            assert_eq!(to(U64), rounded as u64);
            let integral = round_to_integral(F32, bits.into(), Convert::rounded(mode));
            let expected = if rounded.is_nan() { 0x7fff_ffff } else { rounded.to_bits() };
            assert_eq!(integral, u64::from(expected), "{bits:08x} {mode:?}");
        }
        let wide = source.f64();
        let value = f64::from_bits(wide);
        assert_eq!(float_to_int(F64, S64, wide, Rounding::Rz, false), value as i64 as u64);
        assert_eq!(float_to_int(F64, U64, wide, Rounding::Rp, false), value.ceil() as u64);
    }
    assert_eq!(float_to_int(F32, S32, 1, Rounding::Rp, false), 1);
    assert_eq!(float_to_int(F32, S32, 1, Rounding::Rp, true), 0);
    assert_eq!(float_to_int(F16, S32, 0xfbff, Rounding::Rz, false), u64::from(-65504i32 as u32));
    assert_eq!(float_to_int(BF16, U8, 0x437f, Rounding::Rn, false), 255);
    assert_eq!(round_to_integral(F32, 0x8000_0001, Convert::RN), 0x8000_0000);
}

#[test]
fn integer_to_float() {
    use IntType::*;
    let mut source = Operands::new(15);
    for _ in 0..200_000 {
        // Any magnitude, not only full-width numbers.
        let bits = source.bits() >> (source.bits() & 63);
        let to = |int, format| int_to_float(int, format, bits, NEAREST);
        assert_eq!(to(S64, F32), u64::from((bits as i64 as f32).to_bits()));
        assert_eq!(to(U64, F32), u64::from((bits as f32).to_bits()));
        assert_eq!(to(S32, F32), u64::from((bits as i32 as f32).to_bits()));
        assert_eq!(to(U32, F32), u64::from((bits as u32 as f32).to_bits()));
        assert_eq!(to(S64, F64), (bits as i64 as f64).to_bits());
        assert_eq!(to(U64, F64), (bits as f64).to_bits());
        assert_eq!(to(S8, F16), F16.from_f64((bits as i8).into(), Rounding::Rn));
        let low = int_to_float(U64, F32, bits, Convert::rounded(Rounding::Rz)) as u32;
        let high = int_to_float(U64, F32, bits, Convert::rounded(Rounding::Rp)) as u32;
        let (low, high) = (f32::from_bits(low) as u128, f32::from_bits(high) as u128);
        assert!(low <= bits.into() && high >= bits.into(), "{bits}: {low} {high}");
    }
    assert_eq!(int_to_float(U32, F16, 65520, NEAREST), 0x7c00);
    assert_eq!(int_to_float(U32, F16, 65519, NEAREST), 0x7bff);
    assert_eq!(int_to_float(S32, F16, -70000i32 as u32 as u64, Convert::rounded(Rounding::Rz)), 0xfbff);
    assert_eq!(int_to_float(S32, F32, 7, Convert { sat: true, ..NEAREST }), 0x3f80_0000);
}

#[test]
fn integer_to_integer() {
    use IntType::*;
    assert_eq!(int_to_int(S8, S32, 0x80, false), 0xffff_ff80);
    assert_eq!(int_to_int(U8, S32, 0x80, false), 0x80);
    assert_eq!(int_to_int(S32, S64, 0x8000_0000, false), 0xffff_ffff_8000_0000);
    assert_eq!(int_to_int(U32, S64, 0x8000_0000, false), 0x8000_0000);
    assert_eq!(int_to_int(S32, U8, 0xffff_fff0, false), 0xf0);
    assert_eq!(int_to_int(S32, U8, 0xffff_fff0, true), 0);
    assert_eq!(int_to_int(S32, S8, 1000, true), 0x7f);
    assert_eq!(int_to_int(S32, S8, -1000i32 as u32 as u64, true), 0x80);
    assert_eq!(int_to_int(U64, S64, u64::MAX, true), i64::MAX as u64);
    assert_eq!(int_to_int(S64, U64, u64::MAX, true), 0);
    assert_eq!(int_to_int(U64, U32, u64::MAX, true), 0xffff_ffff);
    assert_eq!(pack_saturated(8, true, 300, -300i32 as u32, 0x1234), 0x1234_7f80);
    assert_eq!(pack_saturated(16, false, 70000, -1i32 as u32, 0), 0xffff_0000);
    assert_eq!(pack_saturated(4, true, 100, -100i32 as u32, 0xabcdef), 0xabcd_ef78);
    assert_eq!(pack_saturated(2, false, 2, 9, 1), 0b1_1011);
}
