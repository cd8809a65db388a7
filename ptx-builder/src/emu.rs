//! The CPU emulator: executes the instructions that are printed, detects what goes wrong, and counts.
//!
//! [`run`] takes a module, verified or merely parsed, and executes one of its entries on a [`Memory`]:
//!
//! * 32 lanes of a warp in lock step, warps of a block up to their barriers, blocks on all cores.
//! * Values, memory, findings and profile are the same for any number of host threads. Blocks run in parallel on the
//!   assumption that they do not touch each other's data; where they did, or the kernel ended early, the launch is
//!   repeated from its beginning with the blocks in order, which also names both sides of a race.
//! * A detector that fires does not end the run, except for traps, deadlocks and the instruction budget.
//!
//! Limits: one grid at a time; no clusters and mbarriers; no local and constant memory; registers of at most 64 bits; what the table's rows can
//! express beyond that is refused as an [`Error`], never ignored.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::ir::{Entry, Module};
use crate::types::Ty;

pub mod approx;
mod bits;
pub mod convert;
mod decode;
mod dispatch;
mod error;
mod exec;
mod finding;
pub mod float;
pub mod lane;
mod memory;
pub mod profile;
mod race;
mod report;
mod shadow;

#[cfg(test)]
mod tests;

pub use approx::ApproxMode;
pub use error::Error;
pub use finding::{Detectors, Finding, Kind, Related, Thread};
pub use memory::{Access, BufferId, Contents, Memory};
pub use profile::Profile;

use decode::{Argument, Program, decode};
use exec::{Block, Env, Geometry, Stop, Touched, run_block};
use finding::Sink;
use profile::Counters;
use race::Ranges;
use shadow::Shadow;

/// The geometry of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks of the grid; x up to 2³¹−1, y and z up to 65 535. With 0 anywhere nothing runs.
    pub grid: [u32; 3],
    /// Threads of a block, at most 1024.
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

impl Launch {
    /// A one-dimensional launch without clusters and dynamic shared memory.
    pub const fn linear(blocks: u32, threads: u32) -> Launch {
        Launch { grid: [blocks, 1, 1], block: [threads, 1, 1], cluster: [1, 1, 1], dynamic_shared: 0 }
    }
}

/// A kernel argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgValue {
    /// A pointer into a buffer: the buffer and a byte offset.
    Buffer(BufferId, i64),
    /// The bits of a scalar, zero-extended.
    Scalar(u64),
}

/// How to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Host threads; 0 for one per core.
    pub threads: usize,
    /// Instructions that one warp may execute.
    pub budget: u64,
    /// What `.approx` instructions return.
    pub approx: ApproxMode,
    /// Detectors that report.
    pub detectors: Detectors,
    /// Findings of one kind to keep.
    pub findings_per_kind: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: 0,
            budget: 1 << 26,
            approx: ApproxMode::default(),
            detectors: Detectors::ALL,
            findings_per_kind: 32,
        }
    }
}

/// How a run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether every thread ran to its end.
    pub completed: bool,
    /// What the detectors found, by kind, then by block and instruction.
    pub findings: Vec<Finding>,
    /// Findings beyond [`Options::findings_per_kind`], by kind.
    pub omitted: Vec<(Kind, u64)>,
    /// What it cost.
    pub profile: Profile,
}

/// Largest grid dimensions.
const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Largest block dimensions.
const BLOCK: [u32; 3] = [1024, 1024, 64];
/// Largest number of threads of a block.
const THREADS: u64 = 1024;
/// Largest shared memory of a block, on any target.
const SHARED: u64 = 227 * 1024;

/// Executes an entry. `memory` holds what the arguments point to and receives the results.
pub fn run(
    module: &Module,
    entry: &str,
    launch: &Launch,
    args: &[ArgValue],
    memory: &mut Memory,
    options: &Options,
) -> Result<Outcome, Error> {
    let found = module.entries.iter().find(|candidate| candidate.name == entry);
    let entry = found.ok_or_else(|| Error::UnknownEntry {
        name: entry.to_owned(),
        known: module.entries.iter().map(|entry| entry.name.clone()).collect(),
    })?;
    check_launch(entry, launch)?;
    let arguments = arguments(entry, args, memory)?;
    let mut program = decode(entry, &arguments, launch.dynamic_shared)?;
    program.template.approx = options.approx;
    limit("shared memory", u64::from(program.shared_bytes), 0, SHARED)?;
    memory.begin();
    let machine = Machine {
        program: &program,
        memory,
        geometry: Geometry { grid: launch.grid, block: launch.block },
        options,
    };
    let ran = machine.launch();
    Ok(report::outcome(&program, memory, &machine_geometry(launch), options, ran))
}

fn machine_geometry(launch: &Launch) -> Geometry {
    Geometry { grid: launch.grid, block: launch.block }
}

fn limit(what: &'static str, value: u64, low: u64, high: u64) -> Result<(), Error> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Error::Launch { what, value, allowed: format!("{low} to {high}") })
}

fn check_launch(entry: &Entry, launch: &Launch) -> Result<(), Error> {
    const NAMES: [[&str; 3]; 3] = [
        ["grid.x", "grid.y", "grid.z"],
        ["block.x", "block.y", "block.z"],
        ["cluster.x", "cluster.y", "cluster.z"],
    ];
    let triples = [launch.grid, launch.block, launch.cluster].map(|triple| triple.map(u64::from));
    for axis in 0..3 {
        limit(NAMES[0][axis], triples[0][axis], 0, u64::from(GRID[axis]))?;
        limit(NAMES[1][axis], triples[1][axis], 1, u64::from(BLOCK[axis]))?;
        limit(NAMES[2][axis], triples[2][axis], 1, 1)?;
        let exact = entry.bounds.block.map(|block| u64::from(block[axis]));
        if let Some(exact) = exact.filter(|exact| *exact != triples[1][axis]) {
            let allowed = format!("{exact}, the entry's .reqntid");
            return Err(Error::Launch { what: NAMES[1][axis], value: triples[1][axis], allowed });
        }
    }
    let threads = triples[1].iter().product();
    limit("threads of a block", threads, 1, THREADS)?;
    if let Some(bound) = entry.bounds.max_block {
        let most = bound.iter().map(|n| u64::from(*n)).product();
        if threads > most {
            let allowed = format!("up to {most}, the entry's .maxntid");
            return Err(Error::Launch { what: "threads of a block", value: threads, allowed });
        }
    }
    Ok(())
}

fn arguments(entry: &Entry, args: &[ArgValue], memory: &Memory) -> Result<Vec<Argument>, Error> {
    if args.len() != entry.params.len() {
        return Err(Error::ArgumentCount { given: args.len(), expected: entry.params.len() });
    }
    let one = |(param, arg): (&crate::ir::Param, &ArgValue)| match *arg {
        ArgValue::Scalar(bits) => Ok(Argument { bits, buffer: None }),
        ArgValue::Buffer(id, offset) => {
            if !matches!(param.ty, Ty::U64 | Ty::S64 | Ty::B64) {
                return Err(Error::ArgumentType { param: param.name.clone(), ty: param.ty });
            }
            if memory.buffers.get(id.0 as usize).is_none() {
                return Err(Error::UnknownBuffer { param: param.name.clone() });
            }
            let bits = memory.address(id).wrapping_add(offset as u64);
            Ok(Argument { bits, buffer: Some(id.0) })
        }
    };
    entry.params.iter().zip(args).map(one).collect()
}

/// What a launch left behind.
pub(crate) struct Ran {
    pub(crate) sink: Sink,
    pub(crate) counters: Counters,
    pub(crate) touched: Vec<Touched>,
    pub(crate) stop: Option<Stop>,
    /// Blocks that ended.
    pub(crate) blocks: u64,
}

struct Machine<'a> {
    program: &'a Program<'a>,
    memory: &'a Memory,
    geometry: Geometry,
    options: &'a Options,
}

impl Machine<'_> {
    fn env<'e>(
        &'e self,
        touched: &'e [Touched],
        cancelled: &'e AtomicBool,
        shadow: Option<Shadow>,
    ) -> Env<'e> {
        Env {
            program: self.program,
            memory: self.memory,
            touched,
            geometry: self.geometry,
            budget: self.options.budget,
            cancelled,
            sink: Sink::new(self.options.detectors),
            counters: Counters::new(
                self.program.blocks.len(),
                self.program.insts.len(),
                self.memory.buffers.len(),
            ),
            ranges: Ranges::default(),
            shadow,
        }
    }

    fn touched(&self) -> Vec<Touched> {
        let of = |buffer: &memory::Buffer| {
            let sectors = (buffer.head + buffer.skew + buffer.len).div_ceil(32);
            Touched { loaded: bits::Bits::new(sectors), stored: bits::Bits::new(sectors) }
        };
        self.memory.buffers.iter().map(of).collect()
    }

    fn launch(&self) -> Ran {
        let snapshot = self.memory.snapshot();
        if let Some(ran) = self.parallel() {
            return ran;
        }
        self.memory.restore(&snapshot);
        self.in_order()
    }

    /// All blocks, on all threads; `None` if their order matters.
    fn parallel(&self) -> Option<Ran> {
        let blocks = self.geometry.blocks();
        let touched = self.touched();
        let threads = match self.options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let threads = threads.min(usize::try_from(blocks).unwrap_or(usize::MAX)).max(1);
        let next = AtomicU64::new(0);
        let cancelled = AtomicBool::new(false);
        // Small enough that the last ones to finish do not leave the other cores idle.
        let share = (blocks / (threads as u64 * 16)).clamp(1, 256);
        let total = Mutex::new((Sink::new(self.options.detectors), None::<Counters>, Ranges::default()));
        let work = || {
            let mut env = self.env(&touched, &cancelled, None);
            let mut block = Block::new(self.program, &self.geometry);
            'work: loop {
                let first = next.fetch_add(share, Relaxed);
                if first >= blocks {
                    break;
                }
                for linear in first..(first + share).min(blocks) {
                    if cancelled.load(Relaxed) {
                        break 'work;
                    }
                    if run_block(&mut env, &mut block, linear).is_err() {
                        cancelled.store(true, Relaxed);
                        break 'work;
                    }
                }
            }
            let mut total = total.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            total.0.merge(env.sink);
            match &mut total.1 {
                Some(counters) => counters.merge(&env.counters),
                none => *none = Some(env.counters),
            }
            total.2.merge(env.ranges);
        };
        if threads == 1 {
            work();
        } else {
            std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        }
        let (sink, counters, mut ranges) =
            total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        if cancelled.into_inner() || ranges.conflict() {
            return None;
        }
        Some(Ran { sink, counters: counters.unwrap_or_default(), touched, stop: None, blocks })
    }

    /// One block after the other, up to the first that cannot end.
    fn in_order(&self) -> Ran {
        let touched = self.touched();
        let cancelled = AtomicBool::new(false);
        let mut env = self.env(&touched, &cancelled, Some(Shadow::default()));
        let mut block = Block::new(self.program, &self.geometry);
        let (mut stop, mut done) = (None, 0);
        for linear in 0..self.geometry.blocks() {
            if let Err(why) = run_block(&mut env, &mut block, linear) {
                stop = Some(why);
                break;
            }
            done += 1;
        }
        let Env { sink, counters, .. } = env;
        Ran { sink, counters, touched, stop, blocks: done }
    }
}
