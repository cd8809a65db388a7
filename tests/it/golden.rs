//! Activations of real models with right answers: slices that the repository holds, and the whole vectors where the folder
//! with them is beside the checkout.

use std::path::Path;

use ptxsmith_builder::kernel::AnyKernel;
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;
use ptxsmith_kernels::Eps;
use ptxsmith_kernels::rms_norm::{RmsNorm, RmsNormSpec};
use ptxsmith_tests::numbers::{decode, first_difference, half_ulp, rounded};
use ptxsmith_tests::run::{Inputs, run};
use safetensors::{Dtype as Stored, SafeTensors};

fn tensor(file: &SafeTensors<'_>, name: &str) -> Vec<f64> {
    let view = file.tensor(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let dtype = match view.dtype() {
        Stored::F32 => Dtype::F32,
        Stored::F64 => Dtype::F64,
        other => panic!("{name} is {other:?}"),
    };
    decode(dtype, view.data())
}

/// RMSNorm of golden rows: f32 within 5e-7 + 5e-7·|y| of the float64 answer; 16-bit dtypes, whose inputs are rounded
/// first, within half a unit in the last place of the answer for the rounded inputs plus 5e-7·|y|.
fn check_rms_norm(what: &str, x: &[f64], w: &[f64], y: &[f64], eps: f32) {
    let eps = Eps::new(eps).expect("a valid epsilon");
    let target = Target::sm(90).expect("a row of the target table");
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
        let spec = RmsNormSpec::new(w.len() as u32, eps, dtype, Dtype::F32, dtype);
        let kernel = RmsNorm { spec, schedule: None };
        let x = rounded(dtype, x);
        let reference = |x: &[f64]| {
            let mut y = Vec::with_capacity(x.len());
            for row in x.chunks(w.len()) {
                let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
                let scale = 1.0 / (mean + f64::from(eps.get())).sqrt();
                y.extend(row.iter().zip(w).map(|(x, w)| x * scale * w));
            }
            y
        };
        let expected = if dtype == Dtype::F32 { y.to_vec() } else { reference(&x) };
        let inputs = Inputs {
            sizes: vec![("rows", (x.len() / w.len()) as u64)],
            buffers: vec![("x", x.clone()), ("w", w.to_vec())],
            ..Inputs::default()
        };
        let operation = kernel.operation(target).expect("it builds");
        let ran = run(&operation, &inputs);
        assert!(ran.outcome.findings.is_empty(), "{what} {dtype}: {}", ran.outcome.findings[0]);
        let limit = |e: f64| match dtype {
            Dtype::F32 => 5e-7 + 5e-7 * e.abs(),
            _ => half_ulp(dtype, e) + 5e-7 * e.abs(),
        };
        if let Some(difference) = first_difference(&ran.values("y"), &expected, limit) {
            panic!("{what} {dtype}: {difference}");
        }
    }
}

fn check_file(path: &Path, norms: &[&str], weight_offset: f64, eps: f32) {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    for norm in norms {
        let w: Vec<f64> = tensor(&file, &format!("{norm}.w"))
            .iter()
            .map(|w| rounded(Dtype::F32, &[w + weight_offset])[0])
            .collect();
        check_rms_norm(
            norm,
            &tensor(&file, &format!("{norm}.x")),
            &w,
            &tensor(&file, &format!("{norm}.y")),
            eps,
        );
    }
}

#[test]
fn rms_norm_of_real_activations_is_right() {
    let root = ptxsmith_tests::root();
    check_file(&root.join("samples/smollm2_layer0.safetensors"), &["attn_norm"], 0.0, 1e-5);
    check_file(&root.join("tests/data/smollm2_layer14.safetensors"), &["attn_norm", "ffn_norm"], 0.0, 1e-5);
}

#[test]
fn a_wrong_epsilon_is_not_right() {
    let root = ptxsmith_tests::root();
    let wrong = std::panic::catch_unwind(|| {
        check_file(&root.join("samples/smollm2_layer0.safetensors"), &["attn_norm"], 0.0, 1e-4);
    });
    assert!(wrong.is_err(), "an epsilon of ten times the right one is noticed");
}

/// The whole vectors; built where their folder is beside the checkout.
#[cfg(feature = "shared")]
#[test]
fn shared_rms_norm_vectors_are_right() {
    let shared = ptxsmith_tests::shared();
    let norms = |layers: &[u32], names: &[&str]| -> Vec<String> {
        layers.iter().flat_map(|layer| names.iter().map(move |name| format!("layer{layer}.{name}"))).collect()
    };
    let all = norms(&[0, 14, 29], &["attn_norm", "ffn_norm"]);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    check_file(&shared.join("golden/smollm2_135m.safetensors"), &all, 0.0, 1e-5);
    let all = norms(&[0, 5, 17], &["attn_norm", "ffn_norm", "q_norm", "k_norm"]);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    check_file(&shared.join("golden/gemma3_270m.safetensors"), &all, 1.0, 1e-6);
}
