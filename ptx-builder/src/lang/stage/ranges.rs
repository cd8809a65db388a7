//! Ranges: native over host integers, loops of the kernel as soon as a bound or the step is a kernel value.
//!
//! A loop of the kernel tests before it begins and behind its body, and never counts past the largest value of its type.

use std::ops::{Range, RangeInclusive};

use super::loops::{Exits, IntoSteps, Steps};
use super::registers::here;
use crate::builder::{Label, with};
use crate::ir::{Guard, Place};
use crate::isa::mods::Cmp;
use crate::isa::{Mod, Op};
use crate::types::Ty;
use crate::value::{Int, Operand, Scalar, Value, Var, compare_at, emit_value_at};

/// A range with a kernel value in it: `start..end`, by a positive step.
#[derive(Debug, Clone, Copy)]
pub struct KernelRange<T: Scalar> {
    start: Value<T>,
    end: Value<T>,
    step: Value<T>,
    inclusive: bool,
}

impl<T: One> KernelRange<T> {
    /// The half-open range.
    pub fn new(start: impl Operand<T>, end: impl Operand<T>) -> KernelRange<T> {
        let step = Value::constant(T::ONE);
        KernelRange { start: start.value(), end: end.value(), step, inclusive: false }
    }

    /// Every `step`-th value; the step is positive.
    #[track_caller]
    pub fn step_by(self, step: impl Operand<T>) -> KernelRange<T> {
        let mut step = step.value();
        if step.known().is_some_and(|bits| bits == 0 || (T::TY.is_signed() && bits > T::MAX_BITS)) {
            let place = here();
            let message = "the step of a range is not positive; to count down, compute the index from one that counts up";
            with(|b| b.error(place, message));
            step = Value::constant(T::ONE);
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
struct KernelSteps<T: Scalar> {
    range: KernelRange<T>,
    name: &'static str,
    open: Option<(Label, Var<T>)>,
    done: bool,
}

impl<'a, T: One> IntoSteps<'a, Value<T>> for KernelRange<T> {
    fn into_steps(self, name: &'static str) -> Box<dyn Steps<Value<T>> + 'a> {
        Box::new(KernelSteps { range: self, name, open: None, done: false })
    }
}

impl<T: One> KernelSteps<T> {
    /// Whether `i + step` can pass the largest value before it reaches the end.
    fn may_wrap(&self) -> bool {
        let KernelRange { end, step, inclusive, .. } = self.range;
        let Some(step) = step.known() else { return true };
        match end.known() {
            // A negative end leaves room for any step that is a positive number.
            Some(end) if T::TY.is_signed() && end > T::MAX_BITS => false,
            Some(end) => end.checked_add(step - u64::from(!inclusive)).is_none_or(|last| last > T::MAX_BITS),
            None => step != 1 || inclusive,
        }
    }

    /// The comparison that keeps the loop running.
    fn runs(&self, i: Value<T>, place: Place) -> Value<bool> {
        compare_at(place, if self.range.inclusive { Cmp::Le } else { Cmp::Lt }, i, self.range.end)
    }

    /// Behind the body: the next value of the counter, and whether there is one.
    fn advance(&self, counter: Var<T>, place: Place) -> Value<bool> {
        let KernelRange { end, step, inclusive, .. } = self.range;
        let (i, ty) = (counter.settled(), Mod::t(T::TY));
        let next =
            |i: Value<T>| emit_value_at::<T>(place, Op::AddI, &[ty], vec![i.operand(), step.operand()]);
        if !self.may_wrap() {
            counter.set_at(next(i), place);
            return self.runs(i, place);
        }
        // The distance to the end is exact without a sign, also where the next value is not.
        let left: Value<T> = emit_value_at(place, Op::SubI, &[ty], vec![end.operand(), i.operand()]);
        counter.set_at(next(i), place);
        let cmp = if inclusive { Cmp::Ge } else { Cmp::Gt };
        let mods = [cmp.get(), Mod::t(unsigned(T::TY))];
        emit_value_at(place, Op::Setp, &mods, vec![left.operand(), step.operand()])
    }
}

/// The unsigned type of the same width, for distances.
const fn unsigned(ty: Ty) -> Ty {
    match ty.bits() {
        64 => Ty::U64,
        _ => Ty::U32,
    }
}

impl<T: One> Steps<Value<T>> for KernelSteps<T> {
    fn is_kernel(&self) -> bool {
        true
    }

    fn step(&mut self, exits: &mut Exits, place: Place) -> Option<Value<T>> {
        if self.done {
            return None;
        }
        match self.open {
            None => {
                let exit = exits.break_label();
                let entered = self.runs(self.range.start, place).reg();
                with(|b| b.branch(Guard { pred: entered, negated: true }, exit, place));
                let counter = Var::declare();
                counter.settled().named(self.name);
                counter.set_at(self.range.start, place);
                let head = with(|b| {
                    let head = b.label(&format!("for_{}", self.name));
                    b.place(head);
                    head
                });
                self.open = Some((head, counter));
                Some(counter.settled())
            }
            Some((head, counter)) => {
                exits.place_continue();
                let again = self.advance(counter, place).reg();
                with(|b| b.branch(Guard { pred: again, negated: false }, head, place));
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
