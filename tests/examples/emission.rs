//! How long it takes to emit each sample of each kernel: built, verified, printed. Best and median of many rounds, warm.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]

use std::time::{Duration, Instant};

use ptxsmith_builder::target::Target;
use ptxsmith_kernels::registry;

const ROUNDS: usize = 300;

fn main() {
    let target = Target::sm(90).expect("a row of the target table");
    println!("{:<28} {:>12} {:>10} {:>10}", "sample", "instructions", "best", "median");
    for info in registry::all() {
        for sample in (info.samples)() {
            let kernel = info.sample(&sample).expect("samples are valid");
            let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS);
            let mut instructions = 0;
            for _ in 0..ROUNDS {
                let start = Instant::now();
                let operation = kernel.operation(target).expect("samples build");
                let text = operation.text();
                times.push(start.elapsed());
                let blocks = operation.module.module().entries.iter().flat_map(|entry| &entry.blocks);
                instructions = blocks.map(|block| block.insts.len()).sum();
                std::hint::black_box(text);
            }
            times.sort();
            let (best, median) = (times[0], times[ROUNDS / 2]);
            println!(
                "{:<28} {instructions:>12} {best:>10.1?} {median:>10.1?}",
                format!("{} {}", info.name, sample.name)
            );
        }
    }
}
