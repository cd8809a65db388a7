//! The reviewed text of small kernels: what each construct becomes.

use ptxsmith_builder::kernel::AnyKernel;
use ptxsmith_builder::lang::{Global, GlobalMut, block_idx_x, fma, kernel, thread_idx_x};
use ptxsmith_builder::types::Dtype;

use super::build;

const BLOCK: u32 = 256;

/// Compares with the reviewed text.
fn reviewed(kernel: &impl AnyKernel) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots/language");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(kernel.name(), build(kernel).text()));
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
        y[i] = fma(a, x[i], y[i]);
    }
}

#[test]
fn a_branch() {
    reviewed(&Saxpy::new(Dtype::F16));
}

/// A loop in a loop, left by labels.
#[kernel(block = BLOCK, grid = 1u32)]
fn nested_loops(
    #[buffer(dtype = Dtype::F32, len = 65536u32)] x: Global,
    #[buffer(dtype = Dtype::F32, len = BLOCK)] y: GlobalMut,
    rows: u32,
    columns: u32,
) {
    let tid = thread_idx_x();
    let mut sum = 0.0f32;
    'rows: for row in 0..rows {
        for column in (tid..columns).step_by(BLOCK) {
            let v = x[row * BLOCK + column];
            if v < 0.0 {
                continue 'rows;
            }
            if v > 100.0 {
                break 'rows;
            }
            sum += v;
        }
        sum *= 0.5;
    }
    y[tid] = sum;
}

#[test]
fn loops_and_labels() {
    reviewed(&NestedLoops::new());
}

/// A loop of the host with jumps of the kernel, and an early end.
#[kernel(block = BLOCK, grid = 1u32)]
fn unrolled(
    #[baked] rounds: u32,
    #[buffer(dtype = Dtype::F32, len = 4096u32)] x: Global,
    #[buffer(dtype = Dtype::F32, len = BLOCK)] y: GlobalMut,
    n: u32,
) {
    let tid = thread_idx_x();
    if tid >= n {
        return;
    }
    let mut acc = [0.0f32; 2];
    for round in 0..rounds {
        let i = tid + round * BLOCK;
        if i == 7 {
            continue;
        }
        if i > n {
            break;
        }
        acc[round % 2] += x[i];
    }
    y[tid] = acc[0] + acc[1];
}

#[test]
fn an_unrolled_loop_with_jumps() {
    reviewed(&Unrolled::new(3));
}

/// Conditions: joined by one instruction, or with a branch around what costs or has an effect.
#[kernel(block = BLOCK, grid = 1u32)]
fn conditions(
    #[buffer(dtype = Dtype::F32, len = BLOCK)] x: Global,
    #[buffer(dtype = Dtype::F32, len = BLOCK)] y: GlobalMut,
    n: u32,
) {
    let tid = thread_idx_x();
    let cheap = tid < n && tid != 3 || n == 7;
    let costly = tid < n && x[tid] > 0.0;
    let chosen = match n {
        0 => 1.0,
        1..=9 => 2.0,
        _ => 3.0,
    };
    let value = if cheap && !costly { chosen } else { -chosen };
    y[tid] = value;
}

#[test]
fn conditions_and_choices() {
    reviewed(&Conditions::new());
}
