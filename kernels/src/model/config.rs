//! Reads the keys of a `config.json`, old names and new ones, with an error that names key, value and range.

use ptxsmith_builder::types::Dtype;
use serde_json::{Map, Value};

use super::{ConfigError, Family, Rope};
use crate::eps::Eps;
use crate::row::MAX_HIDDEN;

/// The object that holds the text model's keys.
pub(super) struct Reader {
    text: Map<String, Value>,
    /// `model_type` of the whole file.
    outer: Option<Value>,
    /// `torch_dtype` or `dtype` of the whole file, where the text model's part has none.
    outer_dtype: Option<Value>,
}

impl Reader {
    pub(super) fn new(text: &str) -> Result<Reader, ConfigError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| ConfigError::Json(error.to_string()))?;
        let Value::Object(mut map) = value else {
            return Err(ConfigError::Json("it is not an object".to_owned()));
        };
        let outer = map.get("model_type").cloned();
        let outer_dtype = map.get("dtype").or_else(|| map.get("torch_dtype")).cloned();
        match map.remove("text_config") {
            Some(Value::Object(text)) => Ok(Reader { text, outer, outer_dtype }),
            Some(other) => Err(invalid("text_config", &other, "an object")),
            None => Ok(Reader { text: map, outer, outer_dtype }),
        }
    }

    /// A value; `null` counts as missing.
    fn get(&self, key: &str) -> Option<&Value> {
        self.text.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn family(&self) -> Result<Family, ConfigError> {
        let key = "model_type";
        let inner = self.get(key);
        let value = inner.or(self.outer.as_ref()).ok_or(ConfigError::MissingKey(key))?;
        let name = value.as_str().map(|name| if name == "gemma3" { "gemma3_text" } else { name });
        let found = Family::ALL.iter().find(|family| Some(family.model_type()) == name);
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = Family::ALL.iter().map(|family| family.model_type()).collect();
            invalid(key, value, &format!("one of gemma3, {}", known.join(", ")))
        })
    }

    /// A positive number of things.
    pub(super) fn count(&self, key: &'static str) -> Result<u32, ConfigError> {
        self.optional_count(key)?.ok_or(ConfigError::MissingKey(key))
    }

    pub(super) fn optional_count(&self, key: &'static str) -> Result<Option<u32>, ConfigError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_u64().and_then(|count| u32::try_from(count).ok()) {
            Some(count) if (1..=MAX_HIDDEN).contains(&count) => Ok(Some(count)),
            _ => Err(invalid(key, value, &format!("an integer from 1 to {MAX_HIDDEN}"))),
        }
    }

    pub(super) fn eps(&self, key: &'static str) -> Result<Eps, ConfigError> {
        let value = self.get(key).ok_or(ConfigError::MissingKey(key))?;
        let eps = value.as_f64().and_then(|eps| Eps::new(eps as f32).ok());
        eps.ok_or_else(|| invalid(key, value, "a finite number of at least 0"))
    }

    pub(super) fn dtype(&self) -> Result<Dtype, ConfigError> {
        let own = self.get("dtype").or_else(|| self.get("torch_dtype"));
        let value = own.or(self.outer_dtype.as_ref()).ok_or(ConfigError::MissingKey("torch_dtype"))?;
        match value.as_str() {
            Some("float32") => Ok(Dtype::F32),
            Some("float16") => Ok(Dtype::F16),
            Some("bfloat16") => Ok(Dtype::Bf16),
            _ => Err(invalid("torch_dtype", value, "one of float32, float16, bfloat16")),
        }
    }

    /// The rotations: from `rope_parameters`, by kind of layer or not, or from the keys of older files.
    pub(super) fn ropes(&self, family: Family) -> Result<Vec<Rope>, ConfigError> {
        const FULL: &str = "layers of full attention";
        const SLIDING: &str = "layers of sliding attention";
        const ALL: &str = "all layers";
        let new = self.get("rope_parameters");
        let rope = |holder: Option<&Value>, theta: &'static str, scaling: Option<&Value>, layers| {
            let value = match holder {
                Some(holder) => holder.get("rope_theta").or_else(|| self.get(theta)),
                None => self.get(theta),
            };
            let value = value.ok_or(ConfigError::MissingKey(theta))?;
            let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0);
            let kind = scaling.or(holder).filter(|value| !value.is_null());
            let kind = kind.and_then(|value| value.get("rope_type").or_else(|| value.get("type")));
            let kind = kind.and_then(Value::as_str).filter(|kind| *kind != "default");
            Ok(Rope {
                theta: number.ok_or_else(|| invalid(theta, value, "a finite number above 0"))?,
                scaling: kind.map(str::to_owned),
                layers,
            })
        };
        if family != Family::Gemma3 {
            return Ok(vec![rope(new, "rope_theta", self.get("rope_scaling"), ALL)?]);
        }
        let part = |kind: &str| new.and_then(|value| value.get(kind));
        let full = rope(part("full_attention"), "rope_theta", self.get("rope_scaling"), FULL)?;
        let sliding = rope(part("sliding_attention"), "rope_local_base_freq", None, SLIDING)?;
        Ok(vec![full, sliding])
    }
}

fn invalid(key: &'static str, value: &Value, allowed: &str) -> ConfigError {
    ConfigError::Invalid { key, value: value.to_string(), allowed: allowed.to_owned() }
}
