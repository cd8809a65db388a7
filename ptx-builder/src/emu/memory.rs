//! Device memory: named buffers, each with its own address range, access rights and record of what was written.
//!
//! * Addresses are 64 bits and tell the buffer: buffer `i` begins half a tebibyte into the `i+1`-th tebibyte, so
//!   whatever runs over either end of it meets no other buffer.
//! * A buffer begins at a multiple of 256 bytes, as device allocations do, unless a byte offset shifts it.
//! * Contents are 32-bit words behind relaxed atomics: blocks run on several threads, and a kernel may race. Numbers are
//!   little-endian, as on the device.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::bits::Bits;

const ZONE_BITS: u32 = 40;
const ZONE_MIDDLE: u64 = 1 << (ZONE_BITS - 1);

/// What a kernel may do with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Stores are findings, and dropped.
    ReadOnly,
    /// Loads and stores.
    ReadWrite,
    /// Loads see only what the same launch stored: a launch begins with zeros that count as uninitialized.
    WriteOnly,
}

/// A buffer of a [`Memory`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub(crate) u32);

/// What a buffer holds at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// These bytes.
    Bytes(Vec<u8>),
    /// This many bytes that nobody has written.
    Uninit(u64),
}

#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) access: Access,
    /// Bytes before the first one within the first word.
    pub(crate) head: usize,
    /// Bytes from the multiple of 256 before the buffer to the first word.
    pub(crate) skew: usize,
    pub(crate) len: usize,
    /// Address of the first byte.
    pub(crate) base: u64,
    pub(crate) words: Vec<AtomicU32>,
    /// Initialized bytes, counted as in `words`.
    pub(crate) init: Bits,
    /// Whether all bytes were initialized when the launch began.
    pub(crate) complete: bool,
}

/// Where an address leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// To this byte of a buffer's storage.
    Inside { buffer: u32, byte: usize },
    /// Next to a buffer: the offset from its first byte.
    Outside { buffer: u32, offset: i64 },
    /// Nowhere.
    Unmapped,
}

/// The buffers of a device.
#[derive(Debug, Default)]
pub struct Memory {
    pub(crate) buffers: Vec<Buffer>,
}

impl Memory {
    /// No buffers.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Adds a buffer that begins at a multiple of 256 bytes.
    pub fn add(&mut self, name: &str, access: Access, contents: Contents) -> BufferId {
        self.add_at(name, access, contents, 0)
    }

    /// Adds a buffer that begins `byte_offset` bytes (below 256) after a multiple of 256.
    pub fn add_at(&mut self, name: &str, access: Access, contents: Contents, byte_offset: u32) -> BufferId {
        let id = self.buffers.len() as u32;
        let shift = u64::from(byte_offset % 256);
        let head = (shift % 4) as usize;
        let len = match &contents {
            Contents::Bytes(bytes) => bytes.len(),
            Contents::Uninit(len) => *len as usize,
        };
        let buffer = Buffer {
            name: name.to_owned(),
            access,
            head,
            skew: shift as usize - head,
            len,
            base: ((u64::from(id) + 1) << ZONE_BITS) + ZONE_MIDDLE + shift,
            words: (0..(head + len).div_ceil(4)).map(|_| AtomicU32::new(0)).collect(),
            init: Bits::new(head + len),
            complete: false,
        };
        self.buffers.push(buffer);
        let id = BufferId(id);
        if let Contents::Bytes(bytes) = contents {
            self.write(id, 0, &bytes);
        }
        id
    }

    fn get(&self, id: BufferId) -> Option<&Buffer> {
        self.buffers.get(id.0 as usize)
    }

    /// The name of a buffer; empty if it is not of this memory.
    pub fn name(&self, id: BufferId) -> &str {
        self.get(id).map_or("", |buffer| &buffer.name)
    }

    /// Bytes of a buffer; 0 if it is not of this memory.
    pub fn len(&self, id: BufferId) -> u64 {
        self.get(id).map_or(0, |buffer| buffer.len as u64)
    }

    /// Whether there are no buffers.
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// The device address of a buffer's first byte; 0 if it is not of this memory.
    pub fn address(&self, id: BufferId) -> u64 {
        self.get(id).map_or(0, |buffer| buffer.base)
    }

    /// Writes bytes from the host and marks them as initialized; `false` if they do not fit.
    pub fn write(&mut self, id: BufferId, offset: u64, bytes: &[u8]) -> bool {
        let Some(buffer) = self.buffers.get_mut(id.0 as usize) else { return false };
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > buffer.len as u64) {
            return false;
        }
        let start = buffer.head + offset as usize;
        let mut put = |at: usize, byte: u8| {
            let word = buffer.words[at / 4].get_mut();
            let shift = 8 * (at % 4);
            *word = *word & !(0xff << shift) | u32::from(byte) << shift;
        };
        // Bytes up to the first whole word, whole words, the rest.
        let (first, rest) = bytes.split_at(bytes.len().min((4 - start % 4) % 4));
        first.iter().enumerate().for_each(|(i, byte)| put(start + i, *byte));
        let (whole, last) = rest.as_chunks::<4>();
        let end = start + bytes.len() - last.len();
        last.iter().enumerate().for_each(|(i, byte)| put(end + i, *byte));
        let words = buffer.words[(start + first.len()) / 4..].iter_mut();
        words.zip(whole).for_each(|(word, bytes)| *word.get_mut() = u32::from_le_bytes(*bytes));
        buffer.init.set(start, start + bytes.len());
        true
    }

    /// All bytes of a buffer; those that nobody wrote are 0.
    pub fn bytes(&self, id: BufferId) -> Vec<u8> {
        let Some(buffer) = self.get(id) else { return Vec::new() };
        let mut bytes: Vec<u8> =
            buffer.words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).skip(buffer.head).collect();
        bytes.truncate(buffer.len);
        bytes
    }

    /// The first byte of a buffer that nobody has written.
    pub fn first_uninit(&self, id: BufferId) -> Option<u64> {
        let buffer = self.get(id)?;
        let at = buffer.init.first_clear(buffer.head, buffer.head + buffer.len)?;
        Some((at - buffer.head) as u64)
    }

    /// Prepares for a launch.
    pub(crate) fn begin(&mut self) {
        for buffer in &mut self.buffers {
            if buffer.access == Access::WriteOnly {
                // The bytes stay: what a kernel leaves between strided rows is the caller's.
                buffer.init.clear();
            }
            buffer.complete = buffer.init.all(buffer.head, buffer.head + buffer.len);
        }
    }

    /// The contents of everything that a kernel may change, after [`begin`](Memory::begin).
    pub(crate) fn snapshot(&self) -> Snapshot {
        let of = |buffer: &Buffer| match buffer.access {
            Access::ReadOnly => (Vec::new(), Vec::new()),
            Access::WriteOnly | Access::ReadWrite => {
                (buffer.words.iter().map(|word| word.load(Relaxed)).collect(), buffer.init.snapshot())
            }
        };
        Snapshot(self.buffers.iter().map(of).collect())
    }

    /// Puts a snapshot back.
    pub(crate) fn restore(&self, snapshot: &Snapshot) {
        for (buffer, (words, init)) in self.buffers.iter().zip(&snapshot.0) {
            match buffer.access {
                Access::ReadOnly => {}
                Access::WriteOnly | Access::ReadWrite => {
                    buffer.words.iter().zip(words).for_each(|(word, value)| word.store(*value, Relaxed));
                    buffer.init.restore(init);
                }
            }
        }
    }

    /// Where `bytes` bytes at `address` lie.
    #[inline]
    pub(crate) fn resolve(&self, address: u64, bytes: u64) -> Resolved {
        let zone = (address >> ZONE_BITS).wrapping_sub(1);
        let Some(buffer) = self.buffers.get(zone as usize) else { return Resolved::Unmapped };
        let offset = address.wrapping_sub(buffer.base) as i64;
        if offset >= 0 && offset as u64 + bytes <= buffer.len as u64 {
            Resolved::Inside { buffer: zone as u32, byte: buffer.head + offset as usize }
        } else {
            Resolved::Outside { buffer: zone as u32, offset }
        }
    }
}

/// What [`Memory::restore`] puts back.
#[derive(Debug)]
pub(crate) struct Snapshot(Vec<(Vec<u32>, Vec<u32>)>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_survive_a_shifted_base() {
        let mut memory = Memory::new();
        let bytes: Vec<u8> = (1..=9).collect();
        let id = memory.add_at("x", Access::ReadWrite, Contents::Bytes(bytes.clone()), 3);
        assert_eq!(memory.address(id) % 256, 3);
        assert_eq!(memory.bytes(id), bytes);
        assert_eq!(memory.first_uninit(id), None);
        assert!(!memory.write(id, 8, &[0, 0]));
        assert!(!memory.write(id, u64::MAX, &[0, 0]));
        assert!(memory.write(id, 8, &[0]));
        assert_eq!(memory.bytes(id)[8], 0);
    }

    #[test]
    fn addresses_tell_the_buffer() {
        let mut memory = Memory::new();
        memory.add("x", Access::ReadOnly, Contents::Uninit(16));
        let y = memory.add("y", Access::ReadOnly, Contents::Uninit(16));
        let base = memory.address(y);
        assert_eq!(memory.resolve(base + 12, 4), Resolved::Inside { buffer: 1, byte: 12 });
        assert_eq!(memory.resolve(base + 13, 4), Resolved::Outside { buffer: 1, offset: 13 });
        assert_eq!(memory.resolve(base - 1, 4), Resolved::Outside { buffer: 1, offset: -1 });
        assert_eq!(memory.resolve(64, 4), Resolved::Unmapped);
        assert_eq!(memory.resolve(u64::MAX, 4), Resolved::Unmapped);
        assert_eq!(memory.first_uninit(y), Some(0));
    }
}
