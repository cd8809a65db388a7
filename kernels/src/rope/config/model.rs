//! Reads the rotary part of a whole `config.json`.

use serde_json::{Map, Value};

use super::keys::{typed, whole};
use super::{ConfigError, ModelRope, Outer, object, read};

/// Reads a model's configuration: its `rope_parameters` or `rope_scaling` object together with what transformers looks up beside
/// it. The text part of a multi-modal configuration (`text_config`) is found too.
///
/// `layer_type` chooses among parameters by layer; `seq_len` is the length that dynamic NTK and LongRoPE are baked for. Older
/// spellings are understood: `rotary_pct` and `rotary_emb_base` (GPT-NeoX), `rotary_dim` (GPT-J), `qk_rope_head_dim`
/// (DeepSeek), `rope_local_base_freq` for layers of type `sliding_attention` (Gemma 3).
///
/// # Errors
///
/// See [`ConfigError`]; a configuration without a base is one.
pub fn read_model(
    config: &Value,
    layer_type: Option<&str>,
    seq_len: Option<u64>,
) -> Result<ModelRope, ConfigError> {
    let root = object(config, "the model configuration")?;
    let config = match root.get("text_config") {
        Some(text) if text.is_object() => object(text, "text_config")?,
        _ => root,
    };
    let model = Model(config);
    let outer = Outer {
        head_dim: model.head_dim()?,
        rotary_dim: model.width(&["rotary_dim"])?,
        theta: model.number(&["rope_theta", "rotary_emb_base"])?,
        partial_rotary_factor: model.number(&["partial_rotary_factor", "rotary_pct"])?,
        max_position_embeddings: model.length("max_position_embeddings")?,
        original_max_position_embeddings: model.length("original_max_position_embeddings")?,
        seq_len,
        layer_type,
    };
    if let (Some("sliding_attention"), Some(theta)) = (layer_type, model.number(&["rope_local_base_freq"])?) {
        return read(&Value::Null, &Outer { theta: Some(theta), ..outer });
    }
    let absent = Value::Null;
    let parameters = match (model.get("rope_parameters"), model.get("rope_scaling")) {
        (Some(new), Some(old)) if new != old => {
            return Err(ConfigError::Contradiction {
                first: "rope_parameters".to_owned(),
                second: "rope_scaling".to_owned(),
            });
        }
        (Some(found), _) | (None, Some(found)) => found,
        (None, None) => &absent,
    };
    read(parameters, &outer)
}

struct Model<'a>(&'a Map<String, Value>);

impl<'a> Model<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// The first of `keys` that is there.
    fn number(&self, keys: &[&str]) -> Result<Option<f64>, ConfigError> {
        let Some((key, value)) = keys.iter().find_map(|key| Some((*key, self.get(key)?))) else {
            return Ok(None);
        };
        typed(Some(value), key, "a number", Value::as_f64)
    }

    fn length(&self, key: &str) -> Result<Option<u64>, ConfigError> {
        typed(self.get(key), key, "a whole number of positions", whole)
    }

    /// The first of `keys` that is there, a number of elements.
    fn width(&self, keys: &[&str]) -> Result<Option<u32>, ConfigError> {
        let Some((key, value)) = keys.iter().find_map(|key| Some((*key, self.get(key)?))) else {
            return Ok(None);
        };
        typed(Some(value), key, "a positive number of elements", |value| {
            whole(value).and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0)
        })
    }

    /// Elements of a head, as given or as the hidden size over the number of heads.
    fn head_dim(&self) -> Result<u32, ConfigError> {
        if let Some(given) = self.width(&["qk_rope_head_dim", "head_dim"])? {
            return Ok(given);
        }
        let missing = |key| ConfigError::MissingSize { key };
        let hidden = self.width(&["hidden_size", "n_embd"])?.ok_or_else(|| missing("hidden_size"))?;
        let heads =
            self.width(&["num_attention_heads", "n_head"])?.ok_or_else(|| missing("num_attention_heads"))?;
        Ok(hidden / heads)
    }
}
