//! Typed access to the keys of a rotary object.

use serde_json::{Map, Value};

use super::ConfigError;
use crate::rope::real::Real;

/// Every type, with the keys it has besides [`COMMON`].
const TYPES: [(&str, &[&str]); 9] = [
    ("default", &[]),
    ("linear", &["factor"]),
    ("dynamic", &["factor", "seq_len"]),
    ("ntk", &["factor"]),
    ("llama3", &["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"]),
    (
        "yarn",
        &[
            "factor",
            "original_max_position_embeddings",
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "mscale",
            "mscale_all_dim",
            "truncate",
        ],
    ),
    (
        "longrope",
        &[
            "short_factor",
            "long_factor",
            "factor",
            "original_max_position_embeddings",
            "attention_factor",
            "seq_len",
        ],
    ),
    ("proportional", &["factor"]),
    ("explicit", &["inv_freq", "dtype", "attention_factor"]),
];

/// Keys of every type.
const COMMON: [&str; 7] = [
    "rope_type",
    "type",
    "rope_theta",
    "partial_rotary_factor",
    "max_position_embeddings",
    "mrope_section",
    "mrope_interleaved",
];

/// Older names of types.
const ALIASES: [(&str, &str); 2] = [("mrope", "default"), ("su", "longrope")];

/// An object whose type is known and whose keys are all keys of that type.
pub(super) struct Keys<'a> {
    object: &'a Map<String, Value>,
    /// The type's present name.
    pub(super) rope_type: &'static str,
}

impl<'a> Keys<'a> {
    pub(super) fn new(object: &'a Map<String, Value>) -> Result<Keys<'a>, ConfigError> {
        let (rope_type, own) = rope_type(object)?;
        let known = || COMMON.iter().chain(own).copied();
        match object.iter().find(|(key, value)| !value.is_null() && !known().any(|name| name == key.as_str()))
        {
            Some((key, _)) => Err(ConfigError::UnknownKey {
                rope_type: rope_type.to_owned(),
                key: key.clone(),
                known: list(known()),
            }),
            None => Ok(Keys { object, rope_type }),
        }
    }

    /// The value, unless it is absent or null.
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// The value read by `read`, which gives none for a value of another kind.
    fn typed<T>(
        &self,
        key: &str,
        expected: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        typed(self.get(key), key, expected, read)
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, ConfigError> {
        self.typed(key, "a number", Value::as_f64)
    }

    /// A length in positions.
    pub(super) fn length(&self, key: &str) -> Result<Option<u64>, ConfigError> {
        self.typed(key, "a whole number of positions", whole)
    }

    pub(super) fn boolean(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(super) fn numbers(&self, key: &str) -> Result<Option<Vec<Real>>, ConfigError> {
        self.typed(key, "a list of numbers", |value| {
            value.as_array()?.iter().map(|entry| entry.as_f64().map(Real::new)).collect()
        })
    }

    pub(super) fn sections(&self, key: &str) -> Result<Option<Vec<u32>>, ConfigError> {
        self.typed(key, "a list of whole numbers", |value| {
            value.as_array()?.iter().map(|entry| u32::try_from(entry.as_u64()?).ok()).collect()
        })
    }

    /// Whether `dtype` says f32.
    pub(super) fn single_precision(&self) -> Result<bool, ConfigError> {
        let dtype = self.typed("dtype", "`f32` or `f64`", |value| match value.as_str()? {
            "f32" => Some(true),
            "f64" => Some(false),
            _ => None,
        })?;
        Ok(dtype.unwrap_or(false))
    }

    /// The value, or an error that names its key.
    pub(super) fn required<T>(&self, key: &'static str, value: Option<T>) -> Result<T, ConfigError> {
        value.ok_or_else(|| ConfigError::Missing { rope_type: self.rope_type.to_owned(), key })
    }
}

/// The type of the object and the keys that are its own.
fn rope_type(object: &Map<String, Value>) -> Result<(&'static str, &'static [&'static str]), ConfigError> {
    let read = |key: &str| {
        let value = object.get(key).filter(|value| !value.is_null());
        let name = typed(value, key, "the name of a rope type", |value| value.as_str().map(str::to_owned))?;
        name.map(|name| {
            let current = ALIASES.iter().find(|(old, _)| *old == name).map_or(name.as_str(), |(_, new)| new);
            TYPES.iter().find(|(known, _)| *known == current).copied().ok_or_else(|| {
                ConfigError::UnknownType {
                    found: name.clone(),
                    known: list(TYPES.iter().map(|(known, _)| *known)),
                }
            })
        })
        .transpose()
    };
    match (read("rope_type")?, read("type")?) {
        (Some(new), Some(old)) if new.0 != old.0 => Err(ConfigError::Contradiction {
            first: format!("rope_type `{}`", new.0),
            second: format!("type `{}`", old.0),
        }),
        (Some(found), _) | (None, Some(found)) => Ok(found),
        (None, None) => Ok(TYPES[0]),
    }
}

/// `value` read by `read`, or an error that names `key`.
pub(super) fn typed<T>(
    value: Option<&Value>,
    key: &str,
    expected: &'static str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Option<T>, ConfigError> {
    let Some(value) = value else { return Ok(None) };
    match read(value) {
        Some(read) => Ok(Some(read)),
        None => Err(ConfigError::Kind { key: key.to_owned(), expected, found: short(value) }),
    }
}

/// A whole number, also one written as a float.
pub(super) fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        // Below 2^53 a float without a fraction is the number that was meant.
        (number.fract() == 0.0 && (0.0..9.0e15).contains(&number)).then_some(number as u64)
    })
}

/// The names in one line.
pub(super) fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// The value as JSON, cut after 60 characters.
pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
