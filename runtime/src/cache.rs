//! What a device has compiled: kernels by value, machine code by text, and cubins on disk.
//!
//! * First level: the kernel value with its type and target gives a prepared kernel; a lookup borrows the value and takes
//!   one read lock.
//! * Second level: the SHA-256 of the text without comment lines gives loaded code, so that two kernel values with one
//!   text share it.
//! * Third level, if a folder is given: cubins on disk, see [`disk`].
//!
//! Each value is made once however many threads ask, no lock is held meanwhile, and failures are not kept. A device has
//! a cache of its own, since code belongs to a context; clones of the device share it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ptxsmith_builder::kernel::{AnyKernel, Kernel};

use crate::device::Core;
use crate::error::Error;
use crate::module::LoadedModule;
use crate::prepared::PreparedAny;

pub(crate) mod disk;
mod files;
mod flight;
mod key;
mod stats;
mod text;

use disk::{Disk, DiskOptions};
use flight::Flights;
use key::{Key, Lookup, QuickState, Stored};
pub use stats::CacheStats;
use stats::{Counters, one, timed};
pub(crate) use text::{TextHash, text_hash};

/// When the cache may compile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// What is not found is compiled and kept.
    #[default]
    Normal,
    /// What is neither in memory nor on disk is an error.
    MustHit,
    /// Nothing is looked up and nothing is kept.
    Off,
}

/// How a device caches what it compiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheOptions {
    /// When it may compile.
    pub mode: Mode,
    /// Where cubins are kept; `None` for memory only.
    pub disk: Option<DiskOptions>,
}

impl CacheOptions {
    /// Memory only.
    pub fn in_memory(mode: Mode) -> CacheOptions {
        CacheOptions { mode, disk: None }
    }

    /// Memory and a folder.
    pub fn on_disk(disk: DiskOptions) -> CacheOptions {
        CacheOptions { mode: Mode::Normal, disk: Some(disk) }
    }

    /// These options in another mode.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> CacheOptions {
        CacheOptions { mode, ..self }
    }
}

/// The cache of a device.
#[derive(Default)]
pub(crate) struct Cache {
    mode: Mode,
    disk: Option<Disk>,
    sealed: AtomicBool,
    /// Captures in progress on streams of the device, as far as they were begun through this crate.
    captures: AtomicUsize,
    kernels: Flights<Stored, PreparedAny, Error, QuickState>,
    codes: Flights<TextHash, Code, Error, QuickState>,
    counters: Counters,
}

/// Code on a device.
#[derive(Clone)]
pub(crate) enum Code {
    Cuda(Arc<LoadedModule>),
    Emulated,
}

impl Cache {
    pub(crate) fn new(options: &CacheOptions) -> Cache {
        let disk = options.disk.as_ref().filter(|_| options.mode != Mode::Off).and_then(Disk::open);
        Cache { mode: options.mode, disk, ..Cache::default() }
    }

    pub(crate) fn stats(&self) -> CacheStats {
        self.counters.read()
    }

    /// Kernel values in the first level.
    pub(crate) fn len(&self) -> usize {
        self.kernels.len()
    }

    pub(crate) fn seal(&self) {
        self.sealed.store(true, Ordering::Release);
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }

    /// The prepared form of a kernel value.
    pub(crate) fn prepare<K: Kernel>(&self, core: &Core, kernel: &K) -> Result<PreparedAny, Error> {
        if self.mode == Mode::Off {
            return self.prepare_any(core, kernel);
        }
        if let Some(found) = self.kernels.get(&Lookup { kernel, target: core.target } as &dyn Key) {
            one(&self.counters.kernel_hits);
            return Ok(found);
        }
        self.kernels.get_or_make(Stored::new(kernel, core.target), || self.prepare_any(core, kernel))
    }

    /// The prepared form of a kernel whose type is not known: the first level is passed over.
    pub(crate) fn prepare_any(&self, core: &Core, kernel: &dyn AnyKernel) -> Result<PreparedAny, Error> {
        if self.is_capturing(core)? {
            return Err(Error::MissInCapture { kernel: kernel.name().to_owned() });
        }
        let operation = timed(&self.counters.building, || kernel.operation(core.target));
        let operation = operation.map_err(|error| Error::Kernel(Box::new(error)))?;
        PreparedAny::new(core, kernel, operation, |label, text| self.code(core, label, text))
    }

    /// Code for a text, from memory, from disk or from the compiler.
    fn code(&self, core: &Core, label: &str, text: &str) -> Result<Code, Error> {
        let hash = text_hash(text);
        if self.mode == Mode::Off {
            return self.compile(core, label, text, None);
        }
        if let Some(found) = self.codes.get(&hash) {
            one(&self.counters.text_hits);
            return Ok(found);
        }
        self.codes.get_or_make(hash, || {
            if self.is_sealed() {
                return Err(Error::Sealed { kernel: label.to_owned() });
            }
            let code = self.find_or_compile(core, label, text, hash);
            if code.is_err() {
                one(&self.counters.failures);
            }
            code
        })
    }

    fn find_or_compile(&self, core: &Core, label: &str, text: &str, hash: TextHash) -> Result<Code, Error> {
        let entry = match (&self.disk, core.as_cuda()) {
            (Some(disk), Some(cuda)) => Some((disk, disk::key(hash, cuda.info()))),
            _ => None,
        };
        if let (Some((disk, key)), Some(cuda)) = (&entry, core.as_cuda())
            && let Some(cubin) = disk.read(key, &self.counters)
        {
            match timed(&self.counters.loading, || cuda.load_cubin(&cubin, label)) {
                Ok(module) => {
                    one(&self.counters.disk_hits);
                    return Ok(Code::Cuda(module));
                }
                // The file is what was written, and the driver refuses it: another compiler than the key told apart.
                Err(
                    Error::LoadFailed(_) | Error::MalformedImage { .. } | Error::WrongArchitecture { .. },
                ) => {
                    disk.discard(key, &self.counters);
                }
                Err(other) => return Err(other),
            }
        }
        one(&self.counters.misses);
        if self.mode == Mode::MustHit && !core.is_emulated() {
            return Err(Error::CacheMiss { kernel: label.to_owned() });
        }
        self.compile(core, label, text, entry)
    }

    fn compile(
        &self,
        core: &Core,
        label: &str,
        text: &str,
        entry: Option<(&Disk, disk::DiskKey)>,
    ) -> Result<Code, Error> {
        let Some(cuda) = core.as_cuda() else { return Ok(Code::Emulated) };
        let options = core.load_options(label);
        one(&self.counters.compiles);
        let Some((disk, key)) = entry.filter(|_| cuda.can_compile_to_cubin()) else {
            let module = timed(&self.counters.compiling, || cuda.load(crate::Image::Ptx(text), &options))?;
            return Ok(Code::Cuda(module));
        };
        let cubin = timed(&self.counters.compiling, || cuda.compile(text, &options))?;
        disk.write(&key, &cubin, &self.counters);
        let module = timed(&self.counters.loading, || cuda.load_cubin(&cubin, label))?;
        Ok(Code::Cuda(module))
    }

    /// Whether a stream of the device captures: one that this crate knows of, or the device's own.
    fn is_capturing(&self, core: &Core) -> Result<bool, Error> {
        if self.captures.load(Ordering::Acquire) > 0 {
            return Ok(true);
        }
        core.as_cuda().map_or(Ok(false), |cuda| cuda.is_capturing())
    }

    /// Counts a capture in until the returned value is dropped.
    pub(crate) fn capturing(self: &Arc<Cache>) -> Capturing {
        self.captures.fetch_add(1, Ordering::AcqRel);
        Capturing(Arc::clone(self))
    }
}

/// A capture in progress.
pub(crate) struct Capturing(Arc<Cache>);

impl Drop for Capturing {
    fn drop(&mut self) {
        self.0.captures.fetch_sub(1, Ordering::AcqRel);
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache")
            .field("mode", &self.mode)
            .field("kernels", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;
    use crate::{Device, DeviceOptions, EmulatorOptions};
    use ptxsmith_builder::target::Target;
    use ptxsmith_builder::types::Dtype;

    fn device(mode: Mode) -> Device {
        let target = Target::sm(90).expect("a known target");
        let options = DeviceOptions::default().with_cache(CacheOptions::in_memory(mode));
        Device::emulated(target, EmulatorOptions::default()).with_options(options)
    }

    fn kernel(columns: u32) -> Scale {
        Scale::new(columns, 2.0, Dtype::F32, Dtype::F32)
    }

    #[test]
    fn kernel_values_hit_by_value_and_others_by_text() {
        let device = device(Mode::Normal);
        let counts = |device: &Device| {
            let stats = device.cache_stats();
            [stats.misses, stats.kernel_hits, stats.text_hits]
        };
        device.prepare(&kernel(32)).expect("a valid kernel");
        assert_eq!(counts(&device), [1, 0, 0]);
        device.prepare(&kernel(32)).expect("a valid kernel");
        assert_eq!(counts(&device), [1, 1, 0]);
        device.prepare_any(&kernel(32)).expect("a valid kernel");
        assert_eq!(counts(&device), [1, 1, 1]);
        device.prepare(&kernel(64)).expect("a valid kernel");
        assert_eq!(counts(&device), [2, 1, 1]);
        // Another target is another text; the clone shares the cache.
        let older =
            device.clone().with_target(Target::sm(80).expect("a known target")).expect("sm_90 runs it");
        older.prepare(&kernel(32)).expect("a valid kernel");
        assert_eq!(counts(&device), [3, 1, 1]);
    }

    #[test]
    fn many_threads_prepare_each_kernel_once() {
        let device = device(Mode::Normal);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let device = device.clone();
                scope.spawn(move || {
                    for columns in 1..=20 {
                        let prepared = device.prepare(&kernel(columns)).expect("a valid kernel");
                        assert_eq!(prepared.operation().steps[0].geometry.block[0], columns);
                    }
                });
            }
        });
        assert_eq!(device.cache_stats().misses, 20);
    }

    #[test]
    fn a_sealed_device_gives_what_it_has_and_nothing_else() {
        let device = device(Mode::Normal);
        device.prepare(&kernel(32)).expect("a valid kernel");
        device.clone().seal();
        assert!(device.is_sealed());
        assert!(device.prepare(&kernel(32)).is_ok());
        assert!(device.prepare_any(&kernel(32)).is_ok());
        let error = device.prepare(&kernel(64)).expect_err("it was not prepared");
        assert_eq!(
            error.to_string(),
            "scale{columns=64, factor=2e0, x=f32, y=f32} was not prepared before the device was sealed; \
             add it to the launch plan"
        );
        assert!(device.prepare_any(&kernel(64)).is_err());
    }

    #[test]
    fn nothing_is_kept_when_off_and_no_failure_ever() {
        let off = device(Mode::Off);
        off.prepare(&kernel(32)).expect("a valid kernel");
        off.prepare(&kernel(32)).expect("a valid kernel");
        assert_eq!((off.cache_stats().kernel_hits, off.cache_stats().text_hits), (0, 0));
        let normal = device(Mode::Normal);
        for _ in 0..2 {
            // A block has at most 1024 threads.
            assert!(matches!(normal.prepare(&kernel(1025)), Err(Error::Kernel(_))));
        }
        assert_eq!(normal.cache_stats().kernel_hits, 0);
    }

    #[test]
    fn a_capture_refuses_what_is_not_prepared() {
        let device = device(Mode::Normal);
        device.prepare(&kernel(32)).expect("a valid kernel");
        let capture = device.cache().capturing();
        assert!(device.prepare(&kernel(32)).is_ok());
        assert!(matches!(device.prepare(&kernel(64)), Err(Error::MissInCapture { .. })));
        drop(capture);
        assert!(device.prepare(&kernel(64)).is_ok());
    }
}
