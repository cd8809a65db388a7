//! The reader: PTX text to the same [`Module`] that the builder makes.
//!
//! * [`parse`] reads what the printer prints, and any other text that keeps to the subset: the instructions of the table,
//!   entries without functions, scalar and pointer parameters, shared arrays. The subset limits instructions and
//!   directives, not layout: comments, several statements on a line, register ranges, nested scopes, labels and
//!   guards anywhere.
//! * Every mistake is reported, with line and column; each says whether the text is no PTX or PTX outside of the subset.
//! * The module is brought to one form, so that `parse(print(m)) == m`: labels only where something jumps to them, registers
//!   sorted by type and only those in use, dynamic arrays first, literals typed by their instruction. A guarded `ret`
//!   becomes a branch around a `ret`.
//! * `.file`, `.loc`, `.pragma` and comments are read and dropped; they do not change what a kernel computes.
//! * Time and memory are linear in the text, and no text makes the reader panic or recurse.

use std::fmt;

use crate::ir::{Module, Place};
use crate::target::PtxVersion;
use crate::verify::{self, Finding};

mod blocks;
mod body;
mod cursor;
mod entry;
mod lexer;
mod literal;
mod operands;
mod rows;
mod scope;
mod top;

/// What a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The module.
    pub module: Module,
    /// The version that the text declares; the module itself has none, it follows from the instructions.
    pub version: PtxVersion,
    /// Where it is declared.
    pub version_place: Place,
}

impl Parsed {
    /// Every finding of the verifier, warnings included, and what is wrong with the declared version.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = verify::check_version(&self.module, self.version);
        for finding in &mut findings {
            finding.at.place = self.version_place;
        }
        findings.extend(verify::check(&self.module));
        findings
    }
}

/// What kind of mistake it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The text is not PTX.
    Malformed,
    /// It may be PTX, but it is outside of the subset that this crate knows.
    OutsideSubset,
}

/// A mistake in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Where.
    pub place: Place,
    /// What kind.
    pub trouble: Trouble,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trouble = match self.trouble {
            Trouble::Malformed => "",
            Trouble::OutsideSubset => "outside of the subset: ",
        };
        write!(f, "{}: {trouble}{}", self.place, self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// The mistakes of a text in its order; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseErrors(pub Vec<ParseError>);

impl fmt::Display for ParseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseErrors {}

/// Reads a text.
pub fn parse(text: &str) -> Result<Parsed, ParseErrors> {
    let (tokens, mut errors) = lexer::lex(text);
    let parsed = top::module(cursor::Cursor::new(tokens), &mut errors);
    match parsed {
        Some(parsed) if errors.is_empty() => Ok(parsed),
        _ => {
            errors.sort_by_key(|error| (error.place.line, error.place.column));
            Err(ParseErrors(errors))
        }
    }
}

type Result1<T> = Result<T, ParseError>;

fn malformed(place: Place, message: impl Into<String>) -> ParseError {
    ParseError { place, trouble: Trouble::Malformed, message: message.into(), hint: None }
}

fn outside(place: Place, message: impl Into<String>) -> ParseError {
    ParseError { place, trouble: Trouble::OutsideSubset, message: message.into(), hint: None }
}

impl ParseError {
    fn hint(mut self, hint: impl Into<String>) -> ParseError {
        self.hint = Some(hint.into());
        self
    }
}
