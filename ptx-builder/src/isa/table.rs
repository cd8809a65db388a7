//! The table. One row per instruction form, grouped by headings; columns as in [`Form`].
//!
//! `fn` columns become typed builder functions in [`crate::ops`]; a form without one is reached through
//! a library function (memory, control) instead.

use super::mods::{Cmp, Half, L2Prefetch, Mod, Rnd, Slot, Space};
use super::special::SpecialReg;
use super::{Effect, Eval, Form, OpTy, OperandSpec, Role, Since, SmReq, When, eval};
use crate::target::PtxVersion;
use crate::types::Ty::{self, *};
use OpTy::*;

const fn operand(role: Role, ty: OpTy) -> OperandSpec {
    OperandSpec { role, ty }
}

const D: OperandSpec = operand(Role::Def, OpTy::T);
const A: OperandSpec = operand(Role::Use, OpTy::T);
const U32_: OperandSpec = operand(Role::Use, Fixed(U32));
const PRED: OperandSpec = operand(Role::UseReg, Fixed(Pred));
const PRED_OUT: OperandSpec = operand(Role::Def, Fixed(Pred));
const ADDR: OperandSpec = operand(Role::Addr, Address);

const fn since(major: u8, minor: u8, sm: u16) -> Since {
    Since { when: &[], ptx: PtxVersion::new(major, minor), sm: SmReq::AtLeast(sm) }
}

const fn when(when: &'static [When], major: u8, minor: u8, sm: u16) -> Since {
    Since { when, ptx: PtxVersion::new(major, minor), sm: SmReq::AtLeast(sm) }
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
    ($($(#[$doc:meta])* $op:ident = $section:literal, $syntax:literal, $text:literal, $(.$method:ident($arg:expr))* ;
       $({ fn $name:ident<$g:ident: $bound:ident>($($param:ident: $pty:ty),*) -> $ret:ty { $($m:expr),* } })*)*) => {
        /// An instruction form.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Op { $(#[doc = $text] $op,)* }

        /// Every row, indexed by [`Op`].
        pub static FORMS: &[Form] = &[$(row(Op::$op, $section, $syntax, $text)$(.$method($arg))*,)*];

        /// Typed builder functions, one for each `fn` column of the table.
        pub(crate) mod functions {
            use super::*;
            use crate::value::*;
            $($(
                #[doc = $text]
                #[doc = ""]
                #[doc = concat!("PTX: `", $syntax, "`, manual section “", $section, "”.")]
                #[track_caller]
                pub fn $name<$g: $bound>($($param: impl Operand<$pty>),*) -> Value<$ret> {
                    emit_value(Op::$op, &[Mod::t(<$g as Scalar>::TY) $(, $m)*], vec![$($param.operand()),*])
                }
            )*)*
        }
    };
}

/// Types of the two-operand integer arithmetic rows.
const INTS: &[Ty] = &[U32, S32, U64, S64];
const WORDS: &[Ty] = &[B32, B64];

#[rustfmt::skip]
const RN: &[(Slot, &[Mod])] = &[(Slot::Rnd, &[Rnd::Rn.get()])];
const MEM_TYPES: &[Ty] = &[B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F32, F64];
#[rustfmt::skip]
const DATA_SPACES: &[(Slot, &[Mod])] = &[(Slot::Space, &[Space::Global.get(), Space::Shared.get()])];
#[rustfmt::skip]
const GLOBAL: &[(Slot, &[Mod])] = &[(Slot::Space, &[Space::Global.get()])];
#[rustfmt::skip]
const ORDERED: &[(Slot, &[Mod])] = &[(Slot::Cmp, &[Cmp::Eq.get(), Cmp::Ne.get(), Cmp::Lt.get(), Cmp::Le.get(), Cmp::Gt.get(), Cmp::Ge.get()])];

const L1_SINCE: Since = when(&[When::Any(Slot::L1)], 7, 4, 70);
const PREFETCH_SINCE: Since = when(&[When::Any(Slot::L2Prefetch)], 7, 4, 75);
const PREFETCH_256_SINCE: Since = when(&[When::Has(L2Prefetch::B256.get())], 7, 4, 80);
const V8_SINCE: Since = when(&[When::Has(super::mods::Vec::V8.get())], 8, 8, 100);
const LD_SINCE: &[Since] = &[since(3, 0, 30), L1_SINCE, PREFETCH_SINCE, PREFETCH_256_SINCE, V8_SINCE];
const LD_NC_SINCE: &[Since] = &[since(3, 1, 35), L1_SINCE, PREFETCH_SINCE, PREFETCH_256_SINCE, V8_SINCE];

#[rustfmt::skip]
forms! {
    // ---- floating-point arithmetic -------------------------------------------------------------------------------
    AddF = "add", "add.rnd.T d, a, b", "`a + b`, rounded.",
        .t(&[F32]).only(RN).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::add_f);
        { fn add_rn<T: Float>(a: T, b: T) -> T { Rnd::Rn.get() } }
    SubF = "sub", "sub.rnd.T d, a, b", "`a - b`, rounded.",
        .t(&[F32]).only(RN).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::sub_f);
        { fn sub_rn<T: Float>(a: T, b: T) -> T { Rnd::Rn.get() } }
    MulF = "mul", "mul.rnd.T d, a, b", "`a * b`, rounded.",
        .t(&[F32]).only(RN).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::mul_f);
        { fn mul_rn<T: Float>(a: T, b: T) -> T { Rnd::Rn.get() } }
    Fma = "fma", "fma.rnd.T d, a, b, c", "`a * b + c` with one rounding.",
        .t(&[F32]).only(RN).ops(&[D, A, A, A]).since(&[since(3, 0, 30)]).pure(eval::fma);
        { fn fma_rn<T: Float>(a: T, b: T, c: T) -> T { Rnd::Rn.get() } }
    DivF = "div", "div.rnd.T d, a, b", "`a / b`, correctly rounded.",
        .t(&[F32]).only(RN).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::div_f);
        { fn div_rn<T: Float>(a: T, b: T) -> T { Rnd::Rn.get() } }
    SqrtF = "sqrt", "sqrt.rnd.T d, a", "Square root, correctly rounded.",
        .t(&[F32]).only(RN).ops(&[D, A]).since(&[since(3, 0, 30)]).pure(eval::sqrt_f);
        { fn sqrt_rn<T: Float>(a: T) -> T { Rnd::Rn.get() } }
    RcpF = "rcp", "rcp.rnd.T d, a", "`1 / a`, correctly rounded.",
        .t(&[F32]).only(RN).ops(&[D, A]).since(&[since(3, 0, 30)]).pure(eval::rcp_f);
        { fn rcp_rn<T: Float>(a: T) -> T { Rnd::Rn.get() } }
    NegF = "neg", "neg.T d, a", "`-a`: the sign bit flipped.",
        .t(&[F32]).ops(&[D, A]).since(&[since(3, 0, 30)]).pure(eval::neg_f);
    AbsF = "abs", "abs.T d, a", "`|a|`: the sign bit cleared.",
        .t(&[F32]).ops(&[D, A]).since(&[since(3, 0, 30)]).pure(eval::abs_f);
        { fn abs<T: Float>(a: T) -> T { } }

    // ---- integer arithmetic --------------------------------------------------------------------------------------
    AddI = "add", "add.T d, a, b", "`a + b`, modulo the width.",
        .t(INTS).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::add_i);
        { fn add_wrapping<T: Int>(a: T, b: T) -> T { } }
    SubI = "sub", "sub.T d, a, b", "`a - b`, modulo the width.",
        .t(INTS).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::sub_i);
        { fn sub_wrapping<T: Int>(a: T, b: T) -> T { } }
    MulI = "mul", "mul.half.T d, a, b", "The low or high half of `a * b`.",
        .t(INTS).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::mul_i);
        { fn mul_lo<T: Int>(a: T, b: T) -> T { Half::Lo.get() } }
        { fn mul_hi<T: Int>(a: T, b: T) -> T { Half::Hi.get() } }
    MulWide = "mul", "mul.wide.T d, a, b", "`a * b` at twice the width.",
        .t(&[U32, S32]).ops(&[operand(Role::Def, WideT), A, A]).since(&[since(3, 0, 30)]).pure(eval::mul_wide);
    MadLo = "mad", "mad.lo.T d, a, b, c", "The low half of `a * b`, plus `c`.",
        .t(INTS).ops(&[D, A, A, A]).since(&[since(3, 0, 30)]).pure(eval::mad_lo);
        { fn mad_lo<T: Int>(a: T, b: T, c: T) -> T { } }
    MadWide = "mad", "mad.wide.T d, a, b, c", "`a * b + c` at twice the width.",
        .t(&[U32, S32]).ops(&[operand(Role::Def, WideT), A, A, operand(Role::Use, WideT)]).since(&[since(3, 0, 30)]).pure(eval::mad_wide);
    Min = "min", "min.T d, a, b", "The smaller operand; a NaN gives the other one.",
        .t(&[U32, S32, U64, S64, F32]).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::min);
        { fn min<T: Number>(a: T, b: T) -> T { } }
    Max = "max", "max.T d, a, b", "The larger operand; a NaN gives the other one.",
        .t(&[U32, S32, U64, S64, F32]).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::max);
        { fn max<T: Number>(a: T, b: T) -> T { } }

    // ---- logic and shift -----------------------------------------------------------------------------------------
    And = "and", "and.T d, a, b", "Bitwise and.",
        .t(&[B32, B64, Pred]).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::and);
    Or = "or", "or.T d, a, b", "Bitwise or.",
        .t(&[B32, B64, Pred]).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::or);
    Xor = "xor", "xor.T d, a, b", "Bitwise exclusive or.",
        .t(&[B32, B64, Pred]).ops(&[D, A, A]).since(&[since(3, 0, 30)]).pure(eval::xor);
    Not = "not", "not.T d, a", "Bitwise complement.",
        .t(&[B32, B64, Pred]).ops(&[D, A]).since(&[since(3, 0, 30)]).pure(eval::not);
    Shl = "shl", "shl.T d, a, b", "Shift left; amounts of the width and above give 0.",
        .t(WORDS).ops(&[D, A, U32_]).since(&[since(3, 0, 30)]).pure(eval::shl);
    Shr = "shr", "shr.T d, a, b", "Shift right, arithmetic for signed types; the amount is clamped to the width.",
        .t(&[U32, S32, U64, S64]).ops(&[D, A, U32_]).since(&[since(3, 0, 30)]).pure(eval::shr);

    // ---- comparison and selection --------------------------------------------------------------------------------
    Setp = "setp", "setp.cmp.T p, a, b", "A predicate from a comparison.",
        .t(&[U32, S32, U64, S64]).only(ORDERED).ops(&[PRED_OUT, A, A]).since(&[since(3, 0, 30)]).pure(eval::setp);
    SetpF = "setp", "setp.cmp.T p, a, b", "A predicate from a comparison; ordered forms are false, unordered ones true on NaN.",
        .t(&[F32]).only(&[(Slot::Cmp, &[Cmp::Eq.get(), Cmp::Ne.get(), Cmp::Lt.get(), Cmp::Le.get(), Cmp::Gt.get(), Cmp::Ge.get(), Cmp::Equ.get(), Cmp::Neu.get(), Cmp::Ltu.get(), Cmp::Leu.get(), Cmp::Gtu.get(), Cmp::Geu.get(), Cmp::Num.get(), Cmp::Nan.get()])])
        .ops(&[PRED_OUT, A, A]).since(&[since(3, 0, 30)]).pure(eval::setp);
    Selp = "selp", "selp.T d, a, b, p", "`a` where the predicate holds, else `b`.",
        .t(&[B16, B32, B64, U32, S32, U64, S64, F32, F64]).ops(&[D, A, A, PRED]).since(&[since(3, 0, 30)]).pure(eval::selp);

    // ---- moves and conversions -----------------------------------------------------------------------------------
    Mov = "mov", "mov.T d, a", "A copy, a literal, a special register or the address of a shared array.",
        .t(&[Pred, B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64]).ops(&[D, A]).since(&[since(3, 0, 30)]).pure(eval::mov);
    MovPack = "mov", "mov.T d, {a}", "Joins two registers, low part first.",
        .t(&[B32, B64]).ops(&[D, operand(Role::Use, PartsT)]).since(&[since(3, 0, 30)]);
    MovUnpack = "mov", "mov.T {d}, a", "Splits a register into two, low part first.",
        .t(&[B32, B64]).ops(&[operand(Role::Def, PartsT), A]).since(&[since(3, 0, 30)]);
    Cvt = "cvt", "cvt.T.S d, a", "Integer conversion: truncation, zero- or sign-extension; f32 to f64 is exact.",
        .t(&[U16, U32, U64, S32, S64, F64]).s(&[U16, U32, U64, S32, F32]).ops(&[D, operand(Role::Use, OpTy::S)]).since(&[since(3, 0, 30)]).pure(eval::cvt);
    CvtF = "cvt", "cvt.rnd.T.S d, a", "Conversion to a float with a rounding.",
        .t(&[F32, F16]).s(&[U32, S32, F64, F32]).only(RN).ops(&[D, operand(Role::Use, OpTy::S)]).since(&[since(3, 0, 30)]).pure(eval::cvt);
    CvtUp = "cvt", "cvt.T.S d, a", "Exact conversion to a wider float.",
        .t(&[F32]).s(&[F16]).ops(&[D, operand(Role::Use, OpTy::S)]).since(&[since(3, 0, 30)]).pure(eval::cvt);
    CvtPack = "cvt", "cvt.rnd.T.S d, a, b", "Two conversions; `a` becomes the upper half.",
        .t(&[F16x2, Bf16x2]).s(&[F32]).only(RN).ops(&[D, operand(Role::Use, OpTy::S), operand(Role::Use, OpTy::S)])
        .since(&[since(7, 0, 80)]).pure(eval::cvt_pack);
    CvtBf16 = "cvt", "cvt.rnd.T.S d, a", "Conversion to bf16.",
        .t(&[Bf16]).s(&[F32]).only(RN).ops(&[D, operand(Role::Use, OpTy::S)]).since(&[since(7, 0, 80)]).pure(eval::cvt);

    // ---- memory --------------------------------------------------------------------------------------------------
    LdParam = "ld", "ld.param.T d, [a]", "Reads a kernel parameter.",
        .t(&[U32, S32, U64, S64, F32, F64, B32, B64]).ops(&[operand(Role::Def, WideT), ADDR]).since(&[since(3, 0, 30)]).does(Effect::Load);
    Ld = "ld", "ld.space{.ldcop}{.l1}{.prefetch}{.vec}.T d, [a]", "Loads a scalar or a vector.",
        .t(MEM_TYPES).only(DATA_SPACES).ops(&[operand(Role::Def, VecT), ADDR])
        .since(LD_SINCE).does(Effect::Load);
    LdNc = "ld", "ld.global.nc{.l1}{.prefetch}{.vec}.T d, [a]", "Loads through the read-only path: no thread may write the location while the kernel runs.",
        .t(MEM_TYPES).ops(&[operand(Role::Def, VecT), ADDR]).since(LD_NC_SINCE).does(Effect::Load);
    St = "st", "st.space{.stcop}{.l1}{.vec}.T [a], b", "Stores a scalar or a vector.",
        .t(MEM_TYPES).only(DATA_SPACES).ops(&[ADDR, operand(Role::Use, VecT)]).since(LD_SINCE).does(Effect::Store);
    CvtaTo = "cvta", "cvta.to.space.T d, a", "The address within a state space, from a generic address.",
        .t(&[U64]).only(GLOBAL).ops(&[D, A]).since(&[since(3, 0, 30)]).pure(eval::mov);

    // ---- warp and block ------------------------------------------------------------------------------------------
    ShflSync = "shfl.sync", "shfl.sync.shfl.T d, a, b, c, m", "Exchanges a register between the lanes of a warp.",
        .t(&[B32]).ops(&[D, operand(Role::UseReg, OpTy::T), U32_, U32_, U32_]).since(&[since(6, 0, 30)]).does(Effect::Shuffle);
    BarSync = "bar", "bar.sync a", "Waits for every thread of the block.",
        .ops(&[U32_]).since(&[since(3, 0, 30)]).does(Effect::Barrier);

    // ---- control -------------------------------------------------------------------------------------------------
    Bra = "bra", "bra{.uni} l", "Jumps; always the last instruction of a block.",
        .ops(&[operand(Role::Imm, Fixed(B32))]).since(&[since(3, 0, 30)]);
    Ret = "ret", "ret", "Ends the thread, in an entry.", .since(&[since(3, 0, 30)]).does(Effect::Exit);
    Exit = "exit", "exit", "Ends the thread.", .since(&[since(3, 0, 30)]).does(Effect::Exit);
    Trap = "trap", "trap", "Stops the kernel with an error.", .since(&[since(3, 0, 30)]).does(Effect::Trap);
}

/// What a special register needs.
pub fn special_since(special: SpecialReg) -> Since {
    let (ptx, sm) = special.since();
    Since { when: &[], ptx, sm: SmReq::AtLeast(sm) }
}
