//! Definite assignment: every register is assigned on every path before it is read, and a value only once.
//!
//! A forward analysis over the control-flow graph: what is assigned at the start of a block is what is assigned at the end
//! of each predecessor. An instruction under a guard does not assign for certain, except to later instructions of
//! the same block under the same guard, or where both the guard and its negation assign.
//! The assembler accepts reads of unset registers, so nothing behind the verifier would notice.

use super::Report;
use crate::cfg::Cfg;
use crate::ir::{BlockId, Entry, Guard, Inst, Place, Reg, Terminator};

const RULE: &str = "undefined";

/// A set of registers.
#[derive(Clone, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn filled(count: usize, full: bool) -> Set {
        Set(vec![if full { u64::MAX } else { 0 }; count.div_ceil(64)])
    }

    fn insert(&mut self, reg: Reg) {
        self.0[reg.index() / 64] |= 1 << (reg.index() % 64);
    }

    fn contains(&self, reg: Reg) -> bool {
        self.0[reg.index() / 64] & (1 << (reg.index() % 64)) != 0
    }

    fn intersect(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }
}

/// What is assigned while a block is walked.
struct State {
    certain: Set,
    /// Registers assigned under a guard earlier in the block.
    guarded: Vec<(Guard, Reg)>,
}

impl State {
    fn step(&mut self, inst: &Inst) {
        inst.for_each_def(|reg| {
            // A new value of the predicate says nothing about what the old one guarded.
            self.guarded.retain(|(guard, _)| guard.pred != reg);
            match inst.guard {
                None => self.certain.insert(reg),
                Some(guard) => {
                    let negation = Guard { negated: !guard.negated, ..guard };
                    if self.guarded.contains(&(negation, reg)) {
                        self.certain.insert(reg);
                    } else {
                        self.guarded.push((guard, reg));
                    }
                }
            }
        });
    }

    fn has(&self, reg: Reg, under: Option<Guard>) -> bool {
        self.certain.contains(reg) || under.is_some_and(|guard| self.guarded.contains(&(guard, reg)))
    }
}

pub(super) fn check(entry: &Entry, cfg: &Cfg, report: &mut Report<'_>) {
    assigned_once(entry, report);
    let count = entry.regs.len();
    let mut ends: Vec<Set> = vec![Set::filled(count, true); entry.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &id in cfg.reverse_postorder() {
            let mut state = start(cfg, id, &ends, count);
            entry.blocks[id.index()].insts.iter().for_each(|inst| state.step(inst));
            if state.certain != ends[id.index()] {
                ends[id.index()] = state.certain;
                changed = true;
            }
        }
    }
    let mut reported = Set::filled(count, false);
    for &id in cfg.reverse_postorder() {
        let mut state = start(cfg, id, &ends, count);
        let block = &entry.blocks[id.index()];
        for inst in &block.insts {
            let mut missing = Vec::new();
            inst.for_each_use(|reg| {
                let under = inst.guard.filter(|guard| guard.pred != reg);
                if !state.has(reg, under) && !reported.contains(reg) {
                    reported.insert(reg);
                    missing.push(reg);
                }
            });
            for reg in missing {
                let (message, assigned) = explain(entry, reg);
                let finding = report.at_inst(RULE, inst, message);
                if let Some((text, place)) = assigned {
                    finding
                        .related(text, place)
                        .hint("assign it on every path, or where it is declared in the source");
                }
            }
            state.step(inst);
        }
        if let Terminator::Branch { pred, .. } = block.term
            && !state.has(pred, None)
            && !reported.contains(pred)
        {
            reported.insert(pred);
            let (message, assigned) = explain(entry, pred);
            let finding = report.at_end(RULE, block, message);
            if let Some((text, place)) = assigned {
                finding.related(text, place);
            }
        }
    }
}

fn start(cfg: &Cfg, id: BlockId, ends: &[Set], count: usize) -> State {
    // Nothing is assigned at the start of the kernel, even where a jump leads back to it.
    let is_start = id == BlockId(0);
    let mut certain = Set::filled(count, !is_start);
    if !is_start {
        for from in cfg.predecessors(id).iter().filter(|from| cfg.is_reachable(**from)) {
            certain.intersect(&ends[from.index()]);
        }
    }
    State { certain, guarded: Vec::new() }
}

/// The message, and where the register is assigned on some path.
fn explain(entry: &Entry, reg: Reg) -> (String, Option<(String, Place)>) {
    let name = &entry.regs[reg.index()].name;
    for inst in entry.blocks.iter().flat_map(|block| &block.insts) {
        let mut defines = false;
        inst.for_each_def(|def| defines |= def == reg);
        if defines {
            let why =
                if inst.guard.is_some() { "assigned under a guard" } else { "assigned on some paths only" };
            let text = format!("{why}: `{}`", crate::print::show_inst(entry, inst));
            return (format!("`%{name}` may be read before it is assigned"), Some((text, inst.place)));
        }
    }
    (format!("`%{name}` is read and never assigned"), None)
}

fn assigned_once(entry: &Entry, report: &mut Report<'_>) {
    let mut first: Vec<Option<Place>> = vec![None; entry.regs.len()];
    for inst in entry.blocks.iter().flat_map(|block| &block.insts) {
        inst.for_each_def(|reg| {
            let info = &entry.regs[reg.index()];
            match first[reg.index()] {
                Some(place) if !info.variable => {
                    let message = format!("`%{}` is a value and assigned twice", info.name);
                    report.at_inst("reassigned", inst, message).related("first assigned", place);
                }
                Some(_) => {}
                None => first[reg.index()] = Some(inst.place),
            }
        });
    }
}
