//! What is wrong with the arguments or the sizes of a launch.

use ptxsmith_builder::types::Dtype;

/// An argument or a size that a kernel cannot be launched with. Lengths and alignments are in bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// A named argument is not given.
    #[error("argument `{name}` is not given")]
    Missing {
        /// The argument.
        name: &'static str,
    },
    /// A name that the kernel does not have, or one given twice.
    #[error("`{name}` {}; the kernel takes {}", if *.twice { "is given twice" } else { "is unknown" }, .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Whether it is known and given twice.
        twice: bool,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// Another number of arguments or sizes than the kernel takes.
    #[error("{given} {what} given, the kernel takes {takes}")]
    Count {
        /// `arguments` or `sizes`.
        what: &'static str,
        /// How many are given.
        given: usize,
        /// How many it takes.
        takes: usize,
    },
    /// A buffer where the kernel takes a scalar, or the other way round.
    #[error("argument `{name}` is a {takes}, not a {given}")]
    Kind {
        /// The argument.
        name: &'static str,
        /// `buffer` or `scalar`.
        takes: &'static str,
        /// `buffer` or `scalar`.
        given: &'static str,
    },
    /// A size above what the kernel can do.
    #[error("{name} is {value}, the limit is {limit}")]
    Size {
        /// The size.
        name: &'static str,
        /// Its value.
        value: u64,
        /// The largest value.
        limit: u64,
    },
    /// A scalar outside its range.
    #[error("argument `{name}` is {value}, it must be {allowed}")]
    Scalar {
        /// The argument.
        name: &'static str,
        /// Its value, in text.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A length or a grid that has no value for these sizes.
    #[error("{what}: {problem}")]
    Expression {
        /// What is computed.
        what: String,
        /// Why it has no value.
        problem: String,
    },
    /// A buffer of another dtype than the kernel was built for.
    #[error("argument `{name}` holds {given}, the kernel is built for {takes}")]
    Dtype {
        /// The argument.
        name: &'static str,
        /// Dtype of the buffer.
        given: Dtype,
        /// Dtype of the kernel.
        takes: Dtype,
    },
    /// A buffer shorter than the kernel may touch.
    #[error("argument `{name}` has {given} bytes, needed are {needed} ({len} elements of {dtype})")]
    TooShort {
        /// The argument.
        name: &'static str,
        /// Bytes of the buffer.
        given: u64,
        /// Bytes that the kernel may touch.
        needed: u64,
        /// The number of elements as an expression of the sizes.
        len: String,
        /// The dtype.
        dtype: Dtype,
    },
    /// A buffer whose start is aligned less than the kernel was promised.
    #[error("argument `{name}` starts at {address:#x}, the kernel is built for a multiple of {align} bytes")]
    Misaligned {
        /// The argument.
        name: &'static str,
        /// Its address.
        address: u64,
        /// The promised alignment.
        align: u32,
    },
    /// A row stride that takes later rows out of the promised alignment.
    #[error(
        "argument `{name}` is {stride} elements, which is {bytes} bytes; \
         the kernel is built for rows of `{of}` at multiples of {align} bytes"
    )]
    MisalignedRows {
        /// The argument.
        name: &'static str,
        /// Its value in elements.
        stride: u64,
        /// Its value in bytes.
        bytes: u64,
        /// The buffer.
        of: &'static str,
        /// The promised alignment.
        align: u32,
    },
    /// A buffer that the kernel writes overlaps another argument.
    #[error("argument `{written}`, which the kernel writes, overlaps argument `{other}` by {bytes} bytes")]
    Overlap {
        /// The written buffer.
        written: &'static str,
        /// The other one.
        other: &'static str,
        /// Bytes that they share.
        bytes: u64,
    },
    /// A buffer that the kernel writes was lent for reading only.
    #[error("argument `{name}` is written by the kernel, the buffer is lent for reading only")]
    ReadOnly {
        /// The argument.
        name: &'static str,
    },
    /// A buffer of another device or context.
    #[error("argument `{name}` is {place}, the launch is on {launch}")]
    WrongDevice {
        /// The argument.
        name: &'static str,
        /// Where the buffer is.
        place: &'static str,
        /// Where the launch is.
        launch: String,
    },
}
