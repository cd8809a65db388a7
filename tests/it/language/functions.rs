//! `#[device]` functions, host variables, optional buffers and generics.

use ptxsmith_builder::lang::{Global, GlobalMut, Shared, device, kernel, sync_threads, thread_idx_x};
use ptxsmith_builder::ops::{add_wrapping, fma_rn, max, min};
use ptxsmith_builder::types::Dtype;
use ptxsmith_builder::value::{Arithmetic, Float, Int, Value};

use super::{build, words};

const THREADS: u32 = 64;

/// Constants that the body of a kernel sees like any Rust code.
const WEIGHTS: [u32; 4] = [3, 1, 4, 1];

fn host_helper(n: u32) -> Vec<u32> {
    (0..n).map(|i| i * i).collect()
}

#[device]
fn clamp<T: Int>(x: T, low: T, high: T) -> T {
    min(max(x, low), high)
}

#[device]
fn horner<T: Float + Arithmetic, const N: usize>(x: T, #[host] coefficients: [T; N]) -> T {
    let mut sum = Value::constant(coefficients[N - 1]);
    for i in (0..N - 1).rev() {
        sum = fma_rn(sum, x, coefficients[i]);
    }
    sum
}

#[device]
fn bump(counter: &mut u32, by: u32) {
    if by == 0 {
        return;
    }
    *counter += by;
    if *counter > 100 {
        *counter = 100;
    }
}

#[device]
fn bump_twice(counter: &mut u32, by: u32) {
    bump(counter, by);
    bump(counter, by + 1);
}

#[device]
fn divided(x: u32, #[host] shift: u32) -> (u32, u32) {
    if shift == 0 {
        return (x, 0);
    }
    let mask = (1 << shift) - 1;
    (x >> shift, x & mask)
}

#[device]
fn first_above(mut x: u32, limit: u32) -> u32 {
    for _ in 0..10u32 {
        if x > limit {
            return x;
        }
        x = x * 2 + 1;
    }
    x + 1000
}

#[device]
fn pick(values: [u32; 2], pair: (u32, u32), which: bool) -> u32 {
    if which { values[0] + pair.1 } else { values[1] + pair.0 }
}

struct Table {
    scale: u32,
}

impl Table {
    #[device]
    fn apply(&self, x: u32) -> u32 {
        x * self.scale + 1
    }
}

#[kernel(block = THREADS, grid = 1u32)]
fn everything(#[baked] rounds: u32, #[buffer(dtype = Dtype::F32, len = THREADS)] y: GlobalMut, n: u32) {
    let tid = thread_idx_x();
    let table = Table { scale: 3 };
    #[host]
    let mut position = 0;
    let mut sum = 0u32;
    for square in host_helper(rounds) {
        sum += tid * square + WEIGHTS[position];
        position += 1;
        position %= 4;
    }
    #[host]
    let mut seen = vec![0u32; 3];
    for i in 0..3 {
        seen[i] = i + 1;
        seen[i] += rounds;
    }
    for k in seen {
        bump_twice(&mut sum, n + k);
    }
    let (high, low) = divided(tid, 2);
    let (same, zero) = divided(tid, 0);
    let clipped = clamp::<u32>(tid, 5, n);
    let first = first_above(tid, n);
    let picked = pick([tid, 7], (n, 2), tid < n);
    let all = sum + high * 2 + low * 3 + same + zero + clipped + first + picked + table.apply(tid);
    y.store(tid, all.bitcast::<f32>());
}

#[test]
fn device_functions_agree_with_rust() {
    let bump = |counter: u32, by: u32| if by == 0 { counter } else { (counter + by).min(100) };
    for (rounds, n) in [(0, 3), (4, 9), (7, 70)] {
        let operation = build(&Everything::new(rounds));
        let found = words(&operation, THREADS, n);
        for tid in 0..THREADS {
            let mut sum = 0;
            for i in 0..rounds {
                sum += tid * i * i + WEIGHTS[i as usize % 4];
            }
            for k in 0..3 {
                let by = n + k + 1 + rounds;
                sum = bump(bump(sum, by), by + 1);
            }
            let mut first = tid;
            let mut tries = 0;
            while tries < 10 && first <= n {
                first = first * 2 + 1;
                tries += 1;
            }
            if tries == 10 {
                first += 1000;
            }
            let picked = if tid < n { tid + 2 } else { 7 + n };
            let clipped = tid.max(5).min(n);
            let all = sum + (tid >> 2) * 2 + (tid & 3) * 3 + tid + clipped + first + picked + tid * 3 + 1;
            assert_eq!(found[tid as usize], all, "thread {tid}\n{}", operation.text());
        }
    }
}

#[kernel(block = THREADS, grid = 1u32)]
fn polynomial(#[buffer(dtype = Dtype::F32, len = THREADS)] y: GlobalMut, n: u32) {
    let tid = thread_idx_x();
    let x = if tid < n { 2.0 } else { 3.0 };
    y[tid] = horner::<f32, 3>(x, [1.0, 0.5, 0.25]);
}

#[test]
fn generic_functions_are_inlined() {
    let operation = build(&Polynomial::new());
    let found = words(&operation, THREADS, 10);
    assert_eq!(found[9], 3.0f32.to_bits());
    assert_eq!(found[10], 4.75f32.to_bits());
    assert_eq!(operation.text().matches("fma.rn.f32").count(), 2);
}

#[kernel(block = THREADS, grid = 1u32)]
fn reversed(
    #[baked] biased: bool,
    #[when(biased)]
    #[buffer(dtype = Dtype::F32, len = THREADS)]
    bias: Option<Global>,
    #[buffer(dtype = Dtype::F32, len = THREADS)] y: GlobalMut,
    n: u32,
) {
    let tid = thread_idx_x();
    let buffer = Shared::<u32>::new("buffer", THREADS);
    buffer[tid] = tid * n;
    sync_threads();
    buffer[tid] += 1;
    sync_threads();
    let other = buffer[THREADS - 1 - tid];
    let added = match bias {
        Some(bias) => bias[tid],
        None => 0.0,
    };
    let shown = add_wrapping(other, added.bitcast::<u32>());
    y.store(tid, shown.bitcast::<f32>());
}

#[test]
fn views_are_indexed_and_optional_arguments_chosen() {
    let operation = build(&Reversed::new(false));
    let found = words(&operation, THREADS, 3);
    for tid in 0..THREADS {
        assert_eq!(found[tid as usize], (THREADS - 1 - tid) * 3 + 1);
    }
    assert_eq!(operation.args.len(), 2);
    let biased = build(&Reversed::new(true));
    assert_eq!(biased.args.len(), 3);
    assert!(biased.text().contains("ld.global.nc.f32"), "{}", biased.text());
}

#[kernel(block = (8, 4), grid = 1u32)]
fn hygienic(
    #[baked] geometry: u32,
    #[baked] args: u32,
    #[buffer(dtype = Dtype::F32, len = args, align = geometry)] dtype: GlobalMut,
) {
    // Names that the expansion could use itself.
    let state = geometry;
    let mut value = thread_idx_x();
    let item = 1u32;
    for out in 0..state {
        if value < args {
            value += item + out;
        }
    }
    dtype.store(0u32, value.bitcast::<f32>());
}

#[test]
fn names_of_the_author_and_the_expansion_never_meet() {
    let operation = build(&Hygienic::new(4, 9));
    assert_eq!(operation.steps[0].geometry.block, [8, 4, 1]);
    assert_eq!(operation.text().matches("setp.lt.u32").count(), 4);
}
