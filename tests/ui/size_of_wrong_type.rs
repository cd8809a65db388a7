use ptxsmith_builder::lang::{Global, GlobalMut, kernel, thread_idx_x};
use ptxsmith_builder::types::Dtype;

#[kernel(block = 64, grid = 1u32)]
fn example(
    #[size] n: f32,
    #[buffer(dtype = Dtype::F32, len = 64u32)] x: Global,
    #[buffer(dtype = Dtype::F32, len = 64u32)] y: GlobalMut,
) {
    let i = thread_idx_x();
    y[i] = x[i];
}

fn main() {}
