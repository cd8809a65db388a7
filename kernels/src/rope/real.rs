//! A 64-bit float compared and hashed by its bits, for the parameters of a spec.

use std::fmt;

/// An f64 whose equality is that of its bits: a spec with it can be a key, and 0.1 is never "almost" another 0.1.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Real(u64);

impl Real {
    /// The value `x`.
    pub const fn new(x: f64) -> Real {
        Real(x.to_bits())
    }

    /// The value.
    pub const fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl From<f64> for Real {
    fn from(x: f64) -> Real {
        Real::new(x)
    }
}

impl fmt::Debug for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
