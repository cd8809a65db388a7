//! What the frequencies of a rotary embedding are made from: base, scaling formula and its parameters.
//!
//! Every float is held by its bits, so that two specs are equal only if they bake the same numbers. Nothing has a default here:
//! the defaults of the Hugging Face format belong to its reader, [`config`](super::config). `d` is the rotary width, the number of
//! elements of a head that are rotated; pair `i` of `d/2` turns by `f_i` radians a position.

use super::real::Real;
use super::table::FrequencyTable;

/// The widest rotary width that a table is made for.
pub const MAX_ROTARY_DIM: u32 = 4096;
/// The greatest frequency, in radians a position: positions up to ±2^40 times it stay below 2^64, where angles in f32 are
/// still reduced correctly.
pub const MAX_FREQUENCY: f64 = 8_388_608.0;

/// Where the frequencies come from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Frequencies {
    /// Powers of a base, scaled: `f_i = theta^(−2i/d)` (Su et al., RoFormer), then changed by `scaling`.
    Formula {
        /// The base, called `rope_theta` in model configurations.
        theta: Real,
        /// The change.
        scaling: Scaling,
    },
    /// A list, one entry a pair, whose bits are kept.
    Explicit {
        /// The frequencies in radians a position.
        list: FrequencyList,
        /// Factor on cosine and sine.
        attention_factor: Real,
    },
}

/// Frequencies given one by one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FrequencyList {
    /// f32 values by their bits, as a model's `inv_freq` buffer holds them.
    F32(Vec<u32>),
    /// f64 values.
    F64(Vec<Real>),
}

/// How the frequencies of the base are changed. Names are those of `rope_type` in transformers' `modeling_rope_utils`, whose
/// formulas these are unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scaling {
    /// Not at all.
    Default,
    /// Position interpolation (Chen et al.): `f_i / factor`.
    Linear {
        /// Divisor of every frequency.
        factor: Real,
    },
    /// NTK-aware scaling that grows with the sequence (`dynamic`):
    /// `theta' = theta · (factor · L / max_position − (factor − 1))^(d / (d − 2))` with `L = max(seq_len, max_position)`.
    DynamicNtk {
        /// Growth of the base per trained length.
        factor: Real,
        /// Trained length in positions.
        max_position: u64,
        /// Length in positions that the table is for; none is `max_position`.
        seq_len: Option<u64>,
    },
    /// NTK-aware scaling with a fixed base, `theta' = theta · factor^(d / (d − 2))`, as in llama.cpp and text-generation servers.
    StaticNtk {
        /// Factor of context extension.
        factor: Real,
    },
    /// Llama 3.1's bands (`llama3`). With the wavelength `w = 2π / f`: kept where `w < original / high_freq_factor`, divided by
    /// `factor` where `w > original / low_freq_factor`, between them `(1 − s) f / factor + s f` with
    /// `s = (original / w − low_freq_factor) / (high_freq_factor − low_freq_factor)`.
    Llama3 {
        /// Divisor of the low frequencies.
        factor: Real,
        /// Turns over the original length below which a frequency is low.
        low_freq_factor: Real,
        /// Turns over the original length above which a frequency is high.
        high_freq_factor: Real,
        /// Original length in positions.
        original_max_position: u64,
    },
    /// YaRN.
    Yarn(Yarn),
    /// LongRoPE.
    LongRope(LongRope),
    /// Gemma's proportional form: the first `floor(partial · d / 2)` pairs have `theta^(−2i/d) / factor`, the others do not turn.
    /// The rotary width is the whole head.
    Proportional {
        /// Part of the pairs that turn, 0 to 1.
        partial: Real,
        /// Divisor of every frequency.
        factor: Real,
    },
}

/// Parameters of YaRN (Peng et al.; `yarn`).
///
/// With `c(r) = d ln(original / (2π r)) / (2 ln theta)`, `low = max(c(beta_fast), 0)` and `high = min(c(beta_slow), d − 1)`,
/// before that floor and ceiling if `truncate`, and `high + 0.001` if both are equal, the ramp is
/// `t_i = clamp((i − low) / (high − low), 0, 1)`, and the frequency `f_i (1 − t_i) + f_i t_i / factor`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Yarn {
    /// Factor of context extension.
    pub factor: Real,
    /// Trained length in positions.
    pub original_max_position: u64,
    /// Factor on cosine and sine. None: with `m(k) = 0.1 k ln factor + 1`, or 1 where `factor ≤ 1`, it is
    /// `m(mscale) / m(mscale_all_dim)` if both are given and not zero, else `m(1)`.
    pub attention_factor: Option<Real>,
    /// Turns over the trained length from which a frequency is kept.
    pub beta_fast: Real,
    /// Turns over the trained length up to which a frequency is divided.
    pub beta_slow: Real,
    /// See `attention_factor`.
    pub mscale: Option<Real>,
    /// See `attention_factor`.
    pub mscale_all_dim: Option<Real>,
    /// Whether the ramp begins and ends at whole pairs.
    pub truncate: bool,
}

/// Parameters of LongRoPE (Ding et al.; `longrope`): `1 / (ext_i · theta^(2i/d))`, where `ext` is `long` if
/// `seq_len > original_max_position`, else `short`: one list for all positions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LongRope {
    /// Divisors for sequences up to the original length, one a pair.
    pub short: Vec<Real>,
    /// Divisors for longer ones.
    pub long: Vec<Real>,
    /// Factor of context extension; only `attention_factor`'s default reads it.
    pub factor: Real,
    /// Trained length in positions.
    pub original_max_position: u64,
    /// Factor on cosine and sine. None: `sqrt(1 + ln factor / ln original)`, or 1 where `factor ≤ 1`.
    pub attention_factor: Option<Real>,
    /// Length in positions that the table is for; none is a short one.
    pub seq_len: Option<u64>,
}

impl Yarn {
    /// `mscale` and `mscale_all_dim` if they decide the attention factor: both given, neither zero.
    pub(super) fn mscales(&self) -> Option<(f64, f64)> {
        let given = |scale: Option<Real>| scale.map(Real::get).filter(|&scale| scale != 0.0);
        Some((given(self.mscale)?, given(self.mscale_all_dim)?))
    }
}

impl LongRope {
    /// The list of divisors that holds for `seq_len`.
    pub(super) fn divisors(&self) -> &[Real] {
        if self.seq_len.unwrap_or(0) > self.original_max_position { &self.long } else { &self.short }
    }
}

/// Parameters that give no frequencies.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FrequencyError {
    /// The rotary width cannot be split into pairs, or is out of range.
    #[error("rotary width {width} is not an even number from 2 to {MAX_ROTARY_DIM}")]
    RotaryDim {
        /// The width.
        width: u32,
    },
    /// A parameter out of its range.
    #[error("{name} is {value:?}, which is not {limit}")]
    Parameter {
        /// Name of the parameter, with its index where it is part of a list.
        name: String,
        /// Its value.
        value: f64,
        /// The range in words.
        limit: &'static str,
    },
    /// A list of the wrong length.
    #[error("{name} has {found} entries, but a rotary width of {width} has {expected} pairs")]
    Length {
        /// Name of the list.
        name: &'static str,
        /// Its length.
        found: usize,
        /// The rotary width.
        width: u32,
        /// Its number of pairs.
        expected: usize,
    },
    /// A formula that divides by `d − 2`.
    #[error("ntk scaling needs a rotary width of at least 4, not {width}")]
    NtkWidth {
        /// The width.
        width: u32,
    },
    /// A frequency that cannot be baked.
    #[error("the frequency of pair {pair} is {value:?} radians a position; the limit is ±{MAX_FREQUENCY:?}")]
    Frequency {
        /// The pair.
        pair: usize,
        /// The frequency.
        value: f64,
    },
    /// A factor on cosine and sine that f32 does not hold.
    #[error("the attention factor comes out as {value:?}, which is not a finite f32")]
    AttentionFactor {
        /// The factor.
        value: f64,
    },
}

impl Frequencies {
    /// The frequencies for a rotary width of `width` elements: `width / 2` pairs.
    ///
    /// # Errors
    ///
    /// If the width or a parameter is out of range, or a list has another length.
    pub fn table(&self, width: u32) -> Result<FrequencyTable, FrequencyError> {
        self.check(width)?;
        FrequencyTable::new(self, width)
    }

    /// Checks the ranges that the formulas rely on.
    pub(super) fn check(&self, width: u32) -> Result<(), FrequencyError> {
        if !width.is_multiple_of(2) || !(2..=MAX_ROTARY_DIM).contains(&width) {
            return Err(FrequencyError::RotaryDim { width });
        }
        match self {
            Frequencies::Formula { theta, scaling } => {
                positive("theta", *theta)?;
                scaling.check(*theta, width)
            }
            Frequencies::Explicit { list, attention_factor } => {
                length("the list of frequencies", list.len(), width)?;
                for (pair, value) in list.values().enumerate() {
                    if !value.is_finite() || value.abs() > MAX_FREQUENCY {
                        return Err(FrequencyError::Frequency { pair, value });
                    }
                }
                in_range("attention_factor", attention_factor.get(), "a finite f32", |_| true)
            }
        }
    }
}

impl FrequencyList {
    /// The number of pairs.
    pub fn len(&self) -> usize {
        match self {
            FrequencyList::F32(bits) => bits.len(),
            FrequencyList::F64(values) => values.len(),
        }
    }

    /// The frequencies as f64, exactly.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let (bits, values): (&[u32], &[Real]) = match self {
            FrequencyList::F32(bits) => (bits, &[]),
            FrequencyList::F64(values) => (&[], values),
        };
        let narrow = bits.iter().map(|&bits| f64::from(f32::from_bits(bits)));
        narrow.chain(values.iter().map(|value| value.get()))
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Scaling {
    fn check(&self, theta: Real, width: u32) -> Result<(), FrequencyError> {
        match self {
            Scaling::Default => Ok(()),
            Scaling::Linear { factor } => positive("factor", *factor),
            Scaling::DynamicNtk { factor, max_position, seq_len: _ } => {
                positive("factor", *factor)?;
                positive_length("max_position_embeddings", *max_position)?;
                ntk_width(width)
            }
            Scaling::StaticNtk { factor } => {
                positive("factor", *factor)?;
                ntk_width(width)
            }
            Scaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position } => {
                positive("factor", *factor)?;
                positive("low_freq_factor", *low_freq_factor)?;
                positive("high_freq_factor", *high_freq_factor)?;
                in_range(
                    "high_freq_factor",
                    high_freq_factor.get(),
                    "greater than low_freq_factor",
                    |high| high > low_freq_factor.get(),
                )?;
                positive_length("original_max_position_embeddings", *original_max_position)
            }
            Scaling::Yarn(yarn) => {
                positive("factor", yarn.factor)?;
                positive("beta_fast", yarn.beta_fast)?;
                positive("beta_slow", yarn.beta_slow)?;
                in_range("beta_fast", yarn.beta_fast.get(), "at least beta_slow", |fast| {
                    fast >= yarn.beta_slow.get()
                })?;
                in_range(
                    "theta",
                    theta.get(),
                    "greater than 1, as yarn divides by its logarithm",
                    |theta| theta > 1.0,
                )?;
                for (name, value) in [
                    ("attention_factor", yarn.attention_factor),
                    ("mscale", yarn.mscale),
                    ("mscale_all_dim", yarn.mscale_all_dim),
                ] {
                    if let Some(value) = value {
                        in_range(name, value.get(), "a finite f32 that is not negative", |x| x >= 0.0)?;
                    }
                }
                positive_length("original_max_position_embeddings", yarn.original_max_position)
            }
            Scaling::LongRope(long) => {
                positive("factor", long.factor)?;
                for (name, list) in [("short_factor", &long.short), ("long_factor", &long.long)] {
                    length(name, list.len(), width)?;
                    for (i, divisor) in list.iter().enumerate() {
                        positive(&format!("{name}[{i}]"), *divisor)?;
                    }
                }
                if let Some(factor) = long.attention_factor {
                    let limit = "a finite f32 that is not negative";
                    in_range("attention_factor", factor.get(), limit, |x| x >= 0.0)?;
                } else {
                    let original = long.original_max_position as f64;
                    let limit = "at least 2, as longrope divides by its logarithm";
                    in_range("original_max_position_embeddings", original, limit, |x| x >= 2.0)?;
                }
                positive_length("original_max_position_embeddings", long.original_max_position)
            }
            Scaling::Proportional { partial, factor } => {
                positive("factor", *factor)?;
                in_range("partial_rotary_factor", partial.get(), "from 0 to 1", |x| (0.0..=1.0).contains(&x))
            }
        }
    }
}

/// Refuses what is not finite in f32, in which transformers computes, or does not satisfy `test`.
fn in_range(
    name: &str,
    value: f64,
    limit: &'static str,
    test: impl Fn(f64) -> bool,
) -> Result<(), FrequencyError> {
    if (value as f32).is_finite() && test(value) {
        Ok(())
    } else {
        Err(FrequencyError::Parameter { name: name.to_owned(), value, limit })
    }
}

fn positive(name: &str, value: Real) -> Result<(), FrequencyError> {
    in_range(name, value.get(), "a positive normal f32", |x| x as f32 >= f32::MIN_POSITIVE)
}

fn positive_length(name: &str, positions: u64) -> Result<(), FrequencyError> {
    in_range(name, positions as f64, "at least 1", |x| x >= 1.0)
}

fn ntk_width(width: u32) -> Result<(), FrequencyError> {
    if width < 4 { Err(FrequencyError::NtkWidth { width }) } else { Ok(()) }
}

fn length(name: &'static str, found: usize, width: u32) -> Result<(), FrequencyError> {
    let expected = width as usize / 2;
    if found == expected { Ok(()) } else { Err(FrequencyError::Length { name, found, width, expected }) }
}
