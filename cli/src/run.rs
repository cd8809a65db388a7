//! `ptxsmith run`: runs a kernel on tensors of a file and compares its results.
//!
//! Inputs are converted to the dtypes of the spec with one rounding each; expected tensors are compared as they are. Outputs
//! are filled before the run, so that an element that the kernel leaves out does not look right by chance.

use std::collections::BTreeMap;

use ptxsmith_builder::kernel::emit::emit as emit_text;
use ptxsmith_builder::kernel::{AnyKernel, ArgInfo, ArgKind, ArgValue, Direction, Operation, TensorShape};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;
use ptxsmith_runtime::{Buffer, Device, EmulatorOptions};

use crate::args::Run;
use crate::compare::{Comparison, Tolerance, compare, position};
use crate::element::{Element, convert};
use crate::error::Error;
use crate::outcome::Outcome;
use crate::output::Outputs;
use crate::report::{Report, Tested};
use crate::request::{self, DeviceName};
use crate::tensors::{Tensor, TensorFile, to_file};
use crate::text::text_hash;

/// The architecture that the emulator stands for unless another is asked for.
const EMULATED_TARGET: &str = "sm_90";
/// What every byte of an output is before the run: a NaN in each floating-point dtype.
const FILL: u8 = 0xff;

/// A buffer argument with what it is bound to.
struct Argument {
    name: &'static str,
    dtype: Dtype,
    direction: Direction,
    /// Dimensions, outermost first.
    dims: Vec<u64>,
    /// Contents in the argument's dtype; `None` for what the kernel only writes.
    contents: Option<Vec<u8>>,
    expected: Option<Tensor>,
}

/// Runs a kernel.
pub(crate) fn run(args: &Run) -> Result<Outcome, Error> {
    let device_name = request::device(&args.device)?;
    let target = args.target.as_deref().map(request::target).transpose()?;
    let tolerance = args.tolerance.as_deref().map(Tolerance::parse).transpose()?;
    let (info, kernel) = request::kernel(&args.kernel)?;
    let bound = by_argument("--bind", &args.bind, info.name)?;
    let expected = by_argument("--expect", &args.expect, info.name)?;
    let device = open(device_name, target)?;
    let emitted =
        emit_text(kernel.as_ref(), device.target()).map_err(|error| Error::kernel(info.name, error))?;
    let operation = &emitted.operation;
    check_names("--bind", operation, bound.keys())?;
    check_names("--expect", operation, expected.keys())?;

    let mut notes = Vec::new();
    let mut file = TensorFile::open(&args.tensors)?;
    let mut arguments = read_arguments(&mut file, operation, &bound, &expected, &mut notes)?;
    let binding = shapes(kernel.as_ref(), &mut arguments, &expected)?;
    let (outputs, findings, seconds) = execute(&device, kernel.as_ref(), &arguments, &binding)?;

    if let Some(path) = &args.out {
        let tensors = outputs
            .iter()
            .map(|(at, bytes)| (&arguments[*at], bytes))
            .map(|(argument, bytes)| (argument.name, argument.dtype, &argument.dims[..], &bytes[..]));
        let mut files = Outputs::default();
        files.stage(path, &to_file(path, tensors)?)?;
        files.commit()?;
    }
    let results = outputs.iter().map(|(at, bytes)| test(&arguments[*at], bytes, tolerance)).collect();
    let report = Report {
        kernel: info.name,
        fields: emitted.fields,
        target: device.target(),
        device: device_name.to_string(),
        device_title: device.name(),
        text_hash: text_hash(&emitted.text),
        results,
        findings,
        seconds,
    };
    Ok(report.outcome(args.json, notes))
}

/// The tensor of each argument; an argument may be named once.
fn by_argument(
    option: &'static str,
    texts: &[String],
    kernel: &str,
) -> Result<BTreeMap<String, String>, Error> {
    let mut all = BTreeMap::new();
    for (name, tensor) in request::pairs(option, "arg=TENSOR", texts)? {
        if all.contains_key(&name) {
            let problem = format!("is given twice with {option}");
            return Err(Error::Argument { kernel: kernel.to_owned(), name, problem });
        }
        all.insert(name, tensor);
    }
    Ok(all)
}

fn open(name: DeviceName, target: Option<Target>) -> Result<Device, Error> {
    match name {
        DeviceName::Emulated => {
            let target = target.map_or_else(|| request::target(EMULATED_TARGET), Ok)?;
            Ok(Device::emulated(target, EmulatorOptions::default()))
        }
        DeviceName::Cuda(ordinal) => {
            let device = Device::cuda(ordinal).map_err(|error| device_error(&error))?;
            match target {
                Some(target) => device.with_target(target).map_err(|error| device_error(&error)),
                None => Ok(device),
            }
        }
    }
}

fn device_error(error: &ptxsmith_runtime::Error) -> Error {
    Error::Device(error.to_string())
}

/// Refuses names that are not buffer arguments, and expectations of what the kernel does not write.
fn check_names<'a>(
    option: &'static str,
    operation: &Operation,
    names: impl Iterator<Item = &'a String>,
) -> Result<(), Error> {
    let kernel = operation.kernel;
    for name in names {
        let wrong = |problem: &str| {
            Err(Error::Argument {
                kernel: kernel.to_owned(),
                name: name.clone(),
                problem: format!("{problem}, {option} does not apply"),
            })
        };
        match operation.args.iter().find(|arg| arg.name == name).map(|arg| &arg.kind) {
            Some(ArgKind::Buffer { direction: Direction::In, .. }) if option == "--expect" => {
                return wrong("is only read");
            }
            Some(ArgKind::Buffer { .. }) => {}
            Some(ArgKind::Scalar { .. } | ArgKind::Stride { .. }) => {
                return wrong("is a number that follows from the shapes");
            }
            None => {
                let buffers = operation.args.iter().filter(|arg| matches!(arg.kind, ArgKind::Buffer { .. }));
                let known_names = buffers.map(|arg| arg.name.to_owned()).collect();
                return Err(Error::NoArgument {
                    option,
                    kernel: kernel.to_owned(),
                    name: name.clone(),
                    known_names,
                });
            }
        }
    }
    Ok(())
}

/// Reads what every buffer argument is bound to; the dimensions of unbound outputs are still empty.
fn read_arguments(
    file: &mut TensorFile,
    operation: &Operation,
    bound: &BTreeMap<String, String>,
    expected: &BTreeMap<String, String>,
    notes: &mut Vec<String>,
) -> Result<Vec<Argument>, Error> {
    let mut arguments = Vec::new();
    for ArgInfo { name, kind } in &operation.args {
        let ArgKind::Buffer { dtype, direction, .. } = *kind else { continue };
        let tensor = bound.get(*name).map(|tensor| file.read(tensor)).transpose()?;
        let expected = expected.get(*name).map(|tensor| file.read(tensor)).transpose()?;
        let (dims, contents) = match (tensor, direction) {
            (Some(tensor), Direction::Out) => (tensor.dims, None),
            (Some(tensor), Direction::In | Direction::InOut) => {
                let contents = converted(&tensor, name, dtype, notes)?;
                (tensor.dims, Some(contents))
            }
            (None, Direction::Out) => (expected.as_ref().map_or_else(Vec::new, |t| t.dims.clone()), None),
            (None, Direction::In | Direction::InOut) => {
                let problem = format!("is not bound; give it with --bind {name}=TENSOR");
                return Err(Error::Argument {
                    kernel: operation.kernel.to_owned(),
                    name: (*name).to_owned(),
                    problem,
                });
            }
        };
        arguments.push(Argument { name, dtype, direction, dims, contents, expected });
    }
    Ok(arguments)
}

/// The elements of a tensor in an argument's dtype.
fn converted(tensor: &Tensor, name: &str, dtype: Dtype, notes: &mut Vec<String>) -> Result<Vec<u8>, Error> {
    let to = Element::of(dtype);
    let converted = convert(tensor.element, to, &tensor.bytes).map_err(|wrong| Error::Unconvertible {
        tensor: tensor.name.clone(),
        index: position(wrong.at, &tensor.dims),
        value: wrong.value.to_string(),
        name: name.to_owned(),
        dtype: dtype.to_string(),
    })?;
    if tensor.element != to {
        let elements = converted.bytes.len() / to.bytes();
        notes.push(format!(
            "{name}: {} converted from {} to {dtype} with one rounding; {} of {elements} values changed",
            tensor.name, tensor.dtype, converted.changed
        ));
    }
    Ok(converted.bytes)
}

/// Sizes and scalars of the launch.
struct Launch {
    sizes: Vec<(&'static str, u64)>,
    scalars: Vec<(&'static str, i64)>,
}

/// What follows from the shapes of the inputs; gives the outputs their dimensions.
fn shapes(
    kernel: &dyn AnyKernel,
    arguments: &mut [Argument],
    expected: &BTreeMap<String, String>,
) -> Result<Launch, Error> {
    let tensors: Vec<TensorShape> = arguments
        .iter()
        .filter(|argument| argument.direction != Direction::Out)
        .map(|argument| TensorShape { name: argument.name.to_owned(), dims: argument.dims.clone() })
        .collect();
    let binding = kernel.bind(&tensors).map_err(|error| Error::kernel(kernel.name(), error))?;
    for argument in arguments.iter_mut().filter(|argument| argument.direction != Direction::In) {
        let rule = binding.outputs.iter().find(|(name, _)| *name == argument.name).map(|(_, dims)| dims);
        let misfit = |what: &str, dims: &[u64], rule: &[u64]| Error::Argument {
            kernel: kernel.name().to_owned(),
            name: argument.name.to_owned(),
            problem: format!("has shape {dims:?} in {what}, the kernel makes {rule:?}"),
        };
        let given = argument.contents.is_some() || !argument.dims.is_empty();
        match rule {
            Some(rule) if !given && argument.expected.is_none() => argument.dims = rule.clone(),
            Some(rule) if elements(&argument.dims) != elements(rule) => {
                return Err(misfit("its tensor", &argument.dims, rule));
            }
            Some(_) | None => {}
        }
        let Some(tensor) = &argument.expected else { continue };
        if elements(&tensor.dims) != elements(&argument.dims) {
            let what = expected.get(argument.name).map_or("its tensor", String::as_str);
            return Err(misfit(&format!("tensor `{what}`"), &tensor.dims, &argument.dims));
        }
    }
    Ok(Launch { sizes: binding.sizes, scalars: binding.scalars })
}

/// Elements of a tensor; `None` where the number exceeds 64 bits.
fn elements(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))
}

/// The bytes of each output by its position among the arguments, what the detectors found, and the seconds it took.
type Ran = (Vec<(usize, Vec<u8>)>, Vec<String>, f64);

fn execute(
    device: &Device,
    kernel: &dyn AnyKernel,
    arguments: &[Argument],
    launch: &Launch,
) -> Result<Ran, Error> {
    let prepared = device.prepare_any(kernel).map_err(|error| device_error(&error))?;
    let mut buffers = Vec::with_capacity(arguments.len());
    for argument in arguments {
        buffers.push(allocate(device, argument)?);
    }
    let mut values = Vec::with_capacity(arguments.len() + launch.scalars.len());
    for (argument, buffer) in arguments.iter().zip(&mut buffers) {
        let lent = match argument.direction {
            Direction::In => buffer.read(argument.dtype),
            Direction::Out | Direction::InOut => buffer.write(argument.dtype),
        };
        values.push((argument.name, ArgValue::Buffer(lent)));
    }
    for ArgInfo { name, kind } in &prepared.operation().args {
        if matches!(kind, ArgKind::Buffer { .. }) {
            continue;
        }
        let value = launch.scalars.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        if let Some(value) = value {
            let unused = 64u32.saturating_sub(kind.param_ty().bits());
            values.push((name, ArgValue::Scalar(value.cast_unsigned() << unused >> unused)));
        }
    }
    let outcome = prepared.run_named(values, &launch.sizes).map_err(|error| device_error(&error))?;
    let mut outputs = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        if argument.direction != Direction::In {
            let bytes = device.download(&buffers[at]).map_err(|error| device_error(&error))?;
            outputs.push((at, bytes));
        }
    }
    Ok((outputs, outcome.findings, outcome.elapsed.as_secs_f64()))
}

fn allocate(device: &Device, argument: &Argument) -> Result<Buffer, Error> {
    let failed = |error: ptxsmith_runtime::Error| device_error(&error);
    match &argument.contents {
        Some(bytes) => device.upload(argument.name, bytes).map_err(failed),
        None => {
            let bytes = elements(&argument.dims)
                .and_then(|count| count.checked_mul(argument.dtype.bytes().into()))
                .and_then(|bytes| usize::try_from(bytes).ok())
                .ok_or_else(|| {
                    Error::Device(format!("argument `{}` exceeds the address space", argument.name))
                })?;
            if device.is_emulated() {
                // The emulator knows which bytes nobody has written, and reports a kernel that reads them.
                device.alloc(argument.name, bytes).map_err(failed)
            } else {
                device.upload(argument.name, &vec![FILL; bytes]).map_err(failed)
            }
        }
    }
}

/// Compares an output with what is expected of it.
fn test(argument: &Argument, got: &[u8], tolerance: Option<Tolerance>) -> Tested {
    let tolerance = tolerance.unwrap_or_else(|| Tolerance::of(argument.dtype));
    let comparison: Option<Comparison> = argument.expected.as_ref().map(|expected| {
        let got = Element::of(argument.dtype).numbers(got);
        compare(got, expected.element.numbers(&expected.bytes), tolerance)
    });
    Tested { arg: argument.name, dtype: argument.dtype, dims: argument.dims.clone(), tolerance, comparison }
}
