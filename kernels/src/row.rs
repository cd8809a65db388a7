//! How the threads of a block share rows: the vocabulary of every kernel that reduces along a row.
//!
//! A row of `hidden` elements is cut into 16-byte virtual vectors; thread t of the T threads of a row owns the vectors t,
//! t + T, t + 2T, …, its *rounds*. Whether an access can be 16 bytes wide depends on the promised alignment, what is
//! computed does not: a narrower access reads the same elements into the same places.

use ptxsmith_builder::isa::mods::Cmp;
use ptxsmith_builder::kernel::{FieldError, KernelError};
use ptxsmith_builder::lang::reduce::VECTOR_BYTES;
use ptxsmith_builder::lang::{Baked, Global, GlobalMut, Packed, Spec};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;
use ptxsmith_builder::value::{Value, compare};

/// Longest row.
pub const MAX_HIDDEN: u32 = 262_144;

/// Where a row waits between the sum and the scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Baked)]
pub enum Keep {
    /// In registers: one pass over memory.
    Registers,
    /// In shared memory, each thread its own part: one pass over memory.
    Shared,
    /// Nowhere: it is read a second time, mostly from the L2 cache.
    Reload,
}

/// How rows are spread over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Spec)]
pub struct RowSchedule {
    /// Threads of a row: a power of two from 32 to 1024.
    pub threads_per_row: u32,
    /// Rows of a block; `threads_per_row` times it is at most 1024.
    pub rows_per_block: u32,
    /// Where the row waits between the sum and the scaling.
    pub keep: Keep,
    /// Rounds that are loaded before the first of them is used, where a row is read twice: 1 to 16.
    pub group: u32,
    /// Blocks that must fit a multiprocessor (`.minnctapersm`), which limits the registers of a thread. With 1 the assembler
    /// may give a block all of them, and does: fewer, larger blocks are what long rows want.
    pub min_blocks: u32,
}

/// Registers of a thread that may hold row data; with up to 1024 threads a thread has 64 in all.
const ROW_REGISTERS: u32 = 32;
/// Bytes of shared memory left to the partial sums.
const PARTIALS_BYTES: u32 = 4096;

/// A row cut into the vectors of its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowPlan {
    /// Elements of a row.
    pub hidden: u32,
    /// Storage dtype of the row.
    pub dtype: Dtype,
    /// The schedule.
    pub schedule: RowSchedule,
}

impl RowPlan {
    /// The schedule that the heuristic chooses, from measurements on sm_90 (docs/performance.md): two 16-byte loads of a
    /// thread in flight while 512 threads suffice, blocks of up to 512 threads, and a second read of the row from L1 or L2,
    /// which costs less than the registers that would hold it. Only rows of up to 32 vectors wait in registers.
    pub fn choose(hidden: u32, dtype: Dtype, weight: Dtype) -> RowSchedule {
        let vectors = hidden.div_ceil(VECTOR_BYTES / dtype.bytes());
        let (threads_per_row, rows_per_block) = match vectors {
            0..=64 => (32, 4),
            65..=128 => (64, 8),
            129..=256 => (128, 4),
            512 if weight == dtype => (256, 2),
            257..=896 => (256, 1),
            897..=8192 => (512, 1),
            _ => (1024, 1),
        };
        // With four to eight rounds of 512 threads, two blocks fill a multiprocessor and their registers suffice.
        let min_blocks = if (2048..=4096).contains(&vectors) { 2 } else { 1 };
        let keep = if vectors <= 32 { Keep::Registers } else { Keep::Reload };
        RowSchedule { threads_per_row, rows_per_block, keep, group: 4, min_blocks }
    }

    /// A plan with a schedule, checked.
    pub fn new(
        hidden: u32,
        dtype: Dtype,
        align: u32,
        schedule: RowSchedule,
        target: Target,
    ) -> Result<RowPlan, KernelError> {
        let invalid = |name: &str, value: String, allowed: String| {
            Err(KernelError::Field(FieldError::Invalid { name: name.to_owned(), value, allowed }))
        };
        let threads = schedule.threads_per_row;
        if !threads.is_power_of_two() || !(32..=1024).contains(&threads) {
            return invalid(
                "threads_per_row",
                threads.to_string(),
                "a power of two from 32 to 1024".to_owned(),
            );
        }
        let rows = schedule.rows_per_block;
        if rows == 0 || rows > 1024 / threads {
            return invalid(
                "rows_per_block",
                rows.to_string(),
                format!("1 to {} with {threads} threads per row", 1024 / threads),
            );
        }
        if !(1..=16).contains(&schedule.group) {
            return invalid("group", schedule.group.to_string(), "1 to 16".to_owned());
        }
        let resident = target.row().threads_per_sm / (threads * rows);
        if schedule.min_blocks == 0 || (schedule.min_blocks > 1 && schedule.min_blocks > resident) {
            let allowed =
                format!("1 to {}: {target} holds {} threads", resident.max(1), target.row().threads_per_sm);
            return invalid("min_blocks", schedule.min_blocks.to_string(), allowed);
        }
        let plan = RowPlan { hidden, dtype, schedule };
        match schedule.keep {
            Keep::Registers => {
                let registers = plan.rounds() * words_per_vector(dtype, align);
                if registers > 2 * ROW_REGISTERS {
                    return invalid(
                        "keep",
                        "registers".to_owned(),
                        format!(
                            "possible: the row takes {registers} registers of a thread, the limit is {}",
                            2 * ROW_REGISTERS
                        ),
                    );
                }
            }
            Keep::Shared => {
                let bytes = plan.shared_bytes() + PARTIALS_BYTES;
                let limit = target.row().shared_per_block;
                if bytes > limit || align < 4 || rows > 1 {
                    return invalid(
                        "keep",
                        "shared".to_owned(),
                        format!(
                            "possible: it takes one row per block, an alignment of at least 4 bytes (here {rows} and {align}) and {bytes} bytes of the {limit} of shared memory"
                        ),
                    );
                }
            }
            Keep::Reload => {}
        }
        Ok(plan)
    }

    /// Elements of a virtual vector.
    pub const fn elements(&self) -> u32 {
        VECTOR_BYTES / self.dtype.bytes()
    }

    /// Threads of a block.
    pub const fn block_threads(&self) -> u32 {
        self.schedule.threads_per_row * self.schedule.rows_per_block
    }

    /// Rounds of a thread.
    pub const fn rounds(&self) -> u32 {
        self.hidden.div_ceil(self.elements()).div_ceil(self.schedule.threads_per_row)
    }

    /// Rounds in which every thread owns a whole vector.
    pub const fn full_rounds(&self) -> u32 {
        self.hidden / self.elements() / self.schedule.threads_per_row
    }

    /// Bytes of shared memory that hold the full rounds of a row.
    pub const fn shared_bytes(&self) -> u32 {
        match self.schedule.keep {
            Keep::Shared => self.full_rounds() * self.schedule.threads_per_row * VECTOR_BYTES,
            Keep::Registers | Keep::Reload => 0,
        }
    }

    /// What the thread owns of round `round`: a whole vector, always or under a condition, and the row's incomplete last
    /// vector, under a condition.
    #[track_caller]
    pub fn pieces(&self, round: u32, thread: Value<u32>) -> Vec<Piece> {
        let threads = self.schedule.threads_per_row;
        let full = self.hidden / self.elements();
        let tail = self.hidden % self.elements();
        let first = round * threads;
        let skip = first * self.elements();
        let mut pieces = Vec::with_capacity(2);
        if first + threads <= full {
            pieces.push(Piece { skip, count: self.elements(), condition: None });
        } else if first < full {
            let condition = Some(compare::<u32>(Cmp::Lt, thread, full - first));
            pieces.push(Piece { skip, count: self.elements(), condition });
        }
        if tail > 0 && full / threads == round {
            let condition = Some(compare::<u32>(Cmp::Eq, thread, full - first));
            pieces.push(Piece { skip, count: tail, condition });
        }
        pieces
    }
}

/// Registers that a vector takes while it waits: pairs of 16-bit elements share one if the access is at least 4 bytes wide.
const fn words_per_vector(dtype: Dtype, align: u32) -> u32 {
    if align >= 4 { VECTOR_BYTES / 4 } else { VECTOR_BYTES / dtype.bytes() }
}

/// Consecutive elements that a thread owns: from element `skip` behind its first vector on.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// Elements between the thread's first vector and the piece.
    pub skip: u32,
    /// Number of elements.
    pub count: u32,
    /// Where it exists; `None` is everywhere.
    pub condition: Option<Value<bool>>,
}

impl Piece {
    /// Loads it from a view that begins at the thread's first vector; zeros where it does not exist.
    #[track_caller]
    pub fn load(&self, view: Global) -> Packed {
        let view = view.skip(self.skip);
        match self.condition {
            None => view.load_packed(self.count as usize),
            Some(condition) => view.load_packed_if(condition, self.count as usize),
        }
    }

    /// Stores it to a view that begins at the thread's first vector, where the piece and `row_exists` hold.
    #[track_caller]
    pub fn store(&self, view: GlobalMut, row_exists: Option<Value<bool>>, values: &[Value<f32>]) {
        let view = view.skip(self.skip);
        let condition = match (self.condition, row_exists) {
            (Some(piece), Some(row)) => Some(piece & row),
            (condition, None) | (None, condition) => condition,
        };
        match condition {
            None => view.store_packed(values),
            Some(condition) => view.store_packed_if(condition, values),
        }
    }
}
