//! Names: well-formed, and each meaning one thing.
//!
//! Parameters, shared arrays and labels share one name space; registers, written with a percent sign, have their own,
//! which special registers are part of.

use std::collections::HashMap;

use super::Report;
use crate::hash::FastSet;
use crate::ir::Entry;
use crate::isa::special::is_base;

const RULE: &str = "names";

pub(super) fn check(entry: &Entry, earlier: &[Entry], report: &mut Report<'_>) {
    if !is_identifier(&entry.name) {
        report.at_entry(RULE, String::new(), format!("`{}` is not a PTX identifier", entry.name));
    }
    if earlier.iter().any(|other| other.name == entry.name) {
        report.at_entry(RULE, String::new(), format!("two kernels are called `{}`", entry.name));
    }
    let mut taken = HashMap::new();
    let params = entry.params.iter().map(|param| (param.name.as_str(), "parameter", param.place));
    let shared = entry.shared.iter().map(|array| (array.name.as_str(), "shared array", array.place));
    let labels = entry.blocks.iter().filter_map(|block| {
        let place = block.insts.first().map_or(block.term_place, |inst| inst.place);
        Some((block.label.as_deref()?, "label", place))
    });
    for (name, kind, place) in params.chain(shared).chain(labels) {
        if !is_identifier(name) {
            report.at_declaration(
                RULE,
                place,
                String::new(),
                format!("the {kind} `{name}` is not a PTX identifier"),
            );
        }
        if let Some(other) = taken.insert(name, kind) {
            let what = if other == kind {
                format!("two {kind}s are")
            } else {
                format!("a {other} and a {kind} are")
            };
            report.at_declaration(RULE, place, String::new(), format!("{what} called `{name}`"));
        }
    }
    let mut registers = FastSet::default();
    for info in &entry.regs {
        let mut error = |message: String| {
            report.at_entry(RULE, String::new(), message);
        };
        if !is_register_name(&info.name) {
            error(format!("the register `%{}` is not a PTX identifier", info.name));
        }
        // `%tid` hides `%tid.x`: behind its declaration the assembler reads the rest as a selector.
        if is_base(&info.name) {
            error(format!("the register `%{}` has the name of a special register", info.name));
        }
        if !registers.insert(info.name.as_str()) {
            error(format!("two registers are called `%{}`", info.name));
        }
    }
}

/// What may follow the percent sign of a register.
fn is_register_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$')
}

/// The identifiers of the PTX manual: a letter, or one of `_ $ %` and another character; then letters, digits, `_`, `$`.
fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    let follows = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$';
    match bytes.next() {
        Some(b'_' | b'$' | b'%') => name.len() > 1 && bytes.all(follows),
        Some(first) => first.is_ascii_alphabetic() && bytes.all(follows) && name != "WARP_SZ",
        None => false,
    }
}
