//! Memory accesses: within static shared arrays, and aligned, as far as the text tells.
//!
//! An access is out of bounds where its address is a shared array plus a constant, written in the instruction or added in
//! registers. It is misaligned where the known low bits of its address contradict its width, for example a promised
//! alignment plus an odd offset; an address that could be either is accepted. The declared alignment of a shared array
//! is all that is promised of it, so a wider access at a constant offset is refused.

use super::Report;
use super::types::space;
use super::values::{Values, mask};
use crate::cfg::Cfg;
use crate::ir::{Addr, Base, BlockId, Entry, Inst, Operand, Reg, SharedId};
use crate::isa::syntax::{Segment, operand_named};
use crate::isa::{Effect, Form, Op};
use crate::types::Ty;

pub(super) fn check(entry: &Entry, cfg: &Cfg, values: &Values, report: &mut Report<'_>) {
    let definitions = single_definitions(entry);
    for (i, block) in entry.blocks.iter().enumerate() {
        if !cfg.is_reachable(BlockId(i as u32)) {
            continue;
        }
        for inst in &block.insts {
            let Some(access) = access(entry, values, inst) else { continue };
            for (at, operand) in inst.operands.iter().enumerate() {
                let Operand::Addr(addr) = operand else { continue };
                if matches!(addr.base, Base::Param(_)) {
                    continue;
                }
                let array = shared_address(&definitions, addr);
                if let Some((id, offset)) = array {
                    bounds(entry, inst, id, offset, access.bytes, report);
                }
                if !space_is_unsaid(inst, at) {
                    alignment(entry, values, inst, operand, array.is_some(), access.align, report);
                }
            }
        }
    }
}

fn space_is_unsaid(inst: &Inst, at: usize) -> bool {
    space(inst, at) == super::types::Where::Unsaid
}

/// What an instruction needs of an address.
#[derive(Clone, Copy)]
struct Access {
    /// Bytes accessed from the address on; 0 if their number is not known.
    bytes: u64,
    /// What the address must be a multiple of.
    align: u64,
}

fn access(entry: &Entry, values: &Values, inst: &Inst) -> Option<Access> {
    /// Bulk copies move units of 16 bytes.
    const BULK: u64 = 16;
    let form = Form::of(inst.op);
    match form.effect {
        Effect::Load | Effect::Store | Effect::Atomic => {
            let bytes = u64::from(inst.mods.t()?.bytes()) * inst.mods.vec() as u64;
            Some(Access { bytes, align: bytes })
        }
        Effect::AsyncCopy => {
            let size = operand_named(inst.op, "n").map(|at| values.operand(entry, &inst.operands[at]));
            let bytes = size.and_then(|size| size.value(32)).unwrap_or(0);
            let bulk = form.head().contains(&Segment::Literal("bulk"));
            Some(Access { bytes, align: if bulk { BULK } else { bytes.max(1) } })
        }
        _ => None,
    }
}

/// The instruction that assigns each register, where it is the only one and always executed.
fn single_definitions(entry: &Entry) -> Vec<Option<&Inst>> {
    let mut definitions = vec![None; entry.regs.len()];
    let mut seen = vec![false; entry.regs.len()];
    for inst in entry.blocks.iter().flat_map(|block| &block.insts) {
        inst.for_each_def(|reg| {
            let first = !std::mem::replace(&mut seen[reg.index()], true);
            definitions[reg.index()] = (first && inst.guard.is_none()).then_some(inst);
        });
    }
    definitions
}

/// A shared array and a constant offset into it.
fn shared_address(definitions: &[Option<&Inst>], addr: &Addr) -> Option<(SharedId, i64)> {
    let mut offset = addr.offset;
    let mut reg = match addr.base {
        Base::Shared(id) => return Some((id, offset)),
        Base::Param(_) => return None,
        Base::Reg(reg) => reg,
    };
    // Every step goes to the operand of a definition; a chain longer than the table of registers is a cycle.
    for _ in 0..definitions.len() {
        let inst = definitions[reg.index()]?;
        let constant = |operand: &Operand| match operand {
            Operand::Imm(imm) => {
                Some(if imm.ty.bits() == 32 { i64::from(imm.bits as u32 as i32) } else { imm.bits as i64 })
            }
            _ => None,
        };
        let (next, plus): (Reg, i64) = match (inst.op, inst.operands.as_slice()) {
            (Op::Mov, [_, Operand::Shared(id)]) => return Some((*id, offset)),
            (Op::Mov, [_, Operand::Reg(from)]) => (*from, 0),
            (Op::AddI, [_, Operand::Reg(from), by]) | (Op::AddI, [_, by, Operand::Reg(from)]) => {
                (*from, constant(by)?)
            }
            (Op::SubI, [_, Operand::Reg(from), by]) => (*from, constant(by)?.checked_neg()?),
            (Op::Cvt, [_, Operand::Reg(from)]) if inst.mods.s() == Some(Ty::U32) => (*from, 0),
            _ => return None,
        };
        (reg, offset) = (next, offset.checked_add(plus)?);
    }
    None
}

fn bounds(entry: &Entry, inst: &Inst, id: SharedId, offset: i64, bytes: u64, report: &mut Report<'_>) {
    let array = &entry.shared[id.index()];
    let size = array.len.map(|len| u64::from(len) * u64::from(array.ty.bytes()));
    let end = i128::from(offset) + i128::from(bytes);
    let beyond = size.is_some_and(|size| end > i128::from(size));
    if offset >= 0 && !beyond {
        return;
    }
    let has = size.map_or("starts at 0".to_owned(), |size| format!("has {size}"));
    let message = format!("bytes {offset} to {end} of shared array `{}`, which {has}", array.name);
    report.at_inst("shared-bounds", inst, message);
}

fn alignment(
    entry: &Entry,
    values: &Values,
    inst: &Inst,
    operand: &Operand,
    in_array: bool,
    align: u64,
    report: &mut Report<'_>,
) {
    const RULE: &str = "alignment";
    if !align.is_power_of_two() {
        return;
    }
    let needed = align.trailing_zeros();
    let known = values.operand(entry, operand);
    let low = known.bits & mask(known.count.min(needed));
    if low != 0 {
        let modulus = 1u64 << known.count.min(needed);
        let message = format!("the address must be a multiple of {align}, it is {low} modulo {modulus}");
        report.at_inst(RULE, inst, message).hint("change the offset, or use a narrower access");
    } else if in_array && known.count < needed {
        let promised = 1u64 << known.count;
        let message =
            format!("the address must be a multiple of {align}, the shared array is aligned to {promised}");
        report.at_inst(RULE, inst, message).hint(format!("declare the array with `.align {align}`"));
    }
}
