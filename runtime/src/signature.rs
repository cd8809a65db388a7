//! What a kernel promises about its arguments, in the form that every launch is checked against.
//!
//! A launch is an array of numbers: its sizes, then its arguments (the address of a buffer, the bits of a scalar), and
//! beside it what is known of each buffer. Checking it allocates nothing unless it fails.
//!
//! What is checked: sizes against their limits; dtype, direction, length and alignment of every buffer; scalars against
//! their type; strides against the alignment of the rows; that a written buffer shares no byte with another argument.
//! Bytes past what the kernel may touch do not count: two views may share those.

use ptxsmith_builder::kernel::{ArgKind, Direction, Operation, ParamSource};
use ptxsmith_builder::types::{Dtype, Ty};

use crate::argument_error::ArgumentError;
use crate::arguments::MAX_ARGUMENTS;
use crate::expression::Resolved;

/// Most sizes of a kernel.
pub(crate) const MAX_SIZES: usize = 16;
const MAX_NUMBERS: usize = MAX_SIZES + MAX_ARGUMENTS;

/// The arguments and sizes of an operation.
#[derive(Debug)]
pub(crate) struct Signature {
    /// Sizes, then arguments.
    names: Box<[&'static str]>,
    limits: Box<[u64]>,
    args: Box<[Argument]>,
    steps: Box<[Step]>,
}

#[derive(Debug)]
struct Argument {
    name: &'static str,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Buffer { dtype: Dtype, written: bool, len: Resolved, align: u32 },
    Scalar { ty: Ty, counts: bool },
    Stride { of: &'static str, element: u32, align: u32 },
}

/// Grid and parameters of one launch.
#[derive(Debug)]
pub(crate) struct Step {
    grid: Resolved,
    /// Where each parameter of the entry is among the numbers.
    pub(crate) params: Box<[usize]>,
}

/// The numbers of one launch, and what is known of its buffers.
pub(crate) struct Call {
    numbers: [u64; MAX_NUMBERS],
    sizes: usize,
    args: usize,
    given: [Given; MAX_ARGUMENTS],
}

#[derive(Clone, Copy)]
struct Given {
    /// Bytes of a buffer; after the check those that the kernel may touch.
    bytes: u64,
    dtype: Option<Dtype>,
    writable: bool,
}

impl Call {
    pub(crate) fn new() -> Call {
        let given = [Given { bytes: 0, dtype: None, writable: false }; MAX_ARGUMENTS];
        Call { numbers: [0; MAX_NUMBERS], sizes: 0, args: 0, given }
    }

    /// Sizes, then arguments.
    pub(crate) fn numbers(&self) -> &[u64; MAX_NUMBERS] {
        &self.numbers
    }

    /// Adds a size; all of them come before the arguments.
    pub(crate) fn size(&mut self, value: u64) {
        if self.args == 0 && self.sizes < MAX_SIZES {
            self.numbers[self.sizes] = value;
        }
        self.sizes += 1;
    }

    /// Adds a buffer.
    pub(crate) fn buffer(&mut self, address: u64, bytes: u64, dtype: Dtype, writable: bool) {
        self.argument(address, Given { bytes, dtype: Some(dtype), writable });
    }

    /// Adds a scalar, zero-extended.
    pub(crate) fn scalar(&mut self, bits: u64) {
        self.argument(bits, Given { bytes: 0, dtype: None, writable: false });
    }

    /// Number of arguments so far.
    pub(crate) fn args(&self) -> usize {
        self.args
    }

    fn argument(&mut self, number: u64, given: Given) {
        if let (Some(place), Some(slot)) =
            (self.numbers.get_mut(self.sizes + self.args), self.given.get_mut(self.args))
        {
            (*place, *slot) = (number, given);
        }
        self.args += 1;
    }
}

impl Signature {
    /// Resolves every name of an operation; the error is a sentence about what the kernel itself got wrong.
    pub(crate) fn new(operation: &Operation) -> Result<Signature, String> {
        let within = |what: &str, value: usize, limit: usize| match value <= limit {
            true => Ok(()),
            false => Err(format!("it has {value} {what}, the limit is {limit}")),
        };
        within("sizes", operation.sizes.len(), MAX_SIZES)?;
        within("arguments", operation.args.len(), MAX_ARGUMENTS)?;
        let names: Box<[&'static str]> =
            operation.sizes.iter().copied().chain(operation.args.iter().map(|arg| arg.name)).collect();
        let resolve = |what: &str, expr| {
            Resolved::new(expr, &names)
                .map_err(|name| format!("{what} depends on `{name}`, which it does not have"))
        };
        let mut args: Vec<Argument> = Vec::with_capacity(operation.args.len());
        for arg in &operation.args {
            let kind = match &arg.kind {
                ArgKind::Buffer { dtype, direction, len, align } => Kind::Buffer {
                    dtype: *dtype,
                    written: *direction != Direction::In,
                    len: resolve(&format!("the length of `{}`", arg.name), len)?,
                    align: *align,
                },
                ArgKind::Scalar { ty } => Kind::Scalar { ty: *ty, counts: false },
                ArgKind::Stride { of } => {
                    let buffer =
                        operation.args.iter().find(|other| other.name == *of).map(|other| &other.kind);
                    let Some(ArgKind::Buffer { dtype, align, .. }) = buffer else {
                        return Err(format!("`{}` is the stride of `{of}`, which is no buffer", arg.name));
                    };
                    Kind::Stride { of, element: dtype.bytes(), align: *align }
                }
            };
            args.push(Argument { name: arg.name, kind });
        }
        let mut steps = Vec::with_capacity(operation.steps.len());
        for step in &operation.steps {
            let grid = resolve(&format!("the grid of `{}`", step.entry), &step.geometry.grid)?;
            steps.push(Step { grid, params: params(operation, &step.entry, &step.params)? });
        }
        let mut counting = Vec::new();
        let lengths = args.iter().filter_map(|arg| match &arg.kind {
            Kind::Buffer { len, .. } => Some(len),
            Kind::Scalar { .. } | Kind::Stride { .. } => None,
        });
        for expr in lengths.chain(steps.iter().map(|step| &step.grid)) {
            expr.for_each_place(&mut |place| counting.push(place));
        }
        for (index, arg) in args.iter_mut().enumerate() {
            let counted = counting.contains(&(operation.sizes.len() + index));
            match &mut arg.kind {
                Kind::Scalar { ty, counts } if !counted || ty.is_int() => *counts = counted,
                Kind::Scalar { ty, .. } => {
                    return Err(format!("a length or grid depends on `{}`, which is {ty}", arg.name));
                }
                Kind::Buffer { .. } if counted => {
                    return Err(format!("a length or grid depends on `{}`, which is a buffer", arg.name));
                }
                Kind::Buffer { .. } | Kind::Stride { .. } => {}
            }
        }
        let limits = operation.size_limits.iter().copied().collect();
        Ok(Signature { names, limits, args: args.into(), steps: steps.into() })
    }

    /// The launches, in order.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Names of the sizes.
    pub(crate) fn sizes(&self) -> &[&'static str] {
        &self.names[..self.limits.len()]
    }

    /// Names of the arguments.
    pub(crate) fn args(&self) -> &[&'static str] {
        &self.names[self.limits.len()..]
    }

    /// Checks a launch.
    pub(crate) fn check(&self, call: &mut Call) -> Result<(), ArgumentError> {
        let counts = [("sizes", call.sizes, self.limits.len()), ("arguments", call.args, self.args.len())];
        for (what, given, takes) in counts {
            if given != takes {
                return Err(ArgumentError::Count { what, given, takes });
            }
        }
        for ((&name, &limit), &value) in self.names.iter().zip(&self.limits).zip(&call.numbers) {
            if value > limit {
                return Err(ArgumentError::Size { name, value, limit });
            }
        }
        for (index, arg) in self.args.iter().enumerate() {
            let number = call.numbers[call.sizes + index];
            match &arg.kind {
                Kind::Buffer { dtype, written, len, align } => {
                    let given = call.given[index];
                    let needed = self.buffer(arg.name, &given, *dtype, *written, len, call)?;
                    if needed > 0 && !number.is_multiple_of(u64::from(*align)) {
                        let (name, address, align) = (arg.name, number, *align);
                        return Err(ArgumentError::Misaligned { name, address, align });
                    }
                    call.given[index].bytes = needed;
                }
                Kind::Scalar { ty, counts } => {
                    is_scalar(arg.name, &call.given[index])?;
                    check_scalar(arg.name, number, *ty, *counts)?;
                }
                Kind::Stride { of, element, align } => {
                    is_scalar(arg.name, &call.given[index])?;
                    check_scalar(arg.name, number, Ty::S64, true)?;
                    let bytes = number.wrapping_mul(u64::from(*element));
                    if !bytes.is_multiple_of(u64::from(*align)) {
                        let (name, stride, of, align) = (arg.name, number, *of, *align);
                        return Err(ArgumentError::MisalignedRows { name, stride, bytes, of, align });
                    }
                }
            }
        }
        self.overlaps(call)
    }

    /// The grid of a launch that was checked.
    pub(crate) fn grid(&self, step: &Step, call: &Call) -> Result<u64, ArgumentError> {
        let numbers = &call.numbers;
        step.grid.eval(numbers).ok_or_else(|| step.grid.problem("the grid".to_owned(), &self.names, numbers))
    }

    /// Dtype, direction and length of a buffer; gives the bytes that the kernel may touch.
    fn buffer(
        &self,
        name: &'static str,
        given: &Given,
        takes: Dtype,
        written: bool,
        len: &Resolved,
        call: &Call,
    ) -> Result<u64, ArgumentError> {
        let Some(dtype) = given.dtype else {
            return Err(ArgumentError::Kind { name, takes: "buffer", given: "scalar" });
        };
        if dtype != takes {
            return Err(ArgumentError::Dtype { name, given: dtype, takes });
        }
        if written && !given.writable {
            return Err(ArgumentError::ReadOnly { name });
        }
        let needed = len.eval(&call.numbers).and_then(|len| len.checked_mul(u64::from(takes.bytes())));
        let Some(needed) = needed else {
            let what = format!("the length of `{name}` in bytes");
            return Err(len.problem(what, &self.names, &call.numbers));
        };
        if needed > given.bytes {
            let (given, len) = (given.bytes, len.source().to_string());
            return Err(ArgumentError::TooShort { name, given, needed, len, dtype });
        }
        Ok(needed)
    }

    fn overlaps(&self, call: &Call) -> Result<(), ArgumentError> {
        let range = |index: usize| {
            let start = call.numbers[call.sizes + index];
            (start, start.saturating_add(call.given[index].bytes))
        };
        for (index, arg) in self.args.iter().enumerate() {
            let Kind::Buffer { written: true, .. } = arg.kind else { continue };
            let (start, end) = range(index);
            for (at, other) in self.args.iter().enumerate() {
                let Kind::Buffer { written, .. } = other.kind else { continue };
                // Two written buffers meet once.
                if at == index || (written && at < index) {
                    continue;
                }
                let (other_start, other_end) = range(at);
                let bytes = end.min(other_end).saturating_sub(start.max(other_start));
                if bytes > 0 {
                    return Err(ArgumentError::Overlap { written: arg.name, other: other.name, bytes });
                }
            }
        }
        Ok(())
    }
}

/// Where the parameters of an entry are among the numbers of a launch.
fn params(operation: &Operation, entry: &str, sources: &[ParamSource]) -> Result<Box<[usize]>, String> {
    let entries = &operation.module.module().entries;
    let Some(entry) = entries.iter().find(|known| known.name == entry) else {
        return Err(format!("it launches `{entry}`, which the module does not have"));
    };
    if entry.params.len() != sources.len() {
        let (has, given) = (entry.params.len(), sources.len());
        return Err(format!("`{}` has {has} parameters and {given} sources of them", entry.name));
    }
    let mut places = Vec::with_capacity(sources.len());
    for (param, source) in entry.params.iter().zip(sources) {
        let wrong = |what: String| format!("parameter `{}` of `{}` {what}", param.name, entry.name);
        places.push(match source {
            ParamSource::Arg(index) => {
                let Some(arg) = operation.args.get(*index) else {
                    return Err(wrong(format!("is argument {index}, which does not exist")));
                };
                let ty = arg.kind.param_ty();
                if ty.bits() != param.ty.bits() {
                    return Err(wrong(format!("is {}, argument `{}` is {ty}", param.ty, arg.name)));
                }
                operation.sizes.len() + index
            }
            ParamSource::Size(name) => {
                let Some(at) = operation.sizes.iter().position(|size| size == name) else {
                    return Err(wrong(format!("is `{name}`, which is neither argument nor size")));
                };
                let largest = if param.ty.bits() < 64 { (1 << param.ty.bits()) - 1 } else { u64::MAX };
                if operation.size_limits.get(at).is_none_or(|&limit| limit > largest) {
                    return Err(wrong(format!("is {}, too narrow for the limit of `{name}`", param.ty)));
                }
                at
            }
        });
    }
    Ok(places.into())
}

fn is_scalar(name: &'static str, given: &Given) -> Result<(), ArgumentError> {
    match given.dtype {
        None => Ok(()),
        Some(_) => Err(ArgumentError::Kind { name, takes: "scalar", given: "buffer" }),
    }
}

/// Checks that the bits fit the type and, where a length or grid `counts` with them, that they are not negative.
fn check_scalar(name: &'static str, bits: u64, ty: Ty, counts: bool) -> Result<(), ArgumentError> {
    let width = ty.bits();
    let wrong = |value: String, allowed: String| Err(ArgumentError::Scalar { name, value, allowed });
    if width < 64 && bits >> width != 0 {
        return wrong(format!("{bits:#x}"), format!("at most {width} bits"));
    }
    if counts && ty.is_signed() && bits >> (width - 1) & 1 == 1 {
        let value = (bits << (64 - width)).cast_signed() >> (64 - width);
        return wrong(value.to_string(), "0 or more".to_owned());
    }
    Ok(())
}
