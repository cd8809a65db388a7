//! RMSNorm, forward: `y = x / sqrt(mean(x²) + eps) · w` (Zhang and Sennrich 2019, equation 4, with the epsilon of the
//! implementations inside the root).
//!
//! x and y are `[rows, hidden]`, w is `[hidden]`; each of f32, f16 or bf16. Everything is computed in f32: the squares are summed
//! in the fixed order of [`ptxsmith_builder::lang::reduce`], mean, root and reciprocal are correctly rounded, and
//! `(x · scale) · w` is rounded to the dtype of y once. The result of a row does not depend on the number of rows, the
//! schedule or the alignment.
//!
//! A row whose sum of squares exceeds the largest f32 (|x| around 1.8e19 / √hidden and above) has scale 0; a NaN or an
//! infinity in a row makes the row NaN, as the formula says.

use ptxsmith_builder::kernel::{
    Binding, Expr, FieldError, Geometry, KernelError, ReferenceInputs, TensorShape,
};
use ptxsmith_builder::lang::{
    self, B32, Baked, Global, GlobalMut, RowSum, Shared, Spec, block_idx_x, comment, kernel, row_sum,
    thread_idx_x,
};
use ptxsmith_builder::ops::{min, policy_evict_first, policy_evict_last, rcp_rn, sqrt_rn};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;
use ptxsmith_builder::value::Value;

use crate::align::{Align, WIDE};
use crate::eps::Eps;
use crate::registry::{ArgDoc, KernelInfo, Sample};
use crate::row::{Keep, MAX_HIDDEN, RowPlan, RowSchedule};

/// Where rows lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Baked)]
pub enum Layout {
    /// Row r begins at element r · hidden.
    Contiguous,
    /// Row r begins at element r · stride, with strides given at the launch.
    Strided,
}

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Spec)]
pub struct RmsNormSpec {
    /// elements of a row, 1 to 262144
    pub hidden: u32,
    /// added to the mean square under the root; finite, at least 0
    pub eps: Eps,
    /// dtype of x: f32, f16 or bf16
    pub x: Dtype,
    /// dtype of w: f32, f16 or bf16
    pub w: Dtype,
    /// dtype of y: f32, f16 or bf16
    pub y: Dtype,
    /// contiguous rows, or rows at the strides x_stride and y_stride (elements) of the launch
    #[spec(default = Layout::Contiguous)]
    pub layout: Layout,
    /// bytes that every base and row start is promised to be aligned to; auto is 16 where contiguous rows allow it, else the
    /// element size
    #[spec(default = Align::Auto)]
    pub align: Align,
}

impl RmsNormSpec {
    /// A spec of contiguous rows with the default alignment.
    pub const fn new(hidden: u32, eps: Eps, x: Dtype, w: Dtype, y: Dtype) -> RmsNormSpec {
        RmsNormSpec { hidden, eps, x, w, y, layout: Layout::Contiguous, align: Align::Auto }
    }

    /// The alignment in bytes that the base and every row of a buffer of `dtype` are promised to have: at least its element.
    pub fn alignment(&self, dtype: Dtype) -> u32 {
        let rows_allow =
            [self.x, self.w, self.y].iter().all(|dtype| (self.hidden * dtype.bytes()).is_multiple_of(WIDE));
        match (self.align, self.layout) {
            (Align::Bytes(align), _) => align.max(dtype.bytes()),
            (Align::Auto, Layout::Contiguous) if rows_allow => WIDE,
            (Align::Auto, _) => dtype.bytes(),
        }
    }

    /// Checks every range.
    pub fn validate(&self) -> Result<(), KernelError> {
        let invalid = |name: &str, value: String, allowed: String| {
            Err(KernelError::Field(FieldError::Invalid { name: name.to_owned(), value, allowed }))
        };
        if self.hidden == 0 || self.hidden > MAX_HIDDEN {
            return invalid(
                "hidden",
                self.hidden.to_string(),
                format!("a row length from 1 to {MAX_HIDDEN}"),
            );
        }
        for (name, dtype) in [("x", self.x), ("w", self.w), ("y", self.y)] {
            if !matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::Bf16) {
                return invalid(name, dtype.to_string(), "one of f32, f16, bf16".to_owned());
            }
        }
        if !self.align.is_valid() {
            return invalid("align", self.align.text(), Align::allowed().to_owned());
        }
        if let Align::Bytes(align) = self.align {
            let broken = [("x", self.x), ("y", self.y)]
                .into_iter()
                .find(|(_, dtype)| !(self.hidden * dtype.bytes()).is_multiple_of(self.alignment(*dtype)));
            if let (Layout::Contiguous, Some((name, dtype))) = (self.layout, broken) {
                let bytes = self.hidden * dtype.bytes();
                let allowed = format!("a divisor of the {bytes} bytes of a contiguous row of {name}");
                return invalid("align", align.to_string(), allowed);
            }
        }
        Ok(())
    }

    /// The schedule that the heuristic chooses.
    pub fn default_schedule(&self) -> RowSchedule {
        RowPlan::choose(self.hidden, self.x, self.w)
    }

    fn plan(&self, schedule: Option<RowSchedule>) -> RowPlan {
        let schedule = schedule.unwrap_or_else(|| self.default_schedule());
        RowPlan { hidden: self.hidden, dtype: self.x, schedule }
    }

    /// Elements that a tensor of rows spans.
    fn span(&self, rows: Expr, stride: &'static str) -> Expr {
        match self.layout {
            Layout::Contiguous => rows * self.hidden,
            Layout::Strided => {
                let last = rows.clone().min(1u32) * self.hidden;
                rows.saturating_sub(1u32) * Expr::size(stride) + last
            }
        }
    }
}

/// Checks the spec, and the schedule against it.
fn validate(kernel: &RmsNorm, target: Target) -> Result<(), KernelError> {
    kernel.spec.validate()?;
    let schedule = kernel.schedule.unwrap_or_else(|| kernel.spec.default_schedule());
    RowPlan::new(kernel.spec.hidden, kernel.spec.x, kernel.spec.alignment(kernel.spec.x), schedule, target)
        .map(|_| ())
}

fn geometry(plan: &RowPlan, rows: Expr) -> Geometry {
    Geometry {
        dynamic_shared: plan.shared_bytes(),
        ..Geometry::new(plan.block_threads(), rows.ceil_div(plan.schedule.rows_per_block))
    }
}

/// Rounds of one trip of the loop over a long row.
const UNROLL: u32 = 8;

/// Longest unrolled row, in rounds.
const MAX_UNROLLED: u32 = 16;

/// RMSNorm of each row of x.
#[kernel(
    geometry = geometry(&spec.plan(schedule), rows),
    min_blocks = spec.plan(schedule).schedule.min_blocks,
    validate = validate,
    bind = bind,
    reference = reference,
)]
pub fn rms_norm(
    #[baked] spec: RmsNormSpec,
    #[baked(chosen = spec.default_schedule())] schedule: Option<RowSchedule>,
    #[size(max = 0x7fff_ffff)] rows: u32,
    #[buffer(dtype = spec.x, len = spec.span(rows, "x_stride"), align = spec.alignment(spec.x))] x: Global,
    #[buffer(dtype = spec.w, len = spec.hidden, align = spec.alignment(spec.w))] w: Global,
    #[buffer(dtype = spec.y, len = spec.span(rows, "y_stride"), align = spec.alignment(spec.y))] y: GlobalMut,
    #[when(spec.layout == Layout::Strided)]
    #[stride(of = x)]
    x_stride: Option<i64>,
    #[when(spec.layout == Layout::Strided)]
    #[stride(of = y)]
    y_stride: Option<i64>,
) {
    let plan = spec.plan(schedule);
    let threads = plan.schedule.threads_per_row;
    let rows_per_block = plan.schedule.rows_per_block;
    let elements = plan.elements();

    comment("the row of this thread, and its place in it");
    let thread = if rows_per_block == 1 { thread_idx_x() } else { thread_idx_x() & (threads - 1) };
    let row = if rows_per_block == 1 {
        block_idx_x()
    } else {
        block_idx_x() * rows_per_block + (thread_idx_x() >> threads.trailing_zeros())
    };
    // Threads of rows beyond the last one repeat it without storing: barriers and shuffles want every thread.
    let exists = if rows_per_block == 1 { None } else { Some(row < rows) };
    let source = if rows_per_block == 1 { row } else { min(row, rows - 1) };
    let x_row = match x_stride {
        Some(stride) => x.row_strided(source, stride),
        None => x.row(source, spec.hidden),
    };
    let y_row = match y_stride {
        Some(stride) => y.row_strided(source, stride),
        None => y.row(source, spec.hidden),
    };
    let x_own = x_row.row(thread, elements).named("x_own");
    let w_own = w.row(thread, elements).named("w_own");
    let y_own = y_row.row(thread, elements).named("y_own").streaming();
    // A row that is read twice stays in the L2 cache until then, and leaves it after that.
    let policies = plan.schedule.keep == Keep::Reload && lang::target().number() >= 80;
    let keep = if policies { Some(policy_evict_last(1.0)) } else { None };
    let last = if policies { Some(policy_evict_first(1.0)) } else { None };
    let w_own = w_own.with_policy(keep);
    let x_first = x_own.with_policy(keep);
    let x_again = x_own.with_policy(last);

    comment("sum of squares");
    let sum = RowSum::new("sum", spec.hidden, spec.x, threads);
    let unroll = UNROLL.next_multiple_of(sum.len() as u32);
    let unrolled = plan.schedule.keep == Keep::Registers
        || (plan.schedule.keep == Keep::Reload && plan.rounds() <= MAX_UNROLLED);
    let looped = if unrolled { 0 } else { plan.full_rounds() / unroll };
    let stage = Shared::<B32>::dynamic_if(plan.shared_bytes() > 0, "row").map(|row| row.at(thread * 4));
    let step = unroll * threads * elements;
    if looped > 0 {
        for trip in Value::constant(0u32)..looped {
            let chunk = x_first.row(trip, step).named("x_chunk");
            for round in 0..unroll {
                let words = chunk.skip(round * threads * elements).load_packed(elements as usize);
                sum.add_squares(round as usize, &words.unpack());
                if let Some(stage) = stage {
                    stage.row(trip, unroll * threads * 4).skip(round * threads * 4).store_packed(&words);
                }
            }
        }
    }
    let rest: Vec<_> = (looped * unroll..plan.rounds())
        .flat_map(|round| plan.pieces(round, thread).into_iter().map(move |piece| (round, piece)))
        .collect();
    // What is read twice is loaded in groups, so that its registers are free again before the next one.
    let group =
        if plan.schedule.keep == Keep::Reload { plan.schedule.group as usize } else { rest.len().max(1) };
    #[host]
    let mut kept = Vec::new();
    for start in (0..rest.len()).step_by(group) {
        let pieces = &rest[start..(start + group).min(rest.len())];
        let words: Vec<_> = pieces.iter().map(|(_, piece)| piece.load(x_first)).collect();
        for i in 0..pieces.len() {
            sum.add_squares(pieces[i].0 as usize, &words[i].unpack());
        }
        kept.extend(words);
    }

    comment("scale = 1 / sqrt(mean + eps)");
    let total = row_sum(sum.join(), threads, plan.block_threads());
    let scale = rcp_rn(sqrt_rn(total * (1.0 / spec.hidden as f32) + spec.eps.get()));

    comment("y = x * scale * w");
    if looped > 0 {
        for trip in Value::constant(0u32)..looped {
            let x_chunk = x_again.row(trip, step);
            let w_chunk = w_own.row(trip, step);
            let y_chunk = y_own.row(trip, step);
            for round in 0..unroll {
                let skip = round * threads * elements;
                let words = match stage {
                    Some(stage) => {
                        stage.row(trip, unroll * threads * 4).skip(round * threads * 4).load_packed(spec.x)
                    }
                    None => x_chunk.skip(skip).load_packed(elements as usize),
                };
                let weights = w_chunk.skip(skip).load_packed(elements as usize).unpack();
                let scaled: Vec<_> =
                    words.unpack().into_iter().zip(weights).map(|(x, w)| x * scale * w).collect();
                match exists {
                    None => y_chunk.skip(skip).store_packed(&scaled),
                    Some(exists) => y_chunk.skip(skip).store_packed_if(exists, &scaled),
                }
            }
        }
    }
    for i in 0..rest.len() {
        let words =
            if plan.schedule.keep == Keep::Reload { rest[i].1.load(x_again) } else { kept[i].clone() };
        let weights = rest[i].1.load(w_own).unpack();
        let scaled: Vec<_> = words.unpack().into_iter().zip(weights).map(|(x, w)| x * scale * w).collect();
        rest[i].1.store(y_own, exists, &scaled);
    }
}

/// Rows, strides and output dimensions from the tensors: the last dimension of x is hidden, all others count rows.
fn bind(kernel: &RmsNorm, tensors: &[TensorShape]) -> Result<Binding, KernelError> {
    let hidden = u64::from(kernel.spec.hidden);
    let wrong = |name: &str, message: String| Err(KernelError::Argument { name: name.to_owned(), message });
    let find = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
    let Some(x) = find("x") else { return wrong("x", "is not bound".to_owned()) };
    if x.dims.last() != Some(&hidden) {
        return wrong("x", format!("shape {:?} does not end in hidden = {hidden}", x.dims));
    }
    let Some(rows) = x.dims[..x.dims.len() - 1].iter().try_fold(1u64, |rows, dim| rows.checked_mul(*dim))
    else {
        return wrong("x", format!("shape {:?} has more rows than 64 bits hold", x.dims));
    };
    if let Some(w) = find("w")
        && w.dims != [hidden]
    {
        return wrong("w", format!("shape {:?} is not [{hidden}]", w.dims));
    }
    if let Some(y) = find("y")
        && y.dims != x.dims
    {
        return wrong("y", format!("shape {:?} is not that of x, {:?}", y.dims, x.dims));
    }
    let scalars = match kernel.spec.layout {
        Layout::Contiguous => Vec::new(),
        Layout::Strided => vec![("x_stride", hidden as i64), ("y_stride", hidden as i64)],
    };
    Ok(Binding { sizes: vec![("rows", rows)], scalars, outputs: vec![("y", x.dims.clone())] })
}

/// y in f64, rows without gaps.
fn reference(kernel: &RmsNorm, inputs: &ReferenceInputs) -> Option<Vec<(&'static str, Vec<f64>)>> {
    let buffer =
        |name: &str| inputs.buffers.iter().find(|(known, _)| *known == name).map(|(_, values)| values);
    let (x, w) = (buffer("x")?, buffer("w")?);
    let hidden = kernel.spec.hidden as usize;
    let eps = f64::from(kernel.spec.eps.get());
    let mut y = Vec::with_capacity(x.len());
    for row in x.chunks(hidden) {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / hidden as f64;
        let scale = 1.0 / (mean + eps).sqrt();
        y.extend(row.iter().zip(w).map(|(x, w)| x * scale * w));
    }
    Some(vec![("y", y)])
}

/// The registry entry.
pub const INFO: KernelInfo = KernelInfo::of::<RmsNorm>(
    "rms_norm",
    "y = x / sqrt(mean(x^2) + eps) * w, row by row",
    &[
        ArgDoc { name: "x", ty: "dtype of field x, [rows, hidden]", direction: "in" },
        ArgDoc { name: "w", ty: "dtype of field w, [hidden]", direction: "in" },
        ArgDoc { name: "y", ty: "dtype of field y, [rows, hidden]", direction: "out" },
        ArgDoc {
            name: "x_stride",
            ty: "i64, elements between rows of x; layout=strided only",
            direction: "in",
        },
        ArgDoc {
            name: "y_stride",
            ty: "i64, elements between rows of y; layout=strided only",
            direction: "in",
        },
    ],
    samples,
);

#[rustfmt::skip]
fn samples() -> Vec<Sample> {
    let sample = |name, fields: &[(&'static str, &'static str)]| Sample { name, fields: fields.to_vec() };
    vec![
        sample("bf16_4096", &[("hidden", "4096"), ("eps", "1e-5"), ("x", "bf16"), ("w", "bf16"), ("y", "bf16")]),
        sample("f32_576", &[("hidden", "576"), ("eps", "1e-5"), ("x", "f32"), ("w", "f32"), ("y", "f32")]),
        sample("f16_w_f32_256", &[("hidden", "256"), ("eps", "1e-6"), ("x", "f16"), ("w", "f32"), ("y", "f16")]),
        sample("bf16_odd_769", &[("hidden", "769"), ("eps", "1e-6"), ("x", "bf16"), ("w", "bf16"), ("y", "bf16")]),
        sample("bf16_strided_1000", &[("hidden", "1000"), ("eps", "1e-6"), ("x", "bf16"), ("w", "f32"), ("y", "f32"), ("layout", "strided"), ("align", "16")]),
        sample("f32_shared_49152", &[("hidden", "49152"), ("eps", "1e-5"), ("x", "f32"), ("w", "f32"), ("y", "f32")]),
        sample("bf16_reload_262144", &[("hidden", "262144"), ("eps", "1e-5"), ("x", "bf16"), ("w", "bf16"), ("y", "bf16")]),
    ]
}
