//! A matrix with bf16 weights times a vector: one warp per row, 16 bytes of weights per lane and step.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]

use ptxsmith_builder::lang::{
    Global, GlobalMut, block_idx_x, fma, kernel, lane_id, thread_idx_x, uniform, warp_sum,
};
use ptxsmith_builder::types::Dtype;
use ptxsmith_examples::{Ran, check, decode, device, numbers, upload};
use ptxsmith_runtime::Device;

/// Warps of a block.
const WARPS: u32 = 4;
/// Elements of a 16-byte vector of weights.
const EACH: u32 = 8;

/// y = w x; w has `rows` rows of `columns` bf16 elements, a multiple of 8; x and y are f32.
#[kernel(block = WARPS * 32, grid = rows.ceil_div(WARPS))]
pub fn gemv(
    #[baked] columns: u32,
    #[size(max = 0x7fff_ffff)] rows: u32,
    #[buffer(dtype = Dtype::Bf16, len = rows * columns, align = 16)] w: Global,
    #[buffer(dtype = Dtype::F32, len = columns, align = 16)] x: Global,
    #[buffer(dtype = Dtype::F32, len = rows)] y: GlobalMut,
) {
    let row = block_idx_x() * WARPS + (thread_idx_x() >> 5u32);
    // The row is that of the whole warp, so either all of its lanes leave or none.
    if uniform(row >= rows) {
        return;
    }
    let w = w.row(row, columns);
    let mut sum = 0.0f32;
    for first in (lane_id() * EACH..columns).step_by(32 * EACH) {
        let weights = w.at(first, EACH).load_packed(EACH as usize).unpack();
        let values = x.at(first, EACH).load_packed(EACH as usize).unpack();
        for k in 0..EACH {
            sum = fma(weights[k], values[k], sum);
        }
    }
    let total = warp_sum(sum);
    if lane_id() == 0 {
        y[row] = total;
    }
}

fn run(device: &Device, columns: u32, rows: u32) -> Ran<f64> {
    let (w, w_held) = upload(device, "w", &numbers((rows * columns) as usize, 8), Dtype::Bf16)?;
    let (x, x_held) = upload(device, "x", &numbers(columns as usize, 9), Dtype::F32)?;
    let mut y = device.alloc("y", rows as usize * 4)?;
    let args = GemvArgs { w: w.read(Dtype::Bf16), x: x.read(Dtype::F32), y: y.write(Dtype::F32) };
    let outcome = device.prepare(&Gemv::new(columns))?.run(args, GemvShape { rows })?;
    let got = decode(&device.download(&y)?, Dtype::F32)?;
    let dot = |row: &[f32]| row.iter().zip(&x_held).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
    let expected: Vec<f64> = w_held.chunks(columns as usize).map(dot).collect();
    check(&outcome, &got, &expected, 1e-5)
}

fn main() -> Ran {
    let device = device()?;
    println!("{}: largest error {:.1e}", device.name(), run(&device, 2048, 100)?);
    Ok(())
}

#[test]
fn agrees_with_the_dot_products() -> Ran {
    let device = ptxsmith_examples::emulator()?;
    for (columns, rows) in [(8, 1), (264, 7), (1024, 9)] {
        run(&device, columns, rows)?;
    }
    Ok(())
}
