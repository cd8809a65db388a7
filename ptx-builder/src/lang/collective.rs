//! Exchanges between the threads of a warp and of a block: shuffles, reductions, broadcasts.
//!
//! Every lane of the warp, or thread of the block, must call them: the verifier refuses a call that some may not reach. A
//! reduction joins in a fixed order that depends on nothing but the number of threads: lanes by distances 16, 8, 4, 2, 1, then
//! warps in the same way. For sums of rows whose bits must not depend on the number of threads either there is
//! [`row_sum`](super::row_sum).
//!
//! Limits: blocks of whole warps; values of 32 bits.

use crate::builder::with;
use crate::imm::Imm;
use crate::ir::{self, Place};
use crate::isa::mods::Shfl;
use crate::isa::{Mod, Mods, Op};
use crate::lang::device;
use crate::lang::grid::{lane_id, sync_threads, thread_idx_x};
use crate::lang::memory::Shared;
use crate::types::Ty;
use crate::value::{Arithmetic, B32, Number, Operand, Scalar, Value};

/// A type of 32 bits that lanes can exchange.
pub trait Word: Scalar {}

impl Word for f32 {}
impl Word for u32 {}
impl Word for i32 {}
impl Word for B32 {}

/// Lanes of a warp.
pub const WARP: u32 = 32;

#[track_caller]
fn shuffle<T: Word>(kind: Shfl, value: Value<T>, by: ir::Operand) -> Value<T> {
    let place = Place::caller();
    let source = value.reg();
    let word = |bits: u32| ir::Operand::Imm(Imm::new(Ty::U32, u64::from(bits)));
    with(|b| {
        let handle = b.reg(T::TY, false);
        let (to, from) = (ir::Operand::Reg(handle.reg), ir::Operand::Reg(source));
        let operands = vec![to, from, by, word(WARP - 1), word(u32::MAX)];
        b.push(Op::ShflSync, Mods::new(&[kind.get(), Mod::t(Ty::B32)]), operands, None, place);
        Value::from_handle(handle)
    })
}

/// The value of the lane whose index differs in the bits of `distance`.
#[track_caller]
pub fn warp_xor<T: Word>(value: Value<T>, distance: u32) -> Value<T> {
    shuffle(Shfl::Bfly, value, distance.operand())
}

/// The value of lane `lane`, the same in all lanes.
#[track_caller]
pub fn warp_broadcast<T: Word>(value: Value<T>, lane: impl Operand<u32>) -> Value<T> {
    shuffle(Shfl::Idx, value, lane.operand())
}

/// The values of `lanes` neighboring lanes (a power of two), joined by `join`: the same in each of them.
#[track_caller]
pub fn lanes_reduce<T: Word>(
    mut value: Value<T>,
    lanes: u32,
    join: impl Fn(Value<T>, Value<T>) -> Value<T>,
) -> Value<T> {
    let mut distance = lanes.min(WARP) / 2;
    while distance > 0 {
        value = join(value, warp_xor(value, distance));
        distance /= 2;
    }
    value
}

/// The values of all lanes, joined by `join`: the same in each of them.
#[track_caller]
pub fn warp_reduce<T: Word>(value: Value<T>, join: impl Fn(Value<T>, Value<T>) -> Value<T>) -> Value<T> {
    lanes_reduce(value, WARP, join)
}

/// The values of all `threads` threads of a block, joined by `join`: the same in each of them. `neutral` changes nothing
/// when joined. Waits for the whole block twice, so that it may stand in a loop.
#[track_caller]
#[device]
pub fn block_reduce<T: Word>(
    value: Value<T>,
    #[host] threads: u32,
    #[host] neutral: T,
    #[host] join: impl Fn(Value<T>, Value<T>) -> Value<T>,
) -> Value<T> {
    if threads == 0 || threads % WARP != 0 || threads > 1024 {
        let message =
            format!("a reduction over {threads} threads: a block has whole warps, at most 1024 threads");
        with(|b| b.error(Place::caller(), message));
        return value;
    }
    let value = warp_reduce(value, &join);
    let warps = threads / WARP;
    if warps == 1 {
        return value;
    }
    let slots = warps.next_power_of_two();
    let partials = Shared::<T>::new("partials", slots);
    let tid = thread_idx_x();
    // Threads that still read what an earlier call left.
    sync_threads();
    if slots > warps {
        if tid < slots - warps {
            partials[tid + warps] = neutral;
        }
    }
    if lane_id() == 0 {
        partials[tid >> 5u32] = value;
    }
    sync_threads();
    lanes_reduce(partials[tid & (slots - 1)], slots, join)
}

/// The sum over a warp.
#[track_caller]
pub fn warp_sum<T: Word + Arithmetic>(value: Value<T>) -> Value<T> {
    warp_reduce(value, |a, b| a + b)
}

/// The largest value of a warp; NaN loses against numbers.
#[track_caller]
pub fn warp_max<T: Word + Number>(value: Value<T>) -> Value<T> {
    warp_reduce(value, |a, b| crate::ops::max(a, b))
}

/// The smallest value of a warp; NaN loses against numbers.
#[track_caller]
pub fn warp_min<T: Word + Number>(value: Value<T>) -> Value<T> {
    warp_reduce(value, |a, b| crate::ops::min(a, b))
}

/// Numbers that a reduction begins with.
pub trait Neutral: Word + Arithmetic {
    /// Changes no sum.
    const ZERO: Self;
    /// The least number.
    const LEAST: Self;
    /// The greatest number.
    const GREATEST: Self;
}

impl Neutral for f32 {
    const ZERO: f32 = 0.0;
    const LEAST: f32 = f32::NEG_INFINITY;
    const GREATEST: f32 = f32::INFINITY;
}

impl Neutral for u32 {
    const ZERO: u32 = 0;
    const LEAST: u32 = u32::MIN;
    const GREATEST: u32 = u32::MAX;
}

impl Neutral for i32 {
    const ZERO: i32 = 0;
    const LEAST: i32 = i32::MIN;
    const GREATEST: i32 = i32::MAX;
}

/// The sum over a block of `threads` threads.
#[track_caller]
pub fn block_sum<T: Neutral>(value: Value<T>, threads: u32) -> Value<T> {
    block_reduce(value, threads, T::ZERO, |a, b| a + b)
}

/// The largest value of a block of `threads` threads; NaN loses against numbers.
#[track_caller]
pub fn block_max<T: Neutral>(value: Value<T>, threads: u32) -> Value<T> {
    block_reduce(value, threads, T::LEAST, |a, b| crate::ops::max(a, b))
}

/// The smallest value of a block of `threads` threads; NaN loses against numbers.
#[track_caller]
pub fn block_min<T: Neutral>(value: Value<T>, threads: u32) -> Value<T> {
    block_reduce(value, threads, T::GREATEST, |a, b| crate::ops::min(a, b))
}

/// The value of thread `source`, the same in all threads of the block. Waits for the whole block twice.
#[track_caller]
#[device]
pub fn block_broadcast<T: Word>(value: Value<T>, source: u32) -> Value<T> {
    let slot = Shared::<T>::new("chosen", 1);
    sync_threads();
    if thread_idx_x() == source {
        slot[0u32] = value;
    }
    sync_threads();
    slot[0u32]
}
