//! Runs any text in the reader's subset on the emulator, as its manifest says.
//!
//! The verifier's findings are listed beside the detectors', and the text runs whatever the verifier says.

use std::path::Path;
use std::time::Instant;

use ptxsmith_builder::emu::{self, Access, ArgValue, Contents, Launch, Memory};
use ptxsmith_builder::ir::{Entry, Module};
use ptxsmith_builder::kernel::Direction;
use ptxsmith_builder::types::Ty;

use super::arguments::{Argument, Bindings, Declared, argument_error, elements};
use super::{Results, write};
use crate::args::Run;
use crate::check;
use crate::compare::Tolerance;
use crate::error::Error;
use crate::finding::Finding;
use crate::manifest::{Expr, Manifest, Names, Param, ParamKind, ScalarValue, fit};
use crate::outcome::Outcome;
use crate::report::Report;
use crate::request::{self, DeviceName};
use crate::tensors::TensorFile;
use crate::text::text_hash;

/// Runs a text.
pub(super) fn run(args: &Run, ptx: &Path, manifest_path: &Path) -> Result<Outcome, Error> {
    let device = request::device(&args.device)?;
    if device != DeviceName::Emulated {
        return Err(Error::Value {
            option: "--device",
            value: args.device.clone(),
            allowed: "emulated, where --ptx runs".to_owned(),
            near: None,
        });
    }
    let tolerance = args.tolerance.as_deref().map(Tolerance::parse).transpose()?;
    let source = check::read(ptx)?;
    let module = &source.parsed.module;
    if let Some(target) = args.target.as_deref().map(request::target).transpose()?
        && target != module.target
    {
        return Err(Error::Value {
            option: "--target",
            value: target.to_string(),
            allowed: format!("{}, the target of the text", module.target),
            near: None,
        });
    }
    let manifest = Manifest::open(manifest_path)?;
    let broken = |reason: String| Error::Manifest { path: manifest_path.to_path_buf(), reason };
    let entry = entry(module, &manifest).map_err(broken)?;
    check_params(entry, &manifest).map_err(broken)?;
    let kernel = if manifest.kernel.is_empty() { entry.name.clone() } else { manifest.kernel.clone() };

    let bindings = Bindings::new(&args.bind, &args.expect, &kernel)?;
    let declared: Vec<Declared> = manifest.params.iter().map(declared).collect();
    bindings.check(&declared, &kernel)?;
    let mut notes = Vec::new();
    let hash = text_hash(&source.text);
    if manifest.text_hash.as_ref().is_some_and(|made_for| *made_for != hash) {
        notes.push(format!("{} was made for another text than {}", manifest_path.display(), ptx.display()));
    }
    let mut file = TensorFile::open(&args.tensors)?;
    let mut arguments = bindings.read(&mut file, &declared, &kernel, &mut notes)?;
    let names = names(&manifest, &arguments, &kernel)?;
    settle(&manifest, &names, &mut arguments, &kernel)?;
    let call = Call::new(&manifest, &names, &arguments, &kernel).map_err(|error| match error {
        Problem::Manifest(reason) => broken(reason),
        Problem::Other(error) => error,
    })?;

    let mut findings: Vec<Finding> =
        source.findings.iter().filter(|finding| finding.is_error()).cloned().collect();
    let warnings = source.findings.iter().filter(|finding| !finding.is_error());
    notes.extend(warnings.map(Finding::lines));
    let (results, seconds) = match call.run(module, entry, &arguments) {
        Ok(ran) => {
            findings.extend(ran.findings.iter().map(|finding| Finding::of_emulator(finding, Some(ptx))));
            notes.extend(super::omitted(&ran.omitted));
            notes
                .extend(ran.unwritten.iter().map(|(at, byte)| super::unwritten(&arguments[*at].name, *byte)));
            (ran.results, ran.seconds)
        }
        // What the verifier refuses may be impossible to run at all; then its findings say why.
        Err(error) if findings.is_empty() => {
            return Err(Error::Device(format!("{}: {error}", ptx.display())));
        }
        Err(error) => {
            notes.push(format!("{} did not run: {error}", ptx.display()));
            (Vec::new(), 0.0)
        }
    };
    if let Some(path) = args.out.as_deref().filter(|_| !results.is_empty()) {
        write(path, &arguments, &results)?;
    }
    let report = Report {
        kernel,
        spec: manifest.spec.clone(),
        target: module.target,
        device: device.to_string(),
        device_title: format!("emulated {}", module.target),
        text_hash: hash,
        results: results.iter().map(|(at, bytes)| arguments[*at].test(bytes, tolerance)).collect(),
        findings,
        seconds,
    };
    Ok(report.outcome(args.json, notes))
}

/// The entry that the manifest names, or the only one.
fn entry<'a>(module: &'a Module, manifest: &Manifest) -> Result<&'a Entry, String> {
    let known = || module.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ");
    match (&manifest.entry, &module.entries[..]) {
        (Some(name), entries) => entries
            .iter()
            .find(|entry| entry.name == *name)
            .ok_or_else(|| format!("entry is `{name}`, the text has {}", known())),
        (None, [entry]) => Ok(entry),
        (None, entries) => {
            Err(format!("entry is missing, the text has {} kernels: {}", entries.len(), known()))
        }
    }
}

/// The parameters must be those of the text in number and size.
fn check_params(entry: &Entry, manifest: &Manifest) -> Result<(), String> {
    let (given, takes) = (manifest.params.len(), entry.params.len());
    if given != takes {
        return Err(format!("params has {given} parameters, entry `{}` takes {takes}", entry.name));
    }
    for (i, (param, own)) in manifest.params.iter().zip(&entry.params).enumerate() {
        let ty = match param.kind {
            ParamKind::Buffer { .. } => Ty::U64,
            ParamKind::Scalar { ty, .. } => ty,
        };
        if ty.bits() != own.ty.bits() {
            return Err(format!(
                "params[{i}].type has {} bits, parameter `{}` of the text is {} of {}",
                ty.bits(),
                own.name,
                own.ty,
                own.ty.bits()
            ));
        }
    }
    Ok(())
}

fn declared(param: &Param) -> Declared {
    let buffer = match param.kind {
        ParamKind::Buffer { dtype, direction, .. } => Some((dtype, direction)),
        ParamKind::Scalar { .. } => None,
    };
    Declared { name: param.name.clone(), buffer }
}

/// The values of names: integer scalars, and sizes that follow from the shapes of bound and expected tensors.
fn names(manifest: &Manifest, arguments: &[Argument], kernel: &str) -> Result<Names, Error> {
    let mut names = Names::new();
    for param in &manifest.params {
        if let ParamKind::Scalar { ty, value: Some(ScalarValue::Bits(bits)) } = param.kind
            && !ty.is_float()
        {
            names.insert(param.name.clone(), bits);
        }
    }
    // What is bound says more than what is expected.
    for expected in [false, true] {
        for argument in arguments {
            let Some(shape) = shape(manifest, &argument.name) else { continue };
            let dims = if expected {
                argument.expected.as_ref().map(|tensor| &tensor.dims)
            } else {
                argument.given.as_ref()
            };
            if let Some(dims) = dims {
                unify(shape, dims, &mut names)
                    .map_err(|problem| argument_error(kernel, &argument.name, problem))?;
            }
        }
    }
    Ok(names)
}

fn shape<'a>(manifest: &'a Manifest, name: &str) -> Option<&'a [Expr]> {
    manifest.params.iter().find(|param| param.name == name).and_then(|param| match &param.kind {
        ParamKind::Buffer { shape, .. } => shape.as_deref(),
        ParamKind::Scalar { .. } => None,
    })
}

/// Gives the names in a shape their values. Dimensions are matched from the last one on; the first of the shape takes all
/// that are left, so that any number of leading dimensions are rows.
fn unify(shape: &[Expr], dims: &[u64], names: &mut Names) -> Result<(), String> {
    let misfit = || format!("has shape {dims:?}, which does not fit the manifest's");
    let Some(leading) = dims.len().checked_sub(shape.len().saturating_sub(1)) else { return Err(misfit()) };
    let Some((first, rest)) = shape.split_first() else {
        return if elements(dims) == Some(1) { Ok(()) } else { Err(misfit()) };
    };
    let rows = elements(&dims[..leading]).ok_or_else(misfit)?;
    for (expr, dim) in std::iter::once((first, rows)).chain(rest.iter().zip(dims[leading..].iter().copied()))
    {
        let known = match expr {
            Expr::Const(value) => Some(*value),
            Expr::Name(name) => Some(*names.entry(name.clone()).or_insert(dim)),
            // It may hold names that another argument gives; `settle` compares the number of elements.
            Expr::Binary(..) => None,
        };
        if let Some(known) = known.filter(|known| *known != dim) {
            return Err(format!("has shape {dims:?}, the manifest wants {known} where it has {dim}"));
        }
    }
    Ok(())
}

/// Gives every argument its dimensions.
fn settle(manifest: &Manifest, names: &Names, arguments: &mut [Argument], kernel: &str) -> Result<(), Error> {
    for argument in arguments {
        let own = shape(manifest, &argument.name)
            .map(|shape| shape.iter().map(|expr| expr.eval(names)).collect::<Result<Vec<u64>, String>>());
        let own = match own {
            None => None,
            Some(Ok(dims)) => Some(dims),
            // A bound or expected tensor stands in for a shape without a value.
            Some(Err(_)) if argument.given.is_some() || argument.expected.is_some() => None,
            Some(Err(problem)) => {
                return Err(argument_error(
                    kernel,
                    &argument.name,
                    format!("has a shape without a value: {problem}"),
                ));
            }
        };
        argument.settle(kernel, own.as_deref())?;
    }
    Ok(())
}

/// Everything a launch needs.
struct Call {
    launch: Launch,
    params: Vec<Passed>,
}

/// What is passed for a parameter: the buffer of the argument at this position, with its contents, or a scalar.
enum Passed {
    Buffer(usize, Vec<u8>),
    Scalar(u64),
}

enum Problem {
    Manifest(String),
    Other(Error),
}

impl Call {
    fn new(
        manifest: &Manifest,
        names: &Names,
        arguments: &[Argument],
        kernel: &str,
    ) -> Result<Call, Problem> {
        let mut grid = [0; 3];
        for (axis, (blocks, expr)) in grid.iter_mut().zip(&manifest.grid).enumerate() {
            let value =
                expr.eval(names).map_err(|problem| Problem::Manifest(format!("grid[{axis}]: {problem}")))?;
            *blocks = u32::try_from(value).map_err(|_| {
                Problem::Manifest(format!("grid[{axis}] is {value}, the limit is {}", i32::MAX))
            })?;
        }
        let mut params = Vec::with_capacity(manifest.params.len());
        for param in &manifest.params {
            params.push(match &param.kind {
                ParamKind::Buffer { .. } => {
                    let at = arguments.iter().position(|argument| argument.name == param.name);
                    let at = at.ok_or_else(|| Problem::Manifest(format!("`{}` is no buffer", param.name)))?;
                    Passed::Buffer(at, arguments[at].initial(kernel).map_err(Problem::Other)?)
                }
                ParamKind::Scalar { ty, value } => Passed::Scalar(
                    scalar(&param.name, *ty, value.as_ref(), names).map_err(Problem::Manifest)?,
                ),
            });
        }
        let launch = Launch {
            grid,
            block: manifest.block,
            cluster: manifest.cluster,
            dynamic_shared: manifest.shared_bytes,
        };
        Ok(Call { launch, params })
    }

    fn run(self, module: &Module, entry: &Entry, arguments: &[Argument]) -> Result<Ran, emu::Error> {
        let mut memory = Memory::new();
        let mut outputs = Vec::new();
        let mut values = Vec::with_capacity(self.params.len());
        for passed in self.params {
            values.push(match passed {
                Passed::Scalar(bits) => ArgValue::Scalar(bits),
                Passed::Buffer(at, contents) => {
                    let argument = &arguments[at];
                    let access = match argument.direction {
                        Direction::In => Access::ReadOnly,
                        Direction::Out => Access::WriteOnly,
                        Direction::InOut => Access::ReadWrite,
                    };
                    let id = memory.add(&argument.name, access, Contents::Bytes(contents));
                    if argument.direction != Direction::In {
                        outputs.push((at, id));
                    }
                    ArgValue::Buffer(id, 0)
                }
            });
        }
        let began = Instant::now();
        let outcome =
            emu::run(module, &entry.name, &self.launch, &values, &mut memory, &emu::Options::default())?;
        let seconds = began.elapsed().as_secs_f64();
        let gap = |(at, id): &(usize, emu::BufferId)| Some((*at, memory.first_uninit(*id)?));
        let unwritten: Vec<(usize, u64)> = outputs.iter().filter_map(gap).collect();
        let mut results: Results = outputs.into_iter().map(|(at, id)| (at, memory.bytes(id))).collect();
        for (at, byte) in &unwritten {
            let output = results.iter_mut().find(|(output, _)| output == at);
            output.into_iter().for_each(|(_, bytes)| arguments[*at].fill_gap(bytes, *byte));
        }
        Ok(Ran { results, findings: outcome.findings, omitted: outcome.omitted, unwritten, seconds })
    }
}

struct Ran {
    results: Results,
    findings: Vec<emu::Finding>,
    omitted: Vec<(emu::Kind, u64)>,
    /// Outputs by position with the first byte that was not written.
    unwritten: Vec<(usize, u64)>,
    seconds: f64,
}

/// The bits of a scalar: its value, or the size of its name.
fn scalar(name: &str, ty: Ty, value: Option<&ScalarValue>, names: &Names) -> Result<u64, String> {
    let bits = match value {
        Some(value) => value.bits(ty, names),
        None => match names.get(name) {
            Some(size) => fit(*size, ty),
            None => Err("it has no value, and no shape has a size of its name".to_owned()),
        },
    };
    bits.map_err(|problem| format!("parameter `{name}`: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unified(shape: &[&str], dims: &[u64]) -> Result<Names, String> {
        let shape: Vec<Expr> = shape.iter().map(|text| Expr::parse(text).expect("an expression")).collect();
        let mut names = Names::from([("known".to_owned(), 7)]);
        unify(&shape, dims, &mut names).map(|()| names)
    }

    #[test]
    fn leading_dimensions_are_rows() {
        for dims in [&[6, 8][..], &[2, 3, 8], &[1, 2, 3, 8]] {
            assert_eq!(unified(&["rows", "8"], dims).map(|names| names["rows"]), Ok(6), "{dims:?}");
        }
        assert_eq!(unified(&["rows", "8"], &[8]).map(|names| names["rows"]), Ok(1));
        assert_eq!(unified(&["n"], &[2, 3]).map(|names| names["n"]), Ok(6));
        assert!(unified(&[], &[]).is_ok());
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        assert!(unified(&["rows", "8"], &[6, 9]).expect_err("9 is not 8").contains("wants 8 where it has 9"));
        assert!(unified(&["known"], &[6]).expect_err("6 is not 7").contains("wants 7 where it has 6"));
        assert!(unified(&["a", "b", "c"], &[6]).is_err());
        assert!(unified(&[], &[2]).is_err());
        assert!(unified(&["rows"], &[u64::MAX, 2]).is_err());
    }
}
