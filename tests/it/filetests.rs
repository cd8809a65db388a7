//! File tests: PTX inputs with the expected findings written on the offending lines. `filetests/readme.ptx` shows the form.
//!
//! Every finding must be expected and every expectation found; a file without expectations must be clean, and what is clean
//! must come back from its printed text unchanged.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ptxsmith_builder::ir::Place;
use ptxsmith_builder::parse::{Parsed, Trouble, parse};
use ptxsmith_builder::verify::{self, Finding};

/// What stands on a line, or is expected to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Note {
    line: u32,
    /// `error[rule]`, `warning[rule]` or `related`.
    kind: String,
    text: String,
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests").join(name)
}

/// The PTX files of a directory in the order of their names.
fn files(name: &str) -> Vec<(String, String)> {
    let directory = directory(name);
    let entries =
        std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("a readable directory").path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let name = path.file_name().expect("a file name").to_string_lossy().into_owned();
            files.push((name, text));
        }
    }
    files.sort();
    assert!(!files.is_empty(), "no file tests in {}", directory.display());
    files
}

/// The expectations in the comments of a text.
fn expectations(text: &str) -> Vec<Note> {
    let mut notes = Vec::new();
    for (i, line) in text.lines().enumerate() {
        for comment in line.split("//").skip(1) {
            let Some((kind, text)) = comment.trim().split_once(": ") else { continue };
            if kind.starts_with("error[") || kind.starts_with("warning[") || kind == "related" {
                notes.push(Note { line: i as u32 + 1, kind: kind.to_owned(), text: text.trim().to_owned() });
            }
        }
    }
    notes
}

/// Pairs what was found with what was expected; an expectation is a part of the found text.
fn compare(expected: &[Note], found: &[Note]) -> Result<(), String> {
    let mut open: Vec<&Note> = expected.iter().collect();
    let mut report = String::new();
    for note in found {
        let fits =
            |own: &&Note| own.line == note.line && own.kind == note.kind && note.text.contains(&own.text);
        match open.iter().position(fits) {
            Some(at) => {
                open.remove(at);
            }
            None => writeln!(report, "  unexpected, line {}: {}: {}", note.line, note.kind, note.text)
                .expect("a string"),
        }
    }
    for note in open {
        writeln!(report, "  missing, line {}: {}: {}", note.line, note.kind, note.text).expect("a string");
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

fn of_findings(findings: &[Finding]) -> Vec<Note> {
    let mut notes = Vec::new();
    for finding in findings {
        let kind = format!("{}[{}]", finding.severity, finding.rule);
        notes.push(Note { line: finding.at.place.line, kind, text: finding.message.clone() });
        if let Some((text, Place { line, .. })) = &finding.related {
            notes.push(Note { line: *line, kind: "related".to_owned(), text: text.clone() });
        }
    }
    notes
}

/// What a text's reader or verifier says.
fn notes(text: &str) -> (Vec<Note>, Option<Parsed>) {
    match parse(text) {
        Ok(parsed) => (of_findings(&parsed.check()), Some(parsed)),
        Err(errors) => {
            let note = |error: &ptxsmith_builder::parse::ParseError| {
                let trouble = match error.trouble {
                    Trouble::Malformed => "malformed",
                    Trouble::OutsideSubset => "subset",
                };
                Note {
                    line: error.place.line,
                    kind: format!("error[{trouble}]"),
                    text: error.message.clone(),
                }
            };
            (errors.0.iter().map(note).collect(), None)
        }
    }
}

/// A clean module comes back from its text.
fn round_trip(parsed: Parsed) -> Result<(), String> {
    let verified = verify::verify(parsed.module).map_err(|findings| format!("  {findings}\n"))?;
    let text = verified.to_string();
    match parse(&text) {
        Ok(again) if again.module == *verified.module() && again.version == verified.version() => Ok(()),
        Ok(_) => Err(format!("  the printed text reads as another module:\n{text}")),
        Err(errors) => Err(format!("  the printed text cannot be read:\n{errors}\n{text}")),
    }
}

fn run(name: &str) {
    let mut report = String::new();
    for (file, text) in files(name) {
        let expected = expectations(&text);
        let (found, parsed) = notes(&text);
        let mut result = compare(&expected, &found);
        let has_errors = found.iter().any(|note| note.kind.starts_with("error"));
        if let Some(parsed) = parsed
            && !has_errors
        {
            result = result.and_then(|()| round_trip(parsed));
        }
        if !text.starts_with("// ") {
            result = Err("  the first line does not say what the file tests\n".to_owned());
        }
        if let Err(message) = result {
            write!(report, "{name}/{file}\n{message}").expect("a string");
        }
    }
    assert!(report.is_empty(), "file tests fail:\n{report}");
}

#[test]
fn verifier_finds_what_is_written_on_the_line() {
    run("verify");
}

#[test]
fn reader_finds_what_is_written_on_the_line() {
    run("parse");
}

#[test]
fn every_rule_has_a_file_that_breaks_it() {
    let mut broken = BTreeSet::new();
    for (_, text) in files("verify") {
        for note in expectations(&text) {
            let rule = note.kind.split(['[', ']']).nth(1).unwrap_or_default();
            broken.insert(rule.to_owned());
        }
    }
    let expected: Vec<&str> = verify::RULES
        .iter()
        .map(|(rule, _)| *rule)
        // The reader makes a register that is assigned twice a variable, so no text breaks this one.
        .filter(|rule| *rule != "reassigned" && !broken.contains(*rule))
        .collect();
    assert!(expected.is_empty(), "rules without a file test: {expected:?}");
}

#[test]
fn runner_notices_missing_and_unexpected_findings() {
    let note = |line, text: &str| Note { line, kind: "error[types]".to_owned(), text: text.to_owned() };
    assert!(compare(&[note(3, "a")], &[note(3, "has a part")]).is_ok());
    assert!(compare(&[note(3, "a")], &[]).is_err());
    assert!(compare(&[], &[note(3, "a")]).is_err());
    assert!(compare(&[note(3, "a")], &[note(4, "a")]).is_err());
    assert!(compare(&[note(3, "a")], &[note(3, "b")]).is_err());
    assert!(compare(&[note(3, "a"), note(3, "a")], &[note(3, "a")]).is_err());
}
