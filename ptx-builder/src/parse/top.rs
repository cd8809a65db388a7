//! The module: version, target, arrays at module scope, entries.

use super::body::shared_array;
use super::cursor::Cursor;
use super::lexer::Kind;
use super::rows::Rows;
use super::scope::Names;
use super::{ParseError, Parsed, Result1, entry, malformed, outside};
use crate::ir::{Addr, Base, Entry, Module, Operand, Place, SharedArray, SharedId};
use crate::target::{PtxVersion, Target};

/// An array at module scope.
#[derive(Debug)]
pub(super) struct Global {
    pub(super) array: SharedArray,
    /// The entry that follows it in the text.
    next_entry: usize,
    pub(super) used: bool,
}

/// Reads a module. `None` only if there are errors.
pub(super) fn module(mut cursor: Cursor<'_>, errors: &mut Vec<ParseError>) -> Option<Parsed> {
    let version = declared(&mut cursor, "version", errors, version);
    let target = declared(&mut cursor, "target", errors, target);
    let rows = Rows::new();
    let mut globals: Vec<Global> = Vec::new();
    let mut entries: Vec<(Entry, Vec<Option<usize>>)> = Vec::new();
    while !cursor.at_end() {
        let result = declaration(&mut cursor, &rows, &mut globals, &mut entries, errors);
        if let Err(error) = result {
            errors.push(error);
            cursor.skip_declaration();
        }
    }
    adopt(&mut globals, &mut entries);
    let entries = entries.into_iter().map(|(entry, origins)| arranged(entry, origins)).collect();
    let (version, version_place) = version?;
    let (target, _) = target?;
    Some(Parsed { module: Module { target, entries }, version, version_place })
}

/// `.name …`, required here.
fn declared<T>(
    cursor: &mut Cursor<'_>,
    name: &str,
    errors: &mut Vec<ParseError>,
    read: fn(&mut Cursor<'_>) -> Result1<T>,
) -> Option<(T, Place)> {
    let place = cursor.place();
    if !cursor.take_dotted(name) {
        errors.push(cursor.expected(&format!("`.{name}`")));
        return None;
    }
    match read(cursor) {
        Ok(value) => Some((value, place)),
        Err(error) => {
            errors.push(error);
            // Whatever is wrong with it, it ends where the next directive begins.
            while !cursor.at_end() && cursor.peek().kind != Kind::Dotted {
                cursor.next();
            }
            None
        }
    }
}

fn version(cursor: &mut Cursor<'_>) -> Result1<PtxVersion> {
    let token = cursor.peek();
    if token.kind != Kind::Number {
        return Err(cursor.expected("a version"));
    }
    cursor.next();
    token.text.parse().map_err(|message: String| malformed(token.place, message))
}

fn target(cursor: &mut Cursor<'_>) -> Result1<Target> {
    let token = cursor.expect_word("a target")?;
    let target = token.text.parse::<Target>().map_err(|error| outside(token.place, error.to_string()))?;
    if cursor.is_punct(",") {
        cursor.next();
        return Err(outside(cursor.place(), "a second target or an option of the target"));
    }
    Ok(target)
}

fn declaration(
    cursor: &mut Cursor<'_>,
    rows: &Rows,
    globals: &mut Vec<Global>,
    entries: &mut Vec<(Entry, Vec<Option<usize>>)>,
    errors: &mut Vec<ParseError>,
) -> Result1<()> {
    let token = cursor.expect_dotted("a directive")?;
    match token.text {
        "address_size" => {
            let bits = cursor.expect_u32("a number of bits")?;
            if bits != 64 {
                errors.push(outside(token.place, format!("addresses of {bits} bits")));
            }
            Ok(())
        }
        "file" => {
            while matches!(cursor.peek().kind, Kind::Number | Kind::Quoted) || cursor.is_punct(",") {
                cursor.next();
            }
            Ok(())
        }
        "pragma" => {
            cursor.skip_declaration();
            Ok(())
        }
        "visible" if cursor.is_dotted("entry") => Ok(()),
        "entry" => {
            let names = Names::with_globals(globals);
            if let Some((entry, names)) = entry::read(cursor, rows, names, token.place, errors) {
                entries.push((entry, names.origins(globals)));
            }
            Ok(())
        }
        "extern" | "shared" => {
            let dynamic = token.text == "extern";
            if dynamic && !cursor.take_dotted("shared") {
                return Err(outside(token.place, "an `.extern` declaration other than of a shared array"));
            }
            let array = shared_array(cursor, dynamic)?;
            globals.push(Global { array, next_entry: entries.len(), used: false });
            Ok(())
        }
        other => Err(outside(token.place, format!("the directive `.{other}` at module scope"))),
    }
}

/// A dynamic array that no entry uses belongs to the entry behind it, as the printer places it.
fn adopt(globals: &mut [Global], entries: &mut [(Entry, Vec<Option<usize>>)]) {
    for (i, global) in globals.iter().enumerate().filter(|(_, global)| !global.used) {
        if let Some((entry, origins)) = entries.get_mut(global.next_entry)
            && global.array.len.is_none()
        {
            entry.shared.push(global.array.clone());
            origins.push(Some(i));
        }
    }
}

/// The order of the printed text: dynamic arrays as the module declares them, then static ones as the body does.
fn arranged(mut entry: Entry, origins: Vec<Option<usize>>) -> Entry {
    let mut order: Vec<usize> = (0..entry.shared.len()).collect();
    order.sort_by_key(|i| (entry.shared[*i].len.is_some(), origins[*i].is_none(), origins[*i], *i));
    let mut moved = vec![SharedId(0); order.len()];
    for (new, old) in order.iter().enumerate() {
        moved[*old] = SharedId(new as u32);
    }
    entry.shared = order.iter().map(|old| entry.shared[*old].clone()).collect();
    for operand in
        entry.blocks.iter_mut().flat_map(|block| &mut block.insts).flat_map(|inst| &mut inst.operands)
    {
        if let Operand::Shared(id) | Operand::Addr(Addr { base: Base::Shared(id), .. }) = operand {
            *id = moved[id.index()];
        }
    }
    entry
}
