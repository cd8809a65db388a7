//! Asynchronous copies: started by one instruction, carried out at the wait for their group, which is as late as the manual
//! allows; who reads the target before, or writes the source of a bulk store, is reported.

use std::ops::Range;

use super::memory::{Spot, addresses, locate, report_problem, report_uninit};
use super::transfer::{get, set};
use super::{At, Block, Env, Warp};
use crate::emu::decode::{AsyncOp, CopyOp, MemOp, NONE};
use crate::emu::finding::{Kind, Other, Where};
use crate::emu::race::{Access, Mode};

/// A copy on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    warp: u32,
    lane: u32,
    bulk: bool,
    /// Its group, once it has one.
    group: Option<u32>,
    /// Buffer ([`NONE`] for shared memory) and first byte.
    to: (u32, usize),
    from: (u32, usize),
    bytes: usize,
    /// Bytes that are read; the rest becomes zero.
    copied: usize,
    inst: u32,
}

impl Copy {
    /// The bytes of shared memory that nobody may touch: not even read a target, not write a source.
    fn overlaps(&self, range: &Range<usize>, writes: bool) -> bool {
        let shared = if self.to.0 == NONE { Some(self.to.1..self.to.1 + self.bytes) } else { None };
        let shared =
            shared.or((writes && self.from.0 == NONE).then(|| self.from.1..self.from.1 + self.bytes));
        shared.is_some_and(|own| own.start < range.end && range.start < own.end)
    }
}

/// Reports an access to shared memory that meets a copy which nobody has waited for; whether it does.
pub(super) fn meets(
    env: &mut Env<'_>,
    block: &Block,
    at: At,
    range: Range<usize>,
    lanes: u32,
    writes: bool,
) -> bool {
    let Some(copy) = block.copies.iter().find(|copy| copy.overlaps(&range, writes)) else { return false };
    let other = Other { block: at.block, thread: copy.warp * 32 + copy.lane, inst: copy.inst };
    let place = Where::Shared(range.start as i64);
    env.sink.report(Kind::UnfinishedCopy, at.inst, at.block, Some(other), || {
        let message = "an asynchronous copy of these bytes has not been waited for".to_owned();
        (at.warp * 32 + lanes.trailing_zeros() % 32, place, message)
    });
    true
}

fn log(
    block: &mut Block,
    warp: &Warp,
    lane: u32,
    (buffer, start): (u32, usize),
    bytes: usize,
    mode: Mode,
    inst: u32,
) {
    block.log.push(Access {
        buffer,
        mode,
        warp: warp.index as u8,
        lane: lane as u8,
        width: 1,
        start: start as u64,
        end: (start + bytes) as u64,
        mask: 1 << lane,
        inst,
        clock: warp.clock,
        order: warp.order,
        sync: 0,
    });
}

fn touch(env: &mut Env<'_>, (buffer, byte): (u32, usize), bytes: usize, store: bool) {
    if buffer == NONE || bytes == 0 {
        return;
    }
    let skew = env.memory.buffers[buffer as usize].skew;
    let (first, last) = ((byte + skew) / 32, (byte + bytes - 1 + skew) / 32);
    let touched = &env.touched[buffer as usize];
    let counters = &mut env.counters.buffers[buffer as usize];
    if store {
        counters.1 += bytes as u64;
        touched.stored.set(first, last + 1);
    } else {
        counters.0 += bytes as u64;
        touched.loaded.set(first, last + 1);
    }
}

fn side(
    env: &mut Env<'_>,
    at: At,
    op: &MemOp,
    lane: u32,
    address: u64,
    bytes: usize,
    store: bool,
) -> Option<(u32, usize)> {
    match locate(env, op, address, bytes as u64, store) {
        Ok(place) => Some(place),
        Err(problem) => {
            report_problem(env, at, op, lane, address, store, &problem);
            None
        }
    }
}

fn start(env: &mut Env<'_>, block: &mut Block, warp: &mut Warp, op: &CopyOp, inst: u32, active: u32) {
    let at = At { block: block.linear, warp: warp.index, inst };
    let (to, from) = (addresses(&warp.regs, &op.to), addresses(&warp.regs, &op.from));
    for lane in (0..32u32).filter(|lane| active >> lane & 1 == 1) {
        let word = |slot: u32| warp.regs.w32[slot as usize][lane as usize] as usize;
        let bytes = op.bytes.map_or(op.to.bytes as usize, word);
        let copied = op.copied.map_or(bytes, word).min(bytes);
        if op.bulk && !bytes.is_multiple_of(16) {
            env.report(Kind::Misaligned, at, lane, Where::Nowhere, || {
                format!("copy of {bytes} bytes, not a multiple of 16")
            });
            continue;
        }
        let Some(to) = side(env, at, &op.to, lane, to[lane as usize], bytes, true) else { continue };
        // What is not read may have any address.
        let from = if copied == 0 {
            Some((NONE, 0))
        } else {
            side(env, at, &op.from, lane, from[lane as usize], copied, false)
        };
        let Some(from) = from else { continue };
        let memory = env.memory;
        let init = if from.0 == NONE { &block.shared_init } else { &memory.buffers[from.0 as usize].init };
        if copied > 0 && !init.all(from.1, from.1 + copied) {
            let spot = Spot { lane, lanes: 1, buffer: from.0, byte: from.1 };
            report_uninit(env, at, &op.from, &spot, init, 1 << lane);
        }
        touch(env, from, copied, false);
        touch(env, to, bytes, true);
        if copied > 0 {
            log(block, warp, lane, from, copied, Mode::Read, inst);
        }
        log(block, warp, lane, to, bytes, Mode::Write, inst);
        let copy = Copy { warp: warp.index, lane, bulk: op.bulk, group: None, to, from, bytes, copied, inst };
        block.copies.push(copy);
    }
    let traffic = &mut env.counters.insts[inst as usize].traffic;
    traffic.requests += 1;
}

fn finish(env: &Env<'_>, block: &mut Block, warp: Option<&Warp>, copy: &Copy) {
    for i in 0..copy.bytes {
        let words = |buffer: u32| {
            if buffer == NONE { &block.shared } else { &env.memory.buffers[buffer as usize].words }
        };
        let bits = if i < copy.copied { get(words(copy.from.0), copy.from.1 + i, 1) & 0xff } else { 0 };
        set(words(copy.to.0), copy.to.1 + i, 1, bits);
    }
    let end = copy.to.1 + copy.bytes;
    if copy.to.0 == NONE {
        block.shared_init.set(copy.to.1, end);
    } else {
        env.memory.buffers[copy.to.0 as usize].init.set(copy.to.1, end);
    }
    if let Some(warp) = warp {
        log(block, warp, copy.lane, copy.to, copy.bytes, Mode::Write, copy.inst);
    }
}

/// Carries out what is pending where a block ends: stores still arrive.
pub(super) fn drain(env: &Env<'_>, block: &mut Block) {
    for copy in std::mem::take(&mut block.copies) {
        finish(env, block, None, &copy);
    }
}

/// Starts copies, closes a group, or waits.
pub(super) fn asynchronous(
    env: &mut Env<'_>,
    block: &mut Block,
    warp: &mut Warp,
    op: &AsyncOp,
    inst: u32,
    active: u32,
) {
    match op {
        AsyncOp::Start(op) => start(env, block, warp, op, inst, active),
        AsyncOp::Commit { bulk } => {
            let groups = &mut warp.groups[usize::from(*bulk)];
            let own = |copy: &&mut Copy| {
                copy.warp == warp.index && copy.bulk == *bulk && active >> copy.lane & 1 == 1
            };
            for copy in block.copies.iter_mut().filter(own).filter(|copy| copy.group.is_none()) {
                copy.group = Some(groups[copy.lane as usize]);
            }
            (0..32).filter(|lane| active >> lane & 1 == 1).for_each(|lane: usize| groups[lane] += 1);
        }
        AsyncOp::Wait { bulk, pending } => {
            let groups = warp.groups[usize::from(*bulk)];
            let done = |copy: &Copy| {
                let old = match (pending, copy.group) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(pending), Some(group)) => {
                        group.saturating_add(*pending) < groups[copy.lane as usize]
                    }
                };
                old && copy.warp == warp.index && copy.bulk == *bulk && active >> copy.lane & 1 == 1
            };
            let (finished, rest): (Vec<Copy>, Vec<Copy>) = block.copies.iter().partition(|copy| done(copy));
            block.copies = rest;
            finished.iter().for_each(|copy| finish(env, block, Some(warp), copy));
        }
    }
}
