//! Reductions and broadcasts of the library, with blocks of any number of warps.

use ptxsmith_builder::lang::{
    GlobalMut, block_broadcast, block_max, block_min, block_reduce, block_sum, kernel, lanes_reduce,
    thread_idx_x, warp_broadcast, warp_max, warp_min, warp_sum,
};
use ptxsmith_builder::types::Dtype;
use ptxsmith_builder::value::Value;

use super::{build, words};

/// Which exchange.
const CASES: u32 = 9;

/// A number that is small, differs between threads, and is not ordered like them.
fn scrambled(tid: u32) -> u32 {
    tid * 37 % 101 + 1
}

#[kernel(block = threads, grid = 1u32)]
fn exchange(
    #[baked] threads: u32,
    #[baked] case: u32,
    #[buffer(dtype = Dtype::F32, len = threads)] y: GlobalMut,
    n: u32,
) {
    let tid = thread_idx_x();
    let own = tid * 37 % 101 + 1;
    // In a loop of the kernel, so that the second round meets what the first left.
    let mut result = 0u32;
    for round in 0..n {
        let own = own + round;
        result = match case {
            0 => warp_sum(own),
            1 => warp_max(own),
            2 => warp_min(own),
            3 => warp_broadcast(own, 5),
            4 => lanes_reduce(own, 8, |a, b| a + b),
            5 => block_sum(own, threads),
            6 => block_max(own as f32, threads) as u32,
            7 => block_min(own as i32, threads) as u32,
            _ => {
                let pair = block_reduce(own, threads, 0, |a: Value<u32>, b: Value<u32>| a ^ b);
                pair + block_broadcast(own, threads - 1)
            }
        };
    }
    y.store(tid, result.bitcast::<f32>());
}

#[test]
fn exchanges_give_every_thread_the_same() {
    for threads in [32, 64, 96, 160, 1024] {
        for case in 0..CASES {
            let operation = build(&Exchange::new(threads, case));
            let found = words(&operation, threads, 2);
            let all: Vec<u32> = (0..threads).map(|tid| scrambled(tid) + 1).collect();
            for tid in 0..threads {
                let warp = &all[(tid / 32 * 32) as usize..][..32];
                let eight = &all[(tid / 8 * 8) as usize..][..8];
                let expected = match case {
                    0 => warp.iter().sum(),
                    1 => *warp.iter().max().expect("32 lanes"),
                    2 => *warp.iter().min().expect("32 lanes"),
                    3 => warp[5],
                    4 => eight.iter().sum(),
                    5 => all.iter().sum(),
                    6 => *all.iter().max().expect("threads"),
                    7 => *all.iter().min().expect("threads"),
                    _ => all.iter().fold(0, |a, b| a ^ b) + all[threads as usize - 1],
                };
                assert_eq!(found[tid as usize], expected, "case {case}, {threads} threads, thread {tid}");
            }
        }
    }
}

#[test]
fn a_block_of_part_warps_is_refused() {
    use ptxsmith_builder::kernel::AnyKernel;
    let error = Exchange::new(40, 5).operation(super::target()).expect_err("40 threads");
    assert!(error.to_string().contains("a reduction over 40 threads"), "{error}");
}
