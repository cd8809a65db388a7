//! The kernels launched in a context since their streams were last waited for: what a lost context may be due to.
//!
//! The driver reports a failed kernel at some later call and does not say which kernel it was. So each launch leaves its
//! number in a ring, and a wait that succeeds takes the stream's launches before it out again.
//!
//! Limits: the ring holds the last [`LENGTH`] launches. Waits that do not go through this crate are not seen, so that the
//! list may name kernels that did end. Threads that launch at the same moment may mix up an entry; nothing but this list
//! depends on it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::CudaContext;
use cudarc::driver::sys::CUstream;

use crate::error::Error;

/// Launches that are remembered.
pub(crate) const LENGTH: usize = 64;

/// The journal of a context.
#[derive(Debug)]
pub(crate) struct Journal {
    next: AtomicU64,
    entries: [Entry; LENGTH],
    names: Mutex<Vec<String>>,
}

/// A launch.
#[derive(Debug)]
struct Entry {
    /// Number of the kernel plus 1; 0 for no launch.
    kernel: AtomicU64,
    /// Which launch it was, counted from 0.
    place: AtomicU64,
    stream: AtomicUsize,
}

/// The journals in use, by the context's handle.
static JOURNALS: Mutex<Vec<(usize, Weak<Journal>)>> = Mutex::new(Vec::new());

impl Journal {
    fn new() -> Journal {
        let entry =
            || Entry { kernel: AtomicU64::new(0), place: AtomicU64::new(0), stream: AtomicUsize::new(0) };
        Journal {
            next: AtomicU64::new(0),
            entries: std::array::from_fn(|_| entry()),
            names: Mutex::new(Vec::new()),
        }
    }

    /// The journal of a context; devices and modules of one context share it.
    pub(crate) fn of(context: &CudaContext) -> Arc<Journal> {
        Journal::of_handle(context.cu_ctx().addr())
    }

    fn of_handle(handle: usize) -> Arc<Journal> {
        let mut journals = JOURNALS.lock().unwrap_or_else(PoisonError::into_inner);
        journals.retain(|(_, journal)| journal.strong_count() > 0);
        let known = journals.iter().find(|(known, _)| *known == handle);
        if let Some(journal) = known.and_then(|(_, journal)| journal.upgrade()) {
            return journal;
        }
        let journal = Arc::new(Journal::new());
        journals.push((handle, Arc::downgrade(&journal)));
        journal
    }

    /// The number of a kernel.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let known = names.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        at as u64
    }

    /// Notes a launch; neither allocates nor locks.
    pub(crate) fn note(&self, kernel: u64, stream: CUstream) {
        let place = self.next.fetch_add(1, Relaxed);
        let entry = &self.entries[place as usize % LENGTH];
        entry.kernel.store(kernel + 1, Relaxed);
        entry.place.store(place, Relaxed);
        entry.stream.store(stream.addr(), Relaxed);
    }

    /// Runs a wait for a stream; if it succeeds, the launches before it are over.
    pub(crate) fn wait<T>(
        &self,
        stream: CUstream,
        wait: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let before = self.next.load(Relaxed);
        let value = wait().map_err(|error| self.explain(error))?;
        for entry in &self.entries {
            if entry.stream.load(Relaxed) == stream.addr() && entry.place.load(Relaxed) < before {
                entry.kernel.store(0, Relaxed);
            }
        }
        Ok(value)
    }

    /// Adds the launches to the report of a lost context.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match error {
            Error::Sticky { call, code, description, .. } => {
                Error::Sticky { call, code, description, launched: self.launched() }
            }
            other => other,
        }
    }

    /// The kernels that may have failed, in the order of their first such launch.
    fn launched(&self) -> Vec<String> {
        let entries =
            self.entries.iter().map(|entry| (entry.place.load(Relaxed), entry.kernel.load(Relaxed)));
        let mut entries: Vec<(u64, u64)> = entries.filter(|(_, kernel)| *kernel > 0).collect();
        entries.sort_unstable();
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let mut launched: Vec<String> = Vec::new();
        for (_, kernel) in entries {
            let name = names.get(kernel as usize - 1);
            launched.extend(name.filter(|name| !launched.contains(name)).cloned());
        }
        launched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudarc::driver::DriverError;
    use cudarc::driver::sys::CUresult;

    fn stream(number: usize) -> CUstream {
        std::ptr::without_provenance_mut(number)
    }

    fn lost() -> Error {
        Error::driver("cuStreamSynchronize", DriverError(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS))
    }

    #[test]
    fn a_lost_context_names_what_was_launched_since_the_last_wait() {
        let journal = Journal::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| journal.number(name));
        assert_eq!(journal.number("b"), b);
        journal.note(a, stream(1));
        journal.note(b, stream(2));
        journal.wait(stream(1), || Ok(())).expect("the wait succeeds");
        journal.note(c, stream(1));
        journal.note(b, stream(1));
        let error = journal.wait(stream(1), || Err::<(), _>(lost())).expect_err("the wait fails");
        let Error::Sticky { launched, .. } = &error else { panic!("{error}") };
        // The launch on the other stream is not known to be over.
        assert_eq!(*launched, ["b", "c"]);
        assert!(error.to_string().ends_with("; launched since the last check: b, c"), "{error}");
        let other = journal.explain(Error::driver("cuTest", DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)));
        assert!(matches!(other, Error::DriverCall { .. }));
    }

    #[test]
    fn a_launch_during_the_wait_is_kept() {
        let journal = Journal::new();
        let a = journal.number("a");
        let wait = || {
            journal.note(a, stream(1));
            Ok(())
        };
        journal.wait(stream(1), wait).expect("the wait succeeds");
        assert_eq!(journal.launched(), ["a"]);
    }

    #[test]
    fn the_ring_keeps_the_latest() {
        let journal = Journal::new();
        for index in 0..LENGTH + 2 {
            let kernel = journal.number(&index.to_string());
            journal.note(kernel, stream(1));
        }
        let launched = journal.launched();
        assert_eq!((launched.len(), launched[0].as_str()), (LENGTH, "2"));
    }

    #[test]
    fn a_context_has_one_journal_while_somebody_holds_it() {
        let (first, again) = (Journal::of_handle(0x51), Journal::of_handle(0x51));
        assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &Journal::of_handle(0x52)));
        let name = first.number("a");
        first.note(name, stream(1));
        drop((first, again));
        assert!(Journal::of_handle(0x51).launched().is_empty());
    }
}
