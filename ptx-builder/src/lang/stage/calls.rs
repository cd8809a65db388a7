//! Early `return`, and what goes into and comes out of `#[device]` functions.

use super::registers::{Registers, here};
use crate::builder::{Label, with};
use crate::value::{Operand, Scalar, Value};

/// Emits the end of the thread: `return` of a kernel under an open branch.
#[track_caller]
pub fn ret() {
    let place = here();
    with(|b| b.ret(place));
}

/// Refuses `return` of a host value under an open branch: the lanes that do not take it would need another host value.
#[track_caller]
pub fn host_return() {
    let place = here();
    with(|b| {
        b.error(
            place,
            "a host value is returned under a condition of the running kernel; return a kernel value",
        )
    });
}

/// A value that becomes a `T`: a kernel value, a constant of its type, or a tuple or array of these.
#[diagnostic::on_unimplemented(
    message = "expected `{T}`, found `{Self}`",
    label = "does not have the type of the signature",
    note = "kernel values are never converted silently: write `as` to convert"
)]
pub trait Lift<T> {
    /// The kernel value.
    #[track_caller]
    fn lift(self) -> T;
}

impl<T: Scalar, V: Operand<T>> Lift<Value<T>> for V {
    #[track_caller]
    fn lift(self) -> Value<T> {
        self.value()
    }
}

impl<T, V: Lift<T>, const N: usize> Lift<[T; N]> for [V; N] {
    #[track_caller]
    fn lift(self) -> [T; N] {
        self.map(V::lift)
    }
}

macro_rules! tuples {
    ($(($($to:ident $from:ident $at:tt),*))*) => {$(
        impl<$($to, $from: Lift<$to>),*> Lift<($($to,)*)> for ($($from,)*) {
            #[track_caller]
            #[allow(clippy::unused_unit, reason = "the empty tuple has no elements")]
            fn lift(self) -> ($($to,)*) {
                ($(self.$at.lift(),)*)
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

/// `value` as the kernel value that a signature promises.
#[track_caller]
pub fn lift<T, V: Lift<T>>(value: V) -> T {
    value.lift()
}

/// Early returns of an inlined function.
#[derive(Debug)]
pub struct Return<R: Registers> {
    pending: Option<(Label, R::Vars)>,
}

impl<R: Registers> Default for Return<R> {
    fn default() -> Return<R> {
        Return::new()
    }
}

impl<R: Registers> Return<R> {
    /// None so far.
    pub fn new() -> Return<R> {
        Return { pending: None }
    }

    /// `return value` under an open branch.
    #[track_caller]
    pub fn jump(&mut self, value: impl Lift<R>) {
        let place = here();
        let (label, vars) =
            *self.pending.get_or_insert_with(|| (with(|b| b.label("returned")), R::declare()));
        value.lift().assign_to(vars, place);
        with(|b| b.jump(label, place));
    }

    /// The result: `value`, joined with those of the early returns.
    #[track_caller]
    pub fn finish(&mut self, value: impl Lift<R>) -> R {
        let value = value.lift();
        match self.pending.take() {
            None => value,
            Some((label, vars)) => {
                value.assign_to(vars, here());
                with(|b| b.place(label));
                R::settled(vars)
            }
        }
    }

    /// The result where control does not reach the end: that of the early returns.
    pub fn unreachable(&mut self) -> R {
        match self.pending.take() {
            None => R::settled(R::declare()),
            Some((label, vars)) => {
                with(|b| b.place(label));
                R::settled(vars)
            }
        }
    }
}
