//! Why a kernel cannot be emulated at all. What a running kernel does wrong is a [`Finding`](super::Finding), not an error.

use std::fmt;

use crate::ir::Place;

/// A request that the emulator refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The module has no such entry.
    UnknownEntry {
        /// The name asked for.
        name: String,
        /// The entries there are.
        known: Vec<String>,
    },
    /// The launch has another number of arguments than the entry has parameters.
    ArgumentCount {
        /// Arguments given.
        given: usize,
        /// Parameters of the entry.
        expected: usize,
    },
    /// A buffer for a parameter that is not a 64-bit integer.
    ArgumentType {
        /// The parameter.
        param: String,
        /// Its type.
        ty: crate::types::Ty,
    },
    /// A buffer that the memory does not hold.
    UnknownBuffer {
        /// The parameter it is given for.
        param: String,
    },
    /// A launch dimension that no device allows, or that the entry does not.
    Launch {
        /// Which one, such as `block.x`.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The allowed values.
        allowed: String,
    },
    /// An instruction that the emulator cannot decode: an unknown combination of modifiers, or operands that do not fit.
    Instruction {
        /// Its text.
        text: String,
        /// Where it is.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// A register of a width that is not emulated.
    Register {
        /// Its name.
        name: String,
        /// Its type.
        ty: crate::types::Ty,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownEntry { name, known } => {
                write!(f, "no kernel `{name}` in the module; it has: {}", known.join(", "))
            }
            Error::ArgumentCount { given, expected } => {
                write!(f, "{given} arguments for {expected} parameters")
            }
            Error::ArgumentType { param, ty } => {
                write!(f, "a buffer for parameter `{param}` of type {ty}; it must be .u64")
            }
            Error::UnknownBuffer { param } => {
                write!(f, "the buffer for parameter `{param}` does not belong to this memory")
            }
            Error::Launch { what, value, allowed } => write!(f, "{what} is {value}, allowed: {allowed}"),
            Error::Instruction { text, place, reason } => {
                write!(f, "{place}: cannot be emulated: {reason}\n    {text}")
            }
            Error::Register { name, ty } => {
                write!(f, "register `{name}` of type {ty} cannot be emulated: at most 64 bits are")
            }
        }
    }
}

impl std::error::Error for Error {}
