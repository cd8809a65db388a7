//! The CPU emulator: executes the instructions that are printed.

pub mod lane;
