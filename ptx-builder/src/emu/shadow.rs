//! Who touched each byte of global memory, over all blocks: names both sides of a race between blocks.
//!
//! Used where blocks run in order, one after the other, once [`Ranges`](super::race::Ranges) has told that there is
//! something to find. A byte remembers its last store, its first and its last load since then; blocks come in
//! ascending order, so two loads by different blocks are always told apart.

use super::decode::NONE;
use super::finding::{Kind, Other, Sink, Where};
use super::memory::Memory;
use super::race::{ACQUIRE, Access, Mode, RELEASE, WARPS};
use crate::hash::FastMap;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// An access of one lane, as an index into [`Shadow::events`] plus one; 0 for none.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    store: u32,
    first_load: u32,
    last_load: u32,
    nc_load: u32,
}

#[derive(Debug, Clone, Copy)]
struct Event {
    block: u64,
    access: Access,
}

impl Event {
    fn side(&self, byte: u64) -> Other {
        let lane = if self.access.mask != 0 {
            self.access.mask.trailing_zeros()
        } else {
            u32::from(self.access.lane) + ((byte - self.access.start) / u64::from(self.access.width)) as u32
        };
        Other { block: self.block, thread: u32::from(self.access.warp) * 32 + lane, inst: self.access.inst }
    }
}

/// The record.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    events: Vec<Event>,
    pages: FastMap<(u32, u64), Vec<Cell>>,
    /// What releases left at their locations.
    releases: FastMap<(u32, u64), Known>,
    /// The present block, what is ordered before it, and the state of its warps.
    block: u64,
    known: Known,
    fences: [Option<u32>; WARPS],
    pending: Vec<(usize, Known)>,
}

/// For each block, how many events are ordered before.
type Known = FastMap<u64, u32>;

fn join(known: &mut Known, other: &Known) {
    for (block, time) in other {
        let own = known.entry(*block).or_insert(0);
        *own = (*own).max(*time);
    }
}

impl Shadow {
    /// Adds a log of a block, in order.
    pub(crate) fn add(&mut self, log: &[Access], block: u64, memory: &Memory, sink: &mut Sink) {
        if block != self.block {
            self.block = block;
            self.known.clear();
            self.fences = [None; WARPS];
            self.pending.clear();
        }
        for access in log {
            if access.mode == Mode::Fence {
                self.fence(usize::from(access.warp) % WARPS);
            }
            if access.buffer == NONE {
                continue;
            }
            self.strong(access);
            self.events.push(Event { block, access: *access });
            let id = self.events.len() as u32;
            for byte in access.start..access.end {
                let page = self.pages.entry((access.buffer, byte / PAGE));
                let cells = page.or_insert_with(|| vec![Cell::default(); PAGE as usize]);
                let cell = &mut cells[(byte % PAGE) as usize];
                let before = *cell;
                match access.mode {
                    Mode::Fence => {}
                    Mode::Write | Mode::Atomic | Mode::StrongWrite => {
                        *cell = Cell { store: id, nc_load: cell.nc_load, ..Cell::default() }
                    }
                    Mode::Read | Mode::ReadNc | Mode::StrongRead => {
                        cell.last_load = id;
                        if cell.first_load == 0 {
                            cell.first_load = id;
                        }
                        if access.mode == Mode::ReadNc && cell.nc_load == 0 {
                            cell.nc_load = id;
                        }
                    }
                }
                let step = u64::from(access.width.max(1));
                if (byte - access.start) % step == 0 || byte == access.start {
                    check(&self.events, &self.known, (id, before), byte, memory, sink);
                }
            }
        }
    }

    /// A fence of a warp: takes over what its reads have found, and marks what its later writes release.
    fn fence(&mut self, warp: usize) {
        let known = &mut self.known;
        self.pending.retain(|(of, found)| {
            if *of == warp {
                join(known, found);
            }
            *of != warp
        });
        self.fences[warp] = Some(self.events.len() as u32);
    }

    /// What a strong access acquires and releases. Within a block its barriers and fences tell what is ordered, so that
    /// the block counts as a whole here.
    fn strong(&mut self, access: &Access) {
        if !matches!(access.mode, Mode::Atomic | Mode::StrongRead | Mode::StrongWrite) {
            return;
        }
        let warp = usize::from(access.warp) % WARPS;
        let places = (access.start..access.end).step_by(usize::from(access.width.max(1)));
        for place in places {
            let place = (access.buffer, place);
            if let Some(found) = self.releases.get(&place).filter(|_| access.mode != Mode::StrongWrite) {
                if access.sync & ACQUIRE != 0 {
                    join(&mut self.known, found);
                } else {
                    self.pending.push((warp, found.clone()));
                }
            }
            if access.mode == Mode::StrongRead {
                continue;
            }
            let now = self.events.len() as u32;
            let time = if access.sync & RELEASE != 0 { Some(now) } else { self.fences[warp] };
            if let Some(time) = time {
                let left = self.releases.entry(place).or_default();
                join(left, &self.known);
                left.insert(self.block, time);
            }
        }
    }
}

/// Reports what the new access conflicts with.
fn check(
    events: &[Event],
    known: &Known,
    (id, before): (u32, Cell),
    byte: u64,
    memory: &Memory,
    sink: &mut Sink,
) {
    let event = |id: u32| events.get((id as usize).wrapping_sub(1));
    let Some(new) = event(id) else { return };
    let stores = !new.access.mode.reads();
    let place = {
        let head = memory.buffers[new.access.buffer as usize].head as i64;
        Where::Global(new.access.buffer, byte as i64 - head)
    };
    let side = new.side(byte);
    let candidates = [before.store, before.first_load, before.last_load];
    let against = if stores { &candidates[..] } else { &candidates[..1] };
    for (id, other) in against.iter().filter_map(|id| Some((*id, event(*id)?))) {
        let ordered = known.get(&other.block).is_some_and(|time| *time >= id);
        if other.block != new.block && !ordered && other.access.mode.conflicts(new.access.mode) {
            sink.report(Kind::GlobalRace, side.inst, side.block, Some(other.side(byte)), || {
                (side.thread, place, "nothing orders two blocks of one launch".to_owned())
            });
            break;
        }
    }
    let nc = if new.access.mode == Mode::ReadNc {
        event(before.store)
    } else if stores {
        event(before.nc_load)
    } else {
        None
    };
    if let Some(other) = nc {
        sink.report(Kind::NonCoherentRead, side.inst, side.block, Some(other.side(byte)), || {
            (side.thread, place, "the read-only data path and a store meet in one launch".to_owned())
        });
    }
}
