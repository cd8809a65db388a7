//! The same body as Rust and as a kernel gives the same values, for every thread and several arguments.

use ptxsmith_builder::lang::{GlobalMut, device, kernel, thread_idx_x};
use ptxsmith_builder::types::Dtype;

use super::{build, words};

const THREADS: u32 = 64;

/// One function, twice: plain Rust, and `#[device]` in a kernel that stores its result.
macro_rules! agree {
    ($(fn $name:ident($tid:ident: u32, $n:ident: u32) -> u32 { $($body:tt)* })*) => {$(
        mod $name {
            use super::*;

            #[allow(unused_variables, unused_assignments, while_true, clippy::all, reason = "bodies are written for coverage, not for style")]
            fn host($tid: u32, $n: u32) -> u32 { $($body)* }

            #[device]
            #[allow(unused_variables, while_true, reason = "not every body reads both")]
            fn staged($tid: u32, $n: u32) -> u32 { $($body)* }

            #[kernel(block = THREADS, grid = 1u32)]
            fn each(#[buffer(dtype = Dtype::F32, len = THREADS)] y: GlobalMut, n: u32) {
                let tid = thread_idx_x();
                y.store(tid, staged(tid, n).bitcast::<f32>());
            }

            #[test]
            fn agrees() {
                let operation = build(&Each::new());
                for n in [0, 1, 2, 5, 33, 64, 100] {
                    let expected: Vec<u32> = (0..THREADS).map(|tid| host(tid, n)).collect();
                    let found = words(&operation, THREADS, n);
                    assert_eq!(found, expected, "n = {n}\n{}", operation.text());
                }
            }
        }
    )*};
}

agree! {
    fn straight(tid: u32, n: u32) -> u32 {
        let a = tid * 3 + n;
        let b = a ^ 5;
        (a + b) & 0xffff
    }

    fn branch(tid: u32, n: u32) -> u32 {
        if tid < n { tid + 1 } else { n + 7 }
    }

    fn branch_on_constants(tid: u32, n: u32) -> u32 {
        let big = if tid >= n { 1u32 } else { 0 };
        let same = if n == 5 { tid } else { 9 };
        big * 100 + same
    }

    fn chain(tid: u32, n: u32) -> u32 {
        if tid == n {
            1
        } else if tid < 4 {
            2
        } else if n > 40 && tid > 10 {
            3
        } else {
            4
        }
    }

    fn statement_if(tid: u32, n: u32) -> u32 {
        let mut x = tid;
        if tid < n {
            x += 10;
            if tid == 1 {
                x *= 2;
            }
        }
        x
    }

    fn nested_mut(tid: u32, n: u32) -> u32 {
        let mut a = 0u32;
        let mut b = tid;
        let c = a + b;
        a = c + 1;
        b = a + n;
        let d = a;
        a = 100;
        d + a + b + c
    }

    fn shadowing(tid: u32, n: u32) -> u32 {
        let mut x = tid;
        x += 1;
        let y = {
            let x = x + n;
            let mut z = x;
            z += x;
            z
        };
        let x = x + y;
        x
    }

    fn sum_loop(tid: u32, n: u32) -> u32 {
        let mut sum = 0u32;
        for i in tid..n {
            sum += i;
        }
        sum
    }

    fn stepped(tid: u32, n: u32) -> u32 {
        let mut sum = 0u32;
        for i in (tid..n).step_by(3) {
            sum += i * 2 + 1;
        }
        sum
    }

    fn inclusive(tid: u32, n: u32) -> u32 {
        let mut sum = 0u32;
        for i in tid..=n {
            sum += i + 1;
        }
        sum
    }

    fn unrolled(tid: u32, n: u32) -> u32 {
        let mut sum = n;
        for i in 0..4 {
            sum = sum * 2 + tid + i as u32;
        }
        sum & 0xffffff
    }

    fn unrolled_with_dynamic_jumps(tid: u32, n: u32) -> u32 {
        let mut sum = 0u32;
        for i in 0..6u32 {
            if tid == i {
                continue;
            }
            if tid + i > n {
                break;
            }
            sum += 10 + i;
        }
        sum
    }

    fn unrolled_with_both_kinds_of_jumps(tid: u32, n: u32) -> u32 {
        let mut sum = 0u32;
        for i in 0..6u32 {
            if tid == i {
                continue;
            }
            if i == 4 {
                break;
            }
            if i % 2 == 1 {
                continue;
            }
            sum += 10 + i + n;
        }
        sum
    }

    fn inner_jump_then_outer_host_break(tid: u32, n: u32) -> u32 {
        let mut sum = 0u32;
        'outer: for i in 0..3u32 {
            for j in 0..3u32 {
                if tid == j {
                    break;
                }
                if i == 1 {
                    break 'outer;
                }
                sum += 1 + j;
            }
            sum += 100;
        }
        sum + n
    }

    fn labeled(tid: u32, n: u32) -> u32 {
        let mut count = 0u32;
        'rows: for i in 0..n {
            for j in 0..tid {
                if j > i {
                    continue 'rows;
                }
                if i + j > 20 {
                    break 'rows;
                }
                count += 1;
            }
            count += 1000;
        }
        count
    }

    fn loop_with_breaks(tid: u32, n: u32) -> u32 {
        let mut x = tid;
        let mut steps = 0u32;
        loop {
            if x >= n {
                break;
            }
            steps += 1;
            if steps > 20 {
                break;
            }
            if x & 1 == 0 {
                x += 3;
                continue;
            }
            x += 1;
        }
        steps * 1000 + x
    }

    fn loop_value(tid: u32, n: u32) -> u32 {
        let mut x = tid;
        let found = loop {
            if x * x > n {
                break x;
            }
            x += 1;
            if x > 50 {
                break 777;
            }
        };
        found + 1
    }

    fn while_loop(tid: u32, n: u32) -> u32 {
        let mut x = n;
        let mut bits = 0u32;
        while x != 0 {
            if x == tid {
                x = x - 1;
                continue;
            }
            bits += x & 1;
            x = x >> 1;
        }
        bits
    }

    fn while_true(tid: u32, n: u32) -> u32 {
        let mut x = tid;
        while true {
            x += 1;
            if x > n {
                break;
            }
        }
        x
    }

    fn short_circuit(tid: u32, n: u32) -> u32 {
        let mut calls = 0u32;
        let a = tid < n && {
            calls += 1;
            tid > 3
        };
        let b = tid < n || {
            calls += 10;
            tid > 60
        };
        let mut flags = 0u32;
        if a {
            flags += 1;
        }
        if b {
            flags += 2;
        }
        if !a && !b || n == 5 {
            flags += 4;
        }
        calls * 100 + flags
    }

    fn early_return(tid: u32, n: u32) -> u32 {
        if tid < 3 {
            return 1000 + n;
        }
        let mut x = tid;
        for i in 0..n {
            if i == 7 {
                return x;
            }
            x += i;
        }
        if n > 50 {
            return 5;
        }
        x + 1
    }

    fn return_from_every_arm(tid: u32, n: u32) -> u32 {
        if tid < n {
            return tid + 1;
        } else {
            return n;
        }
    }

    fn return_in_unrolled_loop(tid: u32, n: u32) -> u32 {
        for i in 0..5u32 {
            if i + n == tid {
                return i;
            }
        }
        99
    }

    fn matches(tid: u32, n: u32) -> u32 {
        match tid {
            0 => 10,
            1 | 2 => 20 + n,
            3..=9 => 30,
            x if x == n => 40,
            10..20 => 50,
            other => other * 2,
        }
    }

    fn match_statement(tid: u32, n: u32) -> u32 {
        let mut x = 0u32;
        for i in 0..n {
            match i & 3 {
                0 => x += tid,
                1 => continue,
                2 if tid > 10 => break,
                _ => x += 1,
            }
            x += 100;
        }
        x
    }

    fn match_bool(tid: u32, n: u32) -> u32 {
        match tid < n {
            true => 1,
            false => 2,
        }
    }

    fn host_match_of_host_value(tid: u32, n: u32) -> u32 {
        let mut sum = 0u32;
        for i in 0..4u32 {
            sum += match i {
                0 => tid,
                1 => n,
                _ => 5,
            };
        }
        sum
    }

    fn tuples_and_arrays(tid: u32, n: u32) -> u32 {
        let mut acc = [0u32; 4];
        for i in 0..4u32 {
            acc[i as usize] = tid + i;
        }
        acc[1] += n;
        acc[2] = acc[1] + acc[3];
        let mut pair = (tid, n);
        pair.0 += 2;
        pair = (pair.1, pair.0);
        let (a, mut b) = pair;
        b += a;
        let [first, .., last] = acc;
        first + last + acc[2] + b + pair.0
    }

    fn swap(tid: u32, n: u32) -> u32 {
        let mut a = tid;
        let mut b = n + 1;
        for _ in 0..3u32 {
            (a, b) = (b, a + b);
        }
        a * 1000 + b
    }

    fn joined_tuples(tid: u32, n: u32) -> u32 {
        let (lo, hi) = if tid < n { (tid, n) } else { (n, tid) };
        let [x, y] = if hi > 10 { [lo, 1] } else { [2, hi] };
        lo + hi * 100 + x + y
    }

    fn casts(tid: u32, n: u32) -> u32 {
        let wide = tid as u64 * 0x1_0000_0001;
        let signed = tid as i32 - 5;
        let extended = signed as i64;
        let low = wide as u32;
        let clipped = if signed < 0 { 0u32 } else { signed as u32 };
        (low & 0xff) + clipped + ((extended >> 3u32) as u32 & 0xff) + ((n as u64 + wide) >> 32u32) as u32
    }

    fn typed_lets(tid: u32, n: u32) -> u32 {
        let a: u32 = tid + 1;
        let b: u32 = 7;
        let mut c: u32 = 0;
        c += a * b;
        let flag: bool = c > n;
        if flag { c } else { b }
    }

    fn labeled_block(tid: u32, n: u32) -> u32 {
        let mut x = tid;
        'done: {
            if tid > n {
                break 'done;
            }
            x += 50;
            if tid == 2 {
                break 'done;
            }
            x += 500;
        }
        x
    }

    fn deep_mixture(tid: u32, n: u32) -> u32 {
        let mut out = 0u32;
        'a: for i in 0..n {
            for k in 0..3u32 {
                let mut j = 0u32;
                while j < tid {
                    j += 1;
                    if j == 3 && k == 1 {
                        continue 'a;
                    }
                    if i * j > 40 {
                        break 'a;
                    }
                    if j > 6 {
                        break;
                    }
                    out += k + 1;
                }
                if k == 2 && i > 4 {
                    return out + 7;
                }
            }
            out += 1;
        }
        out
    }

    fn jump_out_of_value_position(tid: u32, n: u32) -> u32 {
        let mut sum = 0u32;
        for i in 0..n {
            let v = if i == tid { continue } else { i };
            let w = match v & 7 {
                5 => break,
                x => x,
            };
            sum += w;
        }
        sum
    }

    fn integer_arithmetic(tid: u32, n: u32) -> u32 {
        let a = tid as i32 - 20;
        let b = n as i32 + 1;
        let quotient = a / b;
        let rest = a % 7;
        let wide = (tid as u64 * 0x9_0000_0001) / (n as u64 + 3) % 1000;
        let flipped = !tid & 0xff;
        let mixed = 100 / (tid + 1) + 1000 % (n + 1) + (0xf0 & tid) + (1 | n);
        let negated = -a;
        (quotient + rest * 3 + negated * 5 + 1000) as u32 + wide as u32 + flipped + mixed
    }

    fn float_conversions(tid: u32, n: u32) -> u32 {
        let f = tid as f32 * 1.5 - 20.0;
        let zero = f * 0.0;
        let nan = zero / (zero + 0.0);
        let huge = f * 1e12;
        let d = (f as f64 * 1.1) / 3.0;
        let small = huge as u32 ^ huge as i32 as u32 ^ nan as u32 ^ (nan as i32 + 7) as u32;
        let rounded = (16777217 + n) as f32 as u32;
        let narrow = d as f32 as i32 as u32;
        let wide = (huge as i64 >> 20u32) as u32 ^ (f as u64 as u32);
        small ^ rounded ^ narrow ^ wide ^ ((tid > n) as u32) ^ (d as i32 as u32) ^ (-d as f32 as i32 as u32)
    }

    fn closures(tid: u32, n: u32) -> u32 {
        let twice = |x| x + x;
        let mut total = 0u32;
        for v in [tid, n, 3u32] {
            total += twice(v);
        }
        let larger = |a, b| if a > b { a } else { b };
        total + larger(tid, n)
    }
}
