//! What `#[kernel]` yields besides the text: the spec type, its fields, arguments and sizes.

use std::collections::HashSet;

use ptxsmith_builder::kernel::{
    AnyKernel, ArgKind, ArgValue, Args, Direction, Expr, FieldError, Fields, Kernel, KernelError,
    ParamSource, Shape,
};
use ptxsmith_builder::lang::{Baked, Global, GlobalMut, Spec, block_idx_x, kernel, target, thread_idx_x};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::{Dtype, Ty};

use super::build;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Baked)]
enum Layout {
    Contiguous,
    RowStrided,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Spec)]
struct ScaleSpec {
    /// elements of a row
    #[spec(range = 1..=1024)]
    hidden: u32,
    /// dtype of x and y
    dtype: Dtype,
    /// how rows lie
    #[spec(default = Layout::Contiguous)]
    layout: Layout,
    /// promised alignment in bytes
    align: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Spec)]
struct Schedule {
    /// threads of a block
    threads: u32,
}

fn choose(spec: &ScaleSpec, _: Target) -> Schedule {
    Schedule { threads: spec.hidden.next_multiple_of(32).min(1024) }
}

/// Multiplies rows.
#[kernel(block = schedule.unwrap_or_else(|| choose(&spec, target)).threads, grid = rows, min_blocks = 2)]
pub(crate) fn scale_rows(
    #[baked] spec: ScaleSpec,
    /// The factor's offset.
    #[baked]
    offset: f32,
    #[baked(chosen = choose(&spec, target))] schedule: Option<Schedule>,
    #[size(max = 0x7fff_ffff)] rows: u32,
    #[buffer(dtype = spec.dtype, len = rows * spec.hidden, align = spec.align.unwrap_or(spec.dtype.bytes()))]
    x: Global,
    #[when(spec.layout == Layout::RowStrided)]
    #[buffer(dtype = Dtype::F32, len = spec.hidden)]
    bias: Option<Global>,
    #[buffer(dtype = spec.dtype, len = rows * spec.hidden)] y: GlobalMut,
    #[when(spec.layout == Layout::RowStrided)]
    #[stride(of = x)]
    x_stride: Option<i64>,
    /// What every element is multiplied with.
    factor: f32,
) {
    let threads = schedule.unwrap_or_else(|| choose(&spec, target())).threads;
    let row = block_idx_x();
    let x = match x_stride {
        Some(stride) => x.row_strided(row, stride),
        None => x.row(row, spec.hidden),
    };
    let y = y.row(row, spec.hidden);
    for i in (thread_idx_x()..spec.hidden).step_by(threads) {
        let added = if let Some(bias) = bias { bias[i] } else { 0.0 };
        y[i] = x[i] * (factor + offset) + added;
    }
}

fn spec(layout: Layout) -> ScaleSpec {
    ScaleSpec { hidden: 100, dtype: Dtype::Bf16, layout, align: None }
}

#[test]
fn yields_arguments_and_parameters() {
    let operation = build(&ScaleRows::new(spec(Layout::Contiguous), 0.5, None));
    assert_eq!(operation.kernel, "scale_rows");
    assert_eq!(operation.sizes, ["rows"]);
    assert_eq!(operation.size_limits, [0x7fff_ffff]);
    let names: Vec<&str> = operation.args.iter().map(|arg| arg.name).collect();
    assert_eq!(names, ["x", "y", "factor"]);
    assert_eq!(operation.args[2].kind, ArgKind::Scalar { ty: Ty::F32 });
    let ArgKind::Buffer { dtype, direction, len, align } = &operation.args[1].kind else {
        panic!("y is a buffer")
    };
    assert_eq!((*dtype, *direction, *align), (Dtype::Bf16, Direction::Out, 2));
    assert_eq!(len.eval(&[("rows", 7)]), Ok(700));
    let step = &operation.steps[0];
    assert_eq!(step.geometry.block, [128, 1, 1]);
    assert_eq!(step.geometry.grid, Expr::size("rows"));
    // Nothing reads the number of rows, so the entry has no parameter for it.
    assert_eq!(step.params, [ParamSource::Arg(0), ParamSource::Arg(1), ParamSource::Arg(2)]);

    let strided = build(&ScaleRows::new(spec(Layout::RowStrided), 0.5, Some(Schedule { threads: 32 })));
    let names: Vec<&str> = strided.args.iter().map(|arg| arg.name).collect();
    assert_eq!(names, ["x", "bias", "y", "x_stride", "factor"]);
    assert_eq!(strided.args[3].kind, ArgKind::Stride { of: "x" });
    assert_eq!(strided.steps[0].geometry.block, [32, 1, 1]);
    assert_ne!(operation.text(), strided.text());
}

#[test]
fn is_a_key() {
    let mut keys = HashSet::new();
    for offset in [0.0f32, -0.0, f32::NAN, f32::NAN, 1.0] {
        keys.insert(ScaleRows::new(spec(Layout::Contiguous), offset, None));
    }
    assert_eq!(keys.len(), 4, "floats are compared by their bits");
    let cloned = keys.iter().next().cloned().expect("a key");
    assert!(keys.contains(&cloned));
}

#[test]
fn reads_and_shows_fields() {
    let infos = ScaleRows::field_infos();
    let names: Vec<&str> = infos.iter().map(|info| info.name).collect();
    assert_eq!(names, ["hidden", "dtype", "layout", "align", "offset", "threads"]);
    assert_eq!(infos[2].ty, "contiguous|row-strided");
    assert_eq!((infos[2].required, infos[2].default.as_deref()), (false, Some("contiguous")));
    assert_eq!((infos[0].required, infos[0].meaning), (true, "elements of a row"));
    assert_eq!(infos[4].meaning, "The factor's offset.");
    assert_eq!((infos[3].required, infos[5].required, infos[5].schedule), (false, false, true));

    let fields = |pairs: &[(&str, &str)]| {
        Fields::new(pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
    };
    let mut given = fields(&[("hidden", "64"), ("dtype", "f16"), ("offset", "1.5")]).expect("no duplicates");
    let kernel = ScaleRows::from_fields(&mut given).expect("complete");
    assert!(given.finish().is_ok());
    assert_eq!(
        kernel.spec,
        ScaleSpec { hidden: 64, dtype: Dtype::F16, layout: Layout::Contiguous, align: None }
    );
    let shown: Vec<(&str, String, bool)> = kernel
        .fields(super::target())
        .into_iter()
        .map(|field| (field.name, field.text, field.schedule))
        .collect();
    let expected = [
        ("hidden", "64", false),
        ("dtype", "f16", false),
        ("layout", "contiguous", false),
        ("offset", "1.5e0", false),
        ("threads", "64", true),
    ];
    assert_eq!(shown, expected.map(|(name, text, schedule)| (name, text.to_owned(), schedule)));

    let mut wrong = fields(&[("hidden", "4096"), ("dtype", "f16"), ("offset", "0")]).expect("no duplicates");
    let error = ScaleRows::from_fields(&mut wrong).expect_err("out of range");
    assert_eq!(error.to_string(), "field `hidden`: `4096` is not in the range 1..=1024");
    let mut wrong = fields(&[("hidden", "1"), ("dtype", "f16"), ("offset", "0"), ("layout", "contigous")])
        .expect("no duplicates");
    let error = ScaleRows::from_fields(&mut wrong).expect_err("no such layout");
    assert_eq!(
        error.to_string(),
        "field `layout`: `contigous` is not one of contiguous, row-strided (did you mean `contiguous`?)"
    );
    let mut missing = fields(&[("hidden", "1")]).expect("no duplicates");
    let error = ScaleRows::from_fields(&mut missing).expect_err("incomplete");
    assert!(matches!(error, KernelError::Field(FieldError::Missing { name: "dtype", .. })), "{error}");
}

#[test]
fn passes_arguments_in_order() {
    let args = ScaleRowsArgs { x: 'x', bias: None, y: 'y', x_stride: Some(-1), factor: 1.0 };
    let expected = [
        ArgValue::Buffer('x'),
        ArgValue::Buffer('y'),
        ArgValue::Scalar(u64::MAX),
        ArgValue::Scalar(0x3f80_0000),
    ];
    assert_eq!(args.into_values(), expected);
    let mut visited = Vec::new();
    args.for_each(|value| visited.push(value));
    assert_eq!(visited, expected);
    let shape = ScaleRowsShape { rows: 9 };
    assert_eq!(shape.sizes(), [("rows", 9)]);
    let mut sizes = Vec::new();
    shape.for_each(|size| sizes.push(size));
    assert_eq!(sizes, [9]);
}

#[test]
fn a_kernel_without_bind_says_so() {
    let error = ScaleRows::new(spec(Layout::Contiguous), 0.0, None).bind(&[]).expect_err("no bind");
    assert!(error.to_string().contains("does not say how tensors bind"), "{error}");
}
