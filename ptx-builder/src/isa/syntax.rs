//! Row syntaxes taken apart, once per process.

use std::sync::OnceLock;

use super::table::FORMS;
use super::{Op, Slot};

/// A dot-separated part of an instruction's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// Fixed text.
    Literal(&'static str),
    /// A modifier.
    Slot {
        /// Which one.
        slot: Slot,
        /// Whether it may be absent.
        optional: bool,
    },
}

/// A part of an instruction's operand list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Punctuation: one of `,`, `[`, `]`, `|`, `{`, `}`, and `_` where the result must be dropped.
    Punct(char),
    /// The operand of this index.
    Operand(usize),
}

struct Syntax {
    head: Vec<Segment>,
    operands: Vec<Piece>,
    names: Vec<&'static str>,
}

fn all() -> &'static [Syntax] {
    static ALL: OnceLock<Vec<Syntax>> = OnceLock::new();
    ALL.get_or_init(|| FORMS.iter().map(|form| parse(form.syntax)).collect())
}

/// The name of an instruction as segments, mnemonic first.
pub fn head(op: Op) -> &'static [Segment] {
    &all()[op as usize].head
}

/// The operand list of an instruction.
pub fn operands(op: Op) -> &'static [Piece] {
    &all()[op as usize].operands
}

/// The position of the operand that the syntax calls `name`, for example `m` for a member mask.
pub fn operand_named(op: Op, name: &str) -> Option<usize> {
    all()[op as usize].names.iter().position(|own| *own == name)
}

fn parse(syntax: &'static str) -> Syntax {
    let (head_text, operand_text) = syntax.split_once(' ').unwrap_or((syntax, ""));
    let mut head = Vec::new();
    let mut rest = head_text;
    let mut optional = false;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("{.") {
            optional = true;
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            optional = false;
            rest = after;
        }
        let end = rest.find(['.', '{', '}']).unwrap_or(rest.len());
        let name = &rest[..end];
        let slot = Slot::ALL.iter().copied().find(|slot| slot.name() == name && !head.is_empty());
        head.push(match slot {
            Some(slot) => Segment::Slot { slot, optional },
            None => Segment::Literal(name),
        });
        rest = rest[end..].strip_prefix('}').unwrap_or(&rest[end..]);
    }
    let mut operands = Vec::new();
    let mut names = Vec::new();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = operand_text;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        match &rest[..end] {
            "" if c == ' ' => {}
            "" => operands.push(Piece::Punct(c)),
            "_" => operands.push(Piece::Punct('_')),
            name => {
                operands.push(Piece::Operand(names.len()));
                names.push(name);
            }
        }
        rest = &rest[end.max(c.len_utf8())..];
    }
    Syntax { head, operands, names }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Form;

    #[test]
    fn rows_name_as_many_operands_as_they_type() {
        for form in Form::all() {
            let named = operands(form.op).iter().filter(|piece| matches!(piece, Piece::Operand(_))).count();
            assert_eq!(named, form.operands.len(), "{}", form.syntax);
        }
    }

    #[test]
    fn optional_segments_keep_their_order() {
        let parsed = parse("fma.rnd{.ftz}{.sat}.T d, a, b, c");
        assert_eq!(parsed.head[0], Segment::Literal("fma"));
        assert_eq!(parsed.head[1], Segment::Slot { slot: Slot::Rnd, optional: false });
        assert_eq!(parsed.head[2], Segment::Slot { slot: Slot::Ftz, optional: true });
        assert_eq!(parsed.head.len(), 5);
        assert_eq!(parsed.operands.len(), 7);
    }
}
