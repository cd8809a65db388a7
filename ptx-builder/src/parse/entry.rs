//! An entry: its header, its body, and the tables that the body refers to.

use std::collections::HashMap;

use super::blocks;
use super::body::Body;
use super::cursor::Cursor;
use super::lexer::Kind;
use super::rows::Rows;
use super::scope::Names;
use super::{ParseError, Result1, malformed, outside};
use crate::ir::{Entry, LaunchBounds, Param, ParamId, Place};
use crate::types::Ty;

/// Reads an entry from behind `.entry` to behind its closing brace. `names` knows the arrays of the module.
pub(super) fn read(
    cursor: &mut Cursor<'_>,
    rows: &Rows,
    names: Names,
    place: Place,
    errors: &mut Vec<ParseError>,
) -> Option<(Entry, Names)> {
    let header = match header(cursor) {
        Ok(header) => header,
        Err(error) => {
            errors.push(error);
            cursor.skip_declaration();
            return None;
        }
    };
    let (name, params, bounds) = header;
    let mut by_name = HashMap::new();
    for (i, param) in params.iter().enumerate() {
        if by_name.insert(param.name.clone(), ParamId(i as u32)).is_some() {
            errors.push(malformed(param.place, format!("`{}` is declared twice", param.name)));
        }
    }
    let mut body = Body::new(rows, by_name, names);
    body.read(cursor, errors);
    let (blocks, regs, mut names) = blocks::build(body, errors);
    let shared = std::mem::take(&mut names.shared);
    Some((Entry { name, params, bounds, shared, regs, blocks, place }, names))
}

type Header = (String, Vec<Param>, LaunchBounds);

fn header(cursor: &mut Cursor<'_>) -> Result1<Header> {
    let name = cursor.expect_word("the name of a kernel")?.text.to_owned();
    let mut params = Vec::new();
    if cursor.take_punct("(") && !cursor.take_punct(")") {
        loop {
            params.push(param(cursor)?);
            if !cursor.take_punct(",") {
                cursor.expect_punct(")")?;
                break;
            }
        }
    }
    let mut bounds = LaunchBounds::default();
    loop {
        let token = cursor.peek();
        if token.kind != Kind::Dotted {
            cursor.expect_punct("{")?;
            return Ok((name, params, bounds));
        }
        cursor.next();
        let repeated = match token.text {
            "reqntid" => bounds.block.replace(triple(cursor)?).is_some(),
            "maxntid" => bounds.max_block.replace(triple(cursor)?).is_some(),
            "reqnctapercluster" => bounds.cluster.replace(triple(cursor)?).is_some(),
            "minnctapersm" => bounds.min_blocks.replace(cursor.expect_u32("a number of blocks")?).is_some(),
            "maxnreg" => bounds.max_regs.replace(cursor.expect_u32("a number of registers")?).is_some(),
            "pragma" => {
                cursor.next();
                cursor.expect_punct(";")?;
                false
            }
            other => return Err(outside(token.place, format!("the directive `.{other}` of an entry"))),
        };
        if repeated {
            return Err(malformed(token.place, format!("`.{}` is given twice", token.text)));
        }
    }
}

/// One to three sizes; those left out are 1.
fn triple(cursor: &mut Cursor<'_>) -> Result1<[u32; 3]> {
    let mut sizes = [1; 3];
    for (i, size) in sizes.iter_mut().enumerate() {
        if i > 0 && !cursor.take_punct(",") {
            break;
        }
        *size = cursor.expect_u32("a size")?;
    }
    Ok(sizes)
}

fn param(cursor: &mut Cursor<'_>) -> Result1<Param> {
    if !cursor.take_dotted("param") {
        return Err(cursor.expected("`.param`"));
    }
    if cursor.is_dotted("align") {
        return Err(outside(cursor.place(), "a parameter that is an array")
            .hint("pass its elements, or a pointer to them"));
    }
    let token = cursor.expect_dotted("a type")?;
    let Some(ty) = Ty::from_suffix(token.text) else {
        return Err(outside(token.place, format!("a parameter of the type `.{}`", token.text)));
    };
    let mut pointer_align = None;
    if cursor.take_dotted("ptr") {
        // The manual's default; a pointer that may point anywhere promises nothing.
        const DEFAULT_ALIGN: u32 = 4;
        let space = cursor.peek();
        let global = cursor.take_dotted("global");
        if !global && space.kind == Kind::Dotted && space.text != "align" {
            return Err(outside(space.place, format!("a pointer to `.{}`", space.text)));
        }
        let align =
            if cursor.take_dotted("align") { cursor.expect_u32("an alignment")? } else { DEFAULT_ALIGN };
        pointer_align = global.then_some(align);
    }
    let name = cursor.expect_word("the name of a parameter")?;
    if cursor.is_punct("[") {
        return Err(outside(cursor.place(), "a parameter that is an array")
            .hint("pass its elements, or a pointer to them"));
    }
    Ok(Param { name: name.text.to_owned(), ty, pointer_align, place: name.place })
}
