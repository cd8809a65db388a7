//! Opens CUDA devices, loads PTX text or cubins with both JIT logs, and launches kernels with checked geometry.
//!
//! Built on cudarc's context, stream, event and slice types. This crate adds what cudarc lacks: asking for the driver
//! before anything can panic, module loading with log buffers, and launches with clusters and programmatic dependent
//! launch. Neither a driver nor a toolkit is needed to build this crate or to start a program that links it.
//!
//! Invariants:
//! - No function here panics on a machine without a driver, with an old one, or after a failed kernel: each returns an
//!   [`Error`] with the value and the limit.
//! - A [`Function`] keeps its module and context alive, and [`Launch::enqueue`] is the only place that starts a kernel.
//! - [`Launch::enqueue`] neither allocates nor locks nor compiles.
//!
//! Limits: one process sees one driver library; a library replaced while the process runs is not noticed. An error
//! code newer than the bindings cannot be named (cudarc declares the codes of one CUDA version).
//!
//! ```no_run
//! use ptxsmith_runtime::{Arguments, CudaDevice, Image, Launch, LaunchConfig, LoadOptions};
//!
//! # fn main() -> Result<(), ptxsmith_runtime::Error> {
//! # let (text, pointer) = ("", 0);
//! let device = CudaDevice::open(0)?;
//! let module = device.load(Image::Ptx(text), &LoadOptions::named("scale"))?;
//! let launch = Launch::prepare(&module.function("scale")?, LaunchConfig::block_x(256))?;
//! let mut arguments = Arguments::new();
//! arguments.pointer(pointer)?;
//! // SAFETY: `scale` takes one pointer to as many elements as the grid has threads.
//! unsafe { launch.enqueue(device.stream(), [4, 1, 1], &arguments)? };
//! device.synchronize()
//! # }
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
mod function;
mod graph;
mod image;
mod launch;
mod limits;
mod lines;
mod module;
mod plan;
mod prepared;
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
pub use plan::{LaunchPlan, PlanErrors, Progress};
pub use prepared::{Arg, Prepared, PreparedAny};
