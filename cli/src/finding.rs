//! Findings of the verifier and of the emulator's detectors, in one form for people and programs.

use std::path::Path;

use ptxsmith_builder::emu;
use ptxsmith_builder::ir::Place;
use ptxsmith_builder::verify::{self, Severity};
use serde_json::{Value, json};

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// `verifier` or `emulator`.
    source: &'static str,
    /// Whether it counts.
    severity: Severity,
    /// Name of the rule or detector.
    rule: &'static str,
    kernel: String,
    /// File, line and column; empty where they are not known.
    place: String,
    instruction: String,
    /// What is wrong, with the thread and the buffer where there are any.
    message: String,
    /// Further lines: related places and hints.
    more: Vec<String>,
    /// How often it happened.
    count: u64,
}

/// A place with the file it is in: the author's, or else the text that was read.
fn locate(place: Place, text: Option<&Path>) -> String {
    match (place.is_known(), place.file, text) {
        (false, ..) => text.map_or_else(String::new, |path| path.display().to_string()),
        (true, "", Some(path)) => format!("{}:{}:{}", path.display(), place.line, place.column),
        (true, ..) => place.to_string(),
    }
}

impl Finding {
    /// A finding of the verifier in the text of a file.
    pub(crate) fn of_verifier(finding: &verify::Finding, text: &Path) -> Finding {
        let related =
            finding.related.iter().map(|(what, place)| format!("{}: {what}", locate(*place, Some(text))));
        let hint = finding.hint.iter().map(|hint| format!("hint: {hint}"));
        Finding {
            source: "verifier",
            severity: finding.severity,
            rule: finding.rule,
            kernel: finding.at.entry.clone(),
            place: locate(finding.at.place, Some(text)),
            instruction: finding.at.text.clone(),
            message: finding.message.clone(),
            more: related.chain(hint).collect(),
            count: 1,
        }
    }

    /// A finding of a detector; `text` is the file that was run, if it is no kernel of the library.
    pub(crate) fn of_emulator(finding: &emu::Finding, text: Option<&Path>) -> Finding {
        let buffer = match (&finding.buffer, finding.offset) {
            (Some(buffer), Some(offset)) => format!(", `{buffer}` at byte {offset}"),
            (Some(buffer), None) => format!(", `{buffer}`"),
            (None, _) => String::new(),
        };
        let related = finding.related.as_ref().map(|related| {
            format!("{}: against {}: {}", locate(related.place, text), related.at, related.instruction)
        });
        Finding {
            source: "emulator",
            severity: Severity::Error,
            rule: finding.kind.name(),
            kernel: finding.kernel.clone(),
            place: locate(finding.place, text),
            instruction: finding.instruction.clone(),
            message: format!("{}: {}{buffer}", finding.at, finding.message),
            more: related.into_iter().collect(),
            count: finding.count,
        }
    }

    /// Whether it makes a command fail.
    pub(crate) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "source": self.source,
            "severity": self.severity.to_string(),
            "rule": self.rule,
            "kernel": self.kernel,
            "place": self.place,
            "instruction": self.instruction,
            "message": self.message,
            "more": self.more,
            "count": self.count,
        })
    }

    /// For people: one line, and indented ones below it.
    pub(crate) fn lines(&self) -> String {
        let mut out = String::new();
        if !self.place.is_empty() {
            out.push_str(&format!("{}: ", self.place));
        }
        out.push_str(&format!("{}[{}]: ", self.severity, self.rule));
        if !self.kernel.is_empty() {
            out.push_str(&format!("kernel `{}`: ", self.kernel));
        }
        out.push_str(&self.message);
        if self.count > 1 {
            out.push_str(&format!(" ({} times)", self.count));
        }
        if !self.instruction.is_empty() {
            out.push_str(&format!("\n    {}", self.instruction));
        }
        for line in &self.more {
            out.push_str(&format!("\n  {line}"));
        }
        out
    }
}
