//! The verifier: every rule, all findings at once, each located.
//!
//! [`verify`] is the only maker of [`Verified`], and only a `Verified` module can be printed or loaded on a device.

use std::fmt;

use crate::ir::{Entry, Module, Place};
use crate::target::PtxVersion;

mod requirements;

pub use requirements::Requirement;

/// A module that passed every rule, with the PTX version it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    module: Module,
    version: PtxVersion,
    requirements: Vec<Requirement>,
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: kernel `{}`: {}", self.at.place, self.at.entry, self.message)?;
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
pub(crate) struct Report<'a> {
    entry: &'a Entry,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    pub(crate) fn error(&mut self, rule: &'static str, text: String, place: Place, message: String) {
        self.findings.push(Finding {
            rule,
            severity: Severity::Error,
            message,
            at: Location { entry: self.entry.name.clone(), text, place },
            related: None,
            hint: None,
        });
    }
}

/// Every finding of a module, warnings included.
pub fn check(module: &Module) -> Vec<Finding> {
    let mut findings = Vec::new();
    for entry in &module.entries {
        let mut report = Report { entry, findings: &mut findings };
        requirements::check(module.target, entry, &mut report);
    }
    findings
}

/// Checks a module against every rule.
pub fn verify(module: Module) -> Result<Verified, Findings> {
    let mut findings = check(&module);
    findings.retain(|finding| finding.severity == Severity::Error);
    if !findings.is_empty() {
        return Err(Findings(findings));
    }
    let requirements = requirements::of(&module);
    let version = requirements.iter().map(|r| r.ptx).max().unwrap_or(module.target.min_ptx());
    Ok(Verified { module, version, requirements })
}
