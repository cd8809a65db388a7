//! Loading PTX text and cubins, with everything the driver's compiler has to say.
//!
//! A module holds its context, and each [`Function`] holds its module, so that handles cannot outlive what they name.
//! Dropping the last holder waits for the context's work and then unloads; if waiting fails (a lost context, a capture
//! in progress), the module stays loaded until its context goes, since a running kernel may need it. So the last holder
//! should not be dropped while a stream is captured.

use std::ffi::{CString, c_uint, c_void};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CUjit_option_enum as Jit, CUmodule, CUresult};

use crate::driver::info::DeviceInfo;
use crate::driver::{bind, require};
use crate::error::{Error, LoadFailure};
use crate::function::Function;
use crate::image::{Image, PtxHeader};
use crate::journal::Journal;

/// Room for each of the compiler's logs; it cuts off what is longer.
pub(crate) const LOG_BYTES: usize = 16 * 1024;

/// How an image is loaded.
#[derive(Debug, Clone, Copy)]
pub struct LoadOptions<'a> {
    /// Name of the kernel, for messages.
    pub kernel: &'a str,
    /// Folder that the text of a refused kernel is written to; it has to exist.
    pub dump_dir: Option<&'a Path>,
}

impl<'a> LoadOptions<'a> {
    /// A name for messages, and no file on failure.
    pub fn named(kernel: &'a str) -> LoadOptions<'a> {
        LoadOptions { kernel, dump_dir: None }
    }
}

/// Code on a device.
pub struct LoadedModule {
    raw: CUmodule,
    context: Arc<CudaContext>,
    device: Arc<DeviceInfo>,
    kernel: String,
    info_log: String,
    journal: Arc<Journal>,
    /// Its number in the journal.
    number: u64,
}

// SAFETY: a module handle is an opaque value that the driver lets every thread use while the context, kept alive by
// `context`, exists; each use makes that context current first.
unsafe impl Send for LoadedModule {}
// SAFETY: as above; no method changes the module.
unsafe impl Sync for LoadedModule {}

impl LoadedModule {
    pub(crate) fn load(
        context: &Arc<CudaContext>,
        device: &Arc<DeviceInfo>,
        image: Image<'_>,
        options: &LoadOptions<'_>,
    ) -> Result<Arc<LoadedModule>, Error> {
        image.check(options.kernel, device)?;
        let bytes = match image {
            Image::Cubin(bytes) => bytes.to_vec(),
            Image::Ptx(text) => CString::new(text)
                .map_err(|error| Error::MalformedImage {
                    kernel: options.kernel.to_owned(),
                    reason: format!("the text has a NUL at byte {}", error.nul_position()),
                })?
                .into_bytes_with_nul(),
        };
        bind(context)?;
        let (mut info, mut errors) = (vec![0u8; LOG_BYTES], vec![0u8; LOG_BYTES]);
        let mut keys = [
            Jit::CU_JIT_INFO_LOG_BUFFER,
            Jit::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            Jit::CU_JIT_ERROR_LOG_BUFFER,
            Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            Jit::CU_JIT_LOG_VERBOSE,
        ];
        // The driver takes numbers in place of pointers here.
        let mut values: [*mut c_void; 5] = [
            info.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(LOG_BYTES),
            errors.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(LOG_BYTES),
            std::ptr::without_provenance_mut(1),
        ];
        let mut raw = std::ptr::null_mut();
        // SAFETY: text ends with NUL and a cubin's tables lie within `bytes`; keys and values are as many as said; the
        // log buffers have the size given beside them and outlive the call, after which the driver forgets them.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut raw,
                bytes.as_ptr().cast(),
                keys.len() as c_uint,
                keys.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let info_log = log_text(&info);
        if code != CUresult::CUDA_SUCCESS {
            return Err(refused(code, image, options, device, log_text(&errors), info_log));
        }
        tracing::debug!(kernel = options.kernel, device = device.ordinal, log = %info_log, "loaded");
        let journal = Journal::of(context);
        let number = journal.number(options.kernel);
        Ok(Arc::new(LoadedModule {
            raw,
            context: Arc::clone(context),
            device: Arc::clone(device),
            kernel: options.kernel.to_owned(),
            info_log,
            journal,
            number,
        }))
    }

    /// Looks up an entry.
    ///
    /// # Errors
    /// [`Error::UnknownEntry`] with the names that exist, as far as the driver can list them.
    pub fn function(self: &Arc<LoadedModule>, entry: &str) -> Result<Function, Error> {
        Function::find(self, entry)
    }

    /// Name of the kernel.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The context it was loaded into.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The device it was loaded onto.
    pub fn device(&self) -> &Arc<DeviceInfo> {
        &self.device
    }

    /// The compiler's remarks: registers, spills, stack. Empty for a cubin, and for text that the driver had cached.
    pub fn info_log(&self) -> &str {
        &self.info_log
    }

    /// Names of the entries; empty if the driver cannot list them (before CUDA 12.4).
    pub fn entries(&self) -> Vec<String> {
        let symbols = ["cuModuleGetFunctionCount", "cuModuleEnumerateFunctions", "cuFuncGetName"];
        if symbols.into_iter().any(|symbol| require(symbol).is_err()) || bind(&self.context).is_err() {
            return Vec::new();
        }
        let mut count: c_uint = 0;
        // SAFETY: `count` is a valid place, the module is loaded, the symbol was looked for.
        if unsafe { sys::cuModuleGetFunctionCount(&raw mut count, self.raw) } != CUresult::CUDA_SUCCESS {
            return Vec::new();
        }
        let mut functions = vec![std::ptr::null_mut(); count as usize];
        // SAFETY: `functions` has room for `count` handles; the rest as above.
        let code = unsafe { sys::cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, self.raw) };
        if code != CUresult::CUDA_SUCCESS {
            return Vec::new();
        }
        let mut names = Vec::new();
        for function in functions {
            let mut name = std::ptr::null();
            // SAFETY: `name` is a valid place and `function` a handle that the driver has just given out.
            let code = unsafe { sys::cuFuncGetName(&raw mut name, function) };
            if code == CUresult::CUDA_SUCCESS && !name.is_null() {
                // SAFETY: the driver's name ends with NUL and lives as long as the module.
                names.push(unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned());
            }
        }
        names
    }

    /// The driver's handle. It is good while `self` lives.
    pub fn raw(&self) -> CUmodule {
        self.raw
    }

    /// Notes a launch of it on a stream.
    pub(crate) fn note_launch(&self, stream: sys::CUstream) {
        self.journal.note(self.number, stream);
    }

    /// Adds the latest launches to the report of a lost context.
    pub(crate) fn explain(&self, error: Error) -> Error {
        self.journal.explain(error)
    }

    fn unload(&self) -> Result<(), Error> {
        bind(&self.context)?;
        // SAFETY: takes nothing; the context is current.
        let code = unsafe { sys::cuCtxSynchronize() };
        code.result().map_err(|e| Error::driver("cuCtxSynchronize", e))?;
        // SAFETY: the module is loaded, nothing runs any more, and no handle into it is left: functions hold `self`.
        let code = unsafe { sys::cuModuleUnload(self.raw) };
        code.result().map_err(|e| Error::driver("cuModuleUnload", e))
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        if let Err(error) = self.unload() {
            tracing::warn!(kernel = self.kernel, %error, "the module stays loaded until its context goes");
        }
    }
}

impl fmt::Debug for LoadedModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedModule")
            .field("kernel", &self.kernel)
            .field("device", &self.device.ordinal)
            .finish_non_exhaustive()
    }
}

/// What was written to a log buffer.
pub(crate) fn log_text(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).trim().to_owned()
}

/// Sorts the driver's refusals by what the caller can do about them.
pub(crate) fn refused(
    code: CUresult,
    image: Image<'_>,
    options: &LoadOptions<'_>,
    device: &DeviceInfo,
    error_log: String,
    info_log: String,
) -> Error {
    let kernel = options.kernel.to_owned();
    let header = match image {
        Image::Ptx(text) => PtxHeader::read(text).ok(),
        Image::Cubin(_) => None,
    };
    match (code, header) {
        (CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, Some(header)) => Error::DriverTooOld {
            kernel,
            needs: header.version,
            has: device.max_ptx(),
            driver: device.driver,
        },
        (CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, header) => Error::WrongArchitecture {
            kernel,
            target: header.map_or("another architecture", |header| header.target).to_owned(),
            device: device.sm(),
        },
        (CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND | CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED, _) => {
            Error::JitUnavailable { kernel, code }
        }
        (
            CUresult::CUDA_ERROR_INVALID_PTX
            | CUresult::CUDA_ERROR_INVALID_IMAGE
            | CUresult::CUDA_ERROR_INVALID_SOURCE
            | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | CUresult::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
            | CUresult::CUDA_ERROR_NOT_FOUND
            | CUresult::CUDA_ERROR_INVALID_VALUE
            | CUresult::CUDA_ERROR_UNKNOWN,
            _,
        ) => {
            let text_path = match (image, options.dump_dir) {
                (Image::Ptx(text), Some(folder)) => dump(text, options.kernel, folder),
                _ => None,
            };
            Error::LoadFailed(Box::new(LoadFailure {
                kernel,
                code,
                error_log,
                info_log,
                place: None,
                text_path,
            }))
        }
        _ => Error::driver("cuModuleLoadDataEx", cudarc::driver::DriverError(code)),
    }
}

/// Writes a text to a file named after the kernel and the text, so that another text never takes its place.
fn dump(text: &str, kernel: &str, folder: &Path) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = kernel.chars().take(80).map(plain).collect();
    let path = folder.join(format!("{name}-{:016x}.ptx", hasher.finish()));
    match std::fs::write(&path, text) {
        Ok(()) => Some(path),
        Err(error) => {
            tracing::warn!(kernel, path = %path.display(), %error, "the text of a refused kernel cannot be written");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::info::tests::h200;

    const TEXT: &str = ".version 8.0\n.target sm_90\n";

    fn refusal(code: CUresult, image: Image<'_>, dump_dir: Option<&Path>) -> Error {
        let options = LoadOptions { kernel: "a/b", dump_dir };
        refused(code, image, &options, &h200(), "error".to_owned(), "info".to_owned())
    }

    #[test]
    fn refusals_are_sorted_by_what_helps() {
        let text = |code| refusal(code, Image::Ptx(TEXT), None);
        assert!(matches!(text(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION), Error::DriverTooOld { .. }));
        assert!(matches!(text(CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND), Error::JitUnavailable { .. }));
        assert!(matches!(text(CUresult::CUDA_ERROR_OUT_OF_MEMORY), Error::OutOfMemory { .. }));
        assert!(matches!(text(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), Error::Sticky { .. }));
        let cubin = refusal(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, Image::Cubin(&[]), None);
        assert_eq!(cubin.to_string(), "a/b is for another architecture, the device is sm_90");
        let Error::LoadFailed(failure) = text(CUresult::CUDA_ERROR_INVALID_PTX) else {
            panic!("an invalid text is a failed load");
        };
        assert_eq!((failure.error_log.as_str(), failure.info_log.as_str()), ("error", "info"));
        assert_eq!(failure.text_path, None);
    }

    #[test]
    fn a_refused_text_is_written_where_asked_and_an_unwritable_folder_is_no_failure() {
        let folder = std::env::temp_dir().join(format!("ptxsmith-dump-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let path_in =
            |folder: &Path| match refusal(CUresult::CUDA_ERROR_INVALID_PTX, Image::Ptx(TEXT), Some(folder)) {
                Error::LoadFailed(failure) => failure.text_path,
                other => panic!("{other}"),
            };
        let path = path_in(&folder).expect("a writable folder");
        assert_eq!(std::fs::read_to_string(&path).expect("the file"), TEXT);
        assert!(path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("a_b-")));
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
        assert_eq!(path_in(&folder), None);
    }

    #[test]
    fn logs_end_at_the_first_nul() {
        assert_eq!(log_text(b"line 3; error\n\0\0"), "line 3; error");
        assert_eq!(log_text(b"full"), "full");
        assert_eq!(log_text(b""), "");
    }
}
