//! The arguments of one launch in storage of fixed size, so that a launch allocates nothing.
//!
//! Each argument keeps its own place, aligned as asked; the driver copies it from there by the size that the compiled
//! entry declares. Limits: 32 arguments, 512 bytes, alignment up to 64 bytes (what a tensor map needs).

use std::ffi::c_void;

use crate::error::Error;

/// Most arguments of one launch.
pub(crate) const MAX_ARGUMENTS: usize = 32;
const MAX_BYTES: usize = 512;
const MAX_ALIGNMENT: usize = 64;

/// Arguments in the order of the entry's parameters.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Arguments {
    bytes: [u8; MAX_BYTES],
    places: [Place; MAX_ARGUMENTS],
    count: usize,
    used: usize,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    start: u16,
    size: u16,
}

impl Default for Arguments {
    fn default() -> Arguments {
        Arguments::new()
    }
}

impl Arguments {
    /// No arguments.
    pub fn new() -> Arguments {
        let places = [Place { start: 0, size: 0 }; MAX_ARGUMENTS];
        Arguments { bytes: [0; MAX_BYTES], places, count: 0, used: 0 }
    }

    /// Number of arguments.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Removes all arguments.
    pub fn clear(&mut self) {
        self.count = 0;
        self.used = 0;
    }

    /// Appends a device address.
    ///
    /// # Errors
    /// [`Error::ArgumentSpace`] if there is no room, here and in the methods below.
    pub fn pointer(&mut self, address: u64) -> Result<&mut Arguments, Error> {
        self.u64(address)
    }

    /// Appends a 32-bit unsigned integer.
    ///
    /// # Errors
    /// As [`Arguments::pointer`].
    pub fn u32(&mut self, value: u32) -> Result<&mut Arguments, Error> {
        self.raw(&value.to_ne_bytes(), 4)
    }

    /// Appends a 32-bit signed integer.
    ///
    /// # Errors
    /// As [`Arguments::pointer`].
    pub fn i32(&mut self, value: i32) -> Result<&mut Arguments, Error> {
        self.raw(&value.to_ne_bytes(), 4)
    }

    /// Appends a 64-bit unsigned integer.
    ///
    /// # Errors
    /// As [`Arguments::pointer`].
    pub fn u64(&mut self, value: u64) -> Result<&mut Arguments, Error> {
        self.raw(&value.to_ne_bytes(), 8)
    }

    /// Appends a 64-bit signed integer.
    ///
    /// # Errors
    /// As [`Arguments::pointer`].
    pub fn i64(&mut self, value: i64) -> Result<&mut Arguments, Error> {
        self.raw(&value.to_ne_bytes(), 8)
    }

    /// Appends an f32.
    ///
    /// # Errors
    /// As [`Arguments::pointer`].
    pub fn f32(&mut self, value: f32) -> Result<&mut Arguments, Error> {
        self.raw(&value.to_ne_bytes(), 4)
    }

    /// Appends an f64.
    ///
    /// # Errors
    /// As [`Arguments::pointer`].
    pub fn f64(&mut self, value: f64) -> Result<&mut Arguments, Error> {
        self.raw(&value.to_ne_bytes(), 8)
    }

    /// Appends bytes at an alignment, for example 128 bytes at 64 for a tensor map.
    ///
    /// # Errors
    /// [`Error::ArgumentSpace`] if there is no room, [`Error::ArgumentAlignment`] for an alignment that is not a power
    /// of two up to 64.
    pub fn raw(&mut self, value: &[u8], alignment: usize) -> Result<&mut Arguments, Error> {
        if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
            return Err(Error::ArgumentAlignment { value: alignment, limit: MAX_ALIGNMENT });
        }
        if self.count == MAX_ARGUMENTS {
            let (value, limit) = (self.count + 1, MAX_ARGUMENTS);
            return Err(Error::ArgumentSpace { what: "the number of arguments", value, limit });
        }
        let start = self.used.next_multiple_of(alignment);
        let end = start.saturating_add(value.len());
        let Some(place) = self.bytes.get_mut(start..end) else {
            return Err(Error::ArgumentSpace {
                what: "the size of the arguments",
                value: end,
                limit: MAX_BYTES,
            });
        };
        place.copy_from_slice(value);
        // Both are at most MAX_BYTES.
        self.places[self.count] = Place { start: start as u16, size: value.len() as u16 };
        self.count += 1;
        self.used = end;
        Ok(self)
    }

    /// Bytes of each argument, in order.
    pub(crate) fn sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.places[..self.count].iter().map(|place| usize::from(place.size))
    }

    /// The address of each argument, as the driver takes them. The driver reads through them and writes nothing; they
    /// are good while `self` is neither moved nor changed.
    pub(crate) fn addresses(&self) -> [*mut c_void; MAX_ARGUMENTS] {
        let mut addresses = [std::ptr::null_mut(); MAX_ARGUMENTS];
        for (address, place) in addresses.iter_mut().zip(&self.places[..self.count]) {
            *address = self.bytes[usize::from(place.start)..].as_ptr().cast_mut().cast();
        }
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_order_size_and_alignment() {
        let mut arguments = Arguments::new();
        arguments.u32(7).and_then(|a| a.pointer(0x1234)).and_then(|a| a.raw(&[9; 128], 64)).expect("room");
        assert_eq!(arguments.sizes().collect::<Vec<_>>(), [4, 8, 128]);
        let addresses = arguments.addresses();
        for (address, alignment) in addresses.iter().zip([4, 8, 64]) {
            assert_eq!(address.addr() % alignment, 0);
        }
        let base = arguments.bytes.as_ptr().addr();
        let second = addresses[1].addr() - base;
        assert_eq!(arguments.bytes[second..second + 8], 0x1234u64.to_ne_bytes());
        assert!(addresses[3].is_null());
    }

    #[test]
    fn full_storage_is_an_error_and_keeps_what_was_there() {
        let mut arguments = Arguments::new();
        for value in 0..32 {
            arguments.u32(value).expect("room");
        }
        assert!(matches!(arguments.u32(32), Err(Error::ArgumentSpace { value: 33, limit: 32, .. })));
        assert_eq!(arguments.len(), 32);
        arguments.clear();
        arguments.raw(&[0; 500], 1).expect("room");
        assert!(arguments.u64(1).is_ok());
        assert!(matches!(arguments.u32(1), Err(Error::ArgumentSpace { value: 516, limit: 512, .. })));
        assert!(matches!(arguments.raw(&[], 3), Err(Error::ArgumentAlignment { value: 3, .. })));
        assert!(matches!(arguments.raw(&[], 128), Err(Error::ArgumentAlignment { value: 128, .. })));
    }
}
