//! Definite assignment: every register is assigned on every path before it is read, and a value only once.
//!
//! Where the first assignment of a register dominates a read, all is well; that settles nearly all reads in time linear in
//! the text. For the others a forward analysis over the control-flow graph follows: what is assigned at the start of
//! a block is what is assigned at the end of each predecessor. An instruction under a guard does not assign for
//! certain, except to later instructions of the same block under the same guard, or where both the guard and its
//! negation assign. The assembler accepts reads of unset registers, so nothing behind the verifier would notice.

use super::Report;
use crate::cfg::Cfg;
use crate::ir::{Block, BlockId, Entry, Guard, Inst, Place, Reg, Terminator};

const RULE: &str = "undefined";

/// A set of those registers that the forward analysis follows, by their position in a list.
#[derive(Clone, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn filled(count: usize, full: bool) -> Set {
        Set(vec![if full { u64::MAX } else { 0 }; count.div_ceil(64)])
    }

    fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn contains(&self, at: usize) -> bool {
        self.0[at / 64] & (1 << (at % 64)) != 0
    }

    fn intersect(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }
}

/// What a block has assigned up to an instruction.
struct Local<'a> {
    /// For each register the last block that assigned it for certain, plus one.
    stamps: &'a mut [u32],
    block: BlockId,
    /// Registers assigned under a guard earlier in the block.
    guarded: Vec<(Guard, Reg)>,
}

impl Local<'_> {
    fn step(&mut self, inst: &Inst) {
        inst.for_each_def(|reg| {
            // A new value of the predicate says nothing about what the old one guarded.
            self.guarded.retain(|(guard, _)| guard.pred != reg);
            let certain = inst.guard.is_none_or(|guard| {
                self.guarded.contains(&(Guard { negated: !guard.negated, ..guard }, reg))
            });
            match inst.guard {
                Some(guard) if !certain => self.guarded.push((guard, reg)),
                _ => self.stamps[reg.index()] = self.block.0 + 1,
            }
        });
    }

    fn has(&self, reg: Reg, under: Option<Guard>) -> bool {
        self.stamps[reg.index()] == self.block.0 + 1
            || under.is_some_and(|guard| self.guarded.contains(&(guard, reg)))
    }
}

/// Calls `read` with every register that is read, what the block has assigned before, and the instruction; `None` stands
/// for the terminator.
fn walk<'e>(
    entry: &'e Entry,
    id: BlockId,
    stamps: &mut [u32],
    read: &mut dyn FnMut(Reg, bool, Option<&'e Inst>),
) {
    let block = &entry.blocks[id.index()];
    let mut local = Local { stamps, block: id, guarded: Vec::new() };
    for inst in &block.insts {
        inst.for_each_use(|reg| {
            let under = inst.guard.filter(|guard| guard.pred != reg);
            read(reg, local.has(reg, under), Some(inst));
        });
        local.step(inst);
    }
    if let Terminator::Branch { pred, .. } = block.term {
        read(pred, local.has(pred, None), None);
    }
}

pub(super) fn check(entry: &Entry, cfg: &Cfg, report: &mut Report<'_>) {
    assigned_once(entry, report);
    let open = unsettled(entry, cfg);
    if open.iter().all(|reads| !reads) {
        return;
    }
    let mut position = vec![None; entry.regs.len()];
    let followed: Vec<usize> = (0..entry.regs.len()).filter(|reg| open[*reg]).collect();
    followed.iter().enumerate().for_each(|(at, reg)| position[*reg] = Some(at));
    let ends = follow(entry, cfg, &position, followed.len());

    let mut reported = vec![false; entry.regs.len()];
    let mut stamps = vec![0; entry.regs.len()];
    for &id in cfg.reverse_postorder() {
        let start = start(cfg, id, &ends, followed.len());
        let mut missing: Vec<(Reg, Option<&Inst>)> = Vec::new();
        walk(entry, id, &mut stamps, &mut |reg, local, inst| {
            let known = position[reg.index()].is_none_or(|at| start.contains(at));
            if !local && !known && !std::mem::replace(&mut reported[reg.index()], true) {
                missing.push((reg, inst));
            }
        });
        let block = &entry.blocks[id.index()];
        missing.into_iter().for_each(|(reg, inst)| report_read(entry, block, reg, inst, report));
    }
}

/// Registers with a read that neither its block nor the first assignment settles.
fn unsettled(entry: &Entry, cfg: &Cfg) -> Vec<bool> {
    let mut first: Vec<Option<BlockId>> = vec![None; entry.regs.len()];
    for &id in cfg.reverse_postorder() {
        for inst in entry.blocks[id.index()].insts.iter().filter(|inst| inst.guard.is_none()) {
            inst.for_each_def(|reg| {
                first[reg.index()].get_or_insert(id);
            });
        }
    }
    let tree = DominatorTree::new(entry, cfg);
    let mut open = vec![false; entry.regs.len()];
    let mut stamps = vec![0; entry.regs.len()];
    for &id in cfg.reverse_postorder() {
        walk(entry, id, &mut stamps, &mut |reg, local, _| {
            let dominated = first[reg.index()].is_some_and(|from| tree.strictly_dominates(from, id));
            open[reg.index()] |= !local && !dominated;
        });
    }
    open
}

/// Dominance in constant time: the numbers of a walk of the tree, at entering and at leaving each block.
struct DominatorTree(Vec<(u32, u32)>);

impl DominatorTree {
    fn new(entry: &Entry, cfg: &Cfg) -> DominatorTree {
        let mut children = vec![Vec::new(); entry.blocks.len()];
        for &id in cfg.reverse_postorder() {
            if let Some(parent) = cfg.immediate_dominator(id) {
                children[parent.index()].push(id);
            }
        }
        let mut times = vec![(0, 0); entry.blocks.len()];
        let mut clock = 0;
        let mut stack = vec![(BlockId(0), false)];
        while let Some((id, leaving)) = stack.pop() {
            clock += 1;
            if leaving {
                times[id.index()].1 = clock;
            } else {
                times[id.index()].0 = clock;
                stack.push((id, true));
                stack.extend(children[id.index()].iter().map(|child| (*child, false)));
            }
        }
        DominatorTree(times)
    }

    fn strictly_dominates(&self, over: BlockId, block: BlockId) -> bool {
        let ((enter, leave), (own_enter, own_leave)) = (self.0[over.index()], self.0[block.index()]);
        enter < own_enter && own_leave < leave
    }
}

/// What is assigned at the end of each block, of the registers that have a position.
fn follow(entry: &Entry, cfg: &Cfg, position: &[Option<usize>], count: usize) -> Vec<Set> {
    let mut ends: Vec<Set> = vec![Set::filled(count, true); entry.blocks.len()];
    let mut stamps = vec![0; entry.regs.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &id in cfg.reverse_postorder() {
            let mut end = start(cfg, id, &ends, count);
            let mut local = Local { stamps: &mut stamps, block: id, guarded: Vec::new() };
            for inst in &entry.blocks[id.index()].insts {
                local.step(inst);
                inst.for_each_def(|reg| {
                    if let Some(at) = position[reg.index()].filter(|_| local.has(reg, None)) {
                        end.insert(at);
                    }
                });
            }
            changed |= end != ends[id.index()];
            ends[id.index()] = end;
        }
        // The next round walks the blocks anew.
        stamps.fill(0);
    }
    ends
}

fn start(cfg: &Cfg, id: BlockId, ends: &[Set], count: usize) -> Set {
    // Nothing is assigned at the start of the kernel, even where a jump leads back to it.
    let is_start = id == BlockId(0);
    let mut certain = Set::filled(count, !is_start);
    if !is_start {
        for from in cfg.predecessors(id).iter().filter(|from| cfg.is_reachable(**from)) {
            certain.intersect(&ends[from.index()]);
        }
    }
    certain
}

fn report_read(entry: &Entry, block: &Block, reg: Reg, inst: Option<&Inst>, report: &mut Report<'_>) {
    let (message, assigned) = explain(entry, reg);
    let finding = match inst {
        Some(inst) => report.at_inst(RULE, inst, message),
        None => report.at_end(RULE, block, message),
    };
    if let Some((text, place)) = assigned {
        finding.related(text, place).hint("assign it on every path, or where it is declared in the source");
    }
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
