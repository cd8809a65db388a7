//! The kernels of ptxsmith: normalization, later rotary position embedding.
//!
//! One file per operation holds the formula, the spec, the arguments, the schedules, the body, the float64 reference and
//! sample specs; [`registry`] lists them.

pub mod align;
pub mod eps;
pub mod registry;
pub mod rms_norm;
pub mod rope;
pub mod row;

pub use align::Align;
pub use eps::Eps;
pub use rms_norm::{RmsNorm, RmsNormArgs, RmsNormShape, RmsNormSpec};
pub use row::RowSchedule;
