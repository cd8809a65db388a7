//! What the detectors found: deduplicated by instruction and kind, the first occurrence kept in full.

use std::collections::BTreeMap;
use std::fmt;

use crate::ir::Place;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)*) => {
        /// What is wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $kind,)* }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind,)*];

            /// A short stable name.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    /// An access beyond either end of a buffer or shared array.
    OutOfBounds "out-of-bounds",
    /// An address that is not a multiple of the access's size (of the whole vector).
    Misaligned "misaligned",
    /// An access through a pointer to one buffer that lands in another one.
    CrossBuffer "cross-buffer",
    /// An address where no buffer is, null among them.
    InvalidAddress "invalid-address",
    /// A read of a register that the thread has not written.
    UninitRegister "uninitialized-register",
    /// A read of shared memory that nobody has written.
    UninitShared "uninitialized-shared",
    /// A read of global memory that nobody has written.
    UninitGlobal "uninitialized-global",
    /// A store to a buffer that the kernel may only read.
    ReadOnlyWrite "read-only-write",
    /// A load through the read-only data path from memory that the same launch writes.
    NonCoherentRead "non-coherent-read",
    /// Two accesses to the same shared memory by different threads, one of them a store, that nothing orders.
    SharedRace "shared-race",
    /// The same in global memory, within a block or between blocks.
    GlobalRace "global-race",
    /// A barrier that only some threads of a warp execute together.
    DivergentBarrier "divergent-barrier",
    /// A barrier that not all threads of the block reach, because some have ended.
    PartialBarrier "partial-barrier",
    /// A lane that an exchange within the warp reads from, or waits for, does not take part in it.
    AbsentLane "absent-lane",
    /// A lane executes an exchange whose member mask does not name it, or the masks of its members differ.
    MemberMask "member-mask",
    /// An access to shared memory that meets an asynchronous copy which the thread that started it has not waited for.
    UnfinishedCopy "unfinished-copy",
    /// A branch marked as uniform that divides a warp.
    DivergentUniform "divergent-uniform-branch",
    /// Threads wait for something that cannot happen any more.
    Deadlock "deadlock",
    /// A warp executes more instructions than the budget allows.
    Budget "budget-exceeded",
    /// The kernel executes `trap`.
    Trap "trap",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of detectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detectors(u32);

impl Default for Detectors {
    fn default() -> Detectors {
        Detectors::ALL
    }
}

impl Detectors {
    /// All of them.
    pub const ALL: Detectors = Detectors(u32::MAX);

    /// These without one.
    pub const fn without(self, kind: Kind) -> Detectors {
        Detectors(self.0 & !(1 << kind as u8))
    }

    /// Whether one is in the set.
    pub const fn has(self, kind: Kind) -> bool {
        self.0 >> kind as u8 & 1 == 1
    }
}

/// A thread of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Thread {
    /// Index of its block in the grid.
    pub block: [u32; 3],
    /// Its index in the block.
    pub thread: [u32; 3],
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bx, by, bz] = self.block;
        let [x, y, z] = self.thread;
        write!(f, "block ({bx},{by},{bz}) thread ({x},{y},{z})")
    }
}

/// The other side of a finding: what it conflicts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// The thread.
    pub at: Thread,
    /// Text of the instruction.
    pub instruction: String,
    /// The author's place.
    pub place: Place,
}

/// A detector's finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// The kernel.
    pub kernel: String,
    /// The first thread in which it happened, by block then by time.
    pub at: Thread,
    /// Text of the instruction.
    pub instruction: String,
    /// The author's place.
    pub place: Place,
    /// The buffer or shared array.
    pub buffer: Option<String>,
    /// Bytes from the beginning of the buffer or shared array; negative before it.
    pub offset: Option<i64>,
    /// What it conflicts with.
    pub related: Option<Related>,
    /// The details, with value and limit.
    pub message: String,
    /// How often it happened, counted per thread.
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}, {}: {}", self.place, self.kind, self.kernel, self.at, self.message)?;
        match (&self.buffer, self.offset) {
            (Some(buffer), Some(offset)) => write!(f, ", `{buffer}` at byte {offset}")?,
            (Some(buffer), None) => write!(f, ", `{buffer}`")?,
            (None, _) => {}
        }
        if self.count > 1 {
            write!(f, " ({} times)", self.count)?;
        }
        write!(f, "\n    {}", self.instruction)?;
        if let Some(related) = &self.related {
            write!(f, "\n  {}: against {}\n    {}", related.place, related.at, related.instruction)?;
        }
        Ok(())
    }
}

/// Memory that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    Nowhere,
    /// A buffer and the offset from its first byte.
    Global(u32, i64),
    /// An address in shared memory.
    Shared(i64),
    /// A register of the entry.
    Register(u32),
}

/// The other side of a raw finding: block, thread index within the block, instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Other {
    pub(crate) block: u64,
    pub(crate) thread: u32,
    pub(crate) inst: u32,
}

/// A finding while the kernel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) kind: Kind,
    pub(crate) inst: u32,
    pub(crate) block: u64,
    pub(crate) thread: u32,
    pub(crate) memory: Where,
    pub(crate) related: Option<Other>,
    pub(crate) message: String,
}

/// What one worker found. Merging is independent of who found what.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    detectors: Detectors,
    /// By kind and the instructions of both sides in text order.
    found: BTreeMap<(Kind, u32, u32), (Raw, u64)>,
}

impl Sink {
    pub(crate) fn new(detectors: Detectors) -> Sink {
        Sink { detectors, found: BTreeMap::new() }
    }

    /// Reports a finding; `raw` is called if it is the first of its kind at this instruction in the lowest block.
    pub(crate) fn report(
        &mut self,
        kind: Kind,
        inst: u32,
        block: u64,
        other: Option<Other>,
        raw: impl FnOnce() -> (u32, Where, String),
    ) {
        if !self.detectors.has(kind) {
            return;
        }
        // The two sides of a race are one finding, whichever came first.
        let key = (
            kind,
            inst.min(other.map_or(inst, |other| other.inst)),
            other.map_or(inst, |other| other.inst.max(inst)),
        );
        let make =
            |(thread, memory, message)| Raw { kind, inst, block, thread, memory, related: other, message };
        match self.found.get_mut(&key) {
            Some((first, count)) => {
                *count += 1;
                if block < first.block {
                    *first = make(raw());
                }
            }
            None => {
                self.found.insert(key, (make(raw()), 1));
            }
        }
    }

    /// Adds what another worker found.
    pub(crate) fn merge(&mut self, other: Sink) {
        for (key, (raw, count)) in other.found {
            match self.found.get_mut(&key) {
                Some((first, total)) => {
                    *total += count;
                    if raw.block < first.block {
                        *first = raw;
                    }
                }
                None => {
                    self.found.insert(key, (raw, count));
                }
            }
        }
    }

    /// Everything found, with counts, by block, kind and instruction.
    pub(crate) fn into_findings(self) -> Vec<(Raw, u64)> {
        let mut all: Vec<_> = self.found.into_values().collect();
        all.sort_by_key(|(raw, _)| (raw.kind, raw.block, raw.inst, raw.related.map(|other| other.inst)));
        all
    }
}
