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

    /// Assigns them, for a statement of the author at `place`.
    fn assign_to(self, vars: Self::Vars, place: Place);

    /// What they hold, for registers that are never assigned again on a way to a use: no copy is made.
    fn settled(vars: Self::Vars) -> Self;
}

impl<T: Scalar> Registers for Value<T> {
    type Vars = Var<T>;

    fn declare() -> Var<T> {
        Var::declare()
    }

    fn assign_to(self, var: Var<T>, place: Place) {
        var.set_at(self, place);
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

    fn assign_to(self, vars: [R::Vars; N], place: Place) {
        for (value, var) in self.into_iter().zip(vars) {
            value.assign_to(var, place);
        }
    }

    fn settled(vars: [R::Vars; N]) -> [R; N] {
        vars.map(R::settled)
    }
}

/// A value that `let mut` can put into registers `V`.
#[diagnostic::on_unimplemented(
    message = "`let mut` makes a register, which cannot hold `{Self}`",
    label = "not a number, a `Value`, or a tuple or array of these",
    note = "write `#[host] let mut` for a variable that exists while the text is made"
)]
pub trait IntoVar<V> {
    /// Assigns new registers, named after the variable, for a statement of the author at `place`.
    fn into_var(self, name: &str, place: Place) -> V;
}

/// A new register that holds `value`.
fn declared<T: Scalar>(value: Value<T>, name: &str, place: Place) -> Var<T> {
    let var = Var::declare();
    var.settled().named(name);
    var.set_at(value, place);
    var
}

impl<T: Scalar> IntoVar<Var<T>> for Value<T> {
    fn into_var(self, name: &str, place: Place) -> Var<T> {
        declared(self, name, place)
    }
}

macro_rules! host_values {
    ($($ty:ty)*) => {$(
        impl IntoVar<Var<$ty>> for $ty {
            fn into_var(self, name: &str, place: Place) -> Var<$ty> {
                declared(Value::constant(self), name, place)
            }
        }
    )*};
}

host_values!(f32 f64 u32 i32 u64 i64 u16 bool);

impl<X: IntoVar<V>, V, const N: usize> IntoVar<[V; N]> for [X; N] {
    fn into_var(self, name: &str, place: Place) -> [V; N] {
        let mut at = 0;
        self.map(|value| {
            let var = value.into_var(&format!("{name}_{at}"), place);
            at += 1;
            var
        })
    }
}

/// Registers that can be read.
pub trait Read {
    /// What they hold.
    type Value;

    /// Copies them, for an expression of the author at `place`.
    fn read_at(&self, place: Place) -> Self::Value;
}

impl<T: Scalar> Read for Var<T> {
    type Value = Value<T>;

    fn read_at(&self, place: Place) -> Value<T> {
        self.get_at(place)
    }
}

impl<V: Read, const N: usize> Read for [V; N] {
    type Value = [V::Value; N];

    fn read_at(&self, place: Place) -> [V::Value; N] {
        self.each_ref().map(|var| var.read_at(place))
    }
}

/// A value that can be assigned to registers `V`.
#[diagnostic::on_unimplemented(
    message = "cannot assign `{Self}` to registers of type `{V}`",
    label = "does not have the type of the registers",
    note = "kernel values are never converted silently: write `as` to convert"
)]
pub trait AssignTo<V> {
    /// Assigns them, for a statement of the author at `place`.
    fn assign_to_var(self, vars: &V, place: Place);
}

impl<T: Scalar, X: Operand<T>> AssignTo<Var<T>> for X {
    fn assign_to_var(self, var: &Var<T>, place: Place) {
        var.set_at(self.value(), place);
    }
}

impl<X: AssignTo<V>, V, const N: usize> AssignTo<[V; N]> for [X; N] {
    fn assign_to_var(self, vars: &[V; N], place: Place) {
        for (value, var) in self.into_iter().zip(vars) {
            value.assign_to_var(var, place);
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

            #[allow(unused_variables, reason = "the empty tuple has no elements")]
            fn assign_to(self, vars: Self::Vars, place: Place) {
                $(self.$at.assign_to(vars.$at, place);)*
            }

            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no elements")]
            fn settled(vars: Self::Vars) -> Self {
                ($($name::settled(vars.$at),)*)
            }
        }

        impl<$($name: IntoVar<$other>, $other),*> IntoVar<($($other,)*)> for ($($name,)*) {
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no elements")]
            fn into_var(self, name: &str, place: Place) -> ($($other,)*) {
                ($(self.$at.into_var(&format!("{name}_{}", $at), place),)*)
            }
        }

        impl<$($name: Read),*> Read for ($($name,)*) {
            type Value = ($($name::Value,)*);

            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no elements")]
            fn read_at(&self, place: Place) -> Self::Value {
                ($(self.$at.read_at(place),)*)
            }
        }

        impl<$($name: AssignTo<$other>, $other),*> AssignTo<($($other,)*)> for ($($name,)*) {
            #[allow(unused_variables, reason = "the empty tuple has no elements")]
            fn assign_to_var(self, vars: &($($other,)*), place: Place) {
                $(self.$at.assign_to_var(&vars.$at, place);)*
            }
        }

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
pub fn into_var<X: IntoVar<V>, V>(value: X, name: &str) -> V {
    value.into_var(name, here())
}

/// What registers hold.
#[track_caller]
pub fn read<R: Read>(registers: &R) -> R::Value {
    registers.read_at(here())
}

/// `registers = value`.
#[track_caller]
pub fn assign<V, X: AssignTo<V>>(registers: &V, value: X) {
    value.assign_to_var(registers, here());
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
