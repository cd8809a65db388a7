//! The kernels that a language model launches, from the hyper-parameters in its Hugging Face `config.json`.
//!
//! [`ModelConfig::parse`] reads the text of the file; [`ModelConfig::launches`] lists every normalization and rotation of a
//! forward pass as kernel values, each with the places it is used at. What the library has no kernel for is a [`Missing`]
//! entry, so that a warm-up plan cannot pass over it.
//!
//! Families: Llama, Mistral, Qwen2, Qwen3 and Gemma 3 (`gemma3_text`, or `gemma3` with a `text_config`), after the modeling
//! code of `transformers`. Nothing is guessed: a key that a family needs and the file lacks is an error, except for
//! `head_dim`, which is `hidden_size / num_attention_heads` in the families that define it so.
//!
//! Limits: the text model only, without vision or audio towers; q and k are taken to be contiguous
//! [tokens, heads, head_dim] tensors; scaled rotations (`rope_scaling`) are named, not described.

use std::fmt;

use ptxsmith_builder::types::Dtype;

use crate::eps::Eps;
use crate::rms_norm::{RmsNorm, RmsNormSpec};

mod config;
#[cfg(test)]
mod tests;

use config::Reader;

/// A family of models: which normalizations a layer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Two norms a layer.
    Llama,
    /// As Llama.
    Mistral,
    /// As Llama.
    Qwen2,
    /// Two norms a layer, and one over each head of q and of k.
    Qwen3,
    /// Four norms a layer, and one over each head of q and of k; every weight is stored less 1.
    Gemma3,
}

impl Family {
    /// Every family.
    pub const ALL: &'static [Family] =
        &[Family::Llama, Family::Mistral, Family::Qwen2, Family::Qwen3, Family::Gemma3];

    /// `model_type` in the configuration of its text model.
    pub const fn model_type(self) -> &'static str {
        match self {
            Family::Llama => "llama",
            Family::Mistral => "mistral",
            Family::Qwen2 => "qwen2",
            Family::Qwen3 => "qwen3",
            Family::Gemma3 => "gemma3_text",
        }
    }

    /// Whether q and k are normalized head by head.
    const fn has_head_norms(self) -> bool {
        matches!(self, Family::Qwen3 | Family::Gemma3)
    }
}

/// A rotation of q and k.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Base of the frequencies.
    pub theta: f64,
    /// Type of the scaling, if the configuration asks for one: `llama3`, `linear`, `yarn`.
    pub scaling: Option<String>,
    /// Layers it is for, in words.
    pub layers: &'static str,
}

/// What the norms and rotations of a model depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// The family.
    pub family: Family,
    /// Elements of a token's state.
    pub hidden: u32,
    /// Layers.
    pub layers: u32,
    /// Heads of q.
    pub heads: u32,
    /// Heads of k and v.
    pub kv_heads: u32,
    /// Elements of a head.
    pub head_dim: u32,
    /// Epsilon of every norm.
    pub eps: Eps,
    /// Dtype of the weights: f32, f16 or bf16.
    pub dtype: Dtype,
    /// Rotations; Gemma 3 has one for each kind of layer.
    pub ropes: Vec<Rope>,
}

/// A kernel that the model needs, with where.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelLaunch {
    /// The kernel.
    pub kernel: Needed,
    /// Where it is launched, by the names of the modeling code.
    pub uses: Vec<&'static str>,
    /// Launches of one forward pass; at most so many for a rotation that only some layers use.
    pub launches: u32,
}

/// A kernel value, or that there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Needed {
    /// RMSNorm.
    RmsNorm(RmsNorm),
    /// Not in the library.
    Missing(Missing),
}

/// A kernel that a model needs and the library lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What kind of kernel.
    pub kernel: &'static str,
    /// What it would be specialized to.
    pub spec: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no kernel for {} ({})", self.kernel, self.spec)
    }
}

impl std::error::Error for Missing {}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// The text is not JSON, or no object.
    Json(String),
    /// A key is missing.
    MissingKey(&'static str),
    /// A value is of the wrong type or out of range.
    Invalid {
        /// The key.
        key: &'static str,
        /// Its value, as JSON.
        value: String,
        /// What is allowed.
        allowed: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Json(error) => write!(f, "the configuration cannot be read: {error}"),
            ConfigError::MissingKey(key) => write!(f, "the configuration has no `{key}`"),
            ConfigError::Invalid { key, value, allowed } => {
                write!(f, "`{key}` of the configuration is {value}, it must be {allowed}")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl ModelConfig {
    /// Reads the text of a `config.json`.
    ///
    /// # Errors
    /// [`ConfigError`] for text that is not JSON, a missing key, a value out of range or an unknown `model_type`.
    pub fn parse(text: &str) -> Result<ModelConfig, ConfigError> {
        let reader = Reader::new(text)?;
        let family = reader.family()?;
        let hidden = reader.count("hidden_size")?;
        let heads = reader.count("num_attention_heads")?;
        let head_dim = match (family, reader.optional_count("head_dim")?) {
            (_, Some(dim)) => dim,
            (Family::Qwen3 | Family::Gemma3, None) => return Err(ConfigError::MissingKey("head_dim")),
            (_, None) if !hidden.is_multiple_of(heads) => {
                return Err(ConfigError::Invalid {
                    key: "hidden_size",
                    value: hidden.to_string(),
                    allowed: format!("a multiple of num_attention_heads = {heads}, or head_dim be given"),
                });
            }
            (_, None) => hidden / heads,
        };
        Ok(ModelConfig {
            family,
            hidden,
            layers: reader.count("num_hidden_layers")?,
            heads,
            kv_heads: reader.optional_count("num_key_value_heads")?.unwrap_or(heads),
            head_dim,
            eps: reader.eps("rms_norm_eps")?,
            dtype: reader.dtype()?,
            ropes: reader.ropes(family)?,
        })
    }

    /// The same model with activations and weights of another dtype.
    #[must_use]
    pub fn with_dtype(self, dtype: Dtype) -> ModelConfig {
        ModelConfig { dtype, ..self }
    }

    /// Every norm and rotation of a forward pass; equal kernel values are one entry.
    pub fn launches(&self) -> Vec<ModelLaunch> {
        let layers = self.layers;
        let mut list = match self.family {
            Family::Gemma3 => vec![ModelLaunch {
                kernel: self.norm(self.hidden),
                uses: vec![
                    "input_layernorm",
                    "post_attention_layernorm",
                    "pre_feedforward_layernorm",
                    "post_feedforward_layernorm",
                    "norm",
                ],
                launches: 4 * layers + 1,
            }],
            Family::Llama | Family::Mistral | Family::Qwen2 | Family::Qwen3 => vec![ModelLaunch {
                kernel: self.norm(self.hidden),
                uses: vec!["input_layernorm", "post_attention_layernorm", "norm"],
                launches: 2 * layers + 1,
            }],
        };
        if self.family.has_head_norms() {
            list.push(ModelLaunch {
                kernel: self.norm(self.head_dim),
                uses: vec!["self_attn.q_norm", "self_attn.k_norm"],
                launches: 2 * layers,
            });
        }
        for rope in &self.ropes {
            let scaling =
                rope.scaling.as_deref().map_or_else(String::new, |kind| format!(", scaling {kind}"));
            let spec = format!(
                "head_dim {}, theta {}{scaling}, {}, {}",
                self.head_dim, rope.theta, self.dtype, rope.layers
            );
            list.push(ModelLaunch {
                kernel: Needed::Missing(Missing { kernel: "rotary position embedding", spec }),
                uses: vec!["self_attn.rotary_emb"],
                launches: layers,
            });
        }
        list
    }

    /// The kernel values that the library has.
    pub fn rms_norms(&self) -> Vec<RmsNorm> {
        let launches = self.launches().into_iter();
        launches
            .filter_map(|launch| match launch.kernel {
                Needed::RmsNorm(kernel) => Some(kernel),
                Needed::Missing(_) => None,
            })
            .collect()
    }

    /// The kernels that the library lacks.
    pub fn missing(&self) -> Vec<Missing> {
        let launches = self.launches().into_iter();
        launches
            .filter_map(|launch| match launch.kernel {
                Needed::RmsNorm(_) => None,
                Needed::Missing(missing) => Some(missing),
            })
            .collect()
    }

    fn norm(&self, row: u32) -> Needed {
        if self.family == Family::Gemma3 {
            let spec = format!("hidden {row}, eps {:e}, {}", self.eps.get(), self.dtype);
            return Needed::Missing(Missing { kernel: "RMSNorm with 1 added to the weight", spec });
        }
        let spec = RmsNormSpec::new(row, self.eps, self.dtype, self.dtype, self.dtype);
        Needed::RmsNorm(RmsNorm { spec, schedule: None })
    }
}
