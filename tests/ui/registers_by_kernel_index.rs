use ptxsmith_builder::lang::{Global, GlobalMut, kernel, thread_idx_x};
use ptxsmith_builder::types::Dtype;

#[kernel(block = 64, grid = n)]
fn example(
    #[size] n: u32,
    #[buffer(dtype = Dtype::F32, len = n)] x: Global,
    #[buffer(dtype = Dtype::F32, len = n)] y: GlobalMut,
) {
    let i = thread_idx_x();
    let mut acc = [0.0f32; 4];
    acc[i] = x[i];
    y[i] = acc[0];
}

fn main() {}
