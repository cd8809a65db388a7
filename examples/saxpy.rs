//! `y = a * x + y` in f16: eight elements of 16 bytes per thread, and the rest of the last vector one by one.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]

use ptxsmith_builder::lang::{Global, GlobalMut, block_idx_x, fma, kernel, thread_idx_x};
use ptxsmith_builder::types::Dtype;
use ptxsmith_examples::{Ran, check, decode, device, numbers, upload};
use ptxsmith_runtime::Device;

const BLOCK: u32 = 128;
/// Elements of a thread.
const EACH: u32 = 8;

/// y = a * x + y, computed in f32 and rounded once.
#[kernel(block = BLOCK, grid = n.ceil_div(BLOCK * EACH))]
pub fn saxpy(
    #[size(max = 0x7fff_ffff)] n: u32,
    #[buffer(dtype = Dtype::F16, len = n, align = 16)] x: Global,
    #[buffer(dtype = Dtype::F16, len = n, align = 16, inout)] y: GlobalMut,
    a: f32,
) {
    let first = (block_idx_x() * BLOCK + thread_idx_x()) * EACH;
    if first + EACH <= n {
        let x = x.at(first, EACH).load_packed(EACH as usize).unpack();
        let old = y.at(first, EACH).load_packed(EACH as usize).unpack();
        let new: Vec<_> = x.into_iter().zip(old).map(|(x, y)| fma(a, x, y)).collect();
        y.at(first, EACH).store_packed(&new);
    } else {
        for i in first..n {
            y[i] = fma(a, x[i], y[i]);
        }
    }
}

fn run(device: &Device, n: u32, a: f32) -> Ran<f64> {
    let (x, x_held) = upload(device, "x", &numbers(n as usize, 1), Dtype::F16)?;
    let (mut y, y_held) = upload(device, "y", &numbers(n as usize, 2), Dtype::F16)?;
    let prepared = device.prepare(&Saxpy::new())?;
    let args = SaxpyArgs { x: x.read(Dtype::F16), y: y.write(Dtype::F16), a };
    let outcome = prepared.run(args, SaxpyShape { n })?;
    let got = decode(&device.download(&y)?, Dtype::F16)?;
    let expected: Vec<f64> =
        x_held.iter().zip(y_held).map(|(x, y)| f64::from(a) * f64::from(*x) + f64::from(y)).collect();
    // Half a unit in the last place of f16.
    check(&outcome, &got, &expected, 1.0 / 2048.0)
}

fn main() -> Ran {
    let device = device()?;
    println!("{}: largest error {:.1e}", device.name(), run(&device, 100_003, 1.5)?);
    Ok(())
}

#[test]
fn agrees_for_every_tail() -> Ran {
    let device = ptxsmith_examples::emulator()?;
    for n in [1, 7, 8, 9, 1023, 1024, 1025, 4000] {
        run(&device, n, -0.75)?;
    }
    Ok(())
}
