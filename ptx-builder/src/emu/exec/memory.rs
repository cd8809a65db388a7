//! Loads and stores, with their checks.
//!
//! An access that cannot be carried out (out of bounds, misaligned, read-only) is reported lane by lane; the run goes on:
//! a load gives 0, a store is dropped. A load of bytes that nobody has written is reported and gives what is there.

use super::pattern::{Runs, sectors, wavefronts};
use super::transfer::{fetch, put, value};
use super::{At, Block, Env, Warp, copy, sync};
use crate::emu::bits::Bits;
use crate::emu::decode::{AddrBase, MemOp, NONE, Ordering, Slot, Space};
use crate::emu::finding::{Kind, Other, Where};
use crate::emu::lane::{LANES, RegFile};
use crate::emu::memory::{Access as Rights, Resolved};
use crate::emu::race::{ACQUIRE, Access, Mode, RELEASE};

/// Lanes whose access can be carried out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spot {
    pub(super) lane: u32,
    pub(super) lanes: u32,
    /// Buffer; [`NONE`] for shared memory.
    pub(super) buffer: u32,
    /// First byte within the storage.
    pub(super) byte: usize,
}

/// The places of one instruction's lanes.
#[derive(Debug, Default)]
pub(super) struct Spots {
    /// The only one, where there are neither none nor several.
    one: Option<Spot>,
    many: Vec<Spot>,
}

impl Spots {
    pub(super) fn as_slice(&self) -> &[Spot] {
        if self.many.is_empty() { self.one.as_slice() } else { &self.many }
    }

    fn push(&mut self, spot: Spot) {
        match self.one {
            None if self.many.is_empty() => self.one = Some(spot),
            None => self.many.push(spot),
            Some(first) => {
                self.many.reserve_exact(LANES);
                self.many.extend([first, spot]);
                self.one = None;
            }
        }
    }
}

/// Why an access cannot be carried out.
pub(super) struct Problem {
    kind: Kind,
    memory: Where,
}

pub(super) fn addresses(regs: &RegFile, op: &MemOp) -> [u64; LANES] {
    match op.base {
        AddrBase::None => [op.offset; LANES],
        AddrBase::W32(at) => regs.w32[at as usize].map(|base| u64::from(base).wrapping_add(op.offset)),
        AddrBase::W64(at) => regs.w64[at as usize].map(|base| base.wrapping_add(op.offset)),
    }
}

/// The runs of an access by the active lanes.
pub(super) fn runs(regs: &RegFile, op: &MemOp, active: u32) -> Runs {
    let whole = match op.base {
        AddrBase::W64(at) if active == u32::MAX => Runs::whole(&regs.w64[at as usize], op.offset, op.bytes),
        AddrBase::W32(at) if active == u32::MAX => Runs::whole(&regs.w32[at as usize], op.offset, op.bytes),
        AddrBase::None | AddrBase::W32(_) | AddrBase::W64(_) => None,
    };
    whole.unwrap_or_else(|| Runs::of(&addresses(regs, op), active, op.bytes))
}

/// Where `total` bytes of accesses at `address` lie.
pub(super) fn locate(
    env: &Env<'_>,
    op: &MemOp,
    address: u64,
    total: u64,
    store: bool,
) -> Result<(u32, usize), Problem> {
    match op.space {
        Space::Global => {
            let (buffer, byte) = match env.memory.resolve(address, total) {
                Resolved::Inside { buffer, byte } => (buffer, byte),
                Resolved::Outside { buffer, offset } => {
                    let kind = match &op.origins {
                        Some(origins) if !origins.contains(&buffer) => Kind::CrossBuffer,
                        _ => Kind::OutOfBounds,
                    };
                    return Err(Problem { kind, memory: Where::Global(buffer, offset) });
                }
                Resolved::Unmapped => {
                    return Err(Problem { kind: Kind::InvalidAddress, memory: Where::Nowhere });
                }
            };
            let data = &env.memory.buffers[buffer as usize];
            let memory = Where::Global(buffer, byte as i64 - data.head as i64);
            if !address.is_multiple_of(u64::from(op.bytes)) {
                return Err(Problem { kind: Kind::Misaligned, memory });
            }
            if op.origins.as_ref().is_some_and(|origins| !origins.contains(&buffer)) {
                return Err(Problem { kind: Kind::CrossBuffer, memory });
            }
            if store && data.access == Rights::ReadOnly {
                return Err(Problem { kind: Kind::ReadOnlyWrite, memory });
            }
            Ok((buffer, byte))
        }
        Space::Shared => {
            let memory = Where::Shared(address as i64);
            let end = address.checked_add(total);
            let within = |start: u32, len: u32| {
                let (start, len) = (u64::from(start), u64::from(len));
                address >= start && end.is_some_and(|end| end <= start + len)
            };
            let inside = within(0, env.program.shared_bytes)
                && op.origins.as_ref().is_none_or(|arrays| {
                    arrays.iter().any(|array| {
                        let at = env.program.arrays[*array as usize];
                        within(at.start, at.len)
                    })
                });
            if !inside {
                return Err(Problem { kind: Kind::OutOfBounds, memory });
            }
            if !address.is_multiple_of(u64::from(op.bytes)) {
                return Err(Problem { kind: Kind::Misaligned, memory });
            }
            Ok((NONE, address as usize))
        }
    }
}

#[cold]
pub(super) fn report_problem(
    env: &mut Env<'_>,
    at: At,
    op: &MemOp,
    lane: u32,
    address: u64,
    store: bool,
    problem: &Problem,
) {
    let what = if store { "store" } else { "load" };
    let bytes = op.bytes;
    let memory = env.memory;
    let shared = env.program.shared_bytes;
    env.report(problem.kind, at, lane, problem.memory, || match (problem.kind, problem.memory) {
        (Kind::OutOfBounds, Where::Global(buffer, _)) => {
            format!(
                "{what} of {bytes} bytes outside of a buffer of {} bytes",
                memory.buffers[buffer as usize].len
            )
        }
        (Kind::OutOfBounds, _) if op.origins.is_some() => {
            format!("{what} of {bytes} bytes outside of the shared array")
        }
        (Kind::OutOfBounds, _) => {
            format!("{what} of {bytes} bytes outside of {shared} bytes of shared memory")
        }
        (Kind::Misaligned, _) => {
            format!("{what} of {bytes} bytes at address {address:#x}, not a multiple of {bytes}")
        }
        (Kind::CrossBuffer, _) => format!("{what} of {bytes} bytes through a pointer to another buffer"),
        (Kind::InvalidAddress, _) if address < 1 << 20 => {
            format!("{what} of {bytes} bytes at address {address:#x}, a null pointer with an offset")
        }
        (Kind::InvalidAddress, _) => {
            format!("{what} of {bytes} bytes at address {address:#x}, where no buffer is")
        }
        _ => format!("{what} of {bytes} bytes to a buffer that the kernel may only read"),
    });
}

/// Finds every lane's place; reports those that have none.
pub(super) fn place(env: &mut Env<'_>, at: At, op: &MemOp, active: u32, runs: &Runs, store: bool) -> Spots {
    let mut spots = Spots::default();
    for run in runs.as_slice() {
        let total = u64::from(run.lanes) * u64::from(op.bytes);
        match locate(env, op, run.address, total, store) {
            Ok((buffer, byte)) => {
                spots.push(Spot { lane: run.lane, lanes: run.lanes, buffer, byte });
            }
            Err(problem) if runs.uniform => {
                for lane in (0..32).filter(|lane| active >> lane & 1 == 1) {
                    report_problem(env, at, op, lane, run.address, store, &problem);
                }
            }
            Err(_) => {
                for lane in run.lane..run.lane + run.lanes {
                    let address = run.address.wrapping_add(u64::from(lane - run.lane) * u64::from(op.bytes));
                    match locate(env, op, address, u64::from(op.bytes), store) {
                        Ok((buffer, byte)) => {
                            spots.push(Spot { lane, lanes: 1, buffer, byte });
                        }
                        Err(problem) => report_problem(env, at, op, lane, address, store, &problem),
                    }
                }
            }
        }
    }
    spots
}

/// Counts a request.
pub(super) fn count(env: &mut Env<'_>, regs: &RegFile, op: &MemOp, runs: &Runs, inst: u32, active: u32) {
    let (moved, minimum) = match op.space {
        Space::Global => sectors(runs.as_slice(), op.bytes),
        Space::Shared => wavefronts(|| addresses(regs, op), active, runs, op.bytes),
    };
    let traffic = &mut env.counters.insts[inst as usize].traffic;
    traffic.requests += 1;
    traffic.bytes += u64::from(active.count_ones()) * u64::from(op.bytes);
    traffic.moved += moved;
    traffic.minimum += minimum;
}

/// Logs an access for the race detectors.
pub(super) fn log(block: &mut Block, warp: &Warp, op: &MemOp, spot: &Spot, mode: Mode, mask: u32, inst: u32) {
    let start = spot.byte as u64;
    let Ordering { acquire, release, wide, .. } = op.ordering;
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    block.log.push(Access {
        buffer: spot.buffer,
        mode,
        warp: warp.index as u8,
        lane: spot.lane as u8,
        width: op.bytes as u8,
        start,
        end: start + u64::from(spot.lanes) * u64::from(op.bytes),
        mask,
        inst,
        clock: warp.clock,
        order: warp.order,
        sync: if wide { bit(acquire, ACQUIRE) | bit(release, RELEASE) } else { 0 },
    });
}

/// The lanes whose access a spot holds.
pub(super) fn covered(spot: &Spot, uniform: bool, active: u32) -> u32 {
    if uniform { active } else { (u32::MAX >> (32 - spot.lanes)) << spot.lane }
}

/// Counts the bytes and sectors of a buffer that a spot touches.
pub(super) fn touch(env: &mut Env<'_>, op: &MemOp, spot: &Spot, lanes: u32, loads: bool, stores: bool) {
    let buffer = &env.memory.buffers[spot.buffer as usize];
    let bytes = u64::from(lanes.count_ones()) * u64::from(op.bytes);
    let end = spot.byte + spot.lanes as usize * op.bytes as usize;
    let (first, last) = ((spot.byte + buffer.skew) / 32, (end - 1 + buffer.skew) / 32);
    let touched = &env.touched[spot.buffer as usize];
    let (loaded, stored) = &mut env.counters.buffers[spot.buffer as usize];
    if loads {
        *loaded += bytes;
        touched.loaded.set(first, last + 1);
    }
    if stores {
        *stored += bytes;
        touched.stored.set(first, last + 1);
    }
}

/// Reports lanes that read bytes which nobody has written.
#[cold]
pub(super) fn report_uninit(env: &mut Env<'_>, at: At, op: &MemOp, spot: &Spot, init: &Bits, readers: u32) {
    let bytes = op.bytes as usize;
    for lane in (0..32).filter(|lane| readers >> lane & 1 == 1) {
        let step = if spot.lanes == 1 { 0 } else { (lane - spot.lane) as usize };
        let start = spot.byte + step * bytes;
        let Some(byte) = init.first_clear(start, start + bytes) else { continue };
        let (kind, memory) = if spot.buffer == NONE {
            (Kind::UninitShared, Where::Shared(byte as i64))
        } else {
            let head = env.memory.buffers[spot.buffer as usize].head;
            (Kind::UninitGlobal, Where::Global(spot.buffer, byte as i64 - head as i64))
        };
        env.report(kind, at, lane, memory, || format!("load of {bytes} bytes that nobody has written"));
    }
}

/// A load.
pub(super) fn load(
    env: &mut Env<'_>,
    block: &mut Block,
    warp: &mut Warp,
    op: &MemOp,
    inst: u32,
    active: u32,
) {
    let runs = runs(&warp.regs, op, active);
    count(env, &warp.regs, op, &runs, inst, active);
    let at = At { block: block.linear, warp: warp.index, inst };
    let spots = place(env, at, op, active, &runs, false);
    let (read, nc) = if op.ordering.strong { (Mode::StrongRead, false) } else { (Mode::Read, op.nc) };
    let mut done = 0;
    for spot in spots.as_slice() {
        let readers = covered(spot, runs.uniform, active);
        done |= readers;
        let bytes = spot.lanes as usize * op.bytes as usize;
        let end = spot.byte + bytes;
        let mask = if runs.uniform { active } else { 0 };
        sync::strong(block, warp, op, spot, true, false);
        if spot.buffer == NONE {
            let pending = copy::meets(env, block, at, spot.byte..end, readers, false);
            if !pending && !block.shared_init.all(spot.byte, end) {
                report_uninit(env, at, op, spot, &block.shared_init, readers);
            }
            log(block, warp, op, spot, read, mask, inst);
            fetch(&block.shared, &mut warp.regs, op, spot, runs.uniform, active);
        } else {
            let memory = env.memory;
            let buffer = &memory.buffers[spot.buffer as usize];
            if !buffer.complete && !buffer.init.all(spot.byte, end) {
                report_uninit(env, at, op, spot, &buffer.init, readers);
            }
            if buffer.access != Rights::ReadOnly {
                log(block, warp, op, spot, if nc { Mode::ReadNc } else { read }, mask, inst);
            }
            touch(env, op, spot, readers, true, false);
            fetch(&buffer.words, &mut warp.regs, op, spot, runs.uniform, active);
        }
    }
    let failed = active & !done;
    if failed != 0 {
        for slot in &op.regs {
            warp.regs.fill(slot.class, slot.at, 0, failed);
        }
    }
}

/// A store.
pub(super) fn store(
    env: &mut Env<'_>,
    block: &mut Block,
    warp: &mut Warp,
    op: &MemOp,
    inst: u32,
    active: u32,
) {
    let runs = runs(&warp.regs, op, active);
    count(env, &warp.regs, op, &runs, inst, active);
    let at = At { block: block.linear, warp: warp.index, inst };
    let spots = place(env, at, op, active, &runs, true);
    let list = spots.as_slice();
    if runs.uniform && active.count_ones() > 1 || list.len() > 1 {
        overlaps(env, at, warp, op, active, list);
    }
    for spot in list {
        let end = spot.byte + spot.lanes as usize * op.bytes as usize;
        let mask = if runs.uniform { active } else { 0 };
        // The last lane's value stays where several lanes write one address.
        let lane = if runs.uniform { 31 - active.leading_zeros() } else { spot.lane };
        let from = Spot { lane, ..*spot };
        let mode = if op.ordering.strong { Mode::StrongWrite } else { Mode::Write };
        log(block, warp, op, spot, mode, mask, inst);
        sync::strong(block, warp, op, spot, false, true);
        if spot.buffer == NONE {
            copy::meets(env, block, at, spot.byte..end, covered(spot, runs.uniform, active), true);
            put(&block.shared, &warp.regs, op, &from);
            block.shared_init.set(spot.byte, end);
        } else {
            let memory = env.memory;
            let buffer = &memory.buffers[spot.buffer as usize];
            put(&buffer.words, &warp.regs, op, &from);
            if !buffer.complete {
                buffer.init.set(spot.byte, end);
            }
            touch(env, op, spot, covered(spot, runs.uniform, active), false, true);
        }
    }
}

/// Reports lanes of one store that write different values to the same address.
fn overlaps(env: &mut Env<'_>, at: At, warp: &Warp, op: &MemOp, active: u32, list: &[Spot]) {
    let ascending = list.windows(2).all(|pair| {
        let end = pair[0].byte + pair[0].lanes as usize * op.bytes as usize;
        pair[0].buffer == pair[1].buffer && end <= pair[1].byte
    });
    if list.len() > 1 && ascending {
        return;
    }
    let addresses = addresses(&warp.regs, op);
    for lane in 1..LANES {
        if active >> lane & 1 == 0 {
            continue;
        }
        let first = (0..lane).find(|other| active >> other & 1 == 1 && addresses[*other] == addresses[lane]);
        let Some(first) = first else { continue };
        let differ = |slot: &Slot| value(&warp.regs, *slot, lane) != value(&warp.regs, *slot, first);
        if !op.regs.iter().any(differ) {
            continue;
        }
        let Some(spot) = list.iter().find(|spot| covers(spot, lane as u32, list.len())) else { continue };
        let (kind, memory) = if spot.buffer == NONE {
            (Kind::SharedRace, Where::Shared(addresses[lane] as i64))
        } else {
            let base = env.memory.buffers[spot.buffer as usize].base;
            (Kind::GlobalRace, Where::Global(spot.buffer, addresses[lane].wrapping_sub(base) as i64))
        };
        let other = Other { block: at.block, thread: at.warp * 32 + first as u32, inst: at.inst };
        env.sink.report(kind, at.inst, at.block, Some(other), || {
            let message = "lanes of one store write different values to one address".to_owned();
            (at.warp * 32 + lane as u32, memory, message)
        });
    }
}

/// Whether a spot holds a lane's access; the only spot of a uniform store holds them all.
fn covers(spot: &Spot, lane: u32, spots: usize) -> bool {
    spots == 1 && spot.lanes == 1 || (spot.lane..spot.lane + spot.lanes).contains(&lane)
}
