//! Runs a case on a device, over one of the paths that a program launches by.

use cudarc::driver::CudaSlice;
use ptxsmith_builder::kernel::{ArgKind, ArgValue, Direction};

use super::Path;
use super::case::{Case, POISON};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Error;
use crate::graph::{GraphArg, GraphBuffers, RecordError, Slot};
use crate::prepared::{Arg, PreparedAny};

/// Bytes behind each written buffer of a CUDA device that have to stay as they are. The emulator finds such writes itself.
const GUARD: usize = 512;

/// What a launch left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Bytes of each written buffer, by its place among the buffers of the case.
    pub(super) outputs: Vec<(usize, Vec<u8>)>,
    /// What the emulator found, in words.
    pub(super) findings: Vec<String>,
}

/// The paths of a device, and those that it has but that cannot be tried, with the reason.
pub(super) fn paths(device: &Device) -> (Vec<Path>, Vec<(Path, String)>) {
    let Some(cuda) = device.as_cuda() else { return (vec![Path::Emulated], Vec::new()) };
    if cuda.stream().cu_stream().is_null() {
        let reason = "the default stream cannot be captured".to_owned();
        return (vec![Path::Plain], vec![(Path::Graph, reason)]);
    }
    (vec![Path::Plain, Path::Graph], Vec::new())
}

/// Runs a case.
pub(super) fn run(device: &Device, prepared: &PreparedAny, case: &Case, path: Path) -> Result<Left, Error> {
    let contents: Vec<Vec<u8>> = case
        .buffers
        .iter()
        .map(|buffer| {
            let mut bytes = buffer.bytes();
            if buffer.direction != Direction::In && !device.is_emulated() {
                bytes.resize(bytes.len() + GUARD, POISON);
            }
            bytes
        })
        .collect();
    match path {
        Path::Plain | Path::Emulated => plain(device, prepared, case, &contents),
        Path::Graph => graph(device, prepared, case, &contents),
    }
}

fn plain(device: &Device, prepared: &PreparedAny, case: &Case, contents: &[Vec<u8>]) -> Result<Left, Error> {
    let buffers = case.buffers.iter().zip(contents).map(|(buffer, bytes)| device.upload(buffer.name, bytes));
    let mut buffers: Vec<Buffer> = buffers.collect::<Result<_, _>>()?;
    let args = case.buffers.iter().zip(&mut buffers).map(|(buffer, memory)| {
        let arg = match buffer.direction {
            Direction::In => memory.read(buffer.dtype),
            Direction::Out | Direction::InOut => memory.write(buffer.dtype),
        };
        (buffer.name, Arg::Buffer(arg))
    });
    let strides = case.strides.iter().map(|&(name, stride)| (name, Arg::Scalar(stride)));
    let sizes: Vec<(&str, u64)> = case.sizes.clone();
    let outcome = prepared.run_named(args.chain(strides), &sizes)?;
    let findings = outcome.findings.iter().map(ToString::to_string).collect();
    let written = case.buffers.iter().enumerate().filter(|(_, buffer)| buffer.direction != Direction::In);
    let outputs = written
        .map(|(index, _)| Ok((index, device.download(&buffers[index])?)))
        .collect::<Result<Vec<_>, Error>>()?;
    Ok(Left { outputs, findings })
}

fn graph(device: &Device, prepared: &PreparedAny, case: &Case, contents: &[Vec<u8>]) -> Result<Left, Error> {
    let Some(cuda) = device.as_cuda() else {
        return Err(Error::WrongContext { what: "the graph", owner: device.name() });
    };
    let mut owned = GraphBuffers::new();
    let mut slots: Vec<Slot<u8>> = Vec::with_capacity(contents.len());
    for (buffer, bytes) in case.buffers.iter().zip(contents) {
        let slice: CudaSlice<u8> = cuda.upload(bytes)?;
        slots.push(owned.add_bytes(slice, buffer.dtype));
    }
    let mut next = slots.iter();
    let args: Vec<ArgValue<GraphArg>> = prepared
        .operation()
        .args
        .iter()
        .filter_map(|arg| match &arg.kind {
            ArgKind::Buffer { .. } => next.next().map(|slot| ArgValue::Buffer((*slot).into())),
            ArgKind::Scalar { .. } | ArgKind::Stride { .. } => {
                let known = case.strides.iter().find(|(name, _)| *name == arg.name);
                known.map(|(_, stride)| ArgValue::Scalar(*stride))
            }
        })
        .collect();
    let sizes = case.sizes.iter().map(|(_, value)| *value);
    let recorded =
        owned.record(device, cuda.stream(), |recording| recording.launch_any(prepared, args, sizes));
    let mut graph = recorded.map_err(|RecordError { error, .. }| *error)?;
    graph.launch()?;
    let mut outputs = Vec::new();
    for (index, (buffer, slot)) in case.buffers.iter().zip(&slots).enumerate() {
        if let (Direction::Out | Direction::InOut, Some(slice)) =
            (buffer.direction, graph.buffers().get(*slot))
        {
            outputs.push((index, cuda.download(slice)?));
        }
    }
    Ok(Left { outputs, findings: Vec::new() })
}
