//! The buffer arguments of a run: what they are bound to, their contents, and the comparison of the written ones.

use std::collections::BTreeMap;

use ptxsmith_builder::kernel::Direction;
use ptxsmith_builder::types::Dtype;

use crate::compare::{Tolerance, compare, position};
use crate::element::{Element, convert};
use crate::error::Error;
use crate::report::Tested;
use crate::request;
use crate::tensors::{Tensor, TensorFile};

/// What every byte of an output is before the run: a NaN in each floating-point dtype.
const FILL: u8 = 0xff;

/// An argument as the kernel declares it.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    /// Its name.
    pub(super) name: String,
    /// Dtype and direction of a buffer; `None` for a scalar.
    pub(super) buffer: Option<(Dtype, Direction)>,
}

/// A buffer argument with what it is bound to.
#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) direction: Direction,
    /// Dimensions, outermost first; `None` for an output whose shape is still to be found.
    pub(super) given: Option<Vec<u64>>,
    /// The dimensions that the run uses.
    pub(super) dims: Vec<u64>,
    /// Contents in the argument's dtype; `None` for what the kernel only writes.
    contents: Option<Vec<u8>>,
    pub(super) expected: Option<Tensor>,
}

/// Tensors by argument.
pub(super) struct Bindings {
    bind: BTreeMap<String, String>,
    expect: BTreeMap<String, String>,
}

impl Bindings {
    /// From `--bind` and `--expect`; an argument may be named once with each.
    pub(super) fn new(bind: &[String], expect: &[String], kernel: &str) -> Result<Bindings, Error> {
        let bind = by_argument("--bind", bind, kernel)?;
        Ok(Bindings { bind, expect: by_argument("--expect", expect, kernel)? })
    }

    /// Refuses names that are not buffer arguments, and expectations of what the kernel does not write.
    pub(super) fn check(&self, declared: &[Declared], kernel: &str) -> Result<(), Error> {
        for (option, names) in [("--bind", self.bind.keys()), ("--expect", self.expect.keys())] {
            for name in names {
                check_name(option, name, declared, kernel)?;
            }
        }
        Ok(())
    }

    /// Reads what every buffer argument is bound to. Notes say what was rounded.
    pub(super) fn read(
        &self,
        file: &mut TensorFile,
        declared: &[Declared],
        kernel: &str,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Argument>, Error> {
        let mut arguments = Vec::new();
        for Declared { name, buffer } in declared {
            let Some((dtype, direction)) = *buffer else { continue };
            let tensor = self.bind.get(name).map(|tensor| file.read(tensor)).transpose()?;
            let expected = self.expect.get(name).map(|tensor| file.read(tensor)).transpose()?;
            let contents = match (&tensor, direction) {
                (_, Direction::Out) => None,
                (Some(tensor), Direction::In | Direction::InOut) => {
                    Some(converted(tensor, name, dtype, notes)?)
                }
                (None, Direction::In | Direction::InOut) => {
                    let problem = format!("is not bound; give it with --bind {name}=TENSOR");
                    return Err(argument_error(kernel, name, problem));
                }
            };
            let given = tensor.map(|tensor| tensor.dims);
            let name = name.clone();
            arguments.push(Argument { name, dtype, direction, given, dims: Vec::new(), contents, expected });
        }
        Ok(arguments)
    }
}

/// An error about an argument.
pub(super) fn argument_error(kernel: &str, name: &str, problem: String) -> Error {
    Error::Argument { kernel: kernel.to_owned(), name: name.to_owned(), problem }
}

fn by_argument(
    option: &'static str,
    texts: &[String],
    kernel: &str,
) -> Result<BTreeMap<String, String>, Error> {
    let mut all = BTreeMap::new();
    for (name, tensor) in request::pairs(option, "arg=TENSOR", texts)? {
        if all.contains_key(&name) {
            return Err(argument_error(kernel, &name, format!("is given twice with {option}")));
        }
        all.insert(name, tensor);
    }
    Ok(all)
}

fn check_name(option: &'static str, name: &str, declared: &[Declared], kernel: &str) -> Result<(), Error> {
    let wrong =
        |problem: &str| Err(argument_error(kernel, name, format!("{problem}; {option} does not apply")));
    match declared.iter().find(|argument| argument.name == name).map(|argument| argument.buffer) {
        Some(Some((_, Direction::In))) if option == "--expect" => wrong("is only read"),
        Some(Some(_)) => Ok(()),
        Some(None) => wrong("is a number, not a buffer"),
        None => {
            let buffers = declared.iter().filter(|argument| argument.buffer.is_some());
            Err(Error::NoArgument {
                option,
                kernel: kernel.to_owned(),
                name: name.to_owned(),
                known_names: buffers.map(|argument| argument.name.clone()).collect(),
            })
        }
    }
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

/// Elements of a tensor; `None` where the number exceeds 64 bits.
pub(super) fn elements(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))
}

impl Argument {
    /// Chooses the dimensions: those it is bound with, else those of what is expected, else the kernel's own. All that are
    /// known must have the same number of elements.
    pub(super) fn settle(&mut self, kernel: &str, own: Option<&[u64]>) -> Result<(), Error> {
        let expected = self.expected.as_ref().map(|tensor| tensor.dims.as_slice());
        let dims = self.given.as_deref().or(expected).or(own).ok_or_else(|| {
            let problem = "has no shape; bind it, expect it or give it a shape in the manifest".to_owned();
            argument_error(kernel, &self.name, problem)
        })?;
        let of_expected = self.expected.as_ref().map(|tensor| format!("tensor `{}`", tensor.name));
        let of_bound = || "the tensor it is bound to".to_owned();
        let known = [(self.given.as_deref(), of_bound()), (expected, of_expected.unwrap_or_default())];
        // What the kernel makes is right; without it, what the argument is bound to.
        let reference = own.unwrap_or(dims);
        for (shape, whose) in known.iter().filter_map(|(shape, whose)| Some((shape.as_ref()?, whose))) {
            if elements(shape) != elements(reference) {
                let problem = format!("has shape {reference:?}, {whose} has {shape:?}");
                return Err(argument_error(kernel, &self.name, problem));
            }
        }
        self.dims = dims.to_vec();
        Ok(())
    }

    /// What the buffer holds before the run.
    pub(super) fn initial(&self, kernel: &str) -> Result<Vec<u8>, Error> {
        if let Some(contents) = &self.contents {
            return Ok(contents.clone());
        }
        let bytes = elements(&self.dims)
            .and_then(|count| count.checked_mul(self.dtype.bytes().into()))
            .and_then(|bytes| usize::try_from(bytes).ok());
        let mut filled = Vec::new();
        match bytes {
            // A shape may come from a manifest, which can ask for any amount of memory.
            Some(bytes) if filled.try_reserve_exact(bytes).is_ok() => {
                filled.resize(bytes, FILL);
                Ok(filled)
            }
            _ => Err(argument_error(
                kernel,
                &self.name,
                format!("of shape {:?} exceeds the memory", self.dims),
            )),
        }
    }

    /// Fills the element at `byte`, the first that a run left unwritten: the emulator's memory holds zeros there.
    pub(super) fn fill_gap(&self, bytes: &mut [u8], byte: u64) {
        let size = self.dtype.bytes() as usize;
        let at = usize::try_from(byte).unwrap_or(usize::MAX) / size * size;
        if let Some(element) = bytes.get_mut(at..at.saturating_add(size)) {
            element.fill(FILL);
        }
    }

    /// Compares what was written with what is expected.
    pub(super) fn test(&self, got: &[u8], tolerance: Option<Tolerance>) -> Tested {
        let tolerance = tolerance.unwrap_or_else(|| Tolerance::of(self.dtype));
        let comparison = self.expected.as_ref().map(|expected| {
            let got = Element::of(self.dtype).numbers(got);
            compare(got, expected.element.numbers(&expected.bytes), tolerance)
        });
        Tested { arg: self.name.clone(), dtype: self.dtype, dims: self.dims.clone(), tolerance, comparison }
    }
}
