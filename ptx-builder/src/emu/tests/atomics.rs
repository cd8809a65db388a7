//! Atomic accesses, what they order, and races with ordinary ones.

use super::*;

/// Every thread of two blocks of 64 runs the body; `x` are the words.
fn kernel(body: &str, words: &[u32]) -> Case {
    Case::new(XY, &format!("{PROLOG} ld.param.u64 %d5, [y]; {body}"), 2, 64)
        .words("x", Access::ReadWrite, words)
        .words("y", Access::ReadWrite, &[0; 128])
}

/// The first words of `x` after the body.
fn words(body: &str, words: &[u32]) -> Vec<u32> {
    let mut case = kernel(body, words);
    case.clean();
    case.result(0)
}

#[test]
fn integers() {
    let run = |op: &str, start: u32| words(&format!("red.global.{op} [%d0], %r2;"), &[start; 128])[0];
    assert_eq!(run("add.u32", 1), 1 + 127 * 64);
    assert_eq!((run("min.s32", u32::MAX), run("max.u32", 5)), (u32::MAX, 127));
    assert_eq!((run("min.u32", u32::MAX), run("max.s32", u32::MAX)), (0, 127));
    assert_eq!((run("and.b32", u32::MAX), run("or.b32", 128), run("xor.b32", 7)), (0, 255, 7));
    let result = |body: &str, start: u32| words(body, &[start; 128])[0];
    assert_eq!(result("atom.global.inc.u32 %r4, [%d0], 99;", 0), 28);
    assert_eq!(result("atom.global.dec.u32 %r4, [%d0], 99;", 0), 72);
    assert_eq!(result("atom.global.exch.b32 %b0, [%d0], %r2;", 0), 127);
    assert_eq!(result("add.u32 %r5, %r2, 1; atom.global.cas.b32 %b0, [%d0], %r2, %r5;", 0), 128);
    let wide = words("cvt.u64.u32 %d2, %r2; shl.b64 %d2, %d2, 32; red.global.add.u64 [%d0], %d2;", &[0; 128]);
    assert_eq!(wide[..2], [0, 127 * 64]);
}

#[test]
fn results_come_in_the_order_of_blocks() {
    let mut case = kernel(
        "atom.global.add.u32 %r4, [%d0], 1; mad.wide.u32 %d6, %r2, 4, %d5; st.global.u32 [%d6], %r4;",
        &[0; 128],
    );
    case.clean();
    assert_eq!(case.result(1), (0..128).collect::<Vec<u32>>());
}

#[test]
fn floats() {
    let one = 1f32.to_bits();
    assert_eq!(
        words("mov.f32 %f0, 0f3f800000; red.global.add.f32 [%d0], %f0;", &[one; 128])[0],
        129f32.to_bits()
    );
    // Subnormal numbers vanish in global memory and stay in shared memory.
    let tiny = "setp.eq.u32 %p0, %r2, 0; mov.f32 %f0, 0f00000001; @%p0 red.global.add.f32 [%d0], %f0;";
    assert_eq!(words(tiny, &[3; 128])[0], 0);
    let shared = ".shared .align 16 .u32 a[4]; setp.eq.u32 %p0, %r2, 0; @!%p0 exit; mov.u32 %r4, 3;
        st.shared.u32 [a], %r4; mov.f32 %f0, 0f00000001; red.shared.add.f32 [a], %f0;
        ld.shared.u32 %r4, [a]; st.global.u32 [%d0], %r4;";
    assert_eq!(words(shared, &[0; 128])[0], 4);
    let vector = "mov.f32 %f0, 0f3f800000; mov.f32 %f1, 0f40000000; red.global.add.v2.f32 [%d0], {%f0, %f1};";
    assert_eq!(words(vector, &[0; 128])[..3], [128f32.to_bits(), 256f32.to_bits(), 0]);
    let pair = "mov.b32 %b0, 0x40003c00; red.global.add.noftz.f16x2 [%d0], %b0;";
    assert_eq!(words(pair, &[0; 128])[0], 0x5c00_5800);
    let bf16 = "mov.b32 %b0, 0x40003f80; red.global.add.noftz.bf16x2 [%d0], %b0;";
    assert_eq!(words(bf16, &[0; 128])[0], 0x4380_4300);
    let half = "mov.b16 %h0, 0x3c00; red.global.add.noftz.f16 [%d0+2], %h0;";
    assert_eq!(words(half, &[0; 128])[0], 0x5800_0000);
    let f64 = "cvt.rn.f64.u32 %g0, %r2; red.global.add.f64 [%d0], %g0;";
    let sum = words(&format!(".reg .f64 %g<2>; {f64}"), &[0; 128]);
    assert_eq!(f64::from_bits(u64::from(sum[1]) << 32 | u64::from(sum[0])), 8128.0);
}

#[test]
fn atomic_and_ordinary_accesses_race() {
    kernel("red.global.add.u32 [%d0], 1; red.global.max.u32 [%d0], 1;", &[0; 128]).clean();
    // Within a block.
    let one = |other: &str| {
        let body = format!(
            ".shared .align 16 .u32 a[4]; setp.eq.u32 %p0, %r0, 0; mov.u32 %r4, 0; @%p0 st.shared.u32 [a], %r4;
            {other} red.shared.add.u32 [a], 1;"
        );
        kernel(&body, &[0; 128])
    };
    one("bar.sync 0;").clean();
    let outcome = one("").run();
    assert!(
        outcome.findings.iter().any(|finding| finding.kind == Kind::SharedRace),
        "{:?}",
        outcome.findings
    );
    // Between blocks.
    let outcome = kernel(
        "red.global.add.u32 [%d0], 1; setp.eq.u32 %p0, %r2, 127; @%p0 ld.global.u32 %r4, [%d0];",
        &[0; 128],
    )
    .run();
    assert!(
        outcome.findings.iter().any(|finding| finding.kind == Kind::GlobalRace),
        "{:?}",
        outcome.findings
    );
}

/// The last block to arrive at a counter sums what all of them stored.
fn last_block(fence: &str, atom: &str) -> Case {
    let body = format!(
        ".shared .align 16 .u32 last[1];
        mul.lo.u32 %r10, %r1, 4; cvt.u64.u32 %d2, %r10; add.u64 %d2, %d5, %d2;
        setp.eq.u32 %p0, %r0, 0;
        add.u32 %r11, %r1, 5;
        @%p0 st.global.u32 [%d2], %r11;
        {fence}
        @%p0 {atom} %r4, [%d0], 1;
        @%p0 st.shared.u32 [last], %r4;
        bar.sync 0;
        ld.shared.u32 %r4, [last];
        {fence}
        setp.eq.u32 %p1, %r4, 1;
        and.pred %p1, %p1, %p0;
        @!%p1 bra done;
        ld.global.u32 %r5, [%d5]; ld.global.u32 %r6, [%d5+4]; add.u32 %r5, %r5, %r6;
        st.global.u32 [%d0+8], %r5;
        done:"
    );
    kernel(&body, &[0; 128])
}

#[test]
fn a_counter_orders_blocks() {
    let mut case = last_block("fence.acq_rel.gpu;", "atom.global.add.u32");
    case.clean();
    assert_eq!(case.result(0)[2], 11);
    last_block("membar.gl;", "atom.global.add.u32").clean();
    last_block("", "atom.acq_rel.gpu.global.add.u32").clean();
    // A relaxed counter orders nothing, nor does a fence for the block alone.
    for mut case in [
        last_block("", "atom.global.add.u32"),
        last_block("fence.acq_rel.cta;", "atom.global.add.u32"),
        last_block("", "atom.acq_rel.cta.global.add.u32"),
    ] {
        case.only(Kind::GlobalRace);
    }
}

#[test]
fn a_flag_orders_warps() {
    // The first warp waits for the second one.
    let run = |load: &str, store: &str| {
        let body = format!(
            ".shared .align 16 .u32 flag[1]; .shared .align 16 .u32 a[32];
            setp.ne.u32 %p1, %r1, 0; @%p1 exit;
            setp.eq.u32 %p0, %r0, 0; mov.u32 %r4, 0; @%p0 st.shared.u32 [flag], %r4; bar.sync 0;
            setp.ge.u32 %p0, %r0, 32; @%p0 bra second;
            setp.ne.u32 %p0, %r0, 0; @%p0 bra done;
            wait: {load} %r4, [flag]; setp.eq.u32 %p0, %r4, 0; @%p0 bra wait;
            ld.shared.u32 %r5, [a]; st.global.u32 [%d0], %r5; bra done;
            second: setp.ne.u32 %p0, %r0, 32; @%p0 bra done;
            mov.u32 %r4, 9; st.shared.u32 [a], %r4; {store} [flag], %r4;
            done:"
        );
        kernel(&body, &[0; 128])
    };
    let mut case = run("ld.acquire.cta.shared.u32", "st.release.cta.shared.u32");
    case.clean();
    assert_eq!(case.result(0)[0], 9);
    run("ld.relaxed.cta.shared.u32", "st.relaxed.cta.shared.u32").only(Kind::SharedRace);
    run("ld.volatile.shared.u32", "st.volatile.shared.u32").only(Kind::SharedRace);
}
