//! A CUDA device as a kernel's user sees it: a context, a stream, what it is, and its memory.
//!
//! Context, stream and buffers are cudarc's own types, so that a program that has them already hands them in and gets
//! them back. The copies here take plain bytes and check lengths and contexts, where cudarc's panic or trust.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::sys::{CUevent_flags, CUstreamCaptureStatus};
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtrMut, DriverError, result};

use crate::compile;
use crate::driver::info::DeviceInfo;
use crate::driver::{bind, device_info, present, require, version_number};
use crate::error::Error;
use crate::image::Image;
use crate::journal::Journal;
use crate::module::{LoadOptions, LoadedModule};

/// A device with the context and the stream to work on. Clones share both.
#[derive(Clone)]
pub struct CudaDevice {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    info: Arc<DeviceInfo>,
    journal: Arc<Journal>,
}

impl CudaDevice {
    /// Opens a device: its primary context and a stream of its own.
    ///
    /// # Errors
    /// [`Error::DriverAbsent`] or [`Error::DriverIncomplete`] without a usable driver, [`Error::DeviceOrdinal`] for an
    /// ordinal that does not exist, driver errors otherwise.
    pub fn open(ordinal: usize) -> Result<CudaDevice, Error> {
        let info = device_info(ordinal)?;
        let context = CudaContext::new(ordinal).map_err(|e| Error::driver("cuDevicePrimaryCtxRetain", e))?;
        let stream = context.new_stream().map_err(|e| Error::driver("cuStreamCreate", e))?;
        let journal = Journal::of(&context);
        Ok(CudaDevice { context, stream, info: Arc::new(info), journal })
    }

    /// Works on a stream, and in its context, that the program has already.
    ///
    /// # Errors
    /// [`Error::DriverIncomplete`] if the driver lacks what this crate needs, driver errors otherwise.
    pub fn adopt(stream: Arc<CudaStream>) -> Result<CudaDevice, Error> {
        present()?;
        let context = Arc::clone(stream.context());
        // SAFETY: the context holds a device that the driver gave out.
        let info = unsafe { DeviceInfo::read(context.cu_device(), context.ordinal(), version_number()?)? };
        let journal = Journal::of(&context);
        Ok(CudaDevice { context, stream, info: Arc::new(info), journal })
    }

    /// The context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The stream that copies and launches go to unless told otherwise.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Name, architecture and limits.
    pub fn info(&self) -> &Arc<DeviceInfo> {
        &self.info
    }

    /// Loads PTX text or a cubin.
    ///
    /// # Errors
    /// [`Error::MalformedImage`], [`Error::DriverTooOld`] or [`Error::WrongArchitecture`] before the driver is asked,
    /// [`Error::LoadFailed`] with both logs if it refuses, [`Error::JitUnavailable`], [`Error::OutOfMemory`] and
    /// [`Error::Sticky`] as they say.
    pub fn load(&self, image: Image<'_>, options: &LoadOptions<'_>) -> Result<Arc<LoadedModule>, Error> {
        LoadedModule::load(&self.context, &self.info, image, options)
    }

    /// Compiles PTX text to a cubin with the driver's compiler, without loading it.
    ///
    /// # Errors
    /// As [`CudaDevice::load`], and [`Error::DriverIncomplete`] for a driver without a linker.
    pub fn compile(&self, text: &str, options: &LoadOptions<'_>) -> Result<Vec<u8>, Error> {
        compile::compile(&self.context, &self.info, text, options)
    }

    /// Whether the driver can [compile](CudaDevice::compile).
    pub fn can_compile_to_cubin(&self) -> bool {
        compile::available()
    }

    pub(crate) fn load_cubin(&self, cubin: &[u8], kernel: &str) -> Result<Arc<LoadedModule>, Error> {
        self.load(Image::Cubin(cubin), &LoadOptions::named(kernel))
    }

    /// Whether the stream records a graph instead of running.
    ///
    /// # Errors
    /// Driver errors.
    pub fn is_capturing(&self) -> Result<bool, Error> {
        let status = self.stream.capture_status().map_err(|e| Error::driver("cuStreamIsCapturing", e))?;
        Ok(status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Free and total memory of the device in bytes.
    ///
    /// # Errors
    /// Driver errors, [`Error::Sticky`] among them.
    pub fn memory(&self) -> Result<(usize, usize), Error> {
        bind(&self.context)?;
        result::mem_get_info().map_err(|e| self.failed("cuMemGetInfo", e))
    }

    /// Waits for the work of the stream.
    ///
    /// # Errors
    /// [`Error::Sticky`] if a kernel failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.journal.wait(self.stream.cu_stream(), || {
            self.stream.synchronize().map_err(|e| Error::driver("cuStreamSynchronize", e))
        })
    }

    /// Allocates bytes, all zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with what was asked for and what is free.
    pub fn alloc(&self, bytes: usize) -> Result<CudaSlice<u8>, Error> {
        let slice = if bytes == 0 { self.stream.null() } else { self.stream.alloc_zeros(bytes) };
        slice.map_err(|error| match self.failed("cuMemAllocAsync", error) {
            Error::OutOfMemory { call, .. } => {
                Error::OutOfMemory { call, bytes: Some(bytes), free_total: self.memory().ok() }
            }
            other => other,
        })
    }

    /// Allocates a buffer and copies bytes into it.
    ///
    /// # Errors
    /// As [`CudaDevice::alloc`].
    pub fn upload(&self, bytes: &[u8]) -> Result<CudaSlice<u8>, Error> {
        let mut slice = self.alloc(bytes.len())?;
        self.write(bytes, &mut slice)?;
        Ok(slice)
    }

    /// Copies bytes into a buffer of the same length.
    ///
    /// # Errors
    /// [`Error::BufferSize`] for another length, [`Error::WrongContext`] for a foreign buffer, driver errors otherwise.
    pub fn write(&self, bytes: &[u8], to: &mut CudaSlice<u8>) -> Result<(), Error> {
        self.own(to)?;
        if bytes.len() != to.len() {
            return Err(Error::BufferSize { host: bytes.len(), device: to.len() });
        }
        if bytes.is_empty() {
            return Ok(());
        }
        self.stream.memcpy_htod(bytes, to).map_err(|e| self.failed("cuMemcpyHtoDAsync", e))
    }

    /// Copies a buffer to the host and waits for it.
    ///
    /// # Errors
    /// [`Error::WrongContext`] for a foreign buffer, [`Error::Sticky`] if a kernel failed, driver errors otherwise.
    pub fn download(&self, from: &CudaSlice<u8>) -> Result<Vec<u8>, Error> {
        self.own(from)?;
        let mut bytes = vec![0; from.len()];
        if !bytes.is_empty() {
            self.stream.memcpy_dtoh(from, &mut bytes).map_err(|e| self.failed("cuMemcpyDtoHAsync", e))?;
        }
        self.synchronize()?;
        Ok(bytes)
    }

    /// Sets every byte of a buffer.
    ///
    /// # Errors
    /// [`Error::WrongContext`] for a foreign buffer, driver errors otherwise.
    pub fn fill(&self, buffer: &mut CudaSlice<u8>, byte: u8) -> Result<(), Error> {
        self.own(buffer)?;
        let bytes = buffer.len();
        if bytes == 0 {
            return Ok(());
        }
        bind(&self.context)?;
        let (address, _written) = buffer.device_ptr_mut(&self.stream);
        // SAFETY: the buffer has `bytes` bytes at `address` and is borrowed for writing; `_written` orders later uses on
        // other streams after this one.
        unsafe { result::memset_d8_async(address, byte, bytes, self.stream.cu_stream()) }
            .map_err(|e| self.failed("cuMemsetD8Async", e))
    }

    /// Classifies a failed driver call in this context.
    fn failed(&self, call: &'static str, error: DriverError) -> Error {
        self.journal.explain(Error::driver(call, error))
    }

    fn own(&self, buffer: &CudaSlice<u8>) -> Result<(), Error> {
        if buffer.context().cu_ctx() == self.context.cu_ctx() {
            return Ok(());
        }
        Err(Error::WrongContext { what: "the buffer", owner: self.info.name.clone() })
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaDevice")
            .field("ordinal", &self.info.ordinal)
            .field("name", &self.info.name)
            .finish_non_exhaustive()
    }
}

/// Device time between two points of a stream. Resolution is about half a microsecond.
#[derive(Debug)]
pub struct Timer {
    stream: Arc<CudaStream>,
    start: CudaEvent,
    end: CudaEvent,
}

impl Timer {
    /// A timer for a stream.
    ///
    /// # Errors
    /// [`Error::DriverIncomplete`] if the driver cannot time events this way (before CUDA 12.8), driver errors otherwise.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Timer, Error> {
        require("cuEventElapsedTime_v2")?;
        let event = || {
            stream
                .context()
                .new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
                .map_err(|e| Error::driver("cuEventCreate", e))
        };
        Ok(Timer { stream: Arc::clone(stream), start: event()?, end: event()? })
    }

    /// Marks the start; a later mark replaces an earlier one.
    ///
    /// # Errors
    /// Driver errors, [`Error::Sticky`] among them.
    pub fn start(&self) -> Result<(), Error> {
        self.start.record(&self.stream).map_err(|e| Error::driver("cuEventRecord", e))
    }

    /// Marks the end.
    ///
    /// # Errors
    /// As [`Timer::start`].
    pub fn stop(&self) -> Result<(), Error> {
        self.end.record(&self.stream).map_err(|e| Error::driver("cuEventRecord", e))
    }

    /// Milliseconds from start to end; waits for both.
    ///
    /// # Errors
    /// Driver errors: a mark that was never set is one, [`Error::Sticky`] another.
    pub fn milliseconds(&self) -> Result<f32, Error> {
        self.start.elapsed_ms(&self.end).map_err(|e| Error::driver("cuEventElapsedTime", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absurd_ordinal_is_an_error_with_and_without_a_driver() {
        let error = CudaDevice::open(usize::MAX).expect_err("no machine has that many devices");
        match present() {
            Ok(()) => assert!(matches!(error, Error::DeviceOrdinal { asked: usize::MAX, .. })),
            Err(_) => assert!(matches!(
                error,
                Error::DriverAbsent { .. } | Error::DriverIncomplete { .. } | Error::DriverCall { .. }
            )),
        }
    }
}
