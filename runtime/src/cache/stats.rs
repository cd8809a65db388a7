//! Counters of a cache, kept without locks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What a cache did so far. Each lookup counts at the level where it ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Lookups that found the kernel value.
    pub kernel_hits: u64,
    /// Lookups that found the same text of another kernel value, or of one whose type was not known.
    pub text_hits: u64,
    /// Lookups that found machine code on disk.
    pub disk_hits: u64,
    /// Lookups that found nothing.
    pub misses: u64,
    /// Texts that the driver compiled.
    pub compiles: u64,
    /// Misses that ended in an error.
    pub failures: u64,
    /// Files that were removed from the disk to make room.
    pub evictions: u64,
    /// Files on disk that were damaged or could not be loaded, and were removed.
    pub discarded: u64,
    /// Time spent generating text.
    pub building: Duration,
    /// Time spent compiling.
    pub compiling: Duration,
    /// Time spent loading machine code onto the device.
    pub loading: Duration,
}

/// The counters behind [`CacheStats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) kernel_hits: AtomicU64,
    pub(crate) text_hits: AtomicU64,
    pub(crate) disk_hits: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) compiles: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) evictions: AtomicU64,
    pub(crate) discarded: AtomicU64,
    pub(crate) building: AtomicU64,
    pub(crate) compiling: AtomicU64,
    pub(crate) loading: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self) -> CacheStats {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        let time = |counter: &AtomicU64| Duration::from_nanos(counter.load(Relaxed));
        CacheStats {
            kernel_hits: count(&self.kernel_hits),
            text_hits: count(&self.text_hits),
            disk_hits: count(&self.disk_hits),
            misses: count(&self.misses),
            compiles: count(&self.compiles),
            failures: count(&self.failures),
            evictions: count(&self.evictions),
            discarded: count(&self.discarded),
            building: time(&self.building),
            compiling: time(&self.compiling),
            loading: time(&self.loading),
        }
    }
}

/// Counts one.
pub(crate) fn one(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// Runs `work` and adds the time it takes.
pub(crate) fn timed<T>(counter: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let began = std::time::Instant::now();
    let result = work();
    counter.fetch_add(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX), Relaxed);
    result
}
