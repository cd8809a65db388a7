//! Data races: accesses to the same byte by different threads, one of them a store, that nothing orders.
//!
//! A block logs its accesses, one entry for each run of lanes that touch consecutive addresses. At every barrier of the
//! whole block the log is examined and cleared, since such a barrier orders everything before it and behind it. What is
//! found is exact for the executed accesses; no order of warps is tried out, none is needed.
//!
//! * Two lanes of a warp are two threads. Their accesses are ordered by `bar.warp.sync` and by an exchange
//!   (`shfl.sync`, `vote.sync`, …) of all active lanes in between, never by lock step.
//! * Barriers of some warps order those warps, by vector clocks.
//! * Lanes of one store that write the same value to the same address do not race; the device picks one of them.
//! * Two strong accesses (atomic, volatile, with a scope) do not race. Releases and acquires order warps as barriers do.
//!
//! Between blocks nothing is ordered while a kernel runs, so ranges suffice: [`Ranges`] keeps for each block what it
//! read and wrote.

use super::decode::NONE;

/// Warps of a block.
pub(crate) const WARPS: usize = 32;

/// For each warp, the last of its clock values that is ordered before now.
pub(crate) type Order = [u32; WARPS];

/// Entries at one place that are compared with what follows. More of them come from loops that use one place over and
/// over, whose later rounds repeat what the first ones show; the bound keeps the time linear.
const MOST_OVERLAPPING: usize = 2048;

/// Orders what a release of its location left there before what follows.
pub(crate) const ACQUIRE: u8 = 1;
/// Orders what came before it before what follows an acquire of its location.
pub(crate) const RELEASE: u8 = 2;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Mode {
    Read,
    /// Through the read-only data path.
    ReadNc,
    Write,
    /// Reads and writes.
    Atomic,
    /// A load that is volatile or has a scope.
    StrongRead,
    /// Such a store.
    StrongWrite,
    /// A fence; no access at all.
    Fence,
}

impl Mode {
    /// Every mode, in order.
    const ALL: [Mode; 7] = [
        Mode::Read,
        Mode::ReadNc,
        Mode::Write,
        Mode::Atomic,
        Mode::StrongRead,
        Mode::StrongWrite,
        Mode::Fence,
    ];

    /// Only reads.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Mode::Read | Mode::ReadNc | Mode::StrongRead)
    }

    /// Whether two accesses by different threads race if nothing orders them.
    pub(crate) fn conflicts(self, other: Mode) -> bool {
        let fence = self == Mode::Fence || other == Mode::Fence;
        let strong = |mode| matches!(mode, Mode::Atomic | Mode::StrongRead | Mode::StrongWrite);
        !(fence || self.reads() && other.reads() || strong(self) && strong(other))
    }
}

/// The accesses of a run of lanes in one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// Buffer; [`NONE`] for shared memory.
    pub(crate) buffer: u32,
    pub(crate) mode: Mode,
    pub(crate) warp: u8,
    /// First lane.
    pub(crate) lane: u8,
    /// Bytes of each lane.
    pub(crate) width: u8,
    /// Bytes touched: lane `lane + i` touches `width` bytes at `start + i * width`; if `mask` is not 0, its lanes all
    /// touch the same bytes.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) mask: u32,
    pub(crate) inst: u32,
    /// The warp's clock.
    pub(crate) clock: u32,
    /// What is ordered before it: index of an [`Order`].
    pub(crate) order: u32,
    /// [`ACQUIRE`] and [`RELEASE`], where it orders accesses of several blocks.
    pub(crate) sync: u8,
}

impl Access {
    /// The lanes that touch `byte`.
    fn lanes(&self, byte: u64) -> u32 {
        if self.mask != 0 {
            self.mask
        } else {
            1 << (u64::from(self.lane) + (byte - self.start) / u64::from(self.width))
        }
    }

    /// Orders entries by place; equal ones but for `index` are the same threads at the same place and time.
    fn key(&self, index: u32) -> (u32, u64, u64, Mode, u8, u8, u32, u32, u32, u32) {
        let Access { buffer, start, end, mode, warp, lane, mask, clock, order, .. } = *self;
        (buffer, start, end, mode, warp, lane, mask, clock, order, index)
    }

    fn thread(&self, lane: u32) -> u32 {
        u32::from(self.warp) * 32 + lane
    }
}

/// Two accesses that race: threads and instructions, the later one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Race {
    pub(crate) buffer: u32,
    pub(crate) byte: u64,
    pub(crate) thread: u32,
    pub(crate) inst: u32,
    pub(crate) other_thread: u32,
    pub(crate) other_inst: u32,
}

/// Races between the entries of a log.
pub(crate) fn races(entries: &[Access], orders: &[Order], mut found: impl FnMut(Race)) {
    if entries.iter().all(|entry| entry.mode.reads()) {
        return;
    }
    let mut sorted: Vec<u32> = (0..entries.len() as u32).collect();
    sorted.sort_unstable_by_key(|i| entries[*i as usize].key(*i));
    // A thread that comes back to the same place, as in a loop, says nothing new.
    sorted.dedup_by_key(|i| entries[*i as usize].key(0));
    // Entries that may reach into what follows, the reading ones apart: readers need not be compared with readers.
    let (mut readers, mut writers): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for &i in &sorted {
        let entry = &entries[i as usize];
        let alive = |j: &u32| {
            let other = &entries[*j as usize];
            other.buffer == entry.buffer && other.end > entry.start
        };
        readers.retain(alive);
        writers.retain(alive);
        let reads = entry.mode.reads();
        let against = writers.iter().chain(if reads { [].iter() } else { readers.iter() });
        for &j in against {
            let (first, second) = (&entries[i.min(j) as usize], &entries[i.max(j) as usize]);
            if let Some(race) = race(first, second, orders) {
                found(race);
            }
        }
        let list = if reads { &mut readers } else { &mut writers };
        if list.len() < MOST_OVERLAPPING {
            list.push(i);
        }
    }
}

/// Whether two overlapping accesses race. `second` came later in the emulator's order.
fn race(first: &Access, second: &Access, orders: &[Order]) -> Option<Race> {
    if !first.mode.conflicts(second.mode) {
        return None;
    }
    let make = |byte: u64, other_lane: u32, lane: u32| Race {
        buffer: second.buffer,
        byte,
        thread: second.thread(lane),
        inst: second.inst,
        other_thread: first.thread(other_lane),
        other_inst: first.inst,
    };
    let (start, end) = (first.start.max(second.start), first.end.min(second.end));
    if first.warp != second.warp {
        let before = |a: &Access, b: &Access| {
            orders.get(b.order as usize).is_some_and(|order| order[usize::from(a.warp)] >= a.clock)
        };
        if before(first, second) || before(second, first) {
            return None;
        }
        return Some(make(start, first.lanes(start).trailing_zeros(), second.lanes(start).trailing_zeros()));
    }
    if first.clock != second.clock {
        return None;
    }
    let same_lanes = first.mask == 0
        && second.mask == 0
        && first.width == second.width
        && first.start.wrapping_sub(u64::from(first.lane) * u64::from(first.width))
            == second.start.wrapping_sub(u64::from(second.lane) * u64::from(second.width));
    if same_lanes {
        return None;
    }
    let step = u64::from(first.width.min(second.width).max(1));
    let mut byte = start;
    while byte < end {
        let (a, b) = (first.lanes(byte), second.lanes(byte));
        if a != b || a.count_ones() > 1 {
            // At least two different lanes: take one of `b` and another one of `a`.
            let lane = (b & !a).checked_ilog2().unwrap_or(b.trailing_zeros());
            let other = (a & !(1 << lane)).trailing_zeros();
            if other < 32 {
                return Some(make(byte, other, lane));
            }
            let other = a.trailing_zeros();
            let lane = (b & !(1 << other)).trailing_zeros();
            return Some(make(byte, other, lane));
        }
        byte += step;
    }
    None
}

/// A range of bytes that a block touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    pub(crate) buffer: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) mode: Mode,
    pub(crate) block: u64,
}

/// The ranges of global memory that blocks touched.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// Those of the present block, not yet merged.
    pub(crate) open: Vec<Range>,
    closed: Vec<Range>,
}

impl Ranges {
    /// Adds a log's accesses to global memory.
    pub(crate) fn add(&mut self, entries: &[Access], block: u64) {
        for entry in entries {
            if entry.buffer == NONE {
                continue;
            }
            let range =
                Range { buffer: entry.buffer, start: entry.start, end: entry.end, mode: entry.mode, block };
            match self.open.last_mut() {
                Some(last)
                    if last.buffer == range.buffer && last.mode == range.mode && last.end == range.start =>
                {
                    last.end = range.end;
                }
                _ => self.open.push(range),
            }
        }
    }

    /// Ends a block: joins what touches or overlaps.
    pub(crate) fn close(&mut self) {
        self.open.sort_unstable_by_key(|range| (range.buffer, range.mode, range.start, range.end));
        let first = self.closed.len();
        for range in self.open.drain(..) {
            match self.closed[first..].last_mut() {
                Some(last)
                    if last.buffer == range.buffer && last.mode == range.mode && last.end >= range.start =>
                {
                    last.end = last.end.max(range.end);
                }
                _ => self.closed.push(range),
            }
        }
    }

    /// Adds another worker's ranges.
    pub(crate) fn merge(&mut self, mut other: Ranges) {
        self.closed.append(&mut other.closed);
    }

    /// Whether the order of two blocks matters, atomic accesses included, or one loads through the read-only path what any block stores.
    pub(crate) fn conflict(&mut self) -> bool {
        self.closed.sort_unstable();
        let mut reach = [Reach::default(); Mode::ALL.len()];
        let mut buffer = NONE;
        for range in &self.closed {
            if range.buffer != buffer {
                buffer = range.buffer;
                reach = [Reach::default(); Mode::ALL.len()];
            }
            for (mode, reach) in Mode::ALL.iter().zip(&reach) {
                let own = *mode == Mode::ReadNc || range.mode == Mode::ReadNc;
                let matters = !(mode.reads() && range.mode.reads());
                if matters && reach.reaches(range, own) {
                    return true;
                }
            }
            reach[range.mode as usize].add(range);
        }
        false
    }
}

/// How far the ranges so far reach: the farthest one, and the farthest one of another block.
#[derive(Debug, Clone, Copy, Default)]
struct Reach {
    best: Option<(u64, u64)>,
    second: Option<(u64, u64)>,
}

impl Reach {
    fn reaches(&self, range: &Range, own: bool) -> bool {
        [self.best, self.second]
            .iter()
            .flatten()
            .any(|(end, block)| *end > range.start && (own || *block != range.block))
    }

    fn add(&mut self, range: &Range) {
        let new = (range.end, range.block);
        match self.best {
            None => self.best = Some(new),
            Some((end, block)) if block == new.1 => self.best = Some((end.max(new.0), block)),
            Some(best) if new.0 > best.0 => {
                self.second = Some(best);
                self.best = Some(new);
            }
            Some(_) if self.second.is_none_or(|(end, _)| new.0 > end) => self.second = Some(new),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(mode: Mode, warp: u8, lane: u8, start: u64, lanes: u64) -> Access {
        Access {
            buffer: 0,
            mode,
            warp,
            lane,
            width: 4,
            start,
            end: start + 4 * lanes,
            mask: 0,
            inst: u32::from(warp),
            clock: 1,
            order: 0,
            sync: 0,
        }
    }

    fn count(entries: &[Access], orders: &[Order]) -> usize {
        let mut found = 0;
        races(entries, orders, |_| found += 1);
        found
    }

    #[test]
    fn threads_of_different_warps_race_unless_ordered() {
        let none = [[0; WARPS]];
        let write = access(Mode::Write, 0, 0, 0, 32);
        let read = access(Mode::Read, 1, 0, 64, 32);
        assert_eq!(count(&[write, read], &none), 1);
        assert_eq!(count(&[read, read], &none), 0);
        assert_eq!(count(&[write, Access { start: 128, end: 256, ..read }], &none), 0);
        let mut after = [0; WARPS];
        after[0] = 1;
        assert_eq!(count(&[write, Access { order: 1, ..read }], &[[0; WARPS], after]), 0);
        let atomic = Access { mode: Mode::Atomic, ..write };
        assert_eq!(count(&[atomic, Access { mode: Mode::Atomic, ..read }], &none), 0);
        assert_eq!(count(&[atomic, read], &none), 1);
    }

    #[test]
    fn lanes_of_a_warp_race_unless_they_are_one_thread() {
        let none = [[0; WARPS]];
        let write = access(Mode::Write, 0, 0, 0, 32);
        let same = access(Mode::Read, 0, 0, 0, 32);
        let shifted = access(Mode::Read, 0, 0, 4, 31);
        let all = Access { mask: u32::MAX, end: 4, ..same };
        assert_eq!(count(&[write, same], &none), 0);
        assert_eq!(count(&[write, shifted], &none), 1);
        assert_eq!(count(&[write, Access { clock: 2, ..shifted }], &none), 0);
        assert_eq!(count(&[write, all], &none), 1);
        assert_eq!(count(&[write, Access { mask: 1, ..all }], &none), 0);
        assert_eq!(count(&[write, Access { mask: 2, ..all }], &none), 1);
    }

    fn ranges(list: &[(u64, Mode, u64, u64)]) -> Ranges {
        let mut ranges = Ranges::default();
        for (block, mode, start, end) in list {
            ranges.open.push(Range { buffer: 0, start: *start, end: *end, mode: *mode, block: *block });
            ranges.close();
        }
        ranges
    }

    #[test]
    fn blocks_conflict_where_one_stores() {
        use Mode::{Atomic, Read, ReadNc, Write};
        assert!(!ranges(&[(0, Write, 0, 4), (1, Write, 4, 8), (0, Read, 0, 4)]).conflict());
        assert!(ranges(&[(0, Write, 0, 4), (1, Write, 3, 8)]).conflict());
        assert!(ranges(&[(0, Read, 0, 100), (1, Read, 0, 8), (2, Write, 90, 91)]).conflict());
        assert!(ranges(&[(1, Write, 0, 100), (1, Write, 10, 20), (0, Read, 50, 51)]).conflict());
        assert!(!ranges(&[(0, Read, 0, 100), (1, Read, 0, 8)]).conflict());
        // No race, but who comes first matters.
        assert!(ranges(&[(0, Atomic, 0, 4), (1, Atomic, 0, 4)]).conflict());
        assert!(!ranges(&[(0, Atomic, 0, 4), (0, Atomic, 0, 4), (1, Atomic, 4, 8)]).conflict());
        assert!(ranges(&[(0, ReadNc, 0, 4), (0, Write, 0, 4)]).conflict());
    }
}
