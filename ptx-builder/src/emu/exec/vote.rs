//! Votes, matches, elections and reductions over the lanes of a warp.

use super::{Block, Env, Warp, exchange};
use crate::emu::decode::{VoteKind, VoteOp};
use crate::emu::float::F32;
use crate::emu::float::compare::{max, min};
use crate::emu::lane::LANES;

fn lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// What a lane gets: its result and its predicate. `group` are the lanes that take part with it.
fn combine(kind: VoteKind, group: u32, lane: usize, values: &[u64; LANES]) -> (u64, bool) {
    let same =
        || lanes(group).filter(|other| values[*other] == values[lane]).fold(0u32, |set, l| set | 1 << l);
    let holds = || lanes(group).filter(|other| values[*other] & 1 == 1).fold(0u32, |set, l| set | 1 << l);
    let fold = |of: fn(u32, u32) -> u32| {
        let words = lanes(group).map(|other| values[other] as u32);
        (u64::from(words.reduce(of).unwrap_or(0)), false)
    };
    let float = |of: &dyn Fn(u64, u64) -> u64| {
        (lanes(group).map(|other| values[other]).reduce(of).map_or(0, |value| of(value, value)), false)
    };
    match kind {
        VoteKind::All => (u64::from(holds() == group), false),
        VoteKind::Any => (u64::from(holds() != 0), false),
        VoteKind::Uniform => (u64::from(holds() == group || holds() == 0), false),
        VoteKind::Ballot => (u64::from(holds()), false),
        VoteKind::Active => (u64::from(group), false),
        VoteKind::MatchAny => (u64::from(same()), false),
        VoteKind::MatchAll => (if same() == group { u64::from(group) } else { 0 }, same() == group),
        VoteKind::Elect => {
            let leader = group.trailing_zeros();
            (u64::from(leader), leader as usize == lane)
        }
        VoteKind::Add => fold(u32::wrapping_add),
        VoteKind::Min => fold(u32::min),
        VoteKind::Max => fold(u32::max),
        VoteKind::MinSigned => fold(|a, b| (a as i32).min(b as i32) as u32),
        VoteKind::MaxSigned => fold(|a, b| (a as i32).max(b as i32) as u32),
        VoteKind::And => fold(|a, b| a & b),
        VoteKind::Or => fold(|a, b| a | b),
        VoteKind::Xor => fold(|a, b| a ^ b),
        VoteKind::MinFloat(m) => float(&|a, b| min(F32, a, b, m)),
        VoteKind::MaxFloat(m) => float(&|a, b| max(F32, a, b, m)),
    }
}

/// Executes one. The lane that is elected is the lowest, as in hardware; the manual promises only that it is the same one
/// for the same mask.
pub(super) fn vote(env: &mut Env<'_>, block: &Block, warp: &mut Warp, op: &VoteOp, inst: u32, active: u32) {
    let groups = match op.members {
        Some(members) => {
            let masks = warp.regs.w32[members as usize];
            exchange::members(env, block, warp, &masks, inst, active)
        }
        None => [active; LANES],
    };
    let mut values = [0; LANES];
    if let Some(a) = op.a {
        for lane in lanes(active) {
            values[lane] = warp.regs.get(a.class, a.at, lane);
        }
    }
    for lane in lanes(active) {
        let (result, elected) = combine(op.kind, groups[lane], lane, &values);
        warp.regs.set(op.d.class, op.d.at, lane, result);
        if let Some(p) = op.p {
            warp.regs.set(p.class, p.at, lane, u64::from(elected));
        }
    }
    if op.members.is_some() && lanes(active).all(|lane| groups[lane] == active) {
        warp.clock += 1;
    }
}
