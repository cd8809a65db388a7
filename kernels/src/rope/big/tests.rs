use super::*;

/// Whether `a` and `b` agree to 2^-`bits` of the greater.
fn close(a: Big, b: Big, bits: i64) -> bool {
    let difference = a - b;
    difference.is_zero() || difference.exponent <= a.exponent.max(b.exponent) - bits
}

#[test]
fn f64_round_trips_and_exact_operations() {
    for x in [0.0, 1.0, -1.5, 1e-300, f64::MAX, f64::MIN_POSITIVE, 5e-324, 3e-310, 0.1, 123_456_789.25] {
        assert_eq!(Big::from_f64(x).to_f64(), x);
        assert_eq!(Big::from_f64(-x).to_f64(), -x);
    }
    let (a, b) = (Big::from_f64(1.25), Big::from_f64(-3.5));
    assert_eq!((a + b).to_f64(), -2.25);
    assert_eq!((a - b).to_f64(), 4.75);
    assert_eq!((a * b).to_f64(), -4.375);
    assert_eq!((b / a).to_f64(), -2.8);
    assert_eq!(a - a, Big::ZERO);
    assert!((a - a).fraction(64) == [0; 4]);
}

#[test]
fn division_undoes_multiplication() {
    for (n, d) in [(1u64, 3u64), (22, 7), (u64::MAX, 10), (1, u64::MAX)] {
        assert!(close(Big::ratio(n, d) * Big::from_u64(d), Big::from_u64(n), 317));
        assert_eq!(Big::from_u64(n).div_u64(d), Big::ratio(n, d));
    }
}

#[test]
fn floor_and_ceil() {
    for (x, floor, ceil) in [
        (2.5, 2.0, 3.0),
        (-2.5, -3.0, -2.0),
        (4.0, 4.0, 4.0),
        (-4.0, -4.0, -4.0),
        (0.25, 0.0, 1.0),
        (-0.25, -1.0, 0.0),
        (0.0, 0.0, 0.0),
    ] {
        assert_eq!(Big::from_f64(x).floor().to_f64(), floor, "floor {x}");
        assert_eq!(Big::from_f64(x).ceil().to_f64(), ceil, "ceil {x}");
    }
    let large = Big::from_u64(u64::MAX).scale(300);
    assert_eq!(large.floor(), large);
}

#[test]
fn constants_have_their_known_digits() {
    // The fraction of π and ln 2 in hexadecimal, as in tables of Payne-Hanek reductions and of e.g. the MPFR test suite.
    assert_eq!(pi().fraction(128)[1], 0x243f_6a88_85a3_08d3);
    assert_eq!(pi().fraction(128)[0], 0x1319_8a2e_0370_7345);
    assert_eq!(ln_2().fraction(64)[0], 0xb172_17f7_d1cf_79ac);
    // Two independent series of the same number agree to the last bits.
    let euler = inverse_tangent_of_half_and_third();
    assert!(close(pi(), euler, 312));
    assert!(close(Big::from_u64(2).ln(), ln_2(), 300));
}

/// π as `4 (atan(1/2) + atan(1/3))`, Euler's form, summed here by plain divisions.
fn inverse_tangent_of_half_and_third() -> Big {
    let atan = |n: u64| {
        let mut sum = Big::ZERO;
        let mut power = Big::ratio(1, n);
        for k in 0..170 {
            let term = power / Big::from_u64(2 * k + 1);
            sum = if k % 2 == 0 { sum + term } else { sum - term };
            power = power / Big::from_u64(n * n);
        }
        sum
    };
    (atan(2) + atan(3)).scale(2)
}

#[test]
fn exp_and_ln_undo_each_other() {
    for x in [1e-9, 0.5, 1.0, 13.8, 700.0, -0.3, -44.0] {
        let x = Big::from_f64(x);
        assert!(close(x.exp().ln(), x, 280), "{x:?}");
    }
    assert_eq!(Big::ZERO.exp(), Big::ONE);
    assert!(close(Big::from_u64(10).ln() + Big::from_u64(7).ln(), Big::from_u64(70).ln(), 305));
}

#[test]
fn powers_and_roots_of_whole_numbers() {
    let ten_thousand = Big::from_u64(10_000);
    assert!(close(ten_thousand.pow(Big::ratio(1, 4)), Big::from_u64(10), 300));
    assert!(close(ten_thousand.pow(-Big::ratio(3, 2)), Big::ratio(1, 1_000_000), 300));
    for n in [2u64, 3, 10, 4096, u64::MAX] {
        let root = Big::from_u64(n).sqrt();
        assert!(close(root * root, Big::from_u64(n), 316));
    }
    assert_eq!(Big::from_f64(0.25).sqrt().to_f64(), 0.5);
    assert_eq!(Big::from_f64(0.5).sqrt().to_f64(), std::f64::consts::FRAC_1_SQRT_2);
}

#[test]
fn rounds_ties_to_even_even_when_exp_and_ln_blur_them() {
    // Roots of squares of odd 25-bit numbers lie exactly between two f32 values.
    for odd in [(1u64 << 24) + 1, (1 << 24) + 3] {
        let root = Big::from_u64(odd * odd).pow(Big::ratio(1, 2));
        assert_eq!(root.to_f32(), odd as f32);
    }
    // Just beside the tie, the side decides.
    let tie = Big::from_u64((1 << 24) + 1);
    let nudge = Big::ONE.scale(-200);
    assert_eq!((tie + nudge).to_f32(), ((1 << 24) + 2) as f32);
    assert_eq!((tie - nudge).to_f32(), (1 << 24) as f32);
    // Subnormal f32: 1.5 units round to 2, half a unit to 0, a little more to 1.
    let unit = Big::from_f32(f32::from_bits(1));
    assert_eq!((unit + unit.scale(-1)).to_f32().to_bits(), 2);
    assert_eq!(unit.scale(-1).to_f32().to_bits(), 0);
    assert_eq!((unit.scale(-1) + unit.scale(-50)).to_f32().to_bits(), 1);
    assert_eq!(unit.scale(-3).to_f32().to_bits(), 0);
    assert_eq!(Big::ONE.scale(128).to_f32(), f32::INFINITY);
    assert_eq!(Big::ONE.scale(1024).to_f64(), f64::INFINITY);
}

#[test]
fn fractions_wrap_and_round() {
    assert_eq!(Big::from_f64(2.75).fraction(64), [0xc000_0000_0000_0000, 0, 0, 0]);
    assert_eq!(Big::from_f64(-0.25).fraction(64), [0xc000_0000_0000_0000, 0, 0, 0]);
    assert_eq!(Big::ratio(1, 3).fraction(8), [0x55, 0, 0, 0]);
    assert_eq!(Big::ratio(2, 3).fraction(8), [0xab, 0, 0, 0]);
    assert_eq!(Big::from_f64(1.0 - 1e-12).fraction(8), [0; 4]);
    assert_eq!(Big::ratio(1, 3).fraction(256), [0x5555_5555_5555_5555; 4]);
    assert_eq!(Big::ONE.scale(-400).fraction(96), [0; 4]);
}

#[test]
fn division_by_zero_saturates() {
    assert_eq!((Big::ONE / Big::ZERO).to_f64(), f64::INFINITY);
    assert_eq!((-Big::ONE / Big::ZERO).to_f64(), f64::NEG_INFINITY);
}
