//! What every kernel says about itself: the meeting point of the kernels and those who run them.
//!
//! A kernel *value* holds everything that reaches the text: the spec and, if the caller overrides it, the schedule. It is
//! its own cache key. [`AnyKernel`] is what tools need of a kernel whose type they do not know (the command line, the
//! suites); [`Kernel`] adds the argument and shape types that a caller who names it uses.
//!
//! * [`Operation`] is a kernel value built for a target: a verified module and the launches that run it. Entry name, argument
//!   order, geometry and shared memory have this one source.
//! * What only sizes a launch (rows, tokens) is a named *size*; grids, lengths and workspaces are [`Expr`]s over them.

use std::any::Any;
use std::fmt;
use std::hash::Hash;

use crate::builder::BuildErrors;
use crate::ir::{Entry, Module};
use crate::target::Target;
use crate::types::{Dtype, Ty};
use crate::verify::{Findings, Verified, verify};

pub mod emit;
mod expr;
mod field;

pub use expr::{Expr, ExprError, Sizes};
pub use field::{Baked, FieldError, FieldInfo, FieldValue, Fields, nearest};

/// Which way data flows through an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Read only.
    In,
    /// Written only.
    Out,
    /// Read and written.
    InOut,
}

impl Direction {
    /// As manifests write it.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        }
    }
}

/// An argument that the caller gives.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgInfo {
    /// Name, as in the kernel's signature.
    pub name: &'static str,
    /// Buffer or scalar.
    pub kind: ArgKind,
}

/// The kinds of arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgKind {
    /// A buffer in device memory.
    Buffer {
        /// Element type.
        dtype: Dtype,
        /// Direction.
        direction: Direction,
        /// Elements that the kernel may touch from the base on.
        len: Expr,
        /// Alignment in bytes that the base is promised to have.
        align: u32,
    },
    /// A scalar.
    Scalar {
        /// Its type.
        ty: Ty,
    },
    /// Elements between the rows of a buffer: a scalar of type `.s64`, not negative, and such that every row start keeps
    /// the alignment that the buffer promises.
    Stride {
        /// The buffer argument.
        of: &'static str,
    },
}

impl ArgKind {
    /// The type of the entry's parameter.
    pub const fn param_ty(&self) -> Ty {
        match self {
            ArgKind::Buffer { .. } => Ty::U64,
            ArgKind::Scalar { ty } => *ty,
            ArgKind::Stride { .. } => Ty::S64,
        }
    }
}

/// How a launch is shaped.
#[derive(Debug, Clone, PartialEq)]
pub struct Geometry {
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks; only x carries data.
    pub grid: Expr,
    /// Blocks of a cluster along x; 1 without clusters.
    pub cluster: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Whether the launch may overlap the end of the previous one (programmatic dependent launch).
    pub pdl: bool,
}

impl Geometry {
    /// One-dimensional blocks of `threads` threads over `grid` blocks.
    pub fn new(threads: u32, grid: impl Into<Expr>) -> Geometry {
        Geometry { block: [threads, 1, 1], grid: grid.into(), cluster: 1, dynamic_shared: 0, pdl: false }
    }
}

/// Where the value of a kernel parameter comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParamSource {
    /// The argument of this index in [`Operation::args`].
    Arg(usize),
    /// A size, by name.
    Size(String),
}

/// One launch of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Entry name.
    pub entry: String,
    /// Geometry.
    pub geometry: Geometry,
    /// Sources of the entry's parameters, in its order.
    pub params: Vec<ParamSource>,
}

/// A kernel value built for a target.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The verified module that holds every entry.
    pub module: Verified,
    /// The arguments, in the order of the kernel's signature.
    pub args: Vec<ArgInfo>,
    /// Names of the sizes.
    pub sizes: Vec<&'static str>,
    /// Largest value of each size.
    pub size_limits: Vec<u64>,
    /// The launches, in order.
    pub steps: Vec<Step>,
}

/// A problem with a kernel value.
#[derive(Debug, Clone, PartialEq)]
pub enum KernelError {
    /// A field is missing, unknown, unreadable or out of range.
    Field(FieldError),
    /// The body could not be built.
    Build(BuildErrors),
    /// The built module breaks rules.
    Verify(Findings),
    /// The target lacks what the spec needs.
    Target {
        /// The kernel.
        kernel: &'static str,
        /// The oldest target that has it, in words.
        requires: String,
        /// The target asked for.
        target: Target,
    },
    /// A tensor or argument does not fit.
    Argument {
        /// The argument.
        name: String,
        /// What is wrong with it, with value and limit.
        message: String,
    },
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelError::Field(error) => error.fmt(f),
            KernelError::Build(errors) => errors.fmt(f),
            KernelError::Verify(findings) => findings.fmt(f),
            KernelError::Target { kernel, requires, target } => {
                write!(f, "{kernel} requires {requires}, target is {target}")
            }
            KernelError::Argument { name, message } => write!(f, "argument `{name}`: {message}"),
        }
    }
}

impl std::error::Error for KernelError {}

impl From<FieldError> for KernelError {
    fn from(error: FieldError) -> KernelError {
        KernelError::Field(error)
    }
}

impl From<BuildErrors> for KernelError {
    fn from(errors: BuildErrors) -> KernelError {
        KernelError::Build(errors)
    }
}

impl From<Findings> for KernelError {
    fn from(findings: Findings) -> KernelError {
        KernelError::Verify(findings)
    }
}

/// A tensor that a caller wants to bind, by the name of the argument: its dimensions, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorShape {
    /// Argument.
    pub name: String,
    /// Dimensions.
    pub dims: Vec<u64>,
}

/// What follows from the dimensions of the bound tensors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binding {
    /// Values of the sizes.
    pub sizes: Vec<(&'static str, u64)>,
    /// Values of the scalar arguments.
    pub scalars: Vec<(&'static str, i64)>,
    /// Dimensions of the outputs.
    pub outputs: Vec<(&'static str, Vec<u64>)>,
}

/// Input of a reference computation: values widened to f64, row-major, by argument.
#[derive(Debug, Clone, Default)]
pub struct ReferenceInputs {
    /// Sizes by name.
    pub sizes: Vec<(&'static str, u64)>,
    /// Buffers by argument.
    pub buffers: Vec<(&'static str, Vec<f64>)>,
    /// Scalar arguments.
    pub scalars: Vec<(&'static str, i64)>,
}

/// A kernel value whose type is not known.
pub trait AnyKernel: Any + fmt::Debug + Send + Sync {
    /// Name on the command line and in file names.
    fn name(&self) -> &'static str;

    /// Every baked field with its value, spec before schedule; a schedule that is not overridden shows what the
    /// heuristic chooses for `target`.
    fn fields(&self, target: Target) -> Vec<FieldValue>;

    /// Builds and verifies it for a target.
    fn operation(&self, target: Target) -> Result<Operation, KernelError>;

    /// Sizes, scalars and output dimensions that follow from the dimensions of the bound tensors.
    fn bind(&self, tensors: &[TensorShape]) -> Result<Binding, KernelError>;

    /// The outputs in f64 from inputs in f64, unrounded; `None` if the kernel has no reference.
    fn reference(&self, inputs: &ReferenceInputs) -> Option<Vec<(&'static str, Vec<f64>)>>;
}

/// A kernel type.
pub trait Kernel: AnyKernel + Clone + Eq + Hash + Sized {
    /// The sizes of a launch.
    type Shape: Copy + fmt::Debug + Shape;
    /// The arguments, with buffers of type `B`.
    type Args<B>: Args<B>;

    /// Fields that its values have, for listing and parsing.
    fn field_infos() -> Vec<FieldInfo>;

    /// A value from named fields; takes the ones it knows.
    fn from_fields(fields: &mut Fields) -> Result<Self, KernelError>;
}

/// The sizes of a launch.
pub trait Shape {
    /// Values by name, in the order of [`Operation::sizes`].
    fn sizes(&self) -> Vec<(&'static str, u64)>;

    /// Calls `f` with every value of [`sizes`](Shape::sizes), in order; launches use it, so that it should not allocate.
    fn for_each(&self, mut f: impl FnMut(u64)) {
        self.sizes().into_iter().for_each(|(_, value)| f(value));
    }
}

/// The value of an argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ArgValue<B> {
    /// A buffer.
    Buffer(B),
    /// The bits of a scalar, zero-extended.
    Scalar(u64),
}

/// The arguments of a launch.
pub trait Args<B> {
    /// Values in the order of [`Operation::args`].
    fn into_values(self) -> Vec<ArgValue<B>>;

    /// Calls `f` with every value of [`into_values`](Args::into_values), in order; launches use it, so that it should not
    /// allocate.
    fn for_each(self, f: impl FnMut(ArgValue<B>))
    where
        Self: Sized,
    {
        self.into_values().into_iter().for_each(f);
    }
}

/// One entry of an operation before it is verified, with its geometry.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltEntry {
    /// The code.
    pub entry: Entry,
    /// The geometry; it sets the entry's launch bounds.
    pub geometry: Geometry,
}

impl Operation {
    /// Puts built entries together, verifies them and ties every parameter to its source by name.
    pub fn new(
        kernel: &'static str,
        target: Target,
        args: Vec<ArgInfo>,
        sizes: Vec<(&'static str, u64)>,
        entries: Vec<BuiltEntry>,
    ) -> Result<Operation, KernelError> {
        let mut steps = Vec::with_capacity(entries.len());
        let mut module = Module { target, entries: Vec::with_capacity(entries.len()) };
        for BuiltEntry { mut entry, geometry } in entries {
            entry.bounds.block = Some(geometry.block);
            let mut params = Vec::with_capacity(entry.params.len());
            for param in &entry.params {
                let source = args.iter().position(|arg| arg.name == param.name).map(ParamSource::Arg);
                params.push(source.unwrap_or_else(|| ParamSource::Size(param.name.clone())));
            }
            steps.push(Step { entry: entry.name.clone(), geometry, params });
            module.entries.push(entry);
        }
        let module = verify(module)?;
        let (sizes, size_limits) = sizes.into_iter().unzip();
        Ok(Operation { kernel, module, args, sizes, size_limits, steps })
    }

    /// The text.
    pub fn text(&self) -> String {
        self.module.to_string()
    }
}
