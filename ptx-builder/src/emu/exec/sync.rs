//! What strong accesses and fences order between the warps of a block, by vector clocks.
//!
//! A release, or a relaxed access behind a fence, leaves at its location what is ordered before it; an acquire of that
//! location, or a relaxed read before a fence, takes it over. Between blocks the same is told from the log, by
//! [`Shadow`](crate::emu::shadow::Shadow).

use super::memory::Spot;
use super::{Block, Warp};
use crate::emu::decode::{MemOp, NONE};
use crate::emu::race::{Access, Mode, Order, WARPS};

fn join(order: &mut Order, other: &Order) {
    order.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

/// All that is ordered before this point of a warp, what it did itself included.
pub(super) fn known(block: &Block, warp: &Warp) -> Order {
    let mut order = block.orders[warp.order as usize];
    let own = &mut order[warp.index as usize % WARPS];
    *own = warp.clock.max(*own);
    order
}

/// Orders something before everything that follows in a warp.
pub(super) fn learn(block: &mut Block, warp: &mut Warp, other: &Order) {
    let mut order = block.orders[warp.order as usize];
    join(&mut order, other);
    if order != block.orders[warp.order as usize] {
        warp.order = block.orders.len() as u32;
        block.orders.push(order);
    }
}

/// A strong access to the places of a spot.
pub(super) fn strong(block: &mut Block, warp: &mut Warp, op: &MemOp, spot: &Spot, reads: bool, writes: bool) {
    let ordering = op.ordering;
    if !ordering.strong {
        return;
    }
    let places = (0..spot.lanes as usize).map(|lane| (spot.buffer, spot.byte + lane * op.bytes as usize));
    for place in places.clone().filter(|_| reads) {
        let Some(order) = block.releases.get(&place).copied() else { continue };
        if ordering.acquire {
            learn(block, warp, &order);
        } else {
            join(warp.pending.get_or_insert([0; WARPS]), &order);
        }
    }
    let released = if ordering.release { Some(known(block, warp)) } else { warp.fence };
    if let Some(order) = released.filter(|_| writes) {
        for place in places {
            join(block.releases.entry(place).or_insert([0; WARPS]), &order);
        }
        if ordering.release {
            warp.clock += 1;
        }
    }
    if reads {
        warp.polls += 1;
    }
}

/// A fence.
pub(super) fn fence(block: &mut Block, warp: &mut Warp, wide: bool, inst: u32) {
    if let Some(order) = warp.pending.take() {
        learn(block, warp, &order);
    }
    warp.fence = Some(known(block, warp));
    warp.clock += 1;
    if wide {
        block.log.push(Access {
            buffer: NONE,
            mode: Mode::Fence,
            warp: warp.index as u8,
            lane: 0,
            width: 1,
            start: 0,
            end: 0,
            mask: 0,
            inst,
            clock: warp.clock,
            order: warp.order,
            sync: 0,
        });
    }
}
