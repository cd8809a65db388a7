//! The kernels of the registry on a CUDA device: golden vectors, a sweep of dtypes, lengths and layouts with poisoned
//! outputs and guard bands, the emulator's bits, rows beyond 32-bit offsets. Fails without a device.
//!
//! `gpu_suite [quick]`: `quick` leaves out what takes gigabytes, for runs under compute-sanitizer.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]

use std::error::Error;
use std::process::ExitCode;

use half::{bf16, f16};
use ptxsmith_builder::kernel::{AnyKernel, ReferenceInputs};
use ptxsmith_builder::types::Dtype;
use ptxsmith_kernels::Eps;
use ptxsmith_kernels::rms_norm::{Layout, RmsNorm, RmsNormArgs, RmsNormShape, RmsNormSpec};
use ptxsmith_kernels::row::{Keep, RowSchedule};
use ptxsmith_runtime::cudarc::driver::{CudaSlice, ValidAsZeroBits};
use ptxsmith_runtime::{BufferArg, Device, Element};
use ptxsmith_tests::numbers::{decode, encode, first_difference, half_ulp, rounded, tolerance, uniforms};
use ptxsmith_tests::run::{Inputs, run};
use safetensors::{Dtype as StoredDtype, SafeTensors};

type Check = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let quick = std::env::args().any(|arg| arg == "quick");
    match all(quick) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all(quick: bool) -> Check {
    let device = Device::cuda(0)?;
    println!("{}, builds for {}", device.name(), device.target());
    golden(&device)?;
    sweep(&device, quick)?;
    invariance(&device)?;
    if !quick {
        beyond_32_bits(&device)?;
    }
    println!("all as it should be");
    Ok(())
}

/// Elements of guard before and after every output.
const GUARD: usize = 64;

/// A dtype with a Rust type that a slice can hold.
trait Stored: Element + ValidAsZeroBits + Copy {
    fn of_bits(bits: [u8; 4]) -> Self;
    fn bits(self) -> u32;
}

impl Stored for f32 {
    fn of_bits(bits: [u8; 4]) -> f32 {
        f32::from_le_bytes(bits)
    }
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

impl Stored for f16 {
    fn of_bits(bits: [u8; 4]) -> f16 {
        f16::from_le_bytes([bits[0], bits[1]])
    }
    fn bits(self) -> u32 {
        u32::from(self.to_bits())
    }
}

impl Stored for bf16 {
    fn of_bits(bits: [u8; 4]) -> bf16 {
        bf16::from_le_bytes([bits[0], bits[1]])
    }
    fn bits(self) -> u32 {
        u32::from(self.to_bits())
    }
}

/// Runs the kernel on contiguous or padded rows; returns the bytes of y without gaps.
fn on_device(
    device: &Device,
    kernel: &RmsNorm,
    rows: usize,
    pad: usize,
    x: &[f64],
    w: &[f64],
) -> Result<Vec<u8>, Box<dyn Error>> {
    match kernel.spec.y {
        Dtype::F32 => typed::<f32>(device, kernel, rows, pad, x, w),
        Dtype::F16 => typed::<f16>(device, kernel, rows, pad, x, w),
        Dtype::Bf16 => typed::<bf16>(device, kernel, rows, pad, x, w),
        other => Err(format!("no output of {other}").into()),
    }
}

fn typed<Y: Stored>(
    device: &Device,
    kernel: &RmsNorm,
    rows: usize,
    pad: usize,
    x: &[f64],
    w: &[f64],
) -> Result<Vec<u8>, Box<dyn Error>> {
    let cuda = device.as_cuda().ok_or("the device is the emulator")?;
    let stream = cuda.stream();
    let hidden = kernel.spec.hidden as usize;
    let stride = hidden + pad;
    let mut spaced = vec![0.0; (rows.max(1) - 1) * stride + hidden];
    for (row, values) in x.chunks(hidden).enumerate() {
        spaced[row * stride..row * stride + hidden].copy_from_slice(values);
    }
    let x: CudaSlice<u8> = stream.clone_htod(&encode(kernel.spec.x, &spaced))?;
    let w: CudaSlice<u8> = stream.clone_htod(&encode(kernel.spec.w, w))?;
    let poison = Y::of_bits([0xff; 4]);
    let mut y: CudaSlice<Y> = stream.clone_htod(&vec![poison; spaced.len() + 2 * GUARD])?;
    let prepared = device.prepare(kernel)?;
    let strided = kernel.spec.layout == Layout::Strided;
    {
        let mut inner = y.slice_mut(GUARD..GUARD + spaced.len());
        let args = RmsNormArgs {
            x: BufferArg::bytes(&x, kernel.spec.x),
            w: BufferArg::bytes(&w, kernel.spec.w),
            y: (&mut inner).into(),
            x_stride: strided.then_some(stride as i64),
            y_stride: strided.then_some(stride as i64),
        };
        prepared.launch(stream, args, RmsNormShape { rows: rows as u32 })?;
    }
    let all: Vec<Y> = stream.clone_dtoh(&y)?;
    stream.synchronize()?;
    let untouched = |values: &[Y]| values.iter().all(|value| value.bits() == poison.bits());
    if !untouched(&all[..GUARD]) || !untouched(&all[GUARD + spaced.len()..]) {
        return Err(format!("{kernel:?}: a guard band is written").into());
    }
    let inner = &all[GUARD..GUARD + spaced.len()];
    let mut bytes = Vec::new();
    for row in 0..rows {
        let from = row * stride;
        for value in &inner[from..from + hidden] {
            bytes.extend(&value.bits().to_le_bytes()[..Y::DTYPE.bytes() as usize]);
        }
        let gap = &inner[(from + hidden).min(inner.len())..(from + stride).min(inner.len())];
        if !untouched(gap) {
            return Err(format!("{kernel:?}: a gap between rows is written").into());
        }
    }
    Ok(bytes)
}

fn reference(kernel: &RmsNorm, x: &[f64], w: &[f64]) -> Vec<f64> {
    let inputs =
        ReferenceInputs { buffers: vec![("x", x.to_vec()), ("w", w.to_vec())], ..ReferenceInputs::default() };
    kernel.reference(&inputs).map(|mut outputs| outputs.remove(0).1).unwrap_or_default()
}

fn golden(device: &Device) -> Check {
    let mut count = 0;
    for (path, norms) in [
        ("samples/smollm2_layer0.safetensors", vec!["attn_norm"]),
        ("tests/data/smollm2_layer14.safetensors", vec!["attn_norm", "ffn_norm"]),
    ] {
        let bytes = std::fs::read(path)?;
        let file = SafeTensors::deserialize(&bytes)?;
        for norm in norms {
            let read = |name: &str| {
                let tensor = file.tensor(&format!("{norm}.{name}"))?;
                let dtype = if tensor.dtype() == StoredDtype::F64 { Dtype::F64 } else { Dtype::F32 };
                Ok::<_, Box<dyn Error>>(decode(dtype, tensor.data()))
            };
            let (x, w, y) = (read("x")?, read("w")?, read("y")?);
            for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
                let spec = RmsNormSpec::new(w.len() as u32, Eps::new(1e-5)?, dtype, Dtype::F32, dtype);
                let kernel = RmsNorm { spec, schedule: None };
                let x = rounded(dtype, &x);
                let expected = if dtype == Dtype::F32 { y.clone() } else { reference(&kernel, &x, &w) };
                let got = decode(dtype, &on_device(device, &kernel, x.len() / w.len(), 0, &x, &w)?);
                let limit = |e: f64| match dtype {
                    Dtype::F32 => 5e-7 + 5e-7 * e.abs(),
                    _ => half_ulp(dtype, e) + 5e-7 * e.abs(),
                };
                if let Some(difference) = first_difference(&got, &expected, limit) {
                    return Err(format!("golden {path} {norm} {dtype}: {difference}").into());
                }
                count += 1;
            }
        }
    }
    println!("golden vectors: {count} as they should be");
    Ok(())
}

fn sweep(device: &Device, quick: bool) -> Check {
    let dtypes = [Dtype::F32, Dtype::F16, Dtype::Bf16];
    let hiddens: &[u32] = if quick {
        &[1, 7, 64, 769, 4096, 12_288, 49_152]
    } else {
        &[
            1, 2, 3, 5, 8, 17, 31, 64, 100, 127, 256, 576, 769, 1000, 1024, 2048, 3584, 4096, 5125, 8192,
            12_288, 16_384, 32_768, 49_152, 65_536, 131_072, 262_143, 262_144,
        ]
    };
    let (mut count, mut same_bits) = (0, 0);
    for &hidden in hiddens {
        for x in dtypes {
            for (w, y) in [(x, x), (Dtype::F32, x), (x, Dtype::F32), (Dtype::Bf16, Dtype::F16)] {
                for (rows, pad) in [(1, 0), (5, 0), (3, 24)] {
                    let mut spec = RmsNormSpec::new(hidden, Eps::new(1e-6)?, x, w, y);
                    if pad > 0 {
                        spec.layout = Layout::Strided;
                    }
                    let kernel = RmsNorm { spec, schedule: None };
                    let input = rounded(x, &uniforms(u64::from(hidden), hidden as usize * rows));
                    let weight = rounded(w, &uniforms(9, hidden as usize));
                    let bytes = on_device(device, &kernel, rows, pad, &input, &weight)?;
                    let (atol, rtol) = tolerance(y);
                    let expected = reference(&kernel, &input, &weight);
                    if let Some(difference) =
                        first_difference(&decode(y, &bytes), &expected, |e| atol + rtol * e.abs())
                    {
                        return Err(format!("{kernel:?}, {rows} rows: {difference}").into());
                    }
                    if pad == 0 && hidden <= 16_384 {
                        let operation = kernel.operation(device.target())?;
                        let inputs = Inputs {
                            sizes: vec![("rows", rows as u64)],
                            buffers: vec![("x", input), ("w", weight)],
                            ..Inputs::default()
                        };
                        if run(&operation, &inputs).outputs[0].2 != bytes {
                            return Err(
                                format!("{kernel:?}, {rows} rows: the emulator computes other bits").into()
                            );
                        }
                        same_bits += 1;
                    }
                    count += 1;
                }
            }
        }
    }
    println!("sweep: {count} cases within tolerance, {same_bits} with the emulator's bits");
    Ok(())
}

fn invariance(device: &Device) -> Check {
    let mut count = 0;
    for (hidden, dtype) in [(576, Dtype::F32), (4096, Dtype::Bf16), (1001, Dtype::F16), (12_288, Dtype::Bf16)]
    {
        let spec = RmsNormSpec::new(hidden, Eps::new(1e-6)?, dtype, dtype, dtype);
        let x = rounded(dtype, &uniforms(3, hidden as usize * 5));
        let w = rounded(dtype, &uniforms(4, hidden as usize));
        let first = on_device(device, &RmsNorm { spec, schedule: None }, 5, 0, &x, &w)?;
        for threads_per_row in [32, 64, 128, 256, 512, 1024] {
            for rows_per_block in [1, 4] {
                for keep in [Keep::Registers, Keep::Shared, Keep::Reload] {
                    let schedule =
                        Some(RowSchedule { threads_per_row, rows_per_block, keep, group: 4, min_blocks: 1 });
                    let kernel = RmsNorm { spec, schedule };
                    if kernel.operation(device.target()).is_err() {
                        continue;
                    }
                    if on_device(device, &kernel, 5, 0, &x, &w)? != first {
                        return Err(format!("{kernel:?}: other bits than the default schedule").into());
                    }
                    count += 1;
                }
            }
        }
    }
    println!("invariance: {count} schedules with the same bits");
    Ok(())
}

/// More elements than 32 bits count: rows at both ends are right.
fn beyond_32_bits(device: &Device) -> Check {
    let cuda = device.as_cuda().ok_or("the device is the emulator")?;
    let stream = cuda.stream();
    let hidden = 4096usize;
    let rows = (1usize << 32) / hidden + 3;
    let spec = RmsNormSpec::new(hidden as u32, Eps::new(1e-6)?, Dtype::Bf16, Dtype::Bf16, Dtype::Bf16);
    let kernel = RmsNorm { spec, schedule: None };
    let last = rounded(Dtype::Bf16, &uniforms(5, hidden * 3));
    let w = rounded(Dtype::Bf16, &uniforms(6, hidden));
    let element = |value: &f64| bf16::from_f64(*value);
    let mut x: CudaSlice<bf16> = stream.alloc_zeros(rows * hidden)?;
    stream.memcpy_htod(
        &last.iter().map(element).collect::<Vec<_>>(),
        &mut x.slice_mut((rows - 3) * hidden..),
    )?;
    let weight: CudaSlice<bf16> = stream.clone_htod(&w.iter().map(element).collect::<Vec<_>>())?;
    let mut y: CudaSlice<bf16> = stream.alloc_zeros(rows * hidden)?;
    let prepared = device.prepare(&kernel)?;
    let args = RmsNormArgs {
        x: (&x).into(),
        w: (&weight).into(),
        y: (&mut y).into(),
        x_stride: None,
        y_stride: None,
    };
    prepared.launch(stream, args, RmsNormShape { rows: rows as u32 })?;
    let got: Vec<bf16> = stream.clone_dtoh(&y.slice((rows - 3) * hidden..))?;
    let first: Vec<bf16> = stream.clone_dtoh(&y.slice(..hidden))?;
    stream.synchronize()?;
    let got: Vec<f64> = got.iter().map(|value| value.to_f64()).collect();
    let expected = reference(&kernel, &last, &w);
    if let Some(difference) = first_difference(&got, &expected, |e| 1e-5 + 1.6e-2 * e.abs()) {
        return Err(format!("{rows} rows of {hidden}: {difference}").into());
    }
    if first.iter().any(|value| value.to_f64() != 0.0) {
        return Err("the first of the rows is not zero".into());
    }
    println!("{rows} rows of {hidden}: {} elements, the last rows are right", rows * hidden);
    Ok(())
}
