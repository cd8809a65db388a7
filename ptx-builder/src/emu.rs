//! The CPU emulator: executes the instructions that are printed.

pub mod approx;
pub mod convert;
mod dispatch;
pub mod float;
pub mod lane;
