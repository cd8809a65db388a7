//! Integer expressions of manifests, read from text and evaluated without wrapping.

use std::collections::BTreeMap;

/// Values by name.
pub(crate) type Names = BTreeMap<String, u64>;

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expr {
    /// A number.
    Const(u64),
    /// A size or scalar parameter.
    Name(String),
    /// An operation on two expressions.
    Binary(Op, Box<(Expr, Expr)>),
}

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    SaturatingSub,
    Mul,
    Div,
    CeilDiv,
    Min,
    Max,
}

/// Functions of two arguments.
const FUNCTIONS: [(&str, Op); 4] =
    [("ceil_div", Op::CeilDiv), ("min", Op::Min), ("max", Op::Max), ("saturating_sub", Op::SaturatingSub)];

/// Deepest nesting of parentheses and functions that is read.
const MAX_DEPTH: usize = 64;

impl Expr {
    /// Reads an expression; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Expr, String> {
        let mut reader = Reader { rest: text.trim_start(), depth: 0 };
        let expr = reader.sum()?;
        match reader.rest {
            "" => Ok(expr),
            rest => Err(format!("`{rest}` is unexpected")),
        }
    }

    /// Its value; the error says why it has none.
    pub(crate) fn eval(&self, names: &Names) -> Result<u64, String> {
        let (op, pair) = match self {
            Expr::Const(value) => return Ok(*value),
            Expr::Name(name) => {
                return names.get(name).copied().ok_or_else(|| format!("`{name}` has no value"));
            }
            Expr::Binary(op, pair) => (*op, pair),
        };
        let (a, b) = (pair.0.eval(names)?, pair.1.eval(names)?);
        let value = match op {
            Op::Add => a.checked_add(b),
            Op::Sub => a.checked_sub(b),
            Op::SaturatingSub => Some(a.saturating_sub(b)),
            Op::Mul => a.checked_mul(b),
            Op::Div => a.checked_div(b),
            Op::CeilDiv => (b != 0).then(|| a.div_ceil(b)),
            Op::Min => Some(a.min(b)),
            Op::Max => Some(a.max(b)),
        };
        value.ok_or_else(|| match op {
            Op::Div | Op::CeilDiv => format!("{a} is divided by 0"),
            Op::Sub => format!("{a} - {b} is negative"),
            Op::Add | Op::SaturatingSub | Op::Mul | Op::Min | Op::Max => {
                "its value exceeds 64 bits".to_owned()
            }
        })
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn take(&mut self, symbol: char) -> bool {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, symbol: char) -> Result<(), String> {
        if self.take(symbol) {
            return Ok(());
        }
        let found = self.rest.chars().next().map_or("the end".to_owned(), |c| format!("`{c}`"));
        Err(format!("`{symbol}` is expected, not {found}"))
    }

    fn word(&mut self) -> &str {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn sum(&mut self) -> Result<Expr, String> {
        self.chain([('+', Op::Add), ('-', Op::Sub)], Reader::product)
    }

    fn product(&mut self) -> Result<Expr, String> {
        self.chain([('*', Op::Mul), ('/', Op::Div)], Reader::atom)
    }

    fn chain(
        &mut self,
        ops: [(char, Op); 2],
        part: fn(&mut Self) -> Result<Expr, String>,
    ) -> Result<Expr, String> {
        let mut expr = part(self)?;
        while let Some((_, op)) = ops.iter().find(|(symbol, _)| self.rest.starts_with(*symbol)) {
            self.rest = self.rest[1..].trim_start();
            expr = Expr::Binary(*op, Box::new((expr, part(self)?)));
        }
        Ok(expr)
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("it is nested deeper than {MAX_DEPTH}"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn atom(&mut self) -> Result<Expr, String> {
        if self.take('(') {
            let expr = self.nested(Reader::sum)?;
            self.expect(')')?;
            return Ok(expr);
        }
        let word = self.word().to_owned();
        if word.is_empty() {
            let found = self.rest.chars().next().map_or("the end".to_owned(), |c| format!("`{c}`"));
            return Err(format!("a number or a name is expected, not {found}"));
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.parse().map(Expr::Const).map_err(|_| format!("`{word}` is not a number of 64 bits"));
        }
        if !self.take('(') {
            return Ok(Expr::Name(word));
        }
        let Some((_, op)) = FUNCTIONS.iter().find(|(name, _)| *name == word) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
            return Err(format!("`{word}` is no function; known are {}", known.join(", ")));
        };
        let pair = self.nested(|reader| {
            let first = reader.sum()?;
            reader.expect(',')?;
            Ok((first, reader.sum()?))
        })?;
        self.expect(')')?;
        Ok(Expr::Binary(*op, Box::new(pair)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxsmith_builder::kernel::Expr as Written;

    fn value(text: &str) -> Result<u64, String> {
        let names = Names::from([("rows".to_owned(), 9), ("stride".to_owned(), 100)]);
        Expr::parse(text)?.eval(&names)
    }

    #[test]
    fn expressions_have_their_usual_meaning() {
        assert_eq!(value("rows"), Ok(9));
        assert_eq!(value(" ceil_div( rows , 4 ) "), Ok(3));
        assert_eq!(value("1 + 2*3 - 8/4"), Ok(5));
        assert_eq!(value("min(rows, 3) + max(1,2) + saturating_sub(1,2)"), Ok(5));
    }

    #[test]
    fn what_the_kernels_write_is_read() {
        let rows = Written::size("rows");
        let span = rows.clone().saturating_sub(1u32) * Written::size("stride") + 8u32;
        for written in [span, rows.clone().ceil_div(4u32), rows.min(4u32) * 3u32] {
            let expected = written.eval(&[("rows", 9), ("stride", 100)]).expect("it has a value");
            assert_eq!(value(&written.to_string()), Ok(expected), "{written}");
        }
    }

    #[test]
    fn mistakes_say_what_is_wrong() {
        for (text, part) in [
            ("", "the end"),
            ("rows +", "the end"),
            ("rows rows", "`rows` is unexpected"),
            ("round(1,2)", "known are ceil_div"),
            ("ceil_div(1)", "`,` is expected, not `)`"),
            ("cols", "`cols` has no value"),
            ("1 - 2", "negative"),
            ("ceil_div(1,0)", "divided by 0"),
            ("18446744073709551615 * 2", "exceeds 64 bits"),
            ("18446744073709551616", "not a number"),
            ("é", "not `é`"),
        ] {
            let error = value(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(value(&deep).expect_err("too deep").contains("64"));
    }
}
