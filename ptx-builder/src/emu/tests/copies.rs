//! Asynchronous copies and waits for their groups.

use super::*;

/// Each thread copies its word of `x` to shared memory; behind `wait` it stores what it finds there.
fn kernel(copy: &str, wait: &str) -> Case {
    let body = format!(
        "{PROLOG} .shared .align 16 .u32 a[64]; ld.param.u64 %d5, [y]; mad.wide.u32 %d6, %r0, 4, %d5;
        mov.u32 %r10, a; mad.lo.u32 %r11, %r0, 4, %r10; {copy} {wait}
        ld.shared.u32 %r4, [%r11]; st.global.u32 [%d6], %r4;"
    );
    let words: Vec<u32> = (100..132).collect();
    Case::new(XY, &body, 1, 32).words("x", Access::ReadOnly, &words).output("y", 32)
}

const COPY: &str = "cp.async.ca.shared.global [%r11], [%d1], 4; cp.async.commit_group;";

#[test]
fn data_arrives_at_the_wait() {
    for wait in ["cp.async.wait_group 0;", "cp.async.wait_all;"] {
        let mut case = kernel(COPY, wait);
        case.clean();
        assert_eq!(case.result(1), (100..132).collect::<Vec<u32>>());
    }
    // Too early, or with its group still pending, or of a group that was never closed.
    kernel(COPY, "").only(Kind::UnfinishedCopy);
    kernel(COPY, "cp.async.wait_group 1;").only(Kind::UnfinishedCopy);
    kernel("cp.async.ca.shared.global [%r11], [%d1], 4;", "cp.async.wait_group 0;")
        .only(Kind::UnfinishedCopy);
    // An empty group behind it counts.
    kernel(&format!("{COPY} cp.async.commit_group;"), "cp.async.wait_group 1;").clean();
}

#[test]
fn other_threads_need_a_barrier_too() {
    let neighbor = "xor.b32 %r12, %r0, 1; mad.lo.u32 %r11, %r12, 4, %r10;";
    kernel(COPY, &format!("cp.async.wait_all; bar.sync 0; {neighbor}")).clean();
    kernel(COPY, &format!("cp.async.wait_all; {neighbor}")).only(Kind::SharedRace);
}

#[test]
fn the_rest_is_filled_with_zeros() {
    // The last threads copy nothing, from beyond the end.
    let copy = "setp.lt.u32 %p0, %r0, 30; selp.u32 %r4, 4, 0, %p0; add.u64 %d1, %d1, 8;
        cp.async.ca.shared.global [%r11], [%d1], 4, %r4; cp.async.commit_group;";
    let mut case = kernel(copy, "cp.async.wait_all;");
    case.clean();
    assert_eq!(case.result(1)[28..], [130, 131, 0, 0]);
    let outcome = kernel(&copy.replace("30", "31"), "cp.async.wait_all;").run();
    assert_eq!(outcome.findings[0].kind, Kind::OutOfBounds);
}

#[test]
fn bulk_stores() {
    let run = |wait: &str| {
        let body = format!(
            "{PROLOG} .shared .align 16 .u32 a[32]; mov.u32 %r10, a; mad.lo.u32 %r11, %r0, 4, %r10;
            st.shared.u32 [%r11], %r0; fence.proxy.async.shared::cta; bar.sync 0;
            setp.eq.u32 %p0, %r0, 0;
            @%p0 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r10], 128;
            @%p0 cp.async.bulk.commit_group; {wait} bar.sync 0; st.shared.u32 [%r11], %r1;"
        );
        Case::new(".param .u64 x", &body, 1, 32).output("x", 32)
    };
    let mut case = run("@%p0 cp.async.bulk.wait_group.read 0;");
    case.clean();
    assert_eq!(case.result(0), (0..32).collect::<Vec<u32>>());
    // The source changes while it is read.
    run("").only(Kind::UnfinishedCopy);
}
