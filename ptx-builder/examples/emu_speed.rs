//! How fast the emulator is: an RMSNorm of 256 rows of 4096 f32 (and bf16) on one core with all detectors on.
//!
//! Prints nanoseconds per warp instruction, averaged over the kernel. Run it with `--release`.
#![expect(clippy::print_stdout, reason = "a benchmark reports to its caller")]

use std::time::Instant;

use ptxsmith_builder::builder::build_entry;
use ptxsmith_builder::emu::{self, Access, ArgValue, Contents, Launch, Memory, Options};
use ptxsmith_builder::ir::Module;
use ptxsmith_builder::lang::{Global, GlobalMut, RowSum, block_idx_x, row_sum, thread_idx_x};
use ptxsmith_builder::ops::{rcp_rn, sqrt_rn};
use ptxsmith_builder::types::Dtype;
use ptxsmith_builder::value::Value;

const ROWS: u32 = 256;
const HIDDEN: u32 = 4096;
const THREADS: u32 = 128;

fn kernel(dtype: Dtype) -> Result<Module, Box<dyn std::error::Error>> {
    let target = "sm_90".parse()?;
    let entry = build_entry("rms_norm", target, || {
        let vector = 16 / dtype.bytes();
        let x = Global::param("x", dtype, 16).row(block_idx_x(), HIDDEN);
        let w = Global::param("w", dtype, 16);
        let y = GlobalMut::param("y", dtype, 16).row(block_idx_x(), HIDDEN);
        let first = thread_idx_x() * vector;
        let rounds = HIDDEN / (THREADS * vector);
        let at = |round: u32| first + round * THREADS * vector;
        let sum = RowSum::new("sum", HIDDEN, dtype, THREADS);
        let rows: Vec<Vec<Value<f32>>> =
            (0..rounds).map(|round| x.at(at(round), vector).load_packed(vector as usize).unpack()).collect();
        rows.iter().enumerate().for_each(|(round, values)| sum.add_squares(round, values));
        let mean = row_sum(sum.join(), THREADS, THREADS) * (1.0 / HIDDEN as f32);
        let scale = rcp_rn(sqrt_rn(mean + 1e-6f32));
        for (round, values) in (0..rounds).zip(rows) {
            let weights = w.at(at(round), vector).load_packed(vector as usize).unpack();
            let scaled: Vec<Value<f32>> = values.iter().zip(weights).map(|(v, w)| *v * scale * w).collect();
            y.at(at(round), vector).store_packed(&scaled);
        }
    })?;
    Ok(Module { target, entries: vec![entry] })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for dtype in [Dtype::F32, Dtype::Bf16] {
        let module = kernel(dtype)?;
        let bytes = (HIDDEN * dtype.bytes()) as usize;
        let pattern = |len: usize| {
            let number = |i: usize| (i * 7 % 61) as f32 / 16.0 - 1.9;
            let bytes = dtype.bytes() as usize;
            // Of little-endian f32 the last two bytes are a bf16.
            Contents::Bytes(
                (0..len).map(|i| number(i / bytes).to_le_bytes()[4 - bytes + i % bytes]).collect(),
            )
        };
        let mut memory = Memory::new();
        let x = memory.add("x", Access::ReadOnly, pattern(bytes * ROWS as usize));
        let w = memory.add("w", Access::ReadOnly, pattern(bytes));
        let y = memory.add("y", Access::WriteOnly, Contents::Uninit((bytes * ROWS as usize) as u64));
        let args = [x, w, y].map(|id| ArgValue::Buffer(id, 0));
        let launch = Launch::linear(ROWS, THREADS);
        for threads in [1, 0] {
            let options = Options { threads, ..Options::default() };
            let (mut best, mut warps) = (f64::INFINITY, 0);
            for _ in 0..40 {
                let start = Instant::now();
                let outcome = emu::run(&module, "rms_norm", &launch, &args, &mut memory, &options)?;
                best = best.min(start.elapsed().as_secs_f64());
                warps = outcome.profile.total().warps;
                if let Some(finding) = outcome.findings.first() {
                    return Err(finding.to_string().into());
                }
            }
            let cores = if threads == 1 { "one core" } else { "all cores" };
            println!(
                "{dtype} {ROWS}x{HIDDEN}, {cores}: {:.1} ms, {warps} warp instructions, {:.1} ns each",
                best * 1e3,
                best * 1e9 / warps as f64
            );
        }
    }
    Ok(())
}
