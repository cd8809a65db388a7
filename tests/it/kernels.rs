//! Every kernel of the registry: the text of every sample for five targets, assembled without spills, and run on the
//! emulator against its float64 reference.

use proptest::prelude::*;
use ptxsmith_builder::isa::Op;
use ptxsmith_builder::kernel::emit::emit;
use ptxsmith_builder::kernel::{AnyKernel, KernelError, ReferenceInputs};
use ptxsmith_builder::parse::parse;
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;
use ptxsmith_kernels::registry;
use ptxsmith_kernels::rms_norm::{Layout, RmsNorm, RmsNormSpec};
use ptxsmith_kernels::row::{Keep, RowSchedule};
use ptxsmith_kernels::{Align, Eps};
use ptxsmith_tests::assembler::{Role, assemble};
use ptxsmith_tests::numbers::{first_difference, rounded, tolerance, uniforms};
use ptxsmith_tests::run::{Inputs, POISON, Ran, run, run_module};

const TARGETS: &[u16] = &[75, 80, 90, 100, 120];

/// Calls `f` with every sample of every kernel for every target that can run it.
fn for_each_sample(mut f: impl FnMut(&str, &dyn AnyKernel, Target)) {
    let mut count = 0;
    for info in registry::all() {
        for sample in (info.samples)() {
            let kernel =
                info.sample(&sample).unwrap_or_else(|error| panic!("{} {}: {error}", info.name, sample.name));
            for number in TARGETS {
                let target = Target::sm(*number).expect("a row of the target table");
                f(&format!("{}.{}.{target}", info.name, sample.name), kernel.as_ref(), target);
                count += 1;
            }
        }
    }
    assert!(count >= 35, "the registry has samples");
}

#[test]
fn the_text_of_every_sample_is_as_reviewed() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots/kernels");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for_each_sample(|name, kernel, target| match emit(kernel, target) {
            Ok(emitted) => insta::assert_snapshot!(name.to_owned(), emitted.text),
            Err(KernelError::Target { .. }) => {}
            Err(error) => panic!("{name}: {error}"),
        });
    });
}

#[test]
fn both_assemblers_take_every_sample_without_spills() {
    for_each_sample(|name, kernel, target| {
        let Ok(emitted) = emit(kernel, target) else { return };
        for role in [Role::Newest, Role::Driver] {
            if let Err(said) = assemble(role, target, &emitted.text) {
                panic!("{name}: {role:?} refuses it: {said}");
            }
        }
    });
}

#[test]
fn the_text_reads_back_as_the_module_it_was_printed_from() {
    for_each_sample(|name, kernel, target| {
        let Ok(emitted) = emit(kernel, target) else { return };
        let parsed = parse(&emitted.text).unwrap_or_else(|errors| panic!("{name}: {errors}"));
        assert_eq!(&parsed.module, emitted.operation.module.module(), "{name}");
    });
}

#[test]
fn the_text_is_the_same_twice() {
    for_each_sample(|name, kernel, target| {
        let text = || emit(kernel, target).map(|emitted| emitted.text);
        assert_eq!(text(), text(), "{name}");
    });
}

fn eps() -> Eps {
    Eps::new(1e-6).expect("a valid epsilon")
}

fn sm_90() -> Target {
    Target::sm(90).expect("a row of the target table")
}

/// A case of RMSNorm: spec, schedule and what it is run on.
#[derive(Debug, Clone)]
struct Case {
    kernel: RmsNorm,
    rows: u64,
    strides: (u64, u64),
    byte_offset: u32,
    seed: u64,
    scale: f64,
}

impl Case {
    fn plain(hidden: u32, dtype: Dtype, rows: u64) -> Case {
        let spec = RmsNormSpec::new(hidden, eps(), dtype, dtype, dtype);
        let strides = (u64::from(hidden), u64::from(hidden));
        Case { kernel: RmsNorm { spec, schedule: None }, rows, strides, byte_offset: 0, seed: 1, scale: 1.0 }
    }

    /// x without gaps, and w, rounded to their dtypes.
    fn inputs(&self) -> (Vec<f64>, Vec<f64>) {
        let spec = &self.kernel.spec;
        let hidden = spec.hidden as usize;
        let x: Vec<f64> =
            uniforms(self.seed, hidden * self.rows as usize).iter().map(|v| v * self.scale).collect();
        (rounded(spec.x, &x), rounded(spec.w, &uniforms(self.seed + 1, hidden)))
    }

    fn run_on(&self, target: Target) -> (Ran, Vec<f64>) {
        let operation = self.kernel.operation(target).unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let ran = run(&operation, &self.run_inputs());
        let y = self.without_gaps(&ran.values("y"));
        (ran, y)
    }

    fn run_inputs(&self) -> Inputs {
        let spec = &self.kernel.spec;
        let (x, w) = self.inputs();
        let hidden = spec.hidden as usize;
        let stride = self.strides.0 as usize;
        let mut spaced = Vec::new();
        for row in x.chunks(hidden) {
            spaced.resize(spaced.len().div_ceil(stride.max(1)) * stride, 0.0);
            spaced.extend(row);
        }
        let scalars = match spec.layout {
            Layout::Contiguous => Vec::new(),
            Layout::Strided => vec![("x_stride", self.strides.0 as i64), ("y_stride", self.strides.1 as i64)],
        };
        let buffers = vec![("x", spaced), ("w", w)];
        Inputs { sizes: vec![("rows", self.rows)], buffers, scalars, byte_offset: self.byte_offset }
    }

    /// The rows of y; what lies between them must still be poison.
    fn without_gaps(&self, y: &[f64]) -> Vec<f64> {
        let (hidden, stride) = (self.kernel.spec.hidden as usize, self.strides.1 as usize);
        let mut rows = Vec::new();
        for row in y.chunks(stride) {
            rows.extend(&row[..hidden.min(row.len())]);
            assert!(
                row[hidden.min(row.len())..].iter().all(|gap| gap.is_nan()),
                "gaps between rows are not written"
            );
        }
        rows
    }

    fn expected(&self) -> Vec<f64> {
        let (x, w) = self.inputs();
        let inputs = ReferenceInputs {
            sizes: vec![("rows", self.rows)],
            buffers: vec![("x", x), ("w", w)],
            scalars: Vec::new(),
        };
        self.kernel.reference(&inputs).expect("a reference").remove(0).1
    }

    fn check(&self, target: Target) {
        let (ran, y) = self.run_on(target);
        assert!(ran.outcome.findings.is_empty(), "{self:?}: {}", ran.outcome.findings[0]);
        let (atol, rtol) = tolerance(self.kernel.spec.y);
        if let Some(difference) = first_difference(&y, &self.expected(), |e| atol + rtol * e.abs()) {
            panic!("{self:?} on {target}: {difference}");
        }
    }
}

fn dtypes() -> impl Strategy<Value = Dtype> {
    prop_oneof![Just(Dtype::F32), Just(Dtype::F16), Just(Dtype::Bf16)]
}

fn hiddens() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 1u32..600, 3 => (1u32..300).prop_map(|n| n * 8), 1 => 600u32..5200, 1 => Just(12_288), 1 => 20_000u32..21_000]
}

prop_compose! {
    fn cases()(
        hidden in hiddens(), x in dtypes(), w in dtypes(), y in dtypes(),
        rows in 0u64..6, strided: bool, gaps in (0u64..9, 0u64..9), log_align in 0u32..5,
        threads in 0u32..6, keep in 0u32..4, rows_per_block in 1u32..9, offset in 0u32..8, seed: u64,
        scale in prop_oneof![Just(1.0), Just(1e-3), Just(300.0)],
    ) -> Case {
        let mut spec = RmsNormSpec::new(hidden, eps(), x, w, y);
        let mut strides = (u64::from(hidden), u64::from(hidden));
        if strided {
            spec.layout = Layout::Strided;
            spec.align = Align::Bytes(1 << log_align);
            let up = |gap: u64, dtype: Dtype| (u64::from(hidden) + gap).next_multiple_of(u64::from(spec.alignment(dtype) / dtype.bytes()));
            strides = (up(gaps.0, x), up(gaps.1, y));
        }
        let schedule = RowSchedule {
            threads_per_row: 32 << threads,
            rows_per_block: rows_per_block.min(1024 / (32 << threads)),
            keep: [Keep::Registers, Keep::Shared, Keep::Reload, Keep::Reload][keep as usize],
            group: 1 + (seed % 16) as u32,
            min_blocks: 1,
        };
        let mut kernel = RmsNorm { spec, schedule: Some(schedule) };
        // A schedule that the row does not fit is refused; the heuristic's own is tried in its place.
        if kernel.operation(sm_90()).is_err() {
            kernel.schedule = None;
        }
        Case { kernel, rows, strides, byte_offset: offset * [x, w, y].map(|dtype| spec.alignment(dtype)).into_iter().max().unwrap_or(16), seed, scale }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rms_norm_agrees_with_its_reference(case in cases(), target in prop_oneof![Just(75), Just(80), Just(90)]) {
        case.check(Target::sm(target).expect("a row of the target table"));
    }
}

#[test]
fn row_lengths_around_every_boundary_are_right() {
    for hidden in
        [1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 63, 65, 127, 129, 255, 257, 511, 513, 769, 1023, 1025, 3584]
    {
        for dtype in [Dtype::F32, Dtype::Bf16] {
            Case::plain(hidden, dtype, 3).check(sm_90());
        }
    }
    for hidden in [49_152, 131_072, 262_144, 262_143] {
        Case::plain(hidden, Dtype::Bf16, 1).check(sm_90());
    }
}

#[test]
fn a_row_has_the_same_bits_whatever_the_schedule_the_alignment_and_the_batch() {
    for (hidden, dtype) in [(576, Dtype::F32), (4096, Dtype::Bf16), (1001, Dtype::F16), (12_288, Dtype::Bf16)]
    {
        let alone = Case::plain(hidden, dtype, 1).run_on(sm_90()).1;
        let batch = Case::plain(hidden, dtype, 5).run_on(sm_90()).1;
        assert_eq!(alone, batch[..hidden as usize], "{hidden} {dtype}: one row and five");
        let mut schedules = 0;
        for threads_per_row in [32, 64, 128, 256, 512, 1024] {
            for rows_per_block in [1, 3, 4] {
                for keep in [Keep::Registers, Keep::Shared, Keep::Reload] {
                    let mut case = Case::plain(hidden, dtype, 5);
                    case.kernel.schedule =
                        Some(RowSchedule { threads_per_row, rows_per_block, keep, group: 4, min_blocks: 1 });
                    if case.kernel.operation(sm_90()).is_err() {
                        continue;
                    }
                    schedules += 1;
                    assert_eq!(case.run_on(sm_90()).1, batch, "{hidden} {dtype} {:?}", case.kernel.schedule);
                }
            }
        }
        assert!(schedules >= 10, "{hidden} {dtype}: {schedules} schedules");
        let mut narrow = Case::plain(hidden, dtype, 5);
        narrow.kernel.spec.align = Align::Bytes(dtype.bytes());
        narrow.byte_offset = dtype.bytes();
        assert_eq!(narrow.run_on(sm_90()).1, batch, "{hidden} {dtype}: element accesses");
        assert_eq!(
            Case::plain(hidden, dtype, 5).run_on(Target::sm(75).expect("sm_75")).1,
            batch,
            "{hidden} {dtype}: sm_75"
        );
    }
}

#[test]
fn no_rows_is_a_no_op() {
    let (ran, y) = Case::plain(4096, Dtype::Bf16, 0).run_on(sm_90());
    assert!(y.is_empty() && ran.outcome.findings.is_empty());
}

#[test]
fn every_baked_constant_changes_the_text_and_the_result() {
    let plain = Case::plain(256, Dtype::F32, 2);
    let text = |case: &Case| case.kernel.operation(sm_90()).expect("it builds").text();
    let mut eps = plain.clone();
    eps.kernel.spec.eps = Eps::new(0.5).expect("a valid epsilon");
    assert_ne!(text(&plain), text(&eps));
    assert_ne!(plain.run_on(sm_90()).1, eps.run_on(sm_90()).1);
    assert_eq!(plain.run_on(sm_90()).1, plain.run_on(sm_90()).1, "the first kernel answers as before");
}

/// Removes every instruction of one form.
fn without(case: &Case, op: Op) -> Ran {
    let operation = case.kernel.operation(sm_90()).expect("it builds");
    let mut module = operation.module.module().clone();
    let mut removed = 0;
    for block in module.entries.iter_mut().flat_map(|entry| &mut entry.blocks) {
        let before = block.insts.len();
        block.insts.retain(|inst| inst.op != op);
        removed += before - block.insts.len();
    }
    assert!(removed > 0, "the kernel has a {op:?}");
    run_module(&operation, &module, &case.run_inputs())
}

#[test]
fn a_missing_barrier_is_a_race() {
    let case = Case::plain(4096, Dtype::Bf16, 2);
    assert!(case.run_on(sm_90()).0.outcome.findings.is_empty());
    assert!(!without(&case, Op::BarSync).outcome.findings.is_empty());
}

#[test]
fn a_missing_store_leaves_the_poison() {
    let case = Case::plain(64, Dtype::F32, 2);
    let operation = case.kernel.operation(sm_90()).expect("it builds");
    let mut module = operation.module.module().clone();
    for block in module.entries.iter_mut().flat_map(|entry| &mut entry.blocks) {
        block.insts.retain(|inst| inst.op != Op::St || !format!("{:?}", inst.mods).contains(".global"));
    }
    let ran = run_module(&operation, &module, &case.run_inputs());
    assert!(ran.outputs[0].2.iter().all(|byte| *byte == POISON));
}

#[test]
fn a_missing_guard_is_out_of_bounds() {
    let mut case = Case::plain(256, Dtype::F32, 3);
    case.kernel.schedule = Some(RowSchedule {
        threads_per_row: 32,
        rows_per_block: 4,
        keep: Keep::Registers,
        group: 4,
        min_blocks: 1,
    });
    let operation = case.kernel.operation(sm_90()).expect("it builds");
    assert!(case.run_on(sm_90()).0.outcome.findings.is_empty());
    let mut module = operation.module.module().clone();
    for inst in
        module.entries.iter_mut().flat_map(|entry| &mut entry.blocks).flat_map(|block| &mut block.insts)
    {
        if inst.op == Op::St {
            inst.guard = None;
        }
        // Without the clamp the threads of the missing row address it.
        if inst.op == Op::Min {
            inst.op = Op::Max;
        }
    }
    assert!(!run_module(&operation, &module, &case.run_inputs()).outcome.findings.is_empty());
}

#[test]
fn impossible_specs_and_schedules_are_refused_with_the_limit() {
    let refused = |kernel: RmsNorm, part: &str| {
        let error = match kernel.operation(sm_90()) {
            Ok(_) => panic!("{kernel:?} is not refused"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(part), "{error}");
    };
    let spec = |hidden| RmsNormSpec::new(hidden, eps(), Dtype::F32, Dtype::F32, Dtype::F32);
    refused(RmsNorm { spec: spec(0), schedule: None }, "1 to 262144");
    refused(RmsNorm { spec: spec(262_145), schedule: None }, "1 to 262144");
    refused(RmsNorm { spec: RmsNormSpec { x: Dtype::E4m3, ..spec(8) }, schedule: None }, "f32, f16, bf16");
    refused(
        RmsNorm { spec: RmsNormSpec { align: Align::Bytes(16), ..spec(3) }, schedule: None },
        "divisor of the 12 bytes",
    );
    refused(
        RmsNorm { spec: RmsNormSpec { align: Align::Bytes(32), ..spec(8) }, schedule: None },
        "auto, 1, 2, 4, 8 or 16",
    );
    let schedule = |threads_per_row, rows_per_block, keep| {
        Some(RowSchedule { threads_per_row, rows_per_block, keep, group: 4, min_blocks: 1 })
    };
    refused(
        RmsNorm { spec: spec(64), schedule: schedule(48, 1, Keep::Registers) },
        "power of two from 32 to 1024",
    );
    refused(RmsNorm { spec: spec(64), schedule: schedule(512, 3, Keep::Registers) }, "1 to 2");
    refused(
        RmsNorm { spec: spec(65_536), schedule: schedule(32, 1, Keep::Registers) },
        "registers of a thread",
    );
    refused(RmsNorm { spec: spec(262_144), schedule: schedule(1024, 1, Keep::Shared) }, "of shared memory");
}
