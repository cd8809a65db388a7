//! LayerNorm of each row: `y = (x - mean) / sqrt(variance + eps) * gamma + beta`, with optional gamma and beta.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]

use ptxsmith_builder::lang::{
    Global, GlobalMut, block_idx_x, block_sum, fma, kernel, rcp, sqrt, thread_idx_x,
};
use ptxsmith_builder::types::Dtype;
use ptxsmith_examples::{Ran, check, decode, device, numbers, upload};
use ptxsmith_runtime::Device;

/// Rounds of loads that a thread keeps in registers.
const ROUNDS: u32 = 4;

/// Threads of a block: whole warps, `ROUNDS` elements each.
const fn threads(hidden: u32) -> u32 {
    let threads = hidden.div_ceil(ROUNDS).next_multiple_of(32);
    if threads > 1024 { 1024 } else { threads }
}

/// The longest row.
const LONGEST: u32 = 1024 * ROUNDS;

/// LayerNorm of the rows of x; the row stays in registers, the variance is that of the differences from the mean.
#[kernel(block = threads(hidden), grid = rows, validate = validate)]
pub fn layer_norm(
    /// elements of a row, 1 to 4096
    #[baked]
    hidden: u32,
    /// added to the variance under the root
    #[baked]
    eps: f32,
    /// dtype of x, gamma, beta and y
    #[baked]
    dtype: Dtype,
    /// whether there are gamma and beta
    #[baked]
    affine: bool,
    #[size(max = 0x7fff_ffff)] rows: u32,
    #[buffer(dtype = dtype, len = rows * hidden)] x: Global,
    #[when(affine)]
    #[buffer(dtype = dtype, len = hidden)]
    gamma: Option<Global>,
    #[when(affine)]
    #[buffer(dtype = dtype, len = hidden)]
    beta: Option<Global>,
    #[buffer(dtype = dtype, len = rows * hidden)] y: GlobalMut,
) {
    let threads = threads(hidden);
    let x = x.row(block_idx_x(), hidden);
    let y = y.row(block_idx_x(), hidden);
    let tid = thread_idx_x();
    let inverse = 1.0 / hidden as f32;

    let mut own = [0.0f32; ROUNDS as usize];
    let mut sum = 0.0f32;
    for round in 0..ROUNDS {
        let i = tid + round * threads;
        if i < hidden {
            own[round] = x[i];
            sum += own[round];
        }
    }
    let mean = block_sum(sum, threads) * inverse;

    let mut squares = 0.0f32;
    for round in 0..ROUNDS {
        if tid + round * threads < hidden {
            let difference = own[round] - mean;
            squares = fma(difference, difference, squares);
        }
    }
    let scale = rcp(sqrt(block_sum(squares, threads) * inverse + eps));

    for round in 0..ROUNDS {
        let i = tid + round * threads;
        if i < hidden {
            let normal = (own[round] - mean) * scale;
            let scaled = match gamma {
                Some(gamma) => normal * gamma[i],
                None => normal,
            };
            y[i] = match beta {
                Some(beta) => scaled + beta[i],
                None => scaled,
            };
        }
    }
}

fn validate(
    kernel: &LayerNorm,
    _: ptxsmith_builder::target::Target,
) -> Result<(), ptxsmith_builder::kernel::KernelError> {
    use ptxsmith_builder::kernel::FieldError;
    let invalid = |name: &str, value: String, allowed: String| {
        Err(FieldError::Invalid { name: name.to_owned(), value, allowed }.into())
    };
    if kernel.hidden == 0 || kernel.hidden > LONGEST {
        return invalid("hidden", kernel.hidden.to_string(), format!("a row length from 1 to {LONGEST}"));
    }
    if !(kernel.eps >= 0.0 && kernel.eps.is_finite()) {
        return invalid("eps", kernel.eps.to_string(), "a finite number of at least 0".to_owned());
    }
    Ok(())
}

fn run(device: &Device, kernel: &LayerNorm, rows: u32) -> Ran<f64> {
    let (hidden, dtype) = (kernel.hidden as usize, kernel.dtype);
    let (x, held) = upload(device, "x", &numbers(rows as usize * hidden, 4), dtype)?;
    let (gamma, gamma_held) = upload(device, "gamma", &numbers(hidden, 5), dtype)?;
    let (beta, beta_held) = upload(device, "beta", &numbers(hidden, 6), dtype)?;
    let mut y = device.alloc("y", held.len() * dtype.bytes() as usize)?;
    let args = LayerNormArgs {
        x: x.read(dtype),
        gamma: kernel.affine.then(|| gamma.read(dtype)),
        beta: kernel.affine.then(|| beta.read(dtype)),
        y: y.write(dtype),
    };
    let outcome = device.prepare(kernel)?.run(args, LayerNormShape { rows })?;
    let got = decode(&device.download(&y)?, dtype)?;
    let mut expected = Vec::with_capacity(held.len());
    for row in held.chunks(hidden) {
        let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / hidden as f64;
        let variance = row.iter().map(|x| f64::from(*x) - mean).map(|x| x * x).sum::<f64>() / hidden as f64;
        let scale = 1.0 / (variance + f64::from(kernel.eps)).sqrt();
        for ((x, gamma), beta) in row.iter().zip(&gamma_held).zip(&beta_held) {
            let normal = (f64::from(*x) - mean) * scale;
            expected.push(if kernel.affine { normal * f64::from(*gamma) + f64::from(*beta) } else { normal });
        }
    }
    check(&outcome, &got, &expected, if dtype == Dtype::F32 { 2e-6 } else { 4e-3 })
}

fn main() -> Ran {
    let device = device()?;
    let error = run(&device, &LayerNorm::new(768, 1e-5, Dtype::F32, true), 64)?;
    println!("{}: largest error {error:.1e}", device.name());
    Ok(())
}

#[test]
fn agrees_with_and_without_parameters() -> Ran {
    let device = ptxsmith_examples::emulator()?;
    for (hidden, dtype, affine) in
        [(3, Dtype::F32, false), (768, Dtype::Bf16, true), (4096, Dtype::F32, true)]
    {
        run(&device, &LayerNorm::new(hidden, 1e-5, dtype, affine), 2)?;
    }
    let error =
        device.prepare(&LayerNorm::new(5000, 1e-5, Dtype::F32, false)).err().ok_or("too long a row")?;
    assert!(error.to_string().contains("a row length from 1 to 4096"), "{error}");
    Ok(())
}
