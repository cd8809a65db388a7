//! The emulator as a device: its buffers, and how a prepared kernel runs on it.
//!
//! A buffer belongs to whoever allocated it and is lent to a memory of the emulator for each run, as read-only,
//! write-only or both, as the kernel says. What a kernel left partly unwritten counts as unwritten from its first gap on.

use std::time::Duration;

use ptxsmith_builder::kernel::Operation;
use ptxsmith_builder::target::Target;

use crate::argument_error::ArgumentError;
use crate::error::Error;
use crate::prepared::Arg;
use crate::signature::Signature;

/// How the emulator runs kernels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmulatorOptions {}

/// The emulator, as a device of one target.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedDevice {
    target: Target,
    options: EmulatorOptions,
}

/// Bytes in the emulator.
#[derive(Debug)]
pub(crate) struct EmulatedBuffer {
    bytes: Vec<u8>,
    /// Bytes from the start on that somebody wrote.
    written: usize,
}

/// What a run did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What the emulator's detectors found; empty on a CUDA device.
    pub findings: Vec<String>,
    /// Time from the launch to its end as the host saw it.
    pub elapsed: Duration,
}

impl Outcome {
    pub(crate) fn of_device(elapsed: Duration) -> Outcome {
        Outcome { findings: Vec::new(), elapsed }
    }
}

impl EmulatedDevice {
    pub(crate) fn new(target: Target, options: EmulatorOptions) -> EmulatedDevice {
        EmulatedDevice { target, options }
    }

    pub(crate) fn target(&self) -> Target {
        self.target
    }

    pub(crate) fn name(&self) -> String {
        format!("emulated {}", self.target)
    }

    pub(crate) fn alloc(&self, bytes: usize) -> EmulatedBuffer {
        EmulatedBuffer { bytes: vec![0; bytes], written: 0 }
    }
}

impl EmulatedBuffer {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() != self.bytes.len() {
            return Err(Error::BufferSize { host: bytes.len(), device: self.bytes.len() });
        }
        self.bytes.copy_from_slice(bytes);
        self.written = bytes.len();
        Ok(())
    }
}

/// Runs every step of an operation.
pub(crate) fn run(
    device: &EmulatedDevice,
    operation: &Operation,
    signature: &Signature,
    sizes: Vec<u64>,
    args: Vec<Arg<'_>>,
    argument: impl Fn(ArgumentError) -> Error,
) -> Result<Outcome, Error> {
    let _ = (device, &device.options, signature, sizes, args, argument);
    Err(Error::MalformedKernel { kernel: operation.kernel.to_owned(), reason: "no emulator yet".to_owned() })
}
