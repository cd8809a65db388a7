//! Bit sets with ranges that several threads fill: which bytes are initialized, which sectors were touched.
//!
//! Bits are only ever set while a kernel runs, so relaxed operations suffice: a thread sees its own bits, and all of them
//! after the threads have been joined.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A set of bit positions.
#[derive(Debug, Default)]
pub(crate) struct Bits {
    words: Vec<AtomicU32>,
}

/// Calls `f` with each word of `start..end` and the bits of the range within it, until it says no.
#[inline(always)]
fn each_word(start: usize, end: usize, mut f: impl FnMut(usize, u32) -> bool) -> bool {
    if start >= end {
        return true;
    }
    let (first, last) = (start / 32, (end - 1) / 32);
    let head = u32::MAX << (start % 32);
    let tail = u32::MAX >> (31 - (end - 1) % 32);
    if first == last {
        return f(first, head & tail);
    }
    f(first, head) && (first + 1..last).all(|word| f(word, u32::MAX)) && f(last, tail)
}

impl Bits {
    /// Room for positions below `len`, none of them set.
    pub(crate) fn new(len: usize) -> Bits {
        Bits { words: (0..len.div_ceil(32)).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Whether all of `start..end` are set.
    #[inline]
    pub(crate) fn all(&self, start: usize, end: usize) -> bool {
        each_word(start, end, |word, mask| self.words[word].load(Relaxed) & mask == mask)
    }

    /// Sets `start..end`.
    #[inline]
    pub(crate) fn set(&self, start: usize, end: usize) {
        each_word(start, end, |word, mask| {
            let bits = &self.words[word];
            let before = bits.load(Relaxed);
            if mask == u32::MAX {
                bits.store(mask, Relaxed);
            } else if before & mask != mask {
                bits.fetch_or(mask, Relaxed);
            }
            true
        });
    }

    /// Clears everything.
    pub(crate) fn clear(&self) {
        self.words.iter().for_each(|word| word.store(0, Relaxed));
    }

    /// The first position of `start..end` that is not set.
    pub(crate) fn first_clear(&self, start: usize, end: usize) -> Option<usize> {
        (start..end).find(|at| self.words[at / 32].load(Relaxed) >> (at % 32) & 1 == 0)
    }

    /// Number of set positions.
    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
    }

    /// The words.
    pub(crate) fn snapshot(&self) -> Vec<u32> {
        self.words.iter().map(|word| word.load(Relaxed)).collect()
    }

    /// Puts the words of a snapshot back.
    pub(crate) fn restore(&self, words: &[u32]) {
        self.words.iter().zip(words).for_each(|(word, value)| word.store(*value, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cross_words() {
        let bits = Bits::new(100);
        bits.set(30, 70);
        assert!(bits.all(30, 70) && !bits.all(29, 70) && !bits.all(30, 71));
        assert_eq!((bits.first_clear(30, 100), bits.first_clear(30, 70), bits.count()), (Some(70), None, 40));
        let saved = bits.snapshot();
        bits.clear();
        assert_eq!(bits.count(), 0);
        bits.restore(&saved);
        assert_eq!(bits.count(), 40);
        assert!(bits.all(5, 5));
    }
}
