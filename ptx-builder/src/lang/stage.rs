//! What the expansion of `#[kernel]` and `#[device]` is made of: staging by type.
//!
//! The macro knows no types. Where the meaning of Rust syntax depends on whether a value is known while the text is made (a
//! host value) or only when the kernel runs (a kernel value), it expands to a call of a trait of this module, and rustc chooses:
//!
//! * [`arms`]: `if` and `match`: one arm, or both with branches between them.
//! * [`logic`]: `&&` and `||`.
//! * [`loops`]: `for`, `while` and `loop`: repeated while the text is made, or one body between labels; `break`, `continue`.
//! * [`calls`]: early `return`, and the arguments of `#[device]` functions.
//! * [`ranges`]: `a..b` and `.step_by(s)`.
//! * [`registers`]: `let mut`, reading and assigning, names for readers of the text.
//! * [`operators`]: comparisons, `as`, indexing.
//! * [`fields`]: baked parameters as named fields, compared by bits.
//!
//! Every function that adds instructions is `#[track_caller]`: the expansion carries the author's spans, so that places name
//! the author's line and column.

pub mod arms;
pub mod calls;
pub mod fields;
pub mod logic;
pub mod loops;
pub mod operators;
pub mod ranges;
pub mod registers;

pub use arms::{
    Arm, Arms, Condition, Decide, HostCondition, If, Join, Joined, KernelCondition, Uniform, Unify, both,
    condition, like, matched, neither, uniform,
};
pub use calls::{Lift, Return, host_return, lift, ret};
pub use fields::{
    BakedParam, ByBits, IntoBlock, in_range, infos_with_default, schedule_infos, schedule_values,
};
pub use logic::{Connect, Logic};
pub use loops::{Block, Exit, Exits, For, IntoSteps, Loop, Steps, While, for_loop};
pub use operators::{
    Cast, CastTo, CompareEq, CompareOrd, Equal, HostIndex, Index, IndexMut, Loaded, Store, Typed, at, at_mut,
    cast, eq, ge, gt, index, le, lt, ne, store, typed,
};
pub use ranges::{Bounds, InclusiveBounds, KernelRange, One, StepBy, range, range_inclusive, step_by};
pub use registers::{
    AssignTo, IntoVar, NameHost, NameKernel, Named, Naming, Read, Registers, assign, into_var, mark,
    name_since, read, register,
};
