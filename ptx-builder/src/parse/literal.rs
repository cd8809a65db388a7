//! Literals: what a number stands for where its type is known.

use super::lexer::Token;
use super::{Result1, malformed};
use crate::imm::Imm;
use crate::types::Ty;

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// A magnitude; the sign stands before it.
    Integer(u64),
    /// The bits of an f32: `0f…`.
    F32(u32),
    /// The bits of an f64: `0d…`.
    F64(u64),
    /// A decimal fraction; PTX reads it in double precision.
    Decimal(f64),
}

/// The value of an integer: decimal, `0x`, `0b` or octal with a leading 0; a final `U` is allowed.
pub(super) fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // `from_str_radix` takes a sign, a literal has none here.
    let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_alphanumeric());
    valid.then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}

/// Reads a number token.
pub(super) fn number(token: Token<'_>) -> Result1<Number> {
    let text = token.text;
    let hex = |digits: &str, length: usize| {
        let valid = digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let wrong = || {
            malformed(
                token.place,
                format!("`{text}` has {} digits, it takes {length} hexadecimal ones", digits.len()),
            )
        };
        if valid { u64::from_str_radix(digits, 16).map_err(|_| wrong()) } else { Err(wrong()) }
    };
    match text.as_bytes() {
        [b'0', b'f' | b'F', ..] => Ok(Number::F32(hex(&text[2..], 8)? as u32)),
        [b'0', b'd' | b'D', ..] => Ok(Number::F64(hex(&text[2..], 16)?)),
        _ => match integer(text) {
            Some(value) => Ok(Number::Integer(value)),
            None if text.contains('.')
                || text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'e' | b'E' | b'+' | b'-')) =>
            {
                match text.parse::<f64>() {
                    Ok(value) if value.is_finite() && text.contains(['.', 'e', 'E']) => {
                        Ok(Number::Decimal(value))
                    }
                    _ => Err(malformed(token.place, format!("`{text}` is not a number below 2^64"))),
                }
            }
            None => Err(malformed(token.place, format!("`{text}` is not a number"))),
        },
    }
}

/// A literal for an operand of type `ty`. A float of another width keeps its own type: that is the verifier's business.
pub(super) fn typed(number: Number, negative: bool, ty: Ty, token: Token<'_>) -> Result1<Imm> {
    let sign = if negative { "-" } else { "" };
    let shown = || format!("`{sign}{}`", token.text);
    match number {
        Number::F32(_) | Number::F64(_) if negative => {
            Err(malformed(token.place, format!("{} has a sign before bits", shown()))
                .hint("set the sign bit instead"))
        }
        Number::F32(bits) if ty.is_bits() && ty.bits() == 32 => Ok(Imm::new(ty, u64::from(bits))),
        Number::F64(bits) if ty.is_bits() && ty.bits() == 64 => Ok(Imm::new(ty, bits)),
        Number::F32(bits) => Ok(Imm::new(Ty::F32, u64::from(bits))),
        Number::F64(bits) => Ok(Imm::new(Ty::F64, bits)),
        Number::Decimal(value) => {
            let value = if negative { -value } else { value };
            match ty {
                Ty::F32 => Ok(Imm::f32(value as f32)),
                Ty::F64 => Ok(Imm::new(Ty::F64, value.to_bits())),
                _ => Err(malformed(token.place, format!("{} is a fraction, the operand is `{ty}`", shown()))),
            }
        }
        Number::Integer(_) if matches!(ty, Ty::F32 | Ty::F64) => {
            Err(malformed(token.place, format!("{} is an integer, the operand is `{ty}`", shown())).hint(
                format!("write the bits, `0{}…`, or a decimal point", if ty == Ty::F32 { 'f' } else { 'd' }),
            ))
        }
        Number::Integer(value) => {
            let width = ty.bits().min(64);
            let (largest, most_negative) = (u64::MAX >> (64 - width), 1u64 << (width - 1));
            let fits = if negative { value <= most_negative && width > 1 } else { value <= largest };
            if fits {
                Ok(Imm::new(ty, if negative { value.wrapping_neg() } else { value }))
            } else {
                Err(malformed(
                    token.place,
                    format!("{} does not fit `{ty}`, which has {width} bits", shown()),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Place;
    use crate::parse::lexer::Kind;

    fn token(text: &str) -> Token<'_> {
        Token { kind: Kind::Number, text, place: Place::default(), glued: false }
    }

    fn read(text: &str, negative: bool, ty: Ty) -> Result1<Imm> {
        typed(number(token(text))?, negative, ty, token(text))
    }

    #[test]
    fn reads_every_radix() {
        for (text, value) in [("0", 0), ("10", 10), ("017", 15), ("0x1F", 31), ("0b101", 5), ("7U", 7)] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
        for text in ["", "0x", "08", "1e", "0b2", "99999999999999999999"] {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn literals_take_the_type_of_the_operand() {
        assert_eq!(read("1", true, Ty::S32), Ok(Imm::new(Ty::S32, u64::MAX)));
        assert_eq!(read("0f3F800000", false, Ty::B32), Ok(Imm::new(Ty::B32, 0x3f80_0000)));
        assert_eq!(read("0f3F800000", false, Ty::F64), Ok(Imm::new(Ty::F32, 0x3f80_0000)));
        assert_eq!(read("0.5", false, Ty::F32), Ok(Imm::f32(0.5)));
        assert_eq!(read("18446744073709551615", false, Ty::U64), Ok(Imm::new(Ty::U64, u64::MAX)));
        for (text, negative, ty) in [
            ("4294967296", false, Ty::U32),
            ("2147483649", true, Ty::S32),
            ("1", false, Ty::F32),
            ("0.5", false, Ty::U32),
            ("0f3F8", false, Ty::F32),
            ("0f3F800000", true, Ty::F32),
            ("2", false, Ty::Pred),
            ("18446744073709551616", false, Ty::U64),
            ("1.5x", false, Ty::F32),
        ] {
            assert!(read(text, negative, ty).is_err(), "{text}");
        }
    }
}
