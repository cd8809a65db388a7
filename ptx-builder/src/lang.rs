//! The kernel language's library: what `#[kernel]` bodies call, and what the macro's expansion is made of.
//!
//! * [`collective`]: shuffles, reductions and broadcasts over a warp and a block; [`cluster`]: shared memory of other blocks.
//! * [`grid`]: thread and block indices, barriers.
//! * [`memory`]: views of global memory whose storage dtype is a host value; shared arrays.
//! * [`packed`]: what a vector access moves, and its conversion to and from the compute type.
//! * [`portable`]: operations that older targets replace by others with the same bits.
//! * [`reduce`]: reductions over the threads of a row in the fixed order that makes results independent of the schedule.
//! * [`stage`]: what the expansion of `#[kernel]` and `#[device]` calls, and staging by type.

pub mod cluster;
pub mod collective;
pub mod grid;
pub mod memory;
pub mod packed;
pub mod portable;
pub mod reduce;
pub mod stage;

pub use cluster::{ClusterRef, cluster_idx_x, cluster_rank, cluster_sync};
pub use collective::{
    block_broadcast, block_max, block_min, block_reduce, block_sum, lanes_reduce, warp_broadcast, warp_max,
    warp_min, warp_reduce, warp_sum, warp_xor,
};
pub use grid::{block_idx_x, comment, grid_dim_x, lane_id, sync_threads, target, thread_idx_x, thread_idx_y};
pub use memory::{Global, GlobalMut, Shared, scalar_param};
pub use packed::Packed;
pub use portable::{add_bf16, max_of_three, min_of_three, mul_bf16, sub_bf16};
pub use reduce::{RowSum, row_sum};

pub use stage::uniform;

pub use ptxsmith_macros::{Baked, Spec, device, kernel};

pub use crate::kernel::Baked;
// The IEEE instructions under their plain names; approximations keep their own.
pub use crate::ops::{fma_rn as fma, max, min, rcp_rn as rcp, select, sqrt_rn as sqrt};
pub use crate::value::{B16, B32, B64, F16};
