//! Typed kernel values.
//!
//! [`Value<T>`] is a value that exists when the kernel runs: a register, or a literal that needs none. It is `Copy`; operators
//! and the functions of [`crate::ops`] add one instruction each. [`Var<T>`] is a register that can be assigned. `T` is the
//! compute type, so that an `f32` plus a `u32` does not compile. [`Operand<T>`] is what such a function accepts: a
//! value, a variable, or a Rust value known while the text is made, which becomes a literal.

use std::marker::PhantomData;

use crate::builder::{Builder, Handle, with};
use crate::imm::Imm;
use crate::ir::{self, Place};
use crate::isa::mods::Cmp;
use crate::isa::{Mod, Mods, Op, SpecialReg};
use crate::types::Ty;

mod operators;

pub use operators::Arithmetic;

/// A type that kernels compute with.
pub trait Scalar: Copy + Operand<Self> + 'static {
    /// Its PTX type.
    const TY: Ty;
    /// Its type as authors write it, for messages.
    const NAME: &'static str;
    /// The bits of a host value, zero-extended.
    fn bits(self) -> u64;
}

/// A number: integers and floats.
pub trait Number: Scalar {}

/// A floating-point type with the full set of arithmetic.
pub trait Float: Number + crate::ops::Arith {}

/// A 32- or 64-bit integer.
pub trait Int: Number {}

macro_rules! scalars {
    ($($ty:ty: $variant:ident, |$v:ident| $bits:expr, [$($class:ident)*];)*) => {$(
        impl Scalar for $ty {
            const TY: Ty = Ty::$variant;
            const NAME: &'static str = stringify!($ty);
            fn bits(self) -> u64 {
                let $v = self;
                $bits
            }
        }
        $(impl $class for $ty {})*
        impl Operand<$ty> for $ty {
            fn operand(self) -> ir::Operand {
                ir::Operand::Imm(Imm::new(Ty::$variant, self.bits()))
            }
        }
    )*};
}

scalars! {
    f32: F32, |v| u64::from(v.to_bits()), [Number Float];
    u32: U32, |v| u64::from(v), [Number Int];
    i32: S32, |v| u64::from(v as u32), [Number Int];
    u64: U64, |v| v, [Number Int];
    i64: S64, |v| v as u64, [Number Int];
    f64: F64, |v| v.to_bits(), [Number];
    u16: U16, |v| u64::from(v), [];
    bool: Pred, |v| u64::from(v), [];
}

macro_rules! bit_strings {
    ($($(#[$doc:meta])* $ty:ident($raw:ty) $variant:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $ty(pub $raw);

        impl Scalar for $ty {
            const TY: Ty = Ty::$variant;
            const NAME: &'static str = stringify!($ty);
            fn bits(self) -> u64 {
                u64::from(self.0)
            }
        }
        impl Operand<$ty> for $ty {
            fn operand(self) -> ir::Operand {
                ir::Operand::Imm(Imm::new(Ty::$variant, self.bits()))
            }
        }
    )*};
}

bit_strings! {
    /// 16 bits without a meaning, or a bf16: PTX has no register type for it.
    B16(u16) B16;
    /// 32 bits without a meaning, or two packed 16-bit elements.
    B32(u32) B32;
    /// 64 bits without a meaning.
    B64(u64) B64;
    /// A binary16 number, by its bits.
    F16(u16) F16;
}

/// Anything that a kernel function accepts where it wants a `T`.
#[diagnostic::on_unimplemented(
    message = "expected a kernel value of type `{T}`, found `{Self}`",
    label = "not a `Value<{T}>`, a `Var<{T}>` or a `{T}`",
    note = "kernel values are never converted silently: write `as {T}` to convert"
)]
pub trait Operand<T: Scalar>: Copy {
    /// The operand of an instruction.
    #[track_caller]
    fn operand(self) -> ir::Operand;

    /// The value.
    #[track_caller]
    fn value(self) -> Value<T> {
        Value::from_operand(self.operand())
    }
}

/// A value of the running kernel.
#[derive(Debug, Clone, Copy)]
pub struct Value<T: Scalar> {
    repr: Repr,
    ty: PhantomData<fn() -> T>,
}

#[derive(Debug, Clone, Copy)]
enum Repr {
    Imm(u64),
    Reg(Handle),
}

/// A register that can be assigned; [`get`](Var::get) copies it.
#[derive(Debug, Clone, Copy)]
pub struct Var<T: Scalar> {
    handle: Handle,
    ty: PhantomData<fn() -> T>,
}

impl<T: Scalar> Value<T> {
    /// A literal.
    pub fn constant(value: T) -> Value<T> {
        Value { repr: Repr::Imm(value.bits()), ty: PhantomData }
    }

    pub(crate) fn from_handle(handle: Handle) -> Value<T> {
        Value { repr: Repr::Reg(handle), ty: PhantomData }
    }

    fn from_operand(operand: ir::Operand) -> Value<T> {
        match operand {
            ir::Operand::Imm(imm) => Value { repr: Repr::Imm(imm.bits), ty: PhantomData },
            ir::Operand::Reg(reg) => with(|b| Value::from_handle(b.handle(reg))),
            _ => Value { repr: Repr::Imm(0), ty: PhantomData },
        }
    }

    /// The host value, if it is known while the text is made.
    pub(crate) fn known(self) -> Option<u64> {
        match self.repr {
            Repr::Imm(bits) => Some(bits),
            Repr::Reg(_) => None,
        }
    }

    /// The register that holds it; a literal is moved into one.
    #[track_caller]
    pub(crate) fn reg(self) -> ir::Reg {
        let place = Place::caller();
        with(|b| match self.repr {
            Repr::Imm(bits) => b.constant(Imm::new(T::TY, bits), place),
            Repr::Reg(handle) => b.own(handle, place),
        })
    }

    /// Names the register after the author's variable, unless it has a name.
    pub fn named(self, name: &str) -> Value<T> {
        if let Repr::Reg(handle) = self.repr {
            with(|b| {
                let reg = b.own(handle, Place::default());
                b.name(reg, name);
            });
        }
        self
    }

    /// The register read as another type of equal width that the instruction it goes to agrees with: integers of either
    /// sign and untyped bits. No instruction is needed.
    pub(crate) fn retype<U: Scalar>(self) -> Value<U> {
        debug_assert!(T::TY.agrees(U::TY), "operand types agree");
        Value { repr: self.repr, ty: PhantomData }
    }

    /// The operand, where the builder is borrowed already.
    pub(crate) fn operand_in(self, b: &mut Builder, place: Place) -> ir::Operand {
        match self.repr {
            Repr::Imm(bits) => ir::Operand::Imm(Imm::new(T::TY, bits)),
            Repr::Reg(handle) => ir::Operand::Reg(b.own(handle, place)),
        }
    }

    /// The same bits as another type of equal width.
    #[track_caller]
    pub fn bitcast<U: Scalar>(self) -> Value<U> {
        debug_assert_eq!(T::TY.bits(), U::TY.bits(), "a bitcast keeps the width");
        match self.repr {
            Repr::Imm(bits) => Value { repr: Repr::Imm(bits), ty: PhantomData },
            Repr::Reg(_) => emit_value(Op::Mov, &[Mod::t(bit_type(T::TY.bits()))], vec![self.operand()]),
        }
    }
}

/// The untyped type of a width.
pub(crate) const fn bit_type(bits: u32) -> Ty {
    match bits {
        16 => Ty::B16,
        64 => Ty::B64,
        _ => Ty::B32,
    }
}

impl<T: Scalar> Operand<T> for Value<T> {
    #[track_caller]
    fn operand(self) -> ir::Operand {
        let place = Place::caller();
        match self.repr {
            Repr::Imm(bits) => ir::Operand::Imm(Imm::new(T::TY, bits)),
            Repr::Reg(handle) => with(|b| ir::Operand::Reg(b.own(handle, place))),
        }
    }
}

impl<T: Scalar> Operand<T> for Var<T> {
    #[track_caller]
    fn operand(self) -> ir::Operand {
        self.get().operand()
    }
}

impl<T: Scalar> Var<T> {
    /// A variable that holds `value`.
    #[track_caller]
    pub fn new(name: &str, value: impl Operand<T>) -> Var<T> {
        let var = with(|b| {
            let handle = b.reg(T::TY, true);
            b.name(handle.reg, name);
            Var { handle, ty: PhantomData }
        });
        var.set(value);
        var
    }

    /// A variable without a value yet.
    pub(crate) fn declare() -> Var<T> {
        Var { handle: with(|b| b.reg(T::TY, true)), ty: PhantomData }
    }

    /// What it holds, without a copy: for variables that no assignment on a way to a use of the result changes.
    pub(crate) fn settled(self) -> Value<T> {
        Value::from_handle(self.handle)
    }

    /// Its present value.
    #[track_caller]
    pub fn get(self) -> Value<T> {
        self.get_at(Place::caller())
    }

    /// Its present value, for an expression of the author at `place`.
    pub(crate) fn get_at(self, place: Place) -> Value<T> {
        with(|b| {
            let source = ir::Operand::Reg(b.own(self.handle, place));
            let mods = Mods::new(&[Mod::t(T::TY.register())]);
            let reg = b.value(Op::Mov, mods, vec![source], T::TY, place);
            Value::from_handle(b.handle(reg))
        })
    }

    /// Assigns it.
    #[track_caller]
    pub fn set(self, value: impl Operand<T>) {
        self.set_at(value.value(), Place::caller());
    }

    /// Assigns it, for a statement of the author at `place`.
    pub(crate) fn set_at(self, value: Value<T>, place: Place) {
        with(|b| {
            let reg = b.own(self.handle, place);
            let value = value.operand_in(b, place);
            if T::TY == Ty::Pred
                && let ir::Operand::Imm(imm) = value
            {
                let source = ir::Operand::Reg(b.constant(imm, place));
                b.push(
                    Op::Mov,
                    Mods::new(&[Mod::t(Ty::Pred)]),
                    vec![ir::Operand::Reg(reg), source],
                    None,
                    place,
                );
                return;
            }
            let mods = Mods::new(&[Mod::t(T::TY.register())]);
            b.push(Op::Mov, mods, vec![ir::Operand::Reg(reg), value], None, place);
        });
    }
}

impl Builder {
    /// A handle of this build.
    pub(crate) fn handle(&self, reg: ir::Reg) -> Handle {
        Handle { reg, generation: self.generation() }
    }
}

/// Adds an instruction whose result has type `R` and returns it; folds it where all operands are literals.
#[track_caller]
pub(crate) fn emit_value<R: Scalar>(op: Op, mods: &[Mod], uses: Vec<ir::Operand>) -> Value<R> {
    emit_value_at(Place::caller(), op, mods, uses)
}

/// [`emit_value`] for an expression of the author at `place`.
pub(crate) fn emit_value_at<R: Scalar>(
    place: Place,
    op: Op,
    mods: &[Mod],
    uses: Vec<ir::Operand>,
) -> Value<R> {
    let mods = Mods::new(mods);
    if let Some(imm) = Builder::fold(op, &mods, &uses, R::TY) {
        return Value { repr: Repr::Imm(imm.bits), ty: PhantomData };
    }
    with(|b| {
        let reg = b.value(op, mods, uses, R::TY, place);
        Value::from_handle(b.handle(reg))
    })
}

/// The value of a special register.
#[track_caller]
pub(crate) fn special(special: SpecialReg) -> Value<u32> {
    emit_value(Op::Mov, &[Mod::t(Ty::U32)], vec![ir::Operand::Special(special)])
}

/// `a <cmp> b` as a predicate.
#[track_caller]
pub fn compare<T: Number>(cmp: Cmp, a: impl Operand<T>, b: impl Operand<T>) -> Value<bool> {
    compare_at(Place::caller(), cmp, a.value(), b.value())
}

/// [`compare`] for an expression of the author at `place`.
pub(crate) fn compare_at<T: Number>(place: Place, cmp: Cmp, a: Value<T>, b: Value<T>) -> Value<bool> {
    let op = if T::TY.is_float() { Op::SetpF } else { Op::Setp };
    emit_value_at(place, op, &[cmp.get(), Mod::t(T::TY)], vec![a.operand(), b.operand()])
}

/// `a` where `condition` holds, else `b`.
#[track_caller]
pub fn select<T: Scalar>(condition: Value<bool>, a: impl Operand<T>, b: impl Operand<T>) -> Value<T> {
    match condition.known() {
        Some(0) => b.value(),
        Some(_) => a.value(),
        None => {
            let ty = if T::TY.is_float() || T::TY.is_int() { T::TY } else { bit_type(T::TY.bits()) };
            emit_value(
                Op::Selp,
                &[Mod::t(ty)],
                vec![a.operand(), b.operand(), ir::Operand::Reg(condition.reg())],
            )
        }
    }
}
