//! Definite assignment: which reads some path reaches without a write.
//!
//! A forward analysis over the control-flow graph. A guarded write does not count, since it may not happen; the reads
//! behind it are checked while running, lane by lane.

use super::{Code, InstInfo};
use crate::cfg::Cfg;
use crate::ir::{BlockId, Entry};

/// A set of registers.
#[derive(Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn has(&self, reg: u32) -> bool {
        self.0.get(reg as usize / 64).is_some_and(|word| word >> (reg % 64) & 1 == 1)
    }

    fn add(&mut self, reg: u32) {
        if let Some(word) = self.0.get_mut(reg as usize / 64) {
            *word |= 1 << (reg % 64);
        }
    }

    fn meet(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }
}

/// Marks reads that may come before a write, and writes of such registers; returns those registers.
pub(super) fn mark(entry: &Entry, cfg: &Cfg, insts: &mut [InstInfo], blocks: &mut [Code]) -> Vec<u32> {
    let words = entry.regs.len().div_ceil(64);
    let full = Set(vec![u64::MAX; words]);
    let mut at_end = vec![full.clone(); blocks.len()];
    let mut at_start = vec![full; blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &block in cfg.reverse_postorder() {
            let mut set = Set(vec![if block.0 == 0 { 0 } else { u64::MAX }; words]);
            cfg.predecessors(block).iter().for_each(|from: &BlockId| set.meet(&at_end[from.index()]));
            at_start[block.index()] = set.clone();
            for op in &blocks[block.index()].ops {
                if op.guard.is_none() {
                    insts[op.inst as usize].writes.iter().for_each(|reg| set.add(*reg));
                }
            }
            if set != at_end[block.index()] {
                at_end[block.index()] = set;
                changed = true;
            }
        }
    }
    let mut suspect = Set(vec![0; words]);
    for &block in cfg.reverse_postorder() {
        let mut set = at_start[block.index()].clone();
        let code = &mut blocks[block.index()];
        for op in &mut code.ops {
            let info = &insts[op.inst as usize];
            for reg in info.reads.iter().chain(&info.guard).filter(|reg| !set.has(**reg)) {
                suspect.add(*reg);
                op.check = true;
            }
            if op.guard.is_none() {
                info.writes.iter().for_each(|reg| set.add(*reg));
            }
        }
        for reg in insts[code.term_inst as usize].reads.iter().filter(|reg| !set.has(**reg)) {
            suspect.add(*reg);
            code.term_check = true;
        }
    }
    for op in blocks.iter_mut().flat_map(|code| &mut code.ops) {
        op.track = insts[op.inst as usize].writes.iter().any(|reg| suspect.has(*reg));
    }
    for info in insts {
        info.guard = info.guard.filter(|reg| suspect.has(*reg));
        info.reads.retain(|reg| suspect.has(*reg));
        info.writes.retain(|reg| suspect.has(*reg));
    }
    (0..entry.regs.len() as u32).filter(|reg| suspect.has(*reg)).collect()
}
