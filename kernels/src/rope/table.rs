//! The frequencies of one rotary embedding, ready to be baked: fixed-point turns, f32 values of both conventions, and the
//! factor on cosine and sine.

use super::big::{Big, inv_two_pi};
use super::scaling::{Frequencies, FrequencyError, MAX_FREQUENCY};
use super::turn::TurnFraction;
use super::{Angles, exact, hf};

/// The frequencies of all pairs, computed by [`Frequencies::table`].
#[derive(Debug, Clone, PartialEq)]
pub struct FrequencyTable {
    pairs: Vec<PairFrequency>,
    attention: AttentionFactor,
}

/// How fast one pair turns, in radians a position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairFrequency {
    value: Big,
    /// The value over 2π.
    turns: Big,
    hf_f32: f32,
}

/// The factor on cosine and sine, in both directions of the rotation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionFactor {
    value: Big,
    hf: f64,
}

impl FrequencyTable {
    pub(super) fn new(frequencies: &Frequencies, width: u32) -> Result<FrequencyTable, FrequencyError> {
        let (values, value, hf_values, hf) = match frequencies {
            Frequencies::Formula { theta, scaling } => {
                let (values, value) = exact::frequencies(theta.get(), scaling, width);
                let (hf_values, hf) = hf::frequencies(theta.get(), scaling, width);
                (values, value, hf_values, hf)
            }
            Frequencies::Explicit { list, attention_factor } => {
                let values: Vec<Big> = list.values().map(Big::from_f64).collect();
                let hf_values = values.iter().map(|value| value.to_f32()).collect();
                let factor = attention_factor.get();
                (values, Big::from_f64(factor), hf_values, factor)
            }
        };
        let attention = AttentionFactor { value, hf };
        if !attention.f32(Angles::Exact).is_finite() || !attention.f32(Angles::HfF32).is_finite() {
            return Err(FrequencyError::AttentionFactor { value: attention.value.to_f64() });
        }
        let limit = Big::from_f64(MAX_FREQUENCY);
        let mut pairs = Vec::with_capacity(values.len());
        for (pair, (value, hf_f32)) in values.into_iter().zip(hf_values).enumerate() {
            if value.abs() > limit {
                return Err(FrequencyError::Frequency { pair, value: value.to_f64() });
            }
            if !hf_f32.is_finite() || f64::from(hf_f32.abs()) > MAX_FREQUENCY {
                return Err(FrequencyError::Frequency { pair, value: f64::from(hf_f32) });
            }
            pairs.push(PairFrequency { value, turns: value * inv_two_pi(), hf_f32 });
        }
        Ok(FrequencyTable { pairs, attention })
    }

    /// The pairs, in order: `rotary width / 2` of them.
    pub fn pairs(&self) -> &[PairFrequency] {
        &self.pairs
    }

    /// The factor on cosine and sine.
    pub fn attention_factor(&self) -> AttentionFactor {
        self.attention
    }
}

impl PairFrequency {
    /// The frequency in high precision.
    pub fn value(&self) -> Big {
        self.value
    }

    /// The frequency over 2π, in turns a position, in high precision.
    pub fn turns(&self) -> Big {
        self.turns
    }

    /// The frequency rounded to f64.
    pub fn f64(&self) -> f64 {
        self.value.to_f64()
    }

    /// The frequency rounded once to f32.
    pub fn f32(&self) -> f32 {
        self.value.to_f32()
    }

    /// The f32 that transformers holds in its `inv_freq` buffer.
    pub fn hf_f32(&self) -> f32 {
        self.hf_f32
    }

    /// The frequency as what the kernel of the exact convention bakes.
    pub fn turn_fraction(&self) -> TurnFraction {
        let [low, high, ..] = self.turns.fraction(96);
        TurnFraction { hi: low >> 32 | high << 32, lo: low as u32 }
    }
}

impl AttentionFactor {
    /// The factor as the kernel multiplies by it.
    pub fn f32(&self, angles: Angles) -> f32 {
        match angles {
            Angles::Exact => self.value.to_f32(),
            Angles::HfF32 => self.hf as f32,
        }
    }

    /// The factor rounded to f64; under [`Angles::HfF32`] transformers' own f64 steps.
    pub fn f64(&self, angles: Angles) -> f64 {
        match angles {
            Angles::Exact => self.value.to_f64(),
            Angles::HfF32 => self.hf,
        }
    }
}
