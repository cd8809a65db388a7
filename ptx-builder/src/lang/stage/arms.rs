//! `if` and `match` on values.
//!
//! The expansion of an `if` is a short loop over [`If::next`]: a host condition asks for one arm, a kernel condition for
//! both, and emits the branch and the labels between them. No arm is a closure, so `break`, `continue` and borrows stay native.

use super::registers::{Registers, here};
use crate::builder::{Label, with};
use crate::ir::{Guard, Place};
use crate::value::Value;

/// What can stand behind `if`, `while`, `&&` and `||`: a `bool` or a `Value<bool>`.
#[diagnostic::on_unimplemented(
    message = "a condition is a `bool` or a `Value<bool>`, found `{Self}`",
    label = "not a condition",
    note = "compare a number, for example with `!= 0`"
)]
pub trait Condition<K> {
    /// Which of the two it is.
    fn condition(self) -> K;
}

/// A condition that is known while the text is made.
#[derive(Debug, Clone, Copy)]
pub struct HostCondition(pub bool);

/// A condition of the running kernel.
#[derive(Debug, Clone, Copy)]
pub struct KernelCondition {
    /// The predicate.
    pub predicate: Value<bool>,
    /// Whether the author promises that all lanes of a warp decide alike.
    pub uniform: bool,
}

/// A condition that all lanes of a warp decide alike; see [`uniform`].
#[derive(Debug, Clone, Copy)]
pub struct Uniform(Value<bool>);

/// Promises that all lanes of a warp that come here have the same `condition`, where the verifier cannot see it: `if uniform(c)`
/// becomes `bra.uni`, and warp shuffles and votes under it are accepted. A broken promise is undefined behavior of
/// the hardware; the emulator reports it. The promise says nothing about other warps: a barrier of the block
/// still needs a condition that the verifier knows to be uniform, such as one on a block index or a parameter.
pub fn uniform(condition: Value<bool>) -> Uniform {
    Uniform(condition)
}

impl Condition<KernelCondition> for Uniform {
    fn condition(self) -> KernelCondition {
        KernelCondition { predicate: self.0, uniform: true }
    }
}

impl Condition<HostCondition> for bool {
    fn condition(self) -> HostCondition {
        HostCondition(self)
    }
}

impl Condition<KernelCondition> for Value<bool> {
    fn condition(self) -> KernelCondition {
        KernelCondition { predicate: self, uniform: false }
    }
}

/// `value` as a condition.
pub fn condition<C: Condition<K>, K>(value: C) -> K {
    value.condition()
}

/// Either kind of condition.
pub trait Decide: Copy {
    /// The value, if it is known while the text is made.
    fn known(self) -> Option<bool>;

    /// The predicate.
    fn predicate(self) -> Value<bool>;

    /// Branches to `target` where it does not hold, if it is `wanted`, or where it does, if not.
    fn branch_unless(self, wanted: bool, target: Label, place: Place) {
        let pred = self.predicate().reg();
        with(|b| b.branch(Guard { pred, negated: wanted }, target, place));
    }
}

impl Decide for HostCondition {
    fn known(self) -> Option<bool> {
        Some(self.0)
    }

    fn predicate(self) -> Value<bool> {
        Value::constant(self.0)
    }
}

impl Decide for KernelCondition {
    fn known(self) -> Option<bool> {
        self.predicate.known().map(|bits| bits != 0)
    }

    fn predicate(self) -> Value<bool> {
        self.predicate
    }

    fn branch_unless(self, wanted: bool, target: Label, place: Place) {
        let guard = Guard { pred: self.predicate.reg(), negated: wanted };
        with(|b| match self.uniform {
            true => b.branch_uniform(guard, target, place),
            false => b.branch(guard, target, place),
        });
    }
}

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

/// Values of the two arms of an `if` on a host condition, joined as `O`: equal types, or a kernel value and a constant of
/// its type.
#[diagnostic::on_unimplemented(
    message = "`if` and `else` have incompatible types: `{Self}` and `{B}`",
    label = "the arms must have one type"
)]
pub trait Join<B, O> {
    /// From the first arm.
    fn first(self) -> O;

    /// From the second arm.
    fn second(other: B) -> O;
}

#[diagnostic::do_not_recommend]
impl<T> Join<T, T> for T {
    fn first(self) -> T {
        self
    }

    fn second(other: T) -> T {
        other
    }
}

/// Values of the two arms of an `if` on a kernel condition, joined as `O`: kernel values or constants of one type, or tuples or
/// arrays of these.
#[diagnostic::on_unimplemented(
    message = "`if` and `else` on a kernel condition have incompatible types: `{Self}` and `{B}`",
    label = "the arms must give kernel values of one type, constants of that type, or tuples or arrays of these",
    note = "both arms run when the kernel runs, so only what registers hold can come out of them"
)]
pub trait Unify<B, O: Registers> {
    /// From the first arm.
    fn left(self) -> O;

    /// From the second arm.
    fn right(other: B) -> O;
}

macro_rules! constants {
    ($($ty:ty)*) => {$(
        constants!(@ Join first second $ty: $ty, Value<$ty>; |a| Value::constant(a), |b| b);
        constants!(@ Join first second $ty: Value<$ty>, $ty; |a| a, |b| Value::constant(b));
        constants!(@ Unify left right $ty: Value<$ty>, Value<$ty>; |a| a, |b| b);
        constants!(@ Unify left right $ty: $ty, Value<$ty>; |a| Value::constant(a), |b| b);
        constants!(@ Unify left right $ty: Value<$ty>, $ty; |a| a, |b| Value::constant(b));
        constants!(@ Unify left right $ty: $ty, $ty; |a| Value::constant(a), |b| Value::constant(b));
    )*};
    (@ $trait:ident $first:ident $second:ident $ty:ty: $a:ty, $b:ty; |$x:ident| $from_a:expr, |$y:ident| $from_b:expr) => {
        impl $trait<$b, Value<$ty>> for $a {
            fn $first(self) -> Value<$ty> {
                let $x = self;
                $from_a
            }

            fn $second($y: $b) -> Value<$ty> {
                $from_b
            }
        }
    };
}

constants!(f32 f64 u32 i32 u64 i64 u16 bool);

impl<A: Unify<B, O>, B, O: Registers, const N: usize> Unify<[B; N], [O; N]> for [A; N] {
    fn left(self) -> [O; N] {
        self.map(A::left)
    }

    fn right(other: [B; N]) -> [O; N] {
        other.map(A::right)
    }
}

macro_rules! tuples {
    ($(($($a:ident $b:ident $o:ident $at:tt),*))*) => {$(
        impl<$($a: Unify<$b, $o>, $b, $o: Registers),*> Unify<($($b,)*), ($($o,)*)> for ($($a,)*) {
            #[allow(clippy::unused_unit, reason = "the empty tuple has no elements")]
            fn left(self) -> ($($o,)*) {
                ($(self.$at.left(),)*)
            }

            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no elements")]
            fn right(other: ($($b,)*)) -> ($($o,)*) {
                ($($a::right(other.$at),)*)
            }
        }
    )*};
}

tuples! {
    ()
    (A AB AO 0)
    (A AB AO 0, B BB BO 1)
    (A AB AO 0, B BB BO 1, C CB CO 2)
    (A AB AO 0, B BB BO 1, C CB CO 2, D DB DO 3)
    (A AB AO 0, B BB BO 1, C CB CO 2, D DB DO 3, E EB EO 4)
    (A AB AO 0, B BB BO 1, C CB CO 2, D DB DO 3, E EB EO 4, F FB FO 5)
}

#[diagnostic::on_unimplemented(
    message = "the arms of an `if` or `match` have incompatible types: `{A}` and `{B}`",
    label = "the arms must have one type",
    note = "on a condition of the running kernel both arms run: only kernel values, constants of their type, and tuples and \
            arrays of these come out of them"
)]
/// How a condition of kind `Self` joins the values `A` and `B` of its arms as `O`, through registers `S`.
pub trait Arms<A, B, O, S>: Decide {
    /// The value of the first arm.
    fn first(value: A) -> O;
    /// The value of the second arm.
    fn second(value: B) -> O;
    /// New registers.
    fn declare() -> S;
    /// Assigns the registers where several arms run; gives the value back where one does.
    fn assign(value: O, slot: S, place: Place) -> Option<O>;
    /// What the registers hold.
    fn settled(slot: S) -> Option<O>;
}

#[diagnostic::do_not_recommend]
impl<A: Join<B, O>, B, O> Arms<A, B, O, ()> for HostCondition {
    fn first(value: A) -> O {
        value.first()
    }

    fn second(value: B) -> O {
        A::second(value)
    }

    fn declare() {}

    fn assign(value: O, (): (), _: Place) -> Option<O> {
        Some(value)
    }

    fn settled((): ()) -> Option<O> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<A: Unify<B, O>, B, O: Registers> Arms<A, B, O, O::Vars> for KernelCondition {
    fn first(value: A) -> O {
        value.left()
    }

    fn second(value: B) -> O {
        A::right(value)
    }

    fn declare() -> O::Vars {
        O::declare()
    }

    fn assign(value: O, slot: O::Vars, place: Place) -> Option<O> {
        value.assign_to(slot, place);
        None
    }

    fn settled(slot: O::Vars) -> Option<O> {
        Some(O::settled(slot))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Start,
    Then,
    Else,
    Done,
}

/// An `if` that is being staged. Its methods have no bounds of their own, so that a mistake is reported once: by
/// [`new`](If::new), which the expansion places at the value of the second arm.
#[derive(Debug)]
pub struct If<K, A, B, O, S> {
    condition: Option<K>,
    step: Step,
    /// Labels behind the first arm and behind the whole; present while a branch is open.
    labels: Option<(Label, Label)>,
    otherwise: bool,
    slot: Option<S>,
    known: fn(K) -> Option<bool>,
    branch: fn(K, bool, Label, Place),
    first: fn(A) -> O,
    second: fn(B) -> O,
    declare: fn() -> S,
    assign: fn(O, S, Place) -> Option<O>,
    settled: fn(S) -> Option<O>,
}

impl<K: Arms<A, B, O, S>, A, B, O, S> Default for If<K, A, B, O, S> {
    fn default() -> Self {
        If::new()
    }
}

impl<K: Arms<A, B, O, S>, A, B, O, S> If<K, A, B, O, S> {
    /// An `if` whose condition is of kind `K`.
    pub fn new() -> Self {
        If {
            condition: None,
            step: Step::Start,
            labels: None,
            otherwise: false,
            slot: None,
            known: K::known,
            branch: K::branch_unless,
            first: K::first,
            second: K::second,
            declare: K::declare,
            assign: K::assign,
            settled: K::settled,
        }
    }
}

impl<K: Copy, A, B, O, S: Copy> If<K, A, B, O, S> {
    /// Takes the condition; `otherwise` says whether there is an `else`.
    pub fn decide(&mut self, condition: K, otherwise: bool) {
        self.condition = Some(condition);
        self.otherwise = otherwise;
    }

    /// What comes next.
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot hand out the joined value last")]
    pub fn next(&mut self) -> Arm<O> {
        let place = here();
        match (self.step, self.labels) {
            (Step::Start, _) => match self.condition.map(|condition| ((self.known)(condition), condition)) {
                Some((Some(true), _)) => {
                    self.step = Step::Then;
                    Arm::Then
                }
                Some((None, condition)) => {
                    let name = if self.otherwise { "else" } else { "endif" };
                    let labels = with(|b| (b.label(name), b.label("endif")));
                    (self.branch)(condition, true, labels.0, place);
                    self.labels = Some(labels);
                    self.step = Step::Then;
                    Arm::Then
                }
                Some((Some(false), _)) | None => {
                    self.step = Step::Else;
                    Arm::Else
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

    fn end(&mut self) -> Arm<O> {
        self.step = Step::Done;
        self.labels = None;
        // Without a slot no arm gave a value, and what follows is unreachable.
        let slot = self.slot.unwrap_or_else(self.declare);
        match (self.settled)(slot) {
            Some(value) => Arm::End(value),
            None => unreachable!("a host condition leaves through its one arm"),
        }
    }

    /// Takes the value of the first arm; `Some` is the value of the `if`.
    #[track_caller]
    pub fn then(&mut self, value: A) -> Option<O> {
        self.take((self.first)(value), here())
    }

    /// Takes the value of the second arm; `Some` is the value of the `if`.
    #[track_caller]
    pub fn otherwise(&mut self, value: B) -> Option<O> {
        self.take((self.second)(value), here())
    }

    fn take(&mut self, value: O, place: Place) -> Option<O> {
        if self.labels.is_none() {
            return Some(value);
        }
        let slot = *self.slot.get_or_insert_with(self.declare);
        (self.assign)(value, slot, place)
    }

    /// Whether a branch of the kernel is open: a jump out of an arm must be emitted, it cannot be native.
    pub fn open(&self) -> bool {
        self.labels.is_some()
    }
}

/// `constant` as an element beside `other`: a kernel value, if that is one.
pub fn like<A: Join<B, O>, B, O>(_: &A, constant: B) -> O {
    A::second(constant)
}

/// Says that one arm never ends, so that the other alone determines the type.
pub fn both<K, T, O, S>(_: &If<K, T, T, O, S>) {}

/// Says that neither arm ends.
pub fn neither<K, O, S>(_: &If<K, (), (), O, S>) {}

/// Joins the arms of a native `if let` or `match`.
#[derive(Debug)]
pub struct Joined<A, B, O> {
    first: fn(A) -> O,
    second: fn(B) -> O,
}

/// An `if let` whose arms have the types `A` and `B`.
pub fn matched<A: Join<B, O>, B, O>() -> Joined<A, B, O> {
    Joined { first: A::first, second: A::second }
}

impl<A, B, O> Joined<A, B, O> {
    /// The value of the first arm.
    pub fn then(&self, value: A) -> O {
        (self.first)(value)
    }

    /// The value of the second arm.
    pub fn otherwise(&self, value: B) -> O {
        (self.second)(value)
    }
}
