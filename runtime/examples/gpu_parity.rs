//! Runs the parity gate over every sample of every kernel of the library on a real device: plain launches and graphs.
//! Exits with a failure if a kernel does not agree with its reference, and without a device.
//!
//! The arguments, if there are any, are the numbers of rows to try.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]

use std::error::Error as StdError;
use std::process::ExitCode;
use std::time::Instant;

use ptxsmith_kernels::registry;
use ptxsmith_runtime::{Device, LaunchPlan, ParityOptions, Path, Pattern};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn StdError>> {
    let device = Device::cuda(0)?;
    println!("{}, builds for {}", device.name(), device.target());
    let mut plan = LaunchPlan::new();
    for kernel in registry::all() {
        for sample in (kernel.samples)() {
            plan.add_any(kernel.sample(&sample)?);
        }
    }
    plan.prepare(&device, |_| {})?;
    device.seal();
    let began = Instant::now();
    let counts = std::env::args().skip(1).map(|count| count.parse()).collect::<Result<Vec<u64>, _>>()?;
    let mut options = ParityOptions::default();
    if !counts.is_empty() {
        options = options.with_counts(counts);
    }
    let report = plan.verify(&device, &options);
    for kernel in &report.kernels {
        println!("{kernel}");
    }
    println!("{report}\n{:?}", began.elapsed());
    let paths = [Path::Plain, Path::Graph];
    let expected = paths.len() * Pattern::ALL.len() * options.counts.len();
    if !report.passed() || !report.not_tried.is_empty() {
        return Err("the gate is closed".into());
    }
    match report.kernels.iter().find(|kernel| kernel.checks != expected) {
        Some(kernel) => {
            Err(format!("{} of {expected} launches of {} ran", kernel.checks, kernel.kernel).into())
        }
        None => Ok(()),
    }
}
