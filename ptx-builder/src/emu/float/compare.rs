//! Order, sign and class of floating-point values: `min`, `max`, `setp`, `testp`, `abs`, `neg`, `copysign`.
//!
//! Everything works on raw bits of any [`Format`]. `.ftz` flushes operands first; results are then never subnormal.
//!
//! Without `.NaN`, `min` and `max` return the other operand when one is NaN, and the canonical NaN when all are. A NaN
//! result has no `.xorsign.abs` applied. The f64 forms return the quieted first NaN there, a choice: the manual only
//! says that f64 keeps payloads.

use super::{F32, F64, Format, nan_f64};

/// The modifiers of `min` and `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MinMax {
    /// `.ftz`.
    pub ftz: bool,
    /// `.NaN`: any NaN operand makes the result NaN.
    pub nan: bool,
    /// `.abs`: compares and returns magnitudes.
    pub abs: bool,
    /// `.xorsign`: the result takes the exclusive or of the operands' signs. Needs `abs` and two operands.
    pub xorsign: bool,
}

fn extremum(format: Format, operands: &[u64], m: MinMax, max: bool) -> u64 {
    let mut negative = false;
    let mut best: Option<u64> = None;
    let mut seen_nan = false;
    for &operand in operands {
        let bits = if m.ftz { format.flush(operand) } else { operand };
        negative ^= format.is_negative(bits);
        if format.is_nan(bits) {
            seen_nan = true;
            continue;
        }
        let bits = if m.abs { bits & !format.sign_mask() } else { bits };
        best = Some(match best {
            Some(best) if (format.order(best) >= format.order(bits)) == max => best,
            _ => bits,
        });
    }
    match best {
        Some(best) if !(m.nan && seen_nan) => {
            if m.xorsign && negative {
                best | format.sign_mask()
            } else {
                best
            }
        }
        _ if format == F64 => nan_f64(operands),
        _ => format.nan(),
    }
}

/// `min` of two operands.
pub fn min(format: Format, a: u64, b: u64, m: MinMax) -> u64 {
    extremum(format, &[a, b], m, false)
}

/// `max` of two operands.
pub fn max(format: Format, a: u64, b: u64, m: MinMax) -> u64 {
    extremum(format, &[a, b], m, true)
}

/// `min` of three operands (f32 only in PTX; `xorsign` must not be set).
pub fn min3(format: Format, a: u64, b: u64, c: u64, m: MinMax) -> u64 {
    extremum(format, &[a, b, c], m, false)
}

/// `max` of three operands (f32 only in PTX; `xorsign` must not be set).
pub fn max3(format: Format, a: u64, b: u64, c: u64, m: MinMax) -> u64 {
    extremum(format, &[a, b, c], m, true)
}

/// Two different finite or infinite f32 need no rule but their order; `None` for anything else.
#[inline]
fn plain_f32(a: u32, b: u32, m: MinMax, max: bool) -> Option<u32> {
    let order = f32::from_bits(a).partial_cmp(&f32::from_bits(b)).filter(|order| order.is_ne())?;
    let usable = !(m.ftz || m.abs);
    usable.then_some(if order.is_gt() == max { a } else { b })
}

/// `min.f32`.
#[inline]
pub fn min_f32(a: u32, b: u32, m: MinMax) -> u32 {
    plain_f32(a, b, m, false).unwrap_or_else(|| min(F32, a.into(), b.into(), m) as u32)
}

/// `max.f32`.
#[inline]
pub fn max_f32(a: u32, b: u32, m: MinMax) -> u32 {
    plain_f32(a, b, m, true).unwrap_or_else(|| max(F32, a.into(), b.into(), m) as u32)
}

/// A floating-point comparison of `setp` and `set`.
///
/// The ordered forms are false if an operand is NaN, the `u` forms true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatCompare {
    /// `.eq`
    Eq,
    /// `.ne`
    Ne,
    /// `.lt`
    Lt,
    /// `.le`
    Le,
    /// `.gt`
    Gt,
    /// `.ge`
    Ge,
    /// `.equ`: equal or unordered.
    Equ,
    /// `.neu`: not equal or unordered.
    Neu,
    /// `.ltu`: less or unordered.
    Ltu,
    /// `.leu`: less, equal or unordered.
    Leu,
    /// `.gtu`: greater or unordered.
    Gtu,
    /// `.geu`: greater, equal or unordered.
    Geu,
    /// `.num`: neither operand is NaN.
    Num,
    /// `.nan`: at least one operand is NaN.
    Nan,
}

/// Compares two values; the zeros are equal.
pub fn compare(format: Format, op: FloatCompare, a: u64, b: u64, ftz: bool) -> bool {
    use FloatCompare::{Eq, Equ, Ge, Geu, Gt, Gtu, Le, Leu, Lt, Ltu, Nan, Ne, Neu, Num};
    if format.is_nan(a) || format.is_nan(b) {
        return matches!(op, Equ | Neu | Ltu | Leu | Gtu | Geu | Nan);
    }
    let key = |bits| {
        let bits = if ftz { format.flush(bits) } else { bits };
        // -1 stands for -0.
        match format.order(bits) {
            -1 => 0,
            other => other,
        }
    };
    let order = key(a).cmp(&key(b));
    match op {
        Eq | Equ => order.is_eq(),
        Ne | Neu => order.is_ne(),
        Lt | Ltu => order.is_lt(),
        Le | Leu => order.is_le(),
        Gt | Gtu => order.is_gt(),
        Ge | Geu => order.is_ge(),
        Num => true,
        Nan => false,
    }
}

/// A class that `testp` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TestClass {
    /// Neither infinite nor NaN.
    Finite,
    /// An infinity.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Neither subnormal, infinite nor NaN; zeros count as normal.
    Normal,
    /// Subnormal.
    Subnormal,
}

/// `testp`.
pub const fn test(format: Format, class: TestClass, a: u64) -> bool {
    let (nan, infinite) = (format.is_nan(a), format.is_infinite(a));
    match class {
        TestClass::Finite => !nan && !infinite,
        TestClass::Infinite => infinite,
        TestClass::Number => !nan,
        TestClass::NotANumber => nan,
        TestClass::Normal => !nan && !infinite && !format.is_subnormal(a),
        TestClass::Subnormal => format.is_subnormal(a),
    }
}

/// `abs`: clears the sign bit, of a NaN too.
pub const fn abs(format: Format, a: u64, ftz: bool) -> u64 {
    (if ftz { format.flush(a) } else { a }) & !format.sign_mask()
}

/// `neg`: flips the sign bit, of a NaN too.
pub const fn neg(format: Format, a: u64, ftz: bool) -> u64 {
    (if ftz { format.flush(a) } else { a }) ^ format.sign_mask()
}

/// `copysign d, a, b`: the magnitude of `b` with the sign of `a`.
pub const fn copysign(format: Format, a: u64, b: u64) -> u64 {
    (b & !format.sign_mask()) | (a & format.sign_mask())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emu::float::tests::Operands;
    use crate::emu::float::{BF16, F16};

    const NAN: u64 = 0x7fc0_0001;
    const INF: u64 = 0x7f80_0000;
    const ONE: u64 = 0x3f80_0000;
    const NEG0: u64 = 0x8000_0000;

    #[test]
    fn min_max_order_zeros_and_drop_nan() {
        let plain = MinMax::default();
        let nan = MinMax { nan: true, ..plain };
        assert_eq!(min(F32, 0, NEG0, plain), NEG0);
        assert_eq!(min(F32, NEG0, 0, plain), NEG0);
        assert_eq!(max(F32, NEG0, 0, plain), 0);
        assert_eq!(max(F32, 0, NEG0, plain), 0);
        assert_eq!(max(F32, NAN, ONE, plain), ONE);
        assert_eq!(min(F32, ONE, NAN, plain), ONE);
        assert_eq!(min(F32, NAN, NAN, plain), 0x7fff_ffff);
        assert_eq!(max(F32, NAN, ONE, nan), 0x7fff_ffff);
        assert_eq!(max3(F32, ONE, NAN, INF, plain), INF);
        assert_eq!(max3(F32, ONE, NAN, INF, nan), 0x7fff_ffff);
        assert_eq!(max(BF16, 0x7fc1, 0x7fc2, plain), 0x7fff);
        assert_eq!(min(F64, 0x7ff0_0000_0000_0001, 0x7ff8_0000_0000_0002, plain), 0x7ff8_0000_0000_0001);
    }

    #[test]
    fn min_max_xorsign_abs() {
        let m = MinMax { abs: true, xorsign: true, ..MinMax::default() };
        let two = 0x4000_0000;
        assert_eq!(max(F32, ONE | NEG0, two, m), two | NEG0);
        assert_eq!(min(F32, ONE | NEG0, two | NEG0, m), ONE);
        assert_eq!(min(F32, NAN | NEG0, NAN, m), 0x7fff_ffff);
        let ftz = MinMax { ftz: true, ..MinMax::default() };
        assert_eq!(max(F32, 5, NEG0, ftz), 0);
        assert_eq!(min(F32, 5 | NEG0, 0, ftz), NEG0);
    }

    #[test]
    fn min_max_agree_with_numbers_for_all_f16() {
        let m = MinMax::default();
        for a in (0..=0xffffu64).filter(|&a| !F16.is_nan(a)) {
            for b in [0u64, 0x8000, 1, 0x8001, 0x3c00, 0xbc00, 0x7c00, 0xfc00, a ^ 0x8000] {
                let (x, y) = (F16.to_f64(a), F16.to_f64(b));
                let (low, high) = (F16.to_f64(min(F16, a, b, m)), F16.to_f64(max(F16, a, b, m)));
                assert_eq!((low, high), if x < y { (x, y) } else { (y, x) }, "{a:04x} {b:04x}");
            }
        }
    }

    #[test]
    fn f32_shortcut_equals_the_general_way() {
        let mut source = Operands::new(31);
        for _ in 0..200_000 {
            let (a, b) = (source.f32(), source.f32());
            for m in [
                MinMax::default(),
                MinMax { nan: true, ..MinMax::default() },
                MinMax { ftz: true, ..MinMax::default() },
                MinMax { abs: true, xorsign: true, ..MinMax::default() },
            ] {
                assert_eq!(u64::from(min_f32(a, b, m)), min(F32, a.into(), b.into(), m), "{a:08x} {b:08x}");
                assert_eq!(u64::from(max_f32(a, b, m)), max(F32, a.into(), b.into(), m), "{a:08x} {b:08x}");
            }
        }
    }

    #[test]
    fn comparisons() {
        use FloatCompare::*;
        let all = [Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan];
        let values = [0, NEG0, 1, ONE, ONE | NEG0, INF, INF | NEG0, NAN, NAN | NEG0, 0x0080_0000];
        for a in values {
            for b in values {
                let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                let unordered = x.is_nan() || y.is_nan();
                let expected = [
                    x == y,
                    !unordered && x != y,
                    x < y,
                    x <= y,
                    x > y,
                    x >= y,
                    unordered || x == y,
                    unordered || x != y,
                    unordered || x < y,
                    unordered || x <= y,
                    unordered || x > y,
                    unordered || x >= y,
                    !unordered,
                    unordered,
                ];
                for (op, expected) in all.into_iter().zip(expected) {
                    assert_eq!(compare(F32, op, a, b, false), expected, "{op:?} {a:08x} {b:08x}");
                }
            }
        }
        assert!(compare(F32, Eq, 1, NEG0, true));
        assert!(!compare(F32, Eq, 1, NEG0, false));
    }

    #[test]
    fn classes_and_signs() {
        use TestClass::*;
        let cases = [
            (0, [true, false, true, false, true, false]),
            (1, [true, false, true, false, false, true]),
            (ONE, [true, false, true, false, true, false]),
            (INF | NEG0, [false, true, true, false, false, false]),
            (NAN, [false, false, false, true, false, false]),
        ];
        for (bits, expected) in cases {
            for (class, expected) in
                [Finite, Infinite, Number, NotANumber, Normal, Subnormal].into_iter().zip(expected)
            {
                assert_eq!(test(F32, class, bits), expected, "{class:?} {bits:08x}");
            }
        }
        assert_eq!(abs(F32, NAN | NEG0, false), NAN);
        assert_eq!(neg(F32, NAN, false), NAN | NEG0);
        assert_eq!(neg(F32, 1, true), NEG0);
        assert_eq!(abs(F32, 1 | NEG0, true), 0);
        assert_eq!(copysign(F32, NEG0, ONE), ONE | NEG0);
        assert_eq!(copysign(F32, ONE, ONE | NEG0), ONE);
    }
}
