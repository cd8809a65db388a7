//! Thread and block indices, barriers, and what the body may ask about the build.

use crate::builder::with;
use crate::imm::Imm;
use crate::ir::{Operand, Place};
use crate::isa::{Mods, Op, SpecialReg};
use crate::target::Target;
use crate::types::Ty;
use crate::value::{Value, special};

/// Index of the thread in its block along x: varying.
#[track_caller]
pub fn thread_idx_x() -> Value<u32> {
    special(SpecialReg::TidX).named("tid")
}

/// Index of the block in the grid along x: the same for all threads of a block.
#[track_caller]
pub fn block_idx_x() -> Value<u32> {
    special(SpecialReg::CtaidX).named("block")
}

/// Index of the thread in its block along y: varying.
#[track_caller]
pub fn thread_idx_y() -> Value<u32> {
    special(SpecialReg::TidY).named("tid_y")
}

/// Blocks of the grid along x: the same for all threads.
#[track_caller]
pub fn grid_dim_x() -> Value<u32> {
    special(SpecialReg::NctaidX).named("blocks")
}

/// Index of the thread in its warp: varying.
#[track_caller]
pub fn lane_id() -> Value<u32> {
    special(SpecialReg::LaneId).named("lane")
}

/// Waits for every thread of the block; what they wrote to shared memory before it is visible after it.
#[track_caller]
pub fn sync_threads() {
    let place = Place::caller();
    with(|b| b.push(Op::BarSync, Mods::NONE, vec![Operand::Imm(Imm::new(Ty::U32, 0))], None, place));
}

/// The target that is built for.
pub fn target() -> Target {
    with(|b| b.target())
}

/// A comment line in the text, for its readers.
pub fn comment(text: &str) {
    with(|b| b.comment(text));
}
