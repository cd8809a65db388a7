//! Fields of a spec: named, typed values that are baked into the text, and their text form.
//!
//! The command line, the header of the emitted text, manifests and JSON listings all go through [`Baked`]. A float is
//! shown in its shortest scientific form with its bits, and compared by bits.

use std::fmt;

use crate::types::Dtype;

/// What a field is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldInfo {
    /// Name.
    pub name: &'static str,
    /// Type in words: `u32`, `f32`, `dtype`, `contiguous|strided`, …
    pub ty: String,
    /// Whether it must be given.
    pub required: bool,
    /// Its value where it is not given, in text.
    pub default: Option<String>,
    /// What it means, with its range.
    pub meaning: &'static str,
    /// Whether it belongs to the schedule instead of the spec.
    pub schedule: bool,
}

/// A field of a kernel value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldValue {
    /// Name.
    pub name: &'static str,
    /// The value, as [`Baked::parse`] reads it.
    pub text: String,
    /// The value for readers: `1e-6 (0f358637BD)`.
    pub shown: String,
    /// Whether it belongs to the schedule.
    pub schedule: bool,
}

/// A value that can be baked into a kernel.
pub trait Baked: Sized {
    /// Type in words.
    fn type_name() -> String;
    /// From text; the error says what is allowed.
    fn parse(text: &str) -> Result<Self, String>;
    /// To text that [`parse`](Baked::parse) reads.
    fn text(&self) -> String;
    /// For readers.
    fn shown(&self) -> String {
        self.text()
    }
}

macro_rules! baked_ints {
    ($($ty:ty)*) => {$(
        impl Baked for $ty {
            fn type_name() -> String {
                stringify!($ty).to_owned()
            }
            fn parse(text: &str) -> Result<$ty, String> {
                text.parse().map_err(|_| format!("an integer from {} to {}", <$ty>::MIN, <$ty>::MAX))
            }
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

baked_ints!(u32 u64 i32 i64);

impl Baked for f32 {
    fn type_name() -> String {
        "f32".to_owned()
    }
    fn parse(text: &str) -> Result<f32, String> {
        text.parse().map_err(|_| "a number".to_owned())
    }
    fn text(&self) -> String {
        format!("{self:e}")
    }
    fn shown(&self) -> String {
        format!("{self:e} (0f{:08X})", self.to_bits())
    }
}

impl Baked for bool {
    fn type_name() -> String {
        "true|false".to_owned()
    }
    fn parse(text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| "true or false".to_owned())
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Baked for Dtype {
    fn type_name() -> String {
        "dtype".to_owned()
    }
    fn parse(text: &str) -> Result<Dtype, String> {
        text.parse().map_err(|_| {
            let names: Vec<&str> = Dtype::ALL.iter().map(|dtype| dtype.name()).collect();
            let hint =
                nearest(text, &names).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default();
            format!("a dtype: {}{hint}", names.join(", "))
        })
    }
    fn text(&self) -> String {
        self.name().to_owned()
    }
}

/// Why fields do not make a kernel value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldError {
    /// A required field is missing.
    Missing {
        /// The field.
        name: &'static str,
        /// Its type in words.
        ty: String,
    },
    /// A field is given twice.
    Duplicate(String),
    /// A field the kernel does not have.
    Unknown {
        /// The field.
        name: String,
        /// The fields it has.
        known: Vec<&'static str>,
    },
    /// The text does not read as the field's type, or is out of range.
    Invalid {
        /// The field.
        name: String,
        /// The text.
        value: String,
        /// What is allowed.
        allowed: String,
    },
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldError::Missing { name, ty } => write!(f, "field `{name}` ({ty}) is missing"),
            FieldError::Duplicate(name) => write!(f, "field `{name}` is given twice"),
            FieldError::Unknown { name, known } => {
                write!(f, "unknown field `{name}`; known are {}", known.join(", "))?;
                match nearest(name, known) {
                    Some(near) => write!(f, " (did you mean `{near}`?)"),
                    None => Ok(()),
                }
            }
            FieldError::Invalid { name, value, allowed } => {
                write!(f, "field `{name}`: `{value}` is not {allowed}")
            }
        }
    }
}

impl std::error::Error for FieldError {}

/// Named texts that become fields.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    given: Vec<(String, String)>,
    asked: Vec<&'static str>,
}

impl Fields {
    /// From name–text pairs; a name may occur once.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Fields, FieldError> {
        let mut fields = Fields::default();
        for (name, text) in pairs {
            if fields.given.iter().any(|(known, _)| *known == name) {
                return Err(FieldError::Duplicate(name));
            }
            fields.given.push((name, text));
        }
        Ok(fields)
    }

    /// Whether a field is given; it counts as known from then on.
    pub fn has(&mut self, name: &'static str) -> bool {
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
        self.given.iter().any(|(known, _)| known == name)
    }

    /// Takes a field that may be absent.
    pub fn optional<T: Baked>(&mut self, name: &'static str) -> Result<Option<T>, FieldError> {
        self.has(name);
        let Some(at) = self.given.iter().position(|(known, _)| known == name) else { return Ok(None) };
        let (_, text) = self.given.remove(at);
        T::parse(&text).map(Some).map_err(|allowed| FieldError::Invalid {
            name: name.to_owned(),
            value: text,
            allowed,
        })
    }

    /// Takes a field that must be present.
    pub fn required<T: Baked>(&mut self, name: &'static str) -> Result<T, FieldError> {
        self.optional(name)?.ok_or_else(|| FieldError::Missing { name, ty: T::type_name() })
    }

    /// Refuses fields that nobody took.
    pub fn finish(self) -> Result<(), FieldError> {
        match self.given.into_iter().next() {
            Some((name, _)) => Err(FieldError::Unknown { name, known: self.asked }),
            None => Ok(()),
        }
    }
}

/// The candidate nearest to a misspelt name, if one is near: at most a third of its letters differ.
pub fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let distance = |other: &str| {
        let other: Vec<char> = other.chars().collect();
        let mut row: Vec<usize> = (0..=other.len()).collect();
        for (i, a) in name.chars().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, b) in other.iter().enumerate() {
                let substituted = diagonal + usize::from(a != *b);
                diagonal = row[j + 1];
                row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
            }
        }
        row[other.len()]
    };
    candidates
        .iter()
        .map(|candidate| (distance(candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(name.len()).div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_show_their_bits() {
        assert_eq!(1e-6f32.shown(), "1e-6 (0f358637BD)");
        assert_eq!(f32::parse(&1e-6f32.text()), Ok(1e-6));
    }

    #[test]
    fn names_the_nearest_field() {
        assert_eq!(nearest("hiden", &["eps", "hidden", "x"]), Some("hidden"));
        assert_eq!(nearest("quux", &["eps", "hidden"]), None);
    }

    #[test]
    fn refuses_unknown_and_duplicate_fields() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert!(Fields::new([pair("eps", "1"), pair("eps", "2")]).is_err());
        let mut fields = Fields::new([pair("eps", "1"), pair("hiden", "2")]).expect("no duplicate");
        assert_eq!(fields.required::<f32>("eps"), Ok(1.0));
        assert!(matches!(fields.clone().required::<u32>("hidden"), Err(FieldError::Missing { .. })));
        assert!(fields.finish().is_err());
    }
}
