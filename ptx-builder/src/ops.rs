//! Typed builder functions: one for each `fn` column of the instruction table, so that `rcp_rn(x)` is one `rcp.rn` and a
//! wrong operand type does not compile.

pub use crate::isa::table::functions::*;
pub use crate::value::select;
