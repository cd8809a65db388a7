//! Proves the driver layer on a real device: launches that must give the right numbers, and mistakes that must give the
//! right error. Exits with a failure if anything is not as it should be, and without a device.
//!
//! Arguments: `--keep-context` leaves out the kernel that faults, which a sanitizer would report; `--print-text` prints
//! the text of the addition and does nothing else; `--cubin FILE` and `--foreign FILE` name that text assembled for this
//! device and for an older architecture.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]
#![expect(unsafe_code, reason = "launches hand-written kernels; each block says why it is sound")]

use std::error::Error as StdError;
use std::ffi::c_void;
use std::process::ExitCode;
use std::time::Instant;

use ptxsmith_runtime::cudarc::driver::{CudaSlice, DevicePtr, sys};
use ptxsmith_runtime::{
    Arguments, CudaDevice, Error, Image, Launch, LaunchConfig, LoadOptions, Timer, device_count,
    driver_version,
};

type Check = Result<(), Box<dyn StdError>>;
type Part = Box<dyn Fn(&CudaDevice) -> Check>;

/// `c[i] = a[i] + b[i]` for `i < n`.
const ADD: &str = "// an addition
.version 7.8
.target sm_90
.address_size 64
.visible .entry add(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn)
{
  .reg .u64 %a, %b, %c, %o; .reg .u32 %i, %n, %t, %d; .reg .f32 %x, %y; .reg .pred %p;
  ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb]; ld.param.u64 %c, [pc]; ld.param.u32 %n, [pn];
  mov.u32 %i, %ctaid.x; mov.u32 %d, %ntid.x; mov.u32 %t, %tid.x;
  mad.lo.u32 %i, %i, %d, %t;
  setp.ge.u32 %p, %i, %n;
  @%p bra DONE;
  mul.wide.u32 %o, %i, 4;
  add.u64 %a, %a, %o; add.u64 %b, %b, %o; add.u64 %c, %c, %o;
  ld.global.f32 %x, [%a]; ld.global.f32 %y, [%b];
  add.rn.f32 %x, %x, %y;
  st.global.f32 [%c], %x;
DONE:
  ret;
}
";

/// Each block writes its rank in its cluster; waits for its predecessor on the stream first.
const RANK: &str = ".version 7.8
.target sm_90
.address_size 64
.visible .entry rank(.param .u64 out)
{
  .reg .u64 %o, %a; .reg .u32 %r, %b;
  ld.param.u64 %o, [out];
  mov.u32 %b, %ctaid.x; mov.u32 %r, %cluster_ctarank;
  mul.wide.u32 %a, %b, 4; add.u64 %o, %o, %a;
  griddepcontrol.wait;
  st.global.u32 [%o], %r;
  ret;
}
";

/// Writes the last word of its dynamic shared memory and reads it back into the output.
const SHARED: &str = ".version 7.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry shared(.param .u64 out, .param .u32 last)
{
  .reg .u64 %o; .reg .u32 %l, %s, %v;
  ld.param.u64 %o, [out]; ld.param.u32 %l, [last];
  mov.u32 %s, room; add.u32 %s, %s, %l;
  st.shared.u32 [%s], 4711; ld.shared.u32 %v, [%s];
  st.global.u32 [%o], %v;
  ret;
}
";

/// Writes to an address that nothing was allocated at.
const WILD: &str = ".version 7.8
.target sm_90
.address_size 64
.visible .entry wild()
{
  .reg .u64 %a;
  mov.u64 %a, 64;
  st.global.u32 [%a], 1;
  ret;
}
";

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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str| arguments.iter().any(|argument| argument == name);
    let file = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1))
    };
    if given("--print-text") {
        print!("{ADD}");
        return Ok(());
    }
    println!("driver for CUDA {}, {} device(s)", driver_version()?, device_count()?);
    let device = CudaDevice::open(0)?;
    let (free, total) = device.memory()?;
    println!(
        "{:#?}\ntargets {:?}, PTX up to {}",
        device.info(),
        device.info().targets(),
        device.info().max_ptx()
    );
    println!("{free} of {total} bytes free");
    let mut parts: Vec<(&str, Part)> = vec![
        ("additions", Box::new(additions)),
        ("clusters", Box::new(clusters)),
        ("shared memory", Box::new(shared_memory)),
        ("buffers", Box::new(buffers)),
        ("mistakes in texts", Box::new(mistakes_in_texts)),
        ("mistakes in launches", Box::new(mistakes_in_launches)),
        ("host time", Box::new(host_time)),
    ];
    if let Some(path) = file("--cubin") {
        let cubin = std::fs::read(path)?;
        parts.push(("cubin", Box::new(move |device| cubin_adds(device, &cubin))));
    }
    if let Some(path) = file("--foreign") {
        let cubin = std::fs::read(path)?;
        parts.push((
            "foreign cubin",
            Box::new(move |device| {
                let loaded = device.load(Image::Cubin(&cubin), &LoadOptions::named("foreign"));
                refused("a cubin for another architecture", loaded, |e| {
                    matches!(e, Error::WrongArchitecture { .. })
                })
            }),
        ));
    }
    // The last part, since nothing works after it.
    if !given("--keep-context") {
        parts.push(("lost context", Box::new(lost_context)));
    }
    let mut failures = 0;
    for (name, part) in &parts {
        println!("\n== {name}");
        if let Err(error) = part(&device) {
            println!("FAILED: {error}");
            failures += 1;
        }
    }
    match failures {
        0 => println!("\nall {} parts as they should be", parts.len()),
        _ => return Err(format!("{failures} of {} parts", parts.len()).into()),
    }
    Ok(())
}

fn expect(what: &str, holds: bool) -> Check {
    if holds { Ok(()) } else { Err(format!("not as it should be: {what}").into()) }
}

/// Prints an error that has to come, and checks its variant.
fn refused<T>(what: &str, result: Result<T, Error>, variant: fn(&Error) -> bool) -> Check {
    match result {
        Ok(_) => Err(format!("{what} was accepted").into()),
        Err(error) => {
            println!("{what}:\n    {}", error.to_string().replace('\n', "\n    "));
            expect(what, variant(&error))
        }
    }
}

fn prepare(device: &CudaDevice, text: &str, entry: &str, config: LaunchConfig) -> Result<Launch, Error> {
    let module = device.load(Image::Ptx(text), &LoadOptions::named(entry))?;
    Launch::prepare(&module.function(entry)?, config)
}

fn address(device: &CudaDevice, buffer: &CudaSlice<u8>) -> u64 {
    buffer.device_ptr(device.stream()).0
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

/// Adds on this thread and on eight more, each with its stream, all with one prepared launch.
fn additions(device: &CudaDevice) -> Check {
    let start = Instant::now();
    let module = device.load(Image::Ptx(ADD), &LoadOptions::named("vector add"))?;
    println!("loaded in {:.1} ms; log: {}", start.elapsed().as_secs_f64() * 1e3, module.info_log());
    let function = module.function("add")?;
    println!("{function:?}\nparameters {:?}", function.parameters());
    let sizes: Option<Vec<usize>> = function.parameters().map(|all| all.iter().map(|p| p.size).collect());
    expect("the sizes of the parameters", sizes == Some(vec![8, 8, 8, 4]))?;
    let launch = Launch::prepare(&function, LaunchConfig::block_x(256))?;
    drop((module, function));
    add_once(device, &launch, 100_000)?;
    std::thread::scope(|scope| -> Check {
        let spawn = |index: usize| {
            let launch = launch.clone();
            scope.spawn(move || -> Result<(), String> {
                let stream = device.context().new_stream().map_err(|e| e.to_string())?;
                let own = CudaDevice::adopt(stream).map_err(|e| e.to_string())?;
                (0..20).try_for_each(|round| {
                    add_once(&own, &launch, 1000 * index + round + 1).map_err(|e| e.to_string())
                })
            })
        };
        let threads: Vec<_> = (0..8).map(spawn).collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })?;
    println!("additions agree, on 9 threads");
    Ok(())
}

fn add_once(device: &CudaDevice, launch: &Launch, n: usize) -> Check {
    let bytes = |f: fn(usize) -> f32| -> Vec<u8> { (0..n).flat_map(|i| f(i).to_le_bytes()).collect() };
    let a = device.upload(&bytes(|i| i as f32))?;
    let b = device.upload(&bytes(|i| 0.5 * i as f32))?;
    let c = device.alloc(4 * n)?;
    let mut arguments = Arguments::new();
    for buffer in [&a, &b, &c] {
        arguments.pointer(address(device, buffer))?;
    }
    arguments.u32(n as u32)?;
    let grid = [n.div_ceil(256) as u32, 1, 1];
    // SAFETY: the three buffers hold `n` f32 each, belong to this stream and live until the download has waited.
    unsafe { launch.enqueue(device.stream(), grid, &arguments)? };
    let got = words(&device.download(&c)?);
    expect("a sum", got.iter().enumerate().all(|(i, &bits)| f32::from_bits(bits) == 1.5 * i as f32))
}

/// Loads machine code, which the driver need not compile, and cut-off copies of it.
fn cubin_adds(device: &CudaDevice, cubin: &[u8]) -> Check {
    let start = Instant::now();
    let module = device.load(Image::Cubin(cubin), &LoadOptions::named("vector add"))?;
    println!("{} bytes loaded in {:.3} ms", cubin.len(), start.elapsed().as_secs_f64() * 1e3);
    let launch = Launch::prepare(&module.function("add")?, LaunchConfig::block_x(256))?;
    add_once(device, &launch, 12345)?;
    for len in [0, 63, 64, cubin.len() / 2, cubin.len() - 1] {
        let cut = device.load(Image::Cubin(&cubin[..len]), &LoadOptions::named("cut off"));
        refused(&format!("{len} bytes of it"), cut, |e| matches!(e, Error::MalformedImage { .. }))?;
    }
    Ok(())
}

fn clusters(device: &CudaDevice) -> Check {
    for (size, programmatic) in [(1, false), (2, false), (8, true), (16, true)] {
        let config = LaunchConfig { cluster: Some([size, 1, 1]), programmatic, ..LaunchConfig::block_x(32) };
        let launch = prepare(device, RANK, "rank", config)?;
        let out = device.alloc(4 * 64)?;
        let mut arguments = Arguments::new();
        arguments.pointer(address(device, &out))?;
        // SAFETY: the buffer has a word for each of the 64 blocks and lives until the download has waited; a second
        // launch writes the same values.
        unsafe {
            launch.enqueue(device.stream(), [64, 1, 1], &arguments)?;
            launch.enqueue(device.stream(), [64, 1, 1], &arguments)?;
        }
        let got = words(&device.download(&out)?);
        expect("a rank", got.iter().enumerate().all(|(block, &rank)| rank == block as u32 % size))?;
        // SAFETY: refused before anything runs.
        let odd = unsafe { launch.enqueue(device.stream(), [63, 1, 1], &arguments) };
        if size > 1 {
            refused("a grid of 63 blocks", odd, |e| matches!(e, Error::Geometry { .. }))?;
        } else {
            odd?;
        }
    }
    println!("clusters of 1 to 16 and programmatic launches agree");
    Ok(())
}

fn shared_memory(device: &CudaDevice) -> Check {
    for bytes in [4, 48 * 1024, 48 * 1024 + 4, device.info().shared_per_block_optin] {
        let config = LaunchConfig { shared_bytes: bytes, ..LaunchConfig::block_x(1) };
        let launch = prepare(device, SHARED, "shared", config)?;
        let out = device.alloc(4)?;
        let mut arguments = Arguments::new();
        arguments.pointer(address(device, &out))?.u32(bytes - 4)?;
        // SAFETY: one word of the buffer and the last word of the shared memory are used.
        unsafe { launch.enqueue(device.stream(), [1, 1, 1], &arguments)? };
        expect("a word of shared memory", words(&device.download(&out)?) == [4711])?;
    }
    println!("dynamic shared memory up to {} bytes works", device.info().shared_per_block_optin);
    Ok(())
}

fn buffers(device: &CudaDevice) -> Check {
    expect("an empty buffer", device.download(&device.upload(&[])?)?.is_empty())?;
    let mut buffer = device.alloc(1000)?;
    expect("zeroed memory", device.download(&buffer)? == [0; 1000])?;
    device.fill(&mut buffer, 0xa5)?;
    expect("filled memory", device.download(&buffer)? == [0xa5; 1000])?;
    refused("a copy of 3 bytes", device.write(&[1, 2, 3], &mut buffer), |e| {
        matches!(e, Error::BufferSize { .. })
    })?;
    refused("a buffer of 1 PiB", device.alloc(1 << 50), |e| {
        matches!(e, Error::OutOfMemory { bytes: Some(_), free_total: Some(_), .. })
    })?;
    let timer = Timer::new(device.stream())?;
    let mut large = device.alloc(1 << 30)?;
    timer.start()?;
    device.fill(&mut large, 1)?;
    timer.stop()?;
    let milliseconds = timer.milliseconds()?;
    println!("1 GiB filled in {milliseconds:.3} ms");
    expect("a time", milliseconds > 0.05 && milliseconds < 50.0)
}

fn mistakes_in_texts(device: &CudaDevice) -> Check {
    let folder = std::env::temp_dir();
    let load = |text: &str| {
        device.load(Image::Ptx(text), &LoadOptions { kernel: "faulty", dump_dir: Some(&folder) })
    };
    refused(
        "an unknown instruction",
        load(&ADD.replace("add.rn.f32", "addd.rn.f32")),
        |e| matches!(e, Error::LoadFailed(f) if f.error_log.contains("line 16") && f.text_path.is_some()),
    )?;
    let newer = ADD.replace(".version 7.8", ".version 9.1");
    if device.info().max_ptx().to_string() == "9.0" {
        refused("`.version 9.1`", load(&newer), |e| matches!(e, Error::DriverTooOld { .. }))?;
    }
    refused("`.version 99.0`", load(&ADD.replace(".version 7.8", ".version 99.0")), |e| {
        matches!(e, Error::DriverTooOld { .. })
    })?;
    let other = ADD
        .replace("7.8", "8.6")
        .replace("sm_90", if device.info().sm() == "sm_100" { "sm_90a" } else { "sm_100a" });
    refused("another target", load(&other), |e| matches!(e, Error::WrongArchitecture { .. }))?;
    refused("a target that does not exist", load(&ADD.replace("sm_90", "sm_90q")), |e| {
        matches!(e, Error::MalformedImage { .. })
    })?;
    refused("a NUL", load(&ADD.replace("DONE", "DO\0NE")), |e| matches!(e, Error::MalformedImage { .. }))?;
    let cubin = device.load(Image::Cubin(b"\x7fELF"), &LoadOptions::named("cut off"));
    refused("a cut-off cubin", cubin, |e| matches!(e, Error::MalformedImage { .. }))?;
    refused(
        "an unknown entry",
        load(ADD)?.function("sub"),
        |e| matches!(e, Error::UnknownEntry { available, .. } if available == &["add"]),
    )
}

fn mistakes_in_launches(device: &CudaDevice) -> Check {
    let module = device.load(Image::Ptx(ADD), &LoadOptions::named("vector add"))?;
    let function = module.function("add")?;
    let too_many = Launch::prepare(&function, LaunchConfig::block_x(1025));
    refused("1025 threads", too_many, |e| matches!(e, Error::Limit { value: 1025, limit: 1024, .. }))?;
    let shared_bytes = device.info().shared_per_block_optin + 1;
    let too_much = Launch::prepare(&function, LaunchConfig { shared_bytes, ..LaunchConfig::block_x(32) });
    refused("too much shared memory", too_much, |e| matches!(e, Error::Limit { .. }))?;

    let launch = Launch::prepare(&function, LaunchConfig::block_x(32))?;
    let mut arguments = Arguments::new();
    let enqueue = |grid, arguments: &Arguments| {
        // SAFETY: each of these launches is refused, has no block, or adds 0 elements.
        unsafe { launch.enqueue(device.stream(), grid, arguments) }
    };
    refused("no argument", enqueue([1, 1, 1], &arguments), |e| {
        matches!(e, Error::ArgumentCount { given: 0, takes: 4, .. })
    })?;
    arguments.pointer(0)?.pointer(0)?.pointer(0)?.u64(0)?;
    refused("a long last argument", enqueue([1, 1, 1], &arguments), |e| {
        matches!(e, Error::ArgumentSize { index: 3, given: 8, takes: 4, .. })
    })?;
    arguments.clear();
    arguments.pointer(0)?.pointer(0)?.pointer(0)?.u32(0)?;
    enqueue([0, 1, 1], &arguments)?;
    enqueue([1, 1, 1], &arguments)?;
    refused("2^31 blocks", enqueue([1 << 31, 1, 1], &arguments), |e| matches!(e, Error::Limit { .. }))?;
    device.synchronize()?;
    let open = CudaDevice::open(device_count()?);
    refused("a device past the last", open, |e| matches!(e, Error::DeviceOrdinal { .. }))
}

/// Host time of a launch beside that of a bare `cuLaunchKernel`, in rounds that leave the queue room.
fn host_time(device: &CudaDevice) -> Check {
    let launch = prepare(device, ADD, "add", LaunchConfig::block_x(32))?;
    let mut values = [0u64, 0, 0, 0];
    let mut pointers = values.each_mut().map(|value| std::ptr::from_mut(value).cast::<c_void>());
    let (function, stream) = (launch.function().raw(), device.stream().cu_stream());
    let mut bare = || -> Result<(), Error> {
        // SAFETY: function and stream are alive; the arguments are as many and as long as the entry takes; it adds
        // nothing.
        let code = unsafe {
            sys::cuLaunchKernel(
                function,
                1,
                1,
                1,
                32,
                1,
                1,
                0,
                stream,
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        code.result().map_err(|e| Error::driver("cuLaunchKernel", e))
    };
    let ours = || -> Result<(), Error> {
        let mut arguments = Arguments::new();
        arguments.pointer(0)?.pointer(0)?.pointer(0)?.u32(0)?;
        // SAFETY: it adds nothing.
        unsafe { launch.enqueue(device.stream(), [1, 1, 1], &arguments) }
    };
    let (mut fastest_bare, mut fastest_ours) = (f64::MAX, f64::MAX);
    for _ in 0..200 {
        fastest_bare = fastest_bare.min(nanoseconds(device, &mut bare)?);
        fastest_ours = fastest_ours.min(nanoseconds(device, &mut || ours())?);
    }
    println!("host time of a launch: bare {fastest_bare:.0} ns, prepared {fastest_ours:.0} ns");
    Ok(())
}

/// Mean host time of one of 100 calls after the stream has run dry.
fn nanoseconds(device: &CudaDevice, call: &mut dyn FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    device.synchronize()?;
    let start = Instant::now();
    for _ in 0..100 {
        call()?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e9 / 100.0)
}

/// A kernel that faults: reported as such, again and again, and everything is dropped without a panic.
fn lost_context(device: &CudaDevice) -> Check {
    let launch = prepare(device, WILD, "wild", LaunchConfig::block_x(1))?;
    let buffer = device.alloc(16)?;
    // SAFETY: the fault is the point; it ends this context, which nothing but this example uses.
    unsafe { launch.enqueue(device.stream(), [1, 1, 1], &Arguments::new())? };
    refused("a wild write", device.synchronize(), |e| matches!(e, Error::Sticky { .. }))?;
    refused("a download after it", device.download(&buffer), |e| matches!(e, Error::Sticky { .. }))?;
    // SAFETY: as above; the driver refuses it.
    let again = unsafe { launch.enqueue(device.stream(), [1, 1, 1], &Arguments::new()) };
    refused("a launch after it", again, |e| matches!(e, Error::Sticky { .. }))?;
    let load = device.load(Image::Ptx(ADD), &LoadOptions::named("vector add"));
    refused("a load after it", load, |e| matches!(e, Error::Sticky { .. }))?;
    drop((buffer, launch));
    println!("dropped after the fault");
    Ok(())
}
