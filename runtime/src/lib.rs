//! Prepares, caches and launches ptxsmith kernels with typed arguments, on CUDA devices and in the emulator.
//!
//! Built on cudarc's context, stream, event and slice types, which a program that has them hands in and gets back. Neither
//! a driver nor a toolkit is needed to build this crate or to start a program that links it.
//!
//! * [`Device`] is a CUDA device or the emulator. [`Device::prepare`] makes a [`Prepared`] kernel of a kernel value, from
//!   the cache or by compiling it; tools that do not know the kernel's type use [`Device::prepare_any`].
//! * [`Prepared::launch`] checks arguments and sizes against what the kernel promises and puts it on a stream;
//!   [`Prepared::run`] does so on either kind of device, waits, and tells what the emulator found.
//! * [`LaunchPlan`] and [`Device::seal`] move every compilation to the start of a program; [`GraphBuffers`] and [`Graph`]
//!   record launches and replay them.
//! * [`verify`] compares kernels with their float64 references before a program relies on them; [`Profiler`] measures the
//!   device time of launches.
//! * Below that, [`CudaDevice`], [`LoadedModule`], [`Function`] and [`Launch`] take any PTX text or cubin.
//!
//! Invariants:
//! - No function here panics on a machine without a driver, with an old one, or after a failed kernel: each returns an
//!   [`Error`] with the value and the limit.
//! - A [`Function`] keeps its module and context alive, and every kernel starts in one place of [`Launch`].
//! - A launch neither allocates nor locks nor compiles, unless it fails.
//! - No lock is held while a kernel is generated, compiled or launched.
//!
//! Limits: one process sees one driver library; a library replaced while the process runs is not noticed. An error
//! code newer than the bindings cannot be named (cudarc declares the codes of one CUDA version). In a context with several
//! streams cudarc records an event for each buffer of each launch, which costs more than the launch's own checks.
//!
//! ```no_run
//! use ptxsmith_builder::kernel::Kernel;
//! use ptxsmith_runtime::cudarc::driver::CudaStream;
//! use ptxsmith_runtime::{BufferArg, Device, Error};
//!
//! fn launch_twice<'a, K: Kernel>(
//!     device: &Device,
//!     stream: &'a CudaStream,
//!     kernel: &K,
//!     args: impl Fn() -> K::Args<BufferArg<'a>>,
//!     shape: K::Shape,
//! ) -> Result<(), Error> {
//!     let prepared = device.prepare(kernel)?;
//!     prepared.launch(stream, args(), shape)?;
//!     prepared.launch(stream, args(), shape)
//! }
//! ```
#![allow(
    unsafe_code,
    reason = "this crate is where the workspace calls the driver; every block says why it is sound"
)]

mod argument;
mod argument_error;
mod arguments;
mod buffer;
mod cache;
mod compile;
mod cuda;
mod device;
mod driver;
mod emulated;
mod error;
mod expression;
mod fault;
mod function;
mod graph;
mod image;
mod journal;
mod launch;
mod limits;
mod lines;
mod module;
mod parity;
mod plan;
mod prepared;
mod profile;
#[cfg(test)]
#[path = "../tests/support/scale.rs"]
mod scale;
mod signature;

pub use argument::{BufferArg, Element};
pub use argument_error::ArgumentError;
pub use arguments::Arguments;
pub use buffer::Buffer;
pub use cache::disk::DiskOptions;
pub use cache::{CacheOptions, CacheStats, Mode};
pub use cuda::{CudaDevice, Timer};
pub use cudarc;
pub use device::{Device, DeviceOptions};
pub use driver::info::DeviceInfo;
pub use driver::version::CudaVersion;
pub use driver::{device_count, device_info, driver_version, present};
pub use emulated::{EmulatorOptions, Outcome};
pub use error::{Error, LoadFailure};
pub use function::{Function, FunctionAttributes, Parameter};
pub use graph::{Graph, GraphArg, GraphBuffers, RecordError, Recording, Slot};
pub use half;
pub use image::{Image, PtxHeader};
pub use launch::Launch;
pub use limits::LaunchConfig;
pub use module::{LoadOptions, LoadedModule};
pub use parity::{Failure, KernelReport, ParityOptions, Path, Pattern, Problem, Report, Verdict, verify};
pub use plan::{LaunchPlan, PlanErrors, Progress};
pub use prepared::{Arg, Prepared, PreparedAny};
pub use profile::{KernelTime, Profile, Profiler, copy_ceiling};
