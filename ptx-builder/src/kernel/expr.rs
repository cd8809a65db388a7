//! Integer expressions over named sizes: grids, lengths, workspaces.

use std::fmt;
use std::ops;

/// Values by name.
pub type Sizes<'a> = &'a [(&'a str, u64)];

/// An expression over the sizes of a launch and its scalar arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Const(u64),
    /// A size or scalar argument, by name.
    Size(&'static str),
    /// Sum.
    Add(Box<(Expr, Expr)>),
    /// Difference, 0 where it would be negative.
    SaturatingSub(Box<(Expr, Expr)>),
    /// Product.
    Mul(Box<(Expr, Expr)>),
    /// Quotient rounded up.
    CeilDiv(Box<(Expr, Expr)>),
    /// The smaller one.
    Min(Box<(Expr, Expr)>),
}

/// An expression that has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExprError {
    /// A name without a value.
    Unknown(String),
    /// The value exceeds 64 bits.
    Overflow(String),
    /// Division by zero.
    Zero(String),
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExprError::Unknown(name) => write!(f, "`{name}` has no value"),
            ExprError::Overflow(expr) => write!(f, "`{expr}` exceeds 64 bits"),
            ExprError::Zero(expr) => write!(f, "`{expr}` divides by zero"),
        }
    }
}

impl std::error::Error for ExprError {}

impl Expr {
    /// A size by name.
    pub const fn size(name: &'static str) -> Expr {
        Expr::Size(name)
    }

    /// `ceil(self / divisor)`.
    pub fn ceil_div(self, divisor: impl Into<Expr>) -> Expr {
        match (self, divisor.into()) {
            (expr, Expr::Const(1)) => expr,
            pair => Expr::CeilDiv(Box::new(pair)),
        }
    }

    /// `max(self - other, 0)`.
    pub fn saturating_sub(self, other: impl Into<Expr>) -> Expr {
        Expr::SaturatingSub(Box::new((self, other.into())))
    }

    /// The smaller one.
    pub fn min(self, other: impl Into<Expr>) -> Expr {
        Expr::Min(Box::new((self, other.into())))
    }

    /// Its value, without wrapping.
    pub fn eval(&self, sizes: Sizes<'_>) -> Result<u64, ExprError> {
        let both = |pair: &(Expr, Expr)| Ok((pair.0.eval(sizes)?, pair.1.eval(sizes)?));
        let overflow = || ExprError::Overflow(self.to_string());
        match self {
            Expr::Const(value) => Ok(*value),
            Expr::Size(name) => sizes
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| *value)
                .ok_or_else(|| ExprError::Unknown((*name).to_owned())),
            Expr::Add(pair) => both(pair).and_then(|(a, b)| a.checked_add(b).ok_or_else(overflow)),
            Expr::SaturatingSub(pair) => both(pair).map(|(a, b)| a.saturating_sub(b)),
            Expr::Mul(pair) => both(pair).and_then(|(a, b)| a.checked_mul(b).ok_or_else(overflow)),
            Expr::CeilDiv(pair) => both(pair).and_then(|(a, b)| {
                if b == 0 { Err(ExprError::Zero(self.to_string())) } else { Ok(a.div_ceil(b)) }
            }),
            Expr::Min(pair) => both(pair).map(|(a, b)| a.min(b)),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Const(value) => write!(f, "{value}"),
            Expr::Size(name) => f.write_str(name),
            Expr::Add(pair) => write!(f, "({} + {})", pair.0, pair.1),
            Expr::SaturatingSub(pair) => write!(f, "saturating_sub({},{})", pair.0, pair.1),
            Expr::Mul(pair) => write!(f, "({} * {})", pair.0, pair.1),
            Expr::CeilDiv(pair) => write!(f, "ceil_div({},{})", pair.0, pair.1),
            Expr::Min(pair) => write!(f, "min({},{})", pair.0, pair.1),
        }
    }
}

macro_rules! from_ints {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Expr {
            fn from(value: $ty) -> Expr {
                Expr::Const(u64::from(value))
            }
        }
    )*};
}

from_ints!(u8 u16 u32 u64);

impl<R: Into<Expr>> ops::Add<R> for Expr {
    type Output = Expr;
    fn add(self, other: R) -> Expr {
        Expr::Add(Box::new((self, other.into())))
    }
}

impl<R: Into<Expr>> ops::Mul<R> for Expr {
    type Output = Expr;
    fn mul(self, other: R) -> Expr {
        match (self, other.into()) {
            (expr, Expr::Const(1)) => expr,
            pair => Expr::Mul(Box::new(pair)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluates_and_prints() {
        let rows = Expr::size("rows");
        assert_eq!(rows.clone().ceil_div(4u32).to_string(), "ceil_div(rows,4)");
        assert_eq!(rows.clone().ceil_div(4u32).eval(&[("rows", 9)]), Ok(3));
        assert_eq!(rows.clone().ceil_div(1u32), rows);
        assert!((rows.clone() * u64::MAX).eval(&[("rows", 2)]).is_err());
        assert_eq!(rows.eval(&[]), Err(ExprError::Unknown("rows".to_owned())));
    }
}
