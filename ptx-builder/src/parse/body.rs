//! The body of an entry: declarations, labels and instructions, in nested scopes.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::lexer::Kind;
use super::operands::{self, Meaning};
use super::rows::{self, Rows};
use super::scope::{Names, Symbol};
use super::{ParseError, Result1, malformed, outside};
use crate::ir::{Guard, Inst, ParamId, Place, SharedArray, Terminator};
use crate::types::Ty;

/// Scopes inside of each other; a name is looked up through all of them.
const MAX_DEPTH: usize = 64;

/// A statement, jumps still by name.
pub(super) enum Item {
    Inst(Inst),
    Label(usize),
    Jump { guard: Option<Guard>, uniform: bool, label: String, scope: usize, place: Place },
    End { guard: Option<Guard>, term: Terminator, place: Place },
}

pub(super) struct Body<'r> {
    rows: &'r Rows,
    params: HashMap<String, ParamId>,
    pub(super) names: Names,
    pub(super) items: Vec<Item>,
    /// Names of the labels, by the index in [`Item::Label`].
    pub(super) labels: Vec<String>,
    depth: usize,
}

impl<'r> Body<'r> {
    pub(super) fn new(rows: &'r Rows, params: HashMap<String, ParamId>, names: Names) -> Body<'r> {
        Body { rows, params, names, items: Vec::new(), labels: Vec::new(), depth: 0 }
    }

    /// Reads from behind the opening brace to behind the closing one.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>, errors: &mut Vec<ParseError>) {
        loop {
            if cursor.at_end() {
                errors.push(cursor.expected("`}`"));
                return;
            }
            let place = cursor.place();
            if cursor.take_punct("}") {
                if !self.names.close() {
                    return;
                }
                self.depth -= 1;
            } else if cursor.take_punct("{") {
                self.names.open();
                self.depth += 1;
                if self.depth == MAX_DEPTH {
                    errors.push(outside(place, format!("more than {MAX_DEPTH} scopes inside of each other")));
                    return;
                }
            } else if let Err(error) = self.statement(cursor, errors) {
                errors.push(error);
                cursor.skip_statement();
            }
        }
    }

    fn statement(&mut self, cursor: &mut Cursor<'_>, errors: &mut Vec<ParseError>) -> Result1<()> {
        let token = cursor.peek();
        match token.kind {
            Kind::Dotted => self.directive(cursor),
            Kind::Word if cursor.peek_second().text == ":" => {
                cursor.next();
                cursor.next();
                match self.names.declare_label(token.text, self.labels.len(), token.place) {
                    Ok(()) => {
                        self.items.push(Item::Label(self.labels.len()));
                        self.labels.push(token.text.to_owned());
                    }
                    // What follows the label is a statement of its own.
                    Err(error) => errors.push(error),
                }
                Ok(())
            }
            Kind::Word => self.instruction(cursor, None, token.place),
            Kind::Punct if token.text == "@" => {
                cursor.next();
                let negated = cursor.take_punct("!");
                let name = cursor.expect_word("a predicate")?;
                let pred = match self.names.look_up(name.text) {
                    Some(Symbol::Reg(reg)) => reg,
                    Some(Symbol::Shared(_)) | None => {
                        return Err(malformed(
                            name.place,
                            format!("`{}` is not a declared predicate", name.text),
                        ));
                    }
                };
                if self.names.ty(pred) != Ty::Pred {
                    let message = format!("the guard `{}` is declared `{}`", name.text, self.names.ty(pred));
                    return Err(malformed(name.place, message).hint("a guard is a `.pred` register"));
                }
                self.instruction(cursor, Some(Guard { pred, negated }), token.place)
            }
            Kind::Number | Kind::Quoted | Kind::Punct | Kind::End => Err(cursor.expected("an instruction")),
        }
    }

    fn directive(&mut self, cursor: &mut Cursor<'_>) -> Result1<()> {
        let token = cursor.next();
        match token.text {
            "reg" => self.registers(cursor),
            "shared" => {
                let array = shared_array(cursor, false)?;
                self.names.declare_shared(array)
            }
            // Neither changes what is computed.
            "loc" | "pragma" => {
                if token.text == "pragma" {
                    cursor.skip_statement();
                } else {
                    skip_line(cursor, token.place.line);
                }
                Ok(())
            }
            other => Err(outside(token.place, format!("the directive `.{other}` in a body"))),
        }
    }

    fn registers(&mut self, cursor: &mut Cursor<'_>) -> Result1<()> {
        let token = cursor.expect_dotted("a type")?;
        let Some(ty) = Ty::from_suffix(token.text) else {
            return Err(outside(token.place, format!("registers of the type `.{}`", token.text)));
        };
        if !ty.is_register() {
            return Err(outside(token.place, format!("registers of the type `{ty}`"))
                .hint(format!("declare them `{}`", ty.register())));
        }
        loop {
            let name = cursor.expect_word("a register's name")?;
            let count = if cursor.take_punct("<") {
                let count = cursor.expect_u32("a number of registers")?;
                cursor.expect_punct(">")?;
                Some(count)
            } else {
                None
            };
            self.names.declare(name.text, ty, count, name.place)?;
            if !cursor.take_punct(",") {
                return cursor.expect_punct(";");
            }
        }
    }

    fn instruction(&mut self, cursor: &mut Cursor<'_>, guard: Option<Guard>, place: Place) -> Result1<()> {
        let mnemonic = cursor.expect_word("an instruction")?;
        let mut parts = Vec::new();
        while cursor.peek().kind == Kind::Dotted && cursor.peek().glued {
            parts.push(cursor.next());
        }
        let plain = parts.is_empty();
        let uniform = parts.len() == 1 && parts[0].text == "uni";
        let end = match mnemonic.text {
            "bra" if plain || uniform => {
                let label = cursor.expect_word("a label")?.text.to_owned();
                cursor.expect_punct(";")?;
                let scope = self.names.scope();
                self.items.push(Item::Jump { guard, uniform, label, scope, place });
                return Ok(());
            }
            // `.uni` says that the whole warp ends together, which is a hint only.
            "ret" if plain || uniform => Some(Terminator::Ret),
            "exit" if plain => Some(Terminator::Exit),
            "trap" if plain => Some(Terminator::Trap),
            _ => None,
        };
        if let Some(term) = end {
            cursor.expect_punct(";")?;
            self.items.push(Item::End { guard, term, place });
            return Ok(());
        }
        let raw = operands::read(cursor)?;
        if !cursor.is_punct(";") {
            return Err(cursor.expected("`;`"));
        }
        let (op, mods) = self.rows.find(mnemonic, &parts, &raw)?;
        let raw = rows::without_dropped(op, raw);
        let params = |name: &str| self.params.get(name).copied();
        let mut meaning = Meaning { names: &mut self.names, params: &params };
        let mut list = Vec::with_capacity(raw.len());
        for (i, operand) in raw.iter().enumerate() {
            list.push(meaning.operand(operand, op, &mods, i)?);
        }
        cursor.expect_punct(";")?;
        self.items.push(Item::Inst(Inst { op, mods, operands: list, guard, place }));
        Ok(())
    }
}

/// `.loc` has no semicolon: it ends with its line.
fn skip_line(cursor: &mut Cursor<'_>, line: u32) {
    while !cursor.at_end() && cursor.place().line == line && !cursor.is_punct("}") {
        cursor.next();
    }
}

/// A shared array from behind `.shared` to behind the semicolon.
pub(super) fn shared_array(cursor: &mut Cursor<'_>, dynamic: bool) -> Result1<SharedArray> {
    let align = if cursor.take_dotted("align") { Some(cursor.expect_u32("an alignment")?) } else { None };
    let token = cursor.expect_dotted("a type")?;
    let Some(ty) = Ty::from_suffix(token.text) else {
        return Err(outside(token.place, format!("shared arrays of the type `.{}`", token.text)));
    };
    let name = cursor.expect_word("a name")?;
    let mut len = Some(1);
    if cursor.take_punct("[") {
        len = if cursor.is_punct("]") { None } else { Some(cursor.expect_u32("a number of elements")?) };
        cursor.expect_punct("]")?;
    }
    if cursor.is_punct("[") {
        return Err(outside(cursor.place(), "an array of arrays").hint("declare one array of all elements"));
    }
    if cursor.is_punct("=") {
        return Err(malformed(cursor.place(), "shared memory has no initial value"));
    }
    if dynamic != len.is_none() {
        let message = if dynamic { "an `.extern` array has no size" } else { "a static array has a size" };
        return Err(malformed(name.place, message)
            .hint("an array whose size the launch gives is `.extern .shared … name[];`"));
    }
    cursor.expect_punct(";")?;
    Ok(SharedArray {
        name: name.text.to_owned(),
        align: align.unwrap_or(ty.bytes()),
        ty,
        len,
        place: name.place,
    })
}
