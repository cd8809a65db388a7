//! Soft path against native operations, exact integer references, and bracketing of the directed modes.

#![expect(clippy::disallowed_methods, reason = "powers that bound an error or are exact, not results")]

use super::*;
use soft::Unpacked;

/// A deterministic stream of operands that favors edges: specials, binade borders, subnormals, close exponents.
pub(crate) struct Operands(u64);

impl Operands {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An operand of the format, right-aligned.
    pub(crate) fn operand(&mut self, format: Format) -> u64 {
        let random = self.bits();
        let mask = format.sign_mask() | (format.sign_mask() - 1);
        let frac_mask = (1u64 << format.frac_bits()) - 1;
        let one = format.one();
        match random >> 60 {
            0 => {
                [
                    0,
                    1,
                    frac_mask,
                    frac_mask + 1,
                    one,
                    one - 1,
                    one + 1,
                    format.infinity(false),
                    format.max_finite(false),
                    format.nan(),
                    format.infinity(false) + 1,
                ][(random % 11) as usize]
                    | (random << 8) & format.sign_mask()
            }
            // Few fraction bits set: many exact results and ties.
            1..=4 => random & mask & !(frac_mask >> (random >> 40 & 7)),
            // Exponent near that of one, so that sums overlap.
            5..=9 => {
                let middle = one >> format.frac_bits();
                let reach = middle.min(16);
                let exponent = middle - reach + (random >> 52) % (2 * reach);
                (random & (frac_mask | format.sign_mask())) | exponent << format.frac_bits()
            }
            // Subnormals and the smallest normals.
            10 => random & (frac_mask << 1 | 1 | format.sign_mask()),
            _ => random & mask,
        }
    }

    pub(crate) fn f32(&mut self) -> u32 {
        self.operand(F32) as u32
    }

    pub(crate) fn f64(&mut self) -> u64 {
        self.operand(F64)
    }
}

fn same(format: Format, a: u64, b: u64) -> bool {
    a == b || format.is_nan(a) && format.is_nan(b)
}

#[test]
fn soft_rn_equals_native_f32() {
    let mut source = Operands::new(1);
    for _ in 0..1_000_000 {
        let [a, b, c] = [(); 3].map(|()| source.f32());
        let [x, y, z] = [a, b, c].map(f32::from_bits);
        let [wa, wb, wc] = [a, b, c].map(u64::from);
        let rn = Rounding::Rn;
        let cases = [
            ("add", soft::add(F32, wa, wb, rn), x + y),
            ("mul", soft::mul(F32, wa, wb, rn), x * y),
            ("div", soft::div(F32, wa, wb, rn), x / y),
            ("sqrt", soft::sqrt(F32, wa, rn), x.sqrt()),
            ("fma", soft::fma(F32, wa, wb, wc, rn), x.mul_add(y, z)),
        ];
        for (name, got, expected) in cases {
            assert!(same(F32, got, expected.to_bits().into()), "{name} {a:08x} {b:08x} {c:08x}: {got:08x}");
        }
    }
}

#[test]
fn soft_rn_equals_native_f64() {
    let mut source = Operands::new(2);
    for _ in 0..500_000 {
        let [a, b, c] = [(); 3].map(|()| source.f64());
        let [x, y, z] = [a, b, c].map(f64::from_bits);
        let rn = Rounding::Rn;
        let cases = [
            ("add", soft::add(F64, a, b, rn), x + y),
            ("mul", soft::mul(F64, a, b, rn), x * y),
            ("div", soft::div(F64, a, b, rn), x / y),
            ("sqrt", soft::sqrt(F64, a, rn), x.sqrt()),
            ("fma", soft::fma(F64, a, b, c, rn), x.mul_add(y, z)),
        ];
        for (name, got, expected) in cases {
            assert!(same(F64, got, expected.to_bits()), "{name} {a:016x} {b:016x} {c:016x}: {got:016x}");
        }
    }
}

/// An f32 as an integer multiple of 2^`unit`, if that fits.
fn fixed(bits: u32, unit: i32) -> Option<i128> {
    match F32.unpack(bits.into()) {
        Unpacked::Zero(_) => Some(0),
        Unpacked::Finite(v) => {
            let shift = u32::try_from(v.exp - unit).ok().filter(|&shift| shift < 100)?;
            let magnitude = i128::try_from(v.mant << shift).ok()?;
            Some(if v.negative { -magnitude } else { magnitude })
        }
        Unpacked::Nan | Unpacked::Infinity(_) => None,
    }
}

/// Checks the four modes of one operation against `exact`, which orders a candidate f32 against the true result.
/// Returns how many results it could compare: 1, or 0 if one of them is out of its reach.
fn check_modes(results: [u32; 4], exact: impl Fn(u32) -> Option<std::cmp::Ordering>, what: &str) -> usize {
    let [rn, rz, rm, rp] = results;
    let (Some(below), Some(above)) = (exact(rm), exact(rp)) else { return 0 };
    assert!(below.is_le() && above.is_ge(), "{what}: rm {rm:08x} and rp {rp:08x} do not bracket");
    // Equal numbers, where the two zeros are one.
    let equal = |x: u64, y: u64| x == y || F32.is_zero(x) && F32.is_zero(y);
    let (low, high) = (u64::from(rm), u64::from(rp));
    if below.is_eq() || above.is_eq() {
        assert!(equal(low, high), "{what}: exact, but rm {rm:08x} and rp {rp:08x} differ");
    } else {
        assert!(equal(F32.step(low, true), high), "{what}: rm {rm:08x} and rp {rp:08x} are not neighbors");
    }
    assert!(rn == rm || rn == rp, "{what}: rn {rn:08x} is neither rm nor rp");
    let toward_zero = if exact(0).is_some_and(std::cmp::Ordering::is_gt) { rp } else { rm };
    assert!(rz == toward_zero || equal(low, high) && equal(rz.into(), low), "{what}: rz {rz:08x}");
    1
}

const MODES: [Rounding; 4] = [Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp];

#[test]
fn directed_modes_bracket_the_exact_result() {
    let mut source = Operands::new(4);
    let mut checked = [0; 5];
    for _ in 0..200_000 {
        let [a, b, c] = [(); 3].map(|()| source.f32());
        let [x, y] = [a, b].map(|bits| f64::from(f32::from_bits(bits)));
        let value = |bits: u32| f64::from(f32::from_bits(bits));
        let modes = |op: &dyn Fn(Arith) -> u32| MODES.map(|mode| op(Arith::rounded(mode)));

        // The product of two f32 is exact in f64.
        let product = x * y;
        if product.is_finite() {
            checked[0] +=
                check_modes(modes(&|m| mul_f32(a, b, m)), |r| value(r).partial_cmp(&product), "mul");
        }
        // A quotient r compares to x / y as r * y compares to x, in order or reversed by the sign of y.
        if x.is_finite() && y.is_finite() && y != 0.0 {
            let order = |r: u32| {
                let finite = value(r).is_finite().then(|| (value(r) * y).partial_cmp(&x))??;
                Some(if y < 0.0 { finite.reverse() } else { finite })
            };
            checked[1] += check_modes(modes(&|m| div_f32(a, b, m)), order, "div");
        }
        if x.is_finite() && x >= 0.0 {
            checked[2] +=
                check_modes(modes(&|m| sqrt_f32(a, m)), |r| (value(r) * value(r)).partial_cmp(&x), "sqrt");
        }
        // Sums in 128-bit fixed point.
        if let (Some(p), Some(q)) = (fixed(a, -90), fixed(b, -90)) {
            checked[3] +=
                check_modes(modes(&|m| add_f32(a, b, m)), |r| Some(fixed(r, -90)?.cmp(&(p + q))), "add");
        }
        if let (Some(p), Some(q), Some(s)) = (fixed(a, -45), fixed(b, -45), fixed(c, -90))
            && let Some(exact) = p.checked_mul(q).and_then(|product| product.checked_add(s))
        {
            let order = |r: u32| Some(fixed(r, -90)?.cmp(&exact));
            checked[4] += check_modes(modes(&|m| fma_f32(a, b, c, m)), order, "fma");
        }
    }
    assert!(checked.iter().all(|&count| count > 20_000), "too few comparable results: {checked:?}");
}

#[test]
fn directed_modes_at_the_limits() {
    let [rn, rz, rm, rp] = MODES.map(Arith::rounded);
    let max = 0x7f7f_ffff;
    let inf = 0x7f80_0000;
    let neg = 0x8000_0000;
    assert_eq!([rn, rz, rm, rp].map(|m| add_f32(max, max, m)), [inf, max, max, inf]);
    assert_eq!(
        [rn, rz, rm, rp].map(|m| add_f32(max | neg, max | neg, m)),
        [inf, max, inf, max].map(|bits| bits | neg)
    );
    assert_eq!([rn, rz, rm, rp].map(|m| add_f32(1, 1 | neg, m)), [0, 0, neg, 0]);
    assert_eq!([rn, rz, rm, rp].map(|m| add_f32(0, neg, m)), [0, 0, neg, 0]);
    assert_eq!([rn, rz, rm, rp].map(|m| add_f32(neg, neg, m)), [neg; 4]);
    assert_eq!([rn, rz, rm, rp].map(|m| mul_f32(1, 1, m)), [0, 0, 0, 1]);
    assert_eq!([rn, rz, rm, rp].map(|m| mul_f32(1 | neg, 1, m)), [neg, neg, 1 | neg, neg]);
    assert_eq!([rn, rz, rm, rp].map(|m| rcp_f32(neg, m)), [inf | neg; 4]);
    assert_eq!([rn, rz, rm, rp].map(|m| sqrt_f32(neg, m)), [neg; 4]);
    assert_eq!([rn, rz, rm, rp].map(|m| sqrt_f32(1 | neg, m)), [0x7fff_ffff; 4]);
    // 1/3 = 0x3eaaaaaa.aaa…
    assert_eq!(
        [rn, rz, rm, rp].map(|m| rcp_f32(3f32.to_bits(), m)),
        [0x3eaa_aaab, 0x3eaa_aaaa, 0x3eaa_aaaa, 0x3eaa_aaab]
    );
}

#[test]
fn flush_saturate_relu_nan() {
    let ftz = Arith::RN_FTZ;
    let neg = 0x8000_0000;
    assert_eq!(add_f32(1, 2, ftz), 0);
    assert_eq!(add_f32(1 | neg, 2 | neg, ftz), neg);
    assert_eq!(mul_f32(1 | neg, 0x7f00_0000, ftz), neg);
    assert_eq!(mul_f32(0x0080_0000, 0x3f00_0000, ftz), 0);
    assert_eq!(mul_f32(0x8080_0000, 0x3f00_0000, ftz), neg);
    assert_eq!(div_f32(0x3f80_0000, 1, ftz), 0x7f80_0000);
    let sat = Arith { sat: true, ..Arith::RN };
    assert_eq!(add_f32(2f32.to_bits(), 0, sat), 1f32.to_bits());
    assert_eq!(add_f32((-2f32).to_bits(), 0, sat), 0);
    assert_eq!(add_f32(neg, neg, sat), 0);
    assert_eq!(add_f32(0x7fc0_0000, 0, sat), 0);
    assert_eq!(add_f32(0x3f00_0000, 0, sat), 0x3f00_0000);
    let relu = Arith { relu: true, ..Arith::RN };
    assert_eq!(fma_f16(0x3c00, 0xbc00, 0, relu), 0);
    assert_eq!(fma_f16(0x3c00, 0x7e01, 0, relu), 0x7fff);
    assert_eq!(fma_bf16(0x3f80, 0x3f80, 0, relu), 0x3f80);
    assert_eq!(add_f32(0x7f80_0001, 0, Arith::RN), 0x7fff_ffff);
    assert_eq!(add_f16(0x7c00, 0xfc00, Arith::RN), 0x7fff);
    assert_eq!(add_f16(0x0001, 0x0001, ftz), 0);
    let payload = 0x7ff0_0000_0000_0123;
    assert_eq!(add_f64(1f64.to_bits(), payload, Rounding::Rn), payload | 1 << 51);
    assert_eq!(mul_f64(payload, 0x7ff8_0000_0000_0456, Rounding::Rz), payload | 1 << 51);
    assert_eq!(sub_f64(1f64.to_bits(), payload, Rounding::Rp), payload | 1 << 51);
    assert_eq!(sqrt_f64((-1f64).to_bits(), Rounding::Rn), 0xfff8_0000_0000_0000);
    assert_eq!(sqrt_f64((-1f64).to_bits(), Rounding::Rm), 0xfff8_0000_0000_0000);
}

#[test]
fn halves_through_f64_equal_the_soft_path() {
    let mut source = Operands::new(5);
    for format in [F16, BF16] {
        for _ in 0..400_000 {
            let [a, b, c] = [(); 3].map(|()| source.operand(format));
            let [ha, hb, hc] = [a, b, c].map(|bits| bits as u16);
            let rn = Rounding::Rn;
            let (add, mul, fma) = if format == F16 {
                (add_f16(ha, hb, Arith::RN), mul_f16(ha, hb, Arith::RN), fma_f16(ha, hb, hc, Arith::RN))
            } else {
                (add_bf16(ha, hb, Arith::RN), mul_bf16(ha, hb, Arith::RN), fma_bf16(ha, hb, hc, Arith::RN))
            };
            let what = format!("{a:04x} {b:04x} {c:04x}");
            assert_eq!(u64::from(add), soft::add(format, a, b, rn), "add {what}");
            assert_eq!(u64::from(mul), soft::mul(format, a, b, rn), "mul {what}");
            assert_eq!(u64::from(fma), soft::fma(format, a, b, c, rn), "fma {what}");
        }
    }
}

/// `fma` must round once: for these operands, rounding the product or the f64 sum first gives another result.
#[test]
fn half_fma_rounds_once() {
    // 2049 * 2^-11 squared lies just above a tie only through its last bit.
    let (a, b) = (0x3c01, 0x3c01);
    let c = 0x6800; // 2048
    let exact = F16.to_f64(a.into()) * F16.to_f64(b.into()) + 2048.0;
    assert_eq!(fma_f16(a, b, c, Arith::RN), 0x6801);
    assert!(exact > 2049.0 && exact < 2050.0);
    let product = mul_f16(a, b, Arith::RN);
    assert_eq!(product, 0x3c02);
    // bf16: 1 + 2^-8 is a tie (to even: 1), a term of 2^-100 below decides; an f64 sum would lose it.
    let tiny = 0x0d80; // 2^-100
    assert_eq!(BF16.to_f64(tiny.into()), 2f64.powi(-100));
    let x = 0x3f80; // 1
    let odd_sum = add_to_odd(1.0 + 2f64.powi(-8), 2f64.powi(-100));
    assert_eq!(BF16.from_f64(odd_sum, Rounding::Rn), 0x3f81);
    assert_eq!(BF16.from_f64(1.0 + 2f64.powi(-8) + 2f64.powi(-100), Rounding::Rn), 0x3f80);
    assert_eq!(fma_bf16(x, x, tiny, Arith::RN), 0x3f80);
    // (1 + 2^-7)(1 - 2^-7 …) style product that is a tie, with a tiny addend of either sign.
    let (p, q) = (0x3f88, 0x3f88); // 1.0625^2 = 1.12890625 = 1.125 + 2^-8: a tie between 1.125 and 1.1328125
    assert_eq!(fma_bf16(p, q, 0, Arith::RN), 0x3f90);
    assert_eq!(fma_bf16(p, q, tiny, Arith::RN), 0x3f91);
    assert_eq!(fma_bf16(p, q, tiny | 0x8000, Arith::RN), 0x3f90);
}

#[test]
fn packed_operations_keep_their_lanes() {
    let a = join16(0x3c00, 0x4000);
    let b = join16(0x4200, 0xc000);
    assert_eq!(packed16([a, b], |[a, b]| add_f16(a, b, Arith::RN)), join16(0x4400, 0));
    let x = u64::from(2f32.to_bits()) << 32 | u64::from(1f32.to_bits());
    let sum = packed32([x, x], |[a, b]| add_f32(a, b, Arith::RN));
    assert_eq!(sum, u64::from(4f32.to_bits()) << 32 | u64::from(2f32.to_bits()));
}

#[test]
fn step_walks_all_values_in_order() {
    for format in [F16, BF16, E4M3, E5M2] {
        let mut bits = if format.is_infinite(format.infinity(true)) {
            format.infinity(true)
        } else {
            format.max_finite(true)
        };
        let mut count = 1u64;
        loop {
            let next = format.step(bits, true);
            if next == bits {
                break;
            }
            assert!(format.to_f64(next) > format.to_f64(bits), "{bits:04x} {next:04x}");
            assert!(format.step(next, false) & !format.sign_mask() == bits & !format.sign_mask());
            bits = next;
            count += 1;
        }
        let nans = (0..1u64 << format.width()).filter(|&bits| format.is_nan(bits)).count() as u64;
        assert_eq!(count + nans + 1, 1 << format.width(), "all but NaN and one of the zeros");
    }
}
