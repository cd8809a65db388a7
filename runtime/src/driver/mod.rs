//! The driver library: whether it is there, whether it is new enough, and what devices it shows.
//!
//! cudarc resolves each symbol at its first call and panics when the library or the symbol is missing. So
//! [`present`] looks first for every symbol that this crate and cudarc's safe layer reach; everything else in this
//! crate starts there. Symbols that only newer drivers have are asked for one by one ([`require`]), so that an older
//! driver loses a feature, not the device.
//!
//! Limits: a caller who uses cudarc beyond those symbols (unified memory, external memory, raw `sys` calls) asks for
//! them on their own.

pub(crate) mod info;
pub(crate) mod version;

use std::ffi::CStr;
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, DriverError, result};

use crate::error::Error;
use crate::fault;
use info::DeviceInfo;
use version::CudaVersion;

/// First release with `cuLaunchKernelEx`, the youngest of the symbols in [`REQUIRED`].
const OLDEST: CudaVersion = CudaVersion::new(11, 8);

/// What this crate and the parts of cudarc it hands out call without asking.
const REQUIRED: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphUpload",
    "cuInit",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuMemAllocAsync",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamIsCapturing",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// What is used where the driver has it, with the release that brought it.
const OPTIONAL: &[(&str, CudaVersion)] = &[
    ("cuEventElapsedTime_v2", CudaVersion::new(12, 8)),
    ("cuFuncGetName", CudaVersion::new(12, 3)),
    ("cuFuncGetParamInfo", CudaVersion::new(12, 4)),
    ("cuFuncLoad", CudaVersion::new(12, 4)),
    ("cuLinkAddData_v2", OLDEST),
    ("cuLinkComplete", OLDEST),
    ("cuLinkCreate_v2", OLDEST),
    ("cuLinkDestroy", OLDEST),
    ("cuModuleEnumerateFunctions", CudaVersion::new(12, 4)),
    ("cuModuleGetFunctionCount", CudaVersion::new(12, 4)),
];

/// Set once the library was found with every symbol of [`REQUIRED`]; from then on cudarc's calls cannot panic.
static COMPLETE: OnceLock<()> = OnceLock::new();

/// Checks that a usable driver is installed, without creating a context. A driver that sees no device counts as usable.
///
/// # Errors
/// [`Error::DriverAbsent`] without a loadable library or with the toolkit's stub of it, [`Error::DriverIncomplete`] for
/// a library that lacks a needed symbol, [`Error::DriverCall`] if the driver refuses to start.
pub fn present() -> Result<(), Error> {
    match init()? {
        Ok(()) | Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => Ok(()),
        Err(error) => Err(Error::driver("cuInit", error)),
    }
}

/// The CUDA release of the installed driver.
///
/// # Errors
/// As [`present`].
pub fn driver_version() -> Result<CudaVersion, Error> {
    present()?;
    version_number()
}

/// How many devices the driver shows; creates no context.
///
/// # Errors
/// As [`present`].
pub fn device_count() -> Result<usize, Error> {
    match init()? {
        Ok(()) => {}
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(0),
        Err(error) => return Err(Error::driver("cuInit", error)),
    }
    let count = result::device::get_count().map_err(|e| Error::driver("cuDeviceGetCount", e))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Starts the driver, if it is complete; what it answers is in the inner result.
fn init() -> Result<Result<(), DriverError>, Error> {
    if let Some(code) = fault::at(fault::Point::Init) {
        // A test asks for one of two failures.
        let code = match code {
            0 => CUresult::CUDA_ERROR_NO_DEVICE,
            _ => CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
        };
        return Ok(Err(DriverError(code)));
    }
    complete()?;
    Ok(result::init())
}

/// Name and limits of a device; creates no context.
///
/// # Errors
/// As [`present`], and [`Error::DeviceOrdinal`] for an ordinal that does not exist.
pub fn device_info(ordinal: usize) -> Result<DeviceInfo, Error> {
    let count = device_count()?;
    if ordinal >= count {
        return Err(Error::DeviceOrdinal { asked: ordinal, count });
    }
    // `ordinal` is below a count that the driver keeps in an int.
    let device = result::device::get(ordinal as i32).map_err(|e| Error::driver("cuDeviceGet", e))?;
    // SAFETY: `device` comes from `cuDeviceGet`.
    unsafe { DeviceInfo::read(device, ordinal, version_number()?) }
}

/// Checks that the driver has a symbol of [`OPTIONAL`].
pub(crate) fn require(symbol: &'static str) -> Result<(), Error> {
    complete()?;
    if has_symbol(symbol) {
        return Ok(());
    }
    let needs = OPTIONAL.iter().find(|(name, _)| *name == symbol).map_or(OLDEST, |&(_, needs)| needs);
    Err(Error::DriverIncomplete { missing: vec![symbol], needs, has: version_number().ok() })
}

/// Makes a context current on this thread. Unlike cudarc's own, it leaves errors stored by earlier drops where they
/// are, so that they are not blamed on the caller.
pub(crate) fn bind(context: &CudaContext) -> Result<(), Error> {
    let current = result::ctx::get_current().map_err(|e| Error::driver("cuCtxGetCurrent", e))?;
    if current != Some(context.cu_ctx()) {
        // SAFETY: the handle belongs to `context`, which is alive.
        unsafe { result::ctx::set_current(context.cu_ctx()) }
            .map_err(|e| Error::driver("cuCtxSetCurrent", e))?;
    }
    Ok(())
}

/// The driver's own sentence about an error code; empty where there is no driver to ask.
pub(crate) fn describe(code: CUresult) -> String {
    if COMPLETE.get().is_none() {
        return String::new();
    }
    let error = DriverError(code);
    error.error_string().map(CStr::to_string_lossy).unwrap_or_default().into_owned()
}

/// Finds the library and looks for [`REQUIRED`] in it; what was found complete is not looked at again.
fn complete() -> Result<(), Error> {
    if COMPLETE.get().is_some() {
        return Ok(());
    }
    // SAFETY: loading the driver library runs its initializers, which have no requirements on the program.
    if !unsafe { sys::is_culib_present() } {
        return Err(absent());
    }
    let missing = missing_symbols(has_symbol);
    if !missing.is_empty() {
        let has = if missing.contains(&"cuDriverGetVersion") { None } else { version_number().ok() };
        return Err(Error::DriverIncomplete { missing, needs: OLDEST, has });
    }
    COMPLETE.get_or_init(|| ());
    Ok(())
}

fn missing_symbols(has: impl Fn(&str) -> bool) -> Vec<&'static str> {
    REQUIRED.iter().copied().filter(|name| !has(name)).collect()
}

/// Whether the library, known to be there, exports a symbol.
fn has_symbol(name: &str) -> bool {
    // SAFETY: the library was found, so that cudarc does not panic; the symbol is looked up, never called.
    unsafe { sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()).is_ok() }
}

/// `cuDriverGetVersion`, which works before `cuInit`. The library is known to export it.
pub(crate) fn version_number() -> Result<CudaVersion, Error> {
    let mut number = 0;
    // SAFETY: `number` is a valid place for one int.
    let code = unsafe { sys::cuDriverGetVersion(&raw mut number) };
    code.result().map_err(|e| Error::driver("cuDriverGetVersion", e))?;
    Ok(CudaVersion::from_driver_number(number))
}

/// The error for a library that cannot be loaded, with the loader's reason.
fn absent() -> Error {
    let library = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
    // SAFETY: as in `complete`; the load has just failed, so that nothing runs unless the library appeared meanwhile.
    let detail = match unsafe { libloading::Library::new(library) } {
        Ok(_) => format!("{library} can be loaded only under that name"),
        // The loader's own sentence is the source of libloading's error.
        Err(error) => {
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
        }
    };
    Error::DriverAbsent { library, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_driver_or_gets_a_helpful_error() {
        match present() {
            Ok(()) => assert!(driver_version().expect("a present driver has a version") >= OLDEST),
            Err(error) => {
                let text = error.to_string();
                assert!(matches!(
                    error,
                    Error::DriverAbsent { .. } | Error::DriverIncomplete { .. } | Error::DriverCall { .. }
                ));
                assert!(text.contains("driver"), "{text}");
                assert!(device_count().is_err() && device_info(0).is_err() && driver_version().is_err());
                assert!(require("cuFuncLoad").is_err());
            }
        }
    }

    #[test]
    fn a_driver_that_does_not_start_is_an_error_and_one_without_devices_is_not() {
        fault::with(fault::Point::Init, 1, || {
            for error in [present().expect_err("it fails"), device_count().expect_err("it fails")] {
                assert!(
                    matches!(
                        error,
                        Error::DriverCall {
                            call: "cuInit",
                            code: CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                            ..
                        }
                    ),
                    "{error}"
                );
            }
            assert!(crate::Device::cuda(0).is_err());
        });
        fault::with(fault::Point::Init, 0, || {
            assert!(present().is_ok());
            assert!(matches!(device_count(), Ok(0)));
            let error = crate::Device::cuda(0).expect_err("there is no device");
            assert!(matches!(error, Error::DeviceOrdinal { asked: 0, count: 0 }), "{error}");
        });
    }

    #[test]
    fn every_missing_symbol_is_found() {
        assert_eq!(missing_symbols(|_| true), Vec::<&str>::new());
        assert_eq!(missing_symbols(|name| name != "cuLaunchKernelEx"), ["cuLaunchKernelEx"]);
        assert_eq!(missing_symbols(|_| false), REQUIRED);
    }

    #[test]
    fn every_raw_call_of_this_crate_is_looked_for_first() {
        let sources = [
            include_str!("mod.rs"),
            include_str!("info.rs"),
            include_str!("../compile.rs"),
            include_str!("../cuda.rs"),
            include_str!("../function.rs"),
            include_str!("../launch.rs"),
            include_str!("../module.rs"),
        ];
        let known =
            |name: &str| REQUIRED.contains(&name) || OPTIONAL.iter().any(|(symbol, _)| *symbol == name);
        let mut calls = 0;
        for source in sources {
            for rest in source.split("sys::cu").skip(1) {
                let tail: String =
                    rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                let name = format!("cu{tail}");
                if name.chars().nth(2).is_some_and(char::is_uppercase) {
                    assert!(known(&name), "{name} is called but not looked for");
                    calls += 1;
                }
            }
        }
        assert!(calls >= 10, "found only {calls} calls");
        assert!(!known("cuMemAllocManaged"));
    }
}
