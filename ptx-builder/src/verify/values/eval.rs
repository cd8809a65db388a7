//! Abstract arithmetic on [`Known`].
//!
//! Low bits of sums and products depend on low bits only, so they are known as far as both operands' are. Threads agree on
//! the high bits of a sum as long as no carry out of the bits in which they differ can reach them.

use super::{Known, mask};
use crate::ir::Inst;
use crate::isa::Op;
use crate::isa::mods::{Cmp, Half, Space};
use crate::types::Ty;

/// The result of a pure instruction whose low bits or agreement can be told better than "agrees if all operands do".
pub(super) fn pure(inst: &Inst, reads: &[Known]) -> Option<Known> {
    let ty = inst.mods.t()?;
    if ty.is_float() {
        return None;
    }
    let width = ty.bits();
    let known = match (inst.op, reads) {
        (Op::Mov, [a]) => *a,
        (Op::CvtaTo, [a]) if Space::of(&inst.mods) == Some(Space::Global) => *a,
        (Op::AddI, [a, b]) => add(*a, *b),
        (Op::SubI, [a, b]) => sub(*a, *b),
        (Op::MulI, [a, b]) if Half::of(&inst.mods) == Some(Half::Lo) => mul(*a, *b, width),
        (Op::MadLo, [a, b, c]) => add(mul(*a, *b, width), *c),
        (Op::MulWide, [a, b]) => return Some(settle(mul(wide(*a, ty), wide(*b, ty), 2 * width), 2 * width)),
        (Op::MadWide, [a, b, c]) => {
            return Some(settle(add(mul(wide(*a, ty), wide(*b, ty), 2 * width), *c), 2 * width));
        }
        (Op::Shl, [a, b]) => shift_left(*a, *b, width)?,
        (Op::Shr, [a, b]) => shift_right(*a, *b, ty)?,
        (Op::And, [a, b]) if width > 1 => and(*a, *b, width),
        (Op::Or, [a, b]) if width > 1 => bitwise(*a, *b, |a, b| a | b),
        (Op::Xor, [a, b]) if width > 1 => bitwise(*a, *b, |a, b| a ^ b),
        (Op::Cvt, [a]) => return convert(*a, inst.mods.s()?, ty),
        (Op::Setp, [a, b]) => return compare(inst, *a, *b, width),
        (Op::Selp, [a, b, p]) => a.join(*b).through(p.warp > 0, p.block > 0),
        _ => return None,
    };
    Some(settle(known, width))
}

/// Cuts what is known to the width of the result.
fn settle(known: Known, width: u32) -> Known {
    let differs = |count: u32| if count >= width { 64 } else { count };
    Known { warp: differs(known.warp), block: differs(known.block), ..known.low(width) }
}

/// A 32-bit operand of a widening product. Its high bits follow from the sign, on which the threads agree if they
/// agree on the highest bit.
fn wide(a: Known, ty: Ty) -> Known {
    let width = ty.bits();
    let a = settle(a, width);
    match a.value(width) {
        Some(bits) if ty.is_signed() => {
            let shift = 64 - width;
            Known { bits: (((bits << shift) as i64) >> shift) as u64, count: 64, ..a }
        }
        Some(bits) => Known { bits, count: 64, ..a },
        None => a,
    }
}

pub(super) fn add(a: Known, b: Known) -> Known {
    let count = a.count.min(b.count);
    let bits = a.bits.wrapping_add(b.bits) & mask(count);
    let agreement = |a_differs: u32, b_differs: u32| sum_differs((a, a_differs), (b, b_differs));
    Known { bits, count, warp: agreement(a.warp, b.warp), block: agreement(a.block, b.block) }
}

/// In how many low bits a sum may differ.
fn sum_differs(a: (Known, u32), b: (Known, u32)) -> u32 {
    let (varying, differs, other) = match (a, b) {
        ((_, 0), (_, 0)) => return 0,
        ((other, 0), (varying, differs)) | ((varying, differs), (other, 0)) => (varying, differs, other),
        _ => return 64,
    };
    // `varying` is a multiple of 2^zeros, so that less than that cannot carry out of the bits that differ.
    let small = other.bits & mask(differs) <= mask(varying.zeros().min(differs));
    if other.count >= differs && small { differs } else { 64 }
}

fn sub(a: Known, b: Known) -> Known {
    let count = a.count.min(b.count);
    let bits = a.bits.wrapping_sub(b.bits) & mask(count);
    let agreement = |a_differs: u32, b_differs: u32| match (a_differs, b_differs) {
        (0, 0) => 0,
        // Without low bits to subtract there is no borrow from the bits that agree.
        (differs, 0) if b.zeros() >= differs => differs,
        _ => 64,
    };
    Known { bits, count, warp: agreement(a.warp, b.warp), block: agreement(a.block, b.block) }
}

fn mul(a: Known, b: Known, width: u32) -> Known {
    // Bits below (known of one + zeros of the other) depend on known bits only.
    let count = (a.count + b.zeros()).min(b.count + a.zeros()).min(64);
    let bits = a.bits.wrapping_mul(b.bits) & mask(count);
    let agreement = |a_differs: u32, b_differs: u32| match (a_differs, b_differs) {
        (0, 0) => 0,
        (differs, 0) => scaled(differs, b, width),
        (0, differs) => scaled(differs, a, width),
        _ => 64,
    };
    Known { bits, count, warp: agreement(a.warp, b.warp), block: agreement(a.block, b.block) }
}

/// In how many bits a value that differs in `differs` bits does after multiplication by `factor`.
fn scaled(differs: u32, factor: Known, width: u32) -> u32 {
    match factor.value(width) {
        Some(0) => 0,
        Some(value) if value.is_power_of_two() => (differs + value.trailing_zeros()).min(64),
        _ => 64,
    }
}

fn shift_left(a: Known, b: Known, width: u32) -> Option<Known> {
    let by = u32::try_from(b.value(32)?).ok()?;
    if by >= width {
        return Some(Known { count: 64, bits: 0, warp: 0, block: 0 });
    }
    let differs = |count: u32| if count == 0 { 0 } else { (count + by).min(64) };
    Some(Known {
        bits: a.bits << by,
        count: (a.count + by).min(64),
        warp: differs(a.warp),
        block: differs(a.block),
    })
}

fn shift_right(a: Known, b: Known, ty: Ty) -> Option<Known> {
    let width = ty.bits();
    let by = u32::try_from(b.value(32)?).ok()?.min(width);
    let differs = |count: u32| if count >= width { 64 } else { count.saturating_sub(by) };
    let all = a.value(width).filter(|_| !ty.is_signed() && by < width);
    let (bits, count) = match all {
        Some(value) => (value >> by, width),
        None if by < a.count => ((a.bits & mask(width)) >> by, a.count.min(width).saturating_sub(by)),
        None => (0, 0),
    };
    Some(Known { bits: bits & mask(count), count, warp: differs(a.warp), block: differs(a.block) })
}

fn and(a: Known, b: Known, width: u32) -> Known {
    // Known zeros of one operand are known zeros of the result.
    let zeros = a.zeros().max(b.zeros());
    let both = a.count.min(b.count);
    let (bits, count) = if zeros >= both { (0, zeros) } else { (a.bits & b.bits & mask(both), both) };
    let kept = |differs: u32, other: Known| match other.value(width) {
        Some(selects) if selects & mask(differs) == 0 => 0,
        Some(selects) => differs.min(64 - selects.leading_zeros()),
        None if other.zeros() >= differs => 0,
        None => differs,
    };
    let agreement = |a_differs: u32, b_differs: u32| kept(a_differs, b).max(kept(b_differs, a));
    Known { bits, count, warp: agreement(a.warp, b.warp), block: agreement(a.block, b.block) }
}

fn bitwise(a: Known, b: Known, f: fn(u64, u64) -> u64) -> Known {
    let count = a.count.min(b.count);
    let bits = f(a.bits, b.bits) & mask(count);
    Known { bits, count, warp: a.warp.max(b.warp), block: a.block.max(b.block) }
}

fn convert(a: Known, from: Ty, to: Ty) -> Option<Known> {
    if !from.is_int() || !to.is_int() {
        return None;
    }
    let own = settle(a, from.bits());
    Some(settle(if to.bits() > from.bits() { wide(own, from) } else { own }, to.bits()))
}

/// A comparison decides alike in all threads where the bits that differ cannot matter: `i < n` with `n` a multiple of 32
/// and `i` a multiple of 32 plus the lane index.
fn compare(inst: &Inst, a: Known, b: Known, width: u32) -> Option<Known> {
    let cmp = Cmp::of(&inst.mods)?;
    let agreement = |a_differs: u32, b_differs: u32| {
        let decided = match (a_differs, b_differs) {
            (0, 0) => true,
            (differs, 0) => match cmp {
                Cmp::Lt | Cmp::Ge | Cmp::Lo | Cmp::Hs => ends_below(a, differs, b, 0, width),
                Cmp::Le | Cmp::Gt | Cmp::Ls | Cmp::Hi => ends_below(a, differs, b, 1, width),
                _ => false,
            },
            (0, differs) => match cmp {
                Cmp::Gt | Cmp::Le | Cmp::Hi | Cmp::Ls => ends_below(b, differs, a, 0, width),
                Cmp::Ge | Cmp::Lt | Cmp::Hs | Cmp::Lo => ends_below(b, differs, a, 1, width),
                _ => false,
            },
            _ => false,
        };
        if decided { 0 } else { 64 }
    };
    Some(Known { bits: 0, count: 0, warp: agreement(a.warp, b.warp), block: agreement(a.block, b.block) })
}

/// Whether `value < limit + plus` does not depend on the low `differs` bits of `value`: rounded up to the step of `value`,
/// the limit has zeros there.
fn ends_below(value: Known, differs: u32, limit: Known, plus: u64, width: u32) -> bool {
    if differs >= width || limit.count < differs {
        return false;
    }
    let step = mask(value.zeros().min(differs));
    let low = (limit.bits & mask(differs)) + plus;
    (low + step) & !step & mask(differs) == 0
}
