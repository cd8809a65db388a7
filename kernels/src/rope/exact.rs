//! The frequencies of every scaling in high precision: the formulas as the papers mean them, each evaluated without roundings.
//!
//! The parameters are taken as the exact values of their f64; constants of the formulas (0.1, 0.001, 2π) are exact too.

use super::big::{Big, pi};
use super::scaling::{LongRope, Scaling, Yarn};

/// Frequencies of all pairs and the factor on cosine and sine.
pub(super) fn frequencies(theta: f64, scaling: &Scaling, width: u32) -> (Vec<Big>, Big) {
    let theta = Big::from_f64(theta);
    let plain = || powers(theta, width);
    match scaling {
        Scaling::Default => (plain(), Big::ONE),
        Scaling::Linear { factor } => {
            let factor = Big::from_f64(factor.get());
            (plain().into_iter().map(|f| f / factor).collect(), Big::ONE)
        }
        Scaling::DynamicNtk { factor, max_position, seq_len } => {
            let factor = Big::from_f64(factor.get());
            let length = Big::ratio(seq_len.unwrap_or(0).max(*max_position), *max_position);
            let growth = factor * length - (factor - Big::ONE);
            (powers(ntk_base(theta, growth, width), width), Big::ONE)
        }
        Scaling::StaticNtk { factor } => {
            (powers(ntk_base(theta, Big::from_f64(factor.get()), width), width), Big::ONE)
        }
        Scaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position } => {
            let [factor, low, high] =
                [factor, low_freq_factor, high_freq_factor].map(|x| Big::from_f64(x.get()));
            let original = Big::from_u64(*original_max_position);
            let banded = plain().into_iter().map(|f| {
                let turns = original * f / pi().scale(1);
                if turns > high {
                    f
                } else if turns < low {
                    f / factor
                } else {
                    let smooth = (turns - low) / (high - low);
                    (Big::ONE - smooth) * f / factor + smooth * f
                }
            });
            (banded.collect(), Big::ONE)
        }
        Scaling::Yarn(parameters) => yarn(theta, parameters, width),
        Scaling::LongRope(parameters) => long_rope(theta, parameters, width),
        Scaling::Proportional { partial, factor } => {
            let factor = Big::from_f64(factor.get());
            let turning = proportional_pairs(partial.get(), width);
            let mut all = plain();
            for (i, f) in all.iter_mut().enumerate() {
                *f = if i < turning { *f / factor } else { Big::ZERO };
            }
            (all, Big::ONE)
        }
    }
}

/// How many pairs turn in the proportional form. The product is rounded to f64 first, as every reader of the format does it.
pub(super) fn proportional_pairs(partial: f64, width: u32) -> usize {
    (partial * f64::from(width) / 2.0).floor() as usize
}

/// `theta^(−2i/d)` for all pairs.
fn powers(theta: Big, width: u32) -> Vec<Big> {
    let ln = theta.ln();
    (0..u64::from(width / 2)).map(|i| (-(Big::ratio(2 * i, u64::from(width)) * ln)).exp()).collect()
}

/// `theta · growth^(d / (d − 2))`.
fn ntk_base(theta: Big, growth: Big, width: u32) -> Big {
    theta * growth.pow(Big::ratio(u64::from(width), u64::from(width) - 2))
}

fn yarn(theta: Big, parameters: &Yarn, width: u32) -> (Vec<Big>, Big) {
    let factor = Big::from_f64(parameters.factor.get());
    let original = Big::from_u64(parameters.original_max_position);
    let width_big = Big::from_u64(u64::from(width));
    let correction = |turns: f64| {
        let length = original / (Big::from_f64(turns) * pi().scale(1));
        width_big * length.ln() / theta.ln().scale(1)
    };
    let (mut low, mut high) =
        (correction(parameters.beta_fast.get()), correction(parameters.beta_slow.get()));
    if parameters.truncate {
        (low, high) = (low.floor(), high.ceil());
    }
    low = low.max(Big::ZERO);
    high = high.min(width_big - Big::ONE);
    if low == high {
        high = high + Big::ratio(1, 1000);
    }
    let scaled = powers(theta, width).into_iter().zip(0u64..).map(|(f, i)| {
        let ramp = ((Big::from_u64(i) - low) / (high - low)).clamp(Big::ZERO, Big::ONE);
        f * (Big::ONE - ramp) + f / factor * ramp
    });

    let magnitude = |scale: f64| {
        if factor <= Big::ONE {
            Big::ONE
        } else {
            Big::ratio(1, 10) * Big::from_f64(scale) * factor.ln() + Big::ONE
        }
    };
    let attention = match (parameters.attention_factor, parameters.mscales()) {
        (Some(explicit), _) => Big::from_f64(explicit.get()),
        (None, Some((mscale, all_dim))) => magnitude(mscale) / magnitude(all_dim),
        (None, None) => magnitude(1.0),
    };
    (scaled.collect(), attention)
}

fn long_rope(theta: Big, parameters: &LongRope, width: u32) -> (Vec<Big>, Big) {
    let scaled = powers(theta, width)
        .into_iter()
        .zip(parameters.divisors())
        .map(|(f, divisor)| f / Big::from_f64(divisor.get()));
    let factor = Big::from_f64(parameters.factor.get());
    let attention = match parameters.attention_factor {
        Some(explicit) => Big::from_f64(explicit.get()),
        None if factor <= Big::ONE => Big::ONE,
        None => {
            let original = Big::from_u64(parameters.original_max_position);
            (Big::ONE + factor.ln() / original.ln()).sqrt()
        }
    };
    (scaled.collect(), attention)
}
