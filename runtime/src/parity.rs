//! The parity gate: kernels against their float64 references, on the device and over the paths that a program will use.
//!
//! A program verifies what it is about to launch, then decides: [`Report::passed`] says whether every kernel agreed, and
//! the report names those that did not with their worst element. Nothing is handed over: device, plan and kernel values
//! are only borrowed, so that a fallback has all it had before.
//!
//! * Inputs follow from the kernel's own description of its arguments: every [`Pattern`] at every count. Parameters
//!   (buffers whose length no size enters) are always seeded numbers of ordinary magnitude.
//! * An element passes within one rounding to its dtype plus [`ParityOptions::slack`] times the largest expected magnitude
//!   of its row. Bytes between strided rows and behind an output must stay as they were; on the emulator a finding fails
//!   the kernel as well.
//! * A kernel that the gate cannot judge (no reference, a scalar argument, an integer buffer) is
//!   [`Verdict::NotVerified`], which does not pass.
//!
//! Limits: every size of a launch has the same value; after a kernel that breaks the context the rest fails with
//! [`Error::Sticky`].

use std::fmt;

use ptxsmith_builder::kernel::{AnyKernel, Direction, ReferenceInputs};

use crate::device::Device;
use crate::error::Error;
use crate::plan::LaunchPlan;
use crate::prepared::{PreparedAny, label};

mod case;
mod numbers;
mod run;
#[cfg(test)]
mod tests;

use case::{Case, case};

/// How a launch reaches the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// A launch on the device's stream.
    Plain,
    /// A launch recorded into a graph that is replayed.
    Graph,
    /// The emulator.
    Emulated,
}

/// The kinds of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Uniform in [-1, 1).
    Seeded,
    /// Zero.
    Zeros,
    /// Uniform, near 10⁻³: an epsilon under a root shows.
    Small,
    /// Uniform, near 10⁻¹⁸ (10⁻⁶ in f16): squares are far below any epsilon.
    Tiny,
    /// Uniform, near 10¹² (10⁴ in f16): squares exceed f16.
    Large,
    /// One value for each row.
    ConstantRows,
    /// Zero but for one element of each row, at another place in each: a sum that leaves an element out shows.
    Spike,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: &'static [Pattern] = &[
        Pattern::Seeded,
        Pattern::Zeros,
        Pattern::Small,
        Pattern::Tiny,
        Pattern::Large,
        Pattern::ConstantRows,
        Pattern::Spike,
    ];
}

/// What is tried.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ParityOptions {
    /// Values of every size (rows, tokens); by default 1, 3 and 33.
    pub counts: Vec<u64>,
    /// Inputs; by default all.
    pub patterns: Vec<Pattern>,
    /// Seed of the numbers.
    pub seed: u64,
    /// What arithmetic in f32 may cost beside the last rounding, relative to the largest magnitude of a row; by default 4·10⁻⁶.
    pub slack: f64,
}

impl Default for ParityOptions {
    fn default() -> ParityOptions {
        let (counts, patterns) = (vec![1, 3, 33], Pattern::ALL.to_vec());
        ParityOptions { counts, patterns, seed: 0, slack: 4e-6 }
    }
}

impl ParityOptions {
    /// These options with other counts.
    #[must_use]
    pub fn with_counts(self, counts: impl Into<Vec<u64>>) -> ParityOptions {
        ParityOptions { counts: counts.into(), ..self }
    }

    /// These options with other patterns.
    #[must_use]
    pub fn with_patterns(self, patterns: impl Into<Vec<Pattern>>) -> ParityOptions {
        ParityOptions { patterns: patterns.into(), ..self }
    }

    /// These options with another seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> ParityOptions {
        ParityOptions { seed, ..self }
    }

    /// These options with another slack.
    #[must_use]
    pub fn with_slack(self, slack: f64) -> ParityOptions {
        ParityOptions { slack, ..self }
    }
}

/// What came out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// Name of the device.
    pub device: String,
    /// Kernels in the order given.
    pub kernels: Vec<KernelReport>,
    /// Paths of the device that were not tried, with the reason.
    pub not_tried: Vec<(Path, String)>,
}

/// What came out for one kernel value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KernelReport {
    /// Name with the spec.
    pub kernel: String,
    /// Launches compared.
    pub checks: usize,
    /// The judgment.
    pub verdict: Verdict,
}

/// The judgment on a kernel.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Every launch agreed with the reference.
    Passed,
    /// A launch did not.
    Failed {
        /// Launches that failed.
        failed: usize,
        /// The worst of them.
        worst: Box<Failure>,
    },
    /// The gate cannot judge it, for this reason.
    NotVerified(String),
    /// It cannot be prepared or launched.
    Error(Box<Error>),
}

/// A launch that does not agree with the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The path.
    pub path: Path,
    /// The inputs.
    pub pattern: Pattern,
    /// The value of the sizes.
    pub count: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a launch.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// An element is too far from the reference: the one that exceeds its limit by the largest factor.
    Element {
        /// The output.
        output: &'static str,
        /// Its row.
        row: usize,
        /// Its place in the row.
        column: usize,
        /// What the kernel wrote.
        got: f64,
        /// The reference, unrounded.
        expected: f64,
        /// Largest allowed difference.
        limit: f64,
    },
    /// A byte between the rows of an output or behind it was written.
    Outside {
        /// The output.
        output: &'static str,
        /// Offset of the first such byte.
        byte: usize,
    },
    /// The emulator's detectors found something.
    Finding(String),
}

/// Compares kernels with their references.
pub fn verify<'k>(
    device: &Device,
    kernels: impl IntoIterator<Item = &'k dyn AnyKernel>,
    options: &ParityOptions,
) -> Report {
    let (paths, not_tried) = run::paths(device);
    let kernels = kernels
        .into_iter()
        .map(|kernel| {
            let mut checks = 0;
            let verdict = judge(device, kernel, options, &paths, &mut checks);
            let kernel = label(kernel, device.target());
            tracing::debug!(kernel, checks, ?verdict, "verified");
            KernelReport { kernel, checks, verdict }
        })
        .collect();
    Report { device: device.name(), kernels, not_tried }
}

impl LaunchPlan {
    /// Compares every kernel of the plan with its reference, see [`verify`]. On a device that was warmed up with the plan it
    /// runs the very code that launches will run.
    pub fn verify(&self, device: &Device, options: &ParityOptions) -> Report {
        verify(device, self.kernels(), options)
    }
}

fn judge(
    device: &Device,
    kernel: &dyn AnyKernel,
    options: &ParityOptions,
    paths: &[Path],
    checks: &mut usize,
) -> Verdict {
    let prepared = match device.prepare_any(kernel) {
        Ok(prepared) => prepared,
        Err(error) => return Verdict::Error(Box::new(error)),
    };
    let (mut failed, mut worst) = (0, None);
    for &count in &options.counts {
        for &pattern in &options.patterns {
            let case = match case(prepared.operation(), count, pattern, options.seed) {
                Ok(case) => case,
                Err(reason) => return Verdict::NotVerified(reason),
            };
            let Some(expected) = kernel.reference(&reference_inputs(&case)) else {
                return Verdict::NotVerified("it has no reference".to_owned());
            };
            for &path in paths {
                *checks += 1;
                match check(device, &prepared, &case, &expected, path, options.slack) {
                    Ok(None) => {}
                    Ok(Some((factor, problem))) => {
                        failed += 1;
                        if worst.as_ref().is_none_or(|(known, _)| factor > *known) {
                            worst = Some((factor, Failure { path, pattern, count, problem }));
                        }
                    }
                    Err(Judged::NotVerified(reason)) => return Verdict::NotVerified(reason),
                    Err(Judged::Error(error)) => return Verdict::Error(error),
                }
            }
        }
    }
    match worst {
        Some((_, worst)) => Verdict::Failed { failed, worst: Box::new(worst) },
        None if *checks == 0 => Verdict::NotVerified("nothing was to be tried".to_owned()),
        None => Verdict::Passed,
    }
}

/// Why a launch was not compared.
enum Judged {
    NotVerified(String),
    Error(Box<Error>),
}

fn reference_inputs(case: &Case) -> ReferenceInputs {
    let given = case.buffers.iter().filter(|buffer| buffer.direction != Direction::Out);
    ReferenceInputs {
        sizes: case.sizes.clone(),
        buffers: given.map(|buffer| (buffer.name, buffer.values.clone())).collect(),
        scalars: case.strides.iter().map(|&(name, stride)| (name, stride.cast_signed())).collect(),
    }
}

/// Runs a case and gives the worst problem with the factor by which it exceeds what is allowed.
fn check(
    device: &Device,
    prepared: &PreparedAny,
    case: &Case,
    expected: &[(&'static str, Vec<f64>)],
    path: Path,
    slack: f64,
) -> Result<Option<(f64, Problem)>, Judged> {
    let left = run::run(device, prepared, case, path).map_err(|error| Judged::Error(Box::new(error)))?;
    let mut worst: Option<(f64, Problem)> = None;
    let mut note = |factor: f64, problem: Problem| {
        if worst.as_ref().is_none_or(|(known, _)| factor > *known) {
            worst = Some((factor, problem));
        }
    };
    if let Some(finding) = left.findings.into_iter().next() {
        note(1.0, Problem::Finding(finding));
    }
    for (index, bytes) in &left.outputs {
        let buffer = &case.buffers[*index];
        let (output, row) = (buffer.name, buffer.row.max(1));
        let Some((_, expected)) = expected.iter().find(|(name, _)| *name == output) else {
            return Err(Judged::NotVerified(format!("its reference lacks `{output}`")));
        };
        let (got, outside) = buffer.read(bytes);
        if got.len() != expected.len() {
            let (has, len) = (expected.len(), got.len());
            let reason = format!("its reference has {has} elements of `{output}`, the kernel {len}");
            return Err(Judged::NotVerified(reason));
        }
        if let Some(byte) = outside {
            note(1.0, Problem::Outside { output, byte });
        }
        let rounded = numbers::decode(buffer.dtype, &numbers::encode(buffer.dtype, expected));
        for (at, (got, expected)) in got.chunks(row).zip(expected.chunks(row)).enumerate() {
            let scale = expected.iter().fold(0.0, |scale: f64, value| scale.max(value.abs()));
            for (column, (&got, &expected)) in got.iter().zip(expected).enumerate() {
                if rounded[at * row + column] == got || (got.is_nan() && expected.is_nan()) {
                    continue;
                }
                let limit = numbers::limit(buffer.dtype, expected, scale, slack);
                let factor = (got - expected).abs() / limit;
                // A NaN is farther off than any number.
                let factor = if factor.is_nan() { f64::INFINITY } else { factor };
                if factor > 1.0 {
                    note(factor, Problem::Element { output, row: at, column, got, expected, limit });
                }
            }
        }
    }
    Ok(worst)
}

impl Report {
    /// Whether every kernel agreed with its reference on every path that was tried.
    pub fn passed(&self) -> bool {
        self.failing().next().is_none()
    }

    /// The kernels that did not pass.
    pub fn failing(&self) -> impl Iterator<Item = &KernelReport> {
        self.kernels.iter().filter(|kernel| !matches!(kernel.verdict, Verdict::Passed))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.kernels.len() - self.failing().count();
        write!(
            f,
            "{passed} of {} kernels agree with their references on {}",
            self.kernels.len(),
            self.device
        )?;
        self.failing().try_for_each(|kernel| write!(f, "\n{kernel}"))?;
        self.not_tried.iter().try_for_each(|(path, reason)| write!(f, "\nnot tried: {path:?}, {reason}"))
    }
}

impl fmt::Display for KernelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kernel)?;
        match &self.verdict {
            Verdict::Passed => write!(f, "{} launches agree", self.checks),
            Verdict::Failed { failed, worst } => {
                write!(f, "{failed} of {} launches are wrong, the worst: {worst}", self.checks)
            }
            Verdict::NotVerified(reason) => write!(f, "not verified: {reason}"),
            Verdict::Error(error) => write!(f, "{error}"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { path, pattern, count, problem } = self;
        write!(f, "{problem} ({path:?}, {pattern:?}, sizes {count})")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Element { output, row, column, got, expected, limit } => write!(
                f,
                "`{output}` is {got:e} at row {row}, column {column}, expected {expected:e} within {limit:e}"
            ),
            Problem::Outside { output, byte } => {
                write!(f, "byte {byte} of `{output}`, outside its rows, was written")
            }
            Problem::Finding(finding) => f.write_str(finding),
        }
    }
}
