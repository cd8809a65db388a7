//! A device to run kernels on: a CUDA device or the emulator, behind one type.
//!
//! Clones share context, stream and compiled kernels. A device has one target that it builds kernels for: what the
//! emulator was asked to be, or the newest plain target that the CUDA device and its driver take (text for a plain
//! target is what snapshots show; [`Device::with_target`] chooses an architecture variant).

use std::path::PathBuf;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use ptxsmith_builder::kernel::{AnyKernel, Kernel};
use ptxsmith_builder::target::Target;

use crate::argument::BufferArg;
use crate::buffer::{Buffer, Memory};
use crate::cache::{Cache, CacheOptions, CacheStats};
use crate::cuda::CudaDevice;
use crate::emulated::{EmulatedDevice, EmulatorOptions};
use crate::error::Error;
use crate::module::LoadOptions;
use crate::prepared::{Prepared, PreparedAny};

/// A CUDA device or the emulator.
#[derive(Debug, Clone)]
pub struct Device {
    core: Core,
    cache: Arc<Cache>,
}

/// A device without what it compiled, which holds this in turn.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    pub(crate) backend: Backend,
    pub(crate) target: Target,
    options: Arc<DeviceOptions>,
}

#[derive(Debug, Clone)]
pub(crate) enum Backend {
    Cuda(CudaDevice),
    Emulated(EmulatedDevice),
}

/// How a device treats what it loads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceOptions {
    /// Folder that the text of a kernel is written to when the driver refuses it; it has to exist.
    pub dump_dir: Option<PathBuf>,
    /// What is kept of what it compiles.
    pub cache: CacheOptions,
}

impl DeviceOptions {
    /// These options with a folder for the texts of refused kernels.
    #[must_use]
    pub fn with_dump_dir(self, folder: impl Into<PathBuf>) -> DeviceOptions {
        DeviceOptions { dump_dir: Some(folder.into()), ..self }
    }

    /// These options with other ones for the cache.
    #[must_use]
    pub fn with_cache(self, cache: CacheOptions) -> DeviceOptions {
        DeviceOptions { cache, ..self }
    }
}

impl Core {
    pub(crate) fn as_cuda(&self) -> Option<&CudaDevice> {
        match &self.backend {
            Backend::Cuda(device) => Some(device),
            Backend::Emulated(_) => None,
        }
    }

    pub(crate) fn is_emulated(&self) -> bool {
        matches!(self.backend, Backend::Emulated(_))
    }

    pub(crate) fn name(&self) -> String {
        match &self.backend {
            Backend::Cuda(device) => device.info().name.clone(),
            Backend::Emulated(device) => device.name(),
        }
    }

    pub(crate) fn load_options<'a>(&'a self, kernel: &'a str) -> LoadOptions<'a> {
        LoadOptions { kernel, dump_dir: self.options.dump_dir.as_deref() }
    }
}

impl Device {
    /// The emulator, as a device of `target`.
    pub fn emulated(target: Target, options: EmulatorOptions) -> Device {
        Device::new(Backend::Emulated(EmulatedDevice::new(target, options)), target)
    }

    /// A CUDA device with a stream of its own.
    ///
    /// # Errors
    /// [`Error::DriverAbsent`] or [`Error::DriverIncomplete`] without a usable driver, [`Error::DeviceOrdinal`] for an
    /// ordinal that does not exist, [`Error::Unsupported`] for a device older than the oldest target, driver errors.
    pub fn cuda(ordinal: usize) -> Result<Device, Error> {
        Device::from_cuda(CudaDevice::open(ordinal)?)
    }

    /// A CUDA device with the context and the stream that a program has already.
    ///
    /// # Errors
    /// As [`Device::cuda`].
    pub fn adopt(stream: Arc<CudaStream>) -> Result<Device, Error> {
        Device::from_cuda(CudaDevice::adopt(stream)?)
    }

    /// An open CUDA device.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a device older than the oldest target.
    pub fn from_cuda(device: CudaDevice) -> Result<Device, Error> {
        let Some(target) = device.info().plain_target() else {
            return Err(Error::Unsupported {
                kernel: "ptxsmith".to_owned(),
                what: "every kernel",
                needs: "sm_75 or newer",
                device: device.info().sm(),
            });
        };
        Ok(Device::new(Backend::Cuda(device), target))
    }

    fn new(backend: Backend, target: Target) -> Device {
        let core = Core { backend, target, options: Arc::default() };
        Device { core, cache: Arc::default() }
    }

    /// The same device with other options and an empty cache.
    #[must_use]
    pub fn with_options(self, options: DeviceOptions) -> Device {
        let cache = Arc::new(Cache::new(&options.cache));
        Device { core: Core { options: Arc::new(options), ..self.core }, cache }
    }

    /// The same device, building kernels for another target.
    ///
    /// # Errors
    /// [`Error::WrongArchitecture`] if the device does not run it.
    pub fn with_target(self, target: Target) -> Result<Device, Error> {
        let (runs, device) = match &self.core.backend {
            Backend::Cuda(device) => (device.info().targets().contains(&target), device.info().sm()),
            Backend::Emulated(device) => {
                (target.runs_on(device.target().number()), device.target().to_string())
            }
        };
        if !runs {
            return Err(Error::WrongArchitecture {
                kernel: "a kernel".to_owned(),
                target: target.to_string(),
                device,
            });
        }
        Ok(Device { core: Core { target, ..self.core }, ..self })
    }

    /// Name for people: the marketing name of a CUDA device, `emulated sm_90` for the emulator.
    pub fn name(&self) -> String {
        self.core.name()
    }

    /// The target that kernels are built for.
    pub fn target(&self) -> Target {
        self.core.target
    }

    /// Whether it is the emulator.
    pub fn is_emulated(&self) -> bool {
        self.core.is_emulated()
    }

    /// The CUDA device, unless it is the emulator: its context, stream, memory and [`DeviceInfo`](crate::DeviceInfo).
    pub fn as_cuda(&self) -> Option<&CudaDevice> {
        self.core.as_cuda()
    }

    /// Finds a kernel in the cache, or builds it for this device's target, compiles it and checks what can be checked
    /// before a launch.
    ///
    /// # Errors
    /// [`Error::Kernel`] if it cannot be built for the target; on a CUDA device also those of [`CudaDevice::load`],
    /// [`Error::Limit`] and its like for a block, cluster or shared memory that the device does not have;
    /// [`Error::Sealed`], [`Error::MissInCapture`] or [`Error::CacheMiss`] where compiling is not allowed.
    pub fn prepare<K: Kernel>(&self, kernel: &K) -> Result<Prepared<K>, Error> {
        Ok(Prepared::new(self.cache.prepare(&self.core, kernel)?))
    }

    /// Prepares a kernel unless it is prepared, and launches it on a stream.
    ///
    /// # Errors
    /// As [`Device::prepare`] and [`Prepared::launch`].
    pub fn launch<'a, K: Kernel>(
        &self,
        stream: &'a CudaStream,
        kernel: &K,
        args: K::Args<BufferArg<'a>>,
        shape: K::Shape,
    ) -> Result<(), Error> {
        self.prepare(kernel)?.launch(stream, args, shape)
    }

    /// From here on a kernel that was not prepared is an error instead of a compilation. Clones are sealed with it.
    pub fn seal(&self) {
        self.cache.seal();
    }

    /// Whether [`Device::seal`] was called.
    pub fn is_sealed(&self) -> bool {
        self.cache.is_sealed()
    }

    /// What the cache did so far.
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// [`Device::prepare`] for tools that do not know the kernel's type.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    pub fn prepare_any(&self, kernel: &dyn AnyKernel) -> Result<PreparedAny, Error> {
        self.cache.prepare_any(&self.core, kernel)
    }

    /// Allocates a buffer. On a CUDA device it is zero; in the emulator it counts as unwritten, so that a kernel that
    /// reads it is reported. The start is aligned to 256 bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], driver errors.
    pub fn alloc(&self, name: &str, bytes: usize) -> Result<Buffer, Error> {
        let memory = match &self.core.backend {
            Backend::Cuda(device) => Memory::Cuda(device.alloc(bytes)?),
            Backend::Emulated(device) => Memory::Emulated(device.alloc(bytes)),
        };
        Ok(Buffer { name: name.to_owned(), memory })
    }

    /// Allocates a buffer that holds `bytes`.
    ///
    /// # Errors
    /// As [`Device::alloc`].
    pub fn upload(&self, name: &str, bytes: &[u8]) -> Result<Buffer, Error> {
        let mut buffer = self.alloc(name, bytes.len())?;
        self.write(&mut buffer, bytes)?;
        Ok(buffer)
    }

    /// Overwrites a buffer of the same length.
    ///
    /// # Errors
    /// [`Error::BufferSize`] for another length, [`Error::WrongContext`] for a buffer of another device, driver errors.
    pub fn write(&self, buffer: &mut Buffer, bytes: &[u8]) -> Result<(), Error> {
        match (&self.core.backend, &mut buffer.memory) {
            (Backend::Cuda(device), Memory::Cuda(slice)) => device.write(bytes, slice),
            (Backend::Emulated(_), Memory::Emulated(memory)) => memory.write(bytes),
            _ => Err(self.foreign()),
        }
    }

    /// Copies a buffer to the host; waits for the device's stream.
    ///
    /// # Errors
    /// [`Error::WrongContext`] for a buffer of another device, [`Error::Sticky`] if a kernel failed, driver errors.
    pub fn download(&self, buffer: &Buffer) -> Result<Vec<u8>, Error> {
        match (&self.core.backend, &buffer.memory) {
            (Backend::Cuda(device), Memory::Cuda(slice)) => device.download(slice),
            (Backend::Emulated(_), Memory::Emulated(memory)) => Ok(memory.bytes().to_vec()),
            _ => Err(self.foreign()),
        }
    }

    /// Waits for the work of the device's stream.
    ///
    /// # Errors
    /// [`Error::Sticky`] if a kernel failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        match &self.core.backend {
            Backend::Cuda(device) => device.synchronize(),
            Backend::Emulated(_) => Ok(()),
        }
    }

    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    fn foreign(&self) -> Error {
        Error::WrongContext { what: "the buffer", owner: self.name() }
    }
}
