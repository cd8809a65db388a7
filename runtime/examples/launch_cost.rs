//! What a launch costs on the host, against the driver's own call and against cudarc's builder; what a lookup and a warm-up
//! cost; and that a hundred thousand launches leave nothing behind. Exits with a failure if a bar is missed, and without a
//! device.
//!
//! `--leak-only` runs nothing but the last part, for a tool that slows everything else down.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]
#![expect(unsafe_code, reason = "compares with the driver's own launch; each block says why it is sound")]

use std::error::Error as StdError;
use std::ffi::c_void;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptxsmith_builder::kernel::AnyKernel;
use ptxsmith_builder::types::Dtype;
use ptxsmith_runtime::cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg, sys,
};
use ptxsmith_runtime::cudarc::nvrtc::Ptx;
use ptxsmith_runtime::{
    BufferArg, CacheOptions, Device, DeviceOptions, DiskOptions, LaunchPlan, Prepared, Profiler,
    copy_ceiling, present,
};

#[path = "../tests/support/scale.rs"]
mod scale;

use scale::{Rows, Scale, ScaleArgs};

type Check = Result<(), Box<dyn StdError>>;

const COLUMNS: u32 = 256;
/// Bars, in the order that the program reports them.
const PREPARED: f64 = 1.15;
const LOOKUP: Duration = Duration::from_nanos(100);
const WARM: Duration = Duration::from_millis(30);
const COLD: Duration = Duration::from_millis(1500);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Check {
    present()?;
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let device = Device::adopt(Arc::clone(&stream))?;
    println!("{}, {}", device.name(), device.as_cuda().ok_or("the device is the emulator")?.info().driver);
    let mut missed = Vec::new();
    if !std::env::args().any(|argument| argument == "--leak-only") {
        missed.extend(launches(&device, &stream)?);
        missed.extend(lookup(&device)?);
        missed.extend(plans(&device)?);
        profile(&device, &stream)?;
    }
    leaks(&device, &stream)?;
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ").into()) }
}

fn kernel(columns: u32) -> Scale {
    Scale::new(columns, -1.5, Dtype::F32, Dtype::F32)
}

/// What is over a bar, in words.
fn over<T: PartialOrd + std::fmt::Debug>(what: &str, value: T, bar: T) -> Option<String> {
    (value > bar).then(|| format!("{what} is {value:?}, the bar is {bar:?}"))
}

/// One kernel, four ways.
fn launches(device: &Device, stream: &Arc<CudaStream>) -> Result<Vec<String>, Box<dyn StdError>> {
    let prepared = device.prepare(&kernel(COLUMNS))?;
    let x: CudaSlice<f32> = stream.alloc_zeros(COLUMNS as usize)?;
    let mut y: CudaSlice<f32> = stream.alloc_zeros(COLUMNS as usize)?;
    let mut z: CudaSlice<f32> = stream.alloc_zeros(COLUMNS as usize)?;
    let raw = (x.device_ptr(stream).0, y.device_ptr(stream).0);
    let function = prepared.any().launches()[0].function().raw();
    let mut bare = || {
        let (mut x, mut y) = raw;
        let mut params: [*mut c_void; 2] = [(&raw mut x).cast(), (&raw mut y).cast()];
        // SAFETY: the function takes two pointers to one row each and has one thread per element; both rows outlive the
        // launches, which are alone on one stream.
        let code = unsafe {
            let (params, none) = (params.as_mut_ptr(), std::ptr::null_mut());
            sys::cuLaunchKernel(function, 1, 1, 1, COLUMNS, 1, 1, 0, stream.cu_stream(), params, none)
        };
        code.result().map_err(Into::into)
    };
    let bytes = 4 * u64::from(COLUMNS);
    let mut addresses = || {
        // SAFETY: both slices outlive the launches, which are alone on one stream.
        let of = |address| unsafe { BufferArg::from_raw(address, bytes, Dtype::F32) };
        let args = ScaleArgs { x: of(raw.0), y: of(raw.1), strides: None };
        prepared.launch(stream, args, Rows(1)).map_err(Into::into)
    };
    let [bare, addresses] = typical(stream, [&mut bare, &mut addresses])?;
    let text = prepared.operation().text();
    let loaded = stream.context().load_module(Ptx::from_src(text))?.load_function("scale")?;
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (COLUMNS, 1, 1), shared_mem_bytes: 0 };
    let mut builder = || {
        let mut launch = stream.launch_builder(&loaded);
        launch.arg(&x).arg(&mut z);
        // SAFETY: as for the bare launch.
        unsafe { launch.launch(config) }?;
        Ok(())
    };
    let mut slices = || {
        let args = ScaleArgs { x: (&x).into(), y: (&mut y).into(), strides: None };
        prepared.launch(stream, args, Rows(1)).map_err(Into::into)
    };
    let [builder, slices] = typical(stream, [&mut builder, &mut slices])?;
    let ratio = |time: Duration| time.as_secs_f64() / bare.as_secs_f64();
    println!("bare cuLaunchKernel: {bare:?}");
    println!("prepared, addresses: {addresses:?} ({:.3})", ratio(addresses));
    println!("prepared, slices:    {slices:?} ({:.3})", ratio(slices));
    println!("cudarc's builder:    {builder:?} ({:.3})", ratio(builder));
    Ok([
        over("a prepared launch over a bare one", ratio(slices), PREPARED),
        over("a prepared launch", slices, builder),
    ]
    .into_iter()
    .flatten()
    .collect())
}

fn lookup(device: &Device) -> Result<Option<String>, Box<dyn StdError>> {
    let (kernel, count) = (kernel(COLUMNS), 1_000_000);
    device.prepare(&kernel)?;
    let began = Instant::now();
    for _ in 0..count {
        black_box(device.prepare(black_box(&kernel))?);
    }
    let lookup = began.elapsed() / count;
    println!("lookup: {lookup:?}");
    Ok(over("a lookup", lookup, LOOKUP))
}

/// Thirty kernels, compiled and from disk.
fn plans(device: &Device) -> Result<Vec<String>, Box<dyn StdError>> {
    let folder = std::env::temp_dir().join(format!("ptxsmith-cost-{}", std::process::id()));
    let mut plan = LaunchPlan::new();
    for columns in (32..=960).step_by(32) {
        plan.add(kernel(columns));
    }
    let on_disk = || {
        DeviceOptions::default()
            .with_cache(CacheOptions::on_disk(DiskOptions { folder: folder.clone(), max_bytes: 64 << 20 }))
    };
    let mut missed = Vec::new();
    for (name, options, bar) in [
        ("cold, in memory", DeviceOptions::default(), COLD),
        ("cold, to disk", on_disk(), COLD),
        ("warm, from disk", on_disk(), WARM),
    ] {
        let device = device.clone().with_options(options);
        let began = Instant::now();
        plan.prepare(&device, |_| {})?;
        let time = began.elapsed();
        println!("{} kernels, {name}: {time:?}", plan.len());
        missed.extend(over(name, time, bar));
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(missed)
}

/// Device times of some launches against a copy.
fn profile(device: &Device, stream: &Arc<CudaStream>) -> Check {
    let cuda = device.as_cuda().ok_or("the device is the emulator")?;
    let ceiling = copy_ceiling(cuda, 1 << 30)?;
    let (columns, rows) = (1024, 1 << 18);
    let prepared = device.prepare(&kernel(columns))?;
    let x: CudaSlice<f32> = stream.alloc_zeros(columns as usize * rows)?;
    let mut y: CudaSlice<f32> = stream.alloc_zeros(columns as usize * rows)?;
    let mut profiler = Profiler::new(cuda, 20)?;
    for _ in 0..21 {
        let args = ScaleArgs { x: (&x).into(), y: (&mut y).into(), strides: None };
        profiler.launch(&prepared, stream, args, Rows(rows as u64))?;
    }
    let profile = profiler.collect()?.with_copy_ceiling(ceiling);
    println!("copy: {ceiling:.0} GB/s\n{profile}\n{}", profile.to_json());
    if (profile.kernels[0].launches, profile.unmeasured) != (20, 1) {
        return Err("the profiler did not count every launch".into());
    }
    Ok(())
}

/// Free memory of the device and resident memory of the process before and after.
fn leaks(device: &Device, stream: &Arc<CudaStream>) -> Check {
    let kernel = kernel(COLUMNS);
    let prepared: Prepared<Scale> = device.prepare(&kernel)?;
    let x: CudaSlice<f32> = stream.alloc_zeros(COLUMNS as usize)?;
    let mut y: CudaSlice<f32> = stream.alloc_zeros(COLUMNS as usize)?;
    let mut launch = |count: usize| -> Check {
        for _ in 0..count {
            let args = ScaleArgs { x: (&x).into(), y: (&mut y).into(), strides: None };
            prepared.launch(stream, args, Rows(1))?;
            black_box(device.prepare(&kernel)?);
        }
        Ok(device.synchronize()?)
    };
    let cuda = device.as_cuda().ok_or("the device is the emulator")?;
    launch(10_000)?;
    let before = (cuda.memory()?.0, resident());
    launch(100_000)?;
    let after = (cuda.memory()?.0, resident());
    println!("100000 launches of {}: device and host memory {before:?}, then {after:?}", kernel.name());
    if after.0 < before.0 {
        return Err("free memory of the device went down".into());
    }
    // The allocator may still settle by some pages; a byte a launch would be more than this.
    match (before.1, after.1) {
        (Some(before), Some(after)) if after > before + 64 * 1024 => Err("the process grew".into()),
        (None, _) | (_, None) => Err("the resident memory cannot be read".into()),
        _ => Ok(()),
    }
}

/// Resident memory of this process in bytes.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(1024 * line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?)
}

type LaunchOnce<'a> = &'a mut dyn FnMut() -> Check;

/// The median over rounds of the time per call; the calls take turns, and the stream is empty at the start of each round.
fn typical<const N: usize>(
    stream: &CudaStream,
    mut calls: [LaunchOnce<'_>; N],
) -> Result<[Duration; N], Box<dyn StdError>> {
    const LAUNCHES: u32 = 200;
    const ROUNDS: usize = 201;
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            stream.synchronize()?;
            let began = Instant::now();
            for _ in 0..LAUNCHES {
                call()?;
            }
            times.push(began.elapsed() / LAUNCHES);
        }
    }
    stream.synchronize()?;
    Ok(times.map(|mut times| {
        times.sort();
        times[ROUNDS / 2]
    }))
}
