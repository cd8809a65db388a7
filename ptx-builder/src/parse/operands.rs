//! Operands: first as they are written, then, once the row is known, as what they mean.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::lexer::{Kind, Token};
use super::literal::{self, Number};
use super::scope::{Names, Symbol};
use super::{Result1, malformed, outside};
use crate::ir::{Addr, Base, Operand, ParamId};
use crate::isa::{Form, Mods, Op, SpecialReg};

/// An operand as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Raw<'a> {
    /// The comma or bar before it; `None` for the first.
    pub(super) separator: Option<char>,
    pub(super) token: Written<'a>,
    pub(super) kind: RawKind<'a>,
}

/// The first token of an operand; for a name with a component (`%tid.x`) the whole name.
#[derive(Debug, Clone)]
pub(super) struct Written<'a> {
    pub(super) first: Token<'a>,
    pub(super) name: Cow<'a, str>,
}

impl PartialEq for Written<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawKind<'a> {
    Name,
    Number { value: Number, negative: bool },
    List(Vec<Raw<'a>>),
    Address { base: Written<'a>, offset: i64 },
    Sink,
}

/// Reads operands up to the semicolon, which it leaves.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>) -> Result1<Vec<Raw<'a>>> {
    let mut operands: Vec<Raw<'a>> = Vec::new();
    if cursor.is_punct(";") {
        return Ok(operands);
    }
    let mut separator = None;
    loop {
        let token = cursor.peek();
        let mut operand = if cursor.take_punct("[") {
            address(cursor, token)?
        } else if cursor.take_punct("{") {
            list(cursor, token)?
        } else {
            simple(cursor)?
        };
        operand.separator = separator;
        operands.push(operand);
        separator = if cursor.take_punct(",") {
            Some(',')
        } else if cursor.take_punct("|") {
            Some('|')
        } else {
            return Ok(operands);
        };
    }
}

fn written<'a>(first: Token<'a>) -> Written<'a> {
    Written { first, name: Cow::Borrowed(first.text) }
}

fn list<'a>(cursor: &mut Cursor<'a>, open: Token<'a>) -> Result1<Raw<'a>> {
    let mut items = Vec::new();
    loop {
        items.push(simple(cursor)?);
        if !cursor.take_punct(",") {
            cursor.expect_punct("}")?;
            return Ok(Raw { separator: None, token: written(open), kind: RawKind::List(items) });
        }
    }
}

fn simple<'a>(cursor: &mut Cursor<'a>) -> Result1<Raw<'a>> {
    if cursor.is_punct("!") {
        return Err(outside(cursor.place(), "a negated predicate as an operand")
            .hint("negate it with `not.pred` before"));
    }
    let token = cursor.peek();
    let negative = cursor.take_punct("-");
    if negative || cursor.peek().kind == Kind::Number {
        let number = cursor.peek();
        if number.kind != Kind::Number {
            return Err(cursor.expected("a number"));
        }
        cursor.next();
        let value = literal::number(number)?;
        return Ok(Raw {
            separator: None,
            token: written(number),
            kind: RawKind::Number { value, negative },
        });
    }
    if cursor.is_punct("(") {
        return Err(outside(token.place, "a constant expression").hint("write its value"));
    }
    let name = name(cursor)?;
    if cursor.is_punct("+") || cursor.is_punct("-") {
        return Err(outside(cursor.place(), "a constant expression").hint("add with an instruction"));
    }
    let kind = if name.name == "_" { RawKind::Sink } else { RawKind::Name };
    Ok(Raw { separator: None, token: name, kind })
}

fn name<'a>(cursor: &mut Cursor<'a>) -> Result1<Written<'a>> {
    let first = cursor.expect_word("an operand")?;
    let mut name = Cow::Borrowed(first.text);
    while cursor.peek().kind == Kind::Dotted && cursor.peek().glued {
        name = Cow::Owned(format!("{name}.{}", cursor.next().text));
    }
    Ok(Written { first, name })
}

fn address<'a>(cursor: &mut Cursor<'a>, open: Token<'a>) -> Result1<Raw<'a>> {
    if cursor.peek().kind == Kind::Number {
        return Err(outside(cursor.place(), "an address that is a number").hint("move it into a register"));
    }
    let base = name(cursor)?;
    let mut offset = 0;
    if cursor.is_punct("-") {
        return Err(
            malformed(cursor.place(), "an offset is added, not subtracted").hint("write `+-` and the number")
        );
    }
    if cursor.take_punct("+") {
        let negative = cursor.take_punct("-");
        let number = cursor.peek();
        if number.kind != Kind::Number {
            return Err(if number.kind == Kind::Word {
                outside(number.place, "an address with a second register").hint("add the registers first")
            } else {
                cursor.expected("a number of bytes")
            });
        }
        cursor.next();
        let bytes = literal::integer(number.text).and_then(|value| i64::try_from(value).ok());
        let bytes = bytes
            .ok_or_else(|| malformed(number.place, format!("`{}` is not a number of bytes", number.text)))?;
        offset = if negative { -bytes } else { bytes };
    }
    if cursor.is_punct(",") {
        return Err(outside(cursor.place(), "an address with coordinates"));
    }
    cursor.expect_punct("]")?;
    Ok(Raw { separator: None, token: written(open), kind: RawKind::Address { base, offset } })
}

/// What operand names mean in an entry.
pub(super) struct Meaning<'m> {
    pub(super) names: &'m mut Names,
    pub(super) params: &'m dyn Fn(&str) -> Option<ParamId>,
}

impl Meaning<'_> {
    /// The operand at `index` of an instruction whose row is known.
    pub(super) fn operand(&mut self, raw: &Raw<'_>, op: Op, mods: &Mods, index: usize) -> Result1<Operand> {
        match &raw.kind {
            RawKind::Sink => Ok(Operand::Sink),
            RawKind::Name => self.name(&raw.token),
            RawKind::Number { value, negative } => {
                let form = Form::of(op);
                let ty = form.operands.get(index).and_then(|spec| form.operand_ty(spec, mods).0);
                let place = raw.token.first.place;
                let ty = ty.ok_or_else(|| malformed(place, "a number where an address is expected"))?;
                Ok(Operand::Imm(literal::typed(*value, *negative, ty, raw.token.first)?))
            }
            RawKind::List(items) => {
                let items = items.iter().map(|item| self.operand(item, op, mods, index));
                Ok(Operand::Vec(items.collect::<Result<_, _>>()?))
            }
            RawKind::Address { base, offset } => {
                let base = match self.names.look_up(&base.name) {
                    Some(Symbol::Reg(reg)) => Base::Reg(reg),
                    Some(Symbol::Shared(id)) => Base::Shared(id),
                    None => match (self.params)(&base.name) {
                        Some(id) => Base::Param(id),
                        None => return Err(undeclared(base)),
                    },
                };
                Ok(Operand::Addr(Addr { base, offset: *offset }))
            }
        }
    }

    fn name(&mut self, written: &Written<'_>) -> Result1<Operand> {
        match self.names.look_up(&written.name) {
            Some(Symbol::Reg(reg)) => return Ok(Operand::Reg(reg)),
            Some(Symbol::Shared(id)) => return Ok(Operand::Shared(id)),
            None => {}
        }
        if let Some(special) = SpecialReg::from_name(&written.name) {
            return Ok(Operand::Special(special));
        }
        let place = written.first.place;
        if (self.params)(&written.name).is_some() {
            return Err(outside(place, format!("the address of parameter `{}`", written.name)));
        }
        if written.name == "WARP_SZ" {
            return Err(outside(place, "the constant `WARP_SZ`").hint("write 32"));
        }
        Err(undeclared(written))
    }
}

fn undeclared(written: &Written<'_>) -> super::ParseError {
    let place = written.first.place;
    if written.name.contains('.') {
        return outside(place, format!("`{}` is no special register of the subset", written.name));
    }
    malformed(place, format!("`{}` is not declared", written.name))
}
