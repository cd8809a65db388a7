//! Barriers of a block: arrival, completion, deadlock.

use super::{At, Block, Env, State, Step, Warp, examine, exchange};
use crate::emu::decode::{BarrierKind, BarrierOp, NONE};
use crate::emu::finding::{Kind, Where};
use crate::emu::race::{Order, WARPS};
use crate::isa::mods::BoolOp;

/// Barriers of a block.
pub(super) const BARRIERS: usize = 16;

/// A barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// Warps that have arrived.
    arrived: u32,
    /// Those of them that wait.
    waiting: u32,
    threads: u32,
    /// Threads it is for; 0 for all of the block.
    count: u32,
    /// The instruction of the first arrival.
    inst: u32,
    /// What is ordered before its completion.
    order: Order,
    /// Threads that arrived with a predicate, and those of them where it holds.
    asked: u32,
    holds: u32,
}

impl Default for Barrier {
    fn default() -> Barrier {
        Barrier {
            arrived: 0,
            waiting: 0,
            threads: 0,
            count: 0,
            inst: NONE,
            order: [0; WARPS],
            asked: 0,
            holds: 0,
        }
    }
}

/// A warp arrives. A warp of which only some lanes arrive is reported and counts as a whole, as it does in hardware.
pub(super) fn arrive(
    env: &mut Env<'_>,
    block: &mut Block,
    warp: &mut Warp,
    op: BarrierOp,
    inst: u32,
    active: u32,
) -> Step {
    let at = At { block: block.linear, warp: warp.index, inst };
    let lane = active.trailing_zeros();
    if op.kind == BarrierKind::Warp {
        let masks = warp.regs.w32[op.id as usize];
        let groups = exchange::members(env, block, warp, &masks, inst, active);
        if groups.iter().enumerate().all(|(lane, group)| active >> lane & 1 == 0 || *group == active) {
            warp.clock += 1;
        }
        return Step::Next;
    }
    let live = warp.live();
    if active != live {
        env.report(Kind::DivergentBarrier, at, lane, Where::Nowhere, || {
            format!("{} of {} lanes of the warp execute it together", active.count_ones(), live.count_ones())
        });
    }
    let all = env.geometry.threads();
    let count = op.count.map_or(0, |slot| warp.regs.w32[slot as usize][lane as usize]);
    if op.count.is_none() && warp.exited != 0 {
        let ended = warp.exited.count_ones();
        env.report(Kind::PartialBarrier, at, lane, Where::Nowhere, || {
            format!("it waits for all {all} threads of the block, {ended} of this warp have ended")
        });
    }
    let id = warp.regs.w32[op.id as usize][lane as usize];
    let Some(barrier) = block.barriers.get_mut(id as usize) else {
        env.report(Kind::Deadlock, at, lane, Where::Nowhere, || {
            format!("barrier {id} does not exist, a block has {BARRIERS}")
        });
        return Step::Next;
    };
    if barrier.arrived == 0 {
        *barrier = Barrier { inst, count, ..Barrier::default() };
    }
    let bit = 1 << (warp.index as usize % WARPS);
    if barrier.arrived & bit == 0 {
        barrier.threads += warp.lanes.count_ones();
    }
    barrier.arrived |= bit;
    let known = block.orders[warp.order as usize];
    barrier.order.iter_mut().zip(known).for_each(|(a, b)| *a = b.max(*a));
    let own = &mut barrier.order[warp.index as usize % WARPS];
    *own = warp.clock.max(*own);
    warp.clock += 1;
    if op.kind == BarrierKind::Arrive {
        return Step::Next;
    }
    if let Some(reduce) = op.reduce {
        barrier.asked += active.count_ones();
        barrier.holds += (warp.regs.pred[reduce.p as usize] & active).count_ones();
        warp.reduce = Some((reduce, active));
    }
    barrier.waiting |= bit;
    warp.state = State::Waiting { barrier: id, inst };
    Step::Wait
}

/// Completes barriers that can be completed; whether there were any.
pub(super) fn settle(env: &mut Env<'_>, block: &mut Block) -> bool {
    let mut any = false;
    for id in 0..block.barriers.len() {
        let barrier = block.barriers[id];
        if barrier.arrived == 0 {
            continue;
        }
        let ended = |warp: &Warp| warp.state == State::Done;
        let absent = block
            .warps
            .iter()
            .filter(|warp| barrier.arrived >> (warp.index as usize % WARPS) & 1 == 0)
            .filter(|warp| !ended(warp))
            .count();
        let whole = barrier.count == 0 || barrier.count >= env.geometry.threads();
        let complete = if barrier.count == 0 { absent == 0 } else { barrier.threads >= barrier.count };
        if !complete || barrier.waiting == 0 {
            continue;
        }
        any = true;
        let gone = block
            .warps
            .iter()
            .filter(|warp| ended(warp) && barrier.arrived >> (warp.index as usize % WARPS) & 1 == 0)
            .map(|warp| warp.lanes.count_ones())
            .sum::<u32>();
        if whole && gone > 0 {
            let first = barrier.waiting.trailing_zeros();
            let at = At { block: block.linear, warp: first, inst: barrier.inst };
            let all = env.geometry.threads();
            env.report(Kind::PartialBarrier, at, 0, Where::Nowhere, || {
                format!("it waits for all {all} threads of the block, {gone} have ended in other warps")
            });
        }
        complete_one(env, block, id, whole);
    }
    any
}

fn complete_one(env: &mut Env<'_>, block: &mut Block, id: usize, whole: bool) {
    let barrier = std::mem::take(&mut block.barriers[id]);
    if whole {
        examine(env, block);
        block.orders.truncate(1);
        block.warps.iter_mut().for_each(|warp| warp.order = 0);
    } else {
        block.orders.push(barrier.order);
    }
    let order = block.orders.len() as u32 - 1;
    for warp in &mut block.warps {
        if barrier.waiting >> (warp.index as usize % WARPS) & 1 == 1 {
            warp.state = State::Ready;
            warp.order = order;
            if let Some((reduce, active)) = warp.reduce.take() {
                let bits = match reduce.how {
                    None => barrier.holds,
                    Some(BoolOp::And) => u32::from(barrier.holds == barrier.asked),
                    Some(BoolOp::Or | BoolOp::Xor) => u32::from(barrier.holds > 0),
                };
                warp.regs.fill(reduce.d.class, reduce.d.at, u64::from(bits), active);
            }
        }
    }
}

/// Reports every barrier at which warps wait in vain.
pub(super) fn deadlock(env: &mut Env<'_>, block: &Block) {
    for warp in &block.warps {
        let State::Waiting { barrier, inst } = warp.state else { continue };
        let at = At { block: block.linear, warp: warp.index, inst };
        env.report(Kind::Deadlock, at, warp.live().trailing_zeros() % 32, Where::Nowhere, || {
            let waits = |id: u32| {
                let here = |warp: &&super::Warp| matches!(warp.state, State::Waiting { barrier, .. } if barrier == id);
                block.warps.iter().filter(here).count()
            };
            let elsewhere: Vec<String> = (0..BARRIERS as u32)
                .filter(|id| *id != barrier && waits(*id) > 0)
                .map(|id| format!("{} wait at barrier {id}", waits(id)))
                .collect();
            let ended = block.warps.iter().filter(|warp| warp.state == State::Done).count();
            let mut message = format!(
                "{} of {} warps wait at barrier {barrier} for ever, {ended} have ended",
                waits(barrier),
                block.warps.len()
            );
            if !elsewhere.is_empty() {
                message.push_str(", ");
                message.push_str(&elsewhere.join(", "));
            }
            message
        });
    }
}
