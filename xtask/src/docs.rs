//! Writes the pages of `docs/` that are made from data, or checks that they are current.
//!
//! `docs/instructions.md` is the instruction table of `ptxsmith-builder`: every row with its types, what it needs and the
//! functions that emit it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ptxsmith_builder::isa::{Form, Since, Slot, SpecialReg, When, syntax, table};
use ptxsmith_builder::types::Ty;

/// The page, relative to the repository.
const INSTRUCTIONS: &str = "docs/instructions.md";

/// Writes the page; returns whether it changed.
pub(crate) fn write(root: &Path) -> Result<bool> {
    let file = root.join(INSTRUCTIONS);
    let text = instructions();
    if fs::read_to_string(&file).is_ok_and(|old| old == text) {
        return Ok(false);
    }
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(true)
}

/// Fails where the page is not what the table gives, and names the first line that differs.
pub(crate) fn check(root: &Path) -> Result<()> {
    let file = root.join(INSTRUCTIONS);
    let old = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let new = instructions();
    // The length of a line's end is the checkout's business.
    if old.lines().eq(new.lines()) {
        return Ok(());
    }
    let differing = old.lines().zip(new.lines()).position(|(old, new)| old != new);
    let line = differing.unwrap_or(old.lines().count().min(new.lines().count())) + 1;
    bail!("{INSTRUCTIONS}:{line} is not what the instruction table says: run `cargo xtask docs`");
}

const HEAD: &str = "\
# Instructions

<!-- Made by `cargo xtask docs` from ptx-builder/src/isa/table.rs; edits here are lost. -->

Every instruction form that ptxsmith prints, reads, verifies and executes. A form is written as in the PTX manual: a name
behind a dot that stands under [modifiers](#modifiers) takes one of its values, `T` and `S` take a type, braces make a part
optional. \"Needs\" is the first PTX version and the oldest architecture; where a condition stands before it, it applies to
the instructions that meet the condition. \"Never\" lists combinations that do not exist. The last column names the functions
of `ptxsmith_builder::ops`; forms without one are emitted by operators and by the library (`lang`).

Each combination is assembled by `tests/it/isa.rs` with both pinned assemblers, at what it needs and below it.
";

fn instructions() -> String {
    let mut text = HEAD.to_owned();
    for (group, ops) in table::GROUPS {
        let _ = write!(
            text,
            "\n## {group}\n\n| form | meaning | types | needs | functions |\n|---|---|---|---|---|\n"
        );
        for op in *ops {
            row(&mut text, Form::of(*op));
        }
    }
    modifiers(&mut text);
    special_registers(&mut text);
    text
}

fn row(text: &mut String, form: &Form) {
    let mut meaning = form.doc.to_owned();
    for (slot, values) in form.allowed {
        let values: Vec<String> = values.iter().map(|value| format!("`.{}`", value.text())).collect();
        let _ = write!(meaning, "<br>`{}`: {}", slot.name(), values.join(" "));
    }
    if !form.except.is_empty() {
        let never: Vec<String> = form.except.iter().map(|conditions| all_of(conditions)).collect();
        let _ = write!(meaning, "<br>Never: {}", never.join("; "));
    }
    let mut types = Vec::new();
    for (slot, list) in [("T", form.types), ("S", form.source_types)] {
        if !list.is_empty() {
            types.push(format!("{slot}: {}", suffixes(list)));
        }
    }
    let needs: Vec<String> = form.since.iter().map(requirement).collect();
    let own = table::FUNCTIONS.iter().filter(|(op, _)| *op == form.op);
    let functions: Vec<String> = own.map(|(_, name)| format!("`{name}`")).collect();
    let cells =
        [format!("`{}`", form.syntax), meaning, types.join("<br>"), needs.join("<br>"), functions.join(", ")];
    // A bar would end the cell, in code too.
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn suffixes(types: &[Ty]) -> String {
    types.iter().map(|ty| format!("`.{}`", ty.suffix())).collect::<Vec<_>>().join(" ")
}

fn all_of(conditions: &[When]) -> String {
    conditions.iter().map(When::to_string).collect::<Vec<_>>().join(" with ")
}

fn requirement(since: &Since) -> String {
    let condition = if since.when.is_empty() { String::new() } else { format!("{}: ", all_of(since.when)) };
    format!("{condition}PTX {}, {}", since.ptx, since.sm.to_string().replace(" or newer", ""))
}

fn modifiers(text: &mut String) {
    text.push_str("\n## Modifiers\n\n| name | values |\n|---|---|\n");
    let used = |slot: &Slot| {
        let takes = |segment: &syntax::Segment| matches!(segment, syntax::Segment::Slot { slot: own, .. } if own == slot);
        Form::all().iter().any(|form| form.head().iter().any(takes))
    };
    for slot in Slot::ALL.iter().filter(|slot| !slot.values().is_empty() && used(slot)) {
        let values: Vec<String> = slot.values().iter().map(|value| format!("`.{value}`")).collect();
        let _ = writeln!(text, "| `{}` | {} |", slot.name(), values.join(" "));
    }
}

fn special_registers(text: &mut String) {
    text.push_str("\n## Special registers\n\n| register | type | meaning | needs |\n|---|---|---|---|\n");
    for special in SpecialReg::ALL {
        let since = table::special_since(*special);
        let needs = requirement(&since);
        let _ = writeln!(text, "| `{special}` | `{}` | {} | {needs} |", special.ty(), special.doc());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        check(&root).unwrap();
    }

    #[test]
    fn a_stale_page_is_named_with_its_line() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("docs")).unwrap();
        assert!(write(root.path()).unwrap());
        check(root.path()).unwrap();
        assert!(!write(root.path()).unwrap());
        let file = root.path().join(INSTRUCTIONS);
        let stale = fs::read_to_string(&file).unwrap().replacen("one rounding", "two roundings", 1);
        let line = stale.lines().position(|line| line.contains("two roundings")).unwrap() + 1;
        fs::write(&file, stale).unwrap();
        let error = check(root.path()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("docs/instructions.md:{line} ")), "{error}");
    }
}
