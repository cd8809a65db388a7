//! The manifest: how a text is launched, as JSON, for programs that do not know the kernel.
//!
//! Grids, shapes and values are integers, or expressions over the sizes and scalar parameters of the launch: names, sums and
//! products, `ceil_div(a,b)`, `min(a,b)`, `max(a,b)`, `saturating_sub(a,b)`. A size that is also a parameter has its name.

mod expr;
mod read;
mod write;

pub(crate) use expr::{Expr, Names};
pub(crate) use read::{Manifest, Param, ParamKind, ScalarValue, fit};
pub(crate) use write::{fields, manifest};
