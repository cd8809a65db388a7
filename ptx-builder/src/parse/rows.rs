//! Matching an instruction with the rows of the table: first the name with its modifiers, then the shape of the operands.

use std::collections::HashMap;

use super::lexer::Token;
use super::operands::{Raw, RawKind};
use super::{ParseError, outside};
use crate::isa::syntax::{self, Piece, Segment};
use crate::isa::{Form, Misfit, Mod, Mods, Op, OpTy, Slot};
use crate::types::Ty;

/// The rows of each mnemonic.
pub(super) struct Rows(HashMap<&'static str, Vec<Op>>);

/// How one operand stands in a row's syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Bracketed,
    Braced,
    /// `_` in the syntax: a result that must be dropped and is no operand of the representation.
    Dropped,
}

impl Rows {
    pub(super) fn new() -> Rows {
        let mut rows: HashMap<&'static str, Vec<Op>> = HashMap::new();
        for form in Form::all() {
            // The instructions that end a block are terminators of the representation.
            if !matches!(form.op, Op::Bra | Op::Ret | Op::Exit | Op::Trap) {
                rows.entry(form.mnemonic()).or_default().push(form.op);
            }
        }
        Rows(rows)
    }

    /// The row and the modifiers of an instruction. `parts` are its modifiers as they are written.
    pub(super) fn find(
        &self,
        mnemonic: Token<'_>,
        parts: &[Token<'_>],
        operands: &[Raw<'_>],
    ) -> Result<(Op, Mods), ParseError> {
        let name = || parts.iter().fold(mnemonic.text.to_owned(), |name, part| name + "." + part.text);
        let Some(ops) = self.0.get(mnemonic.text) else {
            return Err(outside(mnemonic.place, format!("`{}` is not an instruction of the subset", name())));
        };
        let mut named = Vec::new();
        let mut deepest = 0;
        let mut misfit = None;
        for &op in ops {
            match head(op, parts) {
                Ok(mods) if excluded(op, &mods).is_some() => misfit = misfit.or(excluded(op, &mods)),
                Ok(mods) if fits(op, &mods, operands) => return Ok((op, mods)),
                Ok(_) => named.push(op),
                Err(depth) => deepest = deepest.max(depth),
            }
        }
        if !named.is_empty() {
            return Err(outside(mnemonic.place, format!("`{}` is written with other operands", name()))
                .hint(format!("the subset has {}", forms(&named))));
        }
        if let Some(conditions) = misfit {
            let message = format!("`{}` combines modifiers that exclude each other", name());
            return Err(outside(mnemonic.place, message).hint(format!("the table has no {conditions}")));
        }
        if let Some(error) = unrounded(mnemonic, parts, &name()) {
            return Err(error);
        }
        let closest: Vec<Op> =
            ops.iter().copied().filter(|op| head(*op, parts).is_err_and(|depth| depth == deepest)).collect();
        let message = match parts.get(deepest) {
            Some(part) => format!("`.{}` does not fit `{}` here", part.text, name()),
            None => format!("`{}` is incomplete", name()),
        };
        let place = parts.get(deepest).map_or(mnemonic.place, |part| part.place);
        let mut hint = format!("the subset has {}", forms(&closest));
        let expected = expected(&closest, parts, deepest);
        if !expected.is_empty() {
            hint.push_str(&format!("; here it takes {}", expected.join(", ")));
        }
        Err(outside(place, message).hint(hint))
    }
}

/// Assemblers may fuse a float sum with a product where no rounding is written; that result is not the text's.
fn unrounded(mnemonic: Token<'_>, parts: &[Token<'_>], name: &str) -> Option<ParseError> {
    let contracted = matches!(mnemonic.text, "add" | "sub" | "mul" | "mad" | "fma");
    let ty = parts.last().and_then(|part| Ty::from_suffix(part.text))?;
    let float = ty.is_float() || matches!(ty, Ty::F16x2 | Ty::Bf16x2 | Ty::F32x2);
    let rounded = parts.iter().any(|part| matches!(part.text, "rn" | "rz" | "rm" | "rp"));
    (contracted && float && !rounded).then(|| {
        outside(
            mnemonic.place,
            format!("`{name}` states no rounding, an assembler may fuse it with another instruction"),
        )
        .hint("write `.rn`")
    })
}

/// What keeps modifiers that a row knows one by one from being one of its instructions.
fn excluded(op: Op, mods: &Mods) -> Option<Misfit> {
    Form::of(op).misfit(mods)
}

/// The modifiers, or how many of the parts were understood.
fn head(op: Op, parts: &[Token<'_>]) -> Result<Mods, usize> {
    let form = Form::of(op);
    let mut mods = Mods::NONE;
    let mut at = 0;
    for segment in form.head().iter().skip(1) {
        let part = parts.get(at).map(|part| part.text);
        let found = match segment {
            Segment::Literal(text) => part == Some(*text),
            Segment::Slot { slot, .. } => match part.and_then(|part| Mod::from_text(*slot, part)) {
                Some(modifier) if form.allows(modifier) => {
                    mods.set(modifier);
                    true
                }
                _ => false,
            },
        };
        at += usize::from(found);
        if !found && !matches!(segment, Segment::Slot { optional: true, .. }) {
            return Err(at);
        }
    }
    if at == parts.len() { Ok(mods) } else { Err(at) }
}

/// What the rows would take as the part at `depth`.
fn expected(ops: &[Op], parts: &[Token<'_>], depth: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        let text = format!("`.{text}`");
        if !texts.contains(&text) {
            texts.push(text);
        }
    };
    for &op in ops {
        let form = Form::of(op);
        let mut at = 0;
        for segment in form.head().iter().skip(1) {
            let part = parts.get(at).map(|part| part.text);
            match segment {
                Segment::Literal(text) => {
                    if at == depth {
                        add(text);
                        break;
                    }
                    at += usize::from(part == Some(*text));
                }
                Segment::Slot { slot, optional } => {
                    let taken =
                        part.and_then(|part| Mod::from_text(*slot, part)).is_some_and(|m| form.allows(m));
                    if taken && at < depth {
                        at += 1;
                    } else if at == depth {
                        values(form, *slot).for_each(&mut add);
                        if !optional {
                            break;
                        }
                    }
                }
            }
        }
    }
    texts
}

/// The texts of a slot that a row allows.
fn values(form: &'static Form, slot: Slot) -> impl Iterator<Item = &'static str> {
    let texts: Vec<&'static str> = match slot {
        Slot::T => form.types.iter().map(|ty| ty.suffix()).collect(),
        Slot::S => form.source_types.iter().map(|ty| ty.suffix()).collect(),
        slot => slot.values().to_vec(),
    };
    texts.into_iter().filter(move |text| Mod::from_text(slot, text).is_some_and(|m| form.allows(m)))
}

fn forms(ops: &[Op]) -> String {
    let mut syntaxes: Vec<String> = Vec::new();
    for op in ops {
        let syntax = format!("`{}`", Form::of(*op).syntax);
        if !syntaxes.contains(&syntax) {
            syntaxes.push(syntax);
        }
    }
    syntaxes.join(", ")
}

/// The operands of a row with the separator before each; `None` for a syntax that the reader does not know.
fn shapes(op: Op) -> Option<Vec<(Option<char>, Shape)>> {
    let mut all: Vec<(Option<char>, Shape)> = Vec::new();
    let (mut separator, mut shape) = (None, Shape::Plain);
    let mut filled = false;
    for piece in syntax::operands(op) {
        match piece {
            Piece::Punct('[') => (shape, filled) = (Shape::Bracketed, false),
            Piece::Punct('{') => (shape, filled) = (Shape::Braced, false),
            Piece::Punct(']' | '}') => shape = Shape::Plain,
            Piece::Punct('_') => all.push((separator, Shape::Dropped)),
            Piece::Punct(c) => separator = Some(*c),
            Piece::Operand(_) => {
                // Two operands in one pair of brackets.
                if shape != Shape::Plain && std::mem::replace(&mut filled, true) {
                    return None;
                }
                all.push((separator, shape));
            }
        }
    }
    Some(all)
}

/// Takes away the operands that the representation does not have.
pub(super) fn without_dropped<'a>(op: Op, operands: Vec<Raw<'a>>) -> Vec<Raw<'a>> {
    let shapes = shapes(op).unwrap_or_default();
    let kept = operands.into_iter().zip(shapes).filter(|(_, (_, shape))| *shape != Shape::Dropped);
    kept.map(|(raw, _)| raw).collect()
}

fn fits(op: Op, mods: &Mods, operands: &[Raw<'_>]) -> bool {
    let Some(shapes) = shapes(op) else { return false };
    let mut specs = Form::of(op).operands.iter();
    shapes.len() == operands.len()
        && shapes.iter().zip(operands).all(|((separator, shape), raw)| {
            if *shape == Shape::Dropped {
                return raw.kind == RawKind::Sink && *separator == raw.separator;
            }
            let vector = specs.next().is_some_and(|spec| spec.ty == OpTy::VecT && mods.vec() > 1);
            let list = *shape == Shape::Braced || vector;
            let kind = match raw.kind {
                RawKind::List(_) => list,
                RawKind::Address { .. } => *shape == Shape::Bracketed,
                RawKind::Name | RawKind::Number { .. } | RawKind::Sink => *shape == Shape::Plain && !list,
            };
            kind && *separator == raw.separator
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read() {
        for form in Form::all() {
            assert!(shapes(form.op).is_some(), "{}", form.syntax);
        }
    }
}
