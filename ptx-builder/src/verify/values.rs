//! What is known of register values without running the kernel: low bits, and which bits the threads agree on.
//!
//! One abstract value per register, [`Known`], grown from "nothing computed yet" until it is stable:
//!
//! * the lowest bits, where they are the same in every run: alignments and constants;
//! * the number of low bits in which the lanes of a warp, or the threads of a block, may differ. `%tid.x` in a block of 256
//!   threads differs in 8 bits within the block and in 5 within a warp, so `%tid.x >> 5` is uniform in the warp.
//!
//! Threads agree on a value when they compute it in the same dynamic instance of the instruction. So a register assigned
//! under varying control and visible after the paths join differs, whatever its operands; blocks under varying control
//! are those between a varying branch and its immediate post-dominator. A path that ends in `trap` stops the whole
//! kernel and therefore does not count as a way that some threads may take.
//!
//! A plain load from an address on which the threads agree gives all of them the same value: without a data race, no store can
//! come between their loads. Relaxed, acquire and volatile loads, local memory and atomics differ. A ballot, a vote and
//! a reduction over a full warp, and a value read from one lane, agree within the warp.
//!
//! `.uni` on a branch is the author's promise for a warp; it says nothing about other warps of the block.

use crate::cfg::Cfg;
use crate::imm::Imm;
use crate::ir::{Base, BlockId, Entry, Guard, Inst, Operand, Reg, Terminator};
use crate::isa::mods::Shfl;
use crate::isa::syntax::{self, Segment};
use crate::isa::{Effect, Form, Mod, Role, SpecialReg};

mod eval;
mod regions;

use regions::Regions;

/// All lanes of a warp.
pub(super) const FULL_MASK: u64 = 0xffff_ffff;
/// Rounds after which a value that still changes is given up: loops that shift a bit each time would take 64.
const PATIENCE: u32 = 8;

/// What is known of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// The lowest `count` bits; the others are 0.
    pub(super) bits: u64,
    /// How many of the lowest bits are known.
    pub(super) count: u32,
    /// The lanes of a warp may differ in this many low bits; 64 if in all of them.
    pub(super) warp: u32,
    /// The threads of a block may differ in this many low bits.
    pub(super) block: u32,
}

pub(super) fn mask(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

impl Known {
    /// Nothing is known.
    const NOTHING: Known = Known { bits: 0, count: 0, warp: 64, block: 64 };
    /// Unknown, but the same in all threads of a block.
    const UNIFORM: Known = Known { bits: 0, count: 0, warp: 0, block: 0 };
    /// Unknown, but the same in all lanes of a warp.
    const WARP: Known = Known { bits: 0, count: 0, warp: 0, block: 64 };

    fn constant(imm: Imm) -> Known {
        Known { bits: imm.bits, count: imm.ty.bits().min(64), ..Known::UNIFORM }
    }

    fn low(self, count: u32) -> Known {
        let count = self.count.min(count);
        Known { bits: self.bits & mask(count), count, ..self }
    }

    /// The value, if all `width` bits are known.
    pub(super) fn value(self, width: u32) -> Option<u64> {
        (self.count >= width).then_some(self.bits & mask(width))
    }

    /// How many of the lowest bits are known to be 0.
    fn zeros(self) -> u32 {
        self.bits.trailing_zeros().min(self.count)
    }

    fn join(self, other: Known) -> Known {
        let count = self.count.min(other.count).min((self.bits ^ other.bits).trailing_zeros());
        let (warp, block) = (self.warp.max(other.warp), self.block.max(other.block));
        Known { bits: self.bits & mask(count), count, warp, block }
    }

    /// The value as it is seen where threads that disagreed on the way meet.
    fn through(self, warp: bool, block: bool) -> Known {
        Known { warp: if warp { 64 } else { self.warp }, block: if block { 64 } else { self.block }, ..self }
    }
}

/// The result of the analysis.
pub(super) struct Values {
    regs: Vec<Option<Known>>,
    regions: Regions,
}

/// Where registers are written and read, as far as the analysis needs it.
struct Uses {
    /// Written by more than one instruction, or under a guard.
    merged: Vec<bool>,
    /// The blocks that read the register.
    blocks: Vec<Vec<BlockId>>,
}

impl Uses {
    fn of(entry: &Entry) -> Uses {
        let mut defs = vec![0u32; entry.regs.len()];
        let mut blocks: Vec<Vec<BlockId>> = vec![Vec::new(); entry.regs.len()];
        for (i, block) in entry.blocks.iter().enumerate() {
            let mut read = |reg: Reg| {
                if blocks[reg.index()].last() != Some(&BlockId(i as u32)) {
                    blocks[reg.index()].push(BlockId(i as u32));
                }
            };
            for inst in &block.insts {
                inst.for_each_use(&mut read);
                let weight = 1 + u32::from(inst.guard.is_some());
                inst.for_each_def(|reg| defs[reg.index()] = defs[reg.index()].saturating_add(weight));
            }
            if let Terminator::Branch { pred, .. } = block.term {
                read(pred);
            }
        }
        Uses { merged: defs.iter().map(|count| *count > 1).collect(), blocks }
    }
}

impl Values {
    /// Analyses an entry whose structure is sound.
    pub(super) fn of(entry: &Entry, cfg: &Cfg) -> Values {
        let uses = Uses::of(entry);
        let mut values = Values { regs: vec![None; entry.regs.len()], regions: Regions::new(entry) };
        let mut round = 0;
        loop {
            let mut changed = false;
            for &id in cfg.reverse_postorder() {
                for inst in &entry.blocks[id.index()].insts {
                    changed |= values.step(entry, id, inst, &uses, round >= PATIENCE);
                }
            }
            for &id in cfg.reverse_postorder() {
                if let Terminator::Branch { pred, uniform, .. } = entry.blocks[id.index()].term {
                    let known = values.reg(pred);
                    changed |= values.regions.diverge(id, known.warp > 0 && !uniform, known.block > 0);
                }
            }
            round += 1;
            if !changed {
                return values;
            }
        }
    }

    /// What is known of a register.
    pub(super) fn reg(&self, reg: Reg) -> Known {
        // A register that no reachable instruction writes has no value; the rule of definite assignment reports it.
        self.regs[reg.index()].unwrap_or(Known::UNIFORM)
    }

    /// The branch because of which the lanes of a warp may disagree on executing a block.
    pub(super) fn warp_divergence(&self, block: BlockId) -> Option<BlockId> {
        self.regions.warp(block)
    }

    /// The branch because of which the threads of a block may disagree on executing a basic block.
    pub(super) fn block_divergence(&self, block: BlockId) -> Option<BlockId> {
        self.regions.block(block)
    }

    /// Whether the paths from a branch meet only at the end of the thread.
    pub(super) fn joins_at_exit(&self, branch: BlockId) -> bool {
        self.regions.join(branch).is_none()
    }

    /// What is known of an operand that is read.
    pub(super) fn operand(&self, entry: &Entry, operand: &Operand) -> Known {
        self.read(entry, operand).unwrap_or(Known::UNIFORM)
    }

    fn read(&self, entry: &Entry, operand: &Operand) -> Option<Known> {
        Some(match operand {
            Operand::Reg(reg) => self.regs[reg.index()]?,
            Operand::Imm(imm) => Known::constant(*imm),
            Operand::Special(special) => special_register(entry, *special),
            Operand::Shared(id) => {
                let align = entry.shared[id.index()].align;
                Known { count: align.checked_ilog2().unwrap_or(0), ..Known::UNIFORM }
            }
            Operand::Addr(addr) => {
                let base = match addr.base {
                    Base::Reg(reg) => self.regs[reg.index()]?,
                    Base::Shared(id) => self.read(entry, &Operand::Shared(id))?,
                    Base::Param(_) => Known::UNIFORM,
                };
                eval::add(base, Known { bits: addr.offset as u64, count: 64, ..Known::UNIFORM })
            }
            Operand::Vec(items) => {
                let mut all: Option<Known> = None;
                for item in items {
                    let own = self.read(entry, item)?;
                    all = Some(all.map_or(own, |all| all.join(own)));
                }
                Known { bits: 0, count: 0, ..all.unwrap_or(Known::UNIFORM) }
            }
            Operand::Sink => Known::UNIFORM,
        })
    }

    fn step(&mut self, entry: &Entry, id: BlockId, inst: &Inst, uses: &Uses, give_up: bool) -> bool {
        let Some(mut result) = self.result(entry, inst) else { return false };
        if let Some(guard) = inst.guard {
            let known = self.reg(guard.pred);
            result = result.through(known.warp > 0, known.block > 0);
        }
        let mut changed = false;
        inst.for_each_def(|reg| {
            let i = reg.index();
            // Where a register is seen outside of the blocks that some threads skip, its value depends on who skipped.
            let leaks = |inside: &dyn Fn(BlockId) -> bool| {
                inside(id) && (uses.merged[i] || uses.blocks[i].iter().any(|block| !inside(*block)))
            };
            let warp = leaks(&|block| self.regions.warp(block).is_some());
            let block = leaks(&|block| self.regions.block(block).is_some());
            let own = result.through(warp, block);
            let new = match self.regs[i] {
                None => own,
                Some(old) if old.join(own) == old => old,
                Some(_) if give_up => Known::NOTHING,
                Some(old) => old.join(own),
            };
            if self.regs[i] != Some(new) {
                self.regs[i] = Some(new);
                changed = true;
            }
        });
        changed
    }

    /// The value of an instruction's results; `None` while an operand has none.
    fn result(&self, entry: &Entry, inst: &Inst) -> Option<Known> {
        let form = Form::of(inst.op);
        let mut reads = Vec::with_capacity(4);
        for (operand, spec) in inst.operands.iter().zip(form.operands) {
            if spec.role != Role::Def {
                reads.push(self.read(entry, operand)?);
            }
        }
        let agree = |count: fn(&Known) -> u32| reads.iter().all(|known| count(known) == 0);
        let combined = Known {
            warp: if agree(|known| known.warp) { 0 } else { 64 },
            block: if agree(|known| known.block) { 0 } else { 64 },
            ..Known::NOTHING
        };
        Some(match form.effect {
            Effect::Pure => eval::pure(inst, &reads).unwrap_or(combined),
            Effect::Load if is_plain(inst) => match parameter(entry, inst) {
                Some(known) => known,
                None => combined,
            },
            Effect::Shuffle if self.reads_one_lane(entry, inst) => Known::WARP,
            Effect::Vote if is_collective(inst) && self.has_full_mask(entry, inst) => Known::WARP,
            _ => Known::NOTHING,
        })
    }

    /// Whether the member mask of a warp instruction names all lanes.
    pub(super) fn has_full_mask(&self, entry: &Entry, inst: &Inst) -> bool {
        let at = syntax::operand_named(inst.op, "m");
        at.is_some_and(|at| self.operand(entry, &inst.operands[at]).value(32) == Some(FULL_MASK))
    }

    /// `shfl.sync.idx` of one lane to the whole warp.
    fn reads_one_lane(&self, entry: &Entry, inst: &Inst) -> bool {
        const WHOLE_WARP: u64 = 0x1f;
        let named = |name| {
            let at = syntax::operand_named(inst.op, name);
            at.map_or(Known::NOTHING, |at| self.operand(entry, &inst.operands[at]))
        };
        Shfl::of(&inst.mods) == Some(Shfl::Idx)
            && named("b").warp == 0
            && named("c").value(32) == Some(WHOLE_WARP)
            && self.has_full_mask(entry, inst)
    }

    /// What makes a register vary, followed back to a special register, a load or another source. `in_warp` asks about the
    /// lanes of a warp, else about the threads of a block.
    pub(super) fn source(&self, entry: &Entry, reg: Reg, in_warp: bool) -> Option<String> {
        let varies = |known: Known| if in_warp { known.warp > 0 } else { known.block > 0 };
        let mut seen = vec![false; entry.regs.len()];
        let mut at = reg;
        loop {
            if std::mem::replace(&mut seen[at.index()], true) {
                return None;
            }
            let mut next = None;
            let mut last = None;
            for inst in entry.blocks.iter().flat_map(|block| &block.insts) {
                let mut defines = false;
                inst.for_each_def(|def| defines |= def == at);
                if !defines {
                    continue;
                }
                last = Some(inst);
                for operand in &inst.operands {
                    if let Operand::Special(special) = operand
                        && varies(special_register(entry, *special))
                    {
                        return Some(format!("`{special}`"));
                    }
                }
                inst.for_each_use(|used| {
                    if next.is_none() && varies(self.reg(used)) && !seen[used.index()] {
                        next = Some(used);
                    }
                });
            }
            match (next, last) {
                (Some(next), _) => at = next,
                (None, Some(inst)) if Form::of(inst.op).effect != Effect::Pure => {
                    return Some(format!("`{}`", crate::print::show_inst(entry, inst)));
                }
                (None, _) => return None,
            }
        }
    }

    /// Whether a guard may differ within a warp, and within a block.
    pub(super) fn guard_differs(&self, guard: Option<Guard>) -> (bool, bool) {
        guard.map_or((false, false), |guard| {
            let known = self.reg(guard.pred);
            (known.warp > 0, known.block > 0)
        })
    }
}

/// How many low bits special registers differ in, given the block size.
fn special_register(entry: &Entry, special: SpecialReg) -> Known {
    /// Bits of a lane index.
    const LANE: u32 = 5;
    /// The largest block is 1024 threads.
    const THREAD: u32 = 10;
    let bits = |size: u32| if size <= 1 { 0 } else { (size - 1).ilog2() + 1 };
    let size = entry.bounds.block;
    let largest = size.or(entry.bounds.max_block);
    let within = |axis: usize| largest.map_or(THREAD, |size| bits(size[axis]));
    // Warps are cut from the threads in order x, y, z: rows of whole warps, or a single row, keep lanes consecutive in x.
    let rows_are_whole = size.is_some_and(|[x, _, _]| x % 32 == 0);
    let one_row = largest.is_some_and(|[_, y, z]| y <= 1 && z <= 1);
    let differs = |warp: u32, block: u32| Known { warp: warp.min(block), block, ..Known::UNIFORM };
    let size_of = |axis: usize| match size {
        Some(size) => Known { bits: u64::from(size[axis]), count: 32, ..Known::UNIFORM },
        None => Known::UNIFORM,
    };
    match special {
        SpecialReg::TidX if rows_are_whole || one_row => differs(LANE, within(0)),
        SpecialReg::TidX => differs(THREAD, within(0)),
        SpecialReg::TidY if rows_are_whole || one_row => differs(0, within(1)),
        SpecialReg::TidY => differs(THREAD, within(1)),
        SpecialReg::TidZ if rows_are_whole || one_row => differs(0, within(2)),
        SpecialReg::TidZ => differs(THREAD, within(2)),
        SpecialReg::NtidX => size_of(0),
        SpecialReg::NtidY => size_of(1),
        SpecialReg::NtidZ => size_of(2),
        SpecialReg::LaneId => differs(LANE, LANE),
        other if other.is_varying() => Known::NOTHING,
        _ => Known::UNIFORM,
    }
}

/// Texts of the instruction's name.
fn head(inst: &Inst) -> impl Iterator<Item = &'static str> {
    Form::of(inst.op).head().iter().filter_map(|segment| match segment {
        Segment::Literal(text) => Some(*text),
        Segment::Slot { slot, .. } => inst.mods.get(*slot).map(Mod::text),
    })
}

/// A load that other threads may not interfere with, by the rules of the memory model.
fn is_plain(inst: &Inst) -> bool {
    !head(inst).any(|text| matches!(text, "relaxed" | "acquire" | "volatile" | "mmio" | "cv" | "local"))
}

/// Votes and reductions give every lane the same; matching and election do not.
fn is_collective(inst: &Inst) -> bool {
    head(inst).next().is_some_and(|text| text.starts_with("vote") || text.starts_with("redux"))
}

/// The value of a parameter that is loaded as a whole.
fn parameter(entry: &Entry, inst: &Inst) -> Option<Known> {
    inst.operands.iter().find_map(|operand| match operand {
        Operand::Addr(addr) => match addr.base {
            Base::Param(id) => {
                let align = entry.params[id.index()].pointer_align.filter(|_| addr.offset == 0);
                let count = align.and_then(u32::checked_ilog2).unwrap_or(0);
                Some(Known { count, ..Known::UNIFORM })
            }
            Base::Reg(_) | Base::Shared(_) => None,
        },
        _ => None,
    })
}
