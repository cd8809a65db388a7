//! The verifier: every rule, all findings at once, each located.
//!
//! * [`verify`] is the only maker of [`Verified`], and only a `Verified` module can be printed or loaded on a device.
//! * [`check`] takes any module, one read from foreign text included, and never panics. Where an entry's tables do not fit
//!   together (an index out of range, an operand missing), the rules that follow data through the entry are left out:
//!   they would report the same mistake again.
//! * One file per family of rules: `structure`, `types`, `names`, `resources`, `requirements`, `defs`, `convergence`,
//!   `memory`, `unused`. What is known of register values, which the last rules share, is in `values`.
//!
//! Not checked, because text alone cannot tell: bounds of global memory, data races, addresses that depend on run-time
//! values. The emulator finds those.

use std::fmt;

use crate::ir::{Block, Entry, Inst, Module, Place};
use crate::print::{show_inst, show_terminator};
use crate::target::PtxVersion;

mod convergence;
mod defs;
mod memory;
mod names;
mod requirements;
mod resources;
mod structure;
mod types;
mod unused;
mod values;

pub use requirements::Requirement;

/// The rules by the name that findings carry, and what each asks for.
pub const RULES: &[(&str, &str)] = &[
    (
        "structure",
        "operands, modifiers and jumps fit the table and the kernel; control does not run past its end",
    ),
    (
        "types",
        "registers agree with the instruction, literals have its type exactly, addresses fit their state space",
    ),
    ("names", "names are well-formed and mean one thing"),
    ("target", "the target has every instruction and special register"),
    ("version", "the declared version has them too"),
    ("undefined", "every register is assigned on every path before it is read"),
    ("reassigned", "a value is assigned once"),
    ("convergence", "barriers and full-warp exchanges are reached by all threads that they wait for"),
    ("shared-bounds", "accesses at constant offsets stay inside of their shared array"),
    ("alignment", "no access is known to be misaligned"),
    (
        "launch-bounds",
        "block, cluster, occupancy and register directives are possible and do not contradict each other",
    ),
    ("parameters", "parameters have types and sizes that a launch can pass"),
    ("shared-size", "shared arrays are well-formed and fit"),
    ("unreachable", "a path leads to every instruction"),
    ("unused", "every parameter and shared array is used"),
];

/// A module that passed every rule, with the PTX version it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    module: Module,
    version: PtxVersion,
    requirements: Vec<Requirement>,
    warnings: Vec<Finding>,
}

impl Verified {
    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The lowest sufficient PTX version.
    pub fn version(&self) -> PtxVersion {
        self.version
    }

    /// What the version and the target follow from, most demanding first.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// What is suspicious but accepted.
    pub fn warnings(&self) -> &[Finding] {
        &self.warnings
    }
}

/// Where a finding is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The entry.
    pub entry: String,
    /// The text of the instruction or declaration.
    pub text: String,
    /// The author's place.
    pub place: Place,
}

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The module is refused.
    Error,
    /// The module is accepted.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A short stable name of the rule.
    pub rule: &'static str,
    /// Refused or not.
    pub severity: Severity,
    /// What is wrong, with value and limit.
    pub message: String,
    /// Where.
    pub at: Location,
    /// A second place that explains the first.
    pub related: Option<(String, Place)>,
    /// What to do.
    pub hint: Option<String>,
}

impl Finding {
    fn hint(&mut self, hint: impl Into<String>) -> &mut Finding {
        self.hint = Some(hint.into());
        self
    }

    fn related(&mut self, text: impl Into<String>, place: Place) -> &mut Finding {
        self.related = Some((text.into(), place));
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.at.place, self.severity)?;
        if !self.at.entry.is_empty() {
            write!(f, "kernel `{}`: ", self.at.entry)?;
        }
        write!(f, "{}", self.message)?;
        if !self.at.text.is_empty() {
            write!(f, "\n    {}", self.at.text)?;
        }
        if let Some((text, place)) = &self.related {
            write!(f, "\n  {place}: {text}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// The errors of a module; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings(pub Vec<Finding>);

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, finding) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{finding}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Findings {}

/// Collects findings for one entry.
struct Report<'a> {
    entry: &'a Entry,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    fn add(
        &mut self,
        rule: &'static str,
        severity: Severity,
        (text, place): (String, Place),
        message: String,
    ) -> &mut Finding {
        let at = Location { entry: self.entry.name.clone(), text, place };
        push(self.findings, Finding { rule, severity, message, at, related: None, hint: None })
    }

    /// An error at an instruction.
    fn at_inst(&mut self, rule: &'static str, inst: &Inst, message: String) -> &mut Finding {
        let text = show_inst(self.entry, inst);
        self.add(rule, Severity::Error, (text, inst.place), message)
    }

    /// An error at the end of a block.
    fn at_end(&mut self, rule: &'static str, block: &Block, message: String) -> &mut Finding {
        self.add(rule, Severity::Error, (self.end_text(block), block.term_place), message)
    }

    /// An error at the entry as a whole.
    fn at_entry(&mut self, rule: &'static str, text: String, message: String) -> &mut Finding {
        self.add(rule, Severity::Error, (text, self.entry_place()), message)
    }

    /// An error at a declaration.
    fn at_declaration(
        &mut self,
        rule: &'static str,
        place: Place,
        text: String,
        message: String,
    ) -> &mut Finding {
        let place = if place.is_known() { place } else { self.entry_place() };
        self.add(rule, Severity::Error, (text, place), message)
    }

    fn end_text(&self, block: &Block) -> String {
        show_terminator(self.entry, &block.term).unwrap_or_default()
    }

    /// The entry's place, or that of its first instruction.
    fn entry_place(&self) -> Place {
        let insts = self.entry.blocks.iter().flat_map(|block| &block.insts).map(|inst| inst.place);
        std::iter::once(self.entry.place).chain(insts).find(Place::is_known).unwrap_or_default()
    }

    fn len(&self) -> usize {
        self.findings.len()
    }
}

fn push(findings: &mut Vec<Finding>, finding: Finding) -> &mut Finding {
    let at = findings.len();
    findings.push(finding);
    &mut findings[at]
}

/// Every finding of a module, warnings included.
pub fn check(module: &Module) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (i, entry) in module.entries.iter().enumerate() {
        let mut report = Report { entry, findings: &mut findings };
        names::check(entry, &module.entries[..i], &mut report);
        resources::check(module.target, entry, &mut report);
        requirements::check(module.target, entry, &mut report);
        if !structure::check(entry, &mut report) {
            continue;
        }
        types::check(entry, &mut report);
        let cfg = entry.cfg();
        defs::check(entry, &cfg, &mut report);
        let values = values::Values::of(entry, &cfg);
        convergence::check(entry, &values, &mut report);
        memory::check(entry, &cfg, &values, &mut report);
        unused::check(entry, &cfg, &mut report);
    }
    findings
}

/// Checks a module against every rule.
pub fn verify(module: Module) -> Result<Verified, Findings> {
    let (errors, warnings): (Vec<_>, Vec<_>) =
        check(&module).into_iter().partition(|finding| finding.severity == Severity::Error);
    if !errors.is_empty() {
        return Err(Findings(errors));
    }
    let requirements = requirements::of(&module);
    let version = requirements::version(&module, &requirements);
    Ok(Verified { module, version, requirements, warnings })
}

/// What is wrong with the `.version` that a text declares: it must not be older than what its target and instructions
/// need. One finding for each thing that needs more.
pub fn check_version(module: &Module, declared: PtxVersion) -> Vec<Finding> {
    requirements::check_version(module, declared)
}

#[cfg(test)]
mod tests;
