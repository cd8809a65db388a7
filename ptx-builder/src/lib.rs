//! PTX as typed data: instruction table, intermediate representation, builder, verifier, printer and CPU emulator.

// The library of the kernel language is partly written in it; the macros name this crate by its public name.
extern crate self as ptxsmith_builder;

pub mod builder;
pub mod cfg;
pub mod emu;
mod hash;
pub mod imm;
pub mod ir;
pub mod isa;
pub mod kernel;
pub mod lang;
pub mod ops;
pub mod parse;
pub mod print;
pub mod target;
pub mod types;
pub mod value;
pub mod verify;
