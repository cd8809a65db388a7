//! The kernel language: what bodies become, and that they compute what Rust computes.

use ptxsmith_builder::emu::{Access, ArgValue, Contents, Launch, Memory, Options, run};
use ptxsmith_builder::kernel::{AnyKernel, Operation};
use ptxsmith_builder::target::Target;
use ptxsmith_tests::assembler::{Role, assemble};

mod agreement;
mod functions;
mod library;
mod places;
mod spec;
mod texts;

/// The target that the texts of these tests are for.
fn target() -> Target {
    "sm_90".parse().expect("sm_90 is a target")
}

/// Builds a kernel, and has the newest assembler accept its text.
fn build(kernel: &impl AnyKernel) -> Operation {
    let operation = kernel.operation(target()).unwrap_or_else(|error| panic!("{error}"));
    let text = operation.text();
    if let Err(message) = assemble(Role::Newest, target(), &text) {
        panic!("{message}\n{text}");
    }
    operation
}

/// Runs one block of a kernel with parameters `y` (an output of one word per thread) and `n`; the words.
fn words(operation: &Operation, threads: u32, n: u32) -> Vec<u32> {
    let mut memory = Memory::new();
    let y = memory.add("y", Access::WriteOnly, Contents::Uninit(4 * u64::from(threads)));
    let entry = &operation.module.module().entries[0];
    let args: Vec<ArgValue> = entry
        .params
        .iter()
        .map(|param| match param.name.as_str() {
            "y" => ArgValue::Buffer(y, 0),
            _ => ArgValue::Scalar(u64::from(n)),
        })
        .collect();
    let launch = Launch::linear(1, threads);
    let outcome =
        run(operation.module.module(), &entry.name, &launch, &args, &mut memory, &Options::default())
            .unwrap_or_else(|error| panic!("{error:?}\n{}", operation.text()));
    assert!(outcome.completed && outcome.findings.is_empty(), "{:?}\n{}", outcome.findings, operation.text());
    memory.bytes(y).chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}
