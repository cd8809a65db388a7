//! Everything that can go wrong between a kernel's text and its launch, as one type.
//!
//! Each variant carries the value and the limit. Driver codes keep their CUDA name, so that they can be looked up.

use std::path::PathBuf;

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use ptxsmith_builder::emu;
use ptxsmith_builder::ir::Place;
use ptxsmith_builder::kernel::KernelError;
use ptxsmith_builder::target::PtxVersion;

use crate::argument_error::ArgumentError;
use crate::driver;
use crate::driver::version::CudaVersion;

/// A failure of the runtime.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver library cannot be loaded.
    #[error(
        "no CUDA driver on this machine: {detail}; install the NVIDIA display driver, which brings {library} \
         (a container needs it passed in, for example with `--gpus all`); the CUDA toolkit is not needed"
    )]
    DriverAbsent {
        /// File name of the library that is looked for.
        library: &'static str,
        /// What the loader said.
        detail: String,
    },
    /// The driver library lacks functions that are needed.
    #[error(
        "the CUDA driver lacks {}: it is {}, needed is {}", .missing.join(", "),
        .has.map_or("broken".to_owned(), |has| format!("for CUDA {has}")), .needs.driver_hint()
    )]
    DriverIncomplete {
        /// The functions that are not there.
        missing: Vec<&'static str>,
        /// First release that has them all.
        needs: CudaVersion,
        /// Release of the driver, if it can be asked.
        has: Option<CudaVersion>,
    },
    /// A driver call failed for a reason that no other variant names.
    #[error("{call} failed: {code:?}{}", after_colon(.description))]
    DriverCall {
        /// Name of the driver function.
        call: &'static str,
        /// What it returned.
        code: CUresult,
        /// The driver's sentence about the code.
        description: String,
    },
    /// No device has this ordinal.
    #[error("no CUDA device {asked}: {}", devices(*.count))]
    DeviceOrdinal {
        /// Ordinal asked for.
        asked: usize,
        /// Number of devices.
        count: usize,
    },
    /// The kernel cannot be built for the device's target.
    #[error(transparent)]
    Kernel(Box<KernelError>),
    /// The emulator refuses a launch.
    #[error(transparent)]
    Emulator(#[from] emu::Error),
    /// A kernel is neither in memory nor on disk, and the cache may not compile.
    #[error("{kernel} is in no cache, and compiling is off")]
    CacheMiss {
        /// Name of the kernel.
        kernel: String,
    },
    /// A kernel is asked for that was not prepared before the device was sealed.
    #[error("{kernel} was not prepared before the device was sealed; add it to the launch plan")]
    Sealed {
        /// Name of the kernel.
        kernel: String,
    },
    /// A kernel is asked for while a stream captures, and was not prepared before.
    #[error("{kernel} was not prepared before the capture began; compiling would break it")]
    MissInCapture {
        /// Name of the kernel.
        kernel: String,
    },
    /// What a kernel says about itself contradicts itself: a mistake of the kernel's author.
    #[error("{kernel} cannot be prepared: {reason}")]
    MalformedKernel {
        /// Name of the kernel.
        kernel: String,
        /// What does not fit together.
        reason: String,
    },
    /// An argument or a size of a launch does not fit the kernel.
    #[error("{kernel}: {error}")]
    Argument {
        /// Name of the kernel.
        kernel: String,
        /// What is wrong.
        error: ArgumentError,
    },
    /// The text needs a newer PTX version than the driver takes.
    #[error(
        "{kernel} needs PTX {needs}, the driver takes up to {has} (CUDA {driver}); it needs {}",
        CudaVersion::for_ptx(*.needs).driver_hint()
    )]
    DriverTooOld {
        /// Name of the kernel.
        kernel: String,
        /// `.version` of the text.
        needs: PtxVersion,
        /// Highest version that the driver takes.
        has: PtxVersion,
        /// Release of the driver.
        driver: CudaVersion,
    },
    /// The image is for another architecture.
    #[error("{kernel} is for {target}, the device is {device}")]
    WrongArchitecture {
        /// Name of the kernel.
        kernel: String,
        /// Target of the text, or `another architecture` for a cubin.
        target: String,
        /// Architecture of the device.
        device: String,
    },
    /// The image is not PTX text or not a whole cubin; no driver call was made.
    #[error("{kernel} cannot be loaded: {reason}")]
    MalformedImage {
        /// Name of the kernel.
        kernel: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The driver refused the image.
    #[error(transparent)]
    LoadFailed(Box<LoadFailure>),
    /// The driver is installed without its PTX compiler.
    #[error(
        "{kernel} cannot be compiled: the driver's PTX compiler is absent or disabled ({code:?}); \
         install the whole driver (on Linux libnvidia-ptxjitcompiler.so.1) or load a cubin"
    )]
    JitUnavailable {
        /// Name of the kernel.
        kernel: String,
        /// What the driver returned.
        code: CUresult,
    },
    /// The module has no such entry.
    #[error("{kernel} has no entry `{entry}`{}", listed(.available))]
    UnknownEntry {
        /// Name of the kernel.
        kernel: String,
        /// Name asked for.
        entry: String,
        /// Entries of the module, as far as the driver can list them.
        available: Vec<String>,
    },
    /// A launch asks for more than the device or the function allows.
    #[error("{kernel}: {what} is {value}, the limit is {limit}")]
    Limit {
        /// Name of the kernel.
        kernel: String,
        /// What is limited, with its unit.
        what: &'static str,
        /// Value asked for.
        value: u64,
        /// Largest value allowed.
        limit: u64,
    },
    /// A launch asks for a shape that no device allows.
    #[error("{kernel}: {what} is {value:?}, it must be {rule}")]
    Geometry {
        /// Name of the kernel.
        kernel: String,
        /// Block, grid or cluster.
        what: &'static str,
        /// Shape asked for, in x, y and z.
        value: [u32; 3],
        /// The rule it breaks.
        rule: String,
    },
    /// The device lacks a feature that the launch asks for.
    #[error("{kernel}: {what} needs {needs}, the device is {device}")]
    Unsupported {
        /// Name of the kernel.
        kernel: String,
        /// The feature.
        what: &'static str,
        /// First architecture that has it.
        needs: &'static str,
        /// Architecture of the device.
        device: String,
    },
    /// The number of arguments is not what the entry takes.
    #[error("{kernel}: {given} arguments given, the entry takes {takes}")]
    ArgumentCount {
        /// Name of the kernel.
        kernel: String,
        /// Arguments given.
        given: usize,
        /// Parameters of the entry.
        takes: usize,
    },
    /// An argument has another size than its parameter.
    #[error("{kernel}: argument {index} has {given} bytes, the entry takes {takes}")]
    ArgumentSize {
        /// Name of the kernel.
        kernel: String,
        /// Position, counted from 0.
        index: usize,
        /// Bytes given.
        given: usize,
        /// Bytes of the parameter.
        takes: usize,
    },
    /// The fixed storage for arguments is full.
    #[error("{what} of one launch is {value}, the limit is {limit}")]
    ArgumentSpace {
        /// Number or bytes.
        what: &'static str,
        /// Value after adding the argument.
        value: usize,
        /// Largest value.
        limit: usize,
    },
    /// An alignment that is not a power of two up to the limit.
    #[error("an argument cannot be aligned to {value} bytes: a power of two up to {limit} is needed")]
    ArgumentAlignment {
        /// Alignment asked for.
        value: usize,
        /// Largest alignment.
        limit: usize,
    },
    /// The stream or buffer belongs to another context than the function.
    #[error("{what} belongs to another CUDA context than {owner}")]
    WrongContext {
        /// What was handed in.
        what: &'static str,
        /// What it was to be used with.
        owner: String,
    },
    /// A host slice does not fit a device buffer.
    #[error("the host slice has {host} bytes, the device buffer {device}")]
    BufferSize {
        /// Bytes on the host.
        host: usize,
        /// Bytes on the device.
        device: usize,
    },
    /// The device has too little free memory.
    #[error("out of device memory in {call}{}{}", asked(*.bytes), memory(*.free_total))]
    OutOfMemory {
        /// Name of the driver function.
        call: &'static str,
        /// Bytes asked for, where they are known.
        bytes: Option<usize>,
        /// Free and total bytes after the failure, if the device could be asked.
        free_total: Option<(usize, usize)>,
    },
    /// A kernel that ran earlier failed; the context can run nothing more, the process has to start anew.
    #[error(
        "{call} reports that an earlier kernel failed: {code:?}{}; the context is lost{}", after_colon(.description),
        since(.launched)
    )]
    Sticky {
        /// Name of the driver function that reported it.
        call: &'static str,
        /// What it returned.
        code: CUresult,
        /// The driver's sentence about the code.
        description: String,
        /// Kernels launched through this crate since their streams were last waited for, up to 64 launches back; one
        /// of them failed, unless another library's did. Empty where the call that reported it belongs to no context.
        launched: Vec<String>,
    },
}

/// A load that the driver refused, with all it said.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "{kernel} was refused by the driver: {code:?}{}{}{}{}", after_newline(.error_log), after_newline(.info_log),
    .place.map_or_else(String::new, |place| format!("\nthe line comes from {place}")),
    .text_path.as_ref().map_or_else(String::new, |path| format!("\nthe text is in {}", path.display()))
)]
pub struct LoadFailure {
    /// Name of the kernel.
    pub kernel: String,
    /// What the driver returned.
    pub code: CUresult,
    /// The compiler's errors, with line numbers of the text.
    pub error_log: String,
    /// The compiler's remarks.
    pub info_log: String,
    /// The author's place of the first line that the logs name, for a kernel of this workspace's builder.
    pub place: Option<Place>,
    /// Where the text was written to, if that was asked for and worked.
    pub text_path: Option<PathBuf>,
}

impl Error {
    /// Classifies a failed driver call.
    pub fn driver(call: &'static str, error: DriverError) -> Error {
        let code = error.0;
        match code {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory { call, bytes: None, free_total: None },
            CUresult::CUDA_ERROR_STUB_LIBRARY => Error::DriverAbsent {
                library: if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" },
                detail: "the library found is the toolkit's stub for linking".to_owned(),
            },
            _ if is_sticky(code) => {
                Error::Sticky { call, code, description: driver::describe(code), launched: Vec::new() }
            }
            _ => Error::DriverCall { call, code, description: driver::describe(code) },
        }
    }
}

/// Whether a code says that the context was lost to a kernel that ran before the call.
fn is_sticky(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTAINED
            | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_TENSOR_MEMORY_LEAK
    )
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn after_newline(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\n{text}") }
}

fn since(launched: &[String]) -> String {
    match launched {
        [] => String::new(),
        names => format!("; launched since the last check: {}", names.join(", ")),
    }
}

fn devices(count: usize) -> String {
    match count {
        0 => "the driver shows no device".to_owned(),
        1 => "there is 1 device, number 0".to_owned(),
        _ => format!("there are {count} devices, numbered from 0"),
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(", only {}", names.join(", ")) }
}

fn asked(bytes: Option<usize>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(": {bytes} bytes asked for"))
}

fn memory(free_total: Option<(usize, usize)>) -> String {
    free_total.map_or_else(String::new, |(free, total)| format!(", {free} of {total} bytes free"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_codes_become_the_variant_that_says_what_to_do() {
        let of = |code| Error::driver("cuTest", DriverError(code));
        assert!(matches!(of(CUresult::CUDA_ERROR_OUT_OF_MEMORY), Error::OutOfMemory { .. }));
        assert!(matches!(of(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), Error::Sticky { .. }));
        assert!(matches!(of(CUresult::CUDA_ERROR_STUB_LIBRARY), Error::DriverAbsent { .. }));
        let other = of(CUresult::CUDA_ERROR_INVALID_VALUE);
        assert!(matches!(other, Error::DriverCall { .. }));
        assert!(other.to_string().starts_with("cuTest failed: CUDA_ERROR_INVALID_VALUE"), "{other}");
    }

    #[test]
    fn messages_carry_value_and_limit() {
        let old = Error::DriverTooOld {
            kernel: "k".to_owned(),
            needs: PtxVersion::new(9, 1),
            has: PtxVersion::new(8, 7),
            driver: CudaVersion::new(12, 8),
        };
        assert_eq!(
            old.to_string(),
            "k needs PTX 9.1, the driver takes up to 8.7 (CUDA 12.8); it needs a driver for CUDA 13.1 or newer"
        );
        let none = Error::DeviceOrdinal { asked: 3, count: 0 };
        assert_eq!(none.to_string(), "no CUDA device 3: the driver shows no device");
        let broken =
            Error::DriverIncomplete { missing: vec!["cuInit"], needs: CudaVersion::new(11, 8), has: None };
        assert!(broken.to_string().contains("it is broken, needed is a driver for CUDA 11.8"), "{broken}");
        let memory = Error::OutOfMemory { call: "cuMemAlloc", bytes: Some(8), free_total: Some((4, 16)) };
        assert_eq!(
            memory.to_string(),
            "out of device memory in cuMemAlloc: 8 bytes asked for, 4 of 16 bytes free"
        );
    }

    #[test]
    fn a_refused_load_shows_both_logs_and_the_file() {
        let failure = LoadFailure {
            kernel: "k".to_owned(),
            code: CUresult::CUDA_ERROR_INVALID_PTX,
            error_log: "line 3; error".to_owned(),
            info_log: "registers".to_owned(),
            place: Some(Place { file: "k.rs", line: 7, column: 9 }),
            text_path: Some(PathBuf::from("k.ptx")),
        };
        let text = Error::LoadFailed(Box::new(failure)).to_string();
        assert_eq!(
            text,
            "k was refused by the driver: CUDA_ERROR_INVALID_PTX\nline 3; error\nregisters\n\
             the line comes from k.rs:7:9\nthe text is in k.ptx"
        );
    }
}
