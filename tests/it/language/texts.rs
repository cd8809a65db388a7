//! The text of small kernels, line by line.

use ptxsmith_builder::lang::{Global, GlobalMut, block_idx_x, kernel, thread_idx_x};
use ptxsmith_builder::ops::fma_rn;
use ptxsmith_builder::types::Dtype;

use super::build;

const BLOCK: u32 = 256;

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
    assert!(text.contains("fma.rn.f32"));
}
