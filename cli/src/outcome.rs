//! What a command comes to: text for the two streams and an exit code. Commands return it and print nothing.

use serde_json::Value;

/// The exit codes that scripts may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done; where results were compared, they agree.
    Good = 0,
    /// Results differ.
    Differs = 1,
    /// The request cannot be carried out.
    BadRequest = 2,
    /// A detector of the emulator fired.
    Finding = 3,
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    /// For standard output.
    pub(crate) stdout: String,
    /// Lines for standard error.
    pub(crate) notes: Vec<String>,
    /// The exit code.
    pub(crate) exit: Exit,
}

impl Outcome {
    /// A text.
    pub(crate) fn text(stdout: String) -> Outcome {
        Outcome { stdout, notes: Vec::new(), exit: Exit::Good }
    }

    /// A JSON value.
    pub(crate) fn json(value: &Value) -> Outcome {
        Outcome::text(pretty(value))
    }
}

/// A JSON value, indented, with a final line break.
pub(crate) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
