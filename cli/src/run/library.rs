//! Runs a kernel of the library on the emulator or a CUDA device.

use ptxsmith_builder::kernel::emit::emit as emit_text;
use ptxsmith_builder::kernel::{AnyKernel, ArgInfo, ArgKind, ArgValue, Binding, Direction, TensorShape};
use ptxsmith_builder::target::Target;
use ptxsmith_runtime::{Device, EmulatorOptions};

use super::arguments::{Argument, Bindings, Declared};
use super::{Results, write};
use crate::args::Run;
use crate::compare::Tolerance;
use crate::error::Error;
use crate::finding::Finding;
use crate::manifest::fields;
use crate::outcome::Outcome;
use crate::report::Report;
use crate::request::{self, DeviceName};
use crate::tensors::TensorFile;
use crate::text::text_hash;

/// The architecture that the emulator stands for unless another is asked for.
const EMULATED_TARGET: &str = "sm_90";

/// Runs a kernel.
pub(super) fn run(args: &Run) -> Result<Outcome, Error> {
    let device_name = request::device(&args.device)?;
    let target = args.target.as_deref().map(request::target).transpose()?;
    let tolerance = args.tolerance.as_deref().map(Tolerance::parse).transpose()?;
    let name = args.kernel.as_deref().unwrap_or_default();
    let device = open(device_name, target)?;
    let (info, kernel) = request::kernel(name, &args.set, &args.schedule, device.target())?;
    let bindings = Bindings::new(&args.bind, &args.expect, info.name)?;
    let emitted =
        emit_text(kernel.as_ref(), device.target()).map_err(|error| Error::kernel(info.name, error))?;
    let declared: Vec<Declared> = emitted.operation.args.iter().map(declared).collect();
    bindings.check(&declared, info.name)?;

    let mut notes = Vec::new();
    let mut file = TensorFile::open(&args.tensors)?;
    let mut arguments = bindings.read(&mut file, &declared, info.name, &mut notes)?;
    let binding = shapes(kernel.as_ref(), &mut arguments)?;
    let (results, outcome) = execute(&device, kernel.as_ref(), &arguments, &binding)?;
    notes.extend(super::omitted(&outcome.omitted));
    notes.extend(outcome.unwritten.iter().map(|(name, byte)| super::unwritten(name, *byte)));
    if let Some(path) = &args.out {
        write(path, &arguments, &results)?;
    }
    let report = Report {
        kernel: info.name.to_owned(),
        spec: fields(&emitted.fields, false),
        target: device.target(),
        device: device_name.to_string(),
        device_title: device.name(),
        text_hash: text_hash(&emitted.text),
        results: results.iter().map(|(at, bytes)| arguments[*at].test(bytes, tolerance)).collect(),
        findings: outcome.findings.iter().map(|finding| Finding::of_emulator(finding, None)).collect(),
        seconds: outcome.elapsed.as_secs_f64(),
    };
    Ok(report.outcome(args.json, notes))
}

fn declared(arg: &ArgInfo) -> Declared {
    let buffer = match arg.kind {
        ArgKind::Buffer { dtype, direction, .. } => Some((dtype, direction)),
        ArgKind::Scalar { .. } | ArgKind::Stride { .. } => None,
    };
    Declared { name: arg.name.to_owned(), buffer }
}

fn open(name: DeviceName, target: Option<Target>) -> Result<Device, Error> {
    match name {
        DeviceName::Emulated => {
            let target = target.map_or_else(|| request::target(EMULATED_TARGET), Ok)?;
            Ok(Device::emulated(target, EmulatorOptions::default()))
        }
        DeviceName::Cuda(ordinal) => {
            let device = Device::cuda(ordinal).map_err(device_error)?;
            match target {
                Some(target) => device.with_target(target).map_err(device_error),
                None => Ok(device),
            }
        }
    }
}

fn device_error(error: ptxsmith_runtime::Error) -> Error {
    Error::Device(error.to_string())
}

/// What follows from the shapes of the inputs; gives every argument its dimensions.
fn shapes(kernel: &dyn AnyKernel, arguments: &mut [Argument]) -> Result<Binding, Error> {
    let tensors: Vec<TensorShape> = arguments
        .iter()
        .filter(|argument| argument.direction != Direction::Out)
        .filter_map(|argument| {
            Some(TensorShape { name: argument.name.clone(), dims: argument.given.clone()? })
        })
        .collect();
    let binding = kernel.bind(&tensors).map_err(|error| Error::kernel(kernel.name(), error))?;
    for argument in arguments {
        let own = binding.outputs.iter().find(|(name, _)| *name == argument.name);
        argument.settle(kernel.name(), own.map(|(_, dims)| dims.as_slice()))?;
    }
    Ok(binding)
}

/// Runs it.
fn execute(
    device: &Device,
    kernel: &dyn AnyKernel,
    arguments: &[Argument],
    binding: &Binding,
) -> Result<(Results, ptxsmith_runtime::Outcome), Error> {
    let prepared = device.prepare_any(kernel).map_err(device_error)?;
    let mut buffers = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let contents = argument.initial(kernel.name())?;
        buffers.push(device.upload(&argument.name, &contents).map_err(device_error)?);
    }
    let mut values = Vec::with_capacity(prepared.operation().args.len());
    for (argument, buffer) in arguments.iter().zip(&mut buffers) {
        let lent = match argument.direction {
            Direction::In => buffer.read(argument.dtype),
            Direction::Out | Direction::InOut => buffer.write(argument.dtype),
        };
        values.push((argument.name.as_str(), ArgValue::Buffer(lent)));
    }
    for ArgInfo { name, kind } in &prepared.operation().args {
        let value = binding.scalars.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        if let Some(value) = value.filter(|_| !matches!(kind, ArgKind::Buffer { .. })) {
            let unused = 64u32.saturating_sub(kind.param_ty().bits());
            values.push((name, ArgValue::Scalar(value.cast_unsigned() << unused >> unused)));
        }
    }
    let outcome = prepared.run_named(values, &binding.sizes).map_err(device_error)?;
    let mut results = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        if argument.direction != Direction::In {
            let mut bytes = device.download(&buffers[at]).map_err(device_error)?;
            for (_, byte) in outcome.unwritten.iter().filter(|(name, _)| *name == argument.name) {
                argument.fill_gap(&mut bytes, *byte);
            }
            results.push((at, bytes));
        }
    }
    Ok((results, outcome))
}
