//! Packing moves, and exchanges between the lanes of a warp.

use super::{At, Block, Env, Warp};
use crate::emu::decode::{PackOp, ShuffleOp};
use crate::emu::finding::{Kind, Where};
use crate::emu::lane::{Class, LANES, Lane, RegFile};
use crate::isa::mods::Shfl;

/// `mov.b32 d, {a, b}` and its like.
pub(super) fn pack(regs: &mut RegFile, op: &PackOp, active: u32) {
    if let (Class::W32, [(low, 16), (high, 16)]) = (op.whole.class, op.parts.as_slice()) {
        let mut out = [0u32; LANES];
        let (low, high) = (&regs.w32[low.at as usize], &regs.w32[high.at as usize]);
        for lane in 0..LANES {
            out[lane] = low[lane] & 0xffff | high[lane] << 16;
        }
        <u32 as Lane>::commit(regs, op.whole.at, &out, active);
        return;
    }
    let mut wide = [0u64; LANES];
    let mut shift = 0;
    for (part, bits) in &op.parts {
        let source = &regs.w32[part.at as usize];
        let keep = u64::MAX >> (64 - bits);
        for lane in 0..LANES {
            wide[lane] |= (u64::from(source[lane]) & keep) << shift;
        }
        shift += bits;
    }
    match op.whole.class {
        Class::W64 => <u64 as Lane>::commit(regs, op.whole.at, &wide, active),
        Class::W32 | Class::Pred => {
            <u32 as Lane>::commit(regs, op.whole.at, &wide.map(|bits| bits as u32), active)
        }
    }
}

/// `mov.b32 {a, b}, d` and its like.
pub(super) fn unpack(regs: &mut RegFile, op: &PackOp, active: u32) {
    if let (Class::W32, [(low, 16), (high, 16)]) = (op.whole.class, op.parts.as_slice()) {
        let whole = &regs.w32[op.whole.at as usize];
        let (lower, upper) = (whole.map(|bits| bits & 0xffff), whole.map(|bits| bits >> 16));
        <u32 as Lane>::commit(regs, low.at, &lower, active);
        <u32 as Lane>::commit(regs, high.at, &upper, active);
        return;
    }
    let wide: [u64; LANES] = match op.whole.class {
        Class::W64 => regs.w64[op.whole.at as usize],
        Class::W32 | Class::Pred => regs.w32[op.whole.at as usize].map(u64::from),
    };
    let mut shift = 0;
    for (part, bits) in &op.parts {
        let keep = u64::MAX >> (64 - bits);
        let mut out = [0u32; LANES];
        for lane in 0..LANES {
            out[lane] = (wide[lane] >> shift & keep) as u32;
        }
        <u32 as Lane>::commit(regs, part.at, &out, active);
        shift += bits;
    }
}

/// Checks the member mask of an exchange: every executing lane is named by its own mask, and every living lane that a
/// mask names takes part with the same mask. Returns for each lane the lanes it may read from.
pub(super) fn members(
    env: &mut Env<'_>,
    block: &Block,
    warp: &Warp,
    masks: &[u32; LANES],
    inst: u32,
    active: u32,
) -> [u32; LANES] {
    let at = At { block: block.linear, warp: warp.index, inst };
    let live = warp.live();
    let mut groups = [0; LANES];
    let mut rest = active;
    while rest != 0 {
        let first = rest.trailing_zeros();
        let mask = masks[first as usize];
        let mut same = 0;
        for lane in (0..LANES).filter(|lane| rest >> lane & 1 == 1 && masks[*lane] == mask) {
            same |= 1 << lane;
        }
        for lane in (0..LANES).filter(|lane| same >> lane & 1 == 1) {
            groups[lane] = (mask | same) & active;
        }
        rest &= !same;
        let unnamed = same & !mask;
        if unnamed != 0 {
            env.report(Kind::MemberMask, at, unnamed.trailing_zeros(), Where::Nowhere, || {
                format!("member mask {mask:#010x} does not name lane {}", unnamed.trailing_zeros())
            });
        }
        let absent = mask & live & !active;
        if absent != 0 {
            env.report(Kind::AbsentLane, at, first, Where::Nowhere, || {
                format!(
                    "member mask {mask:#010x} names lane {}, which does not execute this with the others",
                    absent.trailing_zeros()
                )
            });
        }
        let other = mask & active & !same;
        if other != 0 {
            env.report(Kind::MemberMask, at, first, Where::Nowhere, || {
                let lane = other.trailing_zeros();
                format!(
                    "lane {lane} has member mask {:#010x}, lane {first} has {mask:#010x}",
                    masks[lane as usize]
                )
            });
        }
    }
    groups
}

/// `shfl.sync`: the source lane by the rules of the manual; a lane whose source is out of range keeps its value.
pub(super) fn shuffle(
    env: &mut Env<'_>,
    block: &Block,
    warp: &mut Warp,
    op: &ShuffleOp,
    inst: u32,
    active: u32,
) {
    let regs = &warp.regs;
    let masks = regs.w32[op.members as usize];
    let simple = active == warp.live() && masks.iter().all(|mask| mask & active == active);
    let groups = if simple { [active; LANES] } else { members(env, block, warp, &masks, inst, active) };
    let regs = &warp.regs;
    let source = &regs.w32[op.a as usize];
    let (amounts, bounds) = (&regs.w32[op.b as usize], &regs.w32[op.c as usize]);
    // The usual butterfly over a whole warp.
    let whole = simple && active == u32::MAX && op.p.is_none() && bounds.iter().all(|bound| *bound == 31);
    if whole && op.mode == Shfl::Bfly && amounts.iter().all(|amount| *amount == amounts[0]) {
        let distance = amounts[0] as usize & (LANES - 1);
        let out: [u32; LANES] = std::array::from_fn(|lane| source[(lane ^ distance) & (LANES - 1)]);
        warp.regs.w32[op.d as usize] = out;
        warp.clock += 1;
        return;
    }
    let mut out = [0u32; LANES];
    let mut in_range = 0;
    let mut absent = 0;
    for lane in 0..LANES {
        let (amount, clamp, segment) =
            ((amounts[lane] & 31) as i32, (bounds[lane] & 31) as i32, (bounds[lane] >> 8 & 31) as i32);
        let own = lane as i32;
        let last = own & segment | clamp & !segment;
        let first = own & segment;
        let (from, valid) = match op.mode {
            Shfl::Up => (own - amount, own - amount >= last),
            Shfl::Down => (own + amount, own + amount <= last),
            Shfl::Bfly => (own ^ amount, own ^ amount <= last),
            Shfl::Idx => {
                let from = first | amount & !segment;
                (from, from <= last)
            }
        };
        let from = if valid { from & 31 } else { own } as usize;
        in_range |= u32::from(valid) << lane;
        if groups[lane] >> from & 1 == 1 || from == lane {
            out[lane] = source[from];
        } else {
            absent |= 1 << lane;
        }
    }
    absent &= active;
    if absent != 0 {
        let at = At { block: block.linear, warp: warp.index, inst };
        let mut rest = absent;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            env.report(Kind::AbsentLane, at, lane, Where::Nowhere, || {
                format!("lane {lane} reads from a lane that does not take part; it gets 0")
            });
        }
    }
    <u32 as Lane>::commit(&mut warp.regs, op.d, &out, active);
    if let Some(p) = op.p {
        <bool as Lane>::commit(&mut warp.regs, p, &in_range, active);
    }
    if active == warp.live()
        || groups.iter().enumerate().all(|(lane, group)| active >> lane & 1 == 0 || *group == active)
    {
        warp.clock += 1;
    }
}
