//! Grids and lengths with their names resolved, so that a launch evaluates them without looking anything up.
//!
//! A launch keeps its sizes and scalar arguments in one array of numbers; a resolved expression names places in it.

use ptxsmith_builder::kernel::{Expr, Sizes};

use crate::argument_error::ArgumentError;

/// An expression over the numbers of a launch, with the expression it was made from for messages.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    node: Node,
    source: Expr,
}

#[derive(Debug, Clone)]
enum Node {
    Const(u64),
    Place(usize),
    Add(Box<(Node, Node)>),
    SaturatingSub(Box<(Node, Node)>),
    Mul(Box<(Node, Node)>),
    CeilDiv(Box<(Node, Node)>),
    Min(Box<(Node, Node)>),
}

impl Resolved {
    /// Resolves the names of an expression; the error is the name that `names` lacks.
    pub(crate) fn new(source: &Expr, names: &[&'static str]) -> Result<Resolved, &'static str> {
        Ok(Resolved { node: Node::new(source, names)?, source: source.clone() })
    }

    /// The expression it was made from.
    pub(crate) fn source(&self) -> &Expr {
        &self.source
    }

    /// Calls `f` with every place it reads.
    pub(crate) fn for_each_place(&self, f: &mut impl FnMut(usize)) {
        self.node.for_each_place(f);
    }

    /// Its value; `None` if it exceeds 64 bits or divides by zero.
    pub(crate) fn eval(&self, numbers: &[u64]) -> Option<u64> {
        self.node.eval(numbers)
    }

    /// Why it has no value.
    pub(crate) fn problem(&self, what: String, names: &[&'static str], numbers: &[u64]) -> ArgumentError {
        let pairs: Vec<(&str, u64)> = names.iter().copied().zip(numbers.iter().copied()).collect();
        let sizes: Sizes<'_> = &pairs;
        let problem = self.source.eval(sizes).map_or_else(|error| error.to_string(), |_| String::new());
        ArgumentError::Expression { what, problem }
    }
}

impl Node {
    fn new(expr: &Expr, names: &[&'static str]) -> Result<Node, &'static str> {
        let both = |pair: &(Expr, Expr)| -> Result<Box<(Node, Node)>, &'static str> {
            Ok(Box::new((Node::new(&pair.0, names)?, Node::new(&pair.1, names)?)))
        };
        Ok(match expr {
            Expr::Const(value) => Node::Const(*value),
            Expr::Size(name) => Node::Place(names.iter().position(|known| known == name).ok_or(*name)?),
            Expr::Add(pair) => Node::Add(both(pair)?),
            Expr::SaturatingSub(pair) => Node::SaturatingSub(both(pair)?),
            Expr::Mul(pair) => Node::Mul(both(pair)?),
            Expr::CeilDiv(pair) => Node::CeilDiv(both(pair)?),
            Expr::Min(pair) => Node::Min(both(pair)?),
        })
    }

    fn for_each_place(&self, f: &mut impl FnMut(usize)) {
        match self {
            Node::Const(_) => {}
            Node::Place(place) => f(*place),
            Node::Add(pair)
            | Node::SaturatingSub(pair)
            | Node::Mul(pair)
            | Node::CeilDiv(pair)
            | Node::Min(pair) => {
                pair.0.for_each_place(f);
                pair.1.for_each_place(f);
            }
        }
    }

    fn eval(&self, numbers: &[u64]) -> Option<u64> {
        let both = |pair: &(Node, Node)| Some((pair.0.eval(numbers)?, pair.1.eval(numbers)?));
        match self {
            Node::Const(value) => Some(*value),
            Node::Place(place) => numbers.get(*place).copied(),
            Node::Add(pair) => both(pair).and_then(|(a, b)| a.checked_add(b)),
            Node::SaturatingSub(pair) => both(pair).map(|(a, b)| a.saturating_sub(b)),
            Node::Mul(pair) => both(pair).and_then(|(a, b)| a.checked_mul(b)),
            Node::CeilDiv(pair) => {
                both(pair).and_then(|(a, b)| if b == 0 { None } else { Some(a.div_ceil(b)) })
            }
            Node::Min(pair) => both(pair).map(|(a, b)| a.min(b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["rows", "stride"];

    fn resolved(expr: &Expr) -> Resolved {
        Resolved::new(expr, &NAMES).expect("known names")
    }

    #[test]
    fn agrees_with_the_expression_it_was_made_from() {
        let (rows, stride) = (Expr::size("rows"), Expr::size("stride"));
        let exprs = [
            Expr::from(7u32),
            rows.clone().ceil_div(4u32),
            rows.clone().saturating_sub(1u32) * stride.clone() + 96u32,
            (rows.clone() * 3u32).min(stride.clone()),
            rows.clone().ceil_div(stride),
        ];
        for expr in exprs {
            for numbers in [[0, 0], [1, 5], [9, 100], [u64::MAX, 2], [1 << 40, 1 << 40]] {
                let pairs = [("rows", numbers[0]), ("stride", numbers[1])];
                assert_eq!(resolved(&expr).eval(&numbers), expr.eval(&pairs).ok(), "{expr} at {numbers:?}");
            }
        }
    }

    #[test]
    fn unknown_names_and_values_beyond_64_bits_are_named() {
        let expr = Expr::size("columns") * Expr::size("rows");
        assert_eq!(Resolved::new(&expr, &NAMES).expect_err("no such name"), "columns");
        let wide = resolved(&(Expr::size("rows") * u64::MAX));
        assert_eq!(wide.eval(&[2, 0]), None);
        let problem = wide.problem("the length of `x`".to_owned(), &NAMES, &[2, 0]).to_string();
        assert!(
            problem.starts_with("the length of `x`: `(rows * 18446744073709551615)` exceeds"),
            "{problem}"
        );
    }

    #[test]
    fn places_are_listed() {
        let mut places = Vec::new();
        let expr = Expr::size("stride") * 2u32 + Expr::size("rows");
        resolved(&expr).for_each_place(&mut |place| places.push(place));
        assert_eq!(places, [1, 0]);
    }
}
