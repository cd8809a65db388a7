use ptxsmith_builder::lang::{Global, GlobalMut, kernel, thread_idx_x};
use ptxsmith_builder::types::Dtype;
use ptxsmith_builder::kernel::{Expr, Geometry};

fn launch(n: Expr) -> Geometry {
    Geometry::new(64, n)
}

#[kernel(geometry = launch(n), block = 64)]
fn example(
    #[size] n: u32,
    #[buffer(dtype = Dtype::F32, len = n)] x: Global,
    #[buffer(dtype = Dtype::F32, len = n)] y: GlobalMut,
) {
    let i = thread_idx_x();
    y[i] = x[i];
}

fn main() {}
