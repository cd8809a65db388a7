//! The kernel language: what bodies become.

use ptxsmith_builder::kernel::{AnyKernel, Operation};
use ptxsmith_builder::lang::{Global, GlobalMut, block_idx_x, kernel, thread_idx_x};
use ptxsmith_builder::ops::fma_rn;
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;

const BLOCK: u32 = 256;

fn build(kernel: &impl AnyKernel) -> Operation {
    let target: Target = "sm_90".parse().expect("a target");
    kernel.operation(target).unwrap_or_else(|error| panic!("{error}"))
}

/// `y = a * x + y`.
#[kernel(block = BLOCK, grid = n.ceil_div(BLOCK))]
fn saxpy(
    #[baked] dtype: Dtype,
    #[size] n: u32,
    #[buffer(dtype = dtype, len = n)] x: Global,
    #[buffer(dtype = Dtype::F32, len = n, inout)] y: GlobalMut,
    a: f32,
) {
    let i = block_idx_x() * BLOCK + thread_idx_x();
    if i < n {
        y[i] = fma_rn(a, x[i], y[i]);
    }
}

#[test]
fn saxpy_text() {
    let text = build(&Saxpy::new(Dtype::F16)).text();
    println!("{text}");
    assert!(text.contains("fma.rn.f32"));
}
