//! The gate passes what is right and names what is not, on the emulator.

use std::sync::Arc;

use ptxsmith_builder::kernel::{
    AnyKernel, Binding, FieldValue, KernelError, Operation, ParamSource, ReferenceInputs, TensorShape,
};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;
use ptxsmith_kernels::rms_norm::Layout;
use ptxsmith_kernels::{Align, Eps, RmsNorm, RmsNormSpec};

use super::*;
use crate::EmulatorOptions;
use crate::scale::Scale;

const HIDDEN: u32 = 40;

fn device() -> Device {
    Device::emulated(Target::sm(90).expect("a known target"), EmulatorOptions::default())
}

fn norm(eps: f32, dtype: Dtype) -> RmsNorm {
    let eps = Eps::new(eps).expect("a valid epsilon");
    RmsNorm { spec: RmsNormSpec::new(HIDDEN, eps, dtype, dtype, dtype), schedule: None }
}

/// A kernel that says it is one thing and does another.
#[derive(Debug, Clone)]
struct Broken {
    says: RmsNorm,
    does: RmsNorm,
    change: fn(&mut Operation),
}

impl AnyKernel for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn fields(&self, target: Target) -> Vec<FieldValue> {
        self.says.fields(target)
    }

    fn operation(&self, target: Target) -> Result<Operation, KernelError> {
        let mut operation = self.does.operation(target)?;
        (self.change)(&mut operation);
        Ok(operation)
    }

    fn bind(&self, tensors: &[TensorShape]) -> Result<Binding, KernelError> {
        self.says.bind(tensors)
    }

    fn reference(&self, inputs: &ReferenceInputs) -> Option<Vec<(&'static str, Vec<f64>)>> {
        self.says.reference(inputs)
    }
}

fn broken(dtype: Dtype, change: fn(&mut Operation)) -> Broken {
    let right = norm(1e-5, dtype);
    Broken { says: right.clone(), does: right, change }
}

fn failure(kernel: &dyn AnyKernel) -> Failure {
    let report = verify(&device(), [kernel], &ParityOptions::default().with_counts([1, 3, 9]));
    assert!(!report.passed(), "{report}");
    match report.kernels.into_iter().next().map(|kernel| kernel.verdict) {
        Some(Verdict::Failed { worst, .. }) => *worst,
        other => panic!("{other:?}"),
    }
}

#[test]
fn right_kernels_pass_in_every_dtype_and_layout() {
    let mut plan = LaunchPlan::new();
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
        plan.add(norm(1e-5, dtype));
    }
    let contiguous = norm(1e-6, Dtype::Bf16);
    plan.add(RmsNorm { spec: RmsNormSpec { layout: Layout::Strided, ..contiguous.spec }, schedule: None });
    let device = device();
    plan.prepare(&device, |_| {}).expect("valid kernels");
    device.seal();
    let report = plan.verify(&device, &ParityOptions::default().with_counts([1, 9]));
    assert!(report.passed(), "{report}");
    assert_eq!(report.kernels.iter().map(|kernel| kernel.checks).collect::<Vec<_>>(), [14; 4]);
    assert_eq!(report.to_string(), "4 of 4 kernels agree with their references on emulated sm_90");
}

#[test]
fn a_wrong_eps_is_caught_in_every_dtype() {
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
        let kernel = Broken { does: norm(1e-6, dtype), ..broken(dtype, |_| {}) };
        let failure = failure(&kernel);
        assert!(matches!(failure.pattern, Pattern::Small | Pattern::Tiny), "{failure}");
        assert!(matches!(failure.problem, Problem::Element { output: "y", .. }), "{failure}");
    }
}

#[test]
fn swapped_arguments_are_caught() {
    // One row, so that both buffers are equally long and nothing but the numbers tells.
    let kernel = broken(Dtype::F32, |operation| {
        for source in &mut operation.steps[0].params {
            match source {
                ParamSource::Arg(0) => *source = ParamSource::Arg(1),
                ParamSource::Arg(1) => *source = ParamSource::Arg(0),
                ParamSource::Arg(_) | ParamSource::Size(_) => {}
            }
        }
    });
    let report = verify(&device(), [&kernel as &dyn AnyKernel], &ParityOptions::default().with_counts([1]));
    let kernel = &report.kernels[0];
    let Verdict::Failed { failed, worst } = &kernel.verdict else { panic!("{report}") };
    assert!(*failed > 3 && matches!(worst.problem, Problem::Element { .. }), "{report}");
    assert!(report.to_string().contains("\nbroken{hidden=40, eps=1e-5"), "{report}");
}

#[test]
fn a_skipped_last_row_is_caught() {
    let kernel = broken(Dtype::Bf16, |operation| {
        let grid = &mut operation.steps[0].geometry.grid;
        *grid = grid.clone().saturating_sub(1u32);
    });
    let failure = failure(&kernel);
    let Problem::Element { row, got, .. } = failure.problem else { panic!("{failure}") };
    assert!(got.is_nan() && row as u64 <= failure.count, "nothing was written there");
}

#[test]
fn exchanged_strides_are_caught() {
    let (x, y) = (Dtype::F32, Dtype::Bf16);
    let base = norm(1e-5, x);
    // Rows of f32 and of bf16 keep their alignment at different strides.
    let spec = RmsNormSpec { y, layout: Layout::Strided, align: Align::Bytes(16), ..base.spec };
    let right = RmsNorm { spec, schedule: None };
    let change: fn(&mut Operation) = |operation| {
        let last = operation.steps[0].params.len();
        operation.steps[0].params.swap(last - 2, last - 1);
    };
    let kernel = Broken { says: right.clone(), does: right, change };
    let failure = failure(&kernel);
    assert!(failure.count > 1, "{failure}");
}

#[test]
fn what_cannot_be_judged_does_not_pass() {
    let kernel = Scale::new(HIDDEN, 2.0, Dtype::F32, Dtype::F32);
    let report = verify(&device(), [&kernel as &dyn AnyKernel], &ParityOptions::default());
    assert!(!report.passed());
    assert!(report.to_string().ends_with("y=f32}: not verified: it has no reference"), "{report}");
    let nothing = ParityOptions::default().with_counts([]);
    let right = norm(1e-5, Dtype::F32);
    assert!(!verify(&device(), [&right as &dyn AnyKernel], &nothing).passed());
    let large = Arc::new(Scale::new(2000, 2.0, Dtype::F32, Dtype::F32));
    let report = verify(&device(), [&*large as &dyn AnyKernel], &ParityOptions::default());
    assert!(
        matches!(&report.kernels[0].verdict, Verdict::Error(error) if matches!(**error, Error::Kernel(_)))
    );
}
