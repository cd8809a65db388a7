//! `ptxsmith check`: verifies a file of PTX text, whoever wrote it.

use std::path::Path;

use ptxsmith_builder::parse::{Parsed, parse};
use serde_json::{Value, json};

use crate::args::Check;
use crate::error::Error;
use crate::finding::Finding;
use crate::outcome::{Exit, Outcome, pretty};

/// A text that was read.
#[derive(Debug)]
pub(crate) struct Source {
    /// The text.
    pub(crate) text: String,
    /// What it says.
    pub(crate) parsed: Parsed,
    /// What the verifier says about it.
    pub(crate) findings: Vec<Finding>,
}

/// Reads and verifies a file. A text outside of the subset is an error with every place where it leaves it.
pub(crate) fn read(path: &Path) -> Result<Source, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::Text(vec![format!("{}: byte {at} is not UTF-8; PTX is ASCII text", path.display())])
    })?;
    let parsed = parse(&text).map_err(|errors| {
        Error::Text(errors.0.iter().map(|error| format!("{}:{error}", path.display())).collect())
    })?;
    let findings = parsed.check().iter().map(|finding| Finding::of_verifier(finding, path)).collect();
    Ok(Source { text, parsed, findings })
}

/// Checks a file. Warnings are shown and do not fail it.
pub(crate) fn check(args: &Check) -> Result<Outcome, Error> {
    let source = read(&args.file)?;
    let module = &source.parsed.module;
    let errors = source.findings.iter().filter(|finding| finding.is_error()).count();
    let warnings = source.findings.len() - errors;
    let stdout = if args.json {
        pretty(&json!({
            "file": args.file.display().to_string(),
            "version": source.parsed.version.to_string(),
            "target": module.target.to_string(),
            "kernels": module.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(),
            "findings": source.findings.iter().map(Finding::json).collect::<Value>(),
        }))
    } else {
        let mut out: String = source.findings.iter().map(|finding| finding.lines() + "\n").collect();
        let kernels = module.entries.len();
        out.push_str(&format!(
            "{}: kernels {kernels}, errors {errors}, warnings {warnings}\n",
            args.file.display()
        ));
        out
    };
    let exit = if errors > 0 { Exit::Differs } else { Exit::Good };
    Ok(Outcome { stdout, notes: Vec::new(), exit })
}
