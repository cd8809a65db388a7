//! `ptxsmith run`: runs a kernel on tensors of a file and compares its results.
//!
//! Inputs are converted to the dtypes of the kernel with one rounding each; expected tensors are compared as they are. Outputs
//! are filled before the run, so that an element that the kernel leaves out does not look right by chance.

mod arguments;
mod foreign;
mod library;

use std::path::Path;

use ptxsmith_builder::emu::Kind;

use crate::args::Run;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::output::Outputs;
use crate::tensors::to_file;

use arguments::Argument;

/// The bytes of each output by its position among the buffer arguments.
type Results = Vec<(usize, Vec<u8>)>;

/// Runs a kernel of the library, or any text with its manifest.
pub(crate) fn run(args: &Run) -> Result<Outcome, Error> {
    match (&args.ptx, &args.manifest) {
        (Some(ptx), Some(manifest)) => foreign::run(args, ptx, manifest),
        _ => library::run(args),
    }
}

/// Writes the outputs to a file.
fn write(path: &Path, arguments: &[Argument], results: &Results) -> Result<(), Error> {
    let tensors = results
        .iter()
        .map(|(at, bytes)| (&arguments[*at], bytes))
        .map(|(argument, bytes)| (argument.name.as_str(), argument.dtype, &argument.dims[..], &bytes[..]));
    let mut files = Outputs::default();
    files.stage(path, &to_file(path, tensors)?)?;
    files.commit()
}

/// Notes on findings that are too many to show.
fn omitted(omitted: &[(Kind, u64)]) -> impl Iterator<Item = String> {
    omitted.iter().map(|(kind, number)| format!("{number} more findings of {kind} are left out"))
}

/// A note on an output that the kernel did not write as a whole.
fn unwritten(name: &str, byte: u64) -> String {
    format!("{name}: the kernel left byte {byte} and maybe later ones unwritten")
}
