//! `let mut` variables, and the names that readers of the text see.

use crate::builder::with;
use crate::ir::Place;
use crate::lang::memory::{Global, GlobalMut};
use crate::value::{Operand, Scalar, Value, Var};

/// Kernel values that registers can hold: a [`Value`], or a tuple or array of such.
pub trait Registers: Copy {
    /// The registers.
    type Vars: Copy;

    /// New registers without a value.
    fn declare() -> Self::Vars;

    /// Assigns them.
    #[track_caller]
    fn assign_to(self, vars: Self::Vars);

    /// What they hold, for registers that are never assigned again on a way to a use: no copy is made.
    fn settled(vars: Self::Vars) -> Self;
}

impl<T: Scalar> Registers for Value<T> {
    type Vars = Var<T>;

    fn declare() -> Var<T> {
        Var::declare()
    }

    #[track_caller]
    fn assign_to(self, var: Var<T>) {
        var.set(self);
    }

    fn settled(var: Var<T>) -> Value<T> {
        var.settled()
    }
}

impl<R: Registers, const N: usize> Registers for [R; N] {
    type Vars = [R::Vars; N];

    fn declare() -> [R::Vars; N] {
        std::array::from_fn(|_| R::declare())
    }

    #[track_caller]
    fn assign_to(self, vars: [R::Vars; N]) {
        for (value, var) in self.into_iter().zip(vars) {
            value.assign_to(var);
        }
    }

    fn settled(vars: [R::Vars; N]) -> [R; N] {
        vars.map(R::settled)
    }
}

/// A value that `let mut` can put into a register.
#[diagnostic::on_unimplemented(
    message = "`let mut` makes a register, which cannot hold `{Self}`",
    label = "not a number, a `Value`, or a tuple or array of these",
    note = "write `#[host] let mut` for a variable that exists while the text is made"
)]
pub trait IntoVar {
    /// The registers.
    type Var;

    /// Assigns new registers, named after the variable.
    #[track_caller]
    fn into_var(self, name: &str) -> Self::Var;
}

impl<T: Scalar> IntoVar for Value<T> {
    type Var = Var<T>;

    #[track_caller]
    fn into_var(self, name: &str) -> Var<T> {
        Var::new(name, self)
    }
}

impl<T: Scalar> IntoVar for Var<T> {
    type Var = Var<T>;

    #[track_caller]
    fn into_var(self, name: &str) -> Var<T> {
        Var::new(name, self)
    }
}

macro_rules! host_values {
    ($($ty:ty)*) => {$(
        impl IntoVar for $ty {
            type Var = Var<$ty>;

            #[track_caller]
            fn into_var(self, name: &str) -> Var<$ty> {
                Var::new(name, self)
            }
        }
    )*};
}

host_values!(f32 f64 u32 i32 u64 i64 u16 bool);

impl<V: IntoVar, const N: usize> IntoVar for [V; N] {
    type Var = [V::Var; N];

    #[track_caller]
    fn into_var(self, name: &str) -> [V::Var; N] {
        // `map` would hide the caller's place behind a closure.
        let mut vars = Vec::with_capacity(N);
        for (at, value) in self.into_iter().enumerate() {
            vars.push(value.into_var(&format!("{name}_{at}")));
        }
        let mut vars = vars.into_iter();
        std::array::from_fn(|_| vars.next().expect("one variable for each of the N values"))
    }
}

/// Registers that can be read.
pub trait Read {
    /// What they hold.
    type Value;

    /// Copies them.
    #[track_caller]
    fn read(&self) -> Self::Value;
}

impl<T: Scalar> Read for Var<T> {
    type Value = Value<T>;

    #[track_caller]
    fn read(&self) -> Value<T> {
        self.get()
    }
}

impl<V: Read, const N: usize> Read for [V; N] {
    type Value = [V::Value; N];

    #[track_caller]
    fn read(&self) -> [V::Value; N] {
        let mut values = Vec::with_capacity(N);
        for var in self {
            values.push(var.read());
        }
        let mut values = values.into_iter();
        std::array::from_fn(|_| values.next().expect("one value for each of the N variables"))
    }
}

/// Registers that can be assigned a `V`.
#[diagnostic::on_unimplemented(
    message = "cannot assign `{V}` to `{Self}`",
    label = "expected a value of the register's type",
    note = "kernel values are never converted silently: write `as` to convert"
)]
pub trait Assign<V> {
    /// Assigns them.
    #[track_caller]
    fn assign(&self, value: V);
}

impl<T: Scalar, V: Operand<T>> Assign<V> for Var<T> {
    #[track_caller]
    fn assign(&self, value: V) {
        self.set(value);
    }
}

impl<A: Assign<V>, V, const N: usize> Assign<[V; N]> for [A; N] {
    #[track_caller]
    fn assign(&self, values: [V; N]) {
        for (var, value) in self.iter().zip(values) {
            var.assign(value);
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident $other:ident $at:tt),*))*) => {$(
        #[allow(clippy::unused_unit, reason = "the empty tuple has no elements")]
        impl<$($name: Registers),*> Registers for ($($name,)*) {
            type Vars = ($($name::Vars,)*);

            fn declare() -> Self::Vars {
                ($($name::declare(),)*)
            }

            #[track_caller]
            #[allow(unused_variables, reason = "the empty tuple has no elements")]
            fn assign_to(self, vars: Self::Vars) {
                $(self.$at.assign_to(vars.$at);)*
            }

            #[allow(unused_variables, reason = "the empty tuple has no elements")]
            fn settled(vars: Self::Vars) -> Self {
                ($($name::settled(vars.$at),)*)
            }
        }

        #[allow(clippy::unused_unit, reason = "the empty tuple has no elements")]
        impl<$($name: IntoVar),*> IntoVar for ($($name,)*) {
            type Var = ($($name::Var,)*);

            #[track_caller]
            #[allow(unused_variables, reason = "the empty tuple has no elements")]
            fn into_var(self, name: &str) -> Self::Var {
                ($(self.$at.into_var(&format!("{name}_{}", $at)),)*)
            }
        }

        #[allow(clippy::unused_unit, reason = "the empty tuple has no elements")]
        impl<$($name: Read),*> Read for ($($name,)*) {
            type Value = ($($name::Value,)*);

            #[track_caller]
            fn read(&self) -> Self::Value {
                ($(self.$at.read(),)*)
            }
        }

        #[allow(clippy::unused_unit, reason = "the empty tuple has no elements")]
        impl<$($name: Assign<$other>, $other),*> Assign<($($other,)*)> for ($($name,)*) {
            #[track_caller]
            #[allow(unused_variables, reason = "the empty tuple has no elements")]
            fn assign(&self, values: ($($other,)*)) {
                $(self.$at.assign(values.$at);)*
            }
        }

        #[allow(clippy::unused_unit, reason = "the empty tuple has no elements")]
        impl<$($name: Named),*> Named for ($($name,)*) {
            #[allow(unused_variables, reason = "the empty tuple has no elements")]
            fn named_as(&self, name: &str) {
                $(self.$at.named_as(&format!("{name}_{}", $at));)*
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

/// A register of type `T` that holds `value`: `let mut name: T = value`.
#[track_caller]
pub fn register<T: Scalar>(value: impl Operand<T>, name: &str) -> Var<T> {
    Var::new(name, value)
}

/// `let mut name = value`.
#[track_caller]
pub fn into_var<V: IntoVar>(value: V, name: &str) -> V::Var {
    value.into_var(name)
}

/// What registers hold.
#[track_caller]
pub fn read<R: Read>(registers: &R) -> R::Value {
    registers.read()
}

/// `registers = value`.
#[track_caller]
pub fn assign<R: Assign<V>, V>(registers: &R, value: V) {
    registers.assign(value);
}

/// Number of registers so far.
pub fn mark() -> usize {
    with(|b| b.mark())
}

/// Names the registers made since `mark` as temporaries of a statement about `name`.
pub fn name_since(mark: usize, name: &str) {
    with(|b| b.name_since(mark, name));
}

/// Kernel values that show the name of the author's variable in the text.
pub trait Named {
    /// Names them, unless they have a name.
    fn named_as(&self, name: &str);
}

impl<T: Scalar> Named for Value<T> {
    fn named_as(&self, name: &str) {
        self.named(name);
    }
}

impl<V: Named, const N: usize> Named for [V; N] {
    fn named_as(&self, name: &str) {
        for (i, value) in self.iter().enumerate() {
            value.named_as(&format!("{name}_{i}"));
        }
    }
}

impl<V: Named> Named for Vec<V> {
    fn named_as(&self, name: &str) {
        for (i, value) in self.iter().enumerate() {
            value.named_as(&format!("{name}_{i}"));
        }
    }
}

impl<V: Named> Named for Option<V> {
    fn named_as(&self, name: &str) {
        if let Some(value) = self {
            value.named_as(name);
        }
    }
}

impl Named for Global {
    fn named_as(&self, name: &str) {
        self.named(name);
    }
}

impl Named for GlobalMut {
    fn named_as(&self, name: &str) {
        self.named(name);
    }
}

/// A variable of a `let`, to be named: `(&Naming(&x)).name("x")` chooses [`NameKernel`] for kernel values and [`NameHost`],
/// which does nothing, for all others.
#[derive(Debug)]
pub struct Naming<'a, T: ?Sized>(pub &'a T);

/// Names kernel values.
pub trait NameKernel {
    /// Names the variable.
    fn name(&self, name: &str);
}

impl<T: Named + ?Sized> NameKernel for Naming<'_, T> {
    fn name(&self, name: &str) {
        self.0.named_as(name);
    }
}

/// Host values have no register to name.
pub trait NameHost {
    /// Does nothing.
    fn name(&self, name: &str);
}

impl<T: ?Sized> NameHost for &Naming<'_, T> {
    fn name(&self, _: &str) {}
}

/// Where the caller stands, for functions of this folder that emit control flow.
#[track_caller]
pub(super) fn here() -> Place {
    Place::caller()
}
