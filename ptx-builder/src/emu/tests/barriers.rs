//! Barriers, exchanges, and threads that never end.

use super::*;

fn kernel(body: &str, threads: u32) -> Case {
    let body = format!("{PROLOG} {body} st.global.u32 [%d1], %r0;");
    Case::new(".param .u64 x", &body, 1, threads).output("x", u64::from(threads))
}

#[test]
fn a_barrier_needs_whole_warps() {
    kernel("setp.lt.u32 %p0, %r1, 16; @%p0 bra on; bar.sync 0; on: bar.sync 0;", 64).clean();
    let finding =
        kernel("setp.lt.u32 %p0, %r0, 16; @%p0 bra on; bar.sync 0; on:", 32).only(Kind::DivergentBarrier);
    assert_eq!((finding.at.thread, finding.count), ([16, 0, 0], 1));
    assert_eq!(finding.message, "16 of 32 lanes of the warp execute it together");
    kernel("setp.lt.u32 %p0, %r0, 16; @%p0 bar.sync 0;", 32).only(Kind::DivergentBarrier);
}

#[test]
fn threads_that_have_ended_reach_no_barrier() {
    // A warp ends before the barrier, or only some of its lanes do.
    kernel("setp.ge.u32 %p0, %r0, 64; @%p0 exit; bar.sync 0;", 64).clean();
    let finding = kernel("setp.ge.u32 %p0, %r0, 32; @%p0 exit; bar.sync 0;", 64).only(Kind::PartialBarrier);
    assert_eq!(finding.message, "it waits for all 64 threads of the block, 32 have ended in other warps");
    let finding = kernel("setp.ge.u32 %p0, %r0, 20; @%p0 exit; bar.sync 0;", 32).only(Kind::PartialBarrier);
    assert_eq!(finding.message, "it waits for all 32 threads of the block, 12 of this warp have ended");
}

#[test]
fn warps_at_different_barriers_wait_for_ever() {
    kernel("bar.sync 1; bar.sync 2;", 64).clean();
    let outcome =
        kernel("setp.lt.u32 %p0, %r0, 32; @%p0 bra one; bar.sync 2; bra on; one: bar.sync 1; on:", 64).run();
    assert!(!outcome.completed);
    let found: Vec<_> = outcome.findings.iter().map(|finding| (finding.kind, finding.at.thread[0])).collect();
    assert_eq!(found, [(Kind::Deadlock, 32), (Kind::Deadlock, 0)]);
    assert_eq!(
        outcome.findings[1].message,
        "1 of 2 warps wait at barrier 1 for ever, 0 have ended, 1 wait at barrier 2"
    );
    let finding = kernel("bar.sync 16;", 32).only(Kind::Deadlock);
    assert_eq!(finding.message, "barrier 16 does not exist, a block has 16");
}

#[test]
fn exchanges_need_the_lanes_they_name() {
    let shuffle = |mask: &str| format!("shfl.sync.bfly.b32 %b0, %r0, 1, 31, {mask};");
    kernel(&shuffle("0xffffffff"), 32).clean();
    // Half of the lanes exchange among themselves: fine with their own mask.
    let half = |mask: &str| format!("setp.lt.u32 %p0, %r0, 16; @%p0 {}", shuffle(mask));
    kernel(&half("0xffff"), 32).clean();
    let finding = kernel(&half("0xffffffff"), 32).only(Kind::AbsentLane);
    assert_eq!(
        finding.message,
        "member mask 0xffffffff names lane 16, which does not execute this with the others"
    );
    // A mask without the executing lane.
    let outcome = kernel(&shuffle("0x0000ffff"), 32).run();
    let found: Vec<_> = outcome.findings.iter().map(|finding| (finding.kind, finding.count)).collect();
    assert_eq!(found, [(Kind::MemberMask, 1)]);
    assert_eq!(outcome.findings[0].message, "member mask 0x0000ffff does not name lane 16");
}

#[test]
fn reading_from_a_lane_that_is_not_there() {
    // A block of 24 threads has no lanes 24 to 31, and nobody waits for them.
    let run = |amount: u32, threads: u32| {
        kernel(
            &format!("shfl.sync.down.b32 %b0, %r0, {amount}, 31, 0xffffffff; add.u32 %r0, %r0, 0;"),
            threads,
        )
    };
    run(8, 32).clean();
    let finding = run(8, 24).only(Kind::AbsentLane);
    assert_eq!((finding.at.thread, finding.count), ([16, 0, 0], 8));
}

#[test]
fn a_uniform_branch_keeps_the_warp_together() {
    kernel("setp.lt.u32 %p0, %r1, 16; @%p0 bra.uni on; add.u32 %r5, %r0, 0; on:", 32).clean();
    let finding = kernel("setp.lt.u32 %p0, %r0, 16; @%p0 bra.uni on; add.u32 %r5, %r0, 0; on:", 32)
        .only(Kind::DivergentUniform);
    assert_eq!(finding.message, "16 of 32 lanes jump");
}

#[test]
fn an_endless_loop_ends_at_the_budget() {
    let run = |step: u32| {
        let mut case = kernel(
            &format!(
                "mov.u32 %r4, 0; loop: add.u32 %r4, %r4, {step}; setp.lt.u32 %p0, %r4, 100; @%p0 bra loop;"
            ),
            32,
        );
        case.options.budget = 10_000;
        case
    };
    run(1).clean();
    let outcome = run(0).run();
    assert!(!outcome.completed);
    let found: Vec<_> =
        outcome.findings.iter().map(|finding| (finding.kind, finding.message.as_str())).collect();
    assert_eq!(found, [(Kind::Budget, "a warp has executed more than 10000 instructions")]);
}

#[test]
fn a_trap_ends_the_launch() {
    let body = format!("{PROLOG} setp.eq.u32 %p0, %r1, 5; @%p0 trap; st.global.u32 [%d1], %r1;");
    let mut case = Case::new(".param .u64 x", &body, 10, 1).output("x", 10);
    let finding = case.only(Kind::Trap);
    assert_eq!(finding.at.block, [5, 0, 0]);
    // Blocks before it have run, those behind it have not, on any number of host threads.
    assert_eq!(case.result(0), [0, 1, 2, 3, 4, 0, 0, 0, 0, 0]);
}

#[test]
fn a_barrier_counts_predicates() {
    let set = "setp.ne.u32 %p1, %r1, %r1; mov.u32 %r4, 0;";
    let bool_of = |limit: u32, how: &str| {
        let mut case = kernel(
            &format!(
                "{set} setp.lt.u32 %p0, %r0, {limit}; bar.red.{how}.pred %p1, 0, %p0; @%p1 mov.u32 %r4, 1; mov.u32 %r0, %r4;"
            ),
            64,
        );
        case.clean();
        case.result(0)
    };
    let mut case = kernel("setp.lt.u32 %p0, %r0, 40; bar.red.popc.u32 %r0, 0, %p0;", 64);
    case.clean();
    assert_eq!(case.result(0), [40; 64]);
    assert_eq!((bool_of(40, "and")[0], bool_of(64, "and")[63]), (0, 1));
    assert_eq!((bool_of(0, "or")[0], bool_of(1, "or")[63]), (0, 1));
}

/// The first warp stores, the second one loads; a named barrier of both may stand between, of a block of 128 threads.
fn hand_over(producer: &str, consumer: &str) -> Case {
    let body = format!(
        ".shared .align 16 .u32 a[32]; mov.u32 %r10, a; and.b32 %r11, %r0, 31; mad.lo.u32 %r11, %r11, 4, %r10;
        setp.ge.u32 %p0, %r0, 64; @%p0 bra done;
        setp.ge.u32 %p0, %r0, 32; @%p0 bra second;
        st.shared.u32 [%r11], %r0; {producer} bra done;
        second: {consumer} ld.shared.u32 %r0, [%r11];
        done:"
    );
    kernel(&body, 128)
}

#[test]
fn named_barriers_order_the_warps_that_take_part() {
    let mut case = hand_over("bar.sync 1, 64;", "bar.sync 1, 64;");
    case.clean();
    assert_eq!(case.result(0)[40], 8);
    // The producer need not wait.
    let mut case = hand_over("bar.arrive 1, 64;", "bar.sync 1, 64;");
    case.clean();
    assert_eq!(case.result(0)[40], 8);
    hand_over("", "").only(Kind::SharedRace);
    // Barriers of different numbers order nothing, and nobody else comes.
    let outcome = hand_over("bar.arrive 1, 64;", "bar.sync 2, 64;").run();
    assert!(!outcome.completed);
    assert_eq!(outcome.findings[0].kind, Kind::Deadlock);
    // Too few threads.
    let outcome = hand_over("bar.arrive 1, 96;", "bar.sync 1, 96;").run();
    assert_eq!(outcome.findings.iter().filter(|finding| finding.kind == Kind::Deadlock).count(), 1);
}
