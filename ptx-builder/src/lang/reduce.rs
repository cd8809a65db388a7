//! Sums over the threads of a row, in a fixed order.
//!
//! A row's sum has P partial sums, P a power of two that depends on the row's length and storage dtype only
//! ([`RowSum::partials`]). Partial p adds the 16-byte virtual vectors v ≡ p (mod P) in ascending order; then p joins
//! p + P/2, p + P/4, …, p + 1. With T threads (a power of two) thread t owns the partials p ≡ t (mod T), so that the first
//! joins happen inside a thread, the next between warps through shared memory, the last by shuffles: the same tree for every
//! T, every alignment and every number of rows. Threads beyond P hold zeros, which a sum does not see.

use crate::ir;
use crate::isa::mods::Shfl;
use crate::isa::{Mod, Mods, Op};
use crate::lang::grid::{sync_threads, thread_idx_x};
use crate::lang::memory::Shared;
use crate::types::{Dtype, Ty};
use crate::value::{Operand, Value, Var};

/// Most partial sums of a row.
pub const MAX_PARTIALS: u32 = 1024;

/// Bytes of a virtual vector.
pub const VECTOR_BYTES: u32 = 16;

/// The partial sums of one thread.
#[derive(Debug, Clone)]
pub struct RowSum {
    accumulators: Vec<Var<f32>>,
}

impl RowSum {
    /// Number of partial sums of a row of `len` elements of `dtype`.
    pub fn partials(len: u32, dtype: Dtype) -> u32 {
        len.div_ceil(VECTOR_BYTES / dtype.bytes()).next_power_of_two().min(MAX_PARTIALS)
    }

    /// The partial sums that a thread owns, zero.
    #[track_caller]
    pub fn new(name: &str, len: u32, dtype: Dtype, threads: u32) -> RowSum {
        let count = (RowSum::partials(len, dtype) / threads).max(1);
        RowSum { accumulators: (0..count).map(|_| Var::new(name, 0.0f32)).collect() }
    }

    /// Number of partial sums that the thread owns.
    pub fn len(&self) -> usize {
        self.accumulators.len()
    }

    /// Whether it owns none: never.
    pub fn is_empty(&self) -> bool {
        self.accumulators.is_empty()
    }

    /// The partial sum of the thread's `round`-th vector.
    pub fn partial(&self, round: usize) -> Var<f32> {
        self.accumulators[round % self.accumulators.len()]
    }

    /// Adds the squares of the elements of the thread's `round`-th vector, in ascending order.
    #[track_caller]
    pub fn add_squares(&self, round: usize, elements: &[Value<f32>]) {
        let partial = self.partial(round);
        for element in elements {
            partial.set(crate::ops::fma_rn(*element, *element, partial));
        }
    }

    /// Joins the thread's own partials, upper half into lower half until one is left.
    #[track_caller]
    pub fn join(&self) -> Value<f32> {
        let mut partials: Vec<Value<f32>> = self.accumulators.iter().map(|partial| partial.get()).collect();
        while partials.len() > 1 {
            let upper = partials.split_off(partials.len() / 2);
            partials = partials.into_iter().zip(upper).map(|(low, high)| low + high).collect();
        }
        partials[0]
    }
}

/// The sum over the `threads` threads of a row, the same in each of them. A block holds rows of `threads` consecutive
/// threads each, `block_threads` in all; every thread of the block must call this.
#[track_caller]
pub fn row_sum(own: Value<f32>, threads: u32, block_threads: u32) -> Value<f32> {
    let mut sum = own;
    if threads > 32 {
        let tid = thread_idx_x();
        let slots = Shared::<f32>::new("partials", block_threads);
        slots.at(tid).store(sum);
        sync_threads();
        // Lane l of every warp of the row reads the values of lane l of all of them.
        let first =
            if block_threads == threads { tid & 31u32 } else { (tid & !(threads - 1)) | (tid & 31u32) };
        let column = slots.at(first);
        let warps = threads / 32;
        let mut values: Vec<Value<f32>> = (0..warps).map(|warp| column.skip(warp * 32).load()).collect();
        while values.len() > 1 {
            let upper = values.split_off(values.len() / 2);
            values = values.into_iter().zip(upper).map(|(low, high)| low + high).collect();
        }
        sum = values[0];
    }
    let mut distance = threads.min(32) / 2;
    while distance > 0 {
        sum = sum + shuffle_xor(sum, distance);
        distance /= 2;
    }
    sum
}

/// The value of the lane whose index differs in the bits of `distance`; all 32 lanes take part.
#[track_caller]
pub fn shuffle_xor(value: Value<f32>, distance: u32) -> Value<f32> {
    let place = ir::Place::caller();
    let source = value.reg();
    crate::builder::with(|b| {
        let handle = b.reg(Ty::F32, false);
        let operands = vec![
            ir::Operand::Reg(handle.reg),
            ir::Operand::Reg(source),
            distance.operand(),
            31u32.operand(),
            u32::MAX.operand(),
        ];
        b.push(Op::ShflSync, Mods::new(&[Shfl::Bfly.get(), Mod::t(Ty::B32)]), operands, None, place);
        Value::from_handle(handle)
    })
}
