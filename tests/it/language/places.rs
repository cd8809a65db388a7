//! Where mistakes that only show when the text is made are reported: at the author's file, line and column.

use ptxsmith_builder::kernel::{AnyKernel, KernelError};
use ptxsmith_builder::lang::{
    Global, GlobalMut, Shared, device, kernel, sync_threads, thread_idx_x, uniform, warp_sum,
};
use ptxsmith_builder::types::Dtype;
use ptxsmith_builder::value::Value;

use super::{build, target};

const BLOCK: u32 = 64;

/// The line of this file on which `text` stands first.
fn line_of(text: &str) -> u32 {
    let source = include_str!("places.rs");
    let at = source.lines().position(|line| line.contains(text)).expect("the text is in this file");
    at as u32 + 1
}

fn error_of(kernel: &impl AnyKernel) -> KernelError {
    kernel.operation(target()).expect_err("the kernel has a mistake")
}

#[kernel(block = BLOCK, grid = 1u32)]
fn divergent_barrier(#[buffer(dtype = Dtype::F32, len = BLOCK)] y: GlobalMut) {
    let shared = Shared::<u32>::new("shared", BLOCK);
    let tid = thread_idx_x();
    shared[tid] = tid;
    if tid < 40 {
        sync_threads();
    }
    y.store(tid, shared[BLOCK - 1 - tid].bitcast::<f32>());
}

#[test]
fn a_barrier_under_a_varying_condition_names_both_places() {
    let error = error_of(&DivergentBarrier::new()).to_string();
    for text in ["    if tid < 40 {", "        sync_threads();"] {
        let place = format!("places.rs:{}:", line_of(text));
        assert!(error.contains(&place), "{place} is not in\n{error}");
    }
    assert!(error.contains("%tid.x"), "{error}");
}

#[device]
fn partner(v: f32) -> f32 {
    warp_sum(v)
}

#[kernel(block = BLOCK, grid = 1u32)]
fn divergent_shuffle(
    #[buffer(dtype = Dtype::F32, len = BLOCK)] x: Global,
    #[buffer(dtype = Dtype::F32, len = BLOCK)] y: GlobalMut,
) {
    let tid = thread_idx_x();
    let v = x[tid];
    if v > 0.0 {
        y[tid] = partner(v);
    }
}

#[test]
fn a_shuffle_under_a_varying_condition_is_refused() {
    let error = error_of(&DivergentShuffle::new()).to_string();
    let place = format!("places.rs:{}:", line_of("    if v > 0.0 {"));
    assert!(error.contains(&place) && error.contains("shfl.sync"), "{error}");
    // The shuffle is that of the library call in the function, not a line of the library.
    let call = format!("places.rs:{}:5", line_of("    warp_sum(v)"));
    assert!(error.contains(&call), "{call} is not in\n{error}");
}

#[kernel(block = BLOCK, grid = 1u32)]
fn promised(
    #[buffer(dtype = Dtype::F32, len = BLOCK)] x: Global,
    #[buffer(dtype = Dtype::F32, len = BLOCK)] y: GlobalMut,
) {
    let tid = thread_idx_x();
    // The author knows that the caller stores one number in all of x.
    if uniform(x[tid] > 0.0) {
        y[tid] = warp_sum(x[tid]);
    } else {
        y[tid] = 0.0;
    }
    #[host]
    let mut rounds = 0u32;
    while uniform(x[tid] > 1.0 + rounds as f32) {
        y[tid] = warp_sum(x[tid]);
        rounds += 1;
    }
}

#[test]
fn a_promise_of_uniformity_is_a_uniform_branch() {
    let text = build(&Promised::new()).text();
    assert_eq!(text.matches("bra.uni").count(), 2, "{text}");
}

#[kernel(block = BLOCK, grid = 1u32)]
fn every_instruction(
    #[buffer(dtype = Dtype::F32, len = BLOCK)] x: Global,
    #[buffer(dtype = Dtype::F32, len = BLOCK)] y: GlobalMut,
    n: u32,
) {
    let tid = thread_idx_x();
    let mut sum = 0.0f32;
    for i in (tid..n).step_by(7) {
        let v = x[i];
        sum += if v > 0.0 && i != 3 { v * 2.0 } else { -v };
    }
    y[tid] = match n {
        0 => 1.0,
        1 | 2 => sum,
        _ => sum / n as f32,
    };
}

#[test]
fn every_instruction_comes_from_a_line_of_the_kernel() {
    let operation = build(&EveryInstruction::new());
    let first = line_of("fn every_instruction(");
    for block in &operation.module.module().entries[0].blocks {
        let terminator = (block.term_place, "the terminator".to_owned());
        for (place, what) in
            block.insts.iter().map(|inst| (inst.place, format!("{inst:?}"))).chain([terminator])
        {
            // Falls between blocks have no place; the last `ret` has the kernel's own, the attribute above its name.
            if place.line != 0 {
                let here = place.file.ends_with("places.rs") && (first - 1..first + 17).contains(&place.line);
                assert!(here, "{place}: {what} in\n{}", operation.text());
            }
        }
    }
    let product = format!("{}", line_of("{ v * 2.0 }"));
    let places: Vec<String> = operation.module.module().entries[0]
        .blocks
        .iter()
        .flat_map(|block| &block.insts)
        .filter(|inst| inst.place.line.to_string() == product)
        .map(|inst| inst.place.column.to_string())
        .collect();
    assert!(places.len() >= 4, "comparisons, product, negation and sum have columns: {places:?}");
}

#[device]
fn host_or_not(#[host] n: u32, x: Value<u32>) -> Option<Value<u32>> {
    if x == 3 {
        return None;
    }
    if n == 0 {
        return None;
    }
    Some(x)
}

#[kernel(block = BLOCK, grid = 1u32)]
fn mistakes(#[baked] n: u32, #[buffer(dtype = Dtype::F32, len = BLOCK)] y: GlobalMut) {
    let tid = thread_idx_x();
    for i in (tid..100u32).step_by(n) {
        y[i] = 1.0;
    }
    let found = host_or_not(n, tid);
    #[host]
    let mut endless = n;
    while endless < 3 {
        endless *= 2;
    }
    if found.is_some() {
        y[tid] = 2.0;
    }
}

#[test]
fn mistakes_of_the_build_are_reported_together() {
    let KernelError::Build(errors) = error_of(&Mistakes::new(0)) else { panic!("an error of the build") };
    let messages: Vec<&str> = errors.errors.iter().map(|error| error.message.as_str()).collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(messages[0].contains("step of a range is not positive"), "{messages:?}");
    assert_eq!(errors.errors[0].place.line, line_of("(tid..100u32).step_by(n)"));
    assert!(
        messages[1].contains("host value is returned under a condition of the running kernel"),
        "{messages:?}"
    );
    assert!(messages[2].contains("more than 65536 times"), "{messages:?}");
}
