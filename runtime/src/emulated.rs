//! The emulator as a device: its buffers, and how a prepared kernel runs on it.
//!
//! A buffer belongs to whoever allocated it and is lent to a memory of the emulator for each run: read-only, write-only
//! or both, as the kernel says. It remembers how far it was written from its start on; a kernel that leaves gaps in a
//! buffer that nobody wrote before leaves it written up to the first gap.

use std::time::{Duration, Instant};

use ptxsmith_builder::emu::{self, Access, BufferId, Contents, Finding, Kind, Memory, Profile};
use ptxsmith_builder::kernel::{ArgKind, ArgValue, Direction, Operation};
use ptxsmith_builder::target::Target;

use crate::argument::Borrowed;
use crate::argument_error::ArgumentError;
use crate::error::Error;
use crate::prepared::Arg;
use crate::signature::{Call, Signature};

/// How the emulator runs kernels.
pub use emu::Options as EmulatorOptions;

/// Largest grid, as on every device.
const MAX_GRID: u32 = i32::MAX as u32;

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

/// What a run did. On a CUDA device only the time is known.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// What the emulator's detectors found.
    pub findings: Vec<Finding>,
    /// Findings beyond what the options keep of a kind.
    pub omitted: Vec<(Kind, u64)>,
    /// What each launch of the operation cost, by entry; a launch without blocks is left out.
    pub profiles: Vec<(String, Profile)>,
    /// Outputs with a byte that the kernel did not write, and the first such byte. Between strided rows, and past what
    /// the kernel is said to write, that is as it should be.
    pub unwritten: Vec<(&'static str, u64)>,
    /// Time from the launch to its end as the host saw it.
    pub elapsed: Duration,
}

impl Outcome {
    pub(crate) fn of_device(elapsed: Duration) -> Outcome {
        Outcome { elapsed, ..Outcome::default() }
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

    /// Adds it to a memory.
    fn lend(&self, name: &str, access: Access, memory: &mut Memory) -> BufferId {
        if self.written == self.bytes.len() {
            return memory.add(name, access, Contents::Bytes(self.bytes.clone()));
        }
        let id = memory.add(name, access, Contents::Uninit(self.bytes.len() as u64));
        memory.write(id, 0, &self.bytes[..self.written]);
        id
    }

    /// Takes back what a kernel made of it.
    fn take(&mut self, id: BufferId, memory: &Memory) {
        self.bytes = memory.bytes(id);
        if self.written < self.bytes.len() {
            let gap = memory.first_uninit(id).map_or(self.bytes.len(), |gap| gap as usize);
            self.written = self.written.max(gap);
        }
    }
}

/// Runs every step of an operation. `argument` makes an error of what is wrong with an argument.
pub(crate) fn run(
    device: &EmulatedDevice,
    operation: &Operation,
    signature: &Signature,
    sizes: Vec<u64>,
    args: Vec<Arg<'_>>,
    argument: impl Fn(ArgumentError) -> Error,
) -> Result<Outcome, Error> {
    let began = Instant::now();
    let mut memory = Memory::new();
    let mut call = Call::new();
    sizes.into_iter().for_each(|value| call.size(value));
    let mut lent = Vec::with_capacity(args.len());
    for (index, value) in args.iter().enumerate() {
        let id = match value {
            ArgValue::Scalar(bits) => {
                call.scalar(*bits);
                None
            }
            ArgValue::Buffer(arg) => {
                let info = operation.args.get(index);
                let name = info.map_or("(one too many)", |info| info.name);
                let access = match info.map(|info| &info.kind) {
                    Some(ArgKind::Buffer { direction: Direction::Out, .. }) => Access::WriteOnly,
                    Some(ArgKind::Buffer { direction: Direction::InOut, .. }) => Access::ReadWrite,
                    _ => Access::ReadOnly,
                };
                let buffer: &EmulatedBuffer = match &arg.memory {
                    Borrowed::Emulated(buffer) => buffer,
                    Borrowed::EmulatedMut(buffer) => buffer,
                    Borrowed::View(_) | Borrowed::ViewMut(_) | Borrowed::Raw { .. } => {
                        let (place, launch) = ("on a CUDA device", device.name());
                        return Err(argument(ArgumentError::WrongDevice { name, place, launch }));
                    }
                };
                let id = buffer.lend(name, access, &mut memory);
                call.buffer(memory.address(id), arg.byte_len(), arg.dtype, arg.is_writable());
                Some(id)
            }
        };
        lent.push(id);
    }
    signature.check(&mut call).map_err(&argument)?;

    let mut outcome = Outcome::default();
    let arguments = operation.sizes.len();
    for (step, plan) in operation.steps.iter().zip(signature.steps()) {
        let blocks = signature.grid(plan, &call).map_err(&argument)?;
        let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks <= MAX_GRID).ok_or_else(|| {
            let (kernel, what) = (operation.kernel.to_owned(), "the grid's x in blocks");
            Error::Limit { kernel, what, value: blocks, limit: MAX_GRID.into() }
        })?;
        if blocks == 0 {
            continue;
        }
        let geometry = &step.geometry;
        let launch = emu::Launch {
            grid: [blocks, 1, 1],
            block: geometry.block,
            cluster: [geometry.cluster.max(1), 1, 1],
            dynamic_shared: geometry.dynamic_shared,
        };
        let values: Vec<emu::ArgValue> = plan
            .params
            .iter()
            .map(|&place| match place.checked_sub(arguments).and_then(|index| lent.get(index)) {
                Some(Some(id)) => emu::ArgValue::Buffer(*id, 0),
                Some(None) | None => emu::ArgValue::Scalar(call.numbers()[place]),
            })
            .collect();
        let module = operation.module.module();
        let ran = emu::run(module, &step.entry, &launch, &values, &mut memory, &device.options)?;
        outcome.findings.extend(ran.findings);
        outcome.omitted.extend(ran.omitted);
        outcome.profiles.push((step.entry.clone(), ran.profile));
        if !ran.completed {
            break;
        }
    }
    for (index, (value, id)) in args.into_iter().zip(lent).enumerate() {
        let (ArgValue::Buffer(arg), Some(id)) = (value, id) else { continue };
        let written = operation.args.get(index).and_then(|info| match &info.kind {
            ArgKind::Buffer { direction: Direction::Out | Direction::InOut, .. } => Some(info.name),
            _ => None,
        });
        if let (Borrowed::EmulatedMut(buffer), Some(name)) = (arg.memory, written) {
            if !outcome.profiles.is_empty() {
                outcome.unwritten.extend(memory.first_uninit(id).map(|byte| (name, byte)));
            }
            buffer.take(id, &memory);
        }
    }
    outcome.elapsed = began.elapsed();
    Ok(outcome)
}
