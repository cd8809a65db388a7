use super::*;
use crate::emu::profile::InstClass;

#[test]
fn every_thread_stores_its_word() {
    let body = format!(
        "{PROLOG}
        ld.param.u64 %d2, [y];
        mad.wide.u32 %d3, %r2, 4, %d2;
        ld.global.u32 %r4, [%d1];
        add.u32 %r5, %r4, 1;
        st.global.u32 [%d3], %r5;"
    );
    let input: Vec<u32> = (0..1000).collect();
    let mut case = Case::new(XY, &body, 10, 100).words("x", Access::ReadOnly, &input).output("y", 1000);
    let outcome = case.clean();
    assert_eq!(case.result(1), (1..=1000).collect::<Vec<u32>>());
    let profile = outcome.profile;
    assert_eq!((profile.blocks, profile.warps_per_block), (10, 4));
    let total = profile.total();
    // 12 instructions, the last one `ret`.
    assert_eq!((total.warps, total.lanes), (40 * 12, 1000 * 12));
    assert_eq!(profile.by_class()[&InstClass::Load].lanes, 3 * 1000);
    assert_eq!((profile.buffers[0].loaded, profile.buffers[0].stored), (4000, 0));
    assert_eq!((profile.buffers[1].sectors_stored, total.global.bytes), (125, 8000));
}

#[test]
fn no_blocks_is_no_work() {
    let mut case = Case::new(XY, PROLOG, 0, 32).words("x", Access::ReadOnly, &[]).output("y", 0);
    assert_eq!(case.clean().profile.total().warps, 0);
}

#[test]
fn divided_lanes_come_together() {
    // Collatz steps: a loop that every lane leaves after another number of rounds, with a branch inside.
    let body = format!(
        "{PROLOG}
        ld.global.u32 %r4, [%d1];
        mov.u32 %r5, 0;
        loop:
        setp.eq.u32 %p0, %r4, 1;
        @%p0 bra done;
        and.b32 %r6, %r4, 1;
        setp.eq.u32 %p1, %r6, 0;
        @%p1 bra even;
        mad.lo.u32 %r4, %r4, 3, 1;
        bra next;
        even:
        shr.u32 %r4, %r4, 1;
        next:
        add.u32 %r5, %r5, 1;
        bra loop;
        done:
        ld.param.u64 %d2, [y];
        mad.wide.u32 %d3, %r2, 4, %d2;
        st.global.u32 [%d3], %r5;"
    );
    let input: Vec<u32> = (1..=96).collect();
    let steps = |mut n: u32| {
        let mut count = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            count += 1;
        }
        count
    };
    let mut case = Case::new(XY, &body, 1, 96).words("x", Access::ReadOnly, &input).output("y", 96);
    let outcome = case.clean();
    assert_eq!(case.result(1), input.iter().map(|n| steps(*n)).collect::<Vec<_>>());
    assert!(outcome.profile.total().diverged > 0);
    // The store behind the loop is one request of each warp.
    let store =
        outcome.profile.instructions.iter().find(|inst| inst.text.starts_with("st.")).expect("a store");
    assert_eq!((store.warps, store.global.requests, store.global.moved), (3, 3, 12));
}

#[test]
fn shuffles_sum_a_warp() {
    let body = format!(
        "{PROLOG}
        ld.global.f32 %f0, [%d1];
        shfl.sync.bfly.b32 %f1, %f0, 16, 31, 0xffffffff;
        add.rn.f32 %f0, %f0, %f1;
        shfl.sync.bfly.b32 %f1, %f0, 8, 31, 0xffffffff;
        add.rn.f32 %f0, %f0, %f1;
        shfl.sync.bfly.b32 %f1, %f0, 4, 31, 0xffffffff;
        add.rn.f32 %f0, %f0, %f1;
        shfl.sync.bfly.b32 %f1, %f0, 2, 31, 0xffffffff;
        add.rn.f32 %f0, %f0, %f1;
        shfl.sync.bfly.b32 %f1, %f0, 1, 31, 0xffffffff;
        add.rn.f32 %f0, %f0, %f1;
        ld.param.u64 %d2, [y];
        mad.wide.u32 %d3, %r2, 4, %d2;
        st.global.f32 [%d3], %f0;"
    );
    let input: Vec<u32> = (0..64).map(|i| (i as f32).to_bits()).collect();
    let mut case = Case::new(XY, &body, 2, 32).words("x", Access::ReadOnly, &input).output("y", 64);
    case.clean();
    let expected = |block: u32| (0..32).map(|i| (32 * block + i) as f32).sum::<f32>().to_bits();
    let all: Vec<u32> = (0..64).map(|i| expected(i / 32)).collect();
    assert_eq!(case.result(1), all);
}

#[test]
fn shuffle_modes_and_segments() {
    let run = |mode: &str, amount: u32, bounds: u32| {
        let body = format!(
            "{PROLOG} shfl.sync.{mode}.b32 %b0, %r0, {amount}, {bounds}, 0xffffffff; st.global.b32 [%d1], %b0;"
        );
        let mut case = Case::new(XY, &body, 1, 32).output("x", 32).output("y", 0);
        case.clean();
        case.result(0)
    };
    let lanes = |of: &dyn Fn(u32) -> u32| (0..32).map(of).collect::<Vec<u32>>();
    assert_eq!(run("up", 1, 0), lanes(&|l| l.saturating_sub(1)));
    assert_eq!(run("down", 3, 31), lanes(&|l| if l + 3 < 32 { l + 3 } else { l }));
    assert_eq!(run("idx", 5, 31), lanes(&|_| 5));
    // Segments of 8 lanes: the bound word holds the segment mask in bits 8 to 12.
    let segments = 0b11000 << 8 | 7;
    assert_eq!(run("idx", 3, segments), lanes(&|l| l / 8 * 8 + 3));
    assert_eq!(run("down", 6, segments), lanes(&|l| if l % 8 + 6 < 8 { l + 6 } else { l }));
    assert_eq!(run("up", 2, 0b11000 << 8), lanes(&|l| if l % 8 >= 2 { l - 2 } else { l }));
}

#[test]
fn vectors_narrow_types_and_packing() {
    let body = format!(
        "{PROLOG}
        mad.wide.u32 %d1, %r2, 16, %d0;
        ld.global.v4.b32 {{%b0, %b1, %b2, %b3}}, [%d1];
        mov.b32 {{%h0, %h1}}, %b0;
        mov.b32 %b4, {{%h1, %h0}};
        ld.global.v2.b16 {{%h2, %h3}}, [%d1+4];
        ld.param.u64 %d2, [y];
        mad.wide.u32 %d3, %r2, 16, %d2;
        st.global.b32 [%d3], %b4;
        st.global.b16 [%d3+4], %h3;
        st.global.b16 [%d3+6], %h2;
        st.global.v2.b32 [%d3+8], {{%b2, %b3}};"
    );
    let input: Vec<u32> = (0..128).map(|i| 0x0002_0001 + i * 0x0002_0002).collect();
    let mut case = Case::new(XY, &body, 1, 32).words("x", Access::ReadOnly, &input).output("y", 128);
    case.clean();
    let expected: Vec<u32> = input
        .iter()
        .enumerate()
        .map(|(i, word)| if i % 4 < 2 { word.rotate_left(16) } else { *word })
        .collect();
    assert_eq!(case.result(1), expected);
}

#[test]
fn three_dimensions_and_tails() {
    let params = ".param .u64 x";
    let body = "
        mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;
        mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.z;
        mad.lo.u32 %r6, %r2, 3, %r1;
        mad.lo.u32 %r6, %r6, 5, %r0;
        mad.lo.u32 %r7, %r5, 2, %r4;
        mad.lo.u32 %r7, %r7, 2, %r3;
        mad.lo.u32 %r8, %r7, 30, %r6;
        ld.param.u64 %d0, [x];
        mad.wide.u32 %d1, %r8, 4, %d0;
        st.global.u32 [%d1], %r8;";
    let mut case = Case::new(params, body, 1, 1).output("x", 240);
    case.launch = Launch { grid: [2, 2, 2], block: [5, 3, 2], cluster: [1, 1, 1], dynamic_shared: 0 };
    case.clean();
    assert_eq!(case.result(0), (0..240).collect::<Vec<u32>>());
}

#[test]
fn refused_launches_say_why() {
    let message = |change: &dyn Fn(&mut Case)| {
        let mut case = Case::new(XY, PROLOG, 1, 32).words("x", Access::ReadOnly, &[0; 32]).output("y", 1);
        change(&mut case);
        case.try_run().expect_err("a refusal").to_string()
    };
    assert_eq!(message(&|case| case.launch.block = [0, 1, 1]), "block.x is 0, allowed: 1 to 1024");
    assert_eq!(
        message(&|case| case.launch.block = [64, 32, 1]),
        "threads of a block is 2048, allowed: 1 to 1024"
    );
    assert_eq!(message(&|case| case.launch.grid[1] = 65_536), "grid.y is 65536, allowed: 0 to 65535");
    assert_eq!(
        message(&|case| case.launch.dynamic_shared = 300_000),
        "shared memory is 300000, allowed: 0 to 232448"
    );
    assert_eq!(message(&|case| case.args.truncate(1)), "1 arguments for 2 parameters");
    assert_eq!(
        message(&|case| case.args[0] = ArgValue::Buffer(BufferId(9), 0)),
        "the buffer for parameter `x` does not belong to this memory"
    );
    let mut case = Case::new(XY, PROLOG, 1, 32);
    let error = run(&case.module, "other", &case.launch, &[], &mut case.memory, &case.options);
    assert_eq!(error.expect_err("a refusal").to_string(), "no kernel `other` in the module; it has: k");
}
