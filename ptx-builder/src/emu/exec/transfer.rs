//! Moves between memory and registers, after all checks.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::memory::Spot;
use crate::emu::decode::{MemOp, Slot, extend};
use crate::emu::lane::{Class, LANES, RegFile};

/// The words of a whole warp, `N` for each lane; known sizes spare the loops their bounds checks.
fn warp_words<const N: usize>(words: &[AtomicU32]) -> Option<&[[AtomicU32; N]; LANES]> {
    words.as_chunks::<N>().0.first_chunk::<LANES>()
}

fn fetch_words<const N: usize>(words: &[AtomicU32], regs: &mut RegFile, slots: [Slot; N]) -> Option<()> {
    let words = warp_words::<N>(words)?;
    for (k, slot) in slots.iter().enumerate() {
        let out = &mut regs.w32[slot.at as usize];
        for lane in 0..LANES {
            out[lane] = words[lane][k].load(Relaxed);
        }
    }
    Some(())
}

fn put_words<const N: usize>(words: &[AtomicU32], regs: &RegFile, slots: [Slot; N]) -> Option<()> {
    let words = warp_words::<N>(words)?;
    let values: [&[u32; LANES]; N] = slots.map(|slot| &regs.w32[slot.at as usize]);
    for lane in 0..LANES {
        for k in 0..N {
            words[lane][k].store(values[k][lane], Relaxed);
        }
    }
    Some(())
}

/// Bytes of a word array, at most 8, within one aligned unit of their size.
pub(super) fn get(words: &[AtomicU32], byte: usize, width: u32) -> u64 {
    let word = |at: usize| words.get(at).map_or(0, |word| u64::from(word.load(Relaxed)));
    match width {
        8 => word(byte / 4) | word(byte / 4 + 1) << 32,
        _ => word(byte / 4) >> (8 * (byte % 4)),
    }
}

/// Replaces such bytes.
pub(super) fn set(words: &[AtomicU32], byte: usize, width: u32, bits: u64) {
    let Some(word) = words.get(byte / 4) else { return };
    match width {
        8 => {
            word.store(bits as u32, Relaxed);
            if let Some(upper) = words.get(byte / 4 + 1) {
                upper.store((bits >> 32) as u32, Relaxed);
            }
        }
        4 => word.store(bits as u32, Relaxed),
        _ => {
            let shift = 8 * (byte % 4) as u32;
            write_part(word, (u32::MAX >> (32 - 8 * width)) << shift, (bits as u32) << shift);
        }
    }
}

/// Moves a spot's bytes into registers.
pub(super) fn fetch(
    words: &[AtomicU32],
    regs: &mut RegFile,
    op: &MemOp,
    spot: &Spot,
    uniform: bool,
    active: u32,
) {
    let elem = op.elem;
    if uniform {
        for (k, slot) in op.regs.iter().enumerate() {
            let raw = get(words, spot.byte + k * elem as usize, elem);
            regs.fill(slot.class, slot.at, extend(raw, elem * 8, op.sign), active);
        }
        return;
    }
    if op.words && spot.lanes == 32 {
        let source = &words[spot.byte / 4..];
        let done = match op.regs.as_slice() {
            [a] => fetch_words(source, regs, [*a]),
            [a, b] => fetch_words(source, regs, [*a, *b]),
            [a, b, c, d] => fetch_words(source, regs, [*a, *b, *c, *d]),
            _ => None,
        };
        if done.is_some() {
            return;
        }
    }
    let count = op.regs.len();
    let (first, lanes) = (spot.lane as usize, spot.lanes as usize);
    for (k, slot) in op.regs.iter().enumerate() {
        match (elem, slot.class) {
            (4, Class::W32) => {
                let at = spot.byte / 4;
                let source = &words[at..at + lanes * count];
                let out = &mut regs.w32[slot.at as usize][first..first + lanes];
                for (lane, out) in out.iter_mut().enumerate() {
                    *out = source[lane * count + k].load(Relaxed);
                }
            }
            _ => {
                for lane in 0..lanes {
                    let byte = spot.byte + (lane * count + k) * elem as usize;
                    let bits = extend(get(words, byte, elem), elem * 8, op.sign);
                    regs.set(slot.class, slot.at, first + lane, bits);
                }
            }
        }
    }
}

/// Moves registers into a spot's bytes.
pub(super) fn put(words: &[AtomicU32], regs: &RegFile, op: &MemOp, spot: &Spot) {
    if op.words && spot.lanes == 32 {
        let target = &words[spot.byte / 4..];
        let done = match op.regs.as_slice() {
            [a] => put_words(target, regs, [*a]),
            [a, b] => put_words(target, regs, [*a, *b]),
            [a, b, c, d] => put_words(target, regs, [*a, *b, *c, *d]),
            _ => None,
        };
        if done.is_some() {
            return;
        }
    }
    let count = op.regs.len();
    let (first, lanes) = (spot.lane as usize, spot.lanes as usize);
    let elem = op.elem as usize;
    match op.elem {
        4 | 8 => {
            for (k, slot) in op.regs.iter().enumerate() {
                for lane in 0..lanes {
                    let at = (spot.byte + (lane * count + k) * elem) / 4;
                    let bits = value(regs, *slot, first + lane);
                    words[at].store(bits as u32, Relaxed);
                    if elem == 8 {
                        words[at + 1].store((bits >> 32) as u32, Relaxed);
                    }
                }
            }
        }
        _ => {
            // Whole words are stored at once; the first and the last may be partial, and another thread may be writing
            // the bytes beside ours.
            let (mut word, mut mask, mut bits) = (spot.byte / 4, 0u32, 0u32);
            for lane in 0..lanes {
                for (k, slot) in op.regs.iter().enumerate() {
                    let byte = spot.byte + (lane * count + k) * elem;
                    if byte / 4 != word {
                        write_part(&words[word], mask, bits);
                        (word, mask, bits) = (byte / 4, 0, 0);
                    }
                    let shift = 8 * (byte % 4);
                    let ones = u32::MAX >> (32 - 8 * elem);
                    mask |= ones << shift;
                    bits |= (value(regs, *slot, first + lane) as u32 & ones) << shift;
                }
            }
            write_part(&words[word], mask, bits);
        }
    }
}

#[inline(always)]
pub(super) fn value(regs: &RegFile, slot: Slot, lane: usize) -> u64 {
    regs.get(slot.class, slot.at, lane)
}

fn write_part(word: &AtomicU32, mask: u32, bits: u32) {
    if mask == u32::MAX {
        word.store(bits, Relaxed);
    } else {
        word.fetch_and(!mask, Relaxed);
        word.fetch_or(bits, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_words_leave_their_neighbors() {
        let words = [AtomicU32::new(0x4433_2211), AtomicU32::new(0)];
        write_part(&words[0], 0xff00, 0xaa00);
        assert_eq!(words[0].load(Relaxed), 0x4433_aa11);
        assert_eq!(get(&words, 1, 1) & 0xff, 0xaa);
        assert_eq!(get(&words, 2, 2) & 0xffff, 0x4433);
        assert_eq!(get(&words, 0, 8), 0x4433_aa11);
    }
}
