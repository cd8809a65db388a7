//! Elements of tensors as exact numbers, and their conversion between dtypes with one rounding.

use std::fmt;

use ptxsmith_builder::emu::convert::{Convert, IntType, float_to_float, int_to_float};
use ptxsmith_builder::emu::float::{BF16, E4M3, E5M2, F16, F32, F64, Format};
use ptxsmith_builder::types::Dtype;
use safetensors::Dtype as FileDtype;

/// How the bytes of an element are read. Little-endian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Element {
    /// A floating-point number.
    Float(Format),
    /// An integer; a Boolean of a file is one too, 0 or 1.
    Int(IntType),
}

/// The value of an element, exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// A floating-point number; every format is a subset of f64.
    Float(f64),
    /// An integer.
    Int(i128),
}

/// The dtypes of a file that [`Element::of_file`] knows.
pub(crate) const USABLE: &str =
    "F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, I32, I16, I8, U64, U32, U16, U8, BOOL";

impl Element {
    /// Of an argument.
    pub(crate) const fn of(dtype: Dtype) -> Element {
        match dtype {
            Dtype::F32 => Element::Float(F32),
            Dtype::F16 => Element::Float(F16),
            Dtype::Bf16 => Element::Float(BF16),
            Dtype::E4m3 => Element::Float(E4M3),
            Dtype::E5m2 => Element::Float(E5M2),
            Dtype::F64 => Element::Float(F64),
            Dtype::I8 => Element::Int(IntType::S8),
            Dtype::U8 => Element::Int(IntType::U8),
            Dtype::I32 => Element::Int(IntType::S32),
            Dtype::U32 => Element::Int(IntType::U32),
            Dtype::I64 => Element::Int(IntType::S64),
            Dtype::U64 => Element::Int(IntType::U64),
        }
    }

    /// Of a tensor in a file; `None` for formats that no argument can be read from.
    pub(crate) fn of_file(dtype: FileDtype) -> Option<Element> {
        Some(match dtype {
            FileDtype::F64 => Element::Float(F64),
            FileDtype::F32 => Element::Float(F32),
            FileDtype::F16 => Element::Float(F16),
            FileDtype::BF16 => Element::Float(BF16),
            FileDtype::F8_E4M3 => Element::Float(E4M3),
            FileDtype::F8_E5M2 => Element::Float(E5M2),
            FileDtype::I64 => Element::Int(IntType::S64),
            FileDtype::I32 => Element::Int(IntType::S32),
            FileDtype::I16 => Element::Int(IntType::S16),
            FileDtype::I8 => Element::Int(IntType::S8),
            FileDtype::U64 => Element::Int(IntType::U64),
            FileDtype::U32 => Element::Int(IntType::U32),
            FileDtype::U16 => Element::Int(IntType::U16),
            FileDtype::U8 | FileDtype::BOOL => Element::Int(IntType::U8),
            _ => return None,
        })
    }

    /// Bytes of one element.
    pub(crate) const fn bytes(self) -> usize {
        let bits = match self {
            Element::Float(format) => format.width(),
            Element::Int(int) => int.width(),
        };
        (bits / 8) as usize
    }

    /// The numbers of a tensor; bytes beyond the last whole element are left out.
    pub(crate) fn numbers(self, bytes: &[u8]) -> impl ExactSizeIterator<Item = Number> + '_ {
        bytes.chunks_exact(self.bytes()).map(move |chunk| self.number(raw(chunk)))
    }

    fn number(self, bits: u64) -> Number {
        match self {
            Element::Float(format) => Number::Float(format.to_f64(bits)),
            Element::Int(int) => Number::Int(int.value(bits)),
        }
    }
}

fn raw(chunk: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..chunk.len()].copy_from_slice(chunk);
    u64::from_le_bytes(bytes)
}

impl Number {
    /// As f64, rounded to nearest for integers beyond 2^53.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Float(value) => value,
            Number::Int(value) => value as f64,
        }
    }

    /// Equal as numbers; a NaN equals a NaN.
    pub(crate) fn same(self, other: Number) -> bool {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a == b,
            (Number::Float(a), Number::Float(b)) => a == b || a.is_nan() && b.is_nan(),
            // An f64 above 2^127 is no i128, and the cast saturates: the way back shows it.
            (Number::Int(int), Number::Float(float)) | (Number::Float(float), Number::Int(int)) => {
                float.trunc() == float && float as i128 == int && int as f64 == float
            }
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Float(value) => write!(f, "{value:e}"),
            Number::Int(value) => write!(f, "{value}"),
        }
    }
}

/// A converted tensor.
#[derive(Debug, PartialEq)]
pub(crate) struct Converted {
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// Elements whose value the rounding changed.
    pub(crate) changed: usize,
}

/// An element without a value in the other dtype.
#[derive(Debug, PartialEq)]
pub(crate) struct Unconvertible {
    /// Flat position.
    pub(crate) at: usize,
    /// Its value.
    pub(crate) value: Number,
}

/// Converts a tensor. Each element is rounded once, to nearest with ties to even; what exceeds the largest finite number
/// becomes an infinity, or that number in the 8-bit formats. Integers must be hit exactly.
pub(crate) fn convert(from: Element, to: Element, bytes: &[u8]) -> Result<Converted, Unconvertible> {
    if from == to {
        return Ok(Converted { bytes: bytes.to_vec(), changed: 0 });
    }
    let mut out = Vec::with_capacity(bytes.len() / from.bytes() * to.bytes());
    let mut changed = 0;
    for (at, chunk) in bytes.chunks_exact(from.bytes()).enumerate() {
        let bits = raw(chunk);
        let value = from.number(bits);
        let result = match (from, to) {
            (Element::Float(from), Element::Float(to)) => float_to_float(from, to, bits, rounding(to)),
            (Element::Int(from), Element::Float(to)) => int_to_float(from, to, bits, rounding(to)),
            (_, Element::Int(int)) => {
                let whole = match value {
                    Number::Int(value) => value,
                    Number::Float(value) => value as i128,
                };
                int.truncate(whole)
            }
        };
        let same = to.number(result).same(value);
        if !same && matches!(to, Element::Int(_)) {
            return Err(Unconvertible { at, value });
        }
        changed += usize::from(!same);
        out.extend_from_slice(&result.to_le_bytes()[..to.bytes()]);
    }
    Ok(Converted { bytes: out, changed })
}

fn rounding(to: Format) -> Convert {
    Convert { satfinite: to == E4M3 || to == E5M2, ..Convert::RN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f64s(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn halves(bytes: &[u8]) -> Vec<u16> {
        bytes.chunks_exact(2).map(|chunk| u16::from_le_bytes([chunk[0], chunk[1]])).collect()
    }

    #[test]
    fn f64_to_f16_rounds_once() {
        // 1 + 2^-11 is halfway between two f16; 2^-40 more must round up, and is lost on the way through f32.
        let above = f64::from_bits(1f64.to_bits() + (1 << (52 - 11)) + (1 << (52 - 40)));
        let converted =
            convert(Element::Float(F64), Element::Float(F16), &f64s(&[above, 1.0])).expect("it fits");
        assert_eq!(halves(&converted.bytes), [0x3c01, 0x3c00]);
        assert_eq!(converted.changed, 1);
        assert_eq!(
            convert(Element::Float(F32), Element::Float(F16), &(above as f32).to_le_bytes()).map(|c| c.bytes),
            Ok(vec![0x00, 0x3c]),
            "the same number through f32 is rounded twice"
        );
    }

    #[test]
    fn special_values_keep_their_kind() {
        let from = f64s(&[f64::NAN, f64::NEG_INFINITY, -0.0, 1e300]);
        let converted = convert(Element::Float(F64), Element::Float(BF16), &from).expect("it fits");
        let [nan, infinity, zero, huge] = halves(&converted.bytes)[..] else { panic!("four elements") };
        assert!(nan & 0x7f80 == 0x7f80 && nan & 0x7f != 0);
        assert_eq!((infinity, zero, huge), (0xff80, 0x8000, 0x7f80));
        assert_eq!(converted.changed, 1, "only 1e300 changed");
    }

    #[test]
    fn eight_bit_formats_saturate() {
        let converted =
            convert(Element::Float(F64), Element::Float(E4M3), &f64s(&[1e9, -448.0])).expect("it fits");
        assert_eq!(converted, Converted { bytes: vec![0x7e, 0xfe], changed: 1 });
    }

    #[test]
    fn integers_are_hit_exactly_or_refused() {
        let positions: Vec<u8> = [7i64, -1].iter().flat_map(|value| value.to_le_bytes()).collect();
        let (long, int) = (Element::Int(IntType::S64), Element::Int(IntType::S32));
        assert_eq!(
            convert(long, int, &positions).map(|c| c.bytes),
            Ok([7i32.to_le_bytes(), (-1i32).to_le_bytes()].concat())
        );
        let unsigned = Element::Int(IntType::U32);
        assert_eq!(convert(long, unsigned, &positions), Err(Unconvertible { at: 1, value: Number::Int(-1) }));
        assert_eq!(
            convert(Element::Float(F64), int, &f64s(&[2.0, 0.5])),
            Err(Unconvertible { at: 1, value: Number::Float(0.5) })
        );
        for value in [f64::NAN, f64::INFINITY, 3e9, 1e300] {
            assert!(convert(Element::Float(F64), int, &f64s(&[value])).is_err(), "{value}");
        }
    }

    #[test]
    fn large_integers_become_floats_with_one_rounding() {
        let value = (1i64 << 53) + 1;
        let converted =
            convert(Element::Int(IntType::S64), Element::Float(F64), &value.to_le_bytes()).expect("it fits");
        assert_eq!(converted, Converted { bytes: f64s(&[9_007_199_254_740_992.0]), changed: 1 });
    }
}
