//! The frequencies as transformers computes them: f32 steps in its order, so that the bits come out the same.
//!
//! What transformers does in Python floats is f64 here, with logarithms and powers rounded correctly; what it does in f32 tensors
//! is f32, where a Python number meets a tensor as an f32, `number / tensor` is the reciprocal times the number, and the power of a
//! tensor is rounded correctly. The sequence length of dynamic NTK is taken as a Python integer. PyTorch's vectorized power on
//! CPUs misses the correct rounding by one f32 now and then, where the exact power lies near the middle of two (8 of 700
//! frequencies in the reference data): a model's own buffer goes in as an explicit list if those bits matter.

use super::big::Big;
use super::exact::proportional_pairs;
use super::scaling::{LongRope, Scaling, Yarn};

/// Frequencies of all pairs and the factor on cosine and sine (a Python float).
pub(super) fn frequencies(theta: f64, scaling: &Scaling, width: u32) -> (Vec<f32>, f64) {
    let plain = || reciprocals(&powers(theta, width));
    match scaling {
        Scaling::Default => (plain(), 1.0),
        Scaling::Linear { factor } => (plain().into_iter().map(|f| f / factor.get() as f32).collect(), 1.0),
        Scaling::DynamicNtk { factor, max_position, seq_len } => {
            let (factor, max) = (factor.get(), *max_position as f64);
            let length = seq_len.unwrap_or(0).max(*max_position) as f64;
            let growth = factor * length / max - (factor - 1.0);
            (reciprocals(&powers(ntk_base(theta, growth, width), width)), 1.0)
        }
        Scaling::StaticNtk { factor } => {
            (reciprocals(&powers(ntk_base(theta, factor.get(), width), width)), 1.0)
        }
        Scaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position } => {
            let band = Llama3 {
                factor: factor.get(),
                low: low_freq_factor.get(),
                high: high_freq_factor.get(),
                original: *original_max_position as f64,
            };
            (plain().into_iter().map(|f| band.scaled(f)).collect(), 1.0)
        }
        Scaling::Yarn(parameters) => yarn(theta, parameters, width),
        Scaling::LongRope(parameters) => long_rope(theta, parameters, width),
        Scaling::Proportional { partial, factor } => {
            let turning = proportional_pairs(partial.get(), width);
            let mut all = plain();
            all.iter_mut().skip(turning).for_each(|f| *f = 0.0);
            (all.into_iter().map(|f| f / factor.get() as f32).collect(), 1.0)
        }
    }
}

/// `theta^(2i/d)`: the exponent is `f32(2i) / f32(d)` and the base an f32, the power of both is rounded once.
fn powers(theta: f64, width: u32) -> Vec<f32> {
    let ln = Big::from_f32(theta as f32).ln();
    (0..width / 2)
        .map(|i| {
            let exponent = (2 * i) as f32 / width as f32;
            (Big::from_f32(exponent) * ln).exp().to_f32()
        })
        .collect()
}

fn reciprocals(powers: &[f32]) -> Vec<f32> {
    powers.iter().map(|power| 1.0 / power).collect()
}

/// `theta · growth^(d / (d − 2))` in f64.
fn ntk_base(theta: f64, growth: f64, width: u32) -> f64 {
    let exponent = f64::from(width) / f64::from(width - 2);
    theta * Big::from_f64(growth).pow(Big::from_f64(exponent)).to_f64()
}

/// The natural logarithm in f64, rounded correctly.
fn ln(x: f64) -> f64 {
    Big::from_f64(x).ln().to_f64()
}

struct Llama3 {
    factor: f64,
    low: f64,
    high: f64,
    original: f64,
}

impl Llama3 {
    fn scaled(&self, f: f32) -> f32 {
        let wavelength = (1.0 / f) * (2.0 * std::f64::consts::PI) as f32;
        let (low_wavelength, high_wavelength) =
            ((self.original / self.low) as f32, (self.original / self.high) as f32);
        let factor = self.factor as f32;
        if wavelength > low_wavelength {
            f / factor
        } else if wavelength < high_wavelength {
            f
        } else {
            let turns = (1.0 / wavelength) * self.original as f32;
            let smooth = (turns - self.low as f32) / (self.high - self.low) as f32;
            (1.0 - smooth) * f / factor + smooth * f
        }
    }
}

fn yarn(theta: f64, parameters: &Yarn, width: u32) -> (Vec<f32>, f64) {
    let factor = parameters.factor.get();
    let original = parameters.original_max_position as f64;
    let correction = |turns: f64| {
        f64::from(width) * ln(original / (turns * 2.0 * std::f64::consts::PI)) / (2.0 * ln(theta))
    };
    let (mut low, mut high) =
        (correction(parameters.beta_fast.get()), correction(parameters.beta_slow.get()));
    if parameters.truncate {
        (low, high) = (low.floor(), high.ceil());
    }
    low = low.max(0.0);
    high = high.min(f64::from(width - 1));
    if low == high {
        high += 0.001;
    }
    let scaled = powers(theta, width).into_iter().zip(0u32..).map(|(power, i)| {
        let ramp = ((i as f32 - low as f32) / (high - low) as f32).clamp(0.0, 1.0);
        let extrapolated = 1.0 - ramp;
        (1.0 / (factor as f32 * power)) * (1.0 - extrapolated) + (1.0 / power) * extrapolated
    });

    let magnitude = |scale: f64| if factor <= 1.0 { 1.0 } else { 0.1 * scale * ln(factor) + 1.0 };
    let attention = match (parameters.attention_factor, parameters.mscales()) {
        (Some(explicit), _) => explicit.get(),
        (None, Some((mscale, all_dim))) => magnitude(mscale) / magnitude(all_dim),
        (None, None) => magnitude(1.0),
    };
    (scaled.collect(), attention)
}

fn long_rope(theta: f64, parameters: &LongRope, width: u32) -> (Vec<f32>, f64) {
    let scaled = powers(theta, width)
        .into_iter()
        .zip(parameters.divisors())
        .map(|(power, divisor)| 1.0 / (divisor.get() as f32 * power));
    let factor = parameters.factor.get();
    let attention = match parameters.attention_factor {
        Some(explicit) => explicit.get(),
        None if factor <= 1.0 => 1.0,
        None => (1.0 + ln(factor) / ln(parameters.original_max_position as f64)).sqrt(),
    };
    (scaled.collect(), attention)
}
