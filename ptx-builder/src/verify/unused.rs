//! Warnings: what no path reaches and nothing uses.

use super::{Report, Severity};
use crate::cfg::Cfg;
use crate::ir::{Base, BlockId, Entry, Operand, Place};

pub(super) fn check(entry: &Entry, cfg: &Cfg, report: &mut Report<'_>) {
    for (i, block) in entry.blocks.iter().enumerate() {
        let id = BlockId(i as u32);
        let follows = i > 0 && !cfg.is_reachable(BlockId(i as u32 - 1));
        // One warning for a run of unreachable blocks that nothing else jumps into.
        if cfg.is_reachable(id) || (follows && cfg.predecessors(id).len() == 1) {
            continue;
        }
        let (text, place) = match block.insts.first() {
            Some(inst) => (crate::print::show_inst(entry, inst), inst.place),
            None => (report.end_text(block), block.term_place),
        };
        let what =
            block.label.as_ref().map_or("this code".to_owned(), |label| format!("the code at `{label}`"));
        let message = format!("no path from the start of the kernel reaches {what}");
        report.add("unreachable", Severity::Warning, (text, place), message);
    }
    let mut params = vec![false; entry.params.len()];
    let mut shared = vec![false; entry.shared.len()];
    for operand in entry.blocks.iter().flat_map(|block| &block.insts).flat_map(|inst| &inst.operands) {
        match operand {
            Operand::Shared(id) => shared[id.index()] = true,
            Operand::Addr(addr) => match addr.base {
                Base::Shared(id) => shared[id.index()] = true,
                Base::Param(id) => params[id.index()] = true,
                Base::Reg(_) => {}
            },
            Operand::Reg(_) | Operand::Imm(_) | Operand::Special(_) | Operand::Vec(_) | Operand::Sink => {}
        }
    }
    let place_of =
        |place: Place, report: &Report<'_>| if place.is_known() { place } else { report.entry_place() };
    for (param, _) in entry.params.iter().zip(params).filter(|(_, used)| !used) {
        let text = format!(".param {} {}", param.ty, param.name);
        let message = format!("parameter `{}` is never read", param.name);
        let place = place_of(param.place, report);
        report.add("unused", Severity::Warning, (text, place), message);
    }
    for (array, _) in entry.shared.iter().zip(shared).filter(|(_, used)| !used) {
        let text = format!(".shared {} {}", array.ty, array.name);
        let message = format!("shared array `{}` is never used", array.name);
        let place = place_of(array.place, report);
        report.add("unused", Severity::Warning, (text, place), message);
    }
}
