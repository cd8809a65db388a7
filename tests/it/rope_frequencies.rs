//! Frequencies, angles and the reference of rotary embedding against other people's numbers: transformers, PyTorch's gradients
//! and 60-digit arithmetic. Origins of the data stand in `tests/data/rope/README.md`.

use std::collections::{HashMap, HashSet};

use ptxsmith_kernels::rope::axes::AxisMap;
use ptxsmith_kernels::rope::config::{Outer, read};
use ptxsmith_kernels::rope::real::Real;
use ptxsmith_kernels::rope::reference::{Rotation, hf_angle};
use ptxsmith_kernels::rope::scaling::{Frequencies, FrequencyList, Scaling, Yarn};
use ptxsmith_kernels::rope::sincos::SinCos;
use ptxsmith_kernels::rope::table::FrequencyTable;
use ptxsmith_kernels::rope::turn::angle_turn_wide;
use ptxsmith_kernels::rope::{Angles, Direction, Pairing};
use safetensors::SafeTensors;
use serde_json::{Value, json};

const PAIRINGS: [(&str, Pairing); 2] = [("half", Pairing::Half), ("interleaved", Pairing::Interleaved)];
const CONVENTIONS: [(&str, Angles); 2] = [("exact", Angles::Exact), ("hf_f32", Angles::HfF32)];

fn cases() -> Value {
    serde_json::from_str(include_str!("../data/rope/cases.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|entry| entry.as_f64().unwrap()).collect()
}

fn plain(theta: f64, width: u32) -> FrequencyTable {
    Frequencies::Formula { theta: Real::new(theta), scaling: Scaling::Default }.table(width).unwrap()
}

/// The frequencies of a base rounded once to f32: a cosine and sine table of f32 frequencies, without transformers' reciprocal.
fn rounded_once(theta: f64, width: u32) -> FrequencyTable {
    let bits = plain(theta, width).pairs().iter().map(|pair| pair.f32().to_bits()).collect();
    let list = FrequencyList::F32(bits);
    Frequencies::Explicit { list, attention_factor: Real::new(1.0) }.table(width).unwrap()
}

fn rotation(table: &FrequencyTable, pairing: Pairing) -> Rotation<'_> {
    Rotation { table, axes: None, angles: Angles::Exact, pairing, direction: Direction::Forward, offset: 0 }
}

fn rotated(rotation: &Rotation<'_>, head: &[f64], positions: &[i64]) -> Vec<f64> {
    let mut head = head.to_vec();
    rotation.rotate(&mut head, positions).unwrap();
    head
}

#[track_caller]
fn assert_close(got: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() <= tolerance, "{what}, element {i}: {got} instead of {expected}");
    }
}

#[track_caller]
fn assert_relative(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((got - expected).abs() <= tolerance * expected.abs(), "{what}: {got} instead of {expected}");
}

/// A tensor of `heads.safetensors` as rows of f64.
fn rows(name: &str) -> Vec<Vec<f64>> {
    let file = SafeTensors::deserialize(include_bytes!("../data/rope/heads.safetensors")).unwrap();
    let tensor = file.tensor(name).unwrap();
    let bytes = tensor.data();
    let values: Vec<f64> = match tensor.dtype() {
        safetensors::Dtype::F64 => bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect(),
        safetensors::Dtype::F32 => {
            bytes.as_chunks().0.iter().map(|&b| f64::from(f32::from_le_bytes(b))).collect()
        }
        safetensors::Dtype::I32 => {
            bytes.as_chunks().0.iter().map(|&b| f64::from(i32::from_le_bytes(b))).collect()
        }
        other => panic!("{name} has dtype {other:?}"),
    };
    values.chunks(*tensor.shape().last().unwrap()).map(<[f64]>::to_vec).collect()
}

fn positions(name: &str) -> Vec<Vec<i64>> {
    rows(name).into_iter().map(|row| row.into_iter().map(|position| position as i64).collect()).collect()
}

#[test]
fn frequencies_of_model_configurations_are_those_of_transformers() {
    let configurations: Vec<Value> = serde_json::from_str(include_str!("../data/rope/scaling.json")).unwrap();
    assert_eq!(configurations.len(), 12);
    let mut others = Vec::new();
    for configuration in configurations {
        let name = configuration["name"].as_str().unwrap();
        let outer = Outer {
            head_dim: configuration["head_dim"].as_u64().unwrap() as u32,
            partial_rotary_factor: configuration["partial_rotary_factor"].as_f64(),
            max_position_embeddings: configuration["max_position_embeddings"].as_u64(),
            seq_len: configuration["seq_len"].as_u64(),
            ..Outer::default()
        };
        let model = read(&configuration["rope"], &outer).unwrap();
        let table = model.frequencies.table(model.rotary_dim).unwrap();
        let expected = numbers(&configuration["inv_freq"]);
        assert_eq!(table.pairs().len(), expected.len(), "{name}");
        for (i, (pair, &expected)) in table.pairs().iter().zip(&expected).enumerate() {
            assert_relative(pair.f64(), expected, 1e-6, &format!("{name}, pair {i}"));
            if f64::from(pair.hf_f32()) != expected {
                others.push((name.to_owned(), i));
                assert_relative(f64::from(pair.hf_f32()), expected, 2.4e-7, &format!("{name}, pair {i}"));
            }
        }
        let factor = table.attention_factor();
        let expected = configuration["attention_factor"].as_f64().unwrap();
        assert_eq!(factor.f64(Angles::HfF32), expected, "{name}");
        assert_relative(factor.f64(Angles::Exact), expected, 1e-15, name);
    }
    // All others are transformers' bits. In these, PyTorch's vectorized power is one f32 off the correctly rounded one: the exact
    // power lies within 0.05 units of the middle between two f32 values, on the other side.
    let near_ties = [
        ("qwen2_5_7b", 37),
        ("dynamic_2_long", 36),
        ("dynamic_2_long", 48),
        ("qwen2_5_yarn_4", 37),
        ("gpt_oss_yarn_32", 6),
        ("gpt_oss_yarn_32", 10),
        ("longrope_short", 20),
        ("longrope_long", 20),
    ];
    assert_eq!(others, near_ties.map(|(name, pair)| (name.to_owned(), pair)));
}

#[test]
fn llama3_bands_match_high_precision() {
    let case = &cases()["llama3_bands"];
    let table = |factor: f64, width: u32| {
        let scaling = Scaling::Llama3 {
            factor: Real::new(factor),
            low_freq_factor: Real::new(1.0),
            high_freq_factor: Real::new(4.0),
            original_max_position: 8192,
        };
        Frequencies::Formula { theta: Real::new(500_000.0), scaling }.table(width).unwrap()
    };
    let a = table(32.0, 64);
    let expected = numbers(&case["a"]);
    assert_eq!(a.pairs().len(), expected.len());
    for (i, (pair, expected)) in a.pairs().iter().zip(expected).enumerate() {
        assert_relative(pair.f64(), expected, 1e-12, &format!("a, pair {i}"));
        assert_relative(f64::from(pair.f32()), expected, 1e-7, &format!("a in f32, pair {i}"));
    }
    let b = table(8.0, 128);
    for probe in case["b_probes"].as_array().unwrap() {
        let i = probe[0].as_u64().unwrap() as usize;
        assert_relative(b.pairs()[i].f64(), probe[1].as_f64().unwrap(), 1e-12, &format!("b, pair {i}"));
    }
}

fn yarn(factor: f64, beta_fast: f64, truncate: bool) -> Yarn {
    Yarn {
        factor: Real::new(factor),
        original_max_position: 4096,
        attention_factor: None,
        beta_fast: Real::new(beta_fast),
        beta_slow: Real::new(1.0),
        mscale: None,
        mscale_all_dim: None,
        truncate,
    }
}

fn yarn_table(yarn: Yarn, width: u32) -> FrequencyTable {
    Frequencies::Formula { theta: Real::new(10_000.0), scaling: Scaling::Yarn(yarn) }.table(width).unwrap()
}

#[test]
fn yarn_ramps_match_high_precision() {
    for case in cases()["yarn"]["tables"].as_array().unwrap() {
        let (beta, truncate) = (case["beta_fast"].as_f64().unwrap(), case["truncate"].as_bool().unwrap());
        let table = yarn_table(yarn(16.0, beta, truncate), 64);
        for probe in case["probes"].as_array().unwrap() {
            let i = probe[0].as_u64().unwrap() as usize;
            let what = format!("beta_fast {beta}, truncate {truncate}, pair {i}");
            assert_relative(table.pairs()[i].f64(), probe[1].as_f64().unwrap(), 1e-12, &what);
        }
    }
}

#[test]
fn attention_factor_is_applied_once_in_both_directions_and_pairings() {
    let case = &cases()["yarn"];
    for magnitude in case["magnitudes"].as_array().unwrap() {
        let table = yarn_table(yarn(magnitude[0].as_f64().unwrap(), 32.0, true), 64);
        let expected = magnitude[1].as_f64().unwrap();
        assert_relative(table.attention_factor().f64(Angles::Exact), expected, 1e-14, "magnitude");
    }
    // An explicit factor is final: it does not go through 0.1 ln s + 1 a second time.
    let magnitude = case["magnitudes"][1][1].as_f64().unwrap();
    let x = numbers(&case["x"]);
    let position = [case["position"].as_i64().unwrap()];
    for (factor, forward) in [(magnitude, "forward"), (1.0, "forward_1")] {
        // With this much extrapolation, both pairs keep their frequencies.
        let explicit = Yarn { attention_factor: Some(Real::new(factor)), ..yarn(64.0, 1e-3, true) };
        let table = Frequencies::Formula {
            theta: Real::new(10_000.0),
            scaling: Scaling::Yarn(Yarn { beta_slow: Real::new(1e-3), ..explicit }),
        }
        .table(4)
        .unwrap();
        for (name, pairing) in PAIRINGS {
            let rotation = rotation(&table, pairing);
            let got = rotated(&rotation, &x, &position);
            assert_close(&got, &numbers(&case[forward][name]), 1e-6, &format!("{forward}, {name}"));
            if forward == "forward" {
                let backward = Rotation { direction: Direction::Backward, ..rotation };
                let got = rotated(&backward, &x, &position);
                assert_close(&got, &numbers(&case["backward"][name]), 1e-6, &format!("backward, {name}"));
            }
        }
    }
}

#[test]
fn the_ratio_of_two_mscales_is_the_attention_factor() {
    let with = |mscale: f64, all_dim: f64| {
        let both = Yarn {
            mscale: Some(Real::new(mscale)),
            mscale_all_dim: Some(Real::new(all_dim)),
            ..yarn(40.0, 32.0, true)
        };
        yarn_table(both, 64).attention_factor().f64(Angles::Exact)
    };
    assert_eq!(with(1.0, 1.0), 1.0);
    const LN_40: f64 = 3.688_879_454_113_936;
    let m = |scale: f64| 0.1 * scale * LN_40 + 1.0;
    assert_relative(with(0.707, 1.0), m(0.707) / m(1.0), 1e-15, "0.707 over 1");
    // A zero counts as absent.
    assert_relative(with(0.707, 0.0), m(1.0), 1e-15, "0.707 and 0");
}

#[test]
fn dynamic_ntk_depends_on_its_length_alone() {
    let case = &cases()["dynamic_ntk"];
    let table = |length: u64| {
        let scaling =
            Scaling::DynamicNtk { factor: Real::new(2.0), max_position: 2048, seq_len: Some(length) };
        Frequencies::Formula { theta: Real::new(10_000.0), scaling }.table(128).unwrap()
    };
    for entry in case["base_by_length"].as_array().unwrap() {
        let (length, base) = (entry[0].as_u64().unwrap(), entry[1].as_f64().unwrap());
        let expected = plain(base, 128);
        for (i, (got, expected)) in table(length).pairs().iter().zip(expected.pairs()).enumerate() {
            assert_relative(got.f64(), expected.f64(), 1e-13, &format!("length {length}, pair {i}"));
        }
    }
    for entry in case["pair_63_at_1000"].as_array().unwrap() {
        let length = entry[0].as_u64().unwrap();
        let (c, s) = table(length).cos_sin(63, 1000, Angles::Exact);
        assert_close(&[c, s], &numbers(&entry[1]), 1e-12, &format!("length {length}"));
    }
    let first = table(1024);
    assert_ne!(table(4096), first);
    assert_eq!(table(1024), first);
}

#[test]
fn linear_scaling_is_interpolation_of_positions() {
    let linear = Frequencies::Formula {
        theta: Real::new(10_000.0),
        scaling: Scaling::Linear { factor: Real::new(4.0) },
    };
    let (linear, plain) = (linear.table(64).unwrap(), plain(10_000.0, 64));
    for pair in 0..32 {
        for (_, angles) in CONVENTIONS {
            assert_eq!(linear.cos_sin(pair, 8, angles), plain.cos_sin(pair, 2, angles), "pair {pair}");
        }
    }
}

#[test]
fn static_ntk_is_dynamic_ntk_at_its_full_length() {
    // factor L / max − (factor − 1) with L = max · (2 factor − 1) / factor is factor: 3 for L / max = 5/3.
    let base = |scaling| Frequencies::Formula { theta: Real::new(10_000.0), scaling }.table(64).unwrap();
    let fixed = base(Scaling::StaticNtk { factor: Real::new(3.0) });
    let dynamic =
        base(Scaling::DynamicNtk { factor: Real::new(3.0), max_position: 3000, seq_len: Some(5000) });
    for (a, b) in fixed.pairs().iter().zip(dynamic.pairs()) {
        assert_eq!((a.f64(), a.hf_f32()), (b.f64(), b.hf_f32()));
    }
    assert_relative(fixed.pairs()[1].f64(), plain(10_000.0, 64).pairs()[1].f64() / 1.0361, 1e-4, "pair 1");
}

#[test]
fn large_positions_are_right_in_each_convention() {
    let case = &cases()["large_positions"];
    let check = |table: &FrequencyTable, pair: usize, position: i64, name: &str, expected: [f64; 2]| {
        let (_, angles) = CONVENTIONS.into_iter().find(|(known, _)| *known == name).unwrap();
        let (c, s) = table.cos_sin(pair, position, angles);
        let what = format!("{name}, position {position}, pair {pair}");
        assert_close(&[c, s], &expected, 1e-12, &what);
        // What the kernel computes, bit for bit.
        let frequency = &table.pairs()[pair];
        let turn = match angles {
            Angles::Exact => frequency.turn_fraction().turn_u64(position.unsigned_abs()),
            Angles::HfF32 => angle_turn_wide(hf_angle(position, frequency.hf_f32())),
        };
        let (c, s) = SinCos::F32.cos_sin(turn, position < 0);
        assert_close(&[f64::from(c), f64::from(s)], &expected, 9e-8, &format!("model of {what}"));
    };
    // The f32 results of these cases come from frequencies rounded once, so they go in as a list.
    let mut tables = HashMap::new();
    let mut table = |name: &'static str, theta: &Value, width: u32| {
        let theta = theta.as_f64().unwrap();
        let make = if name == "exact" { plain } else { rounded_once };
        tables.entry((name, theta.to_bits(), width)).or_insert_with(|| make(theta, width)).clone()
    };
    for entry in case["head_dim_8"].as_array().unwrap() {
        let position = entry["position"].as_i64().unwrap();
        for (name, _) in CONVENTIONS {
            let table = table(name, &entry["theta"], 8);
            let (c, s) = (numbers(&entry[name]["cos"]), numbers(&entry[name]["sin"]));
            for pair in 0..4 {
                check(&table, pair, position, name, [c[pair], s[pair]]);
            }
        }
    }
    for entry in case["head_dim_128"].as_array().unwrap() {
        let (position, pair) = (entry["position"].as_i64().unwrap(), entry["pair"].as_u64().unwrap());
        for (name, _) in CONVENTIONS {
            let expected = numbers(&entry[name]);
            let table = table(name, &entry["theta"], 128);
            check(&table, pair as usize, position, name, [expected[0], expected[1]]);
        }
    }
}

#[test]
fn conventions_differ_by_hundredths_at_long_contexts() {
    let table = plain(500_000.0, 128);
    let difference = (0..64).map(|pair| {
        let [(_, a), (_, b)] = CONVENTIONS.map(|(_, angles)| table.cos_sin(pair, 1_048_575, angles));
        (a - b).abs()
    });
    assert!(difference.fold(0f64, f64::max) > 0.01);
}

#[test]
fn the_kernel_arithmetic_is_right_up_to_positions_of_forty_bits() {
    let table = plain(1_000_000.0, 128);
    for (pair, frequency) in table.pairs().iter().enumerate() {
        let fraction = frequency.turn_fraction();
        for k in 0..63i64 {
            let position = if k == 0 { 1 << 40 } else { (k * 0x5deece66d + 11) % ((1 << (20 + k % 21)) + 1) };
            for position in [position, -position] {
                let turn = fraction.turn_u64(position.unsigned_abs());
                let (c, s) = SinCos::F32.cos_sin(turn, position < 0);
                let (exact_c, exact_s) = table.cos_sin(pair, position, Angles::Exact);
                let what = format!("pair {pair}, position {position}");
                assert_close(&[f64::from(c), f64::from(s)], &[exact_c, exact_s], 9e-8, &what);
                let turn = angle_turn_wide(hf_angle(position, frequency.hf_f32()));
                let (c, s) = SinCos::F32.cos_sin(turn, position < 0);
                let (hf_c, hf_s) = table.cos_sin(pair, position, Angles::HfF32);
                assert_close(&[f64::from(c), f64::from(s)], &[hf_c, hf_s], 9e-8, &format!("hf, {what}"));
            }
        }
    }
}

#[test]
fn dot_products_depend_on_relative_positions_alone() {
    let case = &cases()["relative_position"];
    let (q, k) = (numbers(&case["q"]), numbers(&case["k"]));
    let table = plain(10_000.0, 8);
    for (name, pairing) in [("neox", Pairing::Half), ("gptj", Pairing::Interleaved)] {
        for (at, expected) in case["dots"][name].as_object().unwrap() {
            let (m, n) = at.split_once(',').unwrap();
            let position = |text: &str| text.split_once('@').unwrap().1.parse::<i64>().unwrap();
            let rotation = rotation(&table, pairing);
            let (q, k) = (rotated(&rotation, &q, &[position(m)]), rotated(&rotation, &k, &[position(n)]));
            let dot: f64 = q.iter().zip(&k).map(|(q, k)| q * k).sum();
            assert_close(&[dot], &[expected.as_f64().unwrap()], 1e-13, &format!("{name}, {at}"));
            for pair in 0..4 {
                let (i, j) = pairing.members(pair, 4);
                let before = numbers(&case["q"]);
                let norm = |head: &[f64]| head[i] * head[i] + head[j] * head[j];
                assert_relative(norm(&q), norm(&before), 1e-14, "norm of a pair");
            }
        }
    }
}

#[test]
fn elements_past_the_rotary_width_stay() {
    let case = &cases()["partial_width"];
    let x = numbers(&case["x"]);
    let table = plain(10_000.0, case["rotary_dim"].as_u64().unwrap() as u32);
    let position = [case["position"].as_i64().unwrap()];
    for (name, pairing) in PAIRINGS {
        let rotation = rotation(&table, pairing);
        let got: Vec<f64> = x.chunks(8).flat_map(|head| rotated(&rotation, head, &position)).collect();
        assert_close(&got, &numbers(&case[name]), 1e-12, name);
        // The same six elements at an offset of two.
        let shifted: Vec<f64> = x[6..8].iter().chain(&x[..6]).copied().collect();
        let got = rotated(&Rotation { offset: 2, ..rotation }, &shifted, &position);
        let expected = numbers(&case[name]);
        assert_eq!(got[..2], x[6..8]);
        assert_close(&got[2..], &expected[..6], 1e-12, &format!("{name} at an offset"));
        assert!(Rotation { offset: 3, ..rotation }.rotate(&mut [0.0; 8], &position).is_err());
    }
}

/// Rotates `x` at each of the positions that `by_position` has results for, in both pairings.
fn check_by_position(case: &Value, width: u32, tolerance: f64) {
    let x = numbers(&case["x"]);
    let table = plain(10_000.0, width);
    for (position, expected) in case["by_position"].as_object().unwrap() {
        for (name, pairing) in PAIRINGS {
            let got = rotated(&rotation(&table, pairing), &x, &[position.parse().unwrap()]);
            assert_close(&got, &numbers(&expected[name]), tolerance, &format!("{name}, {position}"));
        }
    }
}

#[test]
fn positions_past_256_are_told_apart() {
    check_by_position(&cases()["positions_past_256"], 4, 1e-12);
}

#[test]
fn negative_positions_rotate_backwards() {
    check_by_position(&cases()["signed_positions"], 4, 1e-12);
    let table = plain(10_000.0, 64);
    for pair in 0..32 {
        for (_, angles) in CONVENTIONS {
            let ((c, s), (back_c, back_s)) =
                (table.cos_sin(pair, 12_345, angles), table.cos_sin(pair, -12_345, angles));
            assert_close(&[back_c, back_s], &[c, -s], 1e-15, &format!("pair {pair}"));
            assert_eq!(table.cos_sin(pair, 0, angles), (1.0, 0.0));
        }
    }
}

#[test]
fn four_pairs_have_four_angles() {
    let case = &cases()["four_angles"];
    let table = plain(10_000.0, 8);
    let got = rotated(&rotation(&table, Pairing::Interleaved), &numbers(&case["x"]), &[2]);
    assert_close(&got, &numbers(&case["interleaved"]), 1e-12, "interleaved");
}

#[test]
fn each_base_has_its_own_table() {
    let case = &cases()["bases"];
    let x = numbers(&case["x"]);
    for entry in case["by_theta"].as_array().unwrap() {
        let table = plain(entry[0].as_f64().unwrap(), 4);
        for (name, pairing) in PAIRINGS {
            let got = rotated(&rotation(&table, pairing), &x, &[1000]);
            assert_close(&got, &numbers(&entry[1][name]), 1e-12, &format!("theta {}, {name}", entry[0]));
        }
    }
    let spec = |theta: f64| Frequencies::Formula { theta: Real::new(theta), scaling: Scaling::Default };
    let keys: HashSet<_> = [1e4, 1e6, 5e5, 1e4].map(spec).into_iter().collect();
    assert_eq!(keys.len(), 3);
    assert_ne!(spec(1e4).table(64).unwrap(), spec(1e6).table(64).unwrap());
    assert_eq!(spec(1e4).table(64).unwrap(), spec(1e4).table(64).unwrap());
}

#[test]
fn the_gradient_is_the_transposed_rotation() {
    let case = &cases()["gradient"];
    let dy = numbers(&case["dy"]);
    for (key, width) in [("rotary_8", 8), ("rotary_4", 4)] {
        let table = plain(10_000.0, width);
        for (name, pairing) in PAIRINGS {
            let backward = Rotation { direction: Direction::Backward, ..rotation(&table, pairing) };
            let got = rotated(&backward, &dy, &[2]);
            assert_close(&got, &numbers(&case[key][name]), 1e-12, &format!("{key}, {name}"));
            let there = rotated(&rotation(&table, pairing), &got, &[2]);
            assert_close(&there, &dy, 1e-14, "there and back");
        }
    }
    let table = plain(500_000.0, 96);
    let at = positions("gradients.positions").concat();
    for (name, pairing) in PAIRINGS {
        for (from, to, direction) in [("x", "y", Direction::Forward), ("dy", "dx", Direction::Backward)] {
            let rotation = Rotation { direction, ..rotation(&table, pairing) };
            let (input, expected) =
                (rows(&format!("gradients.{from}")), rows(&format!("gradients.{name}.{to}")));
            for (token, &position) in at.iter().enumerate() {
                let got = rotated(&rotation, &input[token], &[position]);
                // The angles of the data are f64 products: 2^-53 of 10^6 radians.
                assert_close(&got, &expected[token], 2e-9, &format!("{name}.{to}, position {position}"));
            }
        }
    }
}

#[test]
fn keys_of_a_model_are_rotated_as_transformers_does() {
    let table = plain(100_000.0, 64);
    let (keys, exact, hf) = (rows("smollm2.k"), rows("smollm2.k_rope"), rows("smollm2.k_rope_hf"));
    let rotation = rotation(&table, Pairing::Half);
    for (token, position) in positions("smollm2.positions").concat().into_iter().enumerate() {
        let what = format!("position {position}");
        let got = rotated(&rotation, &keys[token], &[position]);
        assert_close(&got, &exact[token], 1e-12, &what);
        let got = rotated(&Rotation { angles: Angles::HfF32, ..rotation }, &keys[token], &[position]);
        let largest = keys[token].iter().fold(0f64, |largest, x| largest.max(x.abs()));
        assert_close(&got, &hf[token], 4e-7 * largest, &format!("hf_f32, {what}"));
    }
}

#[test]
fn each_pair_follows_its_axis() {
    let table = plain(1_000_000.0, 128);
    let (q, at) = (rows("mrope.q"), positions("mrope.positions"));
    let sections = [16, 24, 24];
    for (name, axes) in [
        ("contiguous", AxisMap::contiguous(&sections, 128).unwrap()),
        ("interleaved_sections", AxisMap::interleaved(&sections, 128).unwrap()),
    ] {
        let expected = rows(&format!("mrope.{name}"));
        let rotation = Rotation { axes: Some(&axes), ..rotation(&table, Pairing::Half) };
        for token in 0..q.len() {
            let positions: Vec<i64> = at.iter().map(|axis| axis[token]).collect();
            let got = rotated(&rotation, &q[token], &positions);
            assert_close(&got, &expected[token], 1e-10, &format!("{name}, token {token}"));
            assert!(rotation.rotate(&mut q[token].clone(), &positions[..1]).is_err());
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let outer = Outer { head_dim: 64, theta: Some(10_000.0), ..Outer::default() };
    let refused = |parameters: Value| read(&parameters, &outer).unwrap_err().to_string();
    for (parameters, message) in [
        (json!({"rope_theta": 0}), "theta is 0.0, which is not a positive normal f32"),
        (json!({"rope_theta": 1e39}), "theta is 1e39, which is not a positive normal f32"),
        (
            json!({"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4,
                   "original_max_position_embeddings": 8192}),
            "high_freq_factor is 4.0, which is not greater than low_freq_factor",
        ),
        (
            json!({"type": "longrope", "factor": 2, "short_factor": [1], "long_factor": [1],
                   "original_max_position_embeddings": 4096}),
            "short_factor has 1 entries, but a rotary width of 64 has 32 pairs",
        ),
        (
            json!({"type": "yarn", "factor": 2, "beta_fast": 1, "beta_slow": 32,
                   "original_max_position_embeddings": 4096}),
            "beta_fast is 1.0, which is not at least beta_slow",
        ),
        (
            json!({"type": "dynamic", "factor": 2, "max_position_embeddings": 0}),
            "max_position_embeddings is 0.0, which is not at least 1",
        ),
        (
            json!({"rope_type": "explicit", "inv_freq": vec![1e7; 32]}),
            "the frequency of pair 0 is 10000000.0 radians a position; the limit is ±8388608.0",
        ),
    ] {
        assert_eq!(refused(parameters), message);
    }
    let narrow = Frequencies::Formula {
        theta: Real::new(10_000.0),
        scaling: Scaling::StaticNtk { factor: Real::new(2.0) },
    };
    assert_eq!(
        narrow.table(2).unwrap_err().to_string(),
        "ntk scaling needs a rotary width of at least 4, not 2"
    );
}
