//! A register of a warp and functions over it.
//!
//! A warp's register is an array over its 32 lanes: [`Lanes`]. Pure instructions are functions from such arrays to such
//! an array, monomorphic loops that the compiler vectorizes; [`lanes!`](crate::emu::lane) makes one from the
//! scalar formula.

/// The values of one register in the 32 lanes of a warp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lanes {
    /// A register of up to 32 bits.
    W32([u32; 32]),
    /// A 64-bit register.
    W64([u64; 32]),
    /// A predicate: bit i is lane i.
    Pred(u32),
}

impl Lanes {
    /// A register of `bits` bits holding zeros.
    pub const fn zero(bits: u32) -> Lanes {
        match bits {
            1 => Lanes::Pred(0),
            33.. => Lanes::W64([0; 32]),
            _ => Lanes::W32([0; 32]),
        }
    }

    /// A register of `bits` bits with the same value in every lane.
    pub const fn splat(bits: u32, value: u64) -> Lanes {
        match bits {
            1 => Lanes::Pred(if value & 1 == 1 { u32::MAX } else { 0 }),
            33.. => Lanes::W64([value; 32]),
            _ => Lanes::W32([value as u32; 32]),
        }
    }

    /// The value of a lane, zero-extended.
    pub const fn lane(&self, lane: usize) -> u64 {
        match self {
            Lanes::W32(lanes) => lanes[lane] as u64,
            Lanes::W64(lanes) => lanes[lane],
            Lanes::Pred(mask) => ((*mask >> lane) & 1) as u64,
        }
    }

    /// Sets a lane.
    pub const fn set(&mut self, lane: usize, value: u64) {
        match self {
            Lanes::W32(lanes) => lanes[lane] = value as u32,
            Lanes::W64(lanes) => lanes[lane] = value,
            Lanes::Pred(mask) => *mask = *mask & !(1 << lane) | ((value as u32 & 1) << lane),
        }
    }
}

/// A pure instruction over a warp: result, operands. Operand and result widths are those of the row; the caller checks
/// them when it decodes.
pub type WarpFn = fn(&mut Lanes, &[&Lanes]);

/// A Rust type that a lane can be read as.
pub trait Lane: Copy {
    /// The array behind a register of this width.
    type Store;
    /// The array of a register. A register of another width yields a zero array: decoding rules that out.
    fn store(lanes: &Lanes) -> &Self::Store;
    /// The array of a register, to be written.
    fn store_mut(lanes: &mut Lanes) -> &mut Self::Store;
    /// A lane's value.
    fn at(store: &Self::Store, lane: usize) -> Self;
    /// Sets a lane.
    fn put(store: &mut Self::Store, lane: usize, value: Self);
}

macro_rules! lane_types {
    ($($ty:ty: $variant:ident $raw:ty, |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Lane for $ty {
            type Store = [$raw; 32];
            #[inline(always)]
            fn store(lanes: &Lanes) -> &[$raw; 32] {
                static ZERO: [$raw; 32] = [0; 32];
                match lanes {
                    Lanes::$variant(store) => store,
                    _ => &ZERO,
                }
            }
            #[inline(always)]
            fn store_mut(lanes: &mut Lanes) -> &mut [$raw; 32] {
                if !matches!(lanes, Lanes::$variant(_)) {
                    *lanes = Lanes::$variant([0; 32]);
                }
                match lanes {
                    Lanes::$variant(store) => store,
                    _ => unreachable!("the line above made it this variant"),
                }
            }
            #[inline(always)]
            fn at(store: &[$raw; 32], lane: usize) -> $ty {
                let $bits = store[lane];
                $from
            }
            #[inline(always)]
            fn put(store: &mut [$raw; 32], lane: usize, $value: $ty) {
                store[lane] = $to;
            }
        }
    )*};
}

lane_types! {
    u32: W32 u32, |bits| bits, |value| value;
    i32: W32 u32, |bits| bits as i32, |value| value as u32;
    f32: W32 u32, |bits| f32::from_bits(bits), |value| value.to_bits();
    u16: W32 u32, |bits| bits as u16, |value| u32::from(value);
    i16: W32 u32, |bits| bits as i16, |value| u32::from(value as u16);
    u64: W64 u64, |bits| bits, |value| value;
    i64: W64 u64, |bits| bits as i64, |value| value as u64;
    f64: W64 u64, |bits| f64::from_bits(bits), |value| value.to_bits();
}

impl Lane for bool {
    type Store = u32;
    #[inline(always)]
    fn store(lanes: &Lanes) -> &u32 {
        match lanes {
            Lanes::Pred(mask) => mask,
            _ => &0,
        }
    }
    #[inline(always)]
    fn store_mut(lanes: &mut Lanes) -> &mut u32 {
        if !matches!(lanes, Lanes::Pred(_)) {
            *lanes = Lanes::Pred(0);
        }
        match lanes {
            Lanes::Pred(mask) => mask,
            _ => unreachable!("the line above made it this variant"),
        }
    }
    #[inline(always)]
    fn at(store: &u32, lane: usize) -> bool {
        store >> lane & 1 == 1
    }
    #[inline(always)]
    fn put(store: &mut u32, lane: usize, value: bool) {
        *store = *store & !(1 << lane) | (u32::from(value) << lane);
    }
}

/// Makes a [`WarpFn`] from a scalar formula: `lanes!(|a: f32, b: f32| -> f32 { a + b })`.
#[macro_export]
#[doc(hidden)]
macro_rules! lanes {
    (|$($a:ident : $A:ty),*| -> $D:ty $body:block) => {{
        #[allow(non_snake_case, reason = "macro-generated bindings")]
        fn run(dst: &mut $crate::emu::lane::Lanes, src: &[&$crate::emu::lane::Lanes]) {
            let mut operands = src.iter();
            $(let $a = <$A as $crate::emu::lane::Lane>::store(
                operands.next().copied().unwrap_or(&$crate::emu::lane::Lanes::Pred(0)),
            );)*
            let out = <$D as $crate::emu::lane::Lane>::store_mut(dst);
            for lane in 0..32 {
                $(let $a = <$A as $crate::emu::lane::Lane>::at($a, lane);)*
                <$D as $crate::emu::lane::Lane>::put(out, lane, $body);
            }
        }
        run as $crate::emu::lane::WarpFn
    }};
}
pub use lanes;
