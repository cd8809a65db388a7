//! Who touched each byte of global memory, over all blocks: names both sides of a race between blocks.
//!
//! Used where blocks run in order, one after the other, once [`Ranges`](super::race::Ranges) has told that there is
//! something to find. A byte remembers its last store, its first and its last load since then; blocks come in
//! ascending order, so two loads by different blocks are always told apart.

use std::collections::HashMap;

use super::decode::NONE;
use super::finding::{Kind, Other, Sink, Where};
use super::memory::Memory;
use super::race::{Access, Mode};

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
    pages: HashMap<(u32, u64), Vec<Cell>>,
}

impl Shadow {
    /// Adds a log of a block, in order.
    pub(crate) fn add(&mut self, log: &[Access], block: u64, memory: &Memory, sink: &mut Sink) {
        for access in log.iter().filter(|access| access.buffer != NONE) {
            self.events.push(Event { block, access: *access });
            let id = self.events.len() as u32;
            for byte in access.start..access.end {
                let page = self.pages.entry((access.buffer, byte / PAGE));
                let cells = page.or_insert_with(|| vec![Cell::default(); PAGE as usize]);
                let cell = &mut cells[(byte % PAGE) as usize];
                let before = *cell;
                match access.mode {
                    Mode::Write | Mode::Atomic => {
                        *cell = Cell { store: id, nc_load: cell.nc_load, ..Cell::default() }
                    }
                    Mode::Read | Mode::ReadNc => {
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
                    check(&self.events, id, before, byte, memory, sink);
                }
            }
        }
    }
}

/// Reports what the new access conflicts with.
fn check(events: &[Event], id: u32, before: Cell, byte: u64, memory: &Memory, sink: &mut Sink) {
    let event = |id: u32| events.get((id as usize).wrapping_sub(1));
    let Some(new) = event(id) else { return };
    let stores = matches!(new.access.mode, Mode::Write | Mode::Atomic);
    let place = {
        let head = memory.buffers[new.access.buffer as usize].head as i64;
        Where::Global(new.access.buffer, byte as i64 - head)
    };
    let side = new.side(byte);
    let candidates = [before.store, before.first_load, before.last_load];
    let against = if stores { &candidates[..] } else { &candidates[..1] };
    for other in against.iter().filter_map(|id| event(*id)) {
        let both_atomic = other.access.mode == Mode::Atomic && new.access.mode == Mode::Atomic;
        if other.block != new.block && !both_atomic {
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
