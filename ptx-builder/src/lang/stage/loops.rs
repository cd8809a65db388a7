//! `for`, `while`, `loop` and labeled blocks, and the jumps out of them.
//!
//! A host loop repeats its body while the text is made; a kernel loop stages its body once, between a head label and a jump
//! back. Jumps that depend on the run are possible in both: their labels are made when the first one is, and placed where the
//! iteration or the loop ends. From then on a host loop is *open* like a kernel one: code behind those labels can
//! be reached, so a native jump across them would lose it.

use std::ops::{Range, RangeInclusive};

use super::arms::Decide;
use super::calls::Lift;
use super::registers::{Registers, here};
use crate::builder::{Label, with};
use crate::ir::{Guard, Place};
use crate::isa::mods::Cmp;
use crate::types::Ty;
use crate::value::{Int, Operand, Value, Var, compare};

/// Labels of a construct that jumps may leave.
#[derive(Debug)]
struct Exits {
    kernel: bool,
    name: &'static str,
    breaks: Option<Label>,
    continues: Option<Label>,
    /// Where `continue` of a kernel `while` or `loop` goes.
    head: Option<Label>,
}

impl Exits {
    fn new(kernel: bool, name: &'static str) -> Exits {
        Exits { kernel, name, breaks: None, continues: None, head: None }
    }

    fn break_label(&mut self) -> Label {
        let name = format!("end_{}", self.name);
        *self.breaks.get_or_insert_with(|| with(|b| b.label(&name)))
    }

    fn jump_break(&mut self, place: Place) {
        let label = self.break_label();
        with(|b| b.jump(label, place));
    }

    fn jump_continue(&mut self, place: Place) {
        let name = format!("next_{}", self.name);
        let label = match self.head {
            Some(head) => head,
            None => *self.continues.get_or_insert_with(|| with(|b| b.label(&name))),
        };
        with(|b| b.jump(label, place));
    }

    fn place_continue(&mut self) {
        if let Some(label) = self.continues.take() {
            with(|b| b.place(label));
        }
    }

    fn place_break(&mut self) {
        if let Some(label) = self.breaks.take() {
            with(|b| b.place(label));
        }
    }
}

macro_rules! jumps {
    ([$($generic:ident: $bound:ident)?] $name:ty) => {
        impl $(<$generic: $bound>)? $name {
            /// Whether a jump out of the body must be emitted, because code that only the running kernel skips would be lost.
            pub fn open(&self) -> bool {
                self.exits.kernel || self.exits.continues.is_some() || self.exits.breaks.is_some()
            }

            /// After an emitted jump: whether the staging of the body is left by `continue` (else by `break`).
            pub fn leave(&self) -> bool {
                self.exits.kernel || self.exits.continues.is_some()
            }

            /// Emits a jump behind the construct.
            #[track_caller]
            pub fn jump_break(&mut self) {
                self.exits.jump_break(here());
            }

            /// Emits a jump to the next iteration.
            #[track_caller]
            pub fn jump_continue(&mut self) {
                self.exits.jump_continue(here());
            }

            /// `break` where nothing is open between here and the construct: whether a jump was emitted and the staging of
            /// the body is left by `continue` (else by `break`).
            #[track_caller]
            pub fn break_here(&mut self) -> bool {
                let leave = self.leave();
                if leave {
                    self.exits.jump_break(here());
                }
                leave
            }

            /// Ends the construct.
            pub fn finish(&mut self) {
                self.exits.place_break();
            }
        }
    };
}

jumps!([S: Steps] For<S>);
jumps!([] While);
jumps!([] Loop);
jumps!([] Block);

/// What a `for` can run over.
pub trait Steps {
    /// What the pattern binds.
    type Item;

    /// Whether it is a loop of the kernel.
    const KERNEL: bool;

    /// The next item; a kernel loop gives one, and what is behind its body when asked again.
    #[track_caller]
    fn step(&mut self, exit: &mut dyn FnMut() -> Label, next: &mut dyn FnMut()) -> Option<Self::Item>;
}

impl<I: Iterator> Steps for I {
    type Item = I::Item;

    const KERNEL: bool = false;

    fn step(&mut self, _: &mut dyn FnMut() -> Label, next: &mut dyn FnMut()) -> Option<I::Item> {
        next();
        self.next()
    }
}

/// A `for` that is being staged.
#[derive(Debug)]
pub struct For<S: Steps> {
    exits: Exits,
    steps: S,
}

/// What stands behind `in`: an iterator of host values, or a range with a kernel value in it.
#[diagnostic::on_unimplemented(
    message = "`for` runs over ranges and iterators, found `{Self}`",
    label = "not a range or an iterator",
    note = "a range whose bounds or step are kernel values becomes a loop of the kernel, an iterator of host values is unrolled"
)]
pub trait IntoSteps<S: Steps> {
    /// Begins; `name` is that of the loop variable.
    fn into_steps(self, name: &'static str) -> S;
}

#[diagnostic::do_not_recommend]
impl<I: IntoIterator> IntoSteps<I::IntoIter> for I {
    fn into_steps(self, _: &'static str) -> I::IntoIter {
        self.into_iter()
    }
}

/// `for name in steps`.
pub fn for_loop<I: IntoSteps<S>, S: Steps>(steps: I, name: &'static str) -> For<S> {
    For { exits: Exits::new(S::KERNEL, name), steps: steps.into_steps(name) }
}

impl<S: Steps> For<S> {
    /// The next item to stage the body with.
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "the place of the caller is part of it")]
    pub fn next(&mut self) -> Option<S::Item> {
        let For { exits, steps } = self;
        let exits = std::cell::RefCell::new(exits);
        steps.step(&mut || exits.borrow_mut().break_label(), &mut || exits.borrow_mut().place_continue())
    }
}

/// A range with a kernel value in it: `start..end`, by a positive step.
#[derive(Debug, Clone, Copy)]
pub struct KernelRange<T: Int> {
    start: Value<T>,
    end: Value<T>,
    step: Value<T>,
    inclusive: bool,
}

impl<T: Int> KernelRange<T> {
    /// The half-open range.
    pub fn new(start: impl Operand<T>, end: impl Operand<T>) -> KernelRange<T>
    where
        T: One,
    {
        let step = Value::constant(T::ONE);
        KernelRange { start: start.value(), end: end.value(), step, inclusive: false }
    }

    /// Every `step`-th value; the step is positive.
    #[track_caller]
    pub fn step_by(self, step: impl Operand<T>) -> KernelRange<T> {
        let step = step.value();
        if step.known() == Some(0) {
            let place = here();
            with(|b| b.error(place, "the step of a range is 0"));
        }
        KernelRange { step, ..self }
    }
}

/// The number 1 of an integer type, and its largest value.
pub trait One: Int {
    /// 1.
    const ONE: Self;
    /// The largest value, as bits.
    const MAX_BITS: u64;
}

macro_rules! ones {
    ($($ty:ty: $max:expr;)*) => {$(
        impl One for $ty {
            const ONE: $ty = 1;
            const MAX_BITS: u64 = $max;
        }
    )*};
}

ones! {
    u32: u32::MAX as u64;
    i32: i32::MAX as u64;
    u64: u64::MAX;
    i64: i64::MAX as u64;
}

/// A loop of the kernel over a range.
#[derive(Debug)]
pub struct KernelSteps<T: Int> {
    range: KernelRange<T>,
    name: &'static str,
    open: Option<(Label, Var<T>)>,
    done: bool,
}

impl<T: One> IntoSteps<KernelSteps<T>> for KernelRange<T> {
    fn into_steps(self, name: &'static str) -> KernelSteps<T> {
        KernelSteps { range: self, name, open: None, done: false }
    }
}

impl<T: One> KernelSteps<T> {
    /// Whether `i + step` can pass the largest value before it reaches the end.
    fn may_wrap(&self) -> bool {
        let KernelRange { end, step, inclusive, .. } = self.range;
        let Some(step) = step.known() else { return true };
        let last_exclusive = if inclusive { 1 } else { 0 };
        match end.known() {
            // A negative end leaves room for any step that is a positive number.
            Some(end) if T::TY.is_signed() && end > T::MAX_BITS => false,
            Some(end) => end.checked_add(step - 1 + last_exclusive).is_none_or(|last| last > T::MAX_BITS),
            None => step != 1 || inclusive,
        }
    }

    /// The comparison that keeps the loop running.
    #[track_caller]
    fn runs(&self, i: Value<T>) -> Value<bool> {
        compare::<T>(if self.range.inclusive { Cmp::Le } else { Cmp::Lt }, i, self.range.end)
    }
}

/// The unsigned type of the same width, for distances.
const fn unsigned(ty: Ty) -> Ty {
    match ty.bits() {
        64 => Ty::U64,
        _ => Ty::U32,
    }
}

impl<T: One> Steps for KernelSteps<T> {
    type Item = Value<T>;

    const KERNEL: bool = true;

    #[track_caller]
    fn step(&mut self, exit: &mut dyn FnMut() -> Label, next: &mut dyn FnMut()) -> Option<Value<T>> {
        use crate::isa::{Mod, Op};
        use crate::value::emit_value;
        let place = here();
        if self.done {
            return None;
        }
        match self.open {
            None => {
                let exit = exit();
                let entered = self.runs(self.range.start).reg();
                with(|b| b.branch(Guard { pred: entered, negated: true }, exit, place));
                let counter = Var::new(self.name, self.range.start);
                let head = with(|b| {
                    let head = b.label(&format!("for_{}", self.name));
                    b.place(head);
                    head
                });
                self.open = Some((head, counter));
                Some(counter.settled())
            }
            Some((head, counter)) => {
                next();
                let i = counter.settled();
                let sum = |i: Value<T>| {
                    emit_value::<T>(Op::AddI, &[Mod::t(T::TY)], vec![i.operand(), self.range.step.operand()])
                };
                let again = if self.may_wrap() {
                    // The distance to the end is exact without a sign, also where the next value is not.
                    let ty = Mod::t(unsigned(T::TY));
                    let left: Value<T> =
                        emit_value(Op::SubI, &[Mod::t(T::TY)], vec![self.range.end.operand(), i.operand()]);
                    counter.set(sum(i));
                    let cmp = if self.range.inclusive { Cmp::Ge } else { Cmp::Gt };
                    let operands = vec![left.operand(), self.range.step.operand()];
                    emit_value::<bool>(Op::Setp, &[cmp.get(), ty], operands)
                } else {
                    counter.set(sum(i));
                    self.runs(i)
                };
                let again = again.reg();
                with(|b| b.branch(Guard { pred: again, negated: false }, head, place));
                let exit = exit();
                let _ = exit;
                self.done = true;
                None
            }
        }
    }
}

/// The bounds of `a..b`, which is an `R`: two host integers of one type, or at least one kernel value.
#[diagnostic::on_unimplemented(
    message = "the bounds of a range are integers of one type, found `{Self}` and `{B}`",
    label = "expected integers, or kernel values, of one type",
    note = "kernel values are never converted silently: write `as` to convert"
)]
pub trait Bounds<B, R> {
    /// `a..b`.
    fn range(self, end: B) -> R;
}

/// The bounds of `a..=b`, which is an `R`.
#[diagnostic::on_unimplemented(
    message = "the bounds of a range are integers of one type, found `{Self}` and `{B}`",
    label = "expected integers, or kernel values, of one type",
    note = "kernel values are never converted silently: write `as` to convert"
)]
pub trait InclusiveBounds<B, R> {
    /// `a..=b`.
    fn inclusive(self, end: B) -> R;
}

macro_rules! host_bounds {
    ($($ty:ty)*) => {$(
        impl Bounds<$ty, Range<$ty>> for $ty {
            fn range(self, end: $ty) -> Range<$ty> {
                self..end
            }
        }

        impl InclusiveBounds<$ty, RangeInclusive<$ty>> for $ty {
            fn inclusive(self, end: $ty) -> RangeInclusive<$ty> {
                self..=end
            }
        }
    )*};
}

host_bounds!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize u128 i128 char);

macro_rules! kernel_bounds {
    ($($ty:ty)*) => {$(
        kernel_bounds!(@ $ty: Value<$ty>, Value<$ty>);
        kernel_bounds!(@ $ty: $ty, Value<$ty>);
        kernel_bounds!(@ $ty: Value<$ty>, $ty);

        impl StepBy<Value<$ty>, KernelRange<$ty>> for Range<$ty> {
            #[track_caller]
            fn stepped(self, step: Value<$ty>) -> KernelRange<$ty> {
                KernelRange::new(self.start, self.end).step_by(step)
            }
        }

        impl StepBy<Value<$ty>, KernelRange<$ty>> for KernelRange<$ty> {
            #[track_caller]
            fn stepped(self, step: Value<$ty>) -> KernelRange<$ty> {
                self.step_by(step)
            }
        }

        impl StepBy<$ty, KernelRange<$ty>> for KernelRange<$ty> {
            #[track_caller]
            fn stepped(self, step: $ty) -> KernelRange<$ty> {
                self.step_by(step)
            }
        }
    )*};
    (@ $ty:ty: $a:ty, $b:ty) => {
        impl Bounds<$b, KernelRange<$ty>> for $a {
            fn range(self, end: $b) -> KernelRange<$ty> {
                KernelRange::new(self, end)
            }
        }

        impl InclusiveBounds<$b, KernelRange<$ty>> for $a {
            fn inclusive(self, end: $b) -> KernelRange<$ty> {
                KernelRange { inclusive: true, ..KernelRange::new(self, end) }
            }
        }
    };
}

kernel_bounds!(u32 i32 u64 i64);

/// `start..end`.
pub fn range<A: Bounds<B, R>, B, R>(start: A, end: B) -> R {
    start.range(end)
}

/// `start..=end`.
pub fn range_inclusive<A: InclusiveBounds<B, R>, B, R>(start: A, end: B) -> R {
    start.inclusive(end)
}

/// A range that has `.step_by(S)`, which is an `R`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot step by `{S}`",
    label = "expected a step of the range's type",
    note = "kernel values are never converted silently: write `as` to convert"
)]
pub trait StepBy<S, R> {
    /// Every `step`-th value.
    #[track_caller]
    fn stepped(self, step: S) -> R;
}

macro_rules! host_steps {
    ($($ty:ty)*) => {$(
        impl StepBy<$ty, std::iter::StepBy<Range<$ty>>> for Range<$ty> {
            #[track_caller]
            fn stepped(self, step: $ty) -> std::iter::StepBy<Range<$ty>> {
                self.step_by(usize::try_from(step).unwrap_or(usize::MAX))
            }
        }

        impl StepBy<$ty, std::iter::StepBy<RangeInclusive<$ty>>> for RangeInclusive<$ty> {
            #[track_caller]
            fn stepped(self, step: $ty) -> std::iter::StepBy<RangeInclusive<$ty>> {
                self.step_by(usize::try_from(step).unwrap_or(usize::MAX))
            }
        }
    )*};
}

host_steps!(u8 u16 u32 u64 usize i32 i64);

/// `range.step_by(step)`.
#[track_caller]
pub fn step_by<A: StepBy<S, R>, S, R>(range: A, step: S) -> R {
    range.stepped(step)
}

/// Iterations of a host `while` before the build is refused: a text of that size is a mistake.
const LIMIT: u32 = 1 << 16;

/// A `while` that is being staged.
#[derive(Debug)]
pub struct While {
    exits: Exits,
    head: Option<Label>,
    iterations: u32,
}

impl Default for While {
    fn default() -> While {
        While::new()
    }
}

impl While {
    /// Begins.
    pub fn new() -> While {
        While { exits: Exits::new(false, "while"), head: None, iterations: 0 }
    }

    /// Before the condition: whether it is to be staged.
    #[track_caller]
    pub fn head(&mut self) -> bool {
        let place = here();
        if self.exits.kernel {
            if let Some(head) = self.head {
                with(|b| b.jump(head, place));
            }
            return false;
        }
        self.exits.place_continue();
        self.head = Some(with(|b| {
            let head = b.label("while");
            b.place(head);
            head
        }));
        self.iterations += 1;
        if self.iterations > LIMIT {
            with(|b| b.error(place, format!("a host `while` runs more than {LIMIT} times")));
        }
        self.iterations <= LIMIT
    }

    /// Behind the condition: whether the body is to be staged.
    #[track_caller]
    pub fn test(&mut self, condition: impl Decide) -> bool {
        let place = here();
        if let Some(known) = condition.known() {
            return known;
        }
        self.exits.kernel = true;
        self.exits.head = self.head;
        let exit = self.exits.break_label();
        let pred = condition.predicate().reg();
        with(|b| b.branch(Guard { pred, negated: true }, exit, place));
        true
    }
}

/// A `loop` that is being staged: always a loop of the kernel.
#[derive(Debug)]
pub struct Loop {
    exits: Exits,
}

impl Default for Loop {
    fn default() -> Loop {
        Loop::new()
    }
}

impl Loop {
    /// Begins.
    pub fn new() -> Loop {
        Loop { exits: Exits::new(true, "loop") }
    }

    /// Whether the body is to be staged.
    #[track_caller]
    pub fn head(&mut self) -> bool {
        let place = here();
        match self.exits.head {
            None => {
                self.exits.head = Some(with(|b| {
                    let head = b.label("loop");
                    b.place(head);
                    head
                }));
                true
            }
            Some(head) => {
                with(|b| b.jump(head, place));
                false
            }
        }
    }
}

/// A labeled block that is being staged.
#[derive(Debug)]
pub struct Block {
    exits: Exits,
}

impl Default for Block {
    fn default() -> Block {
        Block::new()
    }
}

impl Block {
    /// Begins.
    pub fn new() -> Block {
        Block { exits: Exits::new(false, "block") }
    }
}

/// The value of a `loop`: that of its `break`s.
pub struct Exit<R: Registers> {
    vars: Option<R::Vars>,
}

impl<R: Registers> Default for Exit<R> {
    fn default() -> Exit<R> {
        Exit::new()
    }
}

impl<R: Registers> Exit<R> {
    /// No `break` so far.
    pub fn new() -> Exit<R> {
        Exit { vars: None }
    }

    /// `break value`.
    #[track_caller]
    pub fn set(&mut self, value: impl Lift<R>) {
        let vars = *self.vars.get_or_insert_with(R::declare);
        value.lift().assign_to(vars, here());
    }

    /// The value.
    pub fn value(&mut self) -> R {
        R::settled(self.vars.unwrap_or_else(R::declare))
    }
}
