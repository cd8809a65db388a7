//! Registers of a warp and functions over them.
//!
//! A warp's register is an array over its 32 lanes. A pure instruction is a [`WarpFn`]: a monomorphic loop over such
//! arrays that the compiler vectorizes; [`lanes!`] makes one from the scalar formula, [`whole!`] from a
//! function that takes whole arrays.
//!
//! * All lanes are computed; only the active ones are kept.
//! * A register narrower than 32 bits lives in the low bits of a 32-bit one, the bits above it zero.
//! * A `WarpFn` names the classes of its registers; whoever calls it checks them first, so that it never sees a slot of
//!   another class.

use super::approx::ApproxMode;
use crate::types::Ty;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// Which of the three register arrays a register lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Up to 32 bits.
    W32,
    /// 64 bits.
    W64,
    /// A predicate.
    Pred,
}

impl Class {
    /// The class of a type; none for types wider than 64 bits.
    pub const fn of(ty: Ty) -> Option<Class> {
        match ty.bits() {
            1 => Some(Class::Pred),
            2..=32 => Some(Class::W32),
            33..=64 => Some(Class::W64),
            _ => None,
        }
    }
}

/// The bit of each lane.
pub(crate) static BIT: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// The registers of a warp.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegFile {
    pub(crate) w32: Vec<[u32; LANES]>,
    pub(crate) w64: Vec<[u64; LANES]>,
    /// Bit i is lane i.
    pub(crate) pred: Vec<u32>,
    /// What `.approx` instructions return.
    pub(crate) approx: ApproxMode,
}

impl RegFile {
    /// A new register of zeros: its slot within its class.
    pub(crate) fn push(&mut self, class: Class) -> u32 {
        self.push_splat(class, 0)
    }

    /// A new register with the same bits in all lanes.
    pub(crate) fn push_splat(&mut self, class: Class, bits: u64) -> u32 {
        let slot = match class {
            Class::W32 => self.w32.len(),
            Class::W64 => self.w64.len(),
            Class::Pred => self.pred.len(),
        };
        match class {
            Class::W32 => self.w32.push([bits as u32; LANES]),
            Class::W64 => self.w64.push([bits; LANES]),
            Class::Pred => self.pred.push(if bits & 1 == 1 { u32::MAX } else { 0 }),
        }
        slot as u32
    }

    /// A lane's bits, zero-extended.
    pub(crate) fn get(&self, class: Class, slot: u32, lane: usize) -> u64 {
        match class {
            Class::W32 => u64::from(self.w32[slot as usize][lane]),
            Class::W64 => self.w64[slot as usize][lane],
            Class::Pred => u64::from(self.pred[slot as usize] >> lane & 1),
        }
    }

    /// Sets a lane's bits.
    pub(crate) fn set(&mut self, class: Class, slot: u32, lane: usize, bits: u64) {
        match class {
            Class::W32 => self.w32[slot as usize][lane] = bits as u32,
            Class::W64 => self.w64[slot as usize][lane] = bits,
            Class::Pred => {
                let mask = &mut self.pred[slot as usize];
                *mask = *mask & !BIT[lane] | if bits & 1 == 1 { BIT[lane] } else { 0 };
            }
        }
    }

    /// Copies the active lanes of a 32-bit register.
    #[inline]
    pub(crate) fn copy32(&mut self, d: u32, a: u32, active: u32) {
        let source = self.w32[a as usize];
        <u32 as Lane>::commit(self, d, &source, active);
    }

    /// Copies the active lanes of a 64-bit register.
    #[inline]
    pub(crate) fn copy64(&mut self, d: u32, a: u32, active: u32) {
        let source = self.w64[a as usize];
        <u64 as Lane>::commit(self, d, &source, active);
    }

    /// Sets the active lanes to the same bits.
    pub(crate) fn fill(&mut self, class: Class, slot: u32, bits: u64, active: u32) {
        match class {
            Class::W32 => <u32 as Lane>::commit(self, slot, &[bits as u32; LANES], active),
            Class::W64 => <u64 as Lane>::commit(self, slot, &[bits; LANES], active),
            Class::Pred => {
                let all = if bits & 1 == 1 { u32::MAX } else { 0 };
                <bool as Lane>::commit(self, slot, &all, active);
            }
        }
    }
}

/// The registers of one instruction: slots within their classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slots {
    /// The result.
    pub d: u32,
    /// The operands.
    pub s: [u32; 4],
    /// [`WarpFn::context`].
    pub context: u32,
}

/// A pure instruction over a warp.
#[derive(Debug, Clone, Copy)]
pub struct WarpFn {
    /// Computes all lanes and keeps those of the mask.
    pub run: fn(&mut RegFile, &Slots, u32),
    /// Class of the result.
    pub result: Class,
    /// Classes of the operands.
    pub operands: &'static [Class],
    /// What `run` needs to know of the instruction's modifiers, in a code of its own.
    pub context: u32,
}

impl WarpFn {
    /// The same function with a context.
    pub const fn with(self, context: u32) -> WarpFn {
        WarpFn { context, ..self }
    }

    /// Its result for one thread; `None` unless it takes this number of operands. Operands are bits, zero-extended.
    pub fn scalar(&self, operands: &[u64]) -> Option<u64> {
        if operands.len() != self.operands.len() {
            return None;
        }
        let mut file = RegFile::default();
        let mut slots = Slots { d: file.push(self.result), context: self.context, ..Slots::default() };
        for ((slot, class), bits) in slots.s.iter_mut().zip(self.operands).zip(operands) {
            *slot = file.push_splat(*class, *bits);
        }
        (self.run)(&mut file, &slots, 1);
        Some(file.get(self.result, slots.d, 0))
    }
}

/// A Rust type that a lane can be read as.
pub trait Lane: Copy {
    /// The class of its registers.
    const CLASS: Class;
    /// A register.
    type Store: 'static;
    /// A register of zeros.
    const ZERO: Self::Store;
    /// A register of the file.
    fn store(file: &RegFile, slot: u32) -> &Self::Store;
    /// Writes the lanes of the mask.
    fn commit(file: &mut RegFile, slot: u32, out: &Self::Store, active: u32);
    /// A lane's value.
    fn at(store: &Self::Store, lane: usize) -> Self;
    /// Sets a lane of a register that holds zeros.
    fn put(store: &mut Self::Store, lane: usize, value: Self);
}

macro_rules! lane_types {
    ($($ty:ty: $class:ident $file:ident $raw:ty, |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Lane for $ty {
            const CLASS: Class = Class::$class;
            type Store = [$raw; LANES];
            const ZERO: [$raw; LANES] = [0; LANES];
            #[inline(always)]
            fn store(file: &RegFile, slot: u32) -> &[$raw; LANES] {
                &file.$file[slot as usize]
            }
            #[inline(always)]
            fn commit(file: &mut RegFile, slot: u32, out: &[$raw; LANES], active: u32) {
                let register = &mut file.$file[slot as usize];
                if active == u32::MAX {
                    *register = *out;
                } else {
                    for lane in 0..LANES {
                        register[lane] = if active & BIT[lane] != 0 { out[lane] } else { register[lane] };
                    }
                }
            }
            #[inline(always)]
            fn at(store: &[$raw; LANES], lane: usize) -> $ty {
                let $bits = store[lane];
                $from
            }
            #[inline(always)]
            fn put(store: &mut [$raw; LANES], lane: usize, $value: $ty) {
                store[lane] = $to;
            }
        }
    )*};
}

lane_types! {
    u32: W32 w32 u32, |bits| bits, |value| value;
    i32: W32 w32 u32, |bits| bits as i32, |value| value as u32;
    f32: W32 w32 u32, |bits| f32::from_bits(bits), |value| value.to_bits();
    u16: W32 w32 u32, |bits| bits as u16, |value| u32::from(value);
    i16: W32 w32 u32, |bits| bits as i16, |value| u32::from(value as u16);
    u8: W32 w32 u32, |bits| bits as u8, |value| u32::from(value);
    i8: W32 w32 u32, |bits| bits as i8, |value| u32::from(value as i16 as u16);
    u64: W64 w64 u64, |bits| bits, |value| value;
    i64: W64 w64 u64, |bits| bits as i64, |value| value as u64;
    f64: W64 w64 u64, |bits| f64::from_bits(bits), |value| value.to_bits();
}

impl Lane for bool {
    const CLASS: Class = Class::Pred;
    type Store = u32;
    const ZERO: u32 = 0;
    #[inline(always)]
    fn store(file: &RegFile, slot: u32) -> &u32 {
        &file.pred[slot as usize]
    }
    #[inline(always)]
    fn commit(file: &mut RegFile, slot: u32, out: &u32, active: u32) {
        let register = &mut file.pred[slot as usize];
        *register = *register & !active | out & active;
    }
    #[inline(always)]
    fn at(store: &u32, lane: usize) -> bool {
        store & BIT[lane] != 0
    }
    #[inline(always)]
    fn put(store: &mut u32, lane: usize, value: bool) {
        *store |= if value { BIT[lane] } else { 0 };
    }
}

/// Makes a [`WarpFn`] from a scalar formula: `lanes!(|a: f32, b: f32| -> f32 { a + b })`. With `with file, at;` in front the
/// formula may read the register file (`file.approx`) and the slots (`at.context`).
#[macro_export]
#[doc(hidden)]
macro_rules! lanes {
    (|$($a:ident : $A:ty),*| -> $D:ty $body:block) => {
        $crate::emu::lane::lanes!(with file, at; |$($a: $A),*| -> $D $body)
    };
    (with $file:ident, $at:ident; |$($a:ident : $A:ty),*| -> $D:ty $body:block) => {{
        fn run($file: &mut $crate::emu::lane::RegFile, $at: &$crate::emu::lane::Slots, active: u32) {
            let mut out = <$D as $crate::emu::lane::Lane>::ZERO;
            {
                let mut slots = $at.s.iter();
                $(let $a = <$A as $crate::emu::lane::Lane>::store($file, slots.next().copied().unwrap_or(0));)*
                for lane in 0..$crate::emu::lane::LANES {
                    $(let $a = <$A as $crate::emu::lane::Lane>::at($a, lane);)*
                    <$D as $crate::emu::lane::Lane>::put(&mut out, lane, $body);
                }
            }
            <$D as $crate::emu::lane::Lane>::commit($file, $at.d, &out, active);
        }
        $crate::emu::lane::WarpFn {
            run,
            result: <$D as $crate::emu::lane::Lane>::CLASS,
            operands: &[$(<$A as $crate::emu::lane::Lane>::CLASS),*],
            context: 0,
        }
    }};
}
pub use lanes;

/// Makes a [`WarpFn`] from a statement over whole registers: `whole!(|d: u32, a: u32| { copy(d, a) })`, where `d` is a
/// `&mut` array of zeros and the operands are `&` arrays.
#[macro_export]
#[doc(hidden)]
macro_rules! whole {
    (|$d:ident : $D:ty, $($a:ident : $A:ty),*| $body:block) => {{
        fn run(file: &mut $crate::emu::lane::RegFile, at: &$crate::emu::lane::Slots, active: u32) {
            let mut out = <$D as $crate::emu::lane::Lane>::ZERO;
            {
                let mut slots = at.s.iter();
                $(let $a = <$A as $crate::emu::lane::Lane>::store(file, slots.next().copied().unwrap_or(0));)*
                let $d = &mut out;
                $body
            }
            <$D as $crate::emu::lane::Lane>::commit(file, at.d, &out, active);
        }
        $crate::emu::lane::WarpFn {
            run,
            result: <$D as $crate::emu::lane::Lane>::CLASS,
            operands: &[$(<$A as $crate::emu::lane::Lane>::CLASS),*],
            context: 0,
        }
    }};
}
pub use whole;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_active_lanes_are_kept() {
        let mut file = RegFile::default();
        let (d, a, p) =
            (file.push_splat(Class::W32, 7), file.push_splat(Class::W32, 1), file.push(Class::Pred));
        let add = lanes!(|a: u32, b: u32| -> u32 { a + b });
        (add.run)(&mut file, &Slots { d, s: [a, d, 0, 0], context: 0 }, 0b101);
        assert_eq!(file.w32[d as usize][..4], [8, 7, 8, 7]);
        let less = lanes!(|a: u32, b: u32| -> bool { a < b });
        (less.run)(&mut file, &Slots { d: p, s: [a, d, 0, 0], context: 0 }, 0xffff);
        assert_eq!(file.pred[p as usize], 0xffff);
        assert_eq!(add.scalar(&[2, 3]), Some(5));
        assert_eq!(add.scalar(&[2]), None);
    }

    #[test]
    fn narrow_values_leave_the_upper_bits_zero() {
        let narrow = lanes!(|a: i32| -> i16 { a as i16 });
        assert_eq!(narrow.scalar(&[0xffff_ffff]), Some(0xffff));
    }
}
