//! Kernels run on the emulator with every detector on, with buffers at any byte offset.

use ptxsmith_builder::emu::{self, Access, ArgValue, BufferId, Contents, Memory, Outcome};
use ptxsmith_builder::ir::Module;
use ptxsmith_builder::kernel::{ArgKind, Direction, Operation, ParamSource};
use ptxsmith_builder::types::Dtype;

use crate::numbers::{decode, encode};

/// What a run is given.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Sizes by name.
    pub sizes: Vec<(&'static str, u64)>,
    /// Values of the buffers that are read, by argument.
    pub buffers: Vec<(&'static str, Vec<f64>)>,
    /// Scalars and strides by argument.
    pub scalars: Vec<(&'static str, i64)>,
    /// Bytes between an aligned address and every buffer.
    pub byte_offset: u32,
}

/// What a run gives back.
#[derive(Debug)]
pub struct Ran {
    /// What the emulator says.
    pub outcome: Outcome,
    /// Bytes of the written buffers, by argument, gaps between strided rows included.
    pub outputs: Vec<(&'static str, Dtype, Vec<u8>)>,
}

impl Ran {
    /// The elements of an output.
    pub fn values(&self, name: &str) -> Vec<f64> {
        let (_, dtype, bytes) =
            self.outputs.iter().find(|(known, ..)| *known == name).expect("an output of that name");
        decode(*dtype, bytes)
    }
}

/// What every byte of an output holds before the run: a NaN in every float dtype.
pub const POISON: u8 = 0xff;

/// Runs an operation.
pub fn run(operation: &Operation, inputs: &Inputs) -> Ran {
    run_module(operation, operation.module.module(), inputs)
}

/// Runs an operation's launches on another module than its own: a broken one, for a negative control.
pub fn run_module(operation: &Operation, module: &Module, inputs: &Inputs) -> Ran {
    let mut named: Vec<(&str, u64)> = inputs.sizes.iter().map(|(name, value)| (*name, *value)).collect();
    named.extend(inputs.scalars.iter().map(|(name, value)| (*name, *value as u64)));
    let mut memory = Memory::new();
    let mut buffers: Vec<Option<(BufferId, Dtype, Direction)>> = Vec::new();
    for arg in &operation.args {
        let ArgKind::Buffer { dtype, direction, len, .. } = &arg.kind else {
            buffers.push(None);
            continue;
        };
        let elements = len.eval(&named).expect("every size has a value");
        let bytes = (elements * u64::from(dtype.bytes())) as usize;
        let given = inputs.buffers.iter().find(|(name, _)| *name == arg.name);
        let (access, contents) = match (direction, given) {
            (Direction::Out, _) => (Access::ReadWrite, vec![POISON; bytes]),
            (Direction::InOut, Some((_, values))) => (Access::ReadWrite, encode(*dtype, values)),
            (Direction::In, Some((_, values))) => (Access::ReadOnly, encode(*dtype, values)),
            (_, None) => panic!("argument {} has no value", arg.name),
        };
        assert_eq!(contents.len(), bytes, "{} has {elements} elements", arg.name);
        let id = memory.add_at(arg.name, access, Contents::Bytes(contents), inputs.byte_offset);
        buffers.push(Some((id, *dtype, *direction)));
    }
    let mut outcome = None;
    for step in &operation.steps {
        let blocks = step.geometry.grid.eval(&named).expect("the grid has a value");
        let launch = emu::Launch {
            grid: [u32::try_from(blocks).expect("the grid fits"), 1, 1],
            block: step.geometry.block,
            cluster: [step.geometry.cluster, 1, 1],
            dynamic_shared: step.geometry.dynamic_shared,
        };
        let size =
            |name: &str| named.iter().find(|(known, _)| *known == name).expect("a value of that name").1;
        let args: Vec<ArgValue> = step
            .params
            .iter()
            .map(|source| match source {
                ParamSource::Arg(at) => match buffers[*at] {
                    Some((id, ..)) => ArgValue::Buffer(id, 0),
                    None => ArgValue::Scalar(size(operation.args[*at].name)),
                },
                ParamSource::Size(name) => ArgValue::Scalar(size(name)),
            })
            .collect();
        let ran = emu::run(module, &step.entry, &launch, &args, &mut memory, &emu::Options::default());
        outcome = Some(ran.expect("the launch is well formed"));
    }
    let outputs = operation
        .args
        .iter()
        .zip(&buffers)
        .filter_map(|(arg, buffer)| {
            let (id, dtype, direction) = (*buffer)?;
            (direction != Direction::In).then(|| (arg.name, dtype, memory.bytes(id)))
        })
        .collect();
    Ran { outcome: outcome.expect("an operation has a launch"), outputs }
}
