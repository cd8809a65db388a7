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

mod payload;

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
    Buffer { dtype: Dtype, read: bool, written: bool, len: Resolved, align: u32 },
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
                    read: *direction != Direction::Out,
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
        // Scalars first: lengths depend on them.
        for (index, arg) in self.args.iter().enumerate() {
            let number = call.numbers[call.sizes + index];
            match &arg.kind {
                Kind::Buffer { .. } => {}
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
        for (index, arg) in self.args.iter().enumerate() {
            let Kind::Buffer { dtype, written, len, align, .. } = &arg.kind else { continue };
            let needed = self.buffer(arg.name, &call.given[index], *dtype, *written, len, call)?;
            let address = call.numbers[call.sizes + index];
            if needed > 0 && !address.is_multiple_of(u64::from(*align)) {
                return Err(ArgumentError::Misaligned { name: arg.name, address, align: *align });
            }
            call.given[index].bytes = needed;
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
                let bits = param.ty.bits() - u32::from(param.ty.is_signed());
                let largest = if bits < 64 { (1 << bits) - 1 } else { u64::MAX };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::{MAX_ROWS, Scale};
    use ptxsmith_builder::kernel::{AnyKernel, Expr};
    use ptxsmith_builder::target::Target;

    fn operation(strided: bool) -> Operation {
        let kernel = Scale { strided, ..Scale::new(96, 2.0, Dtype::F32, Dtype::Bf16) };
        kernel.operation(Target::sm(90).expect("a known target")).expect("a valid kernel")
    }

    /// A launch that fits: 4 rows of 96 elements, with strides of 128 if it has any.
    fn call(
        strided: bool,
        change: impl FnOnce(&mut Vec<u64>, &mut [Given; 2]),
    ) -> Result<Call, ArgumentError> {
        let buffer = |bytes, dtype, writable| Given { bytes, dtype: Some(dtype), writable };
        let mut given = [buffer(4 * 128 * 4, Dtype::F32, false), buffer(4 * 128 * 2, Dtype::Bf16, true)];
        let mut numbers = vec![4, 0x1000, 0x10000];
        if strided {
            numbers.extend([128, 128]);
        }
        change(&mut numbers, &mut given);
        let mut call = Call::new();
        call.size(numbers[0]);
        for (index, &number) in numbers[1..].iter().enumerate() {
            match given.get(index) {
                Some(Given { bytes, dtype: Some(dtype), writable }) => {
                    call.buffer(number, *bytes, *dtype, *writable);
                }
                _ => call.scalar(number),
            }
        }
        let signature = Signature::new(&operation(strided)).expect("a consistent kernel");
        signature.check(&mut call).map(|()| call)
    }

    fn refused(strided: bool, change: impl FnOnce(&mut Vec<u64>, &mut [Given; 2])) -> String {
        match call(strided, change) {
            Ok(_) => panic!("the launch passed"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_fits_passes_and_says_where_the_parameters_are() {
        for strided in [false, true] {
            let signature = Signature::new(&operation(strided)).expect("a consistent kernel");
            let step = &signature.steps()[0];
            let call = call(strided, |_, _| {}).expect("it fits");
            assert_eq!(signature.grid(step, &call), Ok(4));
            let values: Vec<u64> = step.params.iter().map(|&place| call.numbers()[place]).collect();
            let expected: &[u64] = if strided { &[0x1000, 0x10000, 128, 128] } else { &[0x1000, 0x10000] };
            assert_eq!(values, expected);
        }
    }

    #[test]
    fn zero_rows_need_no_memory() {
        let nothing = call(false, |numbers, given| {
            numbers.copy_from_slice(&[0, 1, 1]);
            given[0].bytes = 0;
            given[1].bytes = 0;
        });
        assert!(nothing.is_ok());
    }

    #[test]
    fn sizes_and_lengths_are_limited() {
        assert!(
            call(false, |numbers, given| {
                numbers[0] = MAX_ROWS;
                numbers[2] = 1 << 50;
                (given[0].bytes, given[1].bytes) = (u64::MAX, u64::MAX);
            })
            .is_ok()
        );
        assert_eq!(
            refused(false, |numbers, _| numbers[0] = MAX_ROWS + 1),
            "rows is 2147483648, the limit is 2147483647"
        );
        assert!(call(false, |_, given| given[0].bytes = 4 * 96 * 4).is_ok());
        assert_eq!(
            refused(false, |_, given| given[0].bytes = 4 * 96 * 4 - 1),
            "argument `x` has 1535 bytes, needed are 1536 ((rows * 96) elements of f32)"
        );
        // The last row needs its columns only, not its stride.
        assert!(call(true, |_, given| given[1].bytes = (3 * 128 + 96) * 2).is_ok());
        assert!(refused(true, |_, given| given[1].bytes = (3 * 128 + 96) * 2 - 1).contains("needed are 960"));
    }

    #[test]
    fn lengths_beyond_64_bits_are_errors() {
        let message =
            refused(true, |numbers, _| (numbers[0], numbers[3]) = (MAX_ROWS, i64::MAX as u64 & !15));
        assert!(message.starts_with("the length of `x` in bytes: "), "{message}");
    }

    #[test]
    fn dtypes_directions_and_kinds_are_checked() {
        assert_eq!(
            refused(false, |_, given| given[1].dtype = Some(Dtype::F16)),
            "argument `y` holds f16, the kernel is built for bf16"
        );
        assert!(refused(false, |_, given| given[1].writable = false).contains("lent for reading only"));
        assert_eq!(
            refused(false, |_, given| given[0].dtype = None),
            "argument `x` is a buffer, not a scalar"
        );
        let mut call = Call::new();
        call.size(1);
        for _ in 0..4 {
            call.buffer(0x1000, 4096, Dtype::F32, true);
        }
        let signature = Signature::new(&operation(true)).expect("a consistent kernel");
        assert!(signature.check(&mut call).is_err());
    }

    #[test]
    fn alignment_holds_for_bases_and_for_rows() {
        assert_eq!(
            refused(false, |numbers, _| numbers[1] = 0x1008),
            "argument `x` starts at 0x1008, the kernel is built for a multiple of 16 bytes"
        );
        let rows = refused(true, |numbers, _| numbers[4] = 100);
        assert!(rows.contains("100 elements, which is 200 bytes") && rows.contains("rows of `y`"), "{rows}");
        assert!(call(true, |numbers, _| numbers[4] = 104).is_ok());
        assert_eq!(
            refused(true, |numbers, _| numbers[3] = (-128i64).cast_unsigned()),
            "argument `x_stride` is -128, it must be 0 or more"
        );
    }

    #[test]
    fn a_written_buffer_shares_no_byte_that_the_kernel_touches() {
        let (x, y) = (0x1000, 0x1000 + 4 * 96 * 4);
        assert!(call(false, |numbers, _| numbers[1..].copy_from_slice(&[x, y])).is_ok());
        assert_eq!(
            refused(false, |numbers, _| numbers[1..].copy_from_slice(&[x, y - 16])),
            "argument `y`, which the kernel writes, overlaps argument `x` by 16 bytes"
        );
        assert!(refused(false, |numbers, _| numbers[1..].copy_from_slice(&[x, x])).contains("overlaps"));
    }

    #[test]
    fn counts_of_arguments_and_sizes_are_checked() {
        assert_eq!(refused(false, |numbers, _| numbers.push(0)), "3 arguments given, the kernel takes 2");
        let signature = Signature::new(&operation(false)).expect("a consistent kernel");
        let mut many = Call::new();
        (0..100).for_each(|_| many.size(1));
        (0..100).for_each(|_| many.scalar(1));
        assert!(matches!(
            signature.check(&mut many),
            Err(ArgumentError::Count { what: "sizes", given: 100, takes: 1 })
        ));
    }

    #[test]
    fn kernels_that_contradict_themselves_are_named() {
        let reason = |change: fn(&mut Operation)| {
            let mut operation = operation(true);
            change(&mut operation);
            Signature::new(&operation).expect_err("a contradiction")
        };
        assert_eq!(
            reason(|o| o.steps[0].geometry.grid = Expr::size("columns")),
            "the grid of `scale` depends on `columns`, which it does not have"
        );
        assert!(reason(|o| o.steps[0].geometry.grid = Expr::size("x")).contains("which is a buffer"));
        let narrow = reason(|o| {
            o.steps[0].params[2] = ParamSource::Size("rows".to_owned());
            o.size_limits[0] = 1 << 63;
        });
        assert_eq!(narrow, "parameter `x_stride` of `scale` is .s64, too narrow for the limit of `rows`");
        assert!(reason(|o| o.steps[0].params[2] = ParamSource::Size("none".to_owned())).contains("neither"));
        assert!(reason(|o| o.args[2].kind = ArgKind::Stride { of: "z" }).contains("`z`, which is no buffer"));
        assert!(
            reason(|o| o.args[2].kind = ArgKind::Scalar { ty: Ty::U32 }).contains("argument `x_stride` is")
        );
        assert!(reason(|o| o.steps[0].entry = "other".to_owned()).contains("does not have"));
        assert!(reason(|o| drop(o.steps[0].params.pop())).contains("4 parameters and 3 sources"));
    }

    #[test]
    fn scalars_fit_their_type() {
        assert!(check_scalar("s", 0xffff_ffff, Ty::S32, false).is_ok());
        assert!(check_scalar("s", 0x1_0000_0000, Ty::U32, false).is_err());
        assert_eq!(
            check_scalar("s", 0xffff_ffff, Ty::S32, true).map_err(|error| error.to_string()),
            Err("argument `s` is -1, it must be 0 or more".to_owned())
        );
    }
}
