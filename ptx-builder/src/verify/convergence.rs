//! Convergence: barriers that all threads of the block reach, and full-warp exchanges that all lanes reach.
//!
//! What varies and where paths join is told by [`values`](super::values). A barrier for a stated number of threads
//! (`bar.sync a, b`) and whatever waits for all 32 lanes (shuffles, votes, `redux`) need agreement within a warp; a barrier
//! for the whole block or cluster needs it within the block. A mask that names fewer lanes, or is not a constant, is the
//! author's business. A thread that has ended no longer arrives, so an early `ret` counts like any other branch.

use super::Report;
use super::values::Values;
use crate::ir::{BlockId, Entry, Inst, Terminator};
use crate::isa::syntax::operand_named;
use crate::isa::{Effect, Form};
use crate::print::{inst_name, show_terminator};

const RULE: &str = "convergence";

/// Who must execute an instruction together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Warp,
    Block,
}

pub(super) fn check(entry: &Entry, values: &Values, report: &mut Report<'_>) {
    for (i, block) in entry.blocks.iter().enumerate() {
        for inst in &block.insts {
            if let Some(group) = group(entry, values, inst) {
                instruction(entry, values, BlockId(i as u32), inst, group, report);
            }
        }
    }
}

fn group(entry: &Entry, values: &Values, inst: &Inst) -> Option<Group> {
    // A member mask says which lanes are waited for; a number of threads, which warps.
    if operand_named(inst.op, "m").is_some() {
        return values.has_full_mask(entry, inst).then_some(Group::Warp);
    }
    match Form::of(inst.op).effect {
        Effect::Barrier if operand_named(inst.op, "b").is_some() => Some(Group::Warp),
        Effect::Barrier | Effect::ClusterBarrier => Some(Group::Block),
        _ => None,
    }
}

fn instruction(
    entry: &Entry,
    values: &Values,
    id: BlockId,
    inst: &Inst,
    group: Group,
    report: &mut Report<'_>,
) {
    let (in_warp, in_block) = values.guard_differs(inst.guard);
    let guarded = if group == Group::Warp { in_warp } else { in_block };
    let name = inst_name(inst);
    let who = match group {
        Group::Warp => "lanes of the warp",
        Group::Block => "threads of the block",
    };
    let by = |reg| {
        let source = values.source(entry, reg, group == Group::Warp);
        source.map_or(String::new(), |source| format!(", which depends on {source}"))
    };
    if guarded && let Some(guard) = inst.guard {
        let register = &entry.regs[guard.pred.index()].name;
        let message =
            format!("{who} may disagree on executing `{name}`: its guard is `%{register}`{}", by(guard.pred));
        report.at_inst(RULE, inst, message).hint(hint(group));
        return;
    }
    let cause = match group {
        Group::Warp => values.warp_divergence(id),
        Group::Block => values.block_divergence(id),
    };
    let Some(cause) = cause else { return };
    let branch = &entry.blocks[cause.index()];
    let Terminator::Branch { pred, .. } = branch.term else { return };
    let message = if values.joins_at_exit(cause) {
        format!("`{name}` needs all {who}, some may have ended before")
    } else {
        format!("`{name}` needs all {who}, some may not reach it")
    };
    let text = show_terminator(entry, &branch.term).unwrap_or_default();
    let register = &entry.regs[pred.index()].name;
    let why = format!("they part here: `{text}` on `%{register}`{}", by(pred));
    report.at_inst(RULE, inst, message).related(why, branch.term_place).hint(hint(group));
}

fn hint(group: Group) -> &'static str {
    match group {
        Group::Warp => {
            "move it behind the point where the paths join, name the lanes in the mask, or, if all lanes of a warp decide \
             alike, mark the branch `bra.uni`"
        }
        Group::Block => {
            "move it behind the point where the paths join, or branch on a value that the whole block agrees on"
        }
    }
}
