//! `ptxsmith emit`: the text of a kernel, and its manifest.

use ptxsmith_builder::kernel::emit::emit_with;
use ptxsmith_builder::print::Options;

use crate::args::Emit;
use crate::error::Error;
use crate::manifest::manifest;
use crate::outcome::{Outcome, pretty};
use crate::output::Outputs;
use crate::request;

/// Emits a kernel.
pub(crate) fn emit(args: &Emit) -> Result<Outcome, Error> {
    let target = request::target(&args.target)?;
    let (info, kernel) = request::kernel(&args.kernel, &args.set, &args.schedule, target)?;
    let options = Options { lines: args.lines };
    let emitted =
        emit_with(kernel.as_ref(), target, options).map_err(|error| Error::kernel(info.name, error))?;
    let mut outputs = Outputs::default();
    if let Some(path) = &args.manifest {
        outputs.stage(path, pretty(&manifest(&emitted)).as_bytes())?;
    }
    if let Some(path) = &args.output {
        outputs.stage(path, emitted.text.as_bytes())?;
    }
    outputs.commit()?;
    let stdout = if args.output.is_some() { String::new() } else { emitted.text };
    Ok(Outcome::text(stdout))
}
