//! The softmax of each row of a matrix: one block per row, two reductions over the block.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]

use ptxsmith_builder::lang::{
    Global, GlobalMut, Spec, block_idx_x, block_max, block_sum, kernel, max, rcp, thread_idx_x,
};
use ptxsmith_builder::ops::ex2_approx;
use ptxsmith_builder::types::Dtype;
use ptxsmith_examples::{Ran, check, decode, device, numbers, upload};
use ptxsmith_runtime::Device;

/// Threads of a block.
const BLOCK: u32 = 128;

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Spec)]
pub struct SoftmaxSpec {
    /// elements of a row
    #[spec(range = 1..=1_048_576)]
    pub columns: u32,
    /// dtype of x
    pub x: Dtype,
    /// dtype of y
    pub y: Dtype,
}

/// y = exp(x - max(x)) / sum(exp(x - max(x))), row by row.
#[kernel(block = BLOCK, grid = rows)]
pub fn softmax(
    #[baked] spec: SoftmaxSpec,
    #[size(max = 0x7fff_ffff)] rows: u32,
    #[buffer(dtype = spec.x, len = rows * spec.columns)] x: Global,
    #[buffer(dtype = spec.y, len = rows * spec.columns)] y: GlobalMut,
) {
    let x = x.row(block_idx_x(), spec.columns);
    let y = y.row(block_idx_x(), spec.columns);
    let mut largest = f32::NEG_INFINITY;
    for i in (thread_idx_x()..spec.columns).step_by(BLOCK) {
        largest = max(largest, x[i]);
    }
    let largest = block_max(largest, BLOCK);
    // exp(v) is 2^(v / ln 2); the exponent is at most 0, so nothing overflows.
    let scale = std::f32::consts::LOG2_E;
    let mut sum = 0.0f32;
    for i in (thread_idx_x()..spec.columns).step_by(BLOCK) {
        sum += ex2_approx((x[i] - largest) * scale);
    }
    let inverse = rcp(block_sum(sum, BLOCK));
    for i in (thread_idx_x()..spec.columns).step_by(BLOCK) {
        y[i] = ex2_approx((x[i] - largest) * scale) * inverse;
    }
}

fn run(device: &Device, spec: SoftmaxSpec, rows: u32) -> Ran<f64> {
    let columns = spec.columns as usize;
    let values: Vec<f32> = numbers(rows as usize * columns, 3).into_iter().map(|x| x * 20.0).collect();
    let (x, held) = upload(device, "x", &values, spec.x)?;
    let mut y = device.alloc("y", held.len() * spec.y.bytes() as usize)?;
    let args = SoftmaxArgs { x: x.read(spec.x), y: y.write(spec.y) };
    let outcome = device.prepare(&Softmax::new(spec))?.run(args, SoftmaxShape { rows })?;
    let got = decode(&device.download(&y)?, spec.y)?;
    let mut expected = Vec::with_capacity(held.len());
    for row in held.chunks(columns) {
        let largest = row.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
        #[expect(clippy::disallowed_methods, reason = "a reference with a tolerance far above the last bit")]
        let powers: Vec<f64> = row.iter().map(|x| f64::from(x - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        expected.extend(powers.iter().map(|power| power / sum));
    }
    // The approximate power is good to a few units of f32; bf16 keeps 8 bits.
    check(&outcome, &got, &expected, if spec.y == Dtype::F32 { 3e-6 } else { 4e-3 })
}

fn main() -> Ran {
    let device = device()?;
    let spec = SoftmaxSpec { columns: 1000, x: Dtype::F32, y: Dtype::F32 };
    println!("{}: largest error {:.1e}", device.name(), run(&device, spec, 64)?);
    Ok(())
}

#[test]
fn agrees_in_every_dtype_and_length() -> Ran {
    let device = ptxsmith_examples::emulator()?;
    for (columns, x, y) in
        [(1, Dtype::F32, Dtype::F32), (127, Dtype::F16, Dtype::F32), (1000, Dtype::Bf16, Dtype::Bf16)]
    {
        run(&device, SoftmaxSpec { columns, x, y }, 3)?;
    }
    Ok(())
}
