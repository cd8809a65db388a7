//! The kernels of ptxsmith: normalization, later rotary position embedding.
//!
//! One file per operation holds the formula, the spec, the arguments, the schedules, the body, the float64 reference and
//! sample specs; [`registry`] lists them.

pub mod registry;
pub mod rope;
