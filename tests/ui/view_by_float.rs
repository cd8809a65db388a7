use ptxsmith_builder::lang::{Global, GlobalMut, kernel, thread_idx_x};
use ptxsmith_builder::types::Dtype;

#[kernel(block = 64, grid = n)]
fn example(
    #[size] n: u32,
    #[buffer(dtype = Dtype::F32, len = n)] x: Global,
    #[buffer(dtype = Dtype::F32, len = n)] y: GlobalMut,
) {
    let i = thread_idx_x();
    y[i] = x[x[i]];
}

fn main() {}
