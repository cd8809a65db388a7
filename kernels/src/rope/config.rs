//! Reads rotary parameters from Hugging Face configurations: a `rope_parameters` or `rope_scaling` object, or a whole
//! `config.json` ([`read_model`]).
//!
//! Types are those of transformers (`default`, `linear`, `dynamic`, `yarn`, `longrope`, `llama3`, `proportional`), the older names
//! `mrope` (default with axes) and `su` (longrope), and two of our own: `ntk` (static NTK) and `explicit` (the list `inv_freq`, with
//! `dtype` `f32` or `f64`). A key that a type does not have is an error, because ignoring it would rotate by other angles than
//! the model was trained with; a key with the value `null` counts as absent. The only defaults are those of the format. A value
//! in the object goes before the same value around it, except `original_max_position_embeddings`, where transformers has it the
//! other way round.

mod keys;
mod model;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::keys::Keys;
use super::axes::{AxisError, AxisMap};
use super::real::Real;
use super::scaling::{Frequencies, FrequencyError, FrequencyList, LongRope, Scaling, Yarn};

pub use model::read_model;

/// Rotary embedding as a configuration describes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelRope {
    /// Where the frequencies come from.
    pub frequencies: Frequencies,
    /// Elements of a head that are rotated, from the first on.
    pub rotary_dim: u32,
    /// The axis of each pair, where positions have several.
    pub axes: Option<AxisMap>,
}

/// What a configuration holds outside of its rotary object. All but the head width may be absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Outer<'a> {
    /// Elements of a head.
    pub head_dim: u32,
    /// Elements that are rotated; none follows from `partial_rotary_factor`.
    pub rotary_dim: Option<u32>,
    /// `rope_theta`.
    pub theta: Option<f64>,
    /// `partial_rotary_factor`.
    pub partial_rotary_factor: Option<f64>,
    /// `max_position_embeddings`.
    pub max_position_embeddings: Option<u64>,
    /// `original_max_position_embeddings`.
    pub original_max_position_embeddings: Option<u64>,
    /// Length in positions that the table is for (dynamic NTK, LongRoPE).
    pub seq_len: Option<u64>,
    /// Which entry to read where the object has one for each type of layer.
    pub layer_type: Option<&'a str>,
}

/// A configuration that cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// Text that is no JSON.
    #[error("the rotary parameters are not json: {0}")]
    Syntax(String),
    /// Something else in the place of an object.
    #[error("{place}: {found} is not an object")]
    NotAnObject {
        /// Where.
        place: String,
        /// What stands there.
        found: String,
    },
    /// A type that nobody knows here.
    #[error("unknown rope type `{found}`; known are {known}")]
    UnknownType {
        /// The type.
        found: String,
        /// The known ones.
        known: String,
    },
    /// Two values for one thing.
    #[error("{first} and {second} contradict each other")]
    Contradiction {
        /// The one, with its name.
        first: String,
        /// The other.
        second: String,
    },
    /// A key that the type does not have.
    #[error("rope type `{rope_type}` has no key `{key}`; its keys are {known}")]
    UnknownKey {
        /// The type.
        rope_type: String,
        /// The key.
        key: String,
        /// The keys of the type.
        known: String,
    },
    /// A value that has no default.
    #[error("rope type `{rope_type}` needs `{key}`")]
    Missing {
        /// The type.
        rope_type: String,
        /// The key.
        key: &'static str,
    },
    /// No head width, and not what it could be computed from.
    #[error("a model without head_dim needs `{key}`")]
    MissingSize {
        /// The key.
        key: &'static str,
    },
    /// A value of another kind.
    #[error("`{key}` is {found}, not {expected}")]
    Kind {
        /// The key.
        key: String,
        /// The kind in words.
        expected: &'static str,
        /// The value as JSON.
        found: String,
    },
    /// Parameters by type of layer, and none or an unknown one asked for.
    #[error("the rotary parameters differ by layer: {found} is not one of {known}")]
    LayerType {
        /// What was asked for.
        found: String,
        /// The types of layer.
        known: String,
    },
    /// Layers of this type are not rotated.
    #[error("layers of type `{0}` have no rotary embedding")]
    NotRotated(String),
    /// Parameters out of range.
    #[error(transparent)]
    Frequencies(#[from] FrequencyError),
    /// Sections that do not fit.
    #[error(transparent)]
    Axes(#[from] AxisError),
}

/// Reads a rotary object from JSON text; `null` means no scaling.
///
/// # Errors
///
/// See [`ConfigError`].
pub fn read_str(json: &str, outer: &Outer<'_>) -> Result<ModelRope, ConfigError> {
    let value = serde_json::from_str(json).map_err(|error| ConfigError::Syntax(error.to_string()))?;
    read(&value, outer)
}

/// Reads a rotary object; `null` means no scaling.
///
/// # Errors
///
/// See [`ConfigError`].
pub fn read(value: &Value, outer: &Outer<'_>) -> Result<ModelRope, ConfigError> {
    let empty = Map::new();
    let object = match value {
        Value::Null => &empty,
        value => object(value, "the rotary parameters")?,
    };
    if !object.is_empty() && object.values().all(|value| value.is_object() || value.is_null()) {
        return read(layer(object, outer.layer_type)?, &Outer { layer_type: None, ..*outer });
    }
    let keys = Keys::new(object)?;
    let partial = keys.number("partial_rotary_factor")?.or(outer.partial_rotary_factor);
    let frequencies = frequencies(&keys, outer, partial)?;
    let rotary_dim = match &frequencies {
        Frequencies::Formula { scaling: Scaling::Proportional { .. }, .. } => width(outer, None)?,
        _ => width(outer, partial)?,
    };
    frequencies.check(rotary_dim)?;
    Ok(ModelRope { frequencies, rotary_dim, axes: axes(&keys, rotary_dim)? })
}

fn object<'v>(value: &'v Value, place: &str) -> Result<&'v Map<String, Value>, ConfigError> {
    value
        .as_object()
        .ok_or_else(|| ConfigError::NotAnObject { place: place.to_owned(), found: keys::short(value) })
}

/// The entry for one type of layer.
fn layer<'v>(object: &'v Map<String, Value>, wanted: Option<&str>) -> Result<&'v Value, ConfigError> {
    match wanted.and_then(|name| Some((name, object.get(name)?))) {
        Some((name, Value::Null)) => Err(ConfigError::NotRotated(name.to_owned())),
        Some((_, entry)) => Ok(entry),
        None => Err(ConfigError::LayerType {
            found: wanted.map_or_else(|| "no type".to_owned(), |name| format!("`{name}`")),
            known: keys::list(object.keys().map(String::as_str)),
        }),
    }
}

/// The rotary width: as given, else `int(head_dim · partial)`.
fn width(outer: &Outer<'_>, partial: Option<f64>) -> Result<u32, ConfigError> {
    let from_partial = match partial {
        Some(partial) if !(0.0..=1.0).contains(&partial) => {
            let (name, limit) = ("partial_rotary_factor".to_owned(), "from 0 to 1");
            return Err(FrequencyError::Parameter { name, value: partial, limit }.into());
        }
        partial => partial.map(|partial| (f64::from(outer.head_dim) * partial) as u32),
    };
    match (outer.rotary_dim, from_partial) {
        (Some(given), Some(computed)) if given != computed => Err(ConfigError::Contradiction {
            first: format!("a rotary width of {given}"),
            second: format!("a partial_rotary_factor that gives {computed}"),
        }),
        (Some(given), _) if given > outer.head_dim => Err(ConfigError::Contradiction {
            first: format!("a rotary width of {given}"),
            second: format!("a head of {}", outer.head_dim),
        }),
        (given, computed) => Ok(given.or(computed).unwrap_or(outer.head_dim)),
    }
}

fn frequencies(keys: &Keys<'_>, outer: &Outer<'_>, partial: Option<f64>) -> Result<Frequencies, ConfigError> {
    let real = |key| Ok::<_, ConfigError>(Real::new(keys.required(key, keys.number(key)?)?));
    let optional = |key| Ok::<_, ConfigError>(keys.number(key)?.map(Real::new));
    let max_position =
        || Ok::<_, ConfigError>(keys.length("max_position_embeddings")?.or(outer.max_position_embeddings));
    let original = || {
        let key = "original_max_position_embeddings";
        let inner = keys.length(key)?;
        keys.required(key, outer.original_max_position_embeddings.or(inner).or(max_position()?))
    };
    let seq_len = || Ok::<_, ConfigError>(keys.length("seq_len")?.or(outer.seq_len));
    // Without a factor, it is how much longer the model's positions are than the original ones.
    let extension = || match keys.number("factor")? {
        Some(factor) => Ok(Real::new(factor)),
        None => {
            let extended = keys.required("factor", max_position()?)?;
            Ok::<_, ConfigError>(Real::new(extended as f64 / original()? as f64))
        }
    };
    let scaling = match keys.rope_type {
        "default" => Scaling::Default,
        "linear" => Scaling::Linear { factor: real("factor")? },
        "dynamic" => Scaling::DynamicNtk {
            factor: real("factor")?,
            max_position: keys.required("max_position_embeddings", max_position()?)?,
            seq_len: seq_len()?,
        },
        "ntk" => Scaling::StaticNtk { factor: real("factor")? },
        "llama3" => Scaling::Llama3 {
            factor: real("factor")?,
            low_freq_factor: real("low_freq_factor")?,
            high_freq_factor: real("high_freq_factor")?,
            original_max_position: original()?,
        },
        "yarn" => {
            // A beta of 0 counts as absent, as in transformers.
            let beta = |key, default: f64| {
                Ok::<_, ConfigError>(Real::new(
                    keys.number(key)?.filter(|&beta| beta != 0.0).unwrap_or(default),
                ))
            };
            Scaling::Yarn(Yarn {
                factor: extension()?,
                original_max_position: original()?,
                attention_factor: optional("attention_factor")?,
                beta_fast: beta("beta_fast", 32.0)?,
                beta_slow: beta("beta_slow", 1.0)?,
                mscale: optional("mscale")?,
                mscale_all_dim: optional("mscale_all_dim")?,
                truncate: keys.boolean("truncate")?.unwrap_or(true),
            })
        }
        "longrope" => Scaling::LongRope(LongRope {
            short: keys.required("short_factor", keys.numbers("short_factor")?)?,
            long: keys.required("long_factor", keys.numbers("long_factor")?)?,
            factor: extension()?,
            original_max_position: original()?,
            attention_factor: optional("attention_factor")?,
            seq_len: seq_len()?,
        }),
        "proportional" => Scaling::Proportional {
            partial: Real::new(partial.unwrap_or(1.0)),
            factor: Real::new(keys.number("factor")?.unwrap_or(1.0)),
        },
        _ => {
            let values = keys.required("inv_freq", keys.numbers("inv_freq")?)?;
            let list = if keys.single_precision()? {
                FrequencyList::F32(values.iter().map(|value| (value.get() as f32).to_bits()).collect())
            } else {
                FrequencyList::F64(values)
            };
            let attention_factor = Real::new(keys.number("attention_factor")?.unwrap_or(1.0));
            return Ok(Frequencies::Explicit { list, attention_factor });
        }
    };
    let theta = keys.required("rope_theta", keys.number("rope_theta")?.or(outer.theta))?;
    Ok(Frequencies::Formula { theta: Real::new(theta), scaling })
}

fn axes(keys: &Keys<'_>, rotary_dim: u32) -> Result<Option<AxisMap>, ConfigError> {
    let interleaved = keys.boolean("mrope_interleaved")?;
    let Some(sections) = keys.sections("mrope_section")? else {
        return match interleaved {
            Some(true) => keys.required("mrope_section", None),
            Some(false) | None => Ok(None),
        };
    };
    Ok(Some(if interleaved == Some(true) {
        AxisMap::interleaved(&sections, rotary_dim)?
    } else {
        AxisMap::contiguous(&sections, rotary_dim)?
    }))
}
