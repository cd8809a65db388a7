//! Addresses, initialization and access rights.

use super::*;

/// `y[i] = x[i]` for `n` threads, the guard being `%p0`.
fn copy(guard: &str, threads: u32) -> Case {
    let body = format!(
        "{PROLOG}
        setp.lt.u32 %p0, %r2, 40;
        ld.param.u64 %d2, [y];
        mad.wide.u32 %d3, %r2, 4, %d2;
        {guard} ld.global.u32 %r4, [%d1];
        {guard} st.global.u32 [%d3], %r4;"
    );
    Case::new(XY, &body, 1, threads)
}

#[test]
fn a_guard_keeps_threads_inside() {
    let input: Vec<u32> = (0..40).collect();
    let mut case = copy("@%p0", 64).words("x", Access::ReadOnly, &input).output("y", 40);
    case.clean();
    assert_eq!(case.result(1), input);

    let mut case = copy("", 64).words("x", Access::ReadOnly, &input).output("y", 40);
    let outcome = case.run();
    assert!(outcome.completed);
    let [load, store] = outcome.findings.as_slice() else { panic!("{:?}", outcome.findings) };
    assert_eq!((load.kind, load.count, load.buffer.as_deref()), (Kind::OutOfBounds, 24, Some("x")));
    assert_eq!((load.offset, load.at.thread, load.place.line), (Some(160), [40, 0, 0], 17));
    assert!(load.instruction.starts_with("ld.global.u32"));
    assert_eq!((store.kind, store.count, store.buffer.as_deref()), (Kind::OutOfBounds, 24, Some("y")));
    assert_eq!(
        load.to_string(),
        "17:10: out-of-bounds: k, block (0,0,0) thread (40,0,0): load of 4 bytes outside of a buffer of 160 bytes, \
         `x` at byte 160 (24 times)\n    ld.global.u32 %r4, [%d1];"
    );
    // What is inside was copied; nothing else was touched.
    assert_eq!(case.result(1), input);
}

#[test]
fn before_the_beginning_and_straddling_the_end() {
    let run = |offset: &str| {
        let body = format!(
            "{PROLOG} ld.global.v2.u32 {{%r4, %r5}}, [%d0{offset}]; st.global.v2.u32 [%d0], {{%r4, %r5}};"
        );
        Case::new(".param .u64 x", &body, 1, 1).words("x", Access::ReadWrite, &[0; 3]).only(Kind::OutOfBounds)
    };
    assert_eq!(run("+-8").offset, Some(-8));
    assert_eq!(run("+8").offset, Some(8));
}

#[test]
fn vectors_need_the_alignment_of_the_whole() {
    let run = |shift: u32| {
        let body = format!(
            "{PROLOG}
            mad.wide.u32 %d1, %r2, 16, %d0;
            ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d1];
            st.global.v4.u32 [%d1], {{%r4, %r5, %r6, %r7}};"
        );
        let mut case = Case::new(".param .u64 x", &body, 1, 32);
        let id = case.memory.add_at("x", Access::ReadWrite, Contents::Bytes(vec![7; 512]), shift);
        case.args.push(ArgValue::Buffer(id, 0));
        case
    };
    run(0).clean();
    run(48).clean();
    let outcome = run(4).run();
    let kinds: Vec<_> = outcome.findings.iter().map(|finding| (finding.kind, finding.count)).collect();
    assert_eq!(kinds, [(Kind::Misaligned, 32), (Kind::Misaligned, 32)]);
    assert_eq!(outcome.findings[0].place.line, 15);
    assert!(outcome.findings[0].message.contains("not a multiple of 16"));
}

#[test]
fn null_and_wild_addresses() {
    let run = |address: u64| {
        let mut case = Case::new(".param .u64 x", &format!("{PROLOG} st.global.u32 [%d0+4], %r0;"), 1, 1)
            .scalar(address);
        case.only(Kind::InvalidAddress)
    };
    assert_eq!(run(0).message, "store of 4 bytes at address 0x4, a null pointer with an offset");
    assert_eq!(
        run(0x1234_5678_9abc).message,
        "store of 4 bytes at address 0x123456789ac0, where no buffer is"
    );
}

#[test]
fn a_pointer_leads_to_its_own_buffer() {
    let run = |gap: u64| {
        let body = format!(
            "{PROLOG} ld.param.u64 %d2, [gap]; add.u64 %d1, %d1, %d2; ld.global.u32 %r4, [%d1];
            st.global.u32 [%d0], %r4;"
        );
        Case::new(".param .u64 x, .param .u64 gap", &body, 1, 1)
            .words("x", Access::ReadWrite, &[0; 8])
            .scalar(gap)
            .words_unbound("z", &[0; 8])
    };
    run(4).clean();
    // The distance between two buffers.
    let finding = run(1 << 40).only(Kind::CrossBuffer);
    assert_eq!((finding.buffer.as_deref(), finding.offset), (Some("z"), Some(0)));
}

#[test]
fn read_only_buffers_stay_as_they_are() {
    let run = |access: Access| {
        Case::new(".param .u64 x", &format!("{PROLOG} st.global.u32 [%d1], %r0;"), 1, 32)
            .words("x", access, &[9; 32])
    };
    run(Access::ReadWrite).clean();
    let mut case = run(Access::ReadOnly);
    let finding = case.only(Kind::ReadOnlyWrite);
    assert_eq!((finding.count, finding.buffer.as_deref()), (32, Some("x")));
    assert_eq!(case.result(0), [9; 32]);
}

#[test]
fn bytes_that_nobody_wrote() {
    let run = |written: usize| {
        let mut case = Case::new(
            XY,
            &format!(
                "{PROLOG} ld.global.u32 %r4, [%d1]; ld.param.u64 %d2, [y]; mad.wide.u32 %d3, %r2, 4, %d2;
                st.global.u32 [%d3], %r4;"
            ),
            1,
            32,
        )
        .buffer("x", Access::ReadOnly, Contents::Uninit(128))
        .output("y", 32);
        case.memory.write(BufferId(0), 0, &vec![1; written]);
        case
    };
    run(128).clean();
    let finding = run(126).only(Kind::UninitGlobal);
    assert_eq!((finding.offset, finding.at.thread, finding.count), (Some(126), [31, 0, 0], 1));
    assert_eq!(run(0).only(Kind::UninitGlobal).count, 32);
}

#[test]
fn an_output_counts_as_unwritten_until_the_kernel_writes_it() {
    let run = |first: &str| {
        let body = format!(
            "{PROLOG} {first} ld.global.u32 %r4, [%d1]; add.u32 %r4, %r4, 1; st.global.u32 [%d1], %r4;"
        );
        let mut case = Case::new(".param .u64 x", &body, 2, 32).output("x", 64);
        case.memory.write(BufferId(0), 0, &[1; 256]);
        case
    };
    let mut case = run("st.global.u32 [%d1], %r0;");
    case.clean();
    assert_eq!(case.result(0)[33], 2);
    assert_eq!(run("").only(Kind::UninitGlobal).count, 64);
}

const SHARED: &str = ".shared .align 16 .u32 a[32]; .shared .align 16 .u32 b[32];
    mov.u32 %r10, a; mad.lo.u32 %r11, %r0, 4, %r10;";

fn shared(body: &str) -> Case {
    Case::new(".param .u64 x", &format!("{PROLOG} {SHARED} {body}"), 1, 32).output("x", 32)
}

#[test]
fn shared_memory_has_bounds_and_begins_unwritten() {
    shared("st.shared.u32 [%r11], %r0; ld.shared.u32 %r4, [%r11]; st.global.u32 [%d1], %r4;").clean();

    let finding = shared("ld.shared.u32 %r4, [%r11]; st.global.u32 [%d1], %r4;").only(Kind::UninitShared);
    assert_eq!((finding.buffer.as_deref(), finding.offset, finding.count), (Some("a"), Some(0), 32));

    // One element too far lies in the next array.
    let finding = shared("st.shared.u32 [%r11+4], %r0; st.global.u32 [%d1], %r0;").only(Kind::OutOfBounds);
    assert_eq!((finding.at.thread, finding.count), ([31, 0, 0], 1));
    assert_eq!((finding.buffer.as_deref(), finding.offset), (Some("b"), Some(0)));

    let finding = shared("st.shared.u32 [a+256], %r0; st.global.u32 [%d1], %r0;").only(Kind::OutOfBounds);
    assert_eq!(finding.count, 32);

    let finding = shared("st.shared.v2.u32 [%r11+4], {%r0, %r0}; st.global.u32 [%d1], %r0;").run();
    assert!(finding.findings.iter().any(|finding| finding.kind == Kind::Misaligned));
}

#[test]
fn dynamic_shared_memory_has_the_size_of_the_launch() {
    let run = |bytes: u32| {
        let body = format!(
            "{PROLOG} mov.u32 %r10, all; mad.lo.u32 %r11, %r0, 4, %r10;
            st.shared.u32 [%r11], %r0; ld.shared.u32 %r4, [%r11]; st.global.u32 [%d1], %r4;"
        );
        let mut case = Case::new(".param .u64 x", &body, 1, 32).output("x", 32);
        case.launch.dynamic_shared = bytes;
        case
    };
    run(128).clean();
    let outcome = run(124).run();
    assert!(outcome.findings.iter().all(|finding| finding.kind == Kind::OutOfBounds && finding.count == 1));
    assert_eq!(outcome.findings.len(), 2);
}

#[test]
fn registers_need_a_value_in_the_lanes_that_read_them() {
    let run = |first: &str| {
        let body = format!(
            "{PROLOG} setp.lt.u32 %p0, %r0, 10; {first} @%p0 mov.u32 %r4, 5;
            st.global.u32 [%d1], %r4;"
        );
        Case::new(".param .u64 x", &body, 1, 32).output("x", 32)
    };
    let mut case = run("mov.u32 %r4, 0;");
    case.clean();
    assert_eq!(case.result(0)[9..11], [5, 0]);
    let finding = run("").only(Kind::UninitRegister);
    assert_eq!((finding.count, finding.at.thread, finding.place.line), (22, [10, 0, 0], 14));
    assert_eq!(finding.buffer.as_deref(), Some("%r4"));
}

#[test]
fn a_predicate_without_a_value() {
    let body = format!("{PROLOG} @%p3 st.global.u32 [%d1], %r0;");
    let finding = Case::new(".param .u64 x", &body, 1, 32).output("x", 32).only(Kind::UninitRegister);
    assert_eq!((finding.buffer.as_deref(), finding.count), (Some("%p3"), 32));
}

#[test]
fn detectors_can_be_left_out_and_findings_are_limited() {
    let mut case = copy("", 64).words("x", Access::ReadOnly, &[0; 40]).output("y", 40);
    case.options.detectors = Detectors::ALL.without(Kind::OutOfBounds);
    case.clean();
    case.options = Options { findings_per_kind: 1, ..Options::default() };
    let outcome = case.run();
    assert_eq!((outcome.findings.len(), outcome.omitted.as_slice()), (1, &[(Kind::OutOfBounds, 1)][..]));
}
