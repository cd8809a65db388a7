//! The text of a kernel value with a header for readers.
//!
//! The header is comment lines above the text: one for each spec field, then the schedule, each entry with its parameters
//! and geometry, and what the text requires with the reason. Everything that writes text for people (the command line,
//! snapshots, review tools) writes it through [`emit`], so that they agree byte for byte.
//!
//! The header takes no part in the text's identity: text hashes leave comment lines out.

use super::{AnyKernel, ArgKind, FieldValue, KernelError, Operation, ParamSource, Step};
use crate::ir::Entry;
use crate::print::Options;
use crate::target::{TARGETS, Target};
use crate::verify::Verified;

/// A kernel value as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Emitted {
    /// The text, header included.
    pub text: String,
    /// The baked fields, spec before schedule.
    pub fields: Vec<FieldValue>,
    /// What the text requires.
    pub needs: Vec<Need>,
    /// The operation that the text was printed from.
    pub operation: Operation,
}

/// Something that the text requires of a driver or a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// What: `PTX 7.8` or `sm_80 or newer`.
    pub what: String,
    /// The instruction or the target that it follows from.
    pub because: String,
}

/// Builds a kernel value for a target and prints it with its header.
///
/// # Errors
/// Those of [`AnyKernel::operation`].
pub fn emit(kernel: &dyn AnyKernel, target: Target) -> Result<Emitted, KernelError> {
    emit_with(kernel, target, Options::default())
}

/// [`emit`], with what `options` ask for in the text.
///
/// # Errors
/// Those of [`AnyKernel::operation`].
pub fn emit_with(kernel: &dyn AnyKernel, target: Target, options: Options) -> Result<Emitted, KernelError> {
    let operation = kernel.operation(target)?;
    let fields = kernel.fields(target);
    let needs = needs(&operation.module);
    let text = header(&operation, &fields, &needs) + &operation.module.text(options);
    Ok(Emitted { text, fields, needs, operation })
}

/// The lowest PTX version and the oldest architecture that a module's instructions need, each with what needs it most.
pub fn needs(module: &Verified) -> Vec<Need> {
    let requirements = module.requirements();
    let ptx = requirements.iter().max_by_key(|requirement| requirement.ptx);
    let mut needs: Vec<Need> = ptx
        .map(|first| Need { what: format!("PTX {}", module.version()), because: first.because.clone() })
        .into_iter()
        .collect();
    let sm = requirements
        .iter()
        .filter_map(|requirement| Some((architecture(&requirement.sm)?, requirement)))
        .max_by_key(|(number, _)| *number);
    let oldest = TARGETS.first().map_or(0, |row| row.number);
    needs.push(match sm {
        Some((number, requirement)) if number > oldest => {
            Need { what: requirement.sm.clone(), because: requirement.because.clone() }
        }
        _ => Need { what: format!("sm_{oldest} or newer"), because: "oldest known target".to_owned() },
    });
    needs
}

/// The number in `sm_80 or newer`, or the first one in `sm_90a or sm_100a`.
fn architecture(sm: &str) -> Option<u16> {
    let digits = sm.strip_prefix("sm_")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// The type of a parameter as headers and manifests write it: `bf16*`, `u32`.
pub fn parameter_type(operation: &Operation, source: &ParamSource, entry: &Entry, index: usize) -> String {
    match source {
        ParamSource::Arg(arg) => match operation.args.get(*arg).map(|arg| &arg.kind) {
            Some(ArgKind::Buffer { dtype, .. }) => format!("{dtype}*"),
            Some(kind) => kind.param_ty().suffix().to_owned(),
            None => declared_type(entry, index),
        },
        ParamSource::Size(_) => declared_type(entry, index),
    }
}

fn declared_type(entry: &Entry, index: usize) -> String {
    entry.params.get(index).map_or_else(String::new, |param| param.ty.suffix().to_owned())
}

fn header(operation: &Operation, fields: &[FieldValue], needs: &[Need]) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str("// ");
        out.push_str(&text);
        out.push('\n');
    };
    for field in fields.iter().filter(|field| !field.schedule) {
        line(format!("{} = {}", field.name, field.shown));
    }
    for field in fields.iter().filter(|field| field.schedule) {
        line(format!("schedule {} = {}", field.name, field.shown));
    }
    line(format!("kernel {}, target {}", operation.kernel, operation.module.module().target));
    for (step, entry) in operation.steps.iter().zip(&operation.module.module().entries) {
        describe_step(operation, step, entry, &mut line);
    }
    for need in needs {
        line(format!("requires {} ({})", need.what, need.because));
    }
    out
}

fn describe_step(operation: &Operation, step: &Step, entry: &Entry, line: &mut impl FnMut(String)) {
    line(format!("entry {}", step.entry));
    for (index, (source, param)) in step.params.iter().zip(&entry.params).enumerate() {
        let ty = parameter_type(operation, source, entry, index);
        let arg = match source {
            ParamSource::Arg(arg) => operation.args.get(*arg),
            ParamSource::Size(_) => None,
        };
        line(match arg.map(|arg| &arg.kind) {
            Some(ArgKind::Buffer { direction, len, align, .. }) => {
                let name = &param.name;
                format!("parameter {name}: {ty}, {}, {len} elements, aligned to {align}", direction.name())
            }
            Some(ArgKind::Stride { of }) => {
                format!("parameter {}: {ty}, elements between rows of {of}", param.name)
            }
            Some(ArgKind::Scalar { .. }) | None => format!("parameter {}: {ty}", param.name),
        });
    }
    let geometry = &step.geometry;
    let [x, y, z] = geometry.block;
    line(format!("block {x} x {y} x {z}"));
    line(format!("grid {} x 1 x 1", geometry.grid));
    if geometry.cluster > 1 {
        line(format!("cluster {} x 1 x 1", geometry.cluster));
    }
    line(format!(
        "shared {} bytes static, {} bytes dynamic",
        entry.static_shared_bytes(),
        geometry.dynamic_shared
    ));
    if geometry.pdl {
        line("starts before the previous launch ends".to_owned());
    }
}
