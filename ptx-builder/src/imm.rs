//! Bit-exact immediates.
//!
//! A literal carries its type and its bits; it is printed as bits (`0f3727C5AC`, `0d…`), so that no decimal conversion
//! stands between the author's constant and the hardware's. An f32 literal never fits an f64 operand: the
//! assembler accepts that and reads other bits.

use std::fmt;

use crate::types::Ty;

/// A literal operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Imm {
    /// The type of the operand it stands for.
    pub ty: Ty,
    /// The value, zero-extended from the type's width.
    pub bits: u64,
}

impl Imm {
    /// A literal of `ty`; bits beyond its width are dropped.
    pub const fn new(ty: Ty, bits: u64) -> Imm {
        let width = ty.bits();
        let mask = if width >= 64 { u64::MAX } else { (1u64 << width) - 1 };
        Imm { ty, bits: bits & mask }
    }

    /// An f32 literal.
    pub fn f32(value: f32) -> Imm {
        Imm::new(Ty::F32, u64::from(value.to_bits()))
    }

    /// The value as a signed number, sign-extended from the type's width.
    pub const fn signed(self) -> i64 {
        let shift = 64 - (if self.ty.bits() > 64 { 64 } else { self.ty.bits() });
        ((self.bits << shift) as i64) >> shift
    }
}

impl fmt::Display for Imm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty {
            Ty::F32 => write!(f, "0f{:08X}", self.bits),
            Ty::F64 => write!(f, "0d{:016X}", self.bits),
            ty if ty.is_signed() => write!(f, "{}", self.signed()),
            ty if ty.is_int() => write!(f, "{}", self.bits),
            Ty::Pred => write!(f, "{}", self.bits),
            ty => write!(f, "0x{:0width$X}", self.bits, width = (ty.bits() as usize / 4).clamp(2, 16)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_bits() {
        assert_eq!(Imm::f32(1e-5).to_string(), "0f3727C5AC");
        assert_eq!(Imm::new(Ty::F64, 1e-5f64.to_bits()).to_string(), "0d3EE4F8B588E368F1");
        assert_eq!(Imm::new(Ty::S32, -3i64 as u64).to_string(), "-3");
        assert_eq!(Imm::new(Ty::U32, u64::MAX).to_string(), "4294967295");
        assert_eq!(Imm::new(Ty::B32, 0xffff_0000).to_string(), "0xFFFF0000");
    }
}
