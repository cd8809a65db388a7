//! Bad requests: one line that names the thing, the value and what is allowed; exit code 2; nothing written.

use crate::sandbox::{Sandbox, Tensor};

/// A folder with good tensors, files that are no safetensors, and a good spec to spoil.
fn folder() -> Sandbox {
    let folder = Sandbox::new();
    folder.tensors(
        "t.safetensors",
        &[
            Tensor::f32("x", &[2, 4], &[1.0; 8]),
            Tensor::f32("w", &[4], &[1.0; 4]),
            Tensor::f32("w5", &[5], &[1.0; 5]),
            Tensor::f32("y", &[2, 4], &[1.0; 8]),
            Tensor::f32("y3", &[3, 4], &[1.0; 12]),
            Tensor::f32("scalar", &[], &[1.0]),
            Tensor("complex", "C64", vec![4], vec![0; 32]),
        ],
    );
    folder.write("empty.safetensors", "");
    let whole = std::fs::read(folder.path("t.safetensors")).expect("read");
    folder.write("truncated.safetensors", &whole[..whole.len() - 1]);
    folder.write("text.safetensors", "this is not a safetensors file, but it is long enough for a header");
    std::fs::create_dir(folder.path("dir")).expect("made");
    folder
}

/// Runs a line and checks everything that bad requests have in common.
#[track_caller]
fn refused(folder: &Sandbox, line: &str, parts: &[&str]) {
    let before = folder.files();
    let ran = folder.run(line);
    assert_eq!(ran.code, 2, "{line}: {}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, "", "{line}");
    assert_eq!(ran.stderr.lines().count(), 1, "{line}: {}", ran.stderr);
    assert!(ran.stderr.starts_with("error: "), "{line}: {}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "{line}: `{part}` is not in: {}", ran.stderr);
    }
    assert_eq!(folder.files(), before, "{line} left a file");
}

const EMIT: &str = "emit rms_norm --target sm_90 -o out.ptx --manifest out.json --set";
const RUN: &str = "run rms_norm --set hidden=4 eps=1e-5 x=f32 w=f32 y=f32 --out out.safetensors --tensors";

#[test]
fn names_that_are_not_known() {
    let folder = folder();
    refused(&folder, "emit rms_nrom --target sm_90 -o out.ptx", &["`rms_nrom`", "did you mean `rms_norm`?"]);
    refused(&folder, &format!("{EMIT} hiden=4"), &["`hiden`", "did you mean `hidden`?"]);
    refused(
        &folder,
        &format!("{EMIT} hidden=4 eps=1 x=bf15 w=f32 y=f32"),
        &["`bf15`", "did you mean `bf16`?", "f32"],
    );
    let line = "emit rms_norm --set hidden=4 eps=1 x=f32 w=f32 y=f32 -o out.ptx --target";
    refused(&folder, &format!("{line} sm_91"), &["`sm_91`", "sm_75", "did you mean `sm_90`?"]);
    refused(&folder, &format!("{line} sm_90f"), &["`sm_90f`"]);
    let good = "run rms_norm --set hidden=4 eps=1 x=f32 w=f32 y=f32 --tensors t.safetensors --bind x=x w=w";
    refused(&folder, &format!("{good} --device gpu"), &["`gpu`", "emulated", "cuda:N"]);
    refused(&folder, "emitt rms_norm", &["'emitt'", "'emit'"]);
}

#[test]
fn fields_that_are_missing_or_there_twice() {
    let folder = folder();
    refused(&folder, &format!("{EMIT} hidden=4 x=f32 w=f32 y=f32"), &["`eps`", "missing"]);
    refused(&folder, "emit rms_norm --target sm_90 -o out.ptx", &["missing"]);
    refused(&folder, &format!("{EMIT} hidden=4 eps=1 x=f32 w=f32 y=f32 eps=1"), &["`eps`", "twice"]);
    let spec = "hidden=4 eps=1 x=f32 w=f32 y=f32";
    refused(&folder, &format!("{EMIT} {spec} keep=reload"), &["`keep`", "--schedule"]);
    refused(&folder, &format!("{EMIT} {spec} --schedule eps=1"), &["`eps`", "--set"]);
    refused(&folder, &format!("{EMIT} {spec} --schedule threads_per_row=33"), &["`threads_per_row`", "`33`"]);
    refused(&folder, &format!("{EMIT} hidden=4 eps"), &["`eps`", "field=value"]);
    refused(&folder, "emit rms_norm --set hidden=4", &["--target"]);
}

#[test]
fn values_out_of_range() {
    let folder = folder();
    let dtypes = "x=f32 w=f32 y=f32";
    for hidden in ["0", "262145", "-1", "4.5", "four", "99999999999999999999"] {
        refused(
            &folder,
            &format!("{EMIT} hidden={hidden} eps=1e-5 {dtypes}"),
            &["`hidden`", &format!("`{hidden}`")],
        );
    }
    for eps in ["nan", "inf", "-inf", "-1e-6", "1e", "1e39"] {
        refused(&folder, &format!("{EMIT} hidden=4 eps={eps} {dtypes}"), &["`eps`"]);
    }
    folder.run(&format!("emit rms_norm --target sm_90 --set hidden=262144 eps=0 {dtypes}")).expect(0);
    refused(
        &folder,
        &format!("{EMIT} hidden=4 eps=1 x=i32 w=f32 y=f32"),
        &["`x`", "`i32`", "f32, f16, bf16"],
    );
    refused(
        &folder,
        &format!("{EMIT} hidden=4 eps=1 {dtypes} layout=tiled"),
        &["`layout`", "`tiled`", "strided"],
    );
    refused(&folder, &format!("{EMIT} hidden=4 eps=1 {dtypes} align=3"), &["`align`", "`3`"]);
}

#[test]
fn arguments_and_tensors() {
    let folder = folder();
    let run = |rest: &str, parts: &[&str]| refused(&folder, &format!("{RUN} t.safetensors {rest}"), parts);
    run("--bind x=x", &["`w`", "not bound", "--bind w=TENSOR"]);
    run("--bind x=x w=w weight=w", &["`weight`", "it has x, w, y"]);
    run("--bind x=x w=ww", &["`ww`", "t.safetensors", "did you mean `w`?"]);
    run("--bind x=x x=x w=w", &["`x`", "twice", "--bind"]);
    run("--bind x=x w=w --expect x=x", &["`x`", "only read", "--expect"]);
    run("--bind x=x w", &["`w`", "arg=TENSOR"]);
    run("--bind x=x w=complex", &["`complex`", "C64", "BF16"]);
}

#[test]
fn shapes_that_do_not_fit() {
    let folder = folder();
    let run = |rest: &str, parts: &[&str]| refused(&folder, &format!("{RUN} t.safetensors {rest}"), parts);
    run("--bind x=w5 w=w", &["`x`", "5", "4"]);
    run("--bind x=scalar w=w", &["`x`"]);
    run("--bind x=x w=w5", &["`w`", "5", "4"]);
    run("--bind x=x w=w --expect y=y3", &["`y`", "[3, 4]", "[2, 4]"]);
}

#[test]
fn files_of_tensors() {
    let folder = folder();
    let bind = "--bind x=x w=w";
    for (file, part) in [
        ("absent.safetensors", "absent.safetensors"),
        ("dir", "directory"),
        ("empty.safetensors", "0 bytes"),
        ("truncated.safetensors", "bytes of data"),
        ("text.safetensors", "header"),
    ] {
        refused(&folder, &format!("{RUN} {file} {bind}"), &[file, part]);
    }
}

#[test]
fn tolerances_and_outputs() {
    let folder = folder();
    let good = "run rms_norm --set hidden=4 eps=1 x=f32 w=f32 y=f32 --tensors t.safetensors --bind x=x w=w --expect y=y";
    for tolerance in ["1e-5", "a,b", "1,2,3", "nan,0", "0,inf"] {
        refused(
            &folder,
            &format!("{good} --tolerance {tolerance}"),
            &[&format!("`{tolerance}`"), "atol,rtol"],
        );
    }
    refused(&folder, &format!("{good} --tolerance=-1,0"), &["`-1,0`"]);
    refused(&folder, &format!("{good} --out none/out.safetensors"), &["none/out.safetensors"]);
    refused(&folder, &format!("{good} --out dir"), &["dir", "directory"]);
    let emit = "emit rms_norm --target sm_90 --set hidden=4 eps=1 x=f32 w=f32 y=f32";
    refused(&folder, &format!("{emit} -o none/out.ptx"), &["none/out.ptx"]);
    // The good one of two files is not written either.
    refused(&folder, &format!("{emit} -o out.ptx --manifest none/out.json"), &["none/out.json"]);
    refused(&folder, &format!("{emit} -o none/out.ptx --manifest out.json"), &["none/out.ptx"]);
}

#[test]
fn a_target_that_cannot_run_the_spec_or_a_device_that_is_absent() {
    let folder = folder();
    // No machine has this many devices, whether it has a driver or not.
    let good = "run rms_norm --set hidden=4 eps=1 x=f32 w=f32 y=f32 --tensors t.safetensors --bind x=x w=w";
    refused(&folder, &format!("{good} --device cuda:4096"), &["CUDA"]);
    refused(&folder, &format!("{good} --target sm_5"), &["`sm_5`"]);
}
