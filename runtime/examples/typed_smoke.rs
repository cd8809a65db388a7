//! Proves typed launches on a real device: right numbers, refused mistakes, every level of the cache, and what a launch
//! and a lookup cost on the host. Exits with a failure if anything is not as it should be, and without a device.
//!
//! The argument, if there is one, is the folder of the disk cache; without it a temporary one is used and removed.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]
#![expect(unsafe_code, reason = "compares with the driver's own launch; each block says why it is sound")]

use std::error::Error as StdError;
use std::ffi::c_void;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptxsmith_builder::kernel::AnyKernel;
use ptxsmith_builder::types::Dtype;
use ptxsmith_runtime::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, sys};
use ptxsmith_runtime::half::{bf16, f16};
use ptxsmith_runtime::{
    ArgumentError, BufferArg, CacheOptions, Device, DeviceOptions, DiskOptions, Element, Error, Graph,
    GraphBuffers, LaunchPlan, RecordError, Slot, present,
};

#[path = "../tests/support/scale.rs"]
mod scale;

use scale::{Rows, Scale, ScaleArgs};

type Check = Result<(), Box<dyn StdError>>;
type Part = fn(&Device) -> Check;

const COLUMNS: u32 = 256;
const ROWS: usize = 1000;
const FACTOR: f32 = -1.5;

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
    let folder = std::env::args().nth(1).map(PathBuf::from);
    let temporary = std::env::temp_dir().join(format!("ptxsmith-typed-{}", std::process::id()));
    let folder_or_temporary = folder.clone().unwrap_or_else(|| temporary.clone());
    let context = CudaContext::new(0)?;
    let device = Device::adopt(context.new_stream()?)?;
    println!("{}, builds for {}", device.name(), device.target());
    let parts: [(&str, Part); 7] = [
        ("dtypes", dtypes),
        ("strided rows", strided),
        ("two streams", two_streams),
        ("no rows", no_rows),
        ("mistakes", mistakes),
        ("seal and capture", seal),
        ("graph", graph),
    ];
    for (name, part) in parts {
        part(&device.clone().with_options(DeviceOptions::default()))
            .map_err(|error| format!("{name}: {error}"))?;
        println!("{name}: as it should be");
    }
    let disk = disk(&device, &folder_or_temporary);
    if folder.is_none() && temporary.exists() {
        std::fs::remove_dir_all(&temporary)?;
    }
    disk.map_err(|error| format!("disk cache: {error}"))?;
    costs()
}

fn kernel(x: Dtype, y: Dtype) -> Scale {
    Scale::new(COLUMNS, FACTOR, x, y)
}

fn input(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 977) as f32 / 8.0 - 50.0).collect()
}

fn agree<T: PartialEq + std::fmt::Debug>(got: &[T], expected: &[T]) -> Check {
    if got.len() != expected.len() {
        return Err(format!("{} elements instead of {}", got.len(), expected.len()).into());
    }
    match got.iter().zip(expected).position(|(a, b)| a != b) {
        Some(at) => Err(format!("element {at} is {:?} instead of {:?}", got[at], expected[at]).into()),
        None => Ok(()),
    }
}

/// Whether a condition holds.
fn ensure(condition: bool, what: &str) -> Check {
    if condition { Ok(()) } else { Err(what.to_owned().into()) }
}

fn cuda_stream(device: &Device) -> Result<&Arc<CudaStream>, Box<dyn StdError>> {
    Ok(device.as_cuda().ok_or("the device is the emulator")?.stream())
}

fn dtypes(device: &Device) -> Check {
    one_dtype::<f32>(device, |value| value)?;
    one_dtype::<f16>(device, f16::from_f32)?;
    one_dtype::<bf16>(device, bf16::from_f32)
}

fn one_dtype<T>(device: &Device, round: fn(f32) -> T) -> Check
where
    T: Element + PartialEq + std::fmt::Debug + Clone + Default + Copy,
    T: ptxsmith_runtime::cudarc::driver::ValidAsZeroBits,
{
    let stream = cuda_stream(device)?;
    let host = input(ROWS * COLUMNS as usize);
    let x = stream.clone_htod(&host)?;
    let mut y: CudaSlice<T> = stream.alloc_zeros(host.len())?;
    let prepared = device.prepare(&kernel(Dtype::F32, T::DTYPE))?;
    let args = ScaleArgs { x: (&x).into(), y: (&mut y).into(), strides: None };
    prepared.launch(stream, args, Rows(ROWS as u64))?;
    let expected: Vec<T> = host.iter().map(|value| round(value * FACTOR)).collect();
    agree(&stream.clone_dtoh(&y)?, &expected)?;

    // Views: the second half of the rows only, from the result back to f32.
    let half = host.len() / 2;
    let mut back: CudaSlice<f32> = stream.alloc_zeros(host.len())?;
    let mut written = back.slice_mut(half..);
    let args = ScaleArgs { x: (&y.slice(half..)).into(), y: (&mut written).into(), strides: None };
    device.launch(stream, &kernel(T::DTYPE, Dtype::F32), args, Rows(ROWS as u64 / 2))?;
    let back = stream.clone_dtoh(&back)?;
    ensure(back[..half].iter().all(|value| *value == 0.0), "the first half was written")?;
    ensure(back[half..].iter().any(|value| *value != 0.0), "the second half was not written")
}

fn strided(device: &Device) -> Check {
    let stream = cuda_stream(device)?;
    let (rows, columns, stride) = (17, COLUMNS as usize, COLUMNS as usize + 8);
    let host = input(rows * stride);
    let x = stream.clone_htod(&host)?;
    let mut y: CudaSlice<f32> = stream.alloc_zeros(rows * columns)?;
    let kernel = Scale { strided: true, ..kernel(Dtype::F32, Dtype::F32) };
    let strides = Some((stride as i64, columns as i64));
    let args = ScaleArgs { x: (&x).into(), y: (&mut y).into(), strides };
    device.launch(stream, &kernel, args, Rows(rows as u64))?;
    let expected: Vec<f32> =
        host.chunks(stride).flat_map(|row| row[..columns].iter().map(|value| value * FACTOR)).collect();
    agree(&stream.clone_dtoh(&y)?, &expected)
}

/// Producer and consumer on different streams: the buffers order them.
fn two_streams(device: &Device) -> Check {
    let first = cuda_stream(device)?;
    let second = first.context().new_stream()?;
    let host = input(ROWS * COLUMNS as usize);
    let prepared = device.prepare(&kernel(Dtype::F32, Dtype::F32))?;
    let x = first.clone_htod(&host)?;
    let mut y: CudaSlice<f32> = first.alloc_zeros(host.len())?;
    let mut z: CudaSlice<f32> = first.alloc_zeros(host.len())?;
    for _ in 0..200 {
        first.memset_zeros(&mut y)?;
        let args = ScaleArgs { x: (&x).into(), y: (&mut y).into(), strides: None };
        prepared.launch(first, args, Rows(ROWS as u64))?;
        let args = ScaleArgs { x: (&y).into(), y: (&mut z).into(), strides: None };
        prepared.launch(&second, args, Rows(ROWS as u64))?;
    }
    let expected: Vec<f32> = host.iter().map(|value| value * FACTOR * FACTOR).collect();
    agree(&second.clone_dtoh(&z)?, &expected)
}

fn no_rows(device: &Device) -> Check {
    let stream = cuda_stream(device)?;
    let x: CudaSlice<f32> = stream.null()?;
    let mut y: CudaSlice<f32> = stream.null()?;
    let args = ScaleArgs { x: (&x).into(), y: (&mut y).into(), strides: None };
    device.launch(stream, &kernel(Dtype::F32, Dtype::F32), args, Rows(0))?;
    Ok(device.synchronize()?)
}

fn mistakes(device: &Device) -> Check {
    let stream = cuda_stream(device)?;
    let len = 4 * COLUMNS as usize;
    let mut x: CudaSlice<f32> = stream.alloc_zeros(len)?;
    let mut y: CudaSlice<f32> = stream.alloc_zeros(len)?;
    let short: CudaSlice<f32> = stream.alloc_zeros(len - 1)?;
    let half: CudaSlice<f16> = stream.alloc_zeros(len)?;
    let prepared = device.prepare(&kernel(Dtype::F32, Dtype::F32))?;
    fn refuse<'a>(
        prepared: &ptxsmith_runtime::Prepared<Scale>,
        stream: &'a CudaStream,
        (x, y): (BufferArg<'a>, BufferArg<'a>),
        rows: u64,
        right: fn(&ArgumentError) -> bool,
    ) -> Check {
        match prepared.launch(stream, ScaleArgs { x, y, strides: None }, Rows(rows)) {
            Err(Error::Argument { error, .. }) if right(&error) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }
    let too_short = |error: &ArgumentError| matches!(error, ArgumentError::TooShort { name: "x", .. });
    refuse(&prepared, stream, ((&short).into(), (&mut y).into()), 4, too_short)?;
    refuse(&prepared, stream, ((&half).into(), (&mut y).into()), 4, |error| {
        matches!(error, ArgumentError::Dtype { given: Dtype::F16, .. })
    })?;
    refuse(&prepared, stream, ((&x.slice(1..)).into(), (&mut y).into()), 3, |error| {
        matches!(error, ArgumentError::Misaligned { name: "x", align: 16, .. })
    })?;
    refuse(&prepared, stream, ((&x).into(), (&y).into()), 4, |error| {
        matches!(error, ArgumentError::ReadOnly { name: "y" })
    })?;
    refuse(&prepared, stream, ((&short).into(), (&mut y).into()), 1 << 31, |error| {
        matches!(error, ArgumentError::Size { name: "rows", limit: 2_147_483_647, .. })
    })?;
    let (address, bytes) = (x.device_ptr(stream).0, 4 * len as u64);
    // SAFETY: the launch is refused, so that nothing touches the address.
    let raw = unsafe { BufferArg::from_raw(address, bytes, Dtype::F32) };
    refuse(&prepared, stream, (raw, (&mut x).into()), 4, |error| {
        matches!(error, ArgumentError::Overlap { bytes: 4096, .. })
    })?;
    let other = CudaContext::new(0)?.default_stream();
    let foreign: CudaSlice<f32> = other.alloc_zeros(len)?;
    refuse(&prepared, stream, ((&foreign).into(), (&mut y).into()), 4, |error| {
        matches!(error, ArgumentError::WrongDevice { name: "x", .. })
    })?;
    Ok(device.synchronize()?)
}

fn seal(device: &Device) -> Check {
    let stream = cuda_stream(device)?;
    let (warm, cold) = (kernel(Dtype::F32, Dtype::F32), kernel(Dtype::F32, Dtype::Bf16));
    device.prepare(&warm)?;
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let (hit, miss) = (device.prepare(&warm), device.prepare(&cold));
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0));
    ensure(hit.is_ok(), "a prepared kernel was refused during a capture")?;
    ensure(matches!(miss, Err(Error::MissInCapture { .. })), "a miss during a capture passed")?;
    ensure(graph.is_ok(), "the refused miss broke the capture")?;
    device.seal();
    device.prepare(&warm)?;
    ensure(matches!(device.prepare(&cold), Err(Error::Sealed { .. })), "a miss after the seal passed")
}

/// Two launches, recorded once and replayed on changed inputs.
fn graph(device: &Device) -> Check {
    let stream = cuda_stream(device)?;
    let len = ROWS * COLUMNS as usize;
    let prepared = device.prepare(&kernel(Dtype::F32, Dtype::F32))?;
    let mut buffers = GraphBuffers::new();
    let x = buffers.add(stream.clone_htod(&input(len))?);
    let y = buffers.add(stream.alloc_zeros::<f32>(len)?);
    let z = buffers.add(stream.alloc_zeros::<f32>(len)?);
    let args = |x: Slot<f32>, y: Slot<f32>| ScaleArgs { x: x.into(), y: y.into(), strides: None };
    let rows = Rows(ROWS as u64);
    // A miss fails and gives the buffers back.
    let cold = kernel(Dtype::F32, Dtype::Bf16);
    let refused = buffers.record(device, stream, |_| device.prepare(&cold).map(|_| ()));
    let buffers = match refused {
        Err(RecordError { error, buffers }) if matches!(*error, Error::MissInCapture { .. }) => buffers,
        other => return Err(format!("{other:?}").into()),
    };
    let recorded = buffers.record(device, stream, |recording| {
        recording.launch(&prepared, args(x, y), rows)?;
        recording.launch(&prepared, args(y, z), rows)
    });
    let mut graph = recorded.map_err(|error| error.to_string())?;
    let read = |graph: &Graph, slot| -> Result<Vec<f32>, Box<dyn StdError>> {
        Ok(stream.clone_dtoh(graph.buffers().get(slot).ok_or("the slot has no buffer")?)?)
    };
    agree(&read(&graph, z)?, &vec![0.0; len])?;
    for shift in [0, 1, 2] {
        let host = input(len + shift).split_off(shift);
        let mut target = graph.buffer_mut(x).ok_or("the slot has no buffer")?;
        stream.memcpy_htod(&host, &mut target)?;
        graph.launch()?;
        let expected: Vec<f32> = host.iter().map(|value| value * FACTOR * FACTOR).collect();
        agree(&read(&graph, z)?, &expected)?;
    }
    let mut buffers =
        std::thread::spawn(move || graph.into_buffers()).join().map_err(|_| "a thread panicked")?;
    ensure(buffers.take(z)?.is_some_and(|slice| slice.len() == len), "the buffer did not come back")
}

fn disk(device: &Device, folder: &Path) -> Check {
    let options = || {
        DeviceOptions::default()
            .with_cache(CacheOptions::on_disk(DiskOptions { folder: folder.to_owned(), max_bytes: 64 << 20 }))
    };
    let mut plan = LaunchPlan::new();
    for columns in (32..=960).step_by(32) {
        plan.add(Scale::new(columns, FACTOR, Dtype::F32, Dtype::Bf16));
    }
    let memory = device.clone().with_options(DeviceOptions::default());
    for (name, device) in [
        ("without disk", memory),
        ("first", device.clone().with_options(options())),
        ("again", device.clone().with_options(options())),
    ] {
        let began = Instant::now();
        plan.prepare(&device, |_| {})?;
        println!("{} kernels, {name}: {:?}, {:?}", plan.len(), began.elapsed(), device.cache_stats());
    }
    let third = device.clone().with_options(options());
    let kernel = Scale::new(96, FACTOR, Dtype::F32, Dtype::Bf16);
    third.prepare(&kernel)?;
    ensure(third.cache_stats().disk_hits == 1, "the third device did not find the file")?;
    // Every file is damaged: each is thrown away and made anew, and the numbers stay right.
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        let mut bytes = std::fs::read(&path)?;
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, bytes)?;
    }
    let fourth = device.clone().with_options(options());
    let prepared = fourth.prepare(&kernel)?;
    let stats = fourth.cache_stats();
    ensure((stats.discarded, stats.compiles) == (1, 1), "a damaged file was not replaced")?;
    let stream = cuda_stream(&fourth)?;
    let host = input(96 * 5);
    let x = stream.clone_htod(&host)?;
    let mut y: CudaSlice<bf16> = stream.alloc_zeros(host.len())?;
    prepared.launch(stream, ScaleArgs { x: (&x).into(), y: (&mut y).into(), strides: None }, Rows(5))?;
    let expected: Vec<bf16> = host.iter().map(|value| bf16::from_f32(value * FACTOR)).collect();
    agree(&stream.clone_dtoh(&y)?, &expected)
}

/// Host time of launches and lookups, in a context with a single stream and in one with several.
fn costs() -> Check {
    for several in [false, true] {
        let context = CudaContext::new(0)?;
        let stream = if several { context.new_stream()? } else { context.default_stream() };
        let device = Device::adopt(Arc::clone(&stream))?;
        let kernel = kernel(Dtype::F32, Dtype::F32);
        let prepared = device.prepare(&kernel)?;
        let x: CudaSlice<f32> = stream.alloc_zeros(COLUMNS as usize)?;
        let mut y: CudaSlice<f32> = stream.alloc_zeros(COLUMNS as usize)?;
        let raw = (x.device_ptr(&stream).0, y.device_ptr(&stream).0);
        let function = prepared.any().launches()[0].function().raw();
        let bare = || {
            let (mut x, mut y) = raw;
            let mut params: [*mut c_void; 2] = [(&raw mut x).cast(), (&raw mut y).cast()];
            // SAFETY: the function takes two pointers to one row each and has one thread per element.
            let code = unsafe {
                let (params, none) = (params.as_mut_ptr(), std::ptr::null_mut());
                sys::cuLaunchKernel(function, 1, 1, 1, COLUMNS, 1, 1, 0, stream.cu_stream(), params, none)
            };
            code.result().map_err(Into::into)
        };
        let bytes = 4 * u64::from(COLUMNS);
        let raw_prepared = || {
            // SAFETY: both slices outlive the launches, which are alone on one stream.
            let of = |address| unsafe { BufferArg::from_raw(address, bytes, Dtype::F32) };
            let args = ScaleArgs { x: of(raw.0), y: of(raw.1), strides: None };
            prepared.launch(&stream, args, Rows(1)).map_err(Into::into)
        };
        let [bare, raw_prepared] = typical(&stream, [&mut { bare }, &mut { raw_prepared }])?;
        let mut typed = || {
            let args = ScaleArgs { x: (&x).into(), y: (&mut y).into(), strides: None };
            prepared.launch(&stream, args, Rows(1)).map_err(Into::into)
        };
        let [typed] = typical(&stream, [&mut typed])?;
        let streams = if several { "several streams" } else { "one stream" };
        println!(
            "{streams}: bare {bare:?}, prepared with addresses {raw_prepared:?} ({:.3}), with slices {typed:?} ({:.3})",
            raw_prepared.as_secs_f64() / bare.as_secs_f64(),
            typed.as_secs_f64() / bare.as_secs_f64()
        );
        if !several {
            let count = 1_000_000;
            let began = Instant::now();
            for _ in 0..count {
                black_box(device.prepare(black_box(&kernel))?);
            }
            println!("lookup: {:?}", began.elapsed() / count);
            let began = Instant::now();
            for _ in 0..1000 {
                black_box(kernel.operation(device.target())?.text());
            }
            println!("building the text: {:?}", began.elapsed() / 1000);
        }
    }
    Ok(())
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
