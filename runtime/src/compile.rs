//! From text to a cubin with the driver's compiler, so that it can be kept; with both logs, as loading has them.

use std::ffi::{CString, c_uint, c_void};
use std::sync::Arc;

use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CUjit_option_enum as Jit, CUjitInputType, CUlinkState, CUresult};

use crate::driver::info::DeviceInfo;
use crate::driver::{bind, require};
use crate::error::Error;
use crate::image::Image;
use crate::module::{LOG_BYTES, LoadOptions, log_text, refused};

/// What compiling to a cubin needs of the driver.
const SYMBOLS: [&str; 4] = ["cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuLinkDestroy"];

/// Whether the driver has what [`compile`] needs.
pub(crate) fn available() -> bool {
    SYMBOLS.into_iter().all(|symbol| require(symbol).is_ok())
}

/// A linker of the driver, destroyed when dropped. It keeps pointers to the logs that it was created with.
struct Linker(CUlinkState);

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: the handle comes from `cuLinkCreate` and is destroyed once. A failure leaves nothing to be done.
        let _ = unsafe { sys::cuLinkDestroy(self.0) };
    }
}

/// Compiles a text for the device of a context.
pub(crate) fn compile(
    context: &Arc<CudaContext>,
    device: &DeviceInfo,
    text: &str,
    options: &LoadOptions<'_>,
) -> Result<Vec<u8>, Error> {
    let image = Image::Ptx(text);
    image.check(options.kernel, device)?;
    let malformed = |reason: String| Error::MalformedImage { kernel: options.kernel.to_owned(), reason };
    let source = CString::new(text)
        .map_err(|error| malformed(format!("the text has a NUL at byte {}", error.nul_position())))?
        .into_bytes_with_nul();
    for symbol in SYMBOLS {
        require(symbol)?;
    }
    bind(context)?;
    let (mut info, mut errors) = (vec![0u8; LOG_BYTES], vec![0u8; LOG_BYTES]);
    let mut keys = [
        Jit::CU_JIT_INFO_LOG_BUFFER,
        Jit::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        Jit::CU_JIT_ERROR_LOG_BUFFER,
        Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        Jit::CU_JIT_LOG_VERBOSE,
    ];
    // The driver takes numbers in place of pointers here, and writes the sizes of the logs back into the array.
    let mut values: [*mut c_void; 5] = [
        info.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(LOG_BYTES),
        errors.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(LOG_BYTES),
        std::ptr::without_provenance_mut(1),
    ];
    let cubin = (|| {
        let mut state = std::ptr::null_mut();
        // SAFETY: keys and values are as many as said; logs, keys and values outlive the linker, which is dropped at the
        // end of this closure.
        let code = unsafe {
            sys::cuLinkCreate_v2(keys.len() as c_uint, keys.as_mut_ptr(), values.as_mut_ptr(), &raw mut state)
        };
        if code != CUresult::CUDA_SUCCESS {
            return Err(code);
        }
        let linker = Linker(state);
        // SAFETY: the linker exists; the text ends with NUL, as the driver wants it for PTX, and is copied by the call.
        let code = unsafe {
            sys::cuLinkAddData_v2(
                linker.0,
                CUjitInputType::CU_JIT_INPUT_PTX,
                source.as_ptr().cast_mut().cast(),
                source.len(),
                c"kernel.ptx".as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        if code != CUresult::CUDA_SUCCESS {
            return Err(code);
        }
        let (mut start, mut len) = (std::ptr::null_mut(), 0usize);
        // SAFETY: the linker exists; both places are valid.
        let code = unsafe { sys::cuLinkComplete(linker.0, &raw mut start, &raw mut len) };
        if code != CUresult::CUDA_SUCCESS {
            return Err(code);
        }
        if start.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the driver says that `len` bytes are there; they belong to the linker, which still exists.
        Ok(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec())
    })();
    match cubin {
        Ok(cubin) => {
            tracing::debug!(kernel = options.kernel, bytes = cubin.len(), log = %log_text(&info), "compiled");
            Ok(cubin)
        }
        Err(code) => Err(refused(code, image, options, device, log_text(&errors), log_text(&info))),
    }
}
