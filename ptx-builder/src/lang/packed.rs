//! What a vector access moves: elements in their storage dtype, packed as in memory.
//!
//! Two 16-bit elements share a 32-bit register, the lower address in the lower half. Loading keeps them packed, so that a
//! row that waits in registers takes no more of them than its bytes; [`Packed::unpack`] widens to f32, exactly, and
//! [`Packed::pack`] rounds to nearest even, once.
//!
//! Targets without a conversion instruction get the integer sequence that computes the same bits: bf16 before sm_80
//! adds the rounding bias to the upper half (NaN becomes the canonical one), pairs of f16 before sm_80 convert one by one.

use crate::ir;
use crate::isa::mods::{Cmp, Rnd};
use crate::isa::{Mod, Op};
use crate::lang::grid::target;
use crate::ops::select;
use crate::types::{Dtype, Ty};
use crate::value::{B16, B32, F16, Operand, Value, compare, emit_value};

/// A piece of a vector access.
#[derive(Debug, Clone, Copy)]
pub enum Word {
    /// One f32.
    F32(Value<f32>),
    /// Two 16-bit elements.
    Pair(Value<B32>),
    /// One f16.
    F16(Value<F16>),
    /// One bf16.
    Bf16(Value<B16>),
}

impl Word {
    /// Elements that it holds.
    pub const fn elements(self) -> usize {
        match self {
            Word::Pair(_) => 2,
            Word::F32(_) | Word::F16(_) | Word::Bf16(_) => 1,
        }
    }
}

/// Consecutive elements of a buffer, in registers.
#[derive(Debug, Clone)]
pub struct Packed {
    dtype: Dtype,
    words: Vec<Word>,
}

impl Packed {
    /// From words in address order.
    pub(crate) fn new(dtype: Dtype, words: Vec<Word>) -> Packed {
        Packed { dtype, words }
    }

    /// The words in address order.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.words.iter().map(|word| word.elements()).sum()
    }

    /// The elements as f32, exactly.
    #[track_caller]
    pub fn unpack(&self) -> Vec<Value<f32>> {
        let mut out = Vec::with_capacity(self.elements());
        for word in &self.words {
            match (*word, self.dtype) {
                (Word::F32(value), _) => out.push(value),
                (Word::F16(value), _) => out.push(widen_f16(value)),
                (Word::Bf16(value), _) => {
                    let wide: Value<u32> =
                        emit_value(Op::Cvt, &[Mod::t(Ty::U32), Mod::s(Ty::U16)], vec![value.operand()]);
                    out.push((wide << 16u32).bitcast());
                }
                (Word::Pair(pair), Dtype::F16) => {
                    let (low, high) = split_f16(pair);
                    out.extend([widen_f16(low), widen_f16(high)]);
                }
                (Word::Pair(pair), _) => {
                    let bits: Value<u32> = pair.retype();
                    out.push((bits << 16u32).bitcast());
                    out.push((bits & 0xffff_0000u32).bitcast());
                }
            }
        }
        out
    }

    /// Rounds f32 values to `dtype`, once, to nearest even; pairs of 16-bit elements share a register.
    #[track_caller]
    pub fn pack(dtype: Dtype, values: &[Value<f32>]) -> Packed {
        let mut words = Vec::with_capacity(values.len());
        match dtype {
            Dtype::F16 | Dtype::Bf16 => {
                for chunk in values.chunks(2) {
                    words.push(match *chunk {
                        [low, high] => Word::Pair(round_pair(dtype, low, high)),
                        [one] if dtype == Dtype::F16 => Word::F16(round_f16(one)),
                        [one] => Word::Bf16(round_bf16(one)),
                        _ => continue,
                    });
                }
            }
            _ => words.extend(values.iter().map(|value| Word::F32(*value))),
        }
        Packed { dtype, words }
    }
}

#[track_caller]
fn widen_f16(value: Value<F16>) -> Value<f32> {
    emit_value(Op::CvtUp, &[Mod::t(Ty::F32), Mod::s(Ty::F16)], vec![value.operand()])
}

#[track_caller]
fn round_f16(value: Value<f32>) -> Value<F16> {
    emit_value(Op::CvtF, &[Rnd::Rn.get(), Mod::t(Ty::F16), Mod::s(Ty::F32)], vec![value.operand()])
}

#[track_caller]
fn round_bf16(value: Value<f32>) -> Value<B16> {
    if target().number() >= 80 {
        return emit_value(
            Op::CvtBf16,
            &[Rnd::Rn.get(), Mod::t(Ty::Bf16), Mod::s(Ty::F32)],
            vec![value.operand()],
        );
    }
    let upper = bf16_upper_half(value) >> 16u32;
    emit_value(Op::Cvt, &[Mod::t(Ty::U16), Mod::s(Ty::U32)], vec![upper.operand()])
}

#[track_caller]
fn round_pair(dtype: Dtype, low: Value<f32>, high: Value<f32>) -> Value<B32> {
    let ty = if dtype == Dtype::F16 { Ty::F16x2 } else { Ty::Bf16x2 };
    if target().number() >= 80 {
        return emit_value(
            Op::CvtPack,
            &[Rnd::Rn.get(), Mod::t(ty), Mod::s(Ty::F32)],
            vec![high.operand(), low.operand()],
        );
    }
    if dtype == Dtype::F16 {
        let halves = ir::Operand::Vec(vec![round_f16(low).operand(), round_f16(high).operand()]);
        return emit_value(Op::MovPack, &[Mod::t(Ty::B32)], vec![halves]);
    }
    let low = bf16_upper_half(low) >> 16u32;
    (low | (bf16_upper_half(high) & 0xffff_0000u32)).retype()
}

/// The bits of an f32 rounded to bf16, in the upper half; the lower half is not cleared. Adding half a unit of the
/// last kept place, less one if that place is even, carries exactly where round-to-nearest-even rounds up.
#[track_caller]
fn bf16_upper_half(value: Value<f32>) -> Value<u32> {
    let bits: Value<u32> = value.bitcast();
    let odd = (bits >> 16u32) & 1u32;
    let rounded = bits + 0x7fffu32 + odd;
    let is_nan = compare::<f32>(Cmp::Nan, value, value);
    select::<u32>(is_nan, 0x7fff_0000u32, rounded)
}

/// The two halves of a pair, the lower address first.
#[track_caller]
fn split_f16(pair: Value<B32>) -> (Value<F16>, Value<F16>) {
    let place = ir::Place::caller();
    crate::builder::with(|b| {
        let source = match pair.operand_in(b, place) {
            ir::Operand::Imm(imm) => ir::Operand::Reg(b.constant(imm, place)),
            other => other,
        };
        let (low, high) = (b.reg(Ty::F16, false), b.reg(Ty::F16, false));
        let halves = ir::Operand::Vec(vec![ir::Operand::Reg(low.reg), ir::Operand::Reg(high.reg)]);
        b.push(Op::MovUnpack, crate::isa::Mods::new(&[Mod::t(Ty::B32)]), vec![halves, source], None, place);
        (Value::from_handle(low), Value::from_handle(high))
    })
}
