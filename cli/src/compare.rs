//! Compares results with expected tensors, neither of which is rounded.
//!
//! An element agrees if `|got − expected| <= atol + rtol · |expected|` in f64. A NaN agrees with a NaN only, an infinity with
//! the same infinity only. Integers are compared exactly.

use ptxsmith_builder::types::Dtype;

use crate::element::Number;
use crate::error::Error;

/// What deviation is accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tolerance {
    /// Absolute.
    pub(crate) atol: f64,
    /// Relative to the expected value.
    pub(crate) rtol: f64,
}

impl Tolerance {
    /// No deviation.
    pub(crate) const EXACT: Tolerance = Tolerance { atol: 0.0, rtol: 0.0 };

    /// What a result of a dtype is held to unless something else is asked for.
    pub(crate) const fn of(dtype: Dtype) -> Tolerance {
        match dtype {
            Dtype::F64 => Tolerance { atol: 1e-7, rtol: 1e-7 },
            Dtype::F32 => Tolerance { atol: 1e-5, rtol: 1.3e-6 },
            Dtype::F16 => Tolerance { atol: 1e-5, rtol: 1e-3 },
            Dtype::Bf16 => Tolerance { atol: 1e-5, rtol: 1.6e-2 },
            Dtype::E4m3 | Dtype::E5m2 => Tolerance::EXACT,
            Dtype::I8 | Dtype::U8 | Dtype::I32 | Dtype::U32 | Dtype::I64 | Dtype::U64 => Tolerance::EXACT,
        }
    }

    /// From `atol,rtol`: two finite numbers, neither negative.
    pub(crate) fn parse(text: &str) -> Result<Tolerance, Error> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        text.split_once(',')
            .and_then(|(atol, rtol)| Some(Tolerance { atol: number(atol)?, rtol: number(rtol)? }))
            .ok_or_else(|| Error::Value {
                option: "--tolerance",
                value: text.to_owned(),
                allowed: "two finite numbers of at least 0, atol,rtol, for example 1e-5,1e-3".to_owned(),
                near: None,
            })
    }
}

/// The largest of a kind of error, and where it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Largest {
    /// The error; NaN counts as larger than everything.
    pub(crate) error: f64,
    /// Flat position; the first one where several are equal. `None` in an empty tensor.
    pub(crate) at: Option<usize>,
}

impl Largest {
    const NONE: Largest = Largest { error: 0.0, at: None };

    fn add(&mut self, error: f64, at: usize) {
        let larger = error > self.error || error.is_nan() && !self.error.is_nan();
        if larger || self.at.is_none() {
            *self = Largest { error, at: Some(at) };
        }
    }
}

/// How far results are from what was expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Comparison {
    /// Elements compared.
    pub(crate) elements: usize,
    /// Elements that do not agree.
    pub(crate) differing: usize,
    /// The first of them, with what was got and what was expected.
    pub(crate) first: Option<(usize, Number, Number)>,
    /// Largest `|got − expected|`.
    pub(crate) abs: Largest,
    /// Largest `|got − expected| / |expected|`.
    pub(crate) rel: Largest,
}

impl Comparison {
    /// Whether every element agrees.
    pub(crate) fn agrees(&self) -> bool {
        self.differing == 0
    }
}

/// Compares element by element; both have the same number of them.
pub(crate) fn compare(
    got: impl Iterator<Item = Number>,
    expected: impl Iterator<Item = Number>,
    tolerance: Tolerance,
) -> Comparison {
    let mut all =
        Comparison { elements: 0, differing: 0, first: None, abs: Largest::NONE, rel: Largest::NONE };
    for (at, (got, expected)) in got.zip(expected).enumerate() {
        let (error, relative) = errors(got, expected);
        all.elements += 1;
        all.abs.add(error, at);
        all.rel.add(relative, at);
        let within = got.same(expected) || {
            let expected = expected.to_f64();
            // An infinite expected value would allow every finite one.
            expected.is_finite() && error <= tolerance.atol + tolerance.rtol * expected.abs()
        };
        if !within {
            all.differing += 1;
            all.first = all.first.or(Some((at, got, expected)));
        }
    }
    all
}

/// Absolute and relative error of one element.
fn errors(got: Number, expected: Number) -> (f64, f64) {
    if got.same(expected) {
        return (0.0, 0.0);
    }
    let error = match (got, expected) {
        (Number::Int(got), Number::Int(expected)) => got.abs_diff(expected) as f64,
        _ => (got.to_f64() - expected.to_f64()).abs(),
    };
    (error, error / expected.to_f64().abs())
}

/// The position of a flat index in a tensor of these dimensions.
pub(crate) fn position(flat: usize, dims: &[u64]) -> Vec<u64> {
    let mut rest = flat as u64;
    let mut position = vec![0; dims.len()];
    for (index, dim) in position.iter_mut().zip(dims).rev() {
        let dim = (*dim).max(1);
        *index = rest % dim;
        rest /= dim;
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(got: &[f64], expected: &[f64], atol: f64, rtol: f64) -> Comparison {
        let numbers = |values: &[f64]| values.iter().map(|value| Number::Float(*value)).collect::<Vec<_>>();
        let tolerance = Tolerance { atol, rtol };
        compare(numbers(got).into_iter(), numbers(expected).into_iter(), tolerance)
    }

    #[test]
    fn the_limit_is_inclusive() {
        assert!(floats(&[1.5], &[1.0], 0.25, 0.25).agrees());
        assert!(!floats(&[1.5000001], &[1.0], 0.25, 0.25).agrees());
    }

    #[test]
    fn infinities_and_nans_agree_with_themselves_only() {
        const INF: f64 = f64::INFINITY;
        assert!(floats(&[f64::NAN, INF, -INF], &[f64::NAN, INF, -INF], 0.0, 0.0).agrees());
        for (got, expected) in
            [(f64::NAN, 1.0), (1.0, f64::NAN), (1.0, INF), (INF, 1.0), (INF, -INF), (f64::NAN, INF)]
        {
            let comparison = floats(&[got], &[expected], 1e300, 1.0);
            assert!(!comparison.agrees(), "{got} {expected}");
            assert!(!comparison.abs.error.is_finite(), "{got} {expected}");
        }
    }

    #[test]
    fn the_largest_errors_are_found_with_their_places() {
        let comparison = floats(&[10.0, 0.5, 3.0], &[11.0, 0.25, 3.0], 1.0, 0.0);
        assert_eq!(comparison.abs, Largest { error: 1.0, at: Some(0) });
        assert_eq!(comparison.rel, Largest { error: 1.0, at: Some(1) });
        assert!(comparison.agrees());
        let comparison = floats(&[10.0, f64::NAN, 1e9], &[11.0, 0.0, 3.0], 0.0, 0.0);
        assert_eq!(comparison.abs.at, Some(1));
        assert_eq!(comparison.differing, 3);
        assert!(matches!(comparison.first, Some((0, ..))));
        assert_eq!(floats(&[], &[], 0.0, 0.0).abs, Largest::NONE);
        assert_eq!(floats(&[1.0], &[0.0], 2.0, 0.0).rel.error, f64::INFINITY);
    }

    #[test]
    fn integers_that_share_an_f64_still_differ() {
        let (a, b) = (Number::Int(1 << 60), Number::Int((1 << 60) + 1));
        let comparison = compare([a].into_iter(), [b].into_iter(), Tolerance::EXACT);
        assert!(!comparison.agrees());
        assert_eq!(comparison.abs.error, 1.0);
    }

    #[test]
    fn positions_are_row_major() {
        assert_eq!(position(7, &[2, 3, 2]), [1, 0, 1]);
        assert_eq!(position(0, &[]), [0u64; 0]);
    }

    #[test]
    fn tolerances_are_two_finite_numbers() {
        assert_eq!(Tolerance::parse("1e-3, 0").ok(), Some(Tolerance { atol: 1e-3, rtol: 0.0 }));
        for text in ["", "1e-3", "1,2,3", "a,b", "-1,0", "nan,0", "0,inf"] {
            let error = Tolerance::parse(text).expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("atol,rtol"), "{error}");
        }
    }
}
