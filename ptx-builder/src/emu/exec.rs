//! Execution: warps of 32 lanes in lock step, blocks, barriers.
//!
//! * A warp runs basic blocks over structure-of-arrays registers with a mask of active lanes. Lanes that a branch
//!   divides run one side after the other and come together at the branch's immediate post-dominator.
//! * A warp runs until it must wait or ends, then the next one does, in order; so a run is the same every time.
//!   Whether another order would give other values is the race detector's task.
//! * Limit: lanes of one warp that wait for each other in a loop without an exchange instruction make no progress and
//!   run into the instruction budget.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use super::bits::Bits;
use super::decode::{Act, NONE, Program, Reduce, Term};
use super::finding::{Kind, Other, Sink, Where};
use super::lane::RegFile;
use super::memory::Memory;
use super::profile::Counters;
use super::race::{self, Access, Order, Ranges, WARPS};
use super::shadow::Shadow;
use crate::hash::FastMap;
use crate::isa::SpecialReg;

mod atomic;
mod barrier;
mod copy;
mod exchange;
mod memory;
mod pattern;
mod sync;
mod transfer;
mod vote;

use barrier::Barrier;

/// Strong reads after which a warp lets the others run, which may be writing what it waits for.
const POLLS: u32 = 32;

/// Why a launch ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Trap,
    Deadlock,
    Budget,
    /// Another worker has stopped.
    Cancelled,
}

/// Sizes of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
}

impl Geometry {
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(crate) fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().map(|n| u64::from(*n)).product()
    }

    /// Index of a block in the grid.
    pub(crate) fn block_index(&self, linear: u64) -> [u32; 3] {
        split(linear, self.grid)
    }

    /// Index of a thread in its block.
    pub(crate) fn thread_index(&self, linear: u32) -> [u32; 3] {
        split(u64::from(linear), self.block)
    }
}

fn split(linear: u64, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(x.max(1)), u64::from(y.max(1)));
    [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32]
}

/// Distinct sectors of a buffer that were touched.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) loaded: Bits,
    pub(crate) stored: Bits,
}

/// What the blocks of one worker share.
pub(crate) struct Env<'a> {
    pub(crate) program: &'a Program<'a>,
    pub(crate) memory: &'a Memory,
    pub(crate) touched: &'a [Touched],
    pub(crate) geometry: Geometry,
    /// Instructions that a warp may execute.
    pub(crate) budget: u64,
    /// Set by a worker that has stopped.
    pub(crate) cancelled: &'a AtomicBool,
    pub(crate) sink: Sink,
    pub(crate) counters: Counters,
    pub(crate) ranges: Ranges,
    /// Who touched which byte; only where blocks run in order.
    pub(crate) shadow: Option<Shadow>,
}

/// A group of lanes on its way to a common point.
#[derive(Debug, Clone, Copy)]
struct Frame {
    block: u32,
    /// Next operation in the block.
    op: u32,
    mask: u32,
    /// The block at whose start it ends.
    join: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    Ready,
    Waiting {
        barrier: u32,
        inst: u32,
    },
    #[default]
    Done,
}

/// A warp.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) index: u32,
    pub(crate) regs: RegFile,
    /// Lanes that hold a thread.
    pub(crate) lanes: u32,
    pub(crate) exited: u32,
    stack: Vec<Frame>,
    pub(crate) state: State,
    executed: u64,
    /// What its last fence orders before the accesses behind it.
    pub(crate) fence: Option<Order>,
    /// What its next fence will order before the accesses behind that.
    pub(crate) pending: Option<Order>,
    /// Groups of copies, and of bulk copies, that each lane has made.
    pub(crate) groups: [[u32; 32]; 2],
    /// Strong reads since it was its turn.
    pub(crate) polls: u32,
    /// The result that the barrier it waits at will give, and the lanes that get it.
    pub(crate) reduce: Option<(Reduce, u32)>,
    /// Counts the points at which this warp's lanes were ordered.
    pub(crate) clock: u32,
    /// Index of the [`Order`] that holds for this warp.
    pub(crate) order: u32,
    /// Lanes in which each register was written; only where some are tracked.
    init: Vec<u32>,
}

impl Warp {
    /// Lanes whose threads have not ended.
    pub(crate) fn live(&self) -> u32 {
        self.lanes & !self.exited
    }
}

/// A block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) linear: u64,
    pub(crate) shared: Vec<AtomicU32>,
    pub(crate) shared_init: Bits,
    pub(crate) warps: Vec<Warp>,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) log: Vec<Access>,
    pub(crate) orders: Vec<Order>,
    /// Copies that nobody has waited for.
    pub(crate) copies: Vec<copy::Copy>,
    /// What releases left at their locations.
    pub(crate) releases: FastMap<(u32, usize), Order>,
}

impl Block {
    pub(crate) fn new(program: &Program<'_>, geometry: &Geometry) -> Block {
        let threads = geometry.threads();
        let warps = (0..geometry.warps()).map(|index| {
            let mut regs = program.template.clone();
            for (special, slot) in &program.specials {
                for lane in 0..32 {
                    let [x, y, z] = geometry.thread_index(index * 32 + lane);
                    let bit = 1u32 << lane;
                    let value = match special {
                        SpecialReg::TidX => x,
                        SpecialReg::TidY => y,
                        SpecialReg::TidZ => z,
                        SpecialReg::NtidX => geometry.block[0],
                        SpecialReg::NtidY => geometry.block[1],
                        SpecialReg::NtidZ => geometry.block[2],
                        SpecialReg::NctaidX => geometry.grid[0],
                        SpecialReg::NctaidY => geometry.grid[1],
                        SpecialReg::NctaidZ => geometry.grid[2],
                        SpecialReg::LaneId => lane,
                        SpecialReg::LanemaskEq => bit,
                        SpecialReg::LanemaskLe => bit | (bit - 1),
                        SpecialReg::LanemaskLt => bit - 1,
                        SpecialReg::LanemaskGe => !(bit - 1),
                        SpecialReg::LanemaskGt => !(bit | (bit - 1)),
                        SpecialReg::WarpId => index,
                        SpecialReg::NwarpId => geometry.warps(),
                        SpecialReg::NsmId => 1,
                        // Without clusters each block is one.
                        SpecialReg::NclusterIdX => geometry.grid[0],
                        SpecialReg::ClusterNctaidX | SpecialReg::ClusterNctarank => 1,
                        SpecialReg::DynamicSmemSize => program.dynamic_shared,
                        SpecialReg::TotalSmemSize => program.shared_bytes,
                        // Of a block, which is not known yet, or of a device, which is not there.
                        SpecialReg::CtaidX
                        | SpecialReg::CtaidY
                        | SpecialReg::CtaidZ
                        | SpecialReg::ClusterIdX => 0,
                        SpecialReg::ClusterCtaidX
                        | SpecialReg::ClusterCtarank
                        | SpecialReg::IsExplicitCluster => 0,
                        SpecialReg::SmId | SpecialReg::GridId | SpecialReg::Clock | SpecialReg::Clock64 => 0,
                        SpecialReg::GlobalTimer => 0,
                    };
                    regs.set(slot.class, slot.at, lane as usize, u64::from(value));
                }
            }
            let lanes = threads - index * 32;
            Warp {
                index,
                regs,
                lanes: if lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 },
                init: vec![0; if program.tracked.is_empty() { 0 } else { program.entry.regs.len() }],
                ..Warp::default()
            }
        });
        Block {
            linear: 0,
            shared: (0..program.shared_bytes.div_ceil(4)).map(|_| AtomicU32::new(0)).collect(),
            shared_init: Bits::new(program.shared_bytes as usize),
            warps: warps.collect(),
            barriers: vec![Barrier::default(); barrier::BARRIERS],
            log: Vec::new(),
            orders: vec![[0; WARPS]],
            copies: Vec::new(),
            releases: FastMap::default(),
        }
    }

    /// Prepares for another block of the grid. What a thread has not written reads as zero, whoever ran before.
    fn begin(&mut self, program: &Program<'_>, geometry: &Geometry, linear: u64) {
        self.linear = linear;
        let [x, y, z] = geometry.block_index(linear);
        self.shared.iter().for_each(|word| word.store(0, Relaxed));
        self.shared_init.clear();
        self.barriers.fill(Barrier::default());
        self.log.clear();
        self.orders.truncate(1);
        self.releases.clear();
        self.copies.clear();
        for warp in &mut self.warps {
            for (special, slot) in &program.specials {
                let value = match special {
                    SpecialReg::CtaidX | SpecialReg::ClusterIdX => x,
                    SpecialReg::CtaidY => y,
                    SpecialReg::CtaidZ => z,
                    _ => continue,
                };
                warp.regs.fill(slot.class, slot.at, u64::from(value), u32::MAX);
            }
            for (_, slot) in &program.tracked {
                warp.regs.fill(slot.class, slot.at, 0, u32::MAX);
            }
            warp.init.fill(0);
            warp.exited = 0;
            warp.executed = 0;
            warp.reduce = None;
            warp.fence = None;
            warp.pending = None;
            warp.groups = [[0; 32]; 2];
            warp.polls = 0;
            warp.clock = 1;
            warp.order = 0;
            warp.state = State::Ready;
            warp.stack.clear();
            if !program.blocks.is_empty() {
                warp.stack.push(Frame { block: 0, op: 0, mask: warp.lanes, join: NONE });
            }
        }
    }
}

/// Where an instruction runs: for reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub(crate) block: u64,
    pub(crate) warp: u32,
    pub(crate) inst: u32,
}

impl Env<'_> {
    pub(crate) fn report(
        &mut self,
        kind: Kind,
        at: At,
        lane: u32,
        memory: Where,
        message: impl FnOnce() -> String,
    ) {
        self.sink.report(kind, at.inst, at.block, None, || (at.warp * 32 + lane, memory, message()));
    }
}

/// Runs one block of the grid in `block`'s room.
pub(crate) fn run_block(env: &mut Env<'_>, block: &mut Block, linear: u64) -> Result<(), Stop> {
    block.begin(env.program, &env.geometry, linear);
    let result = run_warps(env, block);
    copy::drain(env, block);
    examine(env, block);
    env.ranges.close();
    result
}

fn run_warps(env: &mut Env<'_>, block: &mut Block) -> Result<(), Stop> {
    loop {
        let mut progress = false;
        for index in 0..block.warps.len() {
            if block.warps[index].state != State::Ready {
                continue;
            }
            progress = true;
            let mut warp = std::mem::take(&mut block.warps[index]);
            let result = run_warp(env, block, &mut warp);
            block.warps[index] = warp;
            result?;
        }
        if block.warps.iter().all(|warp| warp.state == State::Done) {
            return Ok(());
        }
        if !barrier::settle(env, block) && !progress {
            barrier::deadlock(env, block);
            return Err(Stop::Deadlock);
        }
    }
}

/// Looks for races in a block's log and clears it.
pub(crate) fn examine(env: &mut Env<'_>, block: &mut Block) {
    let log = std::mem::take(&mut block.log);
    let linear = block.linear;
    let sink = &mut env.sink;
    let memory = env.memory;
    race::races(&log, &block.orders, |race| {
        let (kind, place) = if race.buffer == NONE {
            (Kind::SharedRace, Where::Shared(race.byte as i64))
        } else {
            let head = memory.buffers[race.buffer as usize].head;
            (Kind::GlobalRace, Where::Global(race.buffer, race.byte as i64 - head as i64))
        };
        let other = Other { block: linear, thread: race.other_thread, inst: race.other_inst };
        sink.report(kind, race.inst, linear, Some(other), || {
            let message = if race.thread / 32 == race.other_thread / 32 {
                "nothing orders two lanes of one warp".to_owned()
            } else {
                "no barrier between two threads of one block".to_owned()
            };
            (race.thread, place, message)
        });
    });
    match &mut env.shadow {
        Some(shadow) => shadow.add(&log, linear, memory, sink),
        None => env.ranges.add(&log, linear),
    }
    block.log = log;
    block.log.clear();
}

/// What a warp does after an operation.
enum Step {
    Next,
    Wait,
}

fn run_warp(env: &mut Env<'_>, block: &mut Block, warp: &mut Warp) -> Result<(), Stop> {
    let program = env.program;
    'frames: loop {
        let Some(frame) = warp.stack.last_mut() else {
            warp.state = State::Done;
            return Ok(());
        };
        frame.mask &= !warp.exited;
        if frame.mask == 0 || frame.block == frame.join {
            warp.stack.pop();
            continue;
        }
        let Frame { block: here, op: start, mut mask, join } = *frame;
        let code = &program.blocks[here as usize];
        if start == 0 {
            let (warps, lanes) = &mut env.counters.blocks[here as usize];
            *warps += 1;
            *lanes += u64::from(mask.count_ones());
            if env.cancelled.load(Relaxed) {
                return Err(Stop::Cancelled);
            }
            warp.executed += code.cost;
            if warp.executed > env.budget {
                return Err(over_budget(env, block, warp, code.term_inst, mask));
            }
        }
        for (index, op) in code.ops.iter().enumerate().skip(start as usize) {
            if op.check
                && let Some(reg) = program.insts[op.inst as usize].guard
            {
                check_register(env, block, warp, op.inst, reg, mask);
            }
            let active = match op.guard {
                None => mask,
                Some((pred, negated)) => {
                    let holds = warp.regs.pred[pred as usize];
                    let active = mask & if negated { !holds } else { holds };
                    if active == 0 {
                        continue;
                    }
                    let counter = &mut env.counters.insts[op.inst as usize];
                    counter.warps += 1;
                    counter.lanes += u64::from(active.count_ones());
                    active
                }
            };
            if op.check {
                check_reads(env, block, warp, op.inst, active);
            }
            if op.track {
                for reg in &program.insts[op.inst as usize].writes {
                    warp.init[*reg as usize] |= active;
                }
            }
            match &op.act {
                Act::Lanes(run, slots) => run(&mut warp.regs, slots, active),
                Act::Copy32(d, a) => warp.regs.copy32(*d, *a, active),
                Act::Copy64(d, a) => warp.regs.copy64(*d, *a, active),
                Act::Load(load) => memory::load(env, block, warp, load, op.inst, active),
                Act::Store(store) => memory::store(env, block, warp, store, op.inst, active),
                Act::Pack(pack) => exchange::pack(&mut warp.regs, pack, active),
                Act::Unpack(pack) => exchange::unpack(&mut warp.regs, pack, active),
                Act::Shuffle(shuffle) => exchange::shuffle(env, block, warp, shuffle, op.inst, active),
                Act::Atomic(atomic) => atomic::atomic(env, block, warp, atomic, op.inst, active),
                Act::Async(copy) => copy::asynchronous(env, block, warp, copy, op.inst, active),
                Act::Fence { wide } => sync::fence(block, warp, *wide, op.inst),
                Act::Vote(vote) => vote::vote(env, block, warp, vote, op.inst, active),
                Act::Barrier(barrier) => {
                    if let Step::Wait = barrier::arrive(env, block, warp, *barrier, op.inst, active) {
                        if let Some(frame) = warp.stack.last_mut() {
                            frame.op = index as u32 + 1;
                            frame.mask = mask;
                        }
                        return Ok(());
                    }
                }
                Act::Exit => {
                    warp.exited |= active;
                    mask &= !active;
                    if mask == 0 {
                        warp.stack.pop();
                        continue 'frames;
                    }
                }
                Act::Trap => return Err(trap(env, block, warp, op.inst, active)),
                Act::Nothing => {}
            }
            if warp.polls >= POLLS {
                warp.polls = 0;
                if let Some(frame) = warp.stack.last_mut() {
                    frame.op = index as u32 + 1;
                    frame.mask = mask;
                }
                return Ok(());
            }
        }
        if code.term_check {
            check_reads(env, block, warp, code.term_inst, mask);
        }
        let Some(frame) = warp.stack.last_mut() else { continue };
        frame.op = 0;
        frame.mask = mask;
        match code.term {
            Term::Go(target) => frame.block = target,
            Term::Exit => {
                warp.exited |= mask;
                warp.stack.pop();
            }
            Term::Trap => return Err(trap(env, block, warp, code.term_inst, mask)),
            Term::Branch { pred, negated, target, fall, uniform } => {
                let holds = warp.regs.pred[pred as usize];
                let taken = mask & if negated { !holds } else { holds };
                if taken == mask {
                    frame.block = target;
                } else if taken == 0 {
                    frame.block = fall;
                } else {
                    // Where the two sides meet, the frame below continues with all of them.
                    if code.join == NONE || code.join == join {
                        warp.stack.pop();
                    } else {
                        frame.block = code.join;
                    }
                    for (side, lanes) in [(target, taken), (fall, mask & !taken)] {
                        if side != code.join {
                            warp.stack.push(Frame { block: side, op: 0, mask: lanes, join: code.join });
                        }
                    }
                    env.counters.insts[code.term_inst as usize].diverged += 1;
                    if uniform {
                        let at = At { block: block.linear, warp: warp.index, inst: code.term_inst };
                        env.report(
                            Kind::DivergentUniform,
                            at,
                            taken.trailing_zeros(),
                            Where::Nowhere,
                            || format!("{} of {} lanes jump", taken.count_ones(), mask.count_ones()),
                        );
                    }
                }
            }
        }
    }
}

#[cold]
fn over_budget(env: &mut Env<'_>, block: &Block, warp: &Warp, inst: u32, mask: u32) -> Stop {
    let at = At { block: block.linear, warp: warp.index, inst };
    let budget = env.budget;
    env.report(Kind::Budget, at, mask.trailing_zeros(), Where::Nowhere, || {
        format!("a warp has executed more than {budget} instructions")
    });
    Stop::Budget
}

#[cold]
fn trap(env: &mut Env<'_>, block: &Block, warp: &Warp, inst: u32, mask: u32) -> Stop {
    let at = At { block: block.linear, warp: warp.index, inst };
    env.report(Kind::Trap, at, mask.trailing_zeros(), Where::Nowhere, || {
        "the kernel stopped itself".to_owned()
    });
    Stop::Trap
}

fn check_reads(env: &mut Env<'_>, block: &Block, warp: &mut Warp, inst: u32, active: u32) {
    let program = env.program;
    for reg in &program.insts[inst as usize].reads {
        check_register(env, block, warp, inst, *reg, active);
    }
}

/// Reports the active lanes in which a register has no value.
fn check_register(env: &mut Env<'_>, block: &Block, warp: &mut Warp, inst: u32, reg: u32, active: u32) {
    let program = env.program;
    let init = &mut warp.init[reg as usize];
    let mut missing = active & !*init;
    // Reported once; what is computed from it counts as written.
    *init |= active;
    let at = At { block: block.linear, warp: warp.index, inst };
    while missing != 0 {
        let lane = missing.trailing_zeros();
        missing &= missing - 1;
        env.report(Kind::UninitRegister, at, lane, Where::Register(reg), || {
            format!("register `%{}` has no value", program.entry.regs[reg as usize].name)
        });
    }
}
