//! The epsilon of a normalization.

use std::hash::{Hash, Hasher};

use ptxsmith_builder::kernel::Baked;

/// A number added to a mean square or a variance before the square root: finite and not negative. Compared by its bits.
#[derive(Debug, Clone, Copy)]
pub struct Eps(f32);

/// A number that is no epsilon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotAnEps(pub f32);

impl std::fmt::Display for NotAnEps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "eps {:e} is not a finite number of at least 0", self.0)
    }
}

impl std::error::Error for NotAnEps {}

impl Eps {
    /// Checks the range: finite, at least 0.
    pub fn new(value: f32) -> Result<Eps, NotAnEps> {
        // Negative zero is the same number as zero but other bits: one form keeps one kernel.
        if value.is_finite() && value >= 0.0 { Ok(Eps(value + 0.0)) } else { Err(NotAnEps(value)) }
    }

    /// The value.
    pub const fn get(self) -> f32 {
        self.0
    }
}

impl PartialEq for Eps {
    fn eq(&self, other: &Eps) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Eps {}

impl Hash for Eps {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Baked for Eps {
    fn type_name() -> String {
        f32::type_name()
    }

    fn parse(text: &str) -> Result<Eps, String> {
        let allowed = || "a finite number of at least 0".to_owned();
        Eps::new(f32::parse(text).map_err(|_| allowed())?).map_err(|_| allowed())
    }

    fn text(&self) -> String {
        self.0.text()
    }

    fn shown(&self) -> String {
        self.0.shown()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_no_square_root_should_see() {
        for bad in [f32::NAN, f32::INFINITY, -1e-6] {
            assert!(Eps::new(bad).is_err(), "{bad}");
        }
        assert_eq!(Eps::new(-0.0), Eps::new(0.0));
        assert!(Eps::parse("abc").is_err());
        assert_eq!(Eps::parse("1e-6").map(|eps| eps.shown()), Ok("1e-6 (0f358637BD)".to_owned()));
    }
}
