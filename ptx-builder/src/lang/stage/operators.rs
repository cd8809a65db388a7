//! Comparisons, `as`, indexing and type annotations.
//!
//! Comparisons of host values are Rust's own; as soon as one side is a kernel value, the result is a predicate. `as` converts
//! as Rust does: integers wrap, floats saturate to integers, integers round to the nearest float, ties to even.

use std::ops::Deref;

use crate::isa::mods::{Cmp, IRnd, Rnd};
use crate::isa::{Mod, Op};
use crate::value::{F16, Number, Operand, Scalar, Value, compare, emit_value, select};

/// `<`, `<=`, `>` and `>=`: two host values, or numbers of one type of which at least one is a kernel value.
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}`",
    label = "expected numbers of one type",
    note = "kernel values are never converted silently: write `as` to convert"
)]
pub trait CompareOrd<B: ?Sized, O> {
    /// `self < other`.
    #[track_caller]
    fn lt(&self, other: &B) -> O;
    /// `self <= other`.
    #[track_caller]
    fn le(&self, other: &B) -> O;
    /// `self > other`.
    #[track_caller]
    fn gt(&self, other: &B) -> O;
    /// `self >= other`.
    #[track_caller]
    fn ge(&self, other: &B) -> O;
}

/// `==` and `!=`: two host values, or values of one type of which at least one is a kernel value.
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}`",
    label = "expected values of one type",
    note = "kernel values are never converted silently: write `as` to convert"
)]
pub trait CompareEq<B: ?Sized, O> {
    /// `self == other`.
    #[track_caller]
    fn eq(&self, other: &B) -> O;
    /// `self != other`.
    #[track_caller]
    fn ne(&self, other: &B) -> O;
}

#[diagnostic::do_not_recommend]
impl<A: PartialOrd<B> + ?Sized, B: ?Sized> CompareOrd<B, bool> for A {
    fn lt(&self, other: &B) -> bool {
        self < other
    }
    fn le(&self, other: &B) -> bool {
        self <= other
    }
    fn gt(&self, other: &B) -> bool {
        self > other
    }
    fn ge(&self, other: &B) -> bool {
        self >= other
    }
}

#[diagnostic::do_not_recommend]
impl<A: PartialEq<B> + ?Sized, B: ?Sized> CompareEq<B, bool> for A {
    fn eq(&self, other: &B) -> bool {
        self == other
    }
    fn ne(&self, other: &B) -> bool {
        self != other
    }
}

macro_rules! kernel_order {
    ([$($generic:ident)?] $a:ty, $b:ty, $ty:ty) => {
        impl $(<$generic: Number>)? CompareOrd<$b, Value<bool>> for $a {
            #[track_caller]
            fn lt(&self, other: &$b) -> Value<bool> {
                compare::<$ty>(Cmp::Lt, *self, *other)
            }
            #[track_caller]
            fn le(&self, other: &$b) -> Value<bool> {
                compare::<$ty>(Cmp::Le, *self, *other)
            }
            #[track_caller]
            fn gt(&self, other: &$b) -> Value<bool> {
                compare::<$ty>(Cmp::Gt, *self, *other)
            }
            #[track_caller]
            fn ge(&self, other: &$b) -> Value<bool> {
                compare::<$ty>(Cmp::Ge, *self, *other)
            }
        }
    };
}

/// Compute types whose values can be equal: numbers, and predicates.
pub trait Equal: Scalar {
    /// `a == b`.
    #[track_caller]
    fn equal(a: Value<Self>, b: Value<Self>) -> Value<bool>;
    /// `a != b`.
    #[track_caller]
    fn unequal(a: Value<Self>, b: Value<Self>) -> Value<bool>;
}

impl<T: Number> Equal for T {
    #[track_caller]
    fn equal(a: Value<T>, b: Value<T>) -> Value<bool> {
        compare::<T>(Cmp::Eq, a, b)
    }
    #[track_caller]
    fn unequal(a: Value<T>, b: Value<T>) -> Value<bool> {
        compare::<T>(if T::TY.is_float() { Cmp::Neu } else { Cmp::Ne }, a, b)
    }
}

impl Equal for bool {
    #[track_caller]
    fn equal(a: Value<bool>, b: Value<bool>) -> Value<bool> {
        !(a ^ b)
    }
    #[track_caller]
    fn unequal(a: Value<bool>, b: Value<bool>) -> Value<bool> {
        a ^ b
    }
}

macro_rules! kernel_equality {
    ([$($generic:ident)?] $a:ty, $b:ty, $ty:ty) => {
        impl $(<$generic: Equal>)? CompareEq<$b, Value<bool>> for $a {
            #[track_caller]
            fn eq(&self, other: &$b) -> Value<bool> {
                <$ty>::equal(Operand::<$ty>::value(*self), Operand::<$ty>::value(*other))
            }
            #[track_caller]
            fn ne(&self, other: &$b) -> Value<bool> {
                <$ty>::unequal(Operand::<$ty>::value(*self), Operand::<$ty>::value(*other))
            }
        }
    };
}

macro_rules! comparisons {
    ($($ty:ty)*) => {$(
        kernel_order!([] $ty, Value<$ty>, $ty);
        kernel_order!([] Value<$ty>, $ty, $ty);
        kernel_equality!([] $ty, Value<$ty>, $ty);
        kernel_equality!([] Value<$ty>, $ty, $ty);
    )*};
}

kernel_order!([T] Value<T>, Value<T>, T);
kernel_equality!([T] Value<T>, Value<T>, T);
comparisons!(f32 f64 u32 i32 u64 i64);
kernel_equality!([] bool, Value<bool>, bool);
kernel_equality!([] Value<bool>, bool, bool);

macro_rules! comparison_functions {
    ($($trait:ident: $($name:ident $text:literal)*;)*) => {$($(
        #[doc = concat!("`a ", $text, " b`.")]
        #[track_caller]
        pub fn $name<A: $trait<B, O> + ?Sized, B: ?Sized, O>(a: &A, b: &B) -> O {
            $trait::$name(a, b)
        }
    )*)*};
}

comparison_functions! {
    CompareOrd: lt "<" le "<=" gt ">" ge ">=";
    CompareEq: eq "==" ne "!=";
}

/// `as T` between numbers, as in Rust: integers wrap or extend by their sign, floats truncate toward zero and
/// saturate to integers (NaN becomes 0), and everything else rounds to the nearest float, ties to even.
#[diagnostic::on_unimplemented(
    message = "`as {T}` does not convert `{Self}`",
    label = "not a number that `as` converts",
    note = "`as` converts numbers and kernel values of numbers; call a function for anything else"
)]
pub trait Cast<T, O> {
    /// Converts to `O`: `T`, or `Value<T>`.
    #[track_caller]
    fn cast(self) -> O;
}

macro_rules! host_casts {
    ($($from:ty)*) => {$(
        host_casts!(@ $from: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);
    )*};
    (@ $from:ty: $($to:ty)*) => {$(
        impl Cast<$to, $to> for $from {
            #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "one macro for all pairs")]
            fn cast(self) -> $to {
                self as $to
            }
        }
    )*};
}

host_casts!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

macro_rules! bool_casts {
    ($($to:ty)*) => {$(
        impl Cast<$to, $to> for bool {
            fn cast(self) -> $to {
                <$to>::from(self)
            }
        }
    )*};
}

bool_casts!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

/// A kernel conversion between two compute types.
pub trait CastTo<T: Scalar>: Scalar {
    /// Converts.
    #[track_caller]
    fn cast_value(value: Value<Self>) -> Value<T>;
}

impl<S: CastTo<T>, T: Scalar> Cast<T, Value<T>> for Value<S> {
    #[track_caller]
    fn cast(self) -> Value<T> {
        S::cast_value(self)
    }
}

#[track_caller]
fn convert<S: Scalar, T: Scalar>(op: Op, extra: &[Mod], value: Value<S>) -> Value<T> {
    let mut mods = vec![Mod::t(T::TY), Mod::s(S::TY)];
    mods.extend_from_slice(extra);
    emit_value::<T>(op, &mods, vec![value.operand()])
}

macro_rules! casts {
    ($($from:ty => $($to:ty)*: |$value:ident| $convert:expr;)*) => {$($(
        impl CastTo<$to> for $from {
            #[track_caller]
            fn cast_value($value: Value<$from>) -> Value<$to> {
                $convert
            }
        }
    )*)*};
}

const NEAREST: &[Mod] = &[Rnd::Rn.get()];
const TOWARD_ZERO: &[Mod] = &[IRnd::Rzi.get()];

casts! {
    u32 => u32: |value| value;
    i32 => i32: |value| value;
    u64 => u64: |value| value;
    i64 => i64: |value| value;
    f32 => f32: |value| value;
    f64 => f64: |value| value;
    // The bits stay, so no instruction is needed.
    u32 => i32: |value| value.retype();
    i32 => u32: |value| value.retype();
    u64 => i64: |value| value.retype();
    i64 => u64: |value| value.retype();
    u32 => u64 i64: |value| convert(Op::Cvt, &[], value);
    i32 => u64 i64: |value| convert(Op::Cvt, &[], value);
    // Truncation is the same for either sign.
    u64 => u32: |value| convert(Op::Cvt, &[], value);
    u64 => i32: |value| convert::<u64, u32>(Op::Cvt, &[], value).retype();
    i64 => u32: |value| convert::<u64, u32>(Op::Cvt, &[], value.retype());
    i64 => i32: |value| convert::<u64, u32>(Op::Cvt, &[], value.retype()).retype();
    u32 => f32 f64: |value| convert(Op::CvtF, NEAREST, value);
    i32 => f32 f64: |value| convert(Op::CvtF, NEAREST, value);
    u64 => f32 f64: |value| convert(Op::CvtF, NEAREST, value);
    i64 => f32 f64: |value| convert(Op::CvtF, NEAREST, value);
    f32 => u32 i32 u64 i64: |value| convert(Op::CvtInt, TOWARD_ZERO, value);
    f64 => u32 i32 u64 i64: |value| convert(Op::CvtInt, TOWARD_ZERO, value);
    f32 => f64: |value| convert(Op::CvtUp, &[], value);
    f64 => f32: |value| convert(Op::CvtF, NEAREST, value);
    f32 => F16: |value| convert(Op::CvtF, NEAREST, value);
    F16 => f32: |value| convert(Op::CvtUp, &[], value);
    bool => u32: |value| select(value, 1u32, 0u32);
    bool => i32: |value| select(value, 1i32, 0i32);
    bool => u64: |value| select(value, 1u64, 0u64);
    bool => i64: |value| select(value, 1i64, 0i64);
}

/// `value as T`.
#[track_caller]
pub fn cast<S: Cast<T, O>, T, O>(value: S) -> O {
    value.cast()
}

/// `container[index]`, read: an element of an array, slice or `Vec` of the host, or a load from a view.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be indexed by `{I}`",
    label = "expected an array, slice, `Vec` or view, and an integer",
    note = "arrays and `Vec`s exist while the text is made: their index must be known then; views take kernel values"
)]
pub trait Index<'a, I, O: Deref> {
    /// Where the element is.
    #[track_caller]
    fn index(&'a self, index: I) -> O;
}

/// An integer of the host that indexes arrays.
#[diagnostic::on_unimplemented(
    message = "an array is indexed by an integer that is known while the text is made, found `{Self}`",
    label = "not an integer of the host",
    note = "arrays of kernel values are registers, which have no addresses; use shared memory for an index of the running kernel"
)]
pub trait HostIndex: Copy {
    /// As an index; a negative one is out of every range.
    fn position(self) -> usize;
}

macro_rules! host_indices {
    ($($ty:ty)*) => {$(
        impl HostIndex for $ty {
            fn position(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
        }
    )*};
}

host_indices!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

macro_rules! containers {
    ($([$($generic:tt)*] $ty:ty: $element:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<'a, $($generic)*, I: HostIndex> Index<'a, I, &'a $element> for $ty {
            #[track_caller]
            fn index(&'a self, index: I) -> &'a $element {
                &self[index.position()]
            }
        }

        impl<$($generic)*, I: HostIndex> IndexMut<I> for $ty {
            type Element = $element;

            #[track_caller]
            fn index_mut(&mut self, index: I) -> &mut $element {
                &mut self[index.position()]
            }
        }
    )*};
}

containers! {
    [T, const N: usize] [T; N]: T;
    [T] [T]: T;
    [T] Vec<T>: T;
}

impl<'a, I, O: Deref, C: Index<'a, I, O> + ?Sized> Index<'a, I, O> for &C {
    #[track_caller]
    fn index(&'a self, index: I) -> O {
        (**self).index(index)
    }
}

/// `container[index] = …` on a `#[host] let mut` variable.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be assigned at index `{I}`",
    label = "expected an array, slice or `Vec` of the host, and an integer of the host"
)]
pub trait IndexMut<I> {
    /// The element.
    type Element;

    /// The place of the element.
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut Self::Element;
}

/// `view[index] = value`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be assigned at index `{I}`",
    label = "not a writable view of memory with such an index",
    note = "buffers are written through `GlobalMut`; an array of registers is declared with `let mut`"
)]
pub trait Store<I> {
    /// The compute type of an element.
    type Element: Scalar;

    /// Stores.
    #[track_caller]
    fn store_at(&self, index: I, value: Value<Self::Element>);
}

impl<I, S: Store<I> + ?Sized> Store<I> for &S {
    type Element = S::Element;

    #[track_caller]
    fn store_at(&self, index: I, value: Value<S::Element>) {
        (**self).store_at(index, value);
    }
}

/// A loaded value, behind a `Deref` as elements of host containers are.
#[derive(Debug, Clone, Copy)]
pub struct Loaded<T>(pub T);

impl<T> Deref for Loaded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[diagnostic::do_not_recommend]
impl<'a, I: Operand<u32>> Index<'a, I, Loaded<Value<f32>>> for crate::lang::Global {
    #[track_caller]
    fn index(&'a self, index: I) -> Loaded<Value<f32>> {
        Loaded(self.load(index))
    }
}

#[diagnostic::do_not_recommend]
impl<'a, I: Operand<u32>> Index<'a, I, Loaded<Value<f32>>> for crate::lang::GlobalMut {
    #[track_caller]
    fn index(&'a self, index: I) -> Loaded<Value<f32>> {
        Loaded(self.load(index))
    }
}

#[diagnostic::do_not_recommend]
impl<I: Operand<u32>> Store<I> for crate::lang::GlobalMut {
    type Element = f32;

    #[track_caller]
    fn store_at(&self, index: I, value: Value<f32>) {
        self.store(index, value);
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: Scalar, I: Operand<u32>> Index<'a, I, Loaded<Value<T>>> for crate::lang::Shared<T> {
    #[track_caller]
    fn index(&'a self, index: I) -> Loaded<Value<T>> {
        Loaded(self.at(index).load())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Scalar, I: Operand<u32>> Store<I> for crate::lang::Shared<T> {
    type Element = T;

    #[track_caller]
    fn store_at(&self, index: I, value: Value<T>) {
        self.at(index).store(value);
    }
}

/// `container[index]`, to be dereferenced.
#[track_caller]
pub fn index<'a, C: Index<'a, I, O> + ?Sized, I, O: Deref>(container: &'a C, index: I) -> O {
    container.index(index)
}

/// The place of `container[index]`, a register or an element of the host.
#[track_caller]
pub fn at<T, const N: usize>(container: &[T; N], index: impl HostIndex) -> &T {
    &container[index.position()]
}

/// The place of `container[index]` in a host variable.
#[track_caller]
pub fn at_mut<C: IndexMut<I> + ?Sized, I>(container: &mut C, index: I) -> &mut C::Element {
    container.index_mut(index)
}

/// `container[index] = value` on a view.
#[track_caller]
pub fn store<C: Store<I> + ?Sized, I, V: Operand<C::Element>>(container: &C, index: I, value: V) {
    container.store_at(index, value.value());
}

/// A value of a `let` with the type annotation `T`, which is an `O`: `T` itself, or `Value<T>`.
#[diagnostic::on_unimplemented(
    message = "expected `{T}` or `Value<{T}>`, found `{Self}`",
    label = "does not have the annotated type",
    note = "kernel values are never converted silently: write `as {T}` to convert"
)]
pub trait Typed<T, O> {
    /// The value.
    fn typed(self) -> O;
}

macro_rules! annotated {
    ($([$ty:ty: $($with:ty),*])*) => {$($(
        impl Typed<$ty, $with> for $with {
            fn typed(self) -> $with {
                self
            }
        }
    )*)*};
}

annotated! {
    [f32: f32, Value<f32>] [f64: f64, Value<f64>] [u32: u32, Value<u32>] [i32: i32, Value<i32>]
    [u64: u64, Value<u64>] [i64: i64, Value<i64>] [u16: u16, Value<u16>] [bool: bool, Value<bool>]
    [u8: u8] [i8: i8] [i16: i16] [u128: u128] [i128: i128] [usize: usize] [isize: isize] [char: char]
}

/// `value` of annotated type `T`.
pub fn typed<T, V: Typed<T, O>, O>(value: V) -> O {
    value.typed()
}
