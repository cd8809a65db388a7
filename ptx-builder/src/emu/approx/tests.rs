//! The models against a double-double reference, their bounds and special values.

#![expect(clippy::disallowed_methods, reason = "powers that bound an error or are exact, not results")]

use super::*;
use crate::emu::float::compare::{MinMax, max, min};
use crate::emu::float::tests::Operands;
use ApproxMode::{Lower, Nearest, Upper};

/// An unevaluated sum of two f64: about 104 bits.
#[derive(Clone, Copy)]
struct Double(f64, f64);

impl Double {
    fn sum(a: f64, b: f64) -> Self {
        let sum = a + b;
        let part = sum - a;
        Self(sum, (a - (sum - part)) + (b - part))
    }

    fn add(self, other: Self) -> Self {
        let Self(high, error) = Self::sum(self.0, other.0);
        Self::sum(high, error + self.1 + other.1)
    }

    fn mul(self, other: Self) -> Self {
        let high = self.0 * other.0;
        let low = self.0.mul_add(other.0, -high) + (self.0 * other.1 + self.1 * other.0);
        Self::sum(high, low)
    }

    fn div(self, other: Self) -> Self {
        let first = self.0 / other.0;
        let rest = self.add(other.mul(Self(-first, 0.0)));
        Self::sum(first, rest.0 / other.0)
    }

    fn value(self) -> f64 {
        self.0 + self.1
    }
}

const LN_2: Double = Double(std::f64::consts::LN_2, 2.3190468138462996e-17);
const TAU: Double = Double(std::f64::consts::TAU, 2.4492935982947064e-16);

/// The sum of x^n/n! over every `stride`-th n from `first`, with alternating signs if asked for.
fn series(x: Double, first: u32, stride: u32, alternate: bool) -> Double {
    let mut term = Double(1.0, 0.0);
    let mut sum = Double(0.0, 0.0);
    let mut sign = 1.0;
    for n in 0..90 {
        if n > 0 {
            term = term.mul(x).div(Double(n.into(), 0.0));
        }
        if n >= first && (n - first).is_multiple_of(stride) {
            sum = sum.add(term.mul(Double(sign, 0.0)));
            sign = if alternate { -sign } else { sign };
        }
    }
    sum
}

fn exp(x: Double) -> Double {
    let mut power = series(Double(x.0 / 256.0, x.1 / 256.0), 0, 1, false);
    for _ in 0..8 {
        power = power.mul(power);
    }
    power
}

fn exp2(x: f64) -> Double {
    // Whole powers of two apart, so that nothing overflows inside.
    let whole = x.round();
    exp(Double(x - whole, 0.0).mul(LN_2)).mul(Double(2f64.powi(whole as i32), 0.0))
}

fn reduced(x: f64) -> Double {
    Double(x, 0.0).add(TAU.mul(Double(-(x / TAU.0).round(), 0.0)))
}

fn sin(x: f64) -> Double {
    series(reduced(x), 1, 2, true)
}

fn cos(x: f64) -> Double {
    series(reduced(x), 0, 2, true)
}

fn tanh(x: f64) -> Double {
    // Enough terms for |2x| < 30; beyond that the result is 1 to 40 bits.
    let power = exp(Double(2.0 * x.clamp(-15.0, 15.0), 0.0));
    let one = Double(1.0, 0.0);
    power.add(Double(-1.0, 0.0)).div(power.add(one))
}

fn relative(value: f64, reference: Double) -> f64 {
    let difference = Double(value, 0.0).add(Double(-reference.0, -reference.1)).value();
    (difference / reference.value()).abs()
}

/// `count` operands in a range, most of them near one end or zero by way of the logarithm.
fn spread(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> {
    let mut source = Operands::new(21);
    std::iter::repeat_with(move || {
        let unit = (source.bits() >> 11) as f64 / (1u64 << 53) as f64;
        let value = if source.bits() & 1 == 0 {
            low + (high - low) * unit
        } else {
            let scale = 2f64.powi(-((source.bits() & 31) as i32));
            scale * if source.bits() & 1 == 0 { low.max(-high) } else { high } * unit
        };
        f64::from(value.clamp(low, high) as f32)
    })
    .take(count)
}

#[test]
fn functions_are_accurate() {
    let limit = 2f64.powi(-45);
    for x in spread(-200.0, 200.0, 3_000) {
        assert!(relative(math::exp2(x), exp2(x)) < limit, "exp2({x})");
    }
    for x in spread(-314.0, 314.0, 3_000).filter(|&x| x != 0.0) {
        assert!(relative(math::sin(x), sin(x)) < limit, "sin({x})");
        assert!(relative(math::cos(x), cos(x)) < limit, "cos({x})");
    }
    for x in spread(-14.0, 14.0, 3_000).filter(|&x| x.abs() > 1e-30) {
        assert!(relative(math::tanh(x), tanh(x)) < limit, "tanh({x})");
    }
    for x in spread(1e-30, 1e30, 2_000).chain(spread(0.4, 2.1, 2_000)).filter(|&x| x > 0.0 && x != 1.0) {
        // A logarithm off by d gives back x · 2^d.
        let log = math::log2(x);
        let back = exp2(log);
        let off = Double(x, 0.0).add(Double(-back.0, -back.1)).value() / x / LN_2.0;
        assert!((off / log).abs() < limit, "log2({x})");
    }
    for n in -300..=300 {
        assert_eq!(math::exp2(n.into()), 2f64.powi(n));
        assert_eq!(math::log2(2f64.powi(n)), f64::from(n));
    }
}

/// Checks order of the three modes and their distance from the reference, in units of `reach`.
fn check(what: &str, x: f64, results: [f64; 3], reference: Double, reach: f64) {
    let [nearest, upper, lower] = results;
    assert!(lower <= nearest && nearest <= upper, "{what}({x}): {lower} {nearest} {upper}");
    let off = |value: f64| Double(value, 0.0).add(Double(-reference.0, -reference.1)).value() / reach;
    assert!(off(nearest).abs() <= 1.0 + 1e-9, "{what}({x}): nearest off by {}", off(nearest));
    assert!(off(upper) <= 1.0 + 1e-9, "{what}({x}): upper off by {}", off(upper));
    assert!(off(lower) >= -1.0 - 1e-9, "{what}({x}): lower off by {}", off(lower));
    // The edges are used: what lies one number farther out is outside.
    let next = |value: f64, up| F32.to_f64(F32.step(F32.from_f64(value, Rounding::Rn), up));
    assert!(off(next(upper, true)) > 1.0 - 1e-9, "{what}({x}): upper is not the edge");
    assert!(off(next(lower, false)) < -1.0 + 1e-9, "{what}({x}): lower is not the edge");
}

fn modes(x: f64, op: impl Fn(u32, ApproxMode) -> u32) -> [f64; 3] {
    [Nearest, Upper, Lower].map(|mode| f64::from(f32::from_bits(op((x as f32).to_bits(), mode))))
}

#[test]
fn f32_models_keep_to_the_bounds() {
    let one = Double(1.0, 0.0);
    for x in spread(-1e20, 1e20, 2_000).chain(spread(0.5, 4.0, 1_000)).filter(|&x| x.abs() > 1e-20) {
        let reference = one.div(Double(x, 0.0));
        let results = modes(x, |a, mode| rcp_f32(a, false, mode));
        check("rcp", x, results, reference, ulp(F32, reference.0));
        let x = x.abs();
        // One Newton step in double-double from the f64 root.
        let root = Double(x.sqrt(), 0.0);
        let rest = Double(x, 0.0).add(root.mul(root).mul(Double(-1.0, 0.0)));
        let root = root.add(rest.div(Double(2.0 * root.0, 0.0)));
        let results = modes(x, |a, mode| sqrt_f32(a, false, mode));
        check("sqrt", x, results, root, 2f64.powi(-23) * root.0);
        let inverse = one.div(root);
        let results = modes(x, |a, mode| rsqrt_f32(a, false, mode));
        check("rsqrt", x, results, inverse, 2f64.powf(-22.9) * inverse.0);
    }
    for x in spread(-6.25, 6.25, 2_000).filter(|&x| x != 0.0) {
        check("sin", x, modes(x, |a, m| sin_f32(a, false, m)), sin(x), 2f64.powf(-20.5));
        check("cos", x, modes(x, |a, m| cos_f32(a, false, m)), cos(x), 2f64.powf(-20.5));
    }
    for x in spread(6.3, 314.0, 1_000).filter(|&x| x > 6.3) {
        check("sin", x, modes(x, |a, m| sin_f32(a, false, m)), sin(x), 2f64.powf(-14.7));
        check("cos", -x, modes(-x, |a, m| cos_f32(a, false, m)), cos(x), 2f64.powf(-14.7));
    }
    for x in spread(-14.0, 14.0, 2_000).filter(|&x| x.abs() > 1e-20) {
        let reference = tanh(x);
        check("tanh", x, modes(x, tanh_f32), reference, 2f64.powi(-11) * reference.0.abs());
    }
    for x in spread(1e-20, 1e20, 1_000).chain(spread(0.5, 2.0, 1_000)).filter(|&x| x > 0.0) {
        let near = x > 0.5 && x < 2.0;
        let log = math::log2(x);
        let reach = if near { 2f64.powi(-22) } else { 2f64.powi(-22) * log.abs() };
        check("lg2", x, modes(x, |a, m| lg2_f32(a, false, m)), Double(log, 0.0), reach);
    }
    for x in spread(-125.0, 127.0, 2_000) {
        let [nearest, upper, lower] =
            modes(x, |a, m| ex2_f32(a, false, m)).map(|y| F32.from_f64(y, Rounding::Rn));
        assert_eq!(nearest, F32.from_f64(exp2(x).value(), Rounding::Rn), "ex2({x})");
        assert_eq!((upper, lower), (nearest + 2, nearest - 2), "ex2({x})");
    }
}

#[test]
fn division_keeps_to_the_bound() {
    let mut source = Operands::new(23);
    let mut checked = 0;
    for _ in 0..20_000 {
        let (a, b) = (source.f32(), source.f32());
        let (x, y) = (f64::from(f32::from_bits(a)), f64::from(f32::from_bits(b)));
        let quotient = x / y;
        let normal = |v: f64| v.abs() > 1e-30 && v.abs() < 1e30;
        if normal(x) && normal(y) && normal(quotient) {
            let exact = Double(x, 0.0).div(Double(y, 0.0));
            for op in [div_f32, div_full_f32] {
                let results = [Nearest, Upper, Lower].map(|m| f64::from(f32::from_bits(op(a, b, false, m))));
                check("div", x, results, exact, 2.0 * ulp(F32, quotient));
            }
            checked += 1;
        }
    }
    assert!(checked > 5_000, "only {checked} quotients in range");
}

#[test]
fn special_values() {
    let (inf, ninf, nan, neg0) = (0x7f80_0000, 0xff80_0000, 0x7fff_ffff, 0x8000_0000);
    let (one, sub, nsub) = (0x3f80_0000, 1, 0x8000_0001);
    let minus_one = one | neg0;
    for m in [Nearest, Upper, Lower] {
        let table = |op: &dyn Fn(u32) -> u32| [ninf, neg0, 0, inf, 0xffc0_0123].map(op);
        for ftz in [false, true] {
            assert_eq!(table(&|a| rcp_f32(a, ftz, m)), [neg0, ninf, inf, 0, nan]);
            assert_eq!(table(&|a| sqrt_f32(a, ftz, m)), [nan, neg0, 0, inf, nan]);
            assert_eq!(table(&|a| rsqrt_f32(a, ftz, m)), [nan, ninf, inf, 0, nan]);
            assert_eq!(table(&|a| ex2_f32(a, ftz, m)), [0, one, one, inf, nan]);
            assert_eq!(table(&|a| lg2_f32(a, ftz, m)), [nan, ninf, ninf, inf, nan]);
            assert_eq!(table(&|a| sin_f32(a, ftz, m)), [nan, neg0, 0, nan, nan]);
            assert_eq!(table(&|a| cos_f32(a, ftz, m)), [nan, one, one, nan, nan]);
            for op in [sqrt_f32, rsqrt_f32, lg2_f32] {
                assert_eq!(op(minus_one, ftz, m), nan);
            }
            for op in [div_f32, div_full_f32] {
                assert_eq!(op(0, 0, ftz, m), nan);
                assert_eq!(op(inf, ninf, ftz, m), nan);
                assert_eq!(op(one, neg0, ftz, m), ninf);
                assert_eq!(op(one, ninf, ftz, m), neg0);
                assert_eq!(op(ninf, one, ftz, m), ninf);
                assert_eq!(op(nan, one, ftz, m), nan);
            }
            assert_eq!(div_f32(inf, 0x7f00_0000, ftz, m), nan);
            assert_eq!(div_f32(one, 0xff00_0000, ftz, m), neg0);
            assert_eq!(div_full_f32(inf, 0x7f00_0000, ftz, m), inf);
        }
        assert_eq!(table(&|a| tanh_f32(a, m)), [minus_one, neg0, 0, one, nan]);
        // Subnormal operands: zeros with .ftz, numbers without.
        assert_eq!(rcp_f32(nsub, true, m), ninf);
        assert_eq!(rcp_f32(sub, false, m), inf);
        assert_eq!(rsqrt_f32(nsub, true, m), ninf);
        assert_eq!(rsqrt_f32(nsub, false, m), nan);
        assert_eq!(lg2_f32(nsub, true, m), ninf);
        assert_eq!(lg2_f32(nsub, false, m), nan);
        assert_eq!(sqrt_f32(nsub, true, m), neg0);
        assert_eq!(ex2_f32(sub, true, m), one);
        assert_eq!(sin_f32(nsub, true, m), neg0);
        assert_eq!(tanh_f32(nsub, m), nsub);
        assert_eq!(div_f32(one, sub, true, m), inf);
        // Results that leave the range.
        assert_eq!(ex2_f32(200f32.to_bits(), false, m), inf);
        assert_eq!(ex2_f32((-140f32).to_bits(), true, m), 0);
        assert_eq!(rcp_f32(0x7f00_0000, true, m), 0);
    }
    assert_eq!(lg2_f32(sub, false, Nearest), (-149f32).to_bits());
    assert_eq!(rcp_f32(0x7f00_0000, false, Nearest), 0x0040_0000);
    assert_eq!(ex2_f32((-140f32).to_bits(), false, Nearest), 1 << 9);
    assert_eq!(ex2_f32((-300f32).to_bits(), false, Lower), 0);
    assert_eq!(ex2_f32((-300f32).to_bits(), false, Upper), 2);
    assert_eq!(ex2_f32(0x42ff_ffff, false, Upper) & 0x7fff_ffff, ex2_f32(0x42ff_ffff, false, Upper));
    assert!(ex2_f32(0x42ff_ffff, false, Upper) < inf);
}

#[test]
fn exact_results_stay_exact_in_nearest() {
    for n in -126..=127 {
        let x = 2f32.powi(n);
        assert_eq!(ex2_f32((n as f32).to_bits(), false, Nearest), x.to_bits());
        assert_eq!(rcp_f32(x.to_bits(), false, Nearest), (1.0 / x).to_bits());
        assert_eq!(lg2_f32(x.to_bits(), false, Nearest), (n as f32).to_bits());
    }
    for n in 1..2000u32 {
        let square = (n * n) as f32;
        assert_eq!(sqrt_f32(square.to_bits(), false, Nearest), (n as f32).to_bits());
    }
}

#[test]
fn sine_far_away_follows_the_f32_phase() {
    // 2^30 turns the f32 phase into whole turns: nothing of it is left.
    assert_eq!(sin_f32(2f32.powi(30).to_bits(), false, Nearest), 0);
    assert_eq!(cos_f32(2f32.powi(30).to_bits(), false, Nearest), 1f32.to_bits());
    // Just beyond 100π the lost phase is still within the last bound.
    for step in 0..200 {
        let x = 314.2f32 + step as f32 * 0.03;
        let got = f64::from(f32::from_bits(sin_f32(x.to_bits(), false, Nearest)));
        assert!((got - sin(x.into()).value()).abs() < 2f64.powf(-14.7), "{x}");
    }
}

#[test]
fn half_models_keep_to_the_bounds_for_every_operand() {
    for bits in 0..=u16::MAX {
        for (format, op, relative, absolute) in [
            (F16, ex2_f16 as fn(u16, ApproxMode) -> u16, 2f64.powf(-9.9), 0.0),
            (BF16, ex2_bf16, 2f64.powi(-7), 0.0),
            (F16, tanh_f16, 0.0, 2f64.powf(-10.987)),
            (BF16, tanh_bf16, 0.0, 2f64.powi(-8)),
        ] {
            let x = format.to_f64(bits.into());
            let results = [Nearest, Upper, Lower].map(|m| u64::from(op(bits, m)));
            if x.is_nan() {
                assert_eq!(results, [0x7fff; 3]);
                continue;
            }
            let value = if relative > 0.0 { math::exp2(x) } else { math::tanh(x) };
            let m = MinMax::default();
            let [nearest, upper, lower] = results;
            assert_eq!((min(format, lower, nearest, m), max(format, upper, nearest, m)), (lower, upper));
            for result in results {
                let got = format.to_f64(result);
                // A number, or the nearest one where the bound holds none (subnormal, flushed or out of range).
                let reach = (relative * value + absolute) * (1.0 + 1e-9);
                let allowed = (got - value).abs() <= reach || result == nearest;
                assert!(allowed, "{bits:04x}: {got} for {value}");
            }
        }
    }
    assert_eq!(ex2_f16(0xfc00, Upper), 0);
    assert_eq!(ex2_bf16(0x0001, Upper), 0x3f80);
    assert_eq!(ex2_f16(0xcc00, Nearest), 0x0100);
    assert_eq!(ex2_bf16(0xc300, Nearest), 0);
    assert_eq!(tanh_f16(0xfc00, Lower), 0xbc00);
    assert_eq!(tanh_bf16(0x8000, Lower), 0x8000);
}

#[test]
fn f64_models() {
    const HIGH_WORD: u64 = 0xffff_ffff_0000_0000;
    let high = |value: f64| value.to_bits() & HIGH_WORD;
    let inf = f64::INFINITY.to_bits();
    let neg0 = 1 << 63;
    for m in [Nearest, Upper, Lower] {
        assert_eq!(rcp_ftz_f64(inf | neg0, m), neg0);
        assert_eq!(rcp_ftz_f64(neg0, m), inf | neg0);
        // Only the lower word tells this NaN from infinity, and this subnormal from zero.
        assert_eq!(rcp_ftz_f64(0x7ff0_0000_0000_0001, m), 0);
        assert_eq!(rcp_ftz_f64(0x7ff0_0001_0000_0000, m), 0x7fff_ffff_0000_0000);
        assert_eq!(rcp_ftz_f64(1, m), inf);
        assert_eq!(rcp_ftz_f64(0x800f_ffff_0000_0000, m), inf | neg0);
        assert_eq!(rcp_ftz_f64(f64::MAX.to_bits(), m), 0);
        assert_eq!(rsqrt_ftz_f64(inf | neg0, m), 0x7fff_ffff_0000_0000);
        assert_eq!(rsqrt_ftz_f64(neg0, m), inf | neg0);
        assert_eq!(rsqrt_ftz_f64(0x800f_ffff_0000_0000, m), inf | neg0);
        assert_eq!(rsqrt_ftz_f64((-1f64).to_bits(), m), 0x7fff_ffff_0000_0000);
        assert_eq!(rsqrt_f64(0x7ff0_0000_0000_0001, m), 0x7ff8_0000_0000_0001);
        assert_eq!(rsqrt_f64((-1f64).to_bits(), m), 0xfff8_0000_0000_0000);
        assert_eq!(rsqrt_f64(inf, m), 0);
    }
    assert_eq!(rcp_ftz_f64(0.25f64.to_bits(), Nearest), 4f64.to_bits());
    assert_eq!(rcp_ftz_f64(0.25f64.to_bits() | 0xffff, Upper), high(4.0) + (1 << 32));
    assert_eq!(rsqrt_f64(0.25f64.to_bits(), Nearest), 2f64.to_bits());
    assert_eq!(rsqrt_f64(0.25f64.to_bits(), Upper), 2f64.to_bits() + 1);
    let mut source = Operands::new(24);
    for _ in 0..20_000 {
        let bits = source.f64() & HIGH_WORD;
        let x = f64::from_bits(bits);
        if !(x.abs() > 1e-300 && x.abs() < 1e300) {
            continue;
        }
        for m in [Nearest, Upper, Lower] {
            let got = rcp_ftz_f64(bits | source.bits() & !HIGH_WORD, m);
            assert_eq!(got & !HIGH_WORD, 0);
            assert!((f64::from_bits(got) * x - 1.0).abs() < 2f64.powi(-19), "{x}");
            let got = f64::from_bits(rsqrt_ftz_f64(bits & !neg0, m));
            assert!((got * got * x.abs() - 1.0).abs() < 2f64.powi(-18), "{x}");
        }
    }
}
