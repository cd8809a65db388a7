//! What can be wrong with a request. Each message is one line that names the thing, the value and what is allowed.

use std::io;
use std::path::PathBuf;

use ptxsmith_builder::kernel::{KernelError, nearest};
use ptxsmith_kernels::registry::UnknownKernel;

/// A request that cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// No kernel has the name.
    #[error(transparent)]
    UnknownKernel(#[from] UnknownKernel),
    /// The kernel refuses its fields, the target or a shape.
    #[error("{}", kernel_error(kernel, error))]
    Kernel {
        /// The kernel.
        kernel: &'static str,
        /// What it says.
        error: Box<KernelError>,
    },
    /// A field is given with the option for the other kind.
    #[error("field `{field}` of {kernel} is part of the {}, give it with {wanted}", wanted.trim_start_matches("--"))]
    WrongOption {
        /// The kernel.
        kernel: &'static str,
        /// The field.
        field: String,
        /// The right option.
        wanted: &'static str,
    },
    /// A text that should be `name=value`.
    #[error("{option} `{text}` is not of the form {form}")]
    NotAPair {
        /// The option.
        option: &'static str,
        /// The text.
        text: String,
        /// The form.
        form: &'static str,
    },
    /// A value of an option that does not read.
    #[error("{option} `{value}` is not {allowed}{}", hint(.near))]
    Value {
        /// The option.
        option: &'static str,
        /// The value.
        value: String,
        /// What is allowed.
        allowed: String,
        /// A known value that is close.
        near: Option<String>,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that is not what it should be.
    #[error("{} is not a whole safetensors file: {reason}", path.display())]
    Tensors {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A manifest that cannot be used.
    #[error("{} is no manifest: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A text that is not in the subset of PTX that is read; one line for each mistake.
    #[error("{}", .0.join("\nerror: "))]
    Text(Vec<String>),
    /// A file that cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A tensor that the file does not have.
    #[error("{} has no tensor `{name}`{}", path.display(), known(name, known_names))]
    NoTensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// The tensors it has.
        known_names: Vec<String>,
    },
    /// A tensor of a dtype that cannot be used.
    #[error("tensor `{name}` has dtype {dtype}; usable are {usable}")]
    TensorDtype {
        /// The tensor.
        name: String,
        /// Its dtype.
        dtype: String,
        /// The usable ones.
        usable: &'static str,
    },
    /// An argument that the kernel does not have.
    #[error("{option}: {kernel} has no argument `{name}`{}", known(name, known_names))]
    NoArgument {
        /// The option.
        option: &'static str,
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
        /// The arguments it has.
        known_names: Vec<String>,
    },
    /// An argument that must not be given, or must be.
    #[error("argument `{name}` of {kernel} {problem}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// A value that the argument's dtype cannot hold.
    #[error("tensor `{tensor}`, element {index:?}: {value} does not fit argument `{name}` of dtype {dtype}")]
    Unconvertible {
        /// The tensor.
        tensor: String,
        /// Position of the element.
        index: Vec<u64>,
        /// Its value.
        value: String,
        /// The argument.
        name: String,
        /// Its dtype.
        dtype: String,
    },
    /// The device refuses to open or to run.
    #[error("{0}")]
    Device(String),
}

impl Error {
    /// An error of a kernel.
    pub(crate) fn kernel(kernel: &'static str, error: KernelError) -> Error {
        Error::Kernel { kernel, error: Box::new(error) }
    }
}

/// A kernel's own errors carry its name only where the kernel itself is the subject.
fn kernel_error(kernel: &str, error: &KernelError) -> String {
    match error {
        KernelError::Target { .. } => error.to_string(),
        _ => format!("{kernel}: {error}"),
    }
}

fn hint(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

/// Longest list of names that a message repeats.
const MAX_LISTED: usize = 12;

fn known(name: &str, known: &[String]) -> String {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = nearest(name, &names).map(str::to_owned);
    if names.is_empty() {
        return "; it has none".to_owned();
    }
    let listed = names.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; it has {listed}{more}{}", hint(&near))
}
