//! What scripts may rely on: exit codes, JSON, headers, manifests, files.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sandbox::{Sandbox, Tensor, sample};

/// The spec of the sample.
const SPEC: &str = "rms_norm --set hidden=576 eps=1e-5 x=f32 w=f32 y=f32";
/// The same with its tensors; the file is a word of its own because its path may have blanks.
const BOUND: &str = "--bind x=attn_norm.x w=attn_norm.w --expect y=attn_norm.y";

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn run_sample(more: &str) -> crate::sandbox::Ran {
    let (folder, file) = (Sandbox::new(), sample());
    let mut words: Vec<&str> = vec!["run"];
    words.extend(SPEC.split(' '));
    words.extend(["--tensors", &file]);
    words.extend(BOUND.split(' '));
    words.extend(more.split_whitespace());
    folder.run_words(&words)
}

#[test]
fn the_list_names_every_kernel_with_samples_that_emit() {
    let folder = Sandbox::new();
    let list = folder.run("list --json").expect(0).json();
    let kernels = list.as_array().expect("a list");
    let names: BTreeSet<&str> = kernels.iter().filter_map(|kernel| kernel["name"].as_str()).collect();
    assert!(names.contains("rms_norm") && names.len() == kernels.len(), "{names:?}");
    for kernel in kernels {
        for key in ["name", "summary", "spec", "args", "samples"] {
            assert!(kernel.get(key).is_some(), "{key} of {}", kernel["name"]);
        }
        for field in kernel["spec"].as_array().expect("a list") {
            assert_eq!(keys(field), ["field", "type", "required", "default", "meaning"]);
        }
        for arg in kernel["args"].as_array().expect("a list") {
            assert_eq!(keys(arg), ["name", "type", "direction"]);
        }
        for sample in kernel["samples"].as_array().expect("a list") {
            assert_eq!(keys(sample), ["name", "spec"]);
            let mut words = vec!["emit".to_owned(), kernel["name"].as_str().expect("a name").to_owned()];
            words.extend(["--target".to_owned(), "sm_90".to_owned(), "--set".to_owned()]);
            for (field, value) in sample["spec"].as_object().expect("an object") {
                words.push(format!("{field}={}", value.as_str().expect("a text")));
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let text = folder.run_words(&words).expect(0).stdout;
            assert!(text.contains(".visible .entry"), "{words:?}");
        }
    }
    let human = folder.run("list").expect(0).stdout;
    assert!(human.contains("rms_norm") && human.contains("hidden") && human.contains("--set"), "{human}");
}

#[test]
fn the_text_begins_with_its_spec_and_says_what_it_requires() {
    let folder = Sandbox::new();
    let line = "emit rms_norm --set hidden=4096 eps=1e-6 x=bf16 w=f32 y=f16 --target sm_90";
    let text = folder.run(line).expect(0).stdout;
    let header: Vec<&str> = text.lines().take_while(|line| line.starts_with("//")).collect();
    assert_eq!(header[0], "// hidden = 4096");
    assert_eq!(header[1], "// eps = 1e-6 (0f358637BD)");
    for part in ["// x = bf16", "// schedule ", "// entry ", "// parameter x: bf16*", "// block ", "// grid "]
    {
        assert!(header.iter().any(|line| line.starts_with(part)), "{part}: {header:#?}");
    }
    let required = |what: &str| {
        header.iter().any(|line| line.starts_with(&format!("// requires {what}")) && line.ends_with(')'))
    };
    assert!(required("PTX ") && required("sm_"), "{header:#?}");
}

#[test]
fn a_schedule_is_given_in_whole_or_in_part() {
    let folder = Sandbox::new();
    let manifest = |more: &str| -> Value {
        folder.run(&format!("emit {SPEC} --target sm_90 -o k.ptx --manifest k.json {more}")).expect(0);
        serde_json::from_str(&folder.read("k.json")).expect("JSON")
    };
    let chosen = manifest("");
    let threads = chosen["schedule"]["threads_per_row"].as_str().expect("a text").to_owned();
    let other = if threads == "64" { "32" } else { "64" };
    let changed = manifest(&format!("--schedule threads_per_row={other} rows_per_block=1"));
    assert_eq!(changed["schedule"]["threads_per_row"], other);
    assert_eq!(changed["schedule"]["keep"], chosen["schedule"]["keep"]);
    assert_ne!(changed["text_hash"], chosen["text_hash"]);
}

#[test]
fn two_processes_write_the_same_bytes() {
    let (a, b) = (Sandbox::new(), Sandbox::new());
    let line = format!("emit {SPEC} --target sm_100 -o k.ptx --manifest k.json");
    for folder in [&a, &b] {
        assert_eq!(folder.run(&line).expect(0).stdout, "");
        assert_eq!(folder.files(), ["k.json", "k.ptx"]);
    }
    assert_eq!(a.read("k.ptx"), b.read("k.ptx"));
    assert_eq!(a.read("k.json"), b.read("k.json"));
    assert_eq!(a.read("k.ptx"), a.run(&format!("emit {SPEC} --target sm_100")).expect(0).stdout);
}

#[test]
fn source_lines_are_in_the_text_on_request_and_not_in_its_hash() {
    let folder = Sandbox::new();
    let emit = |name: &str, more: &str| {
        folder
            .run(&format!("emit {SPEC} --target sm_90 -o {name}.ptx --manifest {name}.json {more}"))
            .expect(0);
        let manifest: Value = serde_json::from_str(&folder.read(&format!("{name}.json"))).expect("JSON");
        (folder.read(&format!("{name}.ptx")), manifest["text_hash"].clone())
    };
    let (plain, lined) = (emit("plain", ""), emit("lined", "--lines"));
    assert!(!plain.0.contains(".loc") && !plain.0.contains(".file"), "{}", plain.0);
    assert!(lined.0.contains(".file 1 \"") && lined.0.contains("\t.loc 1 "), "{}", lined.0);
    assert_eq!(plain.1, lined.1);
    folder.run("check lined.ptx").expect(0);
}

#[test]
fn the_manifest_says_how_to_launch() {
    let folder = Sandbox::new();
    folder.run(&format!("emit {SPEC} --target sm_90 -o k.ptx --manifest k.json")).expect(0);
    let manifest: Value = serde_json::from_str(&folder.read("k.json")).expect("JSON");
    let expected = [
        "schema",
        "kernel",
        "spec",
        "schedule",
        "entry",
        "params",
        "block",
        "grid",
        "cluster",
        "shared_bytes",
        "ptx_version",
        "target",
        "requires",
        "text_hash",
    ];
    assert_eq!(keys(&manifest), expected);
    assert_eq!((&manifest["schema"], &manifest["kernel"]), (&1.into(), &"rms_norm".into()));
    assert_eq!(manifest["spec"]["hidden"], "576");
    let text = folder.read("k.ptx");
    let entry = manifest["entry"].as_str().expect("a text");
    assert!(text.contains(&format!(".entry {entry}(")), "{entry}");
    let version = manifest["ptx_version"].as_str().expect("a text");
    assert!(text.contains(&format!(".version {version}\n")), "{version}");
    let params = manifest["params"].as_array().expect("a list");
    let param = |name: &str| params.iter().find(|param| param["name"] == name).expect("a parameter");
    assert_eq!((&param("x")["type"], &param("x")["direction"]), (&"f32*".into(), &"in".into()));
    assert_eq!(
        (&param("y")["direction"], &param("y")["shape"]),
        (&"out".into(), &serde_json::json!(["rows", 576]))
    );
    assert_eq!(param("w")["shape"], serde_json::json!([576]));
    assert_eq!(manifest["block"].as_array().map(Vec::len), Some(3));
    assert!(manifest["grid"][0].as_str().is_some_and(|grid| grid.contains("rows")), "{}", manifest["grid"]);
    for requirement in manifest["requires"].as_array().expect("a list") {
        assert_eq!(keys(requirement), ["what", "because"]);
    }
    // The hash leaves comments out, so a text with other comments has the same one.
    let bare: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |all, line| all + line + "\n");
    folder.write("bare.ptx", bare);
    folder.write("k2.json", folder.read("k.json"));
    let (file, more) = (sample(), "--bind x=attn_norm.x w=attn_norm.w --expect y=attn_norm.y --json");
    let mut words = vec!["run", "--ptx", "bare.ptx", "--manifest", "k2.json", "--tensors", &file];
    words.extend(more.split(' '));
    let ran = folder.run_words(&words).expect(0);
    assert_eq!(ran.json()["text_hash"], manifest["text_hash"]);
    assert!(!ran.stderr.contains("made for another text"), "{}", ran.stderr);
}

#[test]
fn a_kernel_agrees_with_real_activations() {
    let ran = run_sample("--json").expect(0);
    let report = ran.json();
    let expected = ["kernel", "spec", "target", "device", "text_hash", "results", "findings", "seconds"];
    assert_eq!(keys(&report), expected);
    assert_eq!((&report["target"], &report["device"]), (&"sm_90".into(), &"emulated".into()));
    assert_eq!(report["spec"]["eps"], "1e-5");
    let result = &report["results"][0];
    assert_eq!(keys(result), ["arg", "agrees", "max_abs", "max_rel", "index", "tolerance"]);
    assert_eq!((&result["arg"], &result["agrees"]), (&"y".into(), &true.into()));
    assert_eq!(result["index"].as_array().map(Vec::len), Some(2));
    assert_eq!(result["tolerance"], serde_json::json!([1e-5, 1.3e-6]));
    assert_eq!(report["findings"], serde_json::json!([]));
    assert!(report["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
}

#[test]
fn people_read_the_verdict() {
    let ran = run_sample("--target sm_80").expect(0);
    assert!(ran.stdout.contains("sm_80") && ran.stdout.contains("agrees"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "", "f32 tensors need no conversion");
}

#[test]
fn a_difference_beyond_the_tolerance_is_exit_code_1() {
    let ran = run_sample("--tolerance 0,0 --json").expect(1);
    assert_eq!(ran.json()["results"][0]["agrees"], false);
    let ran = run_sample("--tolerance 0,0").expect(1);
    assert!(ran.stdout.contains("DIFFERS") && ran.stdout.contains("first at ["), "{}", ran.stdout);
}

/// Rows of ones with weight `w`: the result is the weight, up to eps.
fn small(folder: &Sandbox, dims: &[usize], expected: &[f64]) {
    let count = dims.iter().product();
    folder.tensors(
        "t.safetensors",
        &[
            Tensor::f64("x", dims, &vec![1.0; count]),
            Tensor::f64("w", &[4], &[1.0, 2.0, 3.0, 1.0 + 1.0 / 1024.0]),
            Tensor::f64("y", dims, expected),
            Tensor::f64("flat", &[count], expected),
        ],
    );
}

const SMALL: &str =
    "run rms_norm --set hidden=4 eps=0 x=bf16 w=f16 y=f32 --tensors t.safetensors --bind x=x w=w";

#[test]
fn leading_dimensions_are_rows_and_outputs_are_written_in_their_dtype() {
    let folder = Sandbox::new();
    let row = [1.0, 2.0, 3.0, 1.0 + 1.0 / 1024.0];
    small(&folder, &[2, 1, 3, 4], &row.repeat(6));
    let ran = folder.run(&format!("{SMALL} --expect y=y --out out.safetensors")).expect(0);
    assert!(
        ran.stderr.contains("x: x converted from f64 to bf16 with one rounding; 0 of 24"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("w: w converted from f64 to f16 with one rounding; 0 of 4"),
        "{}",
        ran.stderr
    );
    let written = std::fs::read(folder.path("out.safetensors")).expect("written");
    let file = safetensors::SafeTensors::deserialize(&written).expect("whole");
    let y = file.tensor("y").expect("the output");
    assert_eq!((y.dtype(), y.shape()), (safetensors::Dtype::F32, &[2, 1, 3, 4][..]));
    let expected: Vec<u8> = row.repeat(6).iter().flat_map(|value| (*value as f32).to_le_bytes()).collect();
    assert_eq!(y.data(), expected);
}

#[test]
fn an_unbound_output_takes_the_shape_of_what_is_expected() {
    let folder = Sandbox::new();
    small(&folder, &[2, 4], &[1.0, 2.0, 3.0, 1.0 + 1.0 / 1024.0].repeat(2));
    let ran = folder.run(&format!("{SMALL} --expect y=flat --out o.safetensors --json")).expect(0);
    assert_eq!(ran.json()["results"][0]["index"].as_array().map(Vec::len), Some(1));
}

#[test]
fn expected_tensors_are_not_rounded() {
    let folder = Sandbox::new();
    let off = 1.0 + 1e-12;
    small(&folder, &[1, 4], &[off, 2.0, 3.0, 1.0 + 1.0 / 1024.0]);
    let ran = folder.run(&format!("{SMALL} --expect y=y --tolerance 0,0 --json")).expect(1);
    assert_eq!(ran.json()["results"][0]["max_abs"].as_f64(), Some(off - 1.0));
    folder.run(&format!("{SMALL} --expect y=y --tolerance 1e-11,0")).expect(0);
}

#[test]
fn what_is_not_finite_is_a_text_in_json() {
    let folder = Sandbox::new();
    small(&folder, &[1, 4], &[f64::INFINITY, f64::NAN, 3.0, 1.0]);
    let ran = folder.run(&format!("{SMALL} --expect y=y --json")).expect(1);
    assert_eq!(ran.json()["results"][0]["max_abs"], "nan");
    assert_eq!(ran.json()["results"][0]["index"], serde_json::json!([0, 1]));
}

#[test]
fn no_rows_is_a_run_of_nothing() {
    let folder = Sandbox::new();
    small(&folder, &[0, 4], &[]);
    let ran = folder.run(&format!("{SMALL} --expect y=y --out o.safetensors --json")).expect(0);
    assert_eq!(ran.json()["results"][0]["agrees"], true);
    assert_eq!(ran.json()["results"][0]["index"], Value::Null);
}

#[test]
fn without_expectations_a_run_is_good() {
    let folder = Sandbox::new();
    small(&folder, &[1, 4], &[0.0; 4]);
    let ran = folder.run(SMALL).expect(0);
    assert!(ran.stdout.contains("not compared"), "{}", ran.stdout);
    assert_eq!(folder.run(&format!("{SMALL} --json")).expect(0).json()["results"], serde_json::json!([]));
}

#[test]
fn the_doctor_is_never_alarmed() {
    let folder = Sandbox::new();
    let report = folder.run("doctor --json").expect(0).json();
    assert_eq!(keys(&report), ["driver", "devices", "ptxas", "cache"]);
    for (name, part) in report.as_object().expect("an object") {
        assert!(part["found"].is_boolean() && part["detail"].is_string(), "{name}");
    }
    let human = folder.run("doctor").expect(0).stdout;
    for part in ["driver", "devices", "ptxas", "cache", "emulator"] {
        assert!(human.contains(part), "{human}");
    }
}

#[test]
fn help_goes_to_standard_output_without_colors() {
    let folder = Sandbox::new();
    for line in ["--help", "run --help", "emit --help", "--version"] {
        let ran = folder.run(line).expect(0);
        assert!(!ran.stdout.is_empty() && ran.stderr.is_empty(), "{line}");
        assert!(!ran.stdout.contains('\u{1b}'), "{line}");
    }
    let ran = folder.run("").expect(2);
    assert!(ran.stderr.contains("Usage:") && !ran.stderr.contains('\u{1b}'), "{ran:?}");
}
