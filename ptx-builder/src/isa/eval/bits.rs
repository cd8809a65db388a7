//! Logic, shifts, bit fields, moves.

use crate::emu::lane::{WarpFn, lanes};
use crate::isa::mods::{Amount, Direction, Mods, ShiftAmt};
use crate::types::Ty;

macro_rules! logic {
    ($($(#[$doc:meta])* $name:ident, |$($a:ident),*| $body:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(mods: &Mods) -> Option<WarpFn> {
            match mods.t()? {
                Ty::B16 => Some(lanes!(|$($a: u16),*| -> u16 { $body })),
                Ty::B32 => Some(lanes!(|$($a: u32),*| -> u32 { $body })),
                Ty::B64 => Some(lanes!(|$($a: u64),*| -> u64 { $body })),
                Ty::Pred => Some(lanes!(|$($a: bool),*| -> bool { $body })),
                _ => None,
            }
        }
    )*};
}

logic! {
    /// `and`.
    and, |a, b| a & b;
    /// `or`.
    or, |a, b| a | b;
    /// `xor`.
    xor, |a, b| a ^ b;
    /// `not`.
    not, |a| !a;
}

/// `lop3`: the table has one bit for each combination of the operands' bits.
pub fn lop3(_: &Mods) -> Option<WarpFn> {
    Some(lanes!(|a: u32, b: u32, c: u32, lut: u32| -> u32 {
        let mut d = 0;
        for index in 0..8 {
            let term = (if index & 4 != 0 { a } else { !a })
                & (if index & 2 != 0 { b } else { !b })
                & (if index & 1 != 0 { c } else { !c });
            d |= if lut >> index & 1 == 1 { term } else { 0 };
        }
        d
    }))
}

/// `shl`.
pub fn shl(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::B16 => Some(lanes!(|a: u16, b: u32| -> u16 { a.checked_shl(b).unwrap_or(0) })),
        Ty::B32 => Some(lanes!(|a: u32, b: u32| -> u32 { a.checked_shl(b).unwrap_or(0) })),
        Ty::B64 => Some(lanes!(|a: u64, b: u32| -> u64 { a.checked_shl(b).unwrap_or(0) })),
        _ => None,
    }
}

/// `shr`.
pub fn shr(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U16 => Some(lanes!(|a: u16, b: u32| -> u16 { a.checked_shr(b).unwrap_or(0) })),
        Ty::S16 => Some(lanes!(|a: i16, b: u32| -> i16 { a >> b.min(15) })),
        Ty::U32 => Some(lanes!(|a: u32, b: u32| -> u32 { a.checked_shr(b).unwrap_or(0) })),
        Ty::S32 => Some(lanes!(|a: i32, b: u32| -> i32 { a >> b.min(31) })),
        Ty::U64 => Some(lanes!(|a: u64, b: u32| -> u64 { a.checked_shr(b).unwrap_or(0) })),
        Ty::S64 => Some(lanes!(|a: i64, b: u32| -> i64 { a >> b.min(63) })),
        _ => None,
    }
}

/// The 64 bits whose low word is `low`.
#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// `shf`.
pub fn shf(mods: &Mods) -> Option<WarpFn> {
    Some(match (Direction::of(mods)?, Amount::of(mods)?) {
        (Direction::L, Amount::Wrap) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (pair(a, b) << (c & 31) >> 32) as u32 })
        }
        (Direction::L, Amount::Clamp) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (pair(a, b) << c.min(32) >> 32) as u32 })
        }
        (Direction::R, Amount::Wrap) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (pair(a, b) >> (c & 31)) as u32 })
        }
        (Direction::R, Amount::Clamp) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (pair(a, b) >> c.min(32)) as u32 })
        }
    })
}

/// `prmt` in its default mode.
pub fn prmt(_: &Mods) -> Option<WarpFn> {
    Some(lanes!(|a: u32, b: u32, c: u32| -> u32 {
        let bytes = pair(a, b).to_le_bytes();
        let mut d = [0; 4];
        for (i, d) in d.iter_mut().enumerate() {
            let selector = c >> (4 * i) & 15;
            let byte = bytes[(selector & 7) as usize];
            *d = if selector & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 };
        }
        u32::from_le_bytes(d)
    }))
}

/// `bfe` of `width` bits: start and length are bytes; what lies beyond the word is the sign.
#[inline(always)]
fn extract(word: u64, width: u32, signed: bool, start: u32, length: u32) -> u64 {
    let (start, length) = (start & 255, length & 255);
    let last = (start + length).min(width).saturating_sub(1).min(width - 1);
    let negative = signed && length > 0 && word >> last & 1 == 1;
    let field = if start >= width { 0 } else { word >> start };
    let kept = length.min(width.saturating_sub(start));
    let mask = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    let all = u64::MAX >> (64 - width);
    if negative { (field & mask | !mask) & all } else { field & mask }
}

/// `bfe`.
pub fn bfe(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::U32 => {
            Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { extract(a.into(), 32, false, b, c) as u32 }))
        }
        Ty::S32 => Some(lanes!(|a: u32, b: u32, c: u32| -> u32 { extract(a.into(), 32, true, b, c) as u32 })),
        Ty::U64 => Some(lanes!(|a: u64, b: u32, c: u32| -> u64 { extract(a, 64, false, b, c) })),
        Ty::S64 => Some(lanes!(|a: u64, b: u32, c: u32| -> u64 { extract(a, 64, true, b, c) })),
        _ => None,
    }
}

/// `bfi` of `width` bits.
#[inline(always)]
fn insert(field: u64, into: u64, width: u32, start: u32, length: u32) -> u64 {
    let (start, length) = (start & 255, length & 255);
    let kept = length.min(width.saturating_sub(start));
    if kept == 0 {
        return into;
    }
    let mask = u64::MAX >> (64 - kept) << start;
    into & !mask | field << start & mask
}

/// `bfi`.
pub fn bfi(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::B32 => Some(lanes!(|a: u32, b: u32, c: u32, d: u32| -> u32 {
            insert(a.into(), b.into(), 32, c, d) as u32
        })),
        Ty::B64 => Some(lanes!(|a: u64, b: u64, c: u32, d: u32| -> u64 { insert(a, b, 64, c, d) })),
        _ => None,
    }
}

/// `bfind`: of a negative number the highest zero is looked for.
pub fn bfind(mods: &Mods) -> Option<WarpFn> {
    /// The position, or with `shift` the distance to the top.
    #[inline(always)]
    fn find(word: u64, width: u32, shift: bool) -> u32 {
        match word {
            0 => u32::MAX,
            word if shift => word.leading_zeros() + width - 64,
            word => 63 - word.leading_zeros(),
        }
    }
    let shift = ShiftAmt::of(mods).is_some();
    match (mods.t()?, shift) {
        (Ty::U32, false) => Some(lanes!(|a: u32| -> u32 { find(a.into(), 32, false) })),
        (Ty::U32, true) => Some(lanes!(|a: u32| -> u32 { find(a.into(), 32, true) })),
        (Ty::S32, false) => {
            Some(lanes!(|a: i32| -> u32 { find(u64::from((a ^ a >> 31) as u32), 32, false) }))
        }
        (Ty::S32, true) => Some(lanes!(|a: i32| -> u32 { find(u64::from((a ^ a >> 31) as u32), 32, true) })),
        (Ty::U64, false) => Some(lanes!(|a: u64| -> u32 { find(a, 64, false) })),
        (Ty::U64, true) => Some(lanes!(|a: u64| -> u32 { find(a, 64, true) })),
        (Ty::S64, false) => Some(lanes!(|a: i64| -> u32 { find((a ^ a >> 63) as u64, 64, false) })),
        (Ty::S64, true) => Some(lanes!(|a: i64| -> u32 { find((a ^ a >> 63) as u64, 64, true) })),
        _ => None,
    }
}

/// `popc`.
pub fn popc(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::B32 => Some(lanes!(|a: u32| -> u32 { a.count_ones() })),
        Ty::B64 => Some(lanes!(|a: u64| -> u32 { a.count_ones() })),
        _ => None,
    }
}

/// `clz`.
pub fn clz(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::B32 => Some(lanes!(|a: u32| -> u32 { a.leading_zeros() })),
        Ty::B64 => Some(lanes!(|a: u64| -> u32 { a.leading_zeros() })),
        _ => None,
    }
}

/// `brev`.
pub fn brev(mods: &Mods) -> Option<WarpFn> {
    match mods.t()? {
        Ty::B32 => Some(lanes!(|a: u32| -> u32 { a.reverse_bits() })),
        Ty::B64 => Some(lanes!(|a: u64| -> u64 { a.reverse_bits() })),
        _ => None,
    }
}

/// `mov` of one register.
pub fn mov(mods: &Mods) -> Option<WarpFn> {
    match mods.t()?.bits() {
        1 => Some(lanes!(|a: bool| -> bool { a })),
        16 => Some(lanes!(|a: u16| -> u16 { a })),
        32 => Some(lanes!(|a: u32| -> u32 { a })),
        64 => Some(lanes!(|a: u64| -> u64 { a })),
        _ => None,
    }
}

/// `createpolicy.fractional`. The encoding of a policy is opaque; here it holds the fraction, so that equal policies
/// are equal and none is 0.
pub fn create_policy(_: &Mods) -> Option<WarpFn> {
    Some(lanes!(|fraction: u32| -> u64 { 1 << 63 | u64::from(fraction) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Mod;

    fn run(select: fn(&Mods) -> Option<WarpFn>, mods: &[Mod], operands: &[u64]) -> u64 {
        select(&Mods::new(mods)).and_then(|f| f.scalar(operands)).expect("the row has these modifiers")
    }

    #[test]
    fn lop3_reads_its_table() {
        let (a, b, c) = (0xf0f0_f0f0, 0xcccc_cccc, 0xaaaa_aaaa);
        for lut in [0x80u64, 0xfe, 0x96, 0xe8, 0x1b, 0, 0xff] {
            let d = run(lop3, &[], &[a, b, c, lut]);
            // The operands run through all combinations, so every byte of the result is the table.
            assert_eq!(d, lut * 0x0101_0101, "{lut:#x}");
        }
    }

    #[test]
    fn funnel_shifts_wrap_or_clamp() {
        let shift = |direction: Direction, amount: Amount, by| {
            run(shf, &[direction.get(), amount.get()], &[0x8000_0001, 0x1234_5678, by])
        };
        assert_eq!(shift(Direction::L, Amount::Wrap, 36), 0x2345_6788);
        assert_eq!(shift(Direction::L, Amount::Clamp, 40), 0x8000_0001);
        assert_eq!(shift(Direction::R, Amount::Wrap, 4), 0x8800_0000);
        assert_eq!(shift(Direction::R, Amount::Clamp, 32), 0x1234_5678);
    }

    #[test]
    fn permute_picks_bytes_and_spreads_signs() {
        let pick = |selector| run(prmt, &[], &[0x8322_1100, 0x7766_5544, selector]);
        assert_eq!(pick(0x3210), 0x8322_1100);
        assert_eq!(pick(0x7654), 0x7766_5544);
        assert_eq!(pick(0x0123), 0x0011_2283);
        assert_eq!(pick(0xb080), 0xff00_0000);
    }

    #[test]
    fn fields_are_cut_at_the_word() {
        let field = |ty, word, start, length| run(bfe, &[Mod::t(ty)], &[word, start, length]);
        assert_eq!(field(Ty::U32, 0xabcd_ef12, 8, 8), 0xef);
        assert_eq!(field(Ty::S32, 0xabcd_ef12, 8, 8), 0xffff_ffef);
        assert_eq!(field(Ty::S32, 0x8000_0000, 31, 5), 0xffff_ffff);
        assert_eq!(field(Ty::U32, 0x8000_0000, 28, 9), 8);
        assert_eq!(field(Ty::S32, 0x8000_0000, 40, 4), 0xffff_ffff);
        assert_eq!(field(Ty::S64, 0xf0, 4, 4), u64::MAX);
        assert_eq!(field(Ty::U64, u64::MAX, 0, 64), u64::MAX);
        let put = |ty, field, word, start, length| run(bfi, &[Mod::t(ty)], &[field, word, start, length]);
        assert_eq!(put(Ty::B32, 0xff, 0, 8, 4), 0xf00);
        assert_eq!(put(Ty::B32, 0xff, 0x1234_5678, 32, 4), 0x1234_5678);
        assert_eq!(put(Ty::B64, u64::MAX, 0, 60, 10), 0xf << 60);
    }

    #[test]
    fn the_highest_bit_is_found() {
        let find = |ty, word| run(bfind, &[Mod::t(ty)], &[word]);
        assert_eq!(find(Ty::U32, 0), 0xffff_ffff);
        assert_eq!(find(Ty::U32, 0x1000), 12);
        assert_eq!(find(Ty::S32, 0xffff_ffff), 0xffff_ffff);
        assert_eq!(find(Ty::S32, 0xffff_0000), 15);
        assert_eq!(find(Ty::S64, u64::MAX << 40), 39);
        assert_eq!(run(bfind, &[ShiftAmt::ShiftAmt.get(), Mod::t(Ty::U32)], &[0x1000]), 19);
    }

    #[test]
    fn shifts_beyond_the_width() {
        assert_eq!(run(shl, &[Mod::t(Ty::B32)], &[1, 32]), 0);
        assert_eq!(run(shr, &[Mod::t(Ty::S32)], &[0x8000_0000, 99]), 0xffff_ffff);
        assert_eq!(run(shr, &[Mod::t(Ty::U64)], &[1 << 63, 63]), 1);
        assert_eq!(run(shr, &[Mod::t(Ty::S16)], &[0x8000, 3]), 0xf000);
    }
}
