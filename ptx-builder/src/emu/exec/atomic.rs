//! Atomic accesses: lane after lane, in the order of lanes.
//!
//! The device promises no order. Between the blocks of a grid it matters for the values; where two blocks access one
//! location the launch is repeated with its blocks in order, so that results do not depend on the host.

use std::sync::atomic::AtomicU32;

use super::memory::{Spot, count, covered, log, place, report_uninit, runs, touch};
use super::transfer::{get, set, value};
use super::{At, Block, Env, Warp, sync};
use crate::emu::decode::{AtomicOp, Combine, NONE, Space};
use crate::emu::float::compare::{MinMax, max, min};
use crate::emu::float::{self, Arith, BF16, F16, Rounding, packed16};
use crate::emu::race::Mode;
use crate::isa::mods::AtomOp;
use crate::types::Ty;

fn signed(ty: Ty, bits: u64) -> i64 {
    if ty.bits() == 32 { i64::from(bits as u32 as i32) } else { bits as i64 }
}

fn half(op: AtomOp, ty: Ty, a: u16, b: u16) -> u16 {
    let bf16 = matches!(ty, Ty::Bf16 | Ty::Bf16x2);
    let format = if bf16 { BF16 } else { F16 };
    match op {
        AtomOp::Min => min(format, u64::from(a), u64::from(b), MinMax::default()) as u16,
        AtomOp::Max => max(format, u64::from(a), u64::from(b), MinMax::default()) as u16,
        _ if bf16 => float::add_bf16(a, b, Arith::RN),
        _ => float::add_f16(a, b, Arith::RN),
    }
}

/// The new bits of an element that held `old`.
fn combine(op: &AtomicOp, old: u64, operand: u64, new: u64) -> u64 {
    let ty = op.ty;
    let Combine::With(with) = op.combine else {
        return if old == operand { new } else { old };
    };
    match (with, ty) {
        (AtomOp::Add | AtomOp::Min | AtomOp::Max, Ty::F16 | Ty::Bf16) => {
            u64::from(half(with, ty, old as u16, operand as u16))
        }
        (AtomOp::Add | AtomOp::Min | AtomOp::Max, Ty::F16x2 | Ty::Bf16x2) => {
            u64::from(packed16([old as u32, operand as u32], |[a, b]| half(with, ty, a, b)))
        }
        // Subnormal numbers count as zero in global memory and are kept in shared memory.
        (AtomOp::Add, Ty::F32) => {
            let mode = if op.mem.space == Space::Global { Arith::RN_FTZ } else { Arith::RN };
            u64::from(float::add_f32(old as u32, operand as u32, mode))
        }
        (AtomOp::Add, Ty::F64) => float::add_f64(old, operand, Rounding::Rn),
        (AtomOp::Add, _) => old.wrapping_add(operand),
        (AtomOp::Min, _) if ty.is_signed() => signed(ty, old).min(signed(ty, operand)) as u64,
        (AtomOp::Max, _) if ty.is_signed() => signed(ty, old).max(signed(ty, operand)) as u64,
        (AtomOp::Min, _) => old.min(operand),
        (AtomOp::Max, _) => old.max(operand),
        (AtomOp::And, _) => old & operand,
        (AtomOp::Or, _) => old | operand,
        (AtomOp::Xor, _) => old ^ operand,
        (AtomOp::Exch, _) => operand,
        (AtomOp::Inc, _) => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        (AtomOp::Dec, _) => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
    }
}

/// Executes it in the lanes of a spot.
fn access(words: &[AtomicU32], warp: &mut Warp, op: &AtomicOp, spot: &Spot, lanes: u32, uniform: bool) {
    let elem = op.mem.elem;
    let keep = u64::MAX >> (64 - 8 * elem);
    for lane in (0..32usize).filter(|lane| lanes >> lane & 1 == 1) {
        let step = if uniform { 0 } else { lane - spot.lane as usize };
        let first = spot.byte + step * op.mem.bytes as usize;
        for (k, slot) in op.mem.regs.iter().enumerate() {
            let byte = first + k * elem as usize;
            let old = get(words, byte, elem) & keep;
            let operand = value(&warp.regs, *slot, lane) & keep;
            let new = op.new.map_or(0, |slot| value(&warp.regs, slot, lane) & keep);
            set(words, byte, elem, combine(op, old, operand, new) & keep);
            if let Some(result) = op.results.get(k) {
                warp.regs.set(result.class, result.at, lane, old);
            }
        }
    }
}

/// An atomic access.
pub(super) fn atomic(
    env: &mut Env<'_>,
    block: &mut Block,
    warp: &mut Warp,
    op: &AtomicOp,
    inst: u32,
    active: u32,
) {
    let mem = &op.mem;
    let runs = runs(&warp.regs, mem, active);
    count(env, &warp.regs, mem, &runs, inst, active);
    let at = At { block: block.linear, warp: warp.index, inst };
    let spots = place(env, at, mem, active, &runs, true);
    let mut done = 0;
    for spot in spots.as_slice() {
        let lanes = covered(spot, runs.uniform, active);
        done |= lanes;
        let end = spot.byte + spot.lanes as usize * mem.bytes as usize;
        log(block, warp, mem, spot, Mode::Atomic, if runs.uniform { active } else { 0 }, inst);
        sync::strong(block, warp, mem, spot, true, true);
        if spot.buffer == NONE {
            if !block.shared_init.all(spot.byte, end) {
                report_uninit(env, at, mem, spot, &block.shared_init, lanes);
            }
            access(&block.shared, warp, op, spot, lanes, runs.uniform);
            block.shared_init.set(spot.byte, end);
        } else {
            let memory = env.memory;
            let buffer = &memory.buffers[spot.buffer as usize];
            if !buffer.complete && !buffer.init.all(spot.byte, end) {
                report_uninit(env, at, mem, spot, &buffer.init, lanes);
            }
            access(&buffer.words, warp, op, spot, lanes, runs.uniform);
            if !buffer.complete {
                buffer.init.set(spot.byte, end);
            }
            touch(env, mem, spot, lanes, !op.results.is_empty(), true);
        }
    }
    for slot in &op.results {
        warp.regs.fill(slot.class, slot.at, 0, active & !done);
    }
}
