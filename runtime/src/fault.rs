//! Where a test makes an operation of the system or of the driver fail. Outside tests every point is nothing.

/// An operation that may be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// Opening a cached file.
    Open,
    /// Reading it.
    Read,
    /// Writing a new one; half of it is written before the failure.
    Write,
    /// Losing the second half of a new file without anybody being told, as a power cut does.
    Tear,
    /// Giving it its name.
    Rename,
    /// Listing the folder.
    List,
    /// Starting the driver.
    Init,
}

/// Whether the operation fails here, with a code of the caller's own meaning.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn at(_: Point) -> Option<u32> {
    None
}

#[cfg(test)]
pub(crate) use injected::{at, with};

#[cfg(test)]
mod injected {
    use super::Point;
    use std::cell::Cell;

    thread_local! {
        static FAULT: Cell<Option<(Point, u32)>> = const { Cell::new(None) };
    }

    pub(crate) fn at(point: Point) -> Option<u32> {
        FAULT.get().filter(|(known, _)| *known == point).map(|(_, code)| code)
    }

    /// Runs `work` with an operation failing on this thread.
    pub(crate) fn with<T>(point: Point, code: u32, work: impl FnOnce() -> T) -> T {
        struct Restore(Option<(Point, u32)>);
        impl Drop for Restore {
            fn drop(&mut self) {
                FAULT.set(self.0);
            }
        }
        let _restore = Restore(FAULT.replace(Some((point, code))));
        work()
    }
}
