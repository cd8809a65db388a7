//! Text that the program did not write: `check`, and `run --ptx`.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, Tensor};

/// Multiplies n numbers by a factor.
const SCALE: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .f32 p3)
{
    .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    ld.param.u32 %r1, [p2];
    ld.param.f32 %f1, [p3];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    mul.rn.f32 %f3, %f2, %f1;
    st.global.f32 [%rd7], %f3;
DONE:
    ret;
}
";

fn manifest() -> Value {
    json!({
        "schema": 1,
        "kernel": "scale",
        "params": [
            { "name": "x", "type": "f32*", "direction": "in", "shape": ["n"] },
            { "name": "y", "type": "f32*", "direction": "out", "shape": ["n"] },
            { "name": "n", "type": "u32" },
            { "name": "factor", "type": "f32", "value": 0.5 },
        ],
        "block": [32, 1, 1],
        "grid": ["ceil_div(n,32)", 1, 1],
    })
}

fn folder(text: &str, manifest: &Value) -> Sandbox {
    let folder = Sandbox::new();
    let x: Vec<f32> = (0..50u8).map(f32::from).collect();
    let half: Vec<f32> = x.iter().map(|value| value / 2.0).collect();
    let mut wrong = half.clone();
    wrong[7] += 1.0;
    folder.tensors(
        "t.safetensors",
        &[
            Tensor::f32("x", &[5, 10], &x),
            Tensor::f32("half", &[5, 10], &half),
            Tensor::f32("wrong", &[5, 10], &wrong),
        ],
    );
    folder.write("k.ptx", text);
    folder.write("k.json", manifest.to_string());
    folder
}

const RUN: &str = "run --ptx k.ptx --manifest k.json --tensors t.safetensors --bind x=x";

#[test]
fn a_text_runs_as_its_manifest_says() {
    let folder = folder(SCALE, &manifest());
    folder.run("check k.ptx").expect(0);
    let report = folder.run(&format!("{RUN} --expect y=half --json")).expect(0).json();
    assert_eq!((&report["kernel"], &report["target"]), (&"scale".into(), &"sm_80".into()));
    assert_eq!(report["results"][0]["max_abs"], 0.0);
    let report = folder.run(&format!("{RUN} --expect y=wrong --json")).expect(1).json();
    assert_eq!(report["results"][0]["index"], json!([0, 7]));
    folder.run(&format!("{RUN} --out o.safetensors")).expect(0);
}

#[test]
fn a_detector_counts_before_a_difference() {
    let folder = folder(&SCALE.replace("setp.ge", "setp.gt"), &manifest());
    let report = folder.run(&format!("{RUN} --expect y=wrong --json")).expect(3).json();
    let finding = &report["findings"][0];
    assert_eq!((&finding["source"], &finding["rule"]), (&"emulator".into(), &"out-of-bounds".into()));
    assert_eq!(finding["place"], "k.ptx:22:5");
    let human = folder.run(&format!("{RUN} --expect y=half")).expect(3).stdout;
    assert!(human.contains("k.ptx:22:5: error[out-of-bounds]"), "{human}");
}

#[test]
fn elements_that_are_left_out_do_not_look_right() {
    // The second block is not launched.
    let mut short = manifest();
    short["grid"] = json!([1]);
    let folder = folder(SCALE, &short);
    let ran = folder.run(&format!("{RUN} --expect y=half --json")).expect(1);
    assert!(ran.stderr.contains("y: the kernel left byte 128"), "{}", ran.stderr);
    assert_eq!(ran.json()["results"][0]["max_abs"], "nan");
    assert_eq!(ran.json()["results"][0]["index"], json!([3, 2]));
}

#[test]
fn the_verifier_is_heard_and_the_text_runs_anyway() {
    // `%f2` is read before anything is written to it.
    let text = SCALE.replace("    ld.global.f32 %f2, [%rd6];\n", "    add.rn.f32 %f2, %f2, %f1;\n");
    let folder = folder(&text, &manifest());
    let checked = folder.run("check k.ptx --json").expect(1).json();
    assert_eq!(checked["findings"][0]["rule"], "undefined");
    let report = folder.run(&format!("{RUN} --json")).expect(3).json();
    let sources: Vec<&Value> =
        report["findings"].as_array().expect("a list").iter().map(|finding| &finding["source"]).collect();
    assert!(sources.contains(&&json!("verifier")) && sources.contains(&&json!("emulator")), "{sources:?}");
}

#[test]
fn a_text_outside_of_the_subset_is_a_bad_request() {
    let folder = folder(&SCALE.replace("mul.rn.f32", "frobnicate.f32"), &manifest());
    for line in ["check k.ptx", RUN] {
        let ran = folder.run(line).expect(2);
        assert!(
            ran.stderr.starts_with("error: k.ptx:23:5: ") && ran.stderr.contains("frobnicate"),
            "{ran:?}"
        );
        assert_eq!(ran.stdout, "");
    }
    folder.run("check absent.ptx").expect(2);
    folder.write("k.ptx", [0xff, 0xfe]);
    assert!(folder.run("check k.ptx").expect(2).stderr.contains("byte 0"));
}

#[test]
fn mistakes_in_manifests_are_placed() {
    let refused = |path: &str, value: Value, parts: &[&str]| {
        let mut changed = manifest();
        match changed.pointer_mut(path) {
            Some(place) => *place = value,
            None => changed[path.trim_start_matches('/')] = value,
        }
        let folder = folder(SCALE, &changed);
        let before = folder.files();
        let ran = folder.run(&format!("{RUN} --out o.safetensors")).expect(2);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{path}: `{part}` is not in {}", ran.stderr);
        }
        assert_eq!(folder.files(), before);
    };
    refused("/schema", json!(2), &["k.json", "schema is 2", "known is 1"]);
    refused("/params/0/type", json!("f33*"), &["params[0].type", "`f33*`", "f32"]);
    refused("/params/3/value", json!("half"), &["params[3].value", "half"]);
    refused("/params/2/type", json!("u64"), &["params[2].type", "64 bits", "`p2`", "32"]);
    refused("/params/2/name", json!("m"), &["`m`"]);
    refused("/params/0/shape", json!([7, 7]), &["`x`", "[5, 10]", "7"]);
    refused("/params", json!([]), &["params has 0 parameters", "`scale` takes 4"]);
    refused("/grid", json!(["ceil_div(k,32)"]), &["grid[0]", "`k` has no value"]);
    refused("/grid", json!([1u64 << 40]), &["grid[0] is 1099511627776"]);
    refused("/block", json!([2048, 1, 1]), &["2048", "1024"]);
    refused("/entry", json!("scall"), &["entry is `scall`", "scale"]);
    refused("/params/1/shape", json!(["1000000000000000"]), &["`y`", "exceeds the memory"]);
}

#[test]
fn options_that_do_not_go_together() {
    let folder = folder(SCALE, &manifest());
    for (line, part) in [
        ("run --ptx k.ptx --tensors t.safetensors", "--manifest"),
        ("run --manifest k.json --tensors t.safetensors", "--ptx"),
        ("run rms_norm --ptx k.ptx --manifest k.json --tensors t.safetensors", "--ptx"),
        ("run --ptx k.ptx --manifest k.json --tensors t.safetensors --bind x=x --device cuda", "`cuda`"),
        ("run --ptx k.ptx --manifest k.json --tensors t.safetensors --bind x=x --target sm_90", "sm_80"),
        ("run --ptx k.ptx --manifest k.json --tensors t.safetensors", "--bind x=TENSOR"),
        ("run --ptx k.ptx --manifest k.json --tensors t.safetensors --bind x=x n=x", "`n`"),
    ] {
        let ran = folder.run(line).expect(2);
        assert!(ran.stderr.contains(part) && ran.stderr.lines().count() == 1, "{line}: {}", ran.stderr);
    }
}
