//! What the worked kernels share: the device to run on, numbers in and out, and the check of a result.
//!
//! Every example runs in the emulator, with its detectors on; `-- --cuda` runs it on the first GPU instead.

use std::error::Error;

use half::{bf16, f16};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;
use ptxsmith_runtime::{Buffer, Device, EmulatorOptions, Outcome};

/// The result of an example.
pub type Ran<T = ()> = Result<T, Box<dyn Error>>;

/// The emulator for compute capability 9.0.
pub fn emulator() -> Ran<Device> {
    let target: Target = "sm_90".parse()?;
    Ok(Device::emulated(target, EmulatorOptions::default()))
}

/// The device that the command line names.
pub fn device() -> Ran<Device> {
    if std::env::args().any(|arg| arg == "--cuda") { Ok(Device::cuda(0)?) } else { emulator() }
}

/// Numbers between -1 and 1 that look random and are the same in every run.
pub fn numbers(len: usize, seed: u32) -> Vec<f32> {
    let mut state = u64::from(seed) << 32 | 0x9e37_79b9;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
        })
        .collect()
}

/// The bytes of numbers in a dtype, rounded once.
///
/// # Errors
/// For a dtype that no example stores.
pub fn encode(numbers: &[f32], dtype: Dtype) -> Ran<Vec<u8>> {
    Ok(match dtype {
        Dtype::F32 => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Dtype::F16 => numbers.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
        Dtype::Bf16 => numbers.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect(),
        other => return Err(format!("the examples do not store {other}").into()),
    })
}

/// Numbers from their bytes in a dtype.
///
/// # Errors
/// For a dtype that no example stores.
pub fn decode(bytes: &[u8], dtype: Dtype) -> Ran<Vec<f32>> {
    let pairs = || bytes.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
    Ok(match dtype {
        Dtype::F32 => bytes
            .chunks_exact(4)
            .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect(),
        Dtype::F16 => pairs().map(|pair| f16::from_le_bytes(pair).to_f32()).collect(),
        Dtype::Bf16 => pairs().map(|pair| bf16::from_le_bytes(pair).to_f32()).collect(),
        other => return Err(format!("the examples do not store {other}").into()),
    })
}

/// A buffer with numbers, and the numbers as the buffer holds them.
///
/// # Errors
/// Those of the device.
pub fn upload(device: &Device, name: &str, values: &[f32], dtype: Dtype) -> Ran<(Buffer, Vec<f32>)> {
    let bytes = encode(values, dtype)?;
    Ok((device.upload(name, &bytes)?, decode(&bytes, dtype)?))
}

/// Reports what the emulator found, and compares with the right answer.
///
/// # Errors
/// If a detector fired, or an element is further from the right answer than `tolerance` (absolute, and relative to it).
pub fn check(outcome: &Outcome, got: &[f32], expected: &[f64], tolerance: f64) -> Ran<f64> {
    if let Some(finding) = outcome.findings.first() {
        return Err(format!("the emulator found: {finding}").into());
    }
    if got.len() != expected.len() {
        return Err(format!("{} elements instead of {}", got.len(), expected.len()).into());
    }
    let mut largest = 0.0f64;
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(*got) - expected).abs();
        if error.is_nan() || error > tolerance * (1.0 + expected.abs()) {
            return Err(format!("element {i} is {got} instead of {expected}").into());
        }
        largest = largest.max(error);
    }
    Ok(largest)
}
