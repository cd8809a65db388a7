//! Lane semantics of the pure rows.
//!
//! A function here selects, by an instruction's modifiers, the warp-wide function that computes it; `None` says that
//! the row does not allow the combination. The arithmetic itself is in [`crate::emu::float`], [`crate::emu::convert`]
//! and [`crate::emu::approx`]; here the modifiers are read.

pub mod bits;
mod compare;
mod convert;
mod float;
pub mod int;
pub mod select;

pub use compare::{max, max3, min, min3, setp};
pub use convert::{cvt, cvt_pack, cvt_pack_int};
pub use float::{
    abs_f, add_f, add_mixed, copysign, cos_approx, div_approx, div_f, div_full, ex2_approx, fma, fma_mixed,
    lg2_approx, mul_f, neg_f, rcp_approx, rcp_f, rsqrt_approx, sin_approx, sqrt_approx, sqrt_f, sub_f,
    sub_mixed, tanh_approx, testp,
};

use super::mods::{Abs, Ftz, IRnd, Mods, Nan, Relu, Rnd, Sat, Satfinite};
use crate::emu::convert::Convert;
use crate::emu::float::compare::MinMax;
use crate::emu::float::{Arith, Rounding};

const FTZ: u32 = 1 << 8;
const SAT: u32 = 1 << 9;
const RELU: u32 = 1 << 10;
const SATFINITE: u32 = 1 << 11;
const NAN: u32 = 1 << 12;
const ABS: u32 = 1 << 13;

/// The modifiers that arithmetic cares about, as the context of a warp function: the rounding in the low byte, a bit for each
/// of the others.
fn context(mods: &Mods) -> u32 {
    let rounding = match (Rnd::of(mods), IRnd::of(mods)) {
        (Some(Rnd::Rz), _) | (None, Some(IRnd::Rzi)) => 1,
        (Some(Rnd::Rm), _) | (None, Some(IRnd::Rmi)) => 2,
        (Some(Rnd::Rp), _) | (None, Some(IRnd::Rpi)) => 3,
        (Some(Rnd::Rna), _) => 4,
        (Some(Rnd::Rn), _) | (None, Some(IRnd::Rni) | None) => 0,
    };
    let bit = |present: bool, bit: u32| if present { bit } else { 0 };
    rounding
        | bit(Ftz::of(mods).is_some(), FTZ)
        | bit(Sat::of(mods).is_some(), SAT)
        | bit(Relu::of(mods).is_some(), RELU)
        | bit(Satfinite::of(mods).is_some(), SATFINITE)
        | bit(Nan::of(mods).is_some(), NAN)
        | bit(Abs::of(mods).is_some(), ABS)
}

#[inline(always)]
const fn rounding(context: u32) -> Rounding {
    match context & 0xff {
        1 => Rounding::Rz,
        2 => Rounding::Rm,
        3 => Rounding::Rp,
        4 => Rounding::Rna,
        _ => Rounding::Rn,
    }
}

#[inline(always)]
const fn ftz(context: u32) -> bool {
    context & FTZ != 0
}

#[inline(always)]
const fn arith(context: u32) -> Arith {
    Arith {
        rounding: rounding(context),
        ftz: ftz(context),
        sat: context & SAT != 0,
        relu: context & RELU != 0,
    }
}

#[inline(always)]
const fn conversion(context: u32) -> Convert {
    Convert {
        rounding: rounding(context),
        ftz: ftz(context),
        sat: context & SAT != 0,
        relu: context & RELU != 0,
        satfinite: context & SATFINITE != 0,
    }
}

#[inline(always)]
const fn extremum(context: u32) -> MinMax {
    MinMax { ftz: ftz(context), nan: context & NAN != 0, abs: context & ABS != 0, xorsign: false }
}
