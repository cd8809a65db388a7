//! The table. One row per instruction form, grouped by headings; columns as in [`Form`].
//!
//! `fn` columns become typed builder functions in [`crate::ops`]; a form without one is reached through
//! a library function (memory, control) instead. What the rows share (lists of types, restrictions, requirements) stands
//! in named constants above them.

use super::mods::{
    Abs, Amount, AtomOp, BoolOp, Cmp, Direction, Ftz, Half, IRnd, L2Prefetch, Level, Mod, Nan, Primary, Read,
    Rnd, Scope, Sem, Shfl, Slot, Space, TestClass, Vec, Vote,
};
use super::special::SpecialReg;
use super::{Effect, Eval, Form, OpTy, OperandSpec, Role, Since, SmReq, When, eval};
use crate::target::PtxVersion;
use crate::types::Ty::{self, *};
use OpTy::*;

const fn operand(role: Role, ty: OpTy) -> OperandSpec {
    OperandSpec { role, ty }
}

// ---- operands: results begin with D, `AS` is of the source type ------------------------------------------------------
const D: OperandSpec = operand(Role::Def, OpTy::T);
const D32: OperandSpec = operand(Role::Def, Fixed(F32));
const DB32: OperandSpec = operand(Role::Def, Fixed(B32));
const A: OperandSpec = operand(Role::Use, OpTy::T);
const AS: OperandSpec = operand(Role::Use, OpTy::S);
const C32: OperandSpec = operand(Role::Use, Fixed(F32));
const U32_: OperandSpec = operand(Role::Use, Fixed(U32));
const S32_: OperandSpec = operand(Role::Use, Fixed(S32));
const B32_: OperandSpec = operand(Role::Use, Fixed(B32));
const PRED: OperandSpec = operand(Role::UseReg, Fixed(Pred));
const PRED_OUT: OperandSpec = operand(Role::Def, Fixed(Pred));
const ADDR: OperandSpec = operand(Role::Addr, Address);
const POLICY: OperandSpec = operand(Role::UseReg, Fixed(B64));
const BYTES: OperandSpec = operand(Role::Imm, Fixed(U32));

const fn since(major: u8, minor: u8, sm: u16) -> Since {
    Since { when: &[], ptx: PtxVersion::new(major, minor), sm: SmReq::AtLeast(sm) }
}

const fn when(when: &'static [When], major: u8, minor: u8, sm: u16) -> Since {
    Since { when, ptx: PtxVersion::new(major, minor), sm: SmReq::AtLeast(sm) }
}

const fn one_of(when: &'static [When], major: u8, minor: u8, sm: SmReq) -> Since {
    Since { when, ptx: PtxVersion::new(major, minor), sm }
}

const fn row(op: Op, section: &'static str, syntax: &'static str, doc: &'static str) -> Form {
    Form {
        op,
        syntax,
        doc,
        section,
        types: &[],
        source_types: &[],
        allowed: &[],
        except: &[],
        operands: &[],
        since: &[],
        effect: Effect::Pure,
        eval: Eval::Effect,
    }
}

impl Form {
    const fn t(self, types: &'static [Ty]) -> Form {
        Form { types, ..self }
    }
    const fn s(self, source_types: &'static [Ty]) -> Form {
        Form { source_types, ..self }
    }
    const fn only(self, allowed: &'static [(Slot, &'static [Mod])]) -> Form {
        Form { allowed, ..self }
    }
    const fn except(self, except: &'static [&'static [When]]) -> Form {
        Form { except, ..self }
    }
    const fn ops(self, operands: &'static [OperandSpec]) -> Form {
        Form { operands, ..self }
    }
    const fn since(self, since: &'static [Since]) -> Form {
        Form { since, ..self }
    }
    const fn pure(self, select: fn(&super::Mods) -> Option<crate::emu::lane::WarpFn>) -> Form {
        Form { eval: Eval::Lanes(select), ..self }
    }
    const fn does(self, effect: Effect) -> Form {
        Form { effect, ..self }
    }
}

macro_rules! forms {
    ($([$group:literal] $($op:ident = $section:literal, $syntax:literal, $text:literal, $(.$method:ident($arg:expr))* ;
       $({ fn $name:ident $($function:tt)* })*)*)*) => {
        /// An instruction form.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Op { $($(#[doc = $text] $op,)*)* }

        /// Every row, indexed by [`Op`].
        pub static FORMS: &[Form] = &[$($(row(Op::$op, $section, $syntax, $text)$(.$method($arg))*,)*)*];

        /// The rows by subject, in the order of the table.
        pub static GROUPS: &[(&str, &[Op])] = &[$(($group, &[$(Op::$op),*])),*];

        /// The typed builder functions of [`crate::ops`] and the rows they stand for.
        pub static FUNCTIONS: &[(Op, &str)] = &[$($($((Op::$op, stringify!($name)),)*)*)*];

        /// Typed builder functions, one for each `fn` column of the table.
        pub(crate) mod functions {
            use super::*;
            use crate::ops::{Argument, Arith, At, Int32, Literal, SignedInt, bits_of, none, one, two};
            use crate::value::{B16, B32, B64, F16, Float, Int, Number, Scalar, Value};
            $($($(function! { $op $section $syntax $text fn $name $($function)* })*)*)*
        }
    };
}

/// A `fn` column: parameters in the order of the row's operands without the results, then the modifiers. The first type
/// parameter fills slot `T`, the second `S`, unless a modifier says otherwise.
macro_rules! function {
    ($op:ident $section:literal $syntax:literal $text:literal
     fn $name:ident $(<$($g:ident: $bound:ident),+>)? ($($param:ident: $pty:ty),*) -> ($r:ty, $q:ty) { $($m:expr),* }) => {
        #[doc = $text]
        #[doc = ""]
        #[doc = concat!("PTX: `", $syntax, "`, manual section “", $section, "”.")]
        #[track_caller]
        pub fn $name $(<$($g: $bound),+>)? ($($param: impl Argument<$pty>),*) -> (Value<$r>, Value<$q>) {
            two(Op::$op, &[$($(<$g as Scalar>::TY),+)?], &[$(Mod::from($m)),*], vec![$($param.argument()),*])
        }
    };
    ($op:ident $section:literal $syntax:literal $text:literal
     fn $name:ident $(<$($g:ident: $bound:ident),+>)? ($($param:ident: $pty:ty),*) -> $r:ty { $($m:expr),* }) => {
        #[doc = $text]
        #[doc = ""]
        #[doc = concat!("PTX: `", $syntax, "`, manual section “", $section, "”.")]
        #[track_caller]
        pub fn $name $(<$($g: $bound),+>)? ($($param: impl Argument<$pty>),*) -> Value<$r> {
            one(Op::$op, &[$($(<$g as Scalar>::TY),+)?], &[$(Mod::from($m)),*], vec![$($param.argument()),*])
        }
    };
    ($op:ident $section:literal $syntax:literal $text:literal
     fn $name:ident $(<$($g:ident: $bound:ident),+>)? ($($param:ident: $pty:ty),*) { $($m:expr),* }) => {
        #[doc = $text]
        #[doc = ""]
        #[doc = concat!("PTX: `", $syntax, "`, manual section “", $section, "”.")]
        #[track_caller]
        pub fn $name $(<$($g: $bound),+>)? ($($param: impl Argument<$pty>),*) {
            none(Op::$op, &[$($(<$g as Scalar>::TY),+)?], &[$(Mod::from($m)),*], vec![$($param.argument()),*]);
        }
    };
}

// ---- type lists ------------------------------------------------------------------------------------------------------
#[rustfmt::skip]
const WORDS: &[Ty] = &[B32, B64];
#[rustfmt::skip]
const BITS: &[Ty] = &[B16, B32, B64];
#[rustfmt::skip]
const LOGIC: &[Ty] = &[B16, B32, B64, Pred];
/// Integers that arithmetic takes.
#[rustfmt::skip]
const INTS: &[Ty] = &[U16, S16, U32, S32, U64, S64];
#[rustfmt::skip]
const WORD_INTS: &[Ty] = &[U32, S32, U64, S64];
/// Integers that conversions take.
#[rustfmt::skip]
const CVT_INTS: &[Ty] = &[U8, S8, U16, S16, U32, S32, U64, S64];
#[rustfmt::skip]
const NARROW_INTS: &[Ty] = &[U8, S8, U16, S16];
const WIDE_INTS: &[Ty] = &[U16, S16, U32, S32];
#[rustfmt::skip]
const WIDE_FLOATS: &[Ty] = &[F32, F64];
#[rustfmt::skip]
const ARITH: &[Ty] = &[F32, F64, F16, Bf16, F16x2, Bf16x2, F32x2];
#[rustfmt::skip]
const FMA: &[Ty] = ARITH;
#[rustfmt::skip]
const HALVES: &[Ty] = &[F16, F16x2, Bf16, Bf16x2];
#[rustfmt::skip]
const F16S: &[Ty] = &[F16, F16x2];
#[rustfmt::skip]
const BF16S: &[Ty] = &[Bf16, Bf16x2];
#[rustfmt::skip]
const MEM_TYPES: &[Ty] = &[B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F32, F64];
#[rustfmt::skip]
const MEM_32: &[Ty] = &[B32, U32, S32, F32];
#[rustfmt::skip]
const MEM_64: &[Ty] = &[B64, U64, S64, F64];
#[rustfmt::skip]
const MEM_NARROW: &[Ty] = &[B8, B16, U8, U16, S8, S16];

// ---- slot restrictions -----------------------------------------------------------------------------------------------
type Only = &'static [(Slot, &'static [Mod])];
#[rustfmt::skip]
const RN: Only = &[(Slot::Rnd, &[Rnd::Rn.get()])];
#[rustfmt::skip]
const IEEE_MODES: &[Mod] = &[Rnd::Rn.get(), Rnd::Rz.get(), Rnd::Rm.get(), Rnd::Rp.get()];
#[rustfmt::skip]
const IEEE: Only = &[(Slot::Rnd, IEEE_MODES)];
#[rustfmt::skip]
const NEAREST_OR_ZERO: Only = &[(Slot::Rnd, &[Rnd::Rn.get(), Rnd::Rz.get()])];
#[rustfmt::skip]
const GLOBAL: Only = &[(Slot::Space, &[Space::Global.get()])];
#[rustfmt::skip]
const LD_SPACES: Only = &[(Slot::Space, &[Space::Global.get(), Space::Shared.get(), Space::Local.get(), Space::Const.get(), Space::SharedCta.get(), Space::SharedCluster.get()])];
#[rustfmt::skip]
const ST_SPACES: Only = &[(Slot::Space, &[Space::Global.get(), Space::Shared.get(), Space::Local.get(), Space::SharedCta.get(), Space::SharedCluster.get()])];
#[rustfmt::skip]
const SYNC_SPACES: &[Mod] = &[Space::Global.get(), Space::Shared.get(), Space::SharedCta.get(), Space::SharedCluster.get()];
#[rustfmt::skip]
const ATOM_SPACES: (Slot, &[Mod]) = (Slot::Space, SYNC_SPACES);
#[rustfmt::skip]
const ATOM_SEMS: (Slot, &[Mod]) = (Slot::Sem, &[Sem::Relaxed.get(), Sem::Acquire.get(), Sem::Release.get(), Sem::AcqRel.get()]);
#[rustfmt::skip]
const RED_SEMS: (Slot, &[Mod]) = (Slot::Sem, &[Sem::Relaxed.get(), Sem::Release.get()]);
const V2_OR_V4: (Slot, &[Mod]) = (Slot::Vec, &[Vec::V2.get(), Vec::V4.get()]);
const UP_TO_V4: Only = &[V2_OR_V4];
#[rustfmt::skip]
const MIN_MAX: (Slot, &[Mod]) = (Slot::AtomOp, &[AtomOp::Min.get(), AtomOp::Max.get()]);
#[rustfmt::skip]
const ADD_MIN_MAX: (Slot, &[Mod]) = (Slot::AtomOp, &[AtomOp::Add.get(), AtomOp::Min.get(), AtomOp::Max.get()]);
#[rustfmt::skip]
const AND_OR_XOR: (Slot, &[Mod]) = (Slot::AtomOp, &[AtomOp::And.get(), AtomOp::Or.get(), AtomOp::Xor.get()]);
#[rustfmt::skip]
const AND_OR_XOR_EXCH: (Slot, &[Mod]) = (Slot::AtomOp, &[AtomOp::And.get(), AtomOp::Or.get(), AtomOp::Xor.get(), AtomOp::Exch.get()]);
#[rustfmt::skip]
const INC_DEC: (Slot, &[Mod]) = (Slot::AtomOp, &[AtomOp::Inc.get(), AtomOp::Dec.get()]);
#[rustfmt::skip]
const ORDERED: &[Mod] = &[Cmp::Eq.get(), Cmp::Ne.get(), Cmp::Lt.get(), Cmp::Le.get(), Cmp::Gt.get(), Cmp::Ge.get()];
#[rustfmt::skip]
const INT_CMP: Only = &[(Slot::Cmp, ORDERED)];
#[rustfmt::skip]
const FLOAT_CMP: Only = &[(Slot::Cmp, &[Cmp::Eq.get(), Cmp::Ne.get(), Cmp::Lt.get(), Cmp::Le.get(), Cmp::Gt.get(), Cmp::Ge.get(), Cmp::Equ.get(), Cmp::Neu.get(), Cmp::Ltu.get(), Cmp::Leu.get(), Cmp::Gtu.get(), Cmp::Geu.get(), Cmp::Num.get(), Cmp::Nan.get()])];

// ---- combinations that do not exist ----------------------------------------------------------------------------------
type Except = &'static [&'static [When]];
/// `.ftz` is for f32 and f16, `.sat` for f32 and f16; the 16-bit types, f32x2 aside, round to nearest only.
#[rustfmt::skip]
const ARITH_EXCEPT: Except = &[
    &[When::Any(Slot::Ftz), When::T(&[F64, Bf16, Bf16x2])],
    &[When::Any(Slot::Sat), When::T(&[F64, Bf16, Bf16x2, F32x2])],
    &[When::Lacks(Rnd::Rn.get()), When::T(HALVES)],
];
#[rustfmt::skip]
const FMA_EXCEPT: Except = &[
    &[When::Any(Slot::Ftz), When::T(&[F64, Bf16, Bf16x2])],
    &[When::Any(Slot::Sat), When::T(&[F64, Bf16, Bf16x2, F32x2])],
    &[When::Any(Slot::Relu), When::T(&[F32, F64, F32x2])],
    &[When::Any(Slot::Relu), When::Any(Slot::Sat)],
    &[When::Lacks(Rnd::Rn.get()), When::T(HALVES)],
];
#[rustfmt::skip]
const FTZ_F32: Except = &[&[When::Any(Slot::Ftz), When::T(&[F64])]];
#[rustfmt::skip]
const SIGN_EXCEPT: Except = &[&[When::Any(Slot::Ftz), When::T(&[F64, Bf16, Bf16x2])]];
#[rustfmt::skip]
const MIN_MAX_EXCEPT: Except = &[
    &[When::Any(Slot::Ftz), When::T(&[U16, S16, U32, S32, U64, S64, F64, Bf16, Bf16x2])],
    &[When::Any(Slot::Nan), When::T(&[U16, S16, U32, S32, U64, S64, F64])],
];
/// `.sat` is for destinations that do not hold every number of the source.
#[rustfmt::skip]
const CLAMP_EXCEPT: Except = &[
    &[When::Any(Slot::Sat), When::S(&[U8]), When::T(&[U8, U16, S16, U32, S32, U64, S64])],
    &[When::Any(Slot::Sat), When::S(&[S8]), When::T(&[S8, S16, S32, S64])],
    &[When::Any(Slot::Sat), When::S(&[U16]), When::T(&[U16, U32, S32, U64, S64])],
    &[When::Any(Slot::Sat), When::S(&[S16]), When::T(&[S16, S32, S64])],
    &[When::Any(Slot::Sat), When::S(&[U32]), When::T(&[U32, U64, S64])],
    &[When::Any(Slot::Sat), When::S(&[S32]), When::T(&[S32, S64])],
    &[When::Any(Slot::Sat), When::S(&[U64]), When::T(&[U64])],
    &[When::Any(Slot::Sat), When::S(&[S64]), When::T(&[S64])],
];
#[rustfmt::skip]
const NARROW_EXCEPT: Except = &[
    // Exact conversions have a row of their own, without rounding; f32 to bf16 has another.
    &[When::T(&[F64]), When::S(&[F16, F32, F64])],
    &[When::T(&[F32]), When::S(&[F16, F32])],
    &[When::T(&[F16]), When::S(&[F16])],
    &[When::T(&[Bf16]), When::S(&[F32])],
    // The other modes add nothing for integers that fit, and nothing uses them for the 16-bit types.
    &[When::T(&[F16, Bf16]), When::Lacks(Rnd::Rn.get()), When::S(&[F64, F16, U32, S32, U64, S64])],
    &[When::Lacks(Rnd::Rn.get()), When::S(NARROW_INTS)],
    &[When::Any(Slot::Ftz), When::T(&[F16, F64, Bf16]), When::S(&[F64, F16, U8, S8, U16, S16, U32, S32, U64, S64])],
    &[When::Any(Slot::Ftz), When::S(CVT_INTS)],
    &[When::Any(Slot::Ftz), When::Any(Slot::Relu)],
    &[When::Any(Slot::Ftz), When::Any(Slot::Satfinite)],
    &[When::Any(Slot::Relu), When::Lacks(Rnd::Rn.get()), When::Lacks(Rnd::Rz.get())],
    &[When::Any(Slot::Satfinite), When::Lacks(Rnd::Rn.get()), When::Lacks(Rnd::Rz.get())],
    &[When::T(&[Bf16]), When::S(&[U8, S8])],
    &[When::Any(Slot::Relu), When::S(&[F64, F16, U8, S8, U16, S16, U32, S32, U64, S64])],
    &[When::Any(Slot::Satfinite), When::S(&[F64, F16, U8, S8, U16, S16, U32, S32, U64, S64])],
];
#[rustfmt::skip]
const WIDEN_EXCEPT: Except = &[
    &[When::T(&[F32]), When::S(&[F64])],
    // A conversion to the same type only clamps.
    &[When::T(&[F32]), When::S(&[F32]), When::Absent(Slot::Sat)],
    &[When::T(&[F64]), When::S(&[F64]), When::Absent(Slot::Sat)],
    &[When::Any(Slot::Ftz), When::T(&[F64]), When::S(&[F16, F64, Bf16])],
    &[When::Any(Slot::Sat), When::S(&[Bf16])],
    &[When::Any(Slot::Ftz), When::S(&[Bf16])],
];
#[rustfmt::skip]
const ROUND_EXCEPT: Except = &[
    &[When::T(&[F32]), When::S(&[F16, F64])],
    &[When::T(&[F64]), When::S(&[F16, F32])],
    &[When::T(&[F16]), When::S(&[F32, F64])],
    &[When::Any(Slot::Ftz), When::T(&[F16, F64])],
];
#[rustfmt::skip]
const VECTOR_EXCEPT: &[When] = &[When::Has(Vec::V8.get()), When::T(MEM_NARROW)];
/// Hints are for global memory; a 256-bit vector is `.v8` of 32 or `.v4` of 64 bits, and only it takes an L2 priority.
#[rustfmt::skip]
const LD_EXCEPT: Except = &[
    VECTOR_EXCEPT,
    &[When::Has(Vec::V8.get()), When::T(MEM_64)],
    &[When::Has(Vec::V8.get()), When::Lacks(Space::Global.get())],
    &[When::Has(Vec::V4.get()), When::T(MEM_64), When::Lacks(Space::Global.get())],
    &[When::Any(Slot::L2), When::Lacks(Vec::V8.get()), When::Lacks(Vec::V4.get())],
    &[When::Any(Slot::L2), When::Has(Vec::V4.get()), When::T(MEM_32)],
    &[When::Any(Slot::L2), When::Has(Vec::V4.get()), When::T(MEM_NARROW)],
    &[When::Any(Slot::LdCop), When::Lacks(Space::Global.get())],
    &[When::Any(Slot::L1), When::Lacks(Space::Global.get())],
    &[When::Any(Slot::L2Prefetch), When::Lacks(Space::Global.get())],
    &[When::Any(Slot::LdCop), When::Any(Slot::L1)],
    &[When::Any(Slot::LdCop), When::Any(Slot::L2)],
    &[When::Any(Slot::LdCop), When::Any(Slot::L2Prefetch)],
];
/// The same for rows that are for global memory anyway.
#[rustfmt::skip]
const WIDE_EXCEPT: Except = &[
    VECTOR_EXCEPT,
    &[When::Has(Vec::V8.get()), When::T(MEM_64)],
    &[When::Any(Slot::L2), When::Lacks(Vec::V8.get()), When::Lacks(Vec::V4.get())],
    &[When::Any(Slot::L2), When::Has(Vec::V4.get()), When::T(MEM_32)],
    &[When::Any(Slot::L2), When::Has(Vec::V4.get()), When::T(MEM_NARROW)],
];
#[rustfmt::skip]
const ST_EXCEPT: Except = &[
    VECTOR_EXCEPT,
    &[When::Has(Vec::V8.get()), When::T(MEM_64)],
    &[When::Has(Vec::V8.get()), When::Lacks(Space::Global.get())],
    &[When::Has(Vec::V4.get()), When::T(MEM_64), When::Lacks(Space::Global.get())],
    &[When::Any(Slot::L2), When::Lacks(Vec::V8.get()), When::Lacks(Vec::V4.get())],
    &[When::Any(Slot::L2), When::Has(Vec::V4.get()), When::T(MEM_32)],
    &[When::Any(Slot::L2), When::Has(Vec::V4.get()), When::T(MEM_NARROW)],
    &[When::Any(Slot::StCop), When::Lacks(Space::Global.get())],
    &[When::Any(Slot::L1), When::Lacks(Space::Global.get())],
    &[When::Any(Slot::StCop), When::Any(Slot::L1)],
    &[When::Any(Slot::StCop), When::Any(Slot::L2)],
];
/// Ordered and volatile accesses: up to 128 bits.
#[rustfmt::skip]
const SYNC_EXCEPT: Except = &[&[When::Has(Vec::V4.get()), When::T(MEM_64)]];
#[rustfmt::skip]
const SEM_WITH_SCOPE: Except = &[&[When::Any(Slot::Sem), When::Absent(Slot::Scope)], &[When::Absent(Slot::Sem), When::Any(Slot::Scope)]];
#[rustfmt::skip]
const RED_VEC_EXCEPT: Except = &[&[When::Has(Vec::V8.get()), When::T(&[F16x2, Bf16x2])]];

// ---- requirements ----------------------------------------------------------------------------------------------------
#[rustfmt::skip]
const ALWAYS: &[Since] = &[since(3, 0, 30)];
#[rustfmt::skip]
const F16_SINCE: Since = when(&[When::T(F16S)], 4, 2, 53);
#[rustfmt::skip]
const F32X2_SINCE: Since = when(&[When::T(&[F32x2])], 8, 6, 100);
#[rustfmt::skip]
const NAN_SINCE: Since = when(&[When::Any(Slot::Nan)], 7, 0, 80);
#[rustfmt::skip]
const RELU_SINCE: Since = when(&[When::Any(Slot::Relu)], 7, 0, 80);
/// bf16 `add`, `sub` and `mul` came later than its `fma`.
#[rustfmt::skip]
const ARITH_SINCE: &[Since] = &[since(3, 0, 30), F16_SINCE, when(&[When::T(BF16S)], 7, 8, 90), F32X2_SINCE];
#[rustfmt::skip]
const FMA_SINCE: &[Since] = &[since(3, 0, 30), F16_SINCE, when(&[When::T(BF16S)], 7, 0, 80), RELU_SINCE, F32X2_SINCE];
#[rustfmt::skip]
const NEG_SINCE: &[Since] = &[since(3, 0, 30), when(&[When::T(F16S)], 6, 0, 53), when(&[When::T(BF16S)], 7, 0, 80)];
#[rustfmt::skip]
const ABS_SINCE: &[Since] = &[since(3, 0, 30), when(&[When::T(F16S)], 6, 5, 53), when(&[When::T(BF16S)], 7, 0, 80)];
#[rustfmt::skip]
const MIN_MAX_SINCE: &[Since] = &[since(3, 0, 30), when(&[When::T(HALVES)], 7, 0, 80), NAN_SINCE];
#[rustfmt::skip]
const HALF_CMP_SINCE: &[Since] = &[since(3, 0, 30), F16_SINCE, when(&[When::T(BF16S)], 7, 8, 90)];
#[rustfmt::skip]
const SET_HALF_SINCE: &[Since] = &[since(4, 2, 53), when(&[When::T(BF16S)], 7, 8, 90)];
#[rustfmt::skip]
const MIXED_SINCE: &[Since] = &[since(8, 6, 100)];
#[rustfmt::skip]
const SPACE_CTA: Since = when(&[When::Has(Space::SharedCta.get())], 7, 8, 30);
#[rustfmt::skip]
const SPACE_CLUSTER: Since = when(&[When::Has(Space::SharedCluster.get())], 7, 8, 90);
#[rustfmt::skip]
const L1_SINCE: Since = when(&[When::Any(Slot::L1)], 7, 4, 70);
#[rustfmt::skip]
const PREFETCH_SINCE: Since = when(&[When::Any(Slot::L2Prefetch)], 7, 4, 75);
#[rustfmt::skip]
const PREFETCH_256_SINCE: Since = when(&[When::Has(L2Prefetch::B256.get())], 7, 4, 80);
#[rustfmt::skip]
const V8_SINCE: Since = when(&[When::Has(Vec::V8.get())], 8, 8, 100);
#[rustfmt::skip]
const V4_64_SINCE: Since = when(&[When::Has(Vec::V4.get()), When::T(MEM_64)], 8, 8, 100);
#[rustfmt::skip]
const LD_SINCE: &[Since] = &[since(3, 0, 30), SPACE_CTA, SPACE_CLUSTER, L1_SINCE, PREFETCH_SINCE, PREFETCH_256_SINCE, V8_SINCE, V4_64_SINCE];
#[rustfmt::skip]
const LD_NC_SINCE: &[Since] = &[since(3, 1, 32), L1_SINCE, PREFETCH_SINCE, PREFETCH_256_SINCE, V8_SINCE, V4_64_SINCE];
#[rustfmt::skip]
const HINT_SINCE: &[Since] = &[since(7, 4, 80), V8_SINCE, V4_64_SINCE];
#[rustfmt::skip]
const CLUSTER_SCOPE: Since = when(&[When::Has(Scope::Cluster.get())], 7, 8, 90);
#[rustfmt::skip]
const SYNC_SINCE: &[Since] = &[since(6, 0, 70), SPACE_CTA, SPACE_CLUSTER, CLUSTER_SCOPE];
#[rustfmt::skip]
const VOLATILE_SINCE: &[Since] = &[since(3, 0, 30), SPACE_CTA, SPACE_CLUSTER];
#[rustfmt::skip]
const SEM_SINCE: Since = when(&[When::Any(Slot::Sem)], 6, 0, 70);
#[rustfmt::skip]
const SCOPE_SINCE: Since = when(&[When::Any(Slot::Scope)], 5, 0, 60);
#[rustfmt::skip]
const ATOM_SINCE: &[Since] = &[since(3, 0, 30), SEM_SINCE, SCOPE_SINCE, CLUSTER_SCOPE, SPACE_CTA, SPACE_CLUSTER];
#[rustfmt::skip]
const ATOM_ADD_SINCE: &[Since] = &[since(3, 0, 30), when(&[When::T(&[F64])], 5, 0, 60), SEM_SINCE, SCOPE_SINCE, CLUSTER_SCOPE, SPACE_CTA, SPACE_CLUSTER];
#[rustfmt::skip]
const ATOM_64_SINCE: &[Since] = &[since(3, 0, 30), when(&[When::T(&[U64, S64, B64]), When::Lacks(AtomOp::Exch.get())], 3, 1, 32), SEM_SINCE, SCOPE_SINCE, CLUSTER_SCOPE, SPACE_CTA, SPACE_CLUSTER];
#[rustfmt::skip]
const ATOM_HALF_SINCE: &[Since] = &[since(6, 2, 60), when(&[When::T(&[F16])], 6, 3, 70), when(&[When::T(BF16S)], 7, 8, 90), SEM_SINCE, SCOPE_SINCE, CLUSTER_SCOPE, SPACE_CTA, SPACE_CLUSTER];
#[rustfmt::skip]
const CAS_SINCE: &[Since] = &[since(3, 0, 30), when(&[When::T(&[B16])], 6, 3, 70), SEM_SINCE, SCOPE_SINCE, CLUSTER_SCOPE, SPACE_CTA, SPACE_CLUSTER];
#[rustfmt::skip]
const RED_VEC_SINCE: &[Since] = &[since(8, 1, 90)];
#[rustfmt::skip]
const CP_ASYNC_SINCE: &[Since] = &[since(7, 0, 80), when(&[When::Any(Slot::L2Prefetch)], 7, 4, 80)];
#[rustfmt::skip]
const FAMILY_100: SmReq = SmReq::OneOf(&["sm_100f"]);
#[rustfmt::skip]
const FAMILIES: SmReq = SmReq::OneOf(&["sm_100f", "sm_110f", "sm_120f"]);

#[rustfmt::skip]
forms! {
    ["Floating-point arithmetic"]
    AddF = "add", "add.rnd{.ftz}{.sat}.T d, a, b", "`a + b`, rounded.",
        .t(ARITH).only(IEEE).except(ARITH_EXCEPT).ops(&[D, A, A]).since(ARITH_SINCE).pure(eval::add_f);
        { fn add_rn<T: Arith>(a: T, b: T) -> T { Rnd::Rn } }
        { fn add_rn_f16x2(a: B32, b: B32) -> B32 { Mod::t(Ty::F16x2), Rnd::Rn } }
        { fn add_rn_f32x2(a: B64, b: B64) -> B64 { Mod::t(Ty::F32x2), Rnd::Rn } }
    SubF = "sub", "sub.rnd{.ftz}{.sat}.T d, a, b", "`a - b`, rounded.",
        .t(ARITH).only(IEEE).except(ARITH_EXCEPT).ops(&[D, A, A]).since(ARITH_SINCE).pure(eval::sub_f);
        { fn sub_rn<T: Arith>(a: T, b: T) -> T { Rnd::Rn } }
        { fn sub_rn_f16x2(a: B32, b: B32) -> B32 { Mod::t(Ty::F16x2), Rnd::Rn } }
        { fn sub_rn_f32x2(a: B64, b: B64) -> B64 { Mod::t(Ty::F32x2), Rnd::Rn } }
    MulF = "mul", "mul.rnd{.ftz}{.sat}.T d, a, b", "`a * b`, rounded.",
        .t(ARITH).only(IEEE).except(ARITH_EXCEPT).ops(&[D, A, A]).since(ARITH_SINCE).pure(eval::mul_f);
        { fn mul_rn<T: Arith>(a: T, b: T) -> T { Rnd::Rn } }
        { fn mul_rn_f16x2(a: B32, b: B32) -> B32 { Mod::t(Ty::F16x2), Rnd::Rn } }
        { fn mul_rn_f32x2(a: B64, b: B64) -> B64 { Mod::t(Ty::F32x2), Rnd::Rn } }
    Fma = "fma", "fma.rnd{.ftz}{.sat}{.relu}.T d, a, b, c", "`a * b + c` with one rounding.",
        .t(FMA).only(IEEE).except(FMA_EXCEPT).ops(&[D, A, A, A]).since(FMA_SINCE).pure(eval::fma);
        { fn fma_rn<T: Arith>(a: T, b: T, c: T) -> T { Rnd::Rn } }
        { fn fma_rn_bf16(a: B16, b: B16, c: B16) -> B16 { Mod::t(Ty::Bf16), Rnd::Rn } }
        { fn fma_rn_f16x2(a: B32, b: B32, c: B32) -> B32 { Mod::t(Ty::F16x2), Rnd::Rn } }
        { fn fma_rn_bf16x2(a: B32, b: B32, c: B32) -> B32 { Mod::t(Ty::Bf16x2), Rnd::Rn } }
        { fn fma_rn_f32x2(a: B64, b: B64, c: B64) -> B64 { Mod::t(Ty::F32x2), Rnd::Rn } }
    AddMixed = "add", "add.rnd{.sat}.f32.S d, a, c", "`a + c` in f32, of a 16-bit `a` and an f32 `c`.",
        .s(&[F16, Bf16]).only(IEEE).ops(&[D32, AS, C32]).since(MIXED_SINCE).pure(eval::add_mixed);
    SubMixed = "sub", "sub.rnd{.sat}.f32.S d, a, c", "`a - c` in f32, of a 16-bit `a` and an f32 `c`.",
        .s(&[F16, Bf16]).only(IEEE).ops(&[D32, AS, C32]).since(MIXED_SINCE).pure(eval::sub_mixed);
    FmaMixed = "fma", "fma.rnd{.sat}.f32.S d, a, b, c", "`a * b + c` in f32 with one rounding, of 16-bit `a` and `b` and an f32 `c`.",
        .s(&[F16, Bf16]).only(IEEE).ops(&[D32, AS, AS, C32]).since(MIXED_SINCE).pure(eval::fma_mixed);
    DivF = "div", "div.rnd{.ftz}.T d, a, b", "`a / b`, correctly rounded.",
        .t(WIDE_FLOATS).only(IEEE).except(FTZ_F32).ops(&[D, A, A]).since(ALWAYS).pure(eval::div_f);
        { fn div_rn<T: Float>(a: T, b: T) -> T { Rnd::Rn } }
    SqrtF = "sqrt", "sqrt.rnd{.ftz}.T d, a", "Square root, correctly rounded.",
        .t(WIDE_FLOATS).only(IEEE).except(FTZ_F32).ops(&[D, A]).since(ALWAYS).pure(eval::sqrt_f);
        { fn sqrt_rn<T: Float>(a: T) -> T { Rnd::Rn } }
    RcpF = "rcp", "rcp.rnd{.ftz}.T d, a", "`1 / a`, correctly rounded.",
        .t(WIDE_FLOATS).only(IEEE).except(FTZ_F32).ops(&[D, A]).since(ALWAYS).pure(eval::rcp_f);
        { fn rcp_rn<T: Float>(a: T) -> T { Rnd::Rn } }
    NegF = "neg", "neg{.ftz}.T d, a", "`-a`: the sign bit flipped.",
        .t(&[F32, F64, F16, F16x2, Bf16, Bf16x2]).except(SIGN_EXCEPT).ops(&[D, A]).since(NEG_SINCE).pure(eval::neg_f);
        { fn neg<T: Arith>(a: T) -> T { } }
        { fn neg_f16x2(a: B32) -> B32 { Mod::t(Ty::F16x2) } }
        { fn neg_bf16x2(a: B32) -> B32 { Mod::t(Ty::Bf16x2) } }
    AbsF = "abs", "abs{.ftz}.T d, a", "The magnitude of `a`: the sign bit cleared.",
        .t(&[F32, F64, F16, F16x2, Bf16, Bf16x2]).except(SIGN_EXCEPT).ops(&[D, A]).since(ABS_SINCE).pure(eval::abs_f);
        { fn abs<T: Arith>(a: T) -> T { } }
        { fn abs_f16x2(a: B32) -> B32 { Mod::t(Ty::F16x2) } }
        { fn abs_bf16x2(a: B32) -> B32 { Mod::t(Ty::Bf16x2) } }
    CopysignF = "copysign", "copysign.T d, a, b", "`b` with the sign of `a`.",
        .t(WIDE_FLOATS).ops(&[D, A, A]).since(ALWAYS).pure(eval::copysign);
        { fn copysign<T: Float>(sign: T, magnitude: T) -> T { } }
    Testp = "testp", "testp.class.T p, a", "Whether a float belongs to a class of numbers.",
        .t(WIDE_FLOATS).ops(&[PRED_OUT, A]).since(ALWAYS).pure(eval::testp);
        { fn is_finite<T: Float>(a: T) -> bool { TestClass::Finite } }
        { fn is_infinite<T: Float>(a: T) -> bool { TestClass::Infinite } }
        { fn is_nan<T: Float>(a: T) -> bool { TestClass::Notanumber } }
        { fn is_subnormal<T: Float>(a: T) -> bool { TestClass::Subnormal } }

    ["Approximations: within the manual's bounds, not the same on every GPU"]
    DivApprox = "div", "div.approx{.ftz}.T d, a, b", "`a / b` within 2 ulp, for divisors from 2^-126 to 2^126.",
        .t(&[F32]).ops(&[D, A, A]).since(ALWAYS).pure(eval::div_approx);
        { fn div_approx(a: f32, b: f32) -> f32 { Mod::t(Ty::F32) } }
        { fn div_approx_ftz(a: f32, b: f32) -> f32 { Mod::t(Ty::F32), Ftz::Ftz } }
    DivFull = "div", "div.full{.ftz}.T d, a, b", "`a / b` within 2 ulp, for every divisor.",
        .t(&[F32]).ops(&[D, A, A]).since(ALWAYS).pure(eval::div_full);
        { fn div_full(a: f32, b: f32) -> f32 { Mod::t(Ty::F32) } }
    RcpApprox = "rcp", "rcp.approx{.ftz}.T d, a", "`1 / a` within 1 ulp; f64 to 20 bits, `.ftz` only.",
        .t(WIDE_FLOATS).except(&[&[When::T(&[F64]), When::Absent(Slot::Ftz)]]).ops(&[D, A]).since(ALWAYS).pure(eval::rcp_approx);
        { fn rcp_approx(a: f32) -> f32 { Mod::t(Ty::F32) } }
        { fn rcp_approx_ftz(a: f32) -> f32 { Mod::t(Ty::F32), Ftz::Ftz } }
    SqrtApprox = "sqrt", "sqrt.approx{.ftz}.T d, a", "Square root with a relative error of 2^-23.",
        .t(&[F32]).ops(&[D, A]).since(ALWAYS).pure(eval::sqrt_approx);
        { fn sqrt_approx(a: f32) -> f32 { Mod::t(Ty::F32) } }
        { fn sqrt_approx_ftz(a: f32) -> f32 { Mod::t(Ty::F32), Ftz::Ftz } }
    Rsqrt = "rsqrt", "rsqrt.approx{.ftz}.T d, a", "`1 / sqrt(a)` with a relative error of 2^-22.9.",
        .t(WIDE_FLOATS).ops(&[D, A]).since(&[since(3, 0, 30), when(&[When::T(&[F64]), When::Any(Slot::Ftz)], 4, 0, 30)]).pure(eval::rsqrt_approx);
        { fn rsqrt_approx<T: Float>(a: T) -> T { } }
        { fn rsqrt_approx_ftz<T: Float>(a: T) -> T { Ftz::Ftz } }
    Ex2 = "ex2", "ex2.approx{.ftz}.T d, a", "`2^a` within 2 ulp; f16 with a relative error of 2^-9.9, bf16 (`.ftz` only) of 2^-7.",
        .t(&[F32, F16, F16x2, Bf16, Bf16x2])
        .except(&[&[When::Any(Slot::Ftz), When::T(F16S)], &[When::Absent(Slot::Ftz), When::T(BF16S)]])
        .ops(&[D, A]).since(&[since(3, 0, 30), when(&[When::T(F16S)], 7, 0, 75), when(&[When::T(BF16S)], 7, 8, 90)]).pure(eval::ex2_approx);
        { fn ex2_approx(a: f32) -> f32 { Mod::t(Ty::F32) } }
        { fn ex2_approx_ftz(a: f32) -> f32 { Mod::t(Ty::F32), Ftz::Ftz } }
        { fn ex2_approx_f16x2(a: B32) -> B32 { Mod::t(Ty::F16x2) } }
        { fn ex2_approx_bf16x2(a: B32) -> B32 { Mod::t(Ty::Bf16x2), Ftz::Ftz } }
    Lg2 = "lg2", "lg2.approx{.ftz}.T d, a", "`log2(a)` with an error of 2^-22.",
        .t(&[F32]).ops(&[D, A]).since(ALWAYS).pure(eval::lg2_approx);
        { fn lg2_approx(a: f32) -> f32 { Mod::t(Ty::F32) } }
        { fn lg2_approx_ftz(a: f32) -> f32 { Mod::t(Ty::F32), Ftz::Ftz } }
    Sin = "sin", "sin.approx{.ftz}.T d, a", "Sine with an absolute error of 2^-20.5 up to 2π; none is promised beyond 100π.",
        .t(&[F32]).ops(&[D, A]).since(ALWAYS).pure(eval::sin_approx);
        { fn sin_approx(a: f32) -> f32 { Mod::t(Ty::F32) } }
    Cos = "cos", "cos.approx{.ftz}.T d, a", "Cosine with an absolute error of 2^-20.5 up to 2π; none is promised beyond 100π.",
        .t(&[F32]).ops(&[D, A]).since(ALWAYS).pure(eval::cos_approx);
        { fn cos_approx(a: f32) -> f32 { Mod::t(Ty::F32) } }
    Tanh = "tanh", "tanh.approx.T d, a", "Hyperbolic tangent with a relative error of 2^-11; f16 absolute 2^-10.987, bf16 2^-8.",
        .t(&[F32, F16, F16x2, Bf16, Bf16x2]).ops(&[D, A]).since(&[since(7, 0, 75), when(&[When::T(BF16S)], 7, 8, 90)]).pure(eval::tanh_approx);
        { fn tanh_approx(a: f32) -> f32 { Mod::t(Ty::F32) } }
        { fn tanh_approx_f16x2(a: B32) -> B32 { Mod::t(Ty::F16x2) } }
        { fn tanh_approx_bf16x2(a: B32) -> B32 { Mod::t(Ty::Bf16x2) } }

    ["Integer arithmetic"]
    AddI = "add", "add.T d, a, b", "`a + b`, modulo the width.",
        .t(INTS).ops(&[D, A, A]).since(ALWAYS).pure(eval::int::add);
        { fn add_wrapping<T: Int>(a: T, b: T) -> T { } }
    AddSat = "add", "add.sat.s32 d, a, b", "`a + b`, clamped to the range.",
        .ops(&[operand(Role::Def, Fixed(S32)), S32_, S32_]).since(ALWAYS).pure(eval::int::add_sat);
        { fn add_saturating(a: i32, b: i32) -> i32 { } }
    SubI = "sub", "sub.T d, a, b", "`a - b`, modulo the width.",
        .t(INTS).ops(&[D, A, A]).since(ALWAYS).pure(eval::int::sub);
        { fn sub_wrapping<T: Int>(a: T, b: T) -> T { } }
    SubSat = "sub", "sub.sat.s32 d, a, b", "`a - b`, clamped to the range.",
        .ops(&[operand(Role::Def, Fixed(S32)), S32_, S32_]).since(ALWAYS).pure(eval::int::sub_sat);
        { fn sub_saturating(a: i32, b: i32) -> i32 { } }
    MulI = "mul", "mul.half.T d, a, b", "The low or high half of `a * b`.",
        .t(INTS).ops(&[D, A, A]).since(ALWAYS).pure(eval::int::mul);
        { fn mul_lo<T: Int>(a: T, b: T) -> T { Half::Lo } }
        { fn mul_hi<T: Int>(a: T, b: T) -> T { Half::Hi } }
    MulWide = "mul", "mul.wide.T d, a, b", "`a * b` at twice the width.",
        .t(WIDE_INTS).ops(&[operand(Role::Def, WideT), A, A]).since(ALWAYS).pure(eval::int::mul_wide);
        { fn mul_wide_u32(a: u32, b: u32) -> u64 { Mod::t(Ty::U32) } }
        { fn mul_wide_i32(a: i32, b: i32) -> i64 { Mod::t(Ty::S32) } }
    MadLo = "mad", "mad.lo.T d, a, b, c", "The low half of `a * b`, plus `c`.",
        .t(INTS).ops(&[D, A, A, A]).since(ALWAYS).pure(eval::int::mad_lo);
        { fn mad_lo<T: Int>(a: T, b: T, c: T) -> T { } }
    MadHi = "mad", "mad.hi.T d, a, b, c", "The high half of `a * b`, plus `c`.",
        .t(INTS).ops(&[D, A, A, A]).since(ALWAYS).pure(eval::int::mad_hi);
        { fn mad_hi<T: Int>(a: T, b: T, c: T) -> T { } }
    MadWide = "mad", "mad.wide.T d, a, b, c", "`a * b + c` at twice the width.",
        .t(WIDE_INTS).ops(&[operand(Role::Def, WideT), A, A, operand(Role::Use, WideT)]).since(ALWAYS).pure(eval::int::mad_wide);
        { fn mad_wide_u32(a: u32, b: u32, c: u64) -> u64 { Mod::t(Ty::U32) } }
        { fn mad_wide_i32(a: i32, b: i32, c: i64) -> i64 { Mod::t(Ty::S32) } }
    DivI = "div", "div.T d, a, b", "`a / b`, towards zero; by zero the result is unspecified.",
        .t(INTS).ops(&[D, A, A]).since(ALWAYS).pure(eval::int::div);
        { fn div<T: Int>(a: T, b: T) -> T { } }
    Rem = "rem", "rem.T d, a, b", "The remainder of `a / b`, with the sign of `a`; by zero the result is unspecified.",
        .t(INTS).ops(&[D, A, A]).since(ALWAYS).pure(eval::int::rem);
        { fn rem<T: Int>(a: T, b: T) -> T { } }
    NegI = "neg", "neg.T d, a", "`-a`, modulo the width.",
        .t(&[S16, S32, S64]).ops(&[D, A]).since(ALWAYS).pure(eval::int::neg);
        { fn neg_wrapping<T: SignedInt>(a: T) -> T { } }
    AbsI = "abs", "abs.T d, a", "The magnitude of `a`; the smallest number is its own.",
        .t(&[S16, S32, S64]).ops(&[D, A]).since(ALWAYS).pure(eval::int::abs);
        { fn abs_wrapping<T: SignedInt>(a: T) -> T { } }
    Min = "min", "min{.ftz}{.nan}.T d, a, b", "The smaller operand; a NaN gives the other one, with `.NaN` NaN.",
        .t(&[U16, S16, U32, S32, U64, S64, F32, F64, F16, F16x2, Bf16, Bf16x2]).except(MIN_MAX_EXCEPT)
        .ops(&[D, A, A]).since(MIN_MAX_SINCE).pure(eval::min);
        { fn min<T: Number>(a: T, b: T) -> T { } }
        { fn min_nan(a: f32, b: f32) -> f32 { Mod::t(Ty::F32), Nan::Nan } }
        { fn min_f16x2(a: B32, b: B32) -> B32 { Mod::t(Ty::F16x2) } }
        { fn min_bf16x2(a: B32, b: B32) -> B32 { Mod::t(Ty::Bf16x2) } }
    Max = "max", "max{.ftz}{.nan}.T d, a, b", "The larger operand; a NaN gives the other one, with `.NaN` NaN.",
        .t(&[U16, S16, U32, S32, U64, S64, F32, F64, F16, F16x2, Bf16, Bf16x2]).except(MIN_MAX_EXCEPT)
        .ops(&[D, A, A]).since(MIN_MAX_SINCE).pure(eval::max);
        { fn max<T: Number>(a: T, b: T) -> T { } }
        { fn max_nan(a: f32, b: f32) -> f32 { Mod::t(Ty::F32), Nan::Nan } }
        { fn max_f16x2(a: B32, b: B32) -> B32 { Mod::t(Ty::F16x2) } }
        { fn max_bf16x2(a: B32, b: B32) -> B32 { Mod::t(Ty::Bf16x2) } }
    Min3 = "min", "min{.ftz}{.nan}{.abs}.f32 d, a, b, c", "The smallest of three operands, or of their magnitudes.",
        .ops(&[D32, C32, C32, C32]).since(&[since(8, 8, 100)]).pure(eval::min3);
        { fn min3(a: f32, b: f32, c: f32) -> f32 { } }
    Max3 = "max", "max{.ftz}{.nan}{.abs}.f32 d, a, b, c", "The largest of three operands, or of their magnitudes.",
        .ops(&[D32, C32, C32, C32]).since(&[since(8, 8, 100)]).pure(eval::max3);
        { fn max3(a: f32, b: f32, c: f32) -> f32 { } }
        { fn max3_abs(a: f32, b: f32, c: f32) -> f32 { Abs::Abs } }
    Sad = "sad", "sad.T d, a, b, c", "`c + |a - b|`.",
        .t(INTS).ops(&[D, A, A, A]).since(ALWAYS).pure(eval::int::sad);
        { fn sad<T: Int>(a: T, b: T, c: T) -> T { } }
    Dp4a = "dp4a", "dp4a.T.S d, a, b, c", "`c` plus the products of the four bytes of `a` (signedness `T`) and `b` (`S`).",
        .t(&[U32, S32]).s(&[U32, S32]).ops(&[operand(Role::Def, Fixed(U32)), U32_, U32_, U32_])
        .since(&[since(5, 0, 61)]).pure(eval::int::dp4a);
        { fn dp4a_i32(a: B32, b: B32, c: i32) -> i32 { Mod::t(Ty::S32), Mod::s(Ty::S32) } }
        { fn dp4a_u32(a: B32, b: B32, c: u32) -> u32 { Mod::t(Ty::U32), Mod::s(Ty::U32) } }

    ["Logic, shifts, bit fields"]
    And = "and", "and.T d, a, b", "Bitwise and.",
        .t(LOGIC).ops(&[D, A, A]).since(ALWAYS).pure(eval::bits::and);
    Or = "or", "or.T d, a, b", "Bitwise or.",
        .t(LOGIC).ops(&[D, A, A]).since(ALWAYS).pure(eval::bits::or);
    Xor = "xor", "xor.T d, a, b", "Bitwise exclusive or.",
        .t(LOGIC).ops(&[D, A, A]).since(ALWAYS).pure(eval::bits::xor);
    Not = "not", "not.T d, a", "Bitwise complement.",
        .t(LOGIC).ops(&[D, A]).since(ALWAYS).pure(eval::bits::not);
    Lop3 = "lop3", "lop3.b32 d, a, b, c, lut", "Any bitwise function of three words: bit `4a + 2b + c` of `lut`.",
        .ops(&[DB32, B32_, B32_, B32_, operand(Role::Imm, Fixed(B32))]).since(&[since(4, 3, 50)]).pure(eval::bits::lop3);
        { fn lop3(a: B32, b: B32, c: B32, lut: Literal) -> B32 { } }
    Shl = "shl", "shl.T d, a, b", "Shift left; amounts of the width and above give 0.",
        .t(BITS).ops(&[D, A, U32_]).since(ALWAYS).pure(eval::bits::shl);
    Shr = "shr", "shr.T d, a, b", "Shift right, arithmetic for signed types; the amount is clamped to the width.",
        .t(INTS).ops(&[D, A, U32_]).since(ALWAYS).pure(eval::bits::shr);
    Shf = "shf", "shf.direction.amount.b32 d, a, b, c", "Shifts the 64 bits `b:a` (`a` is the low word): the upper word to the left, the lower one to the right.",
        .ops(&[DB32, B32_, B32_, U32_]).since(&[since(3, 1, 32)]).pure(eval::bits::shf);
        { fn shf_l_wrap(low: B32, high: B32, amount: u32) -> B32 { Direction::L, Amount::Wrap } }
        { fn shf_r_wrap(low: B32, high: B32, amount: u32) -> B32 { Direction::R, Amount::Wrap } }
    Prmt = "prmt", "prmt.b32 d, a, b, c", "Picks four of the eight bytes `b:a` by the nibbles of `c`; bit 3 of a nibble spreads the byte's sign.",
        .ops(&[DB32, B32_, B32_, B32_]).since(ALWAYS).pure(eval::bits::prmt);
        { fn prmt(a: B32, b: B32, selector: B32) -> B32 { } }
    Bfe = "bfe", "bfe.T d, a, b, c", "The field of `c` bits from bit `b` on, zero- or sign-extended.",
        .t(WORD_INTS).ops(&[D, A, U32_, U32_]).since(ALWAYS).pure(eval::bits::bfe);
        { fn bfe<T: Int>(a: T, start: u32, length: u32) -> T { } }
    Bfi = "bfi", "bfi.T f, a, b, c, d", "`b` with the low `d` bits of `a` put in from bit `c` on.",
        .t(WORDS).ops(&[D, A, A, U32_, U32_]).since(ALWAYS).pure(eval::bits::bfi);
        { fn bfi(field: B32, into: B32, start: u32, length: u32) -> B32 { Mod::t(Ty::B32) } }
    Bfind = "bfind", "bfind{.shiftamt}.T d, a", "The position of the highest bit that is not the sign, or 0xffffffff.",
        .t(WORD_INTS).ops(&[operand(Role::Def, Fixed(U32)), A]).since(ALWAYS).pure(eval::bits::bfind);
        { fn bfind<T: Int>(a: T) -> u32 { } }
    Popc = "popc", "popc.T d, a", "The number of set bits.",
        .t(WORDS).ops(&[operand(Role::Def, Fixed(U32)), A]).since(ALWAYS).pure(eval::bits::popc);
        { fn popc<T: Int>(a: T) -> u32 { bits_of::<T>() } }
    Clz = "clz", "clz.T d, a", "The number of leading zeros.",
        .t(WORDS).ops(&[operand(Role::Def, Fixed(U32)), A]).since(ALWAYS).pure(eval::bits::clz);
        { fn clz<T: Int>(a: T) -> u32 { bits_of::<T>() } }
    Brev = "brev", "brev.T d, a", "The bits in reverse order.",
        .t(WORDS).ops(&[D, A]).since(ALWAYS).pure(eval::bits::brev);
        { fn brev<T: Int>(a: T) -> T { bits_of::<T>() } }

    ["Comparison and selection"]
    Setp = "setp", "setp.cmp.T p, a, b", "A predicate from a comparison.",
        .t(&[U16, S16, U32, S32, U64, S64, B16, B32, B64]).only(INT_CMP).except(&[&[When::Lacks(Cmp::Eq.get()), When::Lacks(Cmp::Ne.get()), When::T(BITS)]])
        .ops(&[PRED_OUT, A, A]).since(ALWAYS).pure(eval::setp);
    SetpBool = "setp", "setp.cmp.bool.T p, a, b, c", "A comparison combined with a predicate.",
        .t(&[U16, S16, U32, S32, U64, S64, B16, B32, B64]).only(INT_CMP).except(&[&[When::Lacks(Cmp::Eq.get()), When::Lacks(Cmp::Ne.get()), When::T(BITS)]])
        .ops(&[PRED_OUT, A, A, PRED]).since(ALWAYS).pure(eval::select::setp_bool);
    SetpF = "setp", "setp.cmp{.ftz}.T p, a, b", "A predicate from a comparison; ordered forms are false, unordered ones true on NaN.",
        .t(&[F32, F64, F16, Bf16]).only(FLOAT_CMP).except(SIGN_EXCEPT).ops(&[PRED_OUT, A, A]).since(HALF_CMP_SINCE).pure(eval::setp);
    SetpFBool = "setp", "setp.cmp.bool{.ftz}.T p, a, b, c", "A comparison of floats combined with a predicate.",
        .t(WIDE_FLOATS).only(FLOAT_CMP).except(FTZ_F32).ops(&[PRED_OUT, A, A, PRED]).since(ALWAYS).pure(eval::select::setp_bool);
    Set = "set", "set.cmp.T.S d, a, b", "All ones, or 1.0, where a comparison holds, else 0.",
        .t(&[U32, S32, F32]).s(WORD_INTS).only(INT_CMP).ops(&[D, AS, AS]).since(ALWAYS).pure(eval::select::set);
    SetF = "set", "set.cmp.T.S d, a, b", "All ones, or 1.0, where a comparison of floats holds, else 0.",
        .t(&[U32, S32, F32]).s(WIDE_FLOATS).only(FLOAT_CMP).ops(&[D, AS, AS]).since(ALWAYS).pure(eval::select::set);
    SetHalf = "set", "set.cmp.T.S d, a, b", "1.0 where a comparison of 16-bit floats holds, else 0; packed types by halves.",
        .t(HALVES).s(HALVES).only(FLOAT_CMP)
        .except(&[&[When::T(&[F16]), When::S(&[F16x2, Bf16, Bf16x2])], &[When::T(&[F16x2]), When::S(&[F16, Bf16, Bf16x2])],
            &[When::T(&[Bf16]), When::S(&[F16, F16x2, Bf16x2])], &[When::T(&[Bf16x2]), When::S(&[F16, F16x2, Bf16])]])
        .ops(&[D, AS, AS]).since(SET_HALF_SINCE).pure(eval::select::set_half);
    Selp = "selp", "selp.T d, a, b, p", "`a` where the predicate holds, else `b`.",
        .t(&[B16, B32, B64, U16, S16, U32, S32, U64, S64, F32, F64]).ops(&[D, A, A, PRED]).since(ALWAYS).pure(eval::select::selp);
    Slct = "slct", "slct{.ftz}.T.S d, a, b, c", "`a` where `c >= 0`, else `b`.",
        .t(&[B16, B32, B64, U32, S32, U64, S64, F32, F64]).s(&[S32, F32]).except(&[&[When::Any(Slot::Ftz), When::S(&[S32])]])
        .ops(&[D, A, A, AS]).since(ALWAYS).pure(eval::select::slct);

    ["Moves and conversions"]
    Mov = "mov", "mov.T d, a", "A copy, a literal, a special register or the address of a shared array.",
        .t(&[Pred, B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64]).ops(&[D, A]).since(ALWAYS).pure(eval::bits::mov);
    MovPack = "mov", "mov.T d, {a}", "Joins two or four registers, low part first.",
        .t(&[B32, B64]).ops(&[D, operand(Role::Use, PartsT)]).since(ALWAYS);
    MovUnpack = "mov", "mov.T {d}, a", "Splits a register into two or four, low part first.",
        .t(&[B32, B64]).ops(&[operand(Role::Def, PartsT), A]).since(ALWAYS);
    Cvt = "cvt", "cvt{.sat}.T.S d, a", "Integer conversion: truncation, zero- or sign-extension; `.sat` clamps.",
        .t(CVT_INTS).s(CVT_INTS).except(CLAMP_EXCEPT).ops(&[D, AS]).since(ALWAYS).pure(eval::cvt);
        { fn convert_int<T: Int, S: Int>(a: S) -> T { } }
    CvtF = "cvt", "cvt.rnd{.ftz}{.relu}{.satfinite}.T.S d, a", "Conversion of an integer or a wider float to a float, rounded.",
        .t(&[F16, Bf16, F32, F64]).s(&[U8, S8, U16, S16, U32, S32, U64, S64, F16, F32, F64]).only(IEEE).except(NARROW_EXCEPT)
        .ops(&[D, AS]).since(&[since(3, 0, 30), when(&[When::T(&[Bf16])], 7, 8, 90), RELU_SINCE, when(&[When::Any(Slot::Satfinite)], 8, 1, 70)]).pure(eval::cvt);
        { fn f32_from_int<S: Int>(a: S) -> f32 { Mod::t(Ty::F32), Mod::s(<S as Scalar>::TY), Rnd::Rn } }
        { fn f32_from_f64(a: f64) -> f32 { Mod::t(Ty::F32), Mod::s(Ty::F64), Rnd::Rn } }
        { fn f16_from_f32(a: f32) -> F16 { Mod::t(Ty::F16), Mod::s(Ty::F32), Rnd::Rn } }
    CvtUp = "cvt", "cvt{.ftz}{.sat}.T.S d, a", "Exact conversion to a wider float; `.sat` clamps to [0, 1].",
        .t(&[F32, F64]).s(&[F16, Bf16, F32, F64]).except(WIDEN_EXCEPT).ops(&[D, AS])
        .since(&[since(3, 0, 30), when(&[When::S(&[Bf16])], 7, 1, 80), when(&[When::S(&[Bf16]), When::T(&[F64])], 7, 8, 90)]).pure(eval::cvt);
        { fn f32_from_f16(a: F16) -> f32 { Mod::t(Ty::F32), Mod::s(Ty::F16) } }
        { fn f64_from_f32(a: f32) -> f64 { Mod::t(Ty::F64), Mod::s(Ty::F32) } }
    CvtBf16 = "cvt", "cvt.rnd{.relu}{.satfinite}.T.S d, a", "Conversion to bf16.",
        .t(&[Bf16]).s(&[F32]).only(NEAREST_OR_ZERO).ops(&[D, AS])
        .since(&[since(7, 0, 80), when(&[When::Any(Slot::Satfinite)], 8, 1, 80)]).pure(eval::cvt);
    CvtPack = "cvt", "cvt.rnd{.relu}{.satfinite}.T.S d, a, b", "Two conversions; `a` becomes the upper half.",
        .t(&[F16x2, Bf16x2]).s(&[F32]).only(NEAREST_OR_ZERO).ops(&[D, AS, AS])
        .since(&[since(7, 0, 80), when(&[When::Any(Slot::Satfinite)], 8, 1, 80)]).pure(eval::cvt_pack);
        { fn f16x2_from_f32(high: f32, low: f32) -> B32 { Mod::t(Ty::F16x2), Mod::s(Ty::F32), Rnd::Rn } }
        { fn bf16x2_from_f32(high: f32, low: f32) -> B32 { Mod::t(Ty::Bf16x2), Mod::s(Ty::F32), Rnd::Rn } }
    CvtF8 = "cvt", "cvt.rnd.satfinite{.relu}.T.S d, a, b", "Two conversions to 8-bit floats; `a` becomes the upper byte.",
        .t(&[E4m3x2, E5m2x2]).s(&[F32]).only(RN).ops(&[D, AS, AS]).since(&[since(8, 1, 89)]).pure(eval::cvt_pack);
        { fn e4m3x2_from_f32(high: f32, low: f32) -> B16 { Mod::t(Ty::E4m3x2), Mod::s(Ty::F32), Rnd::Rn } }
        { fn e5m2x2_from_f32(high: f32, low: f32) -> B16 { Mod::t(Ty::E5m2x2), Mod::s(Ty::F32), Rnd::Rn } }
    CvtF8Half = "cvt", "cvt.rnd.satfinite{.relu}.T.S d, a", "Conversion of a pair of 16-bit floats to 8-bit floats.",
        .t(&[E4m3x2, E5m2x2]).s(&[F16x2, Bf16x2]).only(RN).ops(&[D, AS])
        .since(&[since(8, 1, 89), one_of(&[When::S(&[Bf16x2])], 9, 1, FAMILIES)]).pure(eval::cvt_pack);
        { fn e4m3x2_from_f16x2(a: B32) -> B16 { Mod::t(Ty::E4m3x2), Mod::s(Ty::F16x2), Rnd::Rn } }
        { fn e5m2x2_from_f16x2(a: B32) -> B16 { Mod::t(Ty::E5m2x2), Mod::s(Ty::F16x2), Rnd::Rn } }
    CvtHalfF8 = "cvt", "cvt.rnd{.relu}.T.S d, a", "Exact conversion of a pair of 8-bit floats to 16-bit floats.",
        .t(&[F16x2, Bf16x2]).s(&[E4m3x2, E5m2x2]).only(RN).ops(&[D, AS])
        .since(&[since(8, 1, 89), one_of(&[When::T(&[Bf16x2])], 9, 2, FAMILIES)]).pure(eval::cvt_pack);
        { fn f16x2_from_e4m3x2(a: B16) -> B32 { Mod::t(Ty::F16x2), Mod::s(Ty::E4m3x2), Rnd::Rn } }
        { fn f16x2_from_e5m2x2(a: B16) -> B32 { Mod::t(Ty::F16x2), Mod::s(Ty::E5m2x2), Rnd::Rn } }
    CvtInt = "cvt", "cvt.irnd{.ftz}.T.S d, a", "Conversion of a float to an integer, clamped to its range; NaN gives 0.",
        .t(CVT_INTS).s(&[F16, Bf16, F32, F64]).except(&[&[When::Any(Slot::Ftz), When::S(&[F16, Bf16, F64])], &[When::T(NARROW_INTS), When::S(&[F16, Bf16, F64])]])
        .ops(&[D, AS]).since(&[since(3, 0, 30), when(&[When::S(&[Bf16])], 7, 8, 90)]).pure(eval::cvt);
        { fn int_from_f32_rn<T: Int>(a: f32) -> T { Mod::s(Ty::F32), IRnd::Rni } }
        { fn int_from_f32_rz<T: Int>(a: f32) -> T { Mod::s(Ty::F32), IRnd::Rzi } }
        { fn int_from_f32_rm<T: Int>(a: f32) -> T { Mod::s(Ty::F32), IRnd::Rmi } }
    CvtRound = "cvt", "cvt.irnd{.ftz}{.sat}.T.S d, a", "Rounds a float to an integral value.",
        .t(&[F16, F32, F64]).s(&[F16, F32, F64]).except(ROUND_EXCEPT).ops(&[D, AS]).since(ALWAYS).pure(eval::cvt);
        { fn round_f32(a: f32) -> f32 { Mod::t(Ty::F32), Mod::s(Ty::F32), IRnd::Rni } }
        { fn floor_f32(a: f32) -> f32 { Mod::t(Ty::F32), Mod::s(Ty::F32), IRnd::Rmi } }
    CvtPackInt = "cvt.pack", "cvt.pack.sat.T.s32 d, a, b", "Clamps two integers to 16 bits; `a` becomes the upper half.",
        .t(&[U16, S16]).ops(&[operand(Role::Def, Fixed(U32)), S32_, S32_]).since(&[since(6, 5, 72)]).pure(eval::cvt_pack_int);
    CvtPackInt8 = "cvt.pack", "cvt.pack.sat.T.s32.b32 d, a, b, c", "Clamps two integers to 8 bits, `a` above `b`, and puts the low half of `c` above them.",
        .t(&[U8, S8]).ops(&[operand(Role::Def, Fixed(U32)), S32_, S32_, operand(Role::Use, Fixed(U32))]).since(&[since(6, 5, 72)]).pure(eval::cvt_pack_int);
        { fn pack_i8(high: i32, low: i32, upper: u32) -> u32 { Mod::t(Ty::S8) } }
        { fn pack_u8(high: i32, low: i32, upper: u32) -> u32 { Mod::t(Ty::U8) } }

    ["Loads and stores"]
    LdParam = "ld", "ld.param.T d, [a]", "Reads a kernel parameter.",
        .t(&[U16, S16, U32, S32, U64, S64, F32, F64, B16, B32, B64]).ops(&[operand(Role::Def, WideT), ADDR]).since(ALWAYS).does(Effect::Load);
    LdGeneric = "ld", "ld{.vec}.T d, [a]", "Loads a scalar or a vector from a generic address.",
        .t(MEM_TYPES).only(UP_TO_V4).except(SYNC_EXCEPT).ops(&[operand(Role::Def, VecT), ADDR]).since(ALWAYS).does(Effect::Load);
    Ld = "ld", "ld.space{.ldcop}{.l1}{.l2}{.l2prefetch}{.vec}.T d, [a]", "Loads a scalar or a vector.",
        .t(MEM_TYPES).only(LD_SPACES).except(LD_EXCEPT).ops(&[operand(Role::Def, VecT), ADDR]).since(LD_SINCE).does(Effect::Load);
    LdHint = "ld", "ld.global{.l1}{.l2}.L2::cache_hint{.l2prefetch}{.vec}.T d, [a], policy", "Loads under an L2 cache policy.",
        .t(MEM_TYPES).except(WIDE_EXCEPT).ops(&[operand(Role::Def, VecT), ADDR, POLICY]).since(HINT_SINCE).does(Effect::Load);
    LdNc = "ld.global.nc", "ld.global.nc{.l1}{.l2}{.l2prefetch}{.vec}.T d, [a]", "Loads through the read-only path: no thread may write the location while the kernel runs.",
        .t(MEM_TYPES).except(WIDE_EXCEPT).ops(&[operand(Role::Def, VecT), ADDR]).since(LD_NC_SINCE).does(Effect::Load);
    LdNcHint = "ld.global.nc", "ld.global.nc{.l1}{.l2}.L2::cache_hint{.l2prefetch}{.vec}.T d, [a], policy", "Loads through the read-only path under an L2 cache policy.",
        .t(MEM_TYPES).except(WIDE_EXCEPT).ops(&[operand(Role::Def, VecT), ADDR, POLICY]).since(HINT_SINCE).does(Effect::Load);
    LdVolatile = "ld", "ld.volatile{.space}{.vec}.T d, [a]", "Loads from memory that others may write at any time.",
        .t(MEM_TYPES).only(&[ATOM_SPACES, V2_OR_V4]).except(SYNC_EXCEPT)
        .ops(&[operand(Role::Def, VecT), ADDR]).since(VOLATILE_SINCE).does(Effect::Load);
    LdSem = "ld", "ld.sem.scope{.space}{.vec}.T d, [a]", "Loads with a memory ordering among the threads of a scope.",
        .t(MEM_TYPES).only(&[ATOM_SPACES, (Slot::Sem, &[Sem::Relaxed.get(), Sem::Acquire.get()]), V2_OR_V4]).except(SYNC_EXCEPT)
        .ops(&[operand(Role::Def, VecT), ADDR]).since(SYNC_SINCE).does(Effect::Load);
    StGeneric = "st", "st{.vec}.T [a], b", "Stores a scalar or a vector to a generic address.",
        .t(MEM_TYPES).only(UP_TO_V4).except(SYNC_EXCEPT).ops(&[ADDR, operand(Role::Use, VecT)]).since(ALWAYS).does(Effect::Store);
    St = "st", "st.space{.stcop}{.l1}{.l2}{.vec}.T [a], b", "Stores a scalar or a vector.",
        .t(MEM_TYPES).only(ST_SPACES).except(ST_EXCEPT).ops(&[ADDR, operand(Role::Use, VecT)]).since(LD_SINCE).does(Effect::Store);
    StHint = "st", "st.global{.l1}{.l2}.L2::cache_hint{.vec}.T [a], b, policy", "Stores under an L2 cache policy.",
        .t(MEM_TYPES).except(WIDE_EXCEPT).ops(&[ADDR, operand(Role::Use, VecT), POLICY]).since(HINT_SINCE).does(Effect::Store);
    StVolatile = "st", "st.volatile{.space}{.vec}.T [a], b", "Stores to memory that others may read at any time.",
        .t(MEM_TYPES).only(&[ATOM_SPACES, V2_OR_V4]).except(SYNC_EXCEPT)
        .ops(&[ADDR, operand(Role::Use, VecT)]).since(VOLATILE_SINCE).does(Effect::Store);
    StSem = "st", "st.sem.scope{.space}{.vec}.T [a], b", "Stores with a memory ordering among the threads of a scope.",
        .t(MEM_TYPES).only(&[ATOM_SPACES, (Slot::Sem, &[Sem::Relaxed.get(), Sem::Release.get()]), V2_OR_V4]).except(SYNC_EXCEPT)
        .ops(&[ADDR, operand(Role::Use, VecT)]).since(SYNC_SINCE).does(Effect::Store);
    Prefetch = "prefetch", "prefetch.space.cachelevel [a]", "Brings a cache line closer.",
        .only(&[(Slot::Space, &[Space::Global.get(), Space::Local.get()])])
        .except(&[&[When::Has(Space::Local.get()), When::Has(Level::L2EvictLast.get())], &[When::Has(Space::Local.get()), When::Has(Level::L2EvictNormal.get())]])
        .ops(&[ADDR]).since(&[since(3, 0, 30), when(&[When::Has(Level::L2EvictLast.get())], 7, 4, 80), when(&[When::Has(Level::L2EvictNormal.get())], 7, 4, 80)]).does(Effect::Hint);
        { fn prefetch_global_l2(at: At) { Space::Global, Level::L2 } }
    CreatePolicy = "createpolicy", "createpolicy.fractional.primary{.secondary}.b64 d, a", "A cache policy: a fraction `a` of the accesses gets the first priority, the others the second.",
        .ops(&[operand(Role::Def, Fixed(B64)), operand(Role::Use, Fixed(F32))]).since(&[since(7, 4, 80)]).pure(eval::bits::create_policy);
        { fn policy_evict_first(fraction: f32) -> B64 { Primary::EvictFirst } }
        { fn policy_evict_last(fraction: f32) -> B64 { Primary::EvictLast } }
    CvtaTo = "cvta", "cvta.to.space.T d, a", "The address within a state space, from a generic address.",
        .t(&[U64]).only(GLOBAL).ops(&[D, A]).since(ALWAYS).pure(eval::bits::mov);

    ["Atomic access"]
    AtomAdd = "atom", "atom{.sem}{.scope}{.space}.add.T d, [a], b", "Adds to a location and returns what was there; f32 in global memory flushes subnormals.",
        .t(&[U32, S32, U64, F32, F64]).only(&[ATOM_SEMS, ATOM_SPACES]).ops(&[D, ADDR, A]).since(ATOM_ADD_SINCE).does(Effect::Atomic);
        { fn atom_add_global<T: Number>(at: At, b: T) -> T { Space::Global } }
    AtomAddHalf = "atom", "atom{.sem}{.scope}{.space}.add.noftz.T d, [a], b", "Adds 16-bit floats to a location and returns what was there.",
        .t(HALVES).only(&[ATOM_SEMS, ATOM_SPACES]).ops(&[D, ADDR, A]).since(ATOM_HALF_SINCE).does(Effect::Atomic);
    AtomMinMax = "atom", "atom{.sem}{.scope}{.space}.op.T d, [a], b", "Keeps the smaller or larger number and returns what was there.",
        .t(&[U32, S32, U64, S64]).only(&[ATOM_SEMS, ATOM_SPACES, MIN_MAX]).ops(&[D, ADDR, A]).since(ATOM_64_SINCE).does(Effect::Atomic);
        { fn atom_max_global<T: Int>(at: At, b: T) -> T { Space::Global, AtomOp::Max } }
    AtomBits = "atom", "atom{.sem}{.scope}{.space}.op.T d, [a], b", "Combines bits with a location, or exchanges it, and returns what was there.",
        .t(WORDS).only(&[ATOM_SEMS, ATOM_SPACES, AND_OR_XOR_EXCH]).ops(&[D, ADDR, A]).since(ATOM_64_SINCE).does(Effect::Atomic);
        { fn atom_exch_global(at: At, b: B32) -> B32 { Mod::t(Ty::B32), Space::Global, AtomOp::Exch } }
    AtomInc = "atom", "atom{.sem}{.scope}{.space}.op.u32 d, [a], b", "Counts up to `b` or down to 0, wrapping there, and returns what was there.",
        .only(&[ATOM_SEMS, ATOM_SPACES, INC_DEC]).ops(&[operand(Role::Def, Fixed(U32)), ADDR, U32_]).since(ATOM_SINCE).does(Effect::Atomic);
        { fn atom_inc_global(at: At, wrap: u32) -> u32 { Space::Global, AtomOp::Inc } }
    AtomCas = "atom", "atom{.sem}{.scope}{.space}.cas.T d, [a], b, c", "Stores `c` where the location holds `b` and returns what was there.",
        .t(BITS).only(&[ATOM_SEMS, ATOM_SPACES]).ops(&[D, ADDR, A, A]).since(CAS_SINCE).does(Effect::Atomic);
        { fn atom_cas_global(at: At, expected: B32, new: B32) -> B32 { Mod::t(Ty::B32), Space::Global } }
    AtomVec = "atom", "atom{.sem}{.scope}.global.add.vec.T d, [a], b", "Adds a vector, element by element, and returns what was there.",
        .t(&[F32]).only(&[ATOM_SEMS, V2_OR_V4])
        .ops(&[operand(Role::Def, VecT), ADDR, operand(Role::Use, VecT)]).since(RED_VEC_SINCE).does(Effect::Atomic);
    RedAdd = "red", "red{.sem}{.scope}{.space}.add.T [a], b", "Adds to a location; f32 in global memory flushes subnormals.",
        .t(&[U32, S32, U64, F32, F64]).only(&[RED_SEMS, ATOM_SPACES]).ops(&[ADDR, A]).since(ATOM_ADD_SINCE).does(Effect::Atomic);
        { fn red_add_global<T: Number>(at: At, b: T) { Space::Global } }
    RedAddHalf = "red", "red{.sem}{.scope}{.space}.add.noftz.T [a], b", "Adds 16-bit floats to a location.",
        .t(HALVES).only(&[RED_SEMS, ATOM_SPACES]).ops(&[ADDR, A]).since(ATOM_HALF_SINCE).does(Effect::Atomic);
    RedMinMax = "red", "red{.sem}{.scope}{.space}.op.T [a], b", "Keeps the smaller or larger number.",
        .t(&[U32, S32, U64, S64]).only(&[RED_SEMS, ATOM_SPACES, MIN_MAX]).ops(&[ADDR, A]).since(ATOM_64_SINCE).does(Effect::Atomic);
        { fn red_max_global<T: Int>(at: At, b: T) { Space::Global, AtomOp::Max } }
    RedBits = "red", "red{.sem}{.scope}{.space}.op.T [a], b", "Combines bits with a location.",
        .t(WORDS).only(&[RED_SEMS, ATOM_SPACES, AND_OR_XOR]).ops(&[ADDR, A]).since(ATOM_64_SINCE).does(Effect::Atomic);
    RedVec = "red", "red{.sem}{.scope}.global.add.vec.T [a], b", "Adds a vector, element by element.",
        .t(&[F32]).only(&[RED_SEMS, V2_OR_V4]).ops(&[ADDR, operand(Role::Use, VecT)]).since(RED_VEC_SINCE).does(Effect::Atomic);
    RedVecHalf = "red", "red{.sem}{.scope}.global.op.noftz.vec.T [a], b", "Combines a vector of 16-bit floats, element by element.",
        .t(HALVES).only(&[RED_SEMS, ADD_MIN_MAX]).except(RED_VEC_EXCEPT).ops(&[ADDR, operand(Role::Use, VecT)]).since(RED_VEC_SINCE).does(Effect::Atomic);

    ["Lanes of a warp"]
    ShflSync = "shfl.sync", "shfl.sync.shfl.T d, a, b, c, m", "Exchanges a register between the lanes of a warp.",
        .t(&[B32]).ops(&[D, operand(Role::UseReg, OpTy::T), U32_, U32_, U32_]).since(&[since(6, 0, 30)]).does(Effect::Shuffle);
        { fn shfl_up(a: B32, distance: u32, clamp: u32, mask: u32) -> B32 { Mod::t(Ty::B32), Shfl::Up } }
        { fn shfl_down(a: B32, distance: u32, clamp: u32, mask: u32) -> B32 { Mod::t(Ty::B32), Shfl::Down } }
        { fn shfl_bfly(a: B32, distance: u32, clamp: u32, mask: u32) -> B32 { Mod::t(Ty::B32), Shfl::Bfly } }
        { fn shfl_idx(a: B32, lane: u32, clamp: u32, mask: u32) -> B32 { Mod::t(Ty::B32), Shfl::Idx } }
    ShflSyncPred = "shfl.sync", "shfl.sync.shfl.T d|p, a, b, c, m", "Exchanges a register between the lanes of a warp; the predicate tells whether the source lane was in range.",
        .t(&[B32]).ops(&[D, PRED_OUT, operand(Role::UseReg, OpTy::T), U32_, U32_, U32_]).since(&[since(6, 0, 30)]).does(Effect::Shuffle);
        { fn shfl_up_pred(a: B32, distance: u32, clamp: u32, mask: u32) -> (B32, bool) { Mod::t(Ty::B32), Shfl::Up } }
        { fn shfl_down_pred(a: B32, distance: u32, clamp: u32, mask: u32) -> (B32, bool) { Mod::t(Ty::B32), Shfl::Down } }
    VoteSync = "vote.sync", "vote.sync.vote.pred d, a, m", "Whether a predicate holds in all or any lanes, or is the same in all.",
        .ops(&[PRED_OUT, PRED, U32_]).since(&[since(6, 0, 30)]).does(Effect::Vote);
        { fn vote_all(a: bool, mask: u32) -> bool { Vote::All } }
        { fn vote_any(a: bool, mask: u32) -> bool { Vote::Any } }
    VoteBallot = "vote.sync", "vote.sync.ballot.b32 d, a, m", "The lanes where a predicate holds, as bits.",
        .ops(&[DB32, PRED, U32_]).since(&[since(6, 0, 30)]).does(Effect::Vote);
        { fn ballot(a: bool, mask: u32) -> u32 { } }
    ActiveMask = "activemask", "activemask.b32 d", "The lanes that execute this instruction together, as bits.",
        .ops(&[DB32]).since(&[since(6, 2, 30)]).does(Effect::Vote);
        { fn activemask() -> u32 { } }
    MatchAny = "match.sync", "match.any.sync.T d, a, m", "The lanes that hold the same value, as bits.",
        .t(WORDS).ops(&[DB32, A, U32_]).since(&[since(6, 0, 70)]).does(Effect::Vote);
    MatchAll = "match.sync", "match.all.sync.T d|p, a, m", "The mask if all lanes hold the same value, else 0; the predicate tells which.",
        .t(WORDS).ops(&[DB32, PRED_OUT, A, U32_]).since(&[since(6, 0, 70)]).does(Effect::Vote);
    Redux = "redux.sync", "redux.sync.op.T d, a, m", "The sum, minimum or maximum over the lanes.",
        .t(&[U32, S32]).only(&[ADD_MIN_MAX]).ops(&[D, A, U32_]).since(&[since(7, 0, 80)]).does(Effect::Vote);
        { fn redux_add<T: Int32>(a: T, mask: u32) -> T { AtomOp::Add } }
        { fn redux_min<T: Int32>(a: T, mask: u32) -> T { AtomOp::Min } }
        { fn redux_max<T: Int32>(a: T, mask: u32) -> T { AtomOp::Max } }
    ReduxBits = "redux.sync", "redux.sync.op.b32 d, a, m", "The bitwise and, or or exclusive or over the lanes.",
        .only(&[AND_OR_XOR]).ops(&[DB32, B32_, U32_]).since(&[since(7, 0, 80)]).does(Effect::Vote);
    ReduxF = "redux.sync", "redux.sync.op{.abs}{.nan}.f32 d, a, m", "The smallest or largest float, or magnitude, over the lanes.",
        .only(&[MIN_MAX]).ops(&[D32, C32, U32_]).since(&[one_of(&[], 8, 6, FAMILY_100)]).does(Effect::Vote);
    ElectSync = "elect.sync", "elect.sync d|p, m", "Elects one lane: its index, and a predicate that holds there only.",
        .ops(&[DB32, PRED_OUT, U32_]).since(&[since(8, 0, 90)]).does(Effect::Vote);
        { fn elect(mask: u32) -> (u32, bool) { } }
    BarWarpSync = "bar.warp.sync", "bar.warp.sync m", "Waits for the lanes of the mask and orders their memory accesses.",
        .ops(&[U32_]).since(&[since(6, 0, 30)]).does(Effect::Vote);
        { fn sync_warp(mask: u32) { } }

    ["Blocks and clusters"]
    BarSync = "bar", "bar.sync a", "Waits for every thread of the block.",
        .ops(&[U32_]).since(ALWAYS).does(Effect::Barrier);
    BarSyncCount = "bar", "bar.sync a, b", "Waits until `b` threads of the block arrive at barrier `a`.",
        .ops(&[U32_, U32_]).since(ALWAYS).does(Effect::Barrier);
        { fn bar_sync(barrier: u32, threads: u32) { } }
    BarArrive = "bar", "bar.arrive a, b", "Arrives at barrier `a`, where `b` threads are expected, without waiting.",
        .ops(&[U32_, U32_]).since(ALWAYS).does(Effect::Barrier);
        { fn bar_arrive(barrier: u32, threads: u32) { } }
    BarRedPopc = "bar", "bar.red.popc.u32 d, a, p", "Waits for every thread of the block and counts those where a predicate holds.",
        .ops(&[operand(Role::Def, Fixed(U32)), U32_, PRED]).since(ALWAYS).does(Effect::Barrier);
        { fn bar_count(barrier: u32, p: bool) -> u32 { } }
    BarRedBool = "bar", "bar.red.bool.pred d, a, p", "Waits for every thread of the block and tells whether a predicate holds in all or any of them.",
        .only(&[(Slot::BoolOp, &[BoolOp::And.get(), BoolOp::Or.get()])]).ops(&[PRED_OUT, U32_, PRED]).since(ALWAYS).does(Effect::Barrier);
        { fn bar_all(barrier: u32, p: bool) -> bool { BoolOp::And } }
        { fn bar_any(barrier: u32, p: bool) -> bool { BoolOp::Or } }
    BarrierSync = "barrier", "barrier.sync{.aligned} a", "Waits for every thread of the block; lanes of a warp may come one by one.",
        .ops(&[U32_]).since(&[since(6, 0, 30)]).does(Effect::Barrier);
    Membar = "membar", "membar.membar", "Orders memory accesses: older spelling of `fence.sc`.",
        .since(ALWAYS).does(Effect::Fence);
    Fence = "fence", "fence.sem.scope", "Orders the memory accesses before and after it among the threads of a scope.",
        .only(&[(Slot::Sem, &[Sem::AcqRel.get(), Sem::Sc.get()])]).since(&[since(6, 0, 70), CLUSTER_SCOPE]).does(Effect::Fence);
        { fn fence_acq_rel_gpu() { Sem::AcqRel, Scope::Gpu } }
        { fn fence_acq_rel_cta() { Sem::AcqRel, Scope::Cta } }
    FenceProxyAsync = "fence", "fence.proxy.async{.space}", "Orders ordinary accesses with those of bulk copies.",
        .only(&[(Slot::Space, &[Space::Global.get(), Space::SharedCta.get(), Space::SharedCluster.get()])]).since(&[since(8, 0, 90)]).does(Effect::Fence);
        { fn fence_proxy_async_shared() { Space::SharedCta } }
    FenceMbarrierInit = "fence", "fence.mbarrier_init.release.cluster", "Makes initialized mbarriers known to the cluster.",
        .since(&[since(8, 0, 90)]).does(Effect::Fence);
        { fn fence_mbarrier_init() { } }
    ClusterArrive = "barrier.cluster", "barrier.cluster.arrive{.sem}{.aligned}", "Arrives at the barrier of the cluster.",
        .only(&[(Slot::Sem, &[Sem::Relaxed.get(), Sem::Release.get()])])
        .since(&[since(7, 8, 90), when(&[When::Any(Slot::Sem)], 8, 0, 90)]).does(Effect::ClusterBarrier);
        { fn cluster_arrive() { } }
        { fn cluster_arrive_relaxed() { Sem::Relaxed } }
    ClusterWait = "barrier.cluster", "barrier.cluster.wait{.sem}{.aligned}", "Waits until all threads of the cluster have arrived.",
        .only(&[(Slot::Sem, &[Sem::Acquire.get()])])
        .since(&[since(7, 8, 90), when(&[When::Any(Slot::Sem)], 8, 0, 90)]).does(Effect::ClusterBarrier);
        { fn cluster_wait() { } }
    Mapa = "mapa", "mapa.shared::cluster.T d, a, b", "The address in block `b` of the cluster that corresponds to the own shared address `a`.",
        .t(&[U32, U64]).ops(&[D, A, U32_]).since(&[since(7, 8, 90)]);
        { fn mapa(own: u32, rank: u32) -> u32 { Mod::t(Ty::U32) } }
    GetCtaRank = "getctarank", "getctarank.shared::cluster.T d, a", "The rank in the cluster of the block that a shared address belongs to.",
        .t(&[U32, U64]).ops(&[operand(Role::Def, Fixed(U32)), A]).since(&[since(7, 8, 90)]);
        { fn getctarank(address: u32) -> u32 { Mod::t(Ty::U32) } }
    GridDepWait = "griddepcontrol", "griddepcontrol.wait", "Waits until the grids that this one depends on have ended and their writes can be read.",
        .since(&[since(7, 8, 90)]).does(Effect::GridWait);
        { fn grid_dependency_wait() { } }
    GridDepLaunch = "griddepcontrol", "griddepcontrol.launch_dependents", "Lets grids that depend on this one start.",
        .since(&[since(7, 8, 90)]).does(Effect::Hint);
        { fn grid_launch_dependents() { } }
    Nanosleep = "nanosleep", "nanosleep.u32 a", "Waits about `a` nanoseconds.",
        .ops(&[U32_]).since(&[since(6, 2, 70)]).does(Effect::Hint);
        { fn nanosleep(nanoseconds: u32) { } }

    ["Asynchronous copies"]
    CpAsyncCa = "cp.async", "cp.async.ca.shared.global{.l2prefetch} [a], [b], n", "Copies 4, 8 or 16 bytes through L1.",
        .ops(&[ADDR, ADDR, BYTES]).since(CP_ASYNC_SINCE).does(Effect::AsyncCopy);
        { fn cp_async_ca(to: At, from: At, bytes: Literal) { } }
    CpAsyncCaZfill = "cp.async", "cp.async.ca.shared.global{.l2prefetch} [a], [b], n, s", "Copies `s` of 4, 8 or 16 bytes through L1 and fills the rest with zeros.",
        .ops(&[ADDR, ADDR, BYTES, U32_]).since(CP_ASYNC_SINCE).does(Effect::AsyncCopy);
        { fn cp_async_ca_zfill(to: At, from: At, bytes: Literal, copied: u32) { } }
    CpAsyncCg = "cp.async", "cp.async.cg.shared.global{.l2prefetch} [a], [b], n", "Copies 16 bytes past L1.",
        .ops(&[ADDR, ADDR, BYTES]).since(CP_ASYNC_SINCE).does(Effect::AsyncCopy);
        { fn cp_async_cg(to: At, from: At, bytes: Literal) { } }
    CpAsyncCgZfill = "cp.async", "cp.async.cg.shared.global{.l2prefetch} [a], [b], n, s", "Copies `s` of 16 bytes past L1 and fills the rest with zeros.",
        .ops(&[ADDR, ADDR, BYTES, U32_]).since(CP_ASYNC_SINCE).does(Effect::AsyncCopy);
        { fn cp_async_cg_zfill(to: At, from: At, bytes: Literal, copied: u32) { } }
    CpAsyncCgHint = "cp.async", "cp.async.cg.shared.global.L2::cache_hint{.l2prefetch} [a], [b], n, policy", "Copies 16 bytes past L1 under an L2 cache policy.",
        .ops(&[ADDR, ADDR, BYTES, POLICY]).since(&[since(7, 4, 80)]).does(Effect::AsyncCopy);
    CpAsyncCommit = "cp.async.commit_group", "cp.async.commit_group", "Makes a group of the copies that the thread has started.",
        .since(&[since(7, 0, 80)]).does(Effect::AsyncCopy);
        { fn cp_async_commit() { } }
    CpAsyncWait = "cp.async.wait_group", "cp.async.wait_group n", "Waits until at most `n` groups of the thread are pending.",
        .ops(&[operand(Role::Imm, Fixed(U32))]).since(&[since(7, 0, 80)]).does(Effect::AsyncCopy);
        { fn cp_async_wait(pending: Literal) { } }
    CpAsyncWaitAll = "cp.async.wait_group", "cp.async.wait_all", "Waits until no copy of the thread is pending.",
        .since(&[since(7, 0, 80)]).does(Effect::AsyncCopy);
        { fn cp_async_wait_all() { } }
    CpAsyncMbarrier = "cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive{.noinc}.shared.b64 [a]", "Arrives at an mbarrier when the copies that the thread has started are complete.",
        .ops(&[ADDR]).since(&[since(7, 0, 80)]).does(Effect::Mbarrier);
    BulkLoad = "cp.async.bulk", "cp.async.bulk.space.global.mbarrier::complete_tx::bytes [a], [b], n, [mbar]", "Copies `n` bytes, a multiple of 16, from global to shared memory and counts them off an mbarrier.",
        .only(&[(Slot::Space, &[Space::SharedCluster.get(), Space::SharedCta.get()])]).ops(&[ADDR, ADDR, U32_, ADDR])
        .since(&[since(8, 0, 90), when(&[When::Has(Space::SharedCta.get())], 8, 6, 90)]).does(Effect::AsyncCopy);
        { fn bulk_load(to: At, from: At, bytes: u32, mbar: At) { Space::SharedCluster } }
    BulkLoadHint = "cp.async.bulk", "cp.async.bulk.space.global.mbarrier::complete_tx::bytes.L2::cache_hint [a], [b], n, [mbar], policy", "The same under an L2 cache policy.",
        .only(&[(Slot::Space, &[Space::SharedCluster.get(), Space::SharedCta.get()])]).ops(&[ADDR, ADDR, U32_, ADDR, POLICY])
        .since(&[since(8, 0, 90), when(&[When::Has(Space::SharedCta.get())], 8, 6, 90)]).does(Effect::AsyncCopy);
    BulkStore = "cp.async.bulk", "cp.async.bulk.global.shared::cta.bulk_group [a], [b], n", "Copies `n` bytes, a multiple of 16, from shared to global memory.",
        .ops(&[ADDR, ADDR, U32_]).since(&[since(8, 0, 90)]).does(Effect::AsyncCopy);
        { fn bulk_store(to: At, from: At, bytes: u32) { } }
    BulkCopyCluster = "cp.async.bulk", "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [a], [b], n, [mbar]", "Copies `n` bytes, a multiple of 16, to the shared memory of a block of the cluster and counts them off its mbarrier.",
        .ops(&[ADDR, ADDR, U32_, ADDR]).since(&[since(8, 0, 90)]).does(Effect::AsyncCopy);
        { fn bulk_copy_cluster(to: At, from: At, bytes: u32, mbar: At) { } }
    BulkPrefetch = "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.L2.global [a], n", "Brings `n` bytes, a multiple of 16, into L2.",
        .ops(&[ADDR, U32_]).since(&[since(8, 0, 90)]).does(Effect::Hint);
        { fn bulk_prefetch(from: At, bytes: u32) { } }
    BulkCommit = "cp.async.bulk.commit_group", "cp.async.bulk.commit_group", "Makes a group of the bulk copies that the thread has started.",
        .since(&[since(8, 0, 90)]).does(Effect::AsyncCopy);
        { fn bulk_commit() { } }
    BulkWait = "cp.async.bulk.wait_group", "cp.async.bulk.wait_group{.read} n", "Waits until at most `n` groups of the thread are pending, with `.read` until their sources are free.",
        .ops(&[operand(Role::Imm, Fixed(U32))]).since(&[since(8, 0, 90)]).does(Effect::AsyncCopy);
        { fn bulk_wait(pending: Literal) { } }
        { fn bulk_wait_read(pending: Literal) { Read::Read } }
    MbarrierInit = "mbarrier.init", "mbarrier.init.shared.b64 [a], b", "Makes an mbarrier that expects `b` arrivals per phase.",
        .ops(&[ADDR, U32_]).since(&[since(7, 0, 80)]).does(Effect::Mbarrier);
        { fn mbarrier_init(at: At, count: u32) { } }
    MbarrierInval = "mbarrier.inval", "mbarrier.inval.shared.b64 [a]", "Ends an mbarrier, so that its memory can be used otherwise.",
        .ops(&[ADDR]).since(&[since(7, 0, 80)]).does(Effect::Mbarrier);
        { fn mbarrier_inval(at: At) { } }
    MbarrierArrive = "mbarrier.arrive", "mbarrier.arrive.shared.b64 d, [a]", "Arrives and returns the state to wait for.",
        .ops(&[operand(Role::Def, Fixed(B64)), ADDR]).since(&[since(7, 0, 80)]).does(Effect::Mbarrier);
        { fn mbarrier_arrive(at: At) -> B64 { } }
    MbarrierArriveCount = "mbarrier.arrive", "mbarrier.arrive.shared.b64 d, [a], b", "Arrives `b` times and returns the state to wait for.",
        .ops(&[operand(Role::Def, Fixed(B64)), ADDR, U32_]).since(&[since(7, 8, 90)]).does(Effect::Mbarrier);
    MbarrierArriveTx = "mbarrier.arrive", "mbarrier.arrive.expect_tx.shared.b64 d, [a], b", "Expects `b` more bytes in this phase, then arrives and returns the state to wait for.",
        .ops(&[operand(Role::Def, Fixed(B64)), ADDR, U32_]).since(&[since(8, 0, 90)]).does(Effect::Mbarrier);
        { fn mbarrier_arrive_expect_tx(at: At, bytes: u32) -> B64 { } }
    MbarrierArriveRemote = "mbarrier.arrive", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]", "Arrives at an mbarrier of another block of the cluster.",
        .ops(&[ADDR]).since(&[since(8, 0, 90)]).does(Effect::Mbarrier);
        { fn mbarrier_arrive_remote(at: At) { } }
    MbarrierExpectTx = "mbarrier.expect_tx", "mbarrier.expect_tx.relaxed.cta.shared.b64 [a], b", "Expects `b` more bytes in this phase.",
        .ops(&[ADDR, U32_]).since(&[since(8, 0, 90)]).does(Effect::Mbarrier);
        { fn mbarrier_expect_tx(at: At, bytes: u32) { } }
    MbarrierTest = "mbarrier.test_wait", "mbarrier.test_wait.shared.b64 p, [a], b", "Whether the phase of state `b` is complete.",
        .ops(&[PRED_OUT, ADDR, operand(Role::UseReg, Fixed(B64))]).since(&[since(7, 0, 80)]).does(Effect::Mbarrier);
        { fn mbarrier_test_wait(at: At, state: B64) -> bool { } }
    MbarrierTestParity = "mbarrier.test_wait", "mbarrier.test_wait.parity.shared.b64 p, [a], b", "Whether the phase of parity `b` is complete.",
        .ops(&[PRED_OUT, ADDR, U32_]).since(&[since(7, 1, 80)]).does(Effect::Mbarrier);
        { fn mbarrier_test_wait_parity(at: At, parity: u32) -> bool { } }
    MbarrierTryParity = "mbarrier.try_wait", "mbarrier.try_wait.parity{.sem}{.scope}.shared.b64 p, [a], b", "Waits a while for the phase of parity `b` and tells whether it is complete.",
        .only(&[(Slot::Sem, &[Sem::Acquire.get(), Sem::Relaxed.get()]), (Slot::Scope, &[Scope::Cta.get(), Scope::Cluster.get()])]).except(SEM_WITH_SCOPE)
        .ops(&[PRED_OUT, ADDR, U32_])
        .since(&[since(7, 8, 90), when(&[When::Any(Slot::Sem)], 8, 0, 90), when(&[When::Has(Sem::Relaxed.get())], 8, 6, 90)]).does(Effect::Mbarrier);
        { fn mbarrier_try_wait_parity(at: At, parity: u32) -> bool { } }
    StAsync = "st.async", "st.async.shared::cluster.mbarrier::complete_tx::bytes{.vec}.T [a], b, [mbar]", "Stores to the shared memory of a block of the cluster and counts the bytes off its mbarrier.",
        .t(&[B32, B64, U32, U64, S32, S64, F32, F64]).only(UP_TO_V4).except(SYNC_EXCEPT)
        .ops(&[ADDR, operand(Role::Use, VecT), ADDR]).since(&[since(8, 1, 90)]).does(Effect::AsyncCopy);
        { fn st_async<T: Number>(at: At, value: T, mbar: At) { } }

    ["Control"]
    Bra = "bra", "bra{.uni} l", "Jumps; always the last instruction of a block.",
        .ops(&[operand(Role::Imm, Fixed(B32))]).since(ALWAYS);
    Ret = "ret", "ret", "Ends the thread, in an entry.", .since(ALWAYS).does(Effect::Exit);
    Exit = "exit", "exit", "Ends the thread.", .since(ALWAYS).does(Effect::Exit);
    Trap = "trap", "trap", "Stops the kernel with an error.", .since(ALWAYS).does(Effect::Trap);
}

/// What a special register needs.
pub fn special_since(special: SpecialReg) -> Since {
    let (ptx, sm) = special.since();
    Since { when: &[], ptx, sm: SmReq::AtLeast(sm) }
}
