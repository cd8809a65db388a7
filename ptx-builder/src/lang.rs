//! The kernel language's library: what `#[kernel]` bodies call, and what the macro's expansion is made of.
//!
//! * [`grid`]: thread and block indices, barriers.
//! * [`memory`]: views of global memory whose storage dtype is a host value; shared arrays.
//! * [`packed`]: what a vector access moves, and its conversion to and from the compute type.
//! * [`portable`]: operations that older targets replace by others with the same bits.
//! * [`reduce`]: reductions over the threads of a row in the fixed order that makes results independent of the schedule.
//! * [`stage`]: what the expansion of `#[kernel]` and `#[device]` calls, and staging by type.

pub mod grid;
pub mod memory;
pub mod packed;
pub mod portable;
pub mod reduce;
pub mod stage;

pub use grid::{block_idx_x, comment, lane_id, sync_threads, target, thread_idx_x};
pub use memory::{Global, GlobalMut, Shared, scalar_param};
pub use packed::Packed;
pub use portable::{add_bf16, max_of_three, min_of_three, mul_bf16, sub_bf16};
pub use reduce::{RowSum, row_sum};

pub use ptxsmith_macros::{Baked, Spec, device, kernel};

pub use crate::kernel::Baked;
pub use crate::value::{B16, B32, B64, F16};
