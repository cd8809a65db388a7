//! Data races, within a warp, a block and a grid.

use super::*;

/// Every thread stores its index to shared memory and reads that of thread `63 - i`.
fn reverse(barrier: &str, threads: u32) -> Case {
    let last = threads - 1;
    let body = format!(
        "{PROLOG}
        .shared .align 16 .u32 a[64];
        mov.u32 %r10, a;
        mad.lo.u32 %r11, %r0, 4, %r10;
        st.shared.u32 [%r11], %r0;
        {barrier}
        sub.u32 %r12, {last}, %r0;
        mad.lo.u32 %r12, %r12, 4, %r10;
        ld.shared.u32 %r4, [%r12];
        st.global.u32 [%d1], %r4;"
    );
    Case::new(".param .u64 x", &body, 1, threads).output("x", u64::from(threads))
}

#[test]
fn a_barrier_orders_a_block() {
    let mut case = reverse("bar.sync 0;", 64);
    case.clean();
    assert_eq!(case.result(0), (0..64).rev().collect::<Vec<u32>>());

    let outcome = reverse("", 64).run();
    let finding = outcome.findings.iter().find(|finding| finding.kind == Kind::SharedRace).expect("a race");
    assert_eq!(finding.buffer.as_deref(), Some("a"));
    let related = finding.related.as_ref().expect("the other side");
    let sides = [finding.instruction.as_str(), related.instruction.as_str()];
    assert!(sides.iter().any(|text| text.starts_with("st.shared")), "{sides:?}");
    assert!(sides.iter().any(|text| text.starts_with("ld.shared")), "{sides:?}");
    assert_ne!(finding.at.thread[0] / 32, related.at.thread[0] / 32);
}

#[test]
fn lock_step_orders_nothing() {
    let finding = reverse("", 32).only(Kind::SharedRace);
    assert_eq!(finding.message, "nothing orders two lanes of one warp");
    let related = finding.related.expect("the other side");
    assert_eq!(finding.at.thread[0], 31 - related.at.thread[0]);
    reverse("bar.sync 0;", 32).clean();
    // An exchange of all lanes keeps them together.
    reverse("shfl.sync.idx.b32 %b0, %r0, 0, 31, 0xffffffff;", 32).clean();
}

#[test]
fn the_second_round_needs_its_own_barrier() {
    // A shared array that is used twice: reads of the first round against stores of the second.
    let run = |barrier: &str| {
        let body = format!(
            "{PROLOG}
            .shared .align 16 .u32 a[64];
            mov.u32 %r10, a;
            mad.lo.u32 %r11, %r0, 4, %r10;
            sub.u32 %r12, 63, %r0;
            mad.lo.u32 %r12, %r12, 4, %r10;
            st.shared.u32 [%r11], %r0;
            bar.sync 0;
            ld.shared.u32 %r4, [%r12];
            {barrier}
            st.shared.u32 [%r11], %r4;
            bar.sync 0;
            ld.shared.u32 %r5, [%r12];
            st.global.u32 [%d1], %r5;"
        );
        Case::new(".param .u64 x", &body, 2, 64).output("x", 128)
    };
    run("bar.sync 0;").clean();
    let finding = run("").only(Kind::SharedRace);
    assert!(finding.instruction.starts_with("st.shared") || finding.instruction.starts_with("ld.shared"));
}

#[test]
fn lanes_that_write_one_address() {
    let run = |value: &str| {
        let body = format!("{PROLOG} st.global.u32 [%d0], {value};");
        Case::new(".param .u64 x", &body, 1, 32).output("x", 1)
    };
    run("%r1").clean();
    let finding = run("%r0").only(Kind::GlobalRace);
    assert_eq!(finding.message, "lanes of one store write different values to one address");
}

#[test]
fn warps_that_write_one_address() {
    let run = |guard: &str| {
        let body = format!("{PROLOG} setp.lt.u32 %p0, %r0, 32; {guard} st.global.u32 [%d0+4], %r1;");
        Case::new(".param .u64 x", &body, 1, 64).output("x", 2)
    };
    run("@%p0").clean();
    let finding = run("").only(Kind::GlobalRace);
    assert_eq!((finding.buffer.as_deref(), finding.offset), (Some("x"), Some(4)));
    assert_eq!(finding.message, "no barrier between two threads of one block");
}

#[test]
fn blocks_share_nothing() {
    // Each block writes its own element; with a factor of 0 they all write the first.
    let run = |factor: u32, offset: u32| {
        let body = format!(
            "{PROLOG} mul.lo.u32 %r4, %r1, {factor}; mad.wide.u32 %d2, %r4, 4, %d0;
            ld.global.u32 %r5, [%d2+{offset}];
            setp.eq.u32 %p0, %r0, 0; @%p0 st.global.u32 [%d2], %r1;"
        );
        Case::new(".param .u64 x", &body, 40, 1).words("x", Access::ReadWrite, &[0; 48])
    };
    let mut case = run(1, 0);
    case.clean();
    assert_eq!(case.result(0)[..40], (0..40).collect::<Vec<u32>>());

    let outcome = run(0, 0).run();
    assert!(outcome.completed && !outcome.findings.is_empty());
    assert!(outcome.findings.iter().all(|finding| finding.kind == Kind::GlobalRace));
    let finding =
        outcome.findings.iter().find(|finding| finding.instruction.contains("st.")).expect("a store");
    assert_eq!((finding.at.block, finding.offset), ([1, 0, 0], Some(0)));
    assert_eq!(finding.related.as_ref().map(|related| related.at.block), Some([0, 0, 0]));

    // A block reads what the next one writes.
    let outcome = run(1, 4).run();
    let kinds: Vec<Kind> = outcome.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::GlobalRace]);
    assert_eq!(outcome.findings[0].count, 39);
}

#[test]
fn bytes_beside_each_other_are_no_race() {
    // Blocks write neighboring halves of one word.
    let body =
        format!("{PROLOG} cvt.u16.u32 %h0, %r2; mad.wide.u32 %d2, %r2, 2, %d0; st.global.b16 [%d2], %h0;");
    let mut case = Case::new(".param .u64 x", &body, 64, 1).output("x", 32);
    case.clean();
    assert_eq!(case.result(0)[31], 63 << 16 | 62);
}

#[test]
fn the_read_only_path_and_stores_do_not_mix() {
    let run = |load: &str| {
        let body = format!("{PROLOG} {load} %r4, [%d1]; add.u32 %r4, %r4, 1; st.global.u32 [%d1], %r4;");
        Case::new(".param .u64 x", &body, 2, 32).words("x", Access::ReadWrite, &[0; 64])
    };
    run("ld.global.u32").clean();
    let finding = run("ld.global.nc.u32").only(Kind::NonCoherentRead);
    assert_eq!(finding.buffer.as_deref(), Some("x"));
}

#[test]
fn a_thread_may_come_back_to_its_place() {
    // Thousands of rounds on one word of shared memory per thread; the next round's neighbor is a race.
    let run = |neighbor: u32| {
        let body = format!(
            "{PROLOG}
            .shared .align 16 .u32 a[65];
            mov.u32 %r10, a;
            mad.lo.u32 %r11, %r0, 4, %r10;
            add.u32 %r12, %r11, {neighbor};
            mov.u32 %r4, 0;
            st.shared.u32 [%r11], %r4;
            bar.sync 0;
            loop:
            ld.shared.u32 %r5, [%r11];
            add.u32 %r5, %r5, 1;
            st.shared.u32 [%r12], %r5;
            add.u32 %r4, %r4, 1;
            setp.lt.u32 %p0, %r4, 3000;
            @%p0 bra loop;
            st.global.u32 [%d1], %r5;"
        );
        Case::new(".param .u64 x", &body, 1, 64).output("x", 64)
    };
    let mut case = run(0);
    case.clean();
    assert_eq!(case.result(0), [3000; 64]);
    let outcome = run(4).run();
    assert!(outcome.findings.iter().any(|finding| finding.kind == Kind::SharedRace));
}
