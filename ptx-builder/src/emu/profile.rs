//! What a run cost: instructions by class, memory traffic against its minimum, divergence, each per instruction and per
//! source line.
//!
//! * An instruction counts once per warp that executes it with at least one lane.
//! * A *request* is one memory instruction of one warp. Global memory moves *sectors* of 32 bytes; shared memory moves up
//!   to 128 bytes from 32 banks of 4 bytes in one *wavefront*. The minimum is what the same bytes would cost without
//!   gaps and without bank conflicts.
//! * Counts do not depend on the number of host threads. Caches are not modeled.

use std::collections::BTreeMap;

use crate::ir::{Inst, Place};
use crate::isa::{Effect, Form, Op};

/// The kind of work an instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstClass {
    /// Floating-point arithmetic.
    Float,
    /// Integer arithmetic, shifts and logic.
    Integer,
    /// Comparison, selection.
    Compare,
    /// Moves and packing.
    Move,
    /// Conversions.
    Convert,
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Atomic operations.
    Atomic,
    /// Exchanges within a warp.
    Exchange,
    /// Barriers and fences.
    Barrier,
    /// Asynchronous copies and their barriers.
    Async,
    /// Jumps and exits.
    Control,
    /// Hints.
    Hint,
}

impl InstClass {
    /// The class of an instruction.
    pub(crate) fn of(inst: &Inst) -> InstClass {
        let form = Form::of(inst.op);
        match form.effect {
            Effect::Load => InstClass::Load,
            Effect::Store => InstClass::Store,
            Effect::Atomic => InstClass::Atomic,
            Effect::Shuffle | Effect::Vote => InstClass::Exchange,
            Effect::Barrier | Effect::Fence | Effect::ClusterBarrier | Effect::GridWait => InstClass::Barrier,
            Effect::AsyncCopy | Effect::Mbarrier => InstClass::Async,
            Effect::Exit | Effect::Trap => InstClass::Control,
            Effect::Hint => InstClass::Hint,
            Effect::Pure => match (form.mnemonic(), inst.op) {
                ("mov" | "cvta" | "prmt", _) => InstClass::Move,
                ("cvt", _) => InstClass::Convert,
                ("setp" | "selp" | "set" | "slct" | "testp", _) => InstClass::Compare,
                (_, Op::Bra) => InstClass::Control,
                _ if inst.mods.t().is_some_and(|ty| {
                    ty.is_float()
                        || matches!(
                            ty,
                            crate::types::Ty::F16x2 | crate::types::Ty::Bf16x2 | crate::types::Ty::F32x2
                        )
                }) =>
                {
                    InstClass::Float
                }
                _ => InstClass::Integer,
            },
        }
    }

    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            InstClass::Float => "float",
            InstClass::Integer => "integer",
            InstClass::Compare => "compare",
            InstClass::Move => "move",
            InstClass::Convert => "convert",
            InstClass::Load => "load",
            InstClass::Store => "store",
            InstClass::Atomic => "atomic",
            InstClass::Exchange => "exchange",
            InstClass::Barrier => "barrier",
            InstClass::Async => "async",
            InstClass::Control => "control",
            InstClass::Hint => "hint",
        }
    }
}

/// Memory traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Requests.
    pub requests: u64,
    /// Bytes that lanes asked for.
    pub bytes: u64,
    /// Sectors of global memory, or wavefronts of shared memory.
    pub moved: u64,
    /// The fewest that could have carried the distinct bytes.
    pub minimum: u64,
}

impl Traffic {
    /// Adds other traffic.
    pub fn add(&mut self, other: &Traffic) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.moved += other.moved;
        self.minimum += other.minimum;
    }

    /// The share of what moved that was needed, 0 to 1; 1 if nothing moved.
    pub fn efficiency(&self) -> f64 {
        if self.moved == 0 { 1.0 } else { self.minimum as f64 / self.moved as f64 }
    }
}

/// One instruction of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstProfile {
    /// Its text.
    pub text: String,
    /// The author's place.
    pub place: Place,
    /// Its class.
    pub class: InstClass,
    /// Warps that executed it.
    pub warps: u64,
    /// Lanes that executed it.
    pub lanes: u64,
    /// Times it divided a warp.
    pub diverged: u64,
    /// Traffic with global memory.
    pub global: Traffic,
    /// Traffic with shared memory.
    pub shared: Traffic,
}

/// One buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferProfile {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes that lanes loaded, repeats included.
    pub loaded: u64,
    /// Bytes that lanes stored, repeats included.
    pub stored: u64,
    /// Distinct sectors of 32 bytes that were loaded from: the fewest that memory must deliver.
    pub sectors_loaded: u64,
    /// Distinct sectors that were stored to.
    pub sectors_stored: u64,
}

/// The sum over some instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Warp instructions.
    pub warps: u64,
    /// Lane instructions.
    pub lanes: u64,
    /// Branches that divided a warp.
    pub diverged: u64,
    /// Traffic with global memory.
    pub global: Traffic,
    /// Traffic with shared memory.
    pub shared: Traffic,
}

impl Totals {
    fn add(&mut self, inst: &InstProfile) {
        self.warps += inst.warps;
        self.lanes += inst.lanes;
        self.diverged += inst.diverged;
        self.global.add(&inst.global);
        self.shared.add(&inst.shared);
    }
}

/// The profile of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Every instruction, in text order.
    pub instructions: Vec<InstProfile>,
    /// Every buffer of the memory.
    pub buffers: Vec<BufferProfile>,
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps of a block.
    pub warps_per_block: u32,
    /// Shared memory of a block in bytes.
    pub shared_bytes: u32,
}

impl Profile {
    /// The whole kernel.
    pub fn total(&self) -> Totals {
        self.sum(|_| ()).remove(&()).unwrap_or_default()
    }

    /// By class.
    pub fn by_class(&self) -> BTreeMap<InstClass, Totals> {
        self.sum(|inst| inst.class)
    }

    /// By the author's file and line.
    pub fn by_line(&self) -> BTreeMap<(&'static str, u32), Totals> {
        self.sum(|inst| (inst.place.file, inst.place.line))
    }

    fn sum<K: Ord>(&self, key: impl Fn(&InstProfile) -> K) -> BTreeMap<K, Totals> {
        let mut sums: BTreeMap<K, Totals> = BTreeMap::new();
        self.instructions.iter().for_each(|inst| sums.entry(key(inst)).or_default().add(inst));
        sums
    }
}

/// Counters of one instruction while a kernel runs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InstCounter {
    pub(crate) warps: u64,
    pub(crate) lanes: u64,
    pub(crate) diverged: u64,
    pub(crate) traffic: Traffic,
}

/// Counters of one worker.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Entered basic blocks: warps and lanes.
    pub(crate) blocks: Vec<(u64, u64)>,
    /// What unguarded instructions do not share with their block.
    pub(crate) insts: Vec<InstCounter>,
    /// Per buffer: bytes loaded, bytes stored.
    pub(crate) buffers: Vec<(u64, u64)>,
}

impl Counters {
    pub(crate) fn new(blocks: usize, insts: usize, buffers: usize) -> Counters {
        Counters {
            blocks: vec![(0, 0); blocks],
            insts: vec![InstCounter::default(); insts],
            buffers: vec![(0, 0); buffers],
        }
    }

    pub(crate) fn merge(&mut self, other: &Counters) {
        let pairs = self.blocks.iter_mut().chain(&mut self.buffers);
        for (sum, part) in pairs.zip(other.blocks.iter().chain(&other.buffers)) {
            sum.0 += part.0;
            sum.1 += part.1;
        }
        for (sum, part) in self.insts.iter_mut().zip(&other.insts) {
            sum.warps += part.warps;
            sum.lanes += part.lanes;
            sum.diverged += part.diverged;
            sum.traffic.add(&part.traffic);
        }
    }
}
