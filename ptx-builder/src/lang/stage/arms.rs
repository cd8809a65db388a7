//! `if` and `match` on values.
//!
//! The expansion of an `if` is a short loop over [`If::next`]: a host condition asks for one arm, a kernel condition for
//! both, and emits the branch and the labels between them. No arm is a closure, so `break`, `continue` and borrows stay native.

use std::marker::PhantomData;

use super::registers::{Registers, here};
use crate::builder::{Label, with};
use crate::ir::Guard;
use crate::value::{Scalar, Value};

/// What an `if` asks for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm<T> {
    /// The first arm.
    Then,
    /// The second arm.
    Else,
    /// Nothing: this is its value.
    End(T),
}

/// Values of the two arms of an `if` on a host condition: equal types, or a kernel value and a constant of its type.
#[diagnostic::on_unimplemented(
    message = "`if` and `else` have incompatible types: `{Self}` and `{B}`",
    label = "the arms must have one type"
)]
pub trait Join<B> {
    /// The type of the `if`.
    type Out;

    /// From the first arm.
    fn first(self) -> Self::Out;

    /// From the second arm.
    fn second(other: B) -> Self::Out;
}

impl<T> Join<T> for T {
    type Out = T;

    fn first(self) -> T {
        self
    }

    fn second(other: T) -> T {
        other
    }
}

/// Values of the two arms of an `if` on a kernel condition: kernel values or constants of one type, or tuples or arrays of these.
#[diagnostic::on_unimplemented(
    message = "`if` and `else` on a kernel condition have incompatible types: `{Self}` and `{B}`",
    label = "the arms must give kernel values of one type, constants of that type, or tuples or arrays of these",
    note = "both arms run when the kernel runs, so only values that registers hold can come out of them"
)]
pub trait Unify<B> {
    /// The type of the `if`.
    type Out: Registers;

    /// From the first arm.
    fn left(self) -> Self::Out;

    /// From the second arm.
    fn right(other: B) -> Self::Out;
}

impl<T: Scalar> Unify<Value<T>> for Value<T> {
    type Out = Value<T>;

    fn left(self) -> Value<T> {
        self
    }

    fn right(other: Value<T>) -> Value<T> {
        other
    }
}

macro_rules! constants {
    ($($ty:ty)*) => {$(
        constants!(@ Join first second: $ty, Value<$ty>; |a| Value::constant(a), |b| b);
        constants!(@ Join first second: Value<$ty>, $ty; |a| a, |b| Value::constant(b));
        constants!(@ Unify left right: $ty, Value<$ty>; |a| Value::constant(a), |b| b);
        constants!(@ Unify left right: Value<$ty>, $ty; |a| a, |b| Value::constant(b));
        constants!(@ Unify left right: $ty, $ty; |a| Value::constant(a), |b| Value::constant(b));
    )*};
    (@ $trait:ident $first:ident $second:ident: $a:ty, $b:ty; |$x:ident| $from_a:expr, |$y:ident| $from_b:expr) => {
        impl $trait<$b> for $a {
            type Out = Value<<$a as ScalarOf>::Scalar>;

            fn $first(self) -> Self::Out {
                let $x = self;
                $from_a
            }

            fn $second($y: $b) -> Self::Out {
                $from_b
            }
        }
    };
}

/// The compute type of a value or a constant.
pub trait ScalarOf {
    /// That type.
    type Scalar: Scalar;
}

impl<T: Scalar> ScalarOf for Value<T> {
    type Scalar = T;
}

macro_rules! scalar_of {
    ($($ty:ty)*) => {$(
        impl ScalarOf for $ty {
            type Scalar = $ty;
        }
    )*};
}

scalar_of!(f32 f64 u32 i32 u64 i64 u16 bool);
constants!(f32 f64 u32 i32 u64 i64 u16 bool);

impl<A: Unify<B>, B, const N: usize> Unify<[B; N]> for [A; N] {
    type Out = [A::Out; N];

    fn left(self) -> Self::Out {
        self.map(A::left)
    }

    fn right(other: [B; N]) -> Self::Out {
        other.map(A::right)
    }
}

macro_rules! tuples {
    ($(($($a:ident $b:ident $at:tt),*))*) => {$(
        impl<$($a: Unify<$b>, $b),*> Unify<($($b,)*)> for ($($a,)*) {
            type Out = ($($a::Out,)*);

            #[allow(clippy::unused_unit, reason = "the empty tuple has no elements")]
            fn left(self) -> Self::Out {
                ($(self.$at.left(),)*)
            }

            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no elements")]
            fn right(other: ($($b,)*)) -> Self::Out {
                ($($a::right(other.$at),)*)
            }
        }
    )*};
}

tuples! {
    ()
    (A AO 0)
    (A AO 0, B BO 1)
    (A AO 0, B BO 1, C CO 2)
    (A AO 0, B BO 1, C CO 2, D DO 3)
    (A AO 0, B BO 1, C CO 2, D DO 3, E EO 4)
    (A AO 0, B BO 1, C CO 2, D DO 3, E EO 4, F FO 5)
}

/// What can stand behind `if`, `while`, `!`, `&&` and `||`: a `bool` or a `Value<bool>`.
#[diagnostic::on_unimplemented(
    message = "a condition is a `bool` or a `Value<bool>`, found `{Self}`",
    label = "not a condition",
    note = "compare a number, for example with `!= 0`"
)]
pub trait Test: Copy {
    /// The host value, if it is known while the text is made.
    fn known(self) -> Option<bool>;

    /// The predicate.
    fn predicate(self) -> Value<bool>;
}

impl Test for bool {
    fn known(self) -> Option<bool> {
        Some(self)
    }

    fn predicate(self) -> Value<bool> {
        Value::constant(self)
    }
}

impl Test for Value<bool> {
    fn known(self) -> Option<bool> {
        Value::known(self).map(|bits| bits != 0)
    }

    fn predicate(self) -> Value<bool> {
        self
    }
}

/// A condition whose arms have the types `A` and `B`.
pub trait Condition<A, B>: Test {
    /// The type of the `if`.
    type Out;
    /// The registers that join the arms.
    type Slot: Copy;

    /// The value of the first arm, where it is the only one.
    fn first(value: A) -> Self::Out;
    /// The value of the second arm, where it is the only one.
    fn second(value: B) -> Self::Out;
    /// New registers.
    fn slot() -> Self::Slot;
    /// Assigns the value of an arm of several.
    #[track_caller]
    fn assign(value: Self::Out, slot: Self::Slot) -> Option<Self::Out>;
    /// The joined value.
    fn joined(slot: Self::Slot) -> Option<Self::Out>;
}

impl<A: Join<B>, B> Condition<A, B> for bool {
    type Out = A::Out;
    type Slot = ();

    fn first(value: A) -> A::Out {
        value.first()
    }

    fn second(value: B) -> A::Out {
        A::second(value)
    }

    fn slot() {}

    fn assign(value: A::Out, (): ()) -> Option<A::Out> {
        Some(value)
    }

    fn joined((): ()) -> Option<A::Out> {
        None
    }
}

impl<A: Unify<B>, B> Condition<A, B> for Value<bool> {
    type Out = A::Out;
    type Slot = <A::Out as Registers>::Vars;

    fn first(value: A) -> A::Out {
        value.left()
    }

    fn second(value: B) -> A::Out {
        A::right(value)
    }

    fn slot() -> Self::Slot {
        <A::Out as Registers>::declare()
    }

    #[track_caller]
    fn assign(value: A::Out, slot: Self::Slot) -> Option<A::Out> {
        value.assign_to(slot);
        None
    }

    fn joined(slot: Self::Slot) -> Option<A::Out> {
        Some(<A::Out as Registers>::settled(slot))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Start,
    Then,
    Else,
    Done,
}

/// An `if` that is being staged.
#[derive(Debug)]
pub struct If<C: Condition<A, B>, A, B> {
    condition: C,
    step: Step,
    /// Labels behind the first arm and behind the whole; present while a branch is open.
    labels: Option<(Label, Label)>,
    otherwise: bool,
    slot: Option<C::Slot>,
    arms: PhantomData<fn(A, B)>,
}

impl<C: Condition<A, B>, A, B> If<C, A, B> {
    /// Begins; `otherwise` says whether there is an `else`.
    pub fn new(condition: C, otherwise: bool) -> If<C, A, B> {
        If { condition, step: Step::Start, labels: None, otherwise, slot: None, arms: PhantomData }
    }

    /// What comes next.
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot hand out the joined value last")]
    pub fn next(&mut self) -> Arm<C::Out> {
        let place = here();
        match (self.step, self.labels) {
            (Step::Start, _) => match self.condition.known() {
                Some(true) => {
                    self.step = Step::Then;
                    Arm::Then
                }
                Some(false) => {
                    self.step = Step::Else;
                    Arm::Else
                }
                None => {
                    let pred = self.condition.predicate().reg();
                    with(|b| {
                        let labels =
                            (b.label(if self.otherwise { "else" } else { "endif" }), b.label("endif"));
                        b.branch(Guard { pred, negated: true }, labels.0, place);
                        self.labels = Some(labels);
                    });
                    self.step = Step::Then;
                    Arm::Then
                }
            },
            (Step::Then, Some((other, end))) if self.otherwise => {
                with(|b| {
                    b.jump(end, place);
                    b.place(other);
                });
                self.step = Step::Else;
                Arm::Else
            }
            (Step::Then, Some((other, _))) => {
                with(|b| b.place(other));
                self.end()
            }
            (Step::Else, Some((_, end))) => {
                with(|b| b.place(end));
                self.end()
            }
            (Step::Then | Step::Else | Step::Done, _) => self.end(),
        }
    }

    fn end(&mut self) -> Arm<C::Out> {
        self.step = Step::Done;
        self.labels = None;
        // Without a slot no arm gave a value, and what follows is unreachable.
        let slot = self.slot.unwrap_or_else(C::slot);
        match C::joined(slot) {
            Some(value) => Arm::End(value),
            None => unreachable!("a host condition leaves through its one arm"),
        }
    }

    /// Takes the value of the first arm; `Some` is the value of the `if`.
    #[track_caller]
    pub fn then(&mut self, value: A) -> Option<C::Out> {
        self.take(C::first(value))
    }

    /// Takes the value of the second arm; `Some` is the value of the `if`.
    #[track_caller]
    pub fn otherwise(&mut self, value: B) -> Option<C::Out> {
        self.take(C::second(value))
    }

    #[track_caller]
    fn take(&mut self, value: C::Out) -> Option<C::Out> {
        if self.labels.is_none() {
            return Some(value);
        }
        let slot = *self.slot.get_or_insert_with(C::slot);
        C::assign(value, slot)
    }

    /// Whether a branch of the kernel is open: a jump out of an arm must be emitted, it cannot be native.
    pub fn open(&self) -> bool {
        self.labels.is_some()
    }
}

/// `constant` as an element beside `other`: a kernel value, if that is one.
pub fn like<A: Join<B>, B>(_: &A, constant: B) -> A::Out {
    A::second(constant)
}

/// Says that one arm never ends, so that the other alone determines the type.
pub fn both<C: Condition<T, T>, T>(_: &If<C, T, T>) {}

/// Joins the arms of a native `if let` or `match`.
#[derive(Debug)]
pub struct Joined<A: Join<B>, B>(PhantomData<fn(A, B)>);

/// An `if let` whose arms have the types `A` and `B`.
pub fn matched<A: Join<B>, B>() -> Joined<A, B> {
    Joined(PhantomData)
}

impl<A: Join<B>, B> Joined<A, B> {
    /// The value of the first arm.
    pub fn then(&self, value: A) -> A::Out {
        value.first()
    }

    /// The value of the second arm.
    pub fn otherwise(&self, value: B) -> A::Out {
        A::second(value)
    }
}
