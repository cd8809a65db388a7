use ptxsmith_builder::lang::{Global, GlobalMut, kernel, thread_idx_x};
use ptxsmith_builder::types::Dtype;

#[kernel(block = 64, grid = n, blocks = 2)]
fn example(
    #[size] n: u32,
    eps: String,
    #[buffer(dtype = Dtype::F32, len = n)] x: Global,
    #[buffer(dtype = Dtype::F32, len = n)] y: GlobalMut,
) {
    let i = thread_idx_x();
    unsafe {
        y[i] = x[i];
    }
    let v;
    let w = x[i]?;
    for k in 0..n {
        break w;
    }
}

fn main() {}
