//! Source lines in the text: one `.file` for each of the author's files, a `.loc` where the place changes.
//!
//! Paths are those of [`Place`], relative to the repository, with `/` between their parts on every machine. An instruction
//! without a place in a file has no line of its own: debuggers then show the one before it.

use std::fmt::{self, Write};

use crate::ir::{Entry, Inst, Module, Place, Terminator};

/// What has been written about source lines so far; off, it writes nothing.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// In the order of their first instruction; a file's number is its position, from 1.
    files: Vec<&'static str>,
    last: Option<(usize, u32, u32)>,
}

impl Lines {
    /// Without source lines.
    pub(super) fn off() -> Lines {
        Lines::default()
    }

    /// The files of a module.
    pub(super) fn of(module: &Module) -> Lines {
        let mut files = Vec::new();
        for place in module.entries.iter().flat_map(places).filter(has_file) {
            if !files.contains(&place.file) {
                files.push(place.file);
            }
        }
        Lines { files, last: None }
    }

    /// The `.file` directives.
    pub(super) fn write_files(&self, f: &mut impl Write) -> fmt::Result {
        for (i, file) in self.files.iter().enumerate() {
            writeln!(f, ".file {} \"{}\"", i + 1, file.replace('\\', "/"))?;
        }
        Ok(())
    }

    /// A `.loc` for the instruction that follows, unless the last one is the same.
    pub(super) fn write_place(&mut self, f: &mut impl Write, place: Place) -> fmt::Result {
        // Instructions of one file stand together, so the search is short; without lines it is empty.
        let Some(file) = self.files.iter().position(|file| *file == place.file && place.is_known()) else {
            return Ok(());
        };
        let now = (file, place.line, place.column);
        if self.last.replace(now) == Some(now) {
            return Ok(());
        }
        writeln!(f, "\t.loc {} {} {}", file + 1, place.line, place.column)
    }
}

/// The places that an entry's text names, in its order.
fn places(entry: &Entry) -> impl Iterator<Item = Place> {
    entry.blocks.iter().flat_map(|block| {
        let end = (!matches!(block.term, Terminator::Fall)).then_some(block.term_place);
        block.insts.iter().map(|inst: &Inst| inst.place).chain(end)
    })
}

/// Whether it is in a file whose path can stand between quotes.
fn has_file(place: &Place) -> bool {
    place.is_known() && !place.file.is_empty() && !place.file.contains(['"', '\n'])
}
