//! PTX types: what an instruction suffix, a register declaration or a buffer element can be.
//!
//! * [`Ty`] is a suffix of an instruction (`.f32`, `.bf16x2`, `.pred`). Only some of them may declare a register;
//!   [`Ty::register`] maps every type to the one its values are declared with. Numbers keep their real type, so that
//!   the assembler re-checks operands; what PTX has no register type for (bf16, fp8, packed pairs) is `.b16`/`.b32`.
//! * [`Dtype`] is the element type of a buffer in memory: a host value, never a type parameter of a kernel.

use std::fmt;
use std::str::FromStr;

macro_rules! tys {
    ($($variant:ident $suffix:literal $bits:literal $register:ident,)*) => {
        /// A PTX type, as it is written behind an instruction.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the variants are the suffixes of the PTX manual")]
        pub enum Ty { $($variant,)* }

        impl Ty {
            /// Every type, in declaration order.
            pub const ALL: &'static [Ty] = &[$(Ty::$variant,)*];

            /// The suffix without its dot.
            pub const fn suffix(self) -> &'static str {
                match self { $(Ty::$variant => $suffix,)* }
            }

            /// Width in bits; a predicate counts as 1.
            pub const fn bits(self) -> u32 {
                match self { $(Ty::$variant => $bits,)* }
            }

            /// The type that a register holding this type is declared with.
            pub const fn register(self) -> Ty {
                match self { $(Ty::$variant => Ty::$register,)* }
            }
        }
    };
}

tys! {
    Pred "pred" 1 Pred,
    B8 "b8" 8 B16,
    B16 "b16" 16 B16,
    B32 "b32" 32 B32,
    B64 "b64" 64 B64,
    B128 "b128" 128 B128,
    U8 "u8" 8 U16,
    U16 "u16" 16 U16,
    U32 "u32" 32 U32,
    U64 "u64" 64 U64,
    S8 "s8" 8 S16,
    S16 "s16" 16 S16,
    S32 "s32" 32 S32,
    S64 "s64" 64 S64,
    F16 "f16" 16 F16,
    Bf16 "bf16" 16 B16,
    F32 "f32" 32 F32,
    F64 "f64" 64 F64,
    F16x2 "f16x2" 32 B32,
    Bf16x2 "bf16x2" 32 B32,
    F32x2 "f32x2" 64 B64,
    U16x2 "u16x2" 32 B32,
    S16x2 "s16x2" 32 B32,
    E4m3x2 "e4m3x2" 16 B16,
    E5m2x2 "e5m2x2" 16 B16,
    Tf32 "tf32" 32 B32,
}

impl Ty {
    /// The type of a suffix (without its dot).
    pub fn from_suffix(suffix: &str) -> Option<Ty> {
        Ty::ALL.iter().copied().find(|ty| ty.suffix() == suffix)
    }

    /// Width in bytes in memory.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether `.reg` may declare it.
    pub fn is_register(self) -> bool {
        self.register() == self
    }

    /// The integer type of twice the width and the same sign; the type itself where there is none.
    pub const fn doubled(self) -> Ty {
        match self {
            Ty::U16 => Ty::U32,
            Ty::S16 => Ty::S32,
            Ty::U32 => Ty::U64,
            Ty::S32 => Ty::S64,
            other => other,
        }
    }

    /// A signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    /// An untyped bit string.
    pub const fn is_bits(self) -> bool {
        matches!(self, Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64 | Ty::B128)
    }

    /// A scalar floating-point type that a literal can have.
    pub const fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64)
    }

    /// A signed or unsigned integer.
    pub const fn is_int(self) -> bool {
        matches!(self, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    /// Whether an operand of an instruction of type `self` may be a register declared `register`: the same type, a bit
    /// type on either side of equal width, or an integer of equal width and other sign. This is the manual's
    /// table of operand agreement, without the wider-register relaxation of loads, stores and conversions. What PTX has no
    /// register type for agrees with bits only.
    pub fn agrees(self, register: Ty) -> bool {
        let own = self.register();
        if !(self.is_register() || self.is_int() || self.is_bits()) {
            return own == register;
        }
        own == register
            || (own.bits() == register.bits()
                && own != Ty::Pred
                && register != Ty::Pred
                && (own.is_bits() || register.is_bits() || (own.is_int() && register.is_int())))
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.suffix())
    }
}

/// The element type of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinity, largest value 448.
    E4m3,
    /// 8-bit float, 5 exponent and 2 mantissa bits, IEEE-like, largest value 57 344.
    E5m2,
    /// IEEE binary64.
    F64,
    /// 8-bit signed integer.
    I8,
    /// 8-bit unsigned integer.
    U8,
    /// 32-bit signed integer.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit signed integer.
    I64,
    /// 64-bit unsigned integer.
    U64,
}

impl Dtype {
    /// Every dtype.
    pub const ALL: &'static [Dtype] = &[
        Dtype::F32,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::E4m3,
        Dtype::E5m2,
        Dtype::F64,
        Dtype::I8,
        Dtype::U8,
        Dtype::I32,
        Dtype::U32,
        Dtype::I64,
        Dtype::U64,
    ];

    /// Lower-case name, as the command line and manifests write it.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::E4m3 => "e4m3",
            Dtype::E5m2 => "e5m2",
            Dtype::F64 => "f64",
            Dtype::I8 => "i8",
            Dtype::U8 => "u8",
            Dtype::I32 => "i32",
            Dtype::U32 => "u32",
            Dtype::I64 => "i64",
            Dtype::U64 => "u64",
        }
    }

    /// Bytes of one element.
    pub const fn bytes(self) -> u32 {
        match self {
            Dtype::E4m3 | Dtype::E5m2 | Dtype::I8 | Dtype::U8 => 1,
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::F32 | Dtype::I32 | Dtype::U32 => 4,
            Dtype::F64 | Dtype::I64 | Dtype::U64 => 8,
        }
    }

    /// A floating-point dtype.
    pub const fn is_float(self) -> bool {
        matches!(self, Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::E4m3 | Dtype::E5m2 | Dtype::F64)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dtype {
    type Err = String;

    fn from_str(text: &str) -> Result<Dtype, String> {
        Dtype::ALL
            .iter()
            .copied()
            .find(|dtype| dtype.name() == text)
            .ok_or_else(|| format!("`{text}` is not a dtype"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_maps_to_a_register_type() {
        for &ty in Ty::ALL {
            assert!(ty.register().is_register(), "{ty}");
            assert_eq!(Ty::from_suffix(ty.suffix()), Some(ty));
        }
    }

    #[test]
    fn operand_agreement_follows_the_manual() {
        assert!(Ty::B32.agrees(Ty::F32));
        assert!(Ty::U32.agrees(Ty::S32));
        assert!(!Ty::F32.agrees(Ty::U32));
        assert!(!Ty::U32.agrees(Ty::F32));
        assert!(!Ty::F32.agrees(Ty::F64));
        assert!(Ty::Bf16.agrees(Ty::B16));
        assert!(!Ty::B32.agrees(Ty::Pred));
    }
}
