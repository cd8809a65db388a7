//! What a run came to, for people and as JSON.

use std::fmt::Write;

use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;
use serde_json::{Value, json};

use crate::compare::{Comparison, Largest, Tolerance, position};
use crate::finding::Finding;
use crate::outcome::{Exit, Outcome, pretty};
use crate::table;

/// A finished run.
#[derive(Debug)]
pub(crate) struct Report {
    /// The kernel.
    pub(crate) kernel: String,
    /// The fields of its spec with their values.
    pub(crate) spec: Value,
    /// What it was built for.
    pub(crate) target: Target,
    /// The device as `--device` names it.
    pub(crate) device: String,
    /// The device for people.
    pub(crate) device_title: String,
    /// Hash of the text without comment lines.
    pub(crate) text_hash: String,
    /// One for each output argument.
    pub(crate) results: Vec<Tested>,
    /// What the emulator's detectors found, and the verifier in a text that was read.
    pub(crate) findings: Vec<Finding>,
    /// Wall time of the launches.
    pub(crate) seconds: f64,
}

/// An output, compared if something is expected of it.
#[derive(Debug)]
pub(crate) struct Tested {
    /// The argument.
    pub(crate) arg: String,
    /// Its dtype.
    pub(crate) dtype: Dtype,
    /// Its dimensions.
    pub(crate) dims: Vec<u64>,
    /// What deviation is accepted.
    pub(crate) tolerance: Tolerance,
    /// How far it is from what is expected.
    pub(crate) comparison: Option<Comparison>,
}

impl Report {
    /// The end of the command. Findings count before differences: results of a broken kernel prove nothing.
    pub(crate) fn outcome(&self, json: bool, notes: Vec<String>) -> Outcome {
        let differs = |tested: &Tested| tested.comparison.is_some_and(|comparison| !comparison.agrees());
        let exit = if !self.findings.is_empty() {
            Exit::Finding
        } else if self.results.iter().any(differs) {
            Exit::Differs
        } else {
            Exit::Good
        };
        let stdout = if json { pretty(&self.json()) } else { self.human() };
        Outcome { stdout, notes, exit }
    }

    fn json(&self) -> Value {
        let results: Vec<Value> = self
            .results
            .iter()
            .filter_map(|tested| {
                let comparison = tested.comparison.as_ref()?;
                Some(json!({
                    "arg": tested.arg,
                    "agrees": comparison.agrees(),
                    "max_abs": number(comparison.abs.error),
                    "max_rel": number(comparison.rel.error),
                    "index": comparison.abs.at.map(|at| position(at, &tested.dims)),
                    "tolerance": [tested.tolerance.atol, tested.tolerance.rtol],
                }))
            })
            .collect();
        json!({
            "kernel": self.kernel,
            "spec": self.spec,
            "target": self.target.to_string(),
            "device": self.device,
            "text_hash": self.text_hash,
            "results": results,
            "findings": self.findings.iter().map(Finding::json).collect::<Value>(),
            "seconds": self.seconds,
        })
    }

    fn human(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{} for {} on {}: {} s",
            self.kernel,
            self.target,
            self.device_title,
            shortest(self.seconds)
        );
        let mut rows = vec![
            ["output", "shape", "verdict", "largest |error|", "largest relative error", "atol, rtol"]
                .map(str::to_owned),
        ];
        for tested in &self.results {
            let shape = format!("{} {:?}", tested.dtype, tested.dims);
            rows.push(match &tested.comparison {
                Some(comparison) => [
                    tested.arg.clone(),
                    shape,
                    if comparison.agrees() { "agrees" } else { "DIFFERS" }.to_owned(),
                    largest(comparison.abs, &tested.dims),
                    largest(comparison.rel, &tested.dims),
                    format!("{:e}, {:e}", tested.tolerance.atol, tested.tolerance.rtol),
                ],
                None => {
                    let none = String::new;
                    [tested.arg.clone(), shape, "not compared".to_owned(), none(), none(), none()]
                }
            });
        }
        for line in table::lines(&rows) {
            let _ = writeln!(out, "{line}");
        }
        for tested in &self.results {
            if let Some((at, got, expected)) = tested.comparison.and_then(|comparison| comparison.first) {
                let comparison = tested.comparison.as_ref().map_or((0, 0), |c| (c.differing, c.elements));
                let _ = writeln!(
                    out,
                    "{} differs at {} of {} elements, first at {:?}: got {got}, expected {expected}",
                    tested.arg,
                    comparison.0,
                    comparison.1,
                    position(at, &tested.dims)
                );
            }
        }
        for finding in &self.findings {
            let _ = writeln!(out, "{}", finding.lines());
        }
        out
    }
}

fn largest(largest: Largest, dims: &[u64]) -> String {
    match largest.at {
        Some(at) => format!("{} at {:?}", shortest(largest.error), position(at, dims)),
        None => shortest(largest.error),
    }
}

/// Three significant digits.
fn shortest(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.2e}") }
}

/// A number; JSON has none for what is not finite, so a text stands for it.
fn number(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else if value.is_nan() {
        json!("nan")
    } else {
        json!(if value > 0.0 { "inf" } else { "-inf" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;
    use crate::element::Number;
    use ptxsmith_builder::{emu, ir::Place};

    fn report(got: f64, expected: Option<f64>, findings: usize) -> Report {
        let tolerance = Tolerance { atol: 0.5, rtol: 0.0 };
        let finding = emu::Finding {
            kind: emu::Kind::GlobalRace,
            kernel: "k".into(),
            at: emu::Thread::default(),
            instruction: "st.global.f32 [%a], %b;".into(),
            place: Place::default(),
            buffer: Some("y".into()),
            offset: Some(4),
            related: None,
            message: "stored by two threads".into(),
            count: 2,
        };
        let finding = Finding::of_emulator(&finding, None);
        let one = |value: f64| [Number::Float(value)].into_iter();
        Report {
            kernel: "k".into(),
            spec: json!({ "eps": "1e-6" }),
            target: "sm_90".parse().expect("known"),
            device: "emulated".into(),
            device_title: "emulated sm_90".into(),
            text_hash: "00".into(),
            results: vec![Tested {
                arg: "y".into(),
                dtype: Dtype::F32,
                dims: vec![1, 1],
                tolerance,
                comparison: expected.map(|expected| compare(one(got), one(expected), tolerance)),
            }],
            findings: vec![finding; findings],
            seconds: 0.25,
        }
    }

    #[test]
    fn findings_count_before_differences() {
        let exit = |report: Report| report.outcome(true, Vec::new()).exit;
        assert_eq!(exit(report(1.0, None, 0)), Exit::Good);
        assert_eq!(exit(report(1.0, Some(1.25), 0)), Exit::Good);
        assert_eq!(exit(report(1.0, Some(2.0), 0)), Exit::Differs);
        assert_eq!(exit(report(1.0, Some(2.0), 1)), Exit::Finding);
        assert_eq!(exit(report(1.0, Some(1.0), 1)), Exit::Finding);
    }

    #[test]
    fn json_has_the_documented_keys_and_no_bare_infinity() {
        let text = report(f64::NAN, Some(1.0), 0).outcome(true, Vec::new()).stdout;
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let keys: Vec<&String> = value.as_object().expect("an object").keys().collect();
        assert_eq!(
            keys,
            ["kernel", "spec", "target", "device", "text_hash", "results", "findings", "seconds"]
        );
        assert_eq!(value["spec"], json!({ "eps": "1e-6" }));
        let expected = json!({
            "arg": "y", "agrees": false, "max_abs": "nan", "max_rel": "nan", "index": [0, 0], "tolerance": [0.5, 0.0],
        });
        assert_eq!(value["results"], json!([expected]));
    }

    #[test]
    fn people_see_where_and_how_much() {
        let text = report(1.0, Some(2.0), 0).outcome(false, Vec::new()).stdout;
        assert!(text.contains("DIFFERS") && text.contains("1.00e0 at [0, 0]"), "{text}");
        assert!(
            text.contains("y differs at 1 of 1 elements, first at [0, 0]: got 1e0, expected 2e0"),
            "{text}"
        );
    }
}
