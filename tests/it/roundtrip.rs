//! Modules of the builder come back from their printed text: `parse(print(m)) == m`.

use ptxsmith_builder::builder::build_entry;
use ptxsmith_builder::ir::{Entry, Module};
use ptxsmith_builder::lang::stage::CompareOrd;
use ptxsmith_builder::lang::{
    Global, GlobalMut, Shared, block_idx_x, lane_id, row_sum, scalar_param, sync_threads, thread_idx_x,
};
use ptxsmith_builder::ops;
use ptxsmith_builder::parse::parse;
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;
use ptxsmith_builder::value::Var;
use ptxsmith_builder::verify::verify;

fn target() -> Target {
    Target::sm(90).expect("a row of the target table")
}

fn build(name: &str, body: impl FnOnce()) -> Entry {
    build_entry(name, target(), body).unwrap_or_else(|errors| panic!("{errors}"))
}

fn round_trip(entries: Vec<Entry>) -> String {
    let verified =
        verify(Module { target: target(), entries }).unwrap_or_else(|findings| panic!("{findings}"));
    let text = verified.to_string();
    let parsed = parse(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(&parsed.module, verified.module(), "{text}");
    assert_eq!(parsed.version, verified.version(), "{text}");
    text
}

#[test]
fn arithmetic_of_every_width() {
    let text = round_trip(vec![build("arithmetic", || {
        let y = GlobalMut::param("y", Dtype::F32, 16);
        let n = scalar_param::<u32>("n");
        let wide = scalar_param::<i64>("wide");
        let i = thread_idx_x() + n * 3;
        let masked = (i & 0xff) + (n >> 4);
        let f = ops::fma_rn(scalar_param::<f32>("scale"), 1.5e-5, 2.0);
        let chosen = ops::select(CompareOrd::lt(&masked, &7), f, ops::sqrt_rn(f));
        y.row(block_idx_x(), 512).store(masked, ops::max(chosen, -0.0));
        let negative = wide - -5;
        y.store(ops::min(lane_id(), 3), ops::select(CompareOrd::lt(&negative, &0), f, 0.0));
    })]);
    assert!(
        text.contains("0f3727C5AC") || text.contains("0f377BA882"),
        "floats are printed as bits:\n{text}"
    );
}

#[test]
fn shared_arrays_static_and_dynamic() {
    let body = || {
        let x = Global::param("x", Dtype::Bf16, 16);
        let y = GlobalMut::param("y", Dtype::F32, 4);
        let sums = Shared::<f32>::new("sums", 32);
        let all = Shared::<f32>::dynamic("all");
        let words = Shared::<u32>::new("words", 4);
        let tid = thread_idx_x();
        all.at(tid).store(x.load(tid));
        sums.at(lane_id()).store(1.0);
        words.at(tid & 3).store(tid);
        sync_threads();
        y.store(tid, all.at(tid).load() + sums.at(0).load());
    };
    let text = round_trip(vec![build("first", body), build("second", body)]);
    let dynamic = text.find(".extern .shared").expect("a dynamic array");
    assert!(dynamic < text.find(".visible .entry first").expect("the entry"), "{text}");
}

#[test]
fn variables_and_a_block_reduction() {
    let mut entry = build("reduce", || {
        let x = Global::param("x", Dtype::F16, 16);
        let y = GlobalMut::param("y", Dtype::F32, 4);
        let sum = Var::new("sum", 0.0f32);
        for round in 0..4 {
            let v = x.load(thread_idx_x() + round * 128);
            sum.set(ops::fma_rn(v, v, sum.get()));
        }
        y.store(thread_idx_x(), row_sum(sum.get(), 128, 128));
    });
    entry.bounds.block = Some([128, 1, 1]);
    round_trip(vec![entry]);
}
