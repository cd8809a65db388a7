//! Votes, matches, reductions and elections over the lanes of a warp.

use super::*;

/// Runs a body that leaves a word in `%r4` in each of 32 threads.
fn words(body: &str) -> Vec<u32> {
    let mut case = kernel(body);
    case.clean();
    case.result(0)
}

fn kernel(body: &str) -> Case {
    let body = format!("{PROLOG} {body} st.global.u32 [%d1], %r4;");
    Case::new(".param .u64 x", &body, 1, 32).output("x", 32)
}

#[test]
fn votes() {
    let run = |limit: u32, vote: &str| {
        words(&format!(
            "setp.lt.u32 %p0, %r0, {limit}; vote.sync.{vote}.pred %p1, %p0, 0xffffffff; selp.u32 %r4, 1, 0, %p1;"
        ))[7]
    };
    let table = [("all", [0, 0, 1]), ("any", [0, 1, 1]), ("uni", [1, 0, 1])];
    for (vote, expected) in table {
        assert_eq!([0, 5, 32].map(|limit| run(limit, vote)), expected, "{vote}");
    }
    let ballot = "setp.lt.u32 %p0, %r0, 5; vote.sync.ballot.b32 %r4, %p0, 0xffffffff;";
    assert_eq!(words(ballot), [0b11111; 32]);
}

#[test]
fn divided_lanes_vote_among_themselves() {
    let body = "mov.u32 %r4, 0; setp.lt.u32 %p0, %r0, 8; @%p0 activemask.b32 %r4;";
    assert_eq!(words(body)[7..9], [0xff, 0]);
    let half = |mask: &str| {
        kernel(&format!(
            "mov.u32 %r4, 0; setp.lt.u32 %p0, %r0, 8; setp.eq.u32 %p1, %r0, 3;
            @%p0 vote.sync.ballot.b32 %r4, %p1, {mask};"
        ))
    };
    half("0xff").clean();
    half("0xffffffff").only(Kind::AbsentLane);
}

#[test]
fn matches() {
    let any = words("and.b32 %r5, %r0, 3; match.any.sync.b32 %r4, %r5, 0xffffffff;");
    assert_eq!(any[6], 0x4444_4444);
    let all = |mask: u32| {
        words(&format!(
            "and.b32 %r5, %r0, {mask}; match.all.sync.b32 %r4|%p0, %r5, 0xffffffff; @!%p0 add.u32 %r4, %r4, 9;"
        ))[4]
    };
    assert_eq!((all(0), all(1)), (u32::MAX, 9));
    let wide = words("cvt.u64.u32 %d2, %r0; shl.b64 %d2, %d2, 33; match.any.sync.b64 %r4, %d2, 0xffffffff;");
    assert_eq!(wide[5], 1 << 5);
}

#[test]
fn reductions() {
    let run = |op: &str| words(&format!("sub.u32 %r5, %r0, 5; redux.sync.{op} %r4, %r5, 0xffffffff;"))[31];
    assert_eq!(run("add.u32"), (496 - 160));
    assert_eq!((run("min.s32"), run("max.s32")), (-5i32 as u32, 26));
    assert_eq!((run("min.u32"), run("max.u32")), (0, u32::MAX));
    let bits = |op: &str| words(&format!("or.b32 %r5, %r0, 64; redux.sync.{op} %r4, %r5, 0xffffffff;"))[31];
    assert_eq!((bits("and.b32"), bits("or.b32"), bits("xor.b32")), (64, 95, 0));
}

#[test]
fn one_lane_is_elected() {
    let elected = words("elect.sync %r4|%p0, 0xffffffff; @%p0 add.u32 %r4, %r4, 100;");
    assert_eq!((elected[0], elected[1..].iter().all(|lane| *lane == 0)), (100, true));
}

#[test]
fn a_warp_barrier_orders_lanes() {
    let run = |barrier: &str| {
        let body = format!(
            ".shared .align 16 .u32 a[32]; mov.u32 %r10, a; mad.lo.u32 %r11, %r0, 4, %r10;
            st.shared.u32 [%r11], %r0; {barrier}
            xor.b32 %r12, %r0, 1; mad.lo.u32 %r12, %r12, 4, %r10; ld.shared.u32 %r4, [%r12];"
        );
        kernel(&body)
    };
    let mut case = run("bar.warp.sync 0xffffffff;");
    case.clean();
    assert_eq!(case.result(0)[..4], [1, 0, 3, 2]);
    run("").only(Kind::SharedRace);
    // A vote of all lanes keeps them together, a look at who is there does not.
    run("setp.eq.u32 %p0, %r0, 0; vote.sync.ballot.b32 %r5, %p0, 0xffffffff;").clean();
    run("activemask.b32 %r5;").only(Kind::SharedRace);
    let half = "setp.lt.u32 %p0, %r0, 16; @%p0 bar.warp.sync 0xffffffff; mov.u32 %r4, 0;";
    kernel(half).only(Kind::AbsentLane);
}
