//! A small kernel that the runtime's own tests launch: `y = x · factor`, one block per row, one thread per element.
#![allow(unreachable_pub, reason = "the file is a private module of each crate that shares it")]

use ptxsmith_builder::builder::build_entry;
use ptxsmith_builder::kernel::{
    AnyKernel, ArgInfo, ArgKind, ArgValue, Args, Baked, Binding, BuiltEntry, Direction, Expr, FieldInfo,
    FieldValue, Fields, Geometry, Kernel, KernelError, Operation, ReferenceInputs, Shape, TensorShape,
};
use ptxsmith_builder::lang::{Global, GlobalMut, block_idx_x, scalar_param, thread_idx_x};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;

/// The spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scale {
    /// Elements of a row, at most 1024.
    pub columns: u32,
    /// Bits of the factor.
    pub factor: u32,
    /// Dtype of the input.
    pub x: Dtype,
    /// Dtype of the output.
    pub y: Dtype,
    /// Whether rows have a stride of the launch.
    pub strided: bool,
}

/// The arguments; the strides count only where the spec says so.
#[derive(Debug)]
pub struct ScaleArgs<B> {
    /// Input.
    pub x: B,
    /// Output.
    pub y: B,
    /// Elements between rows of `x` and of `y`.
    pub strides: Option<(i64, i64)>,
}

/// The size.
#[derive(Debug, Clone, Copy)]
pub struct Rows(pub u64);

/// The alignment that every buffer and row promises.
pub const ALIGN: u32 = 16;
/// Most rows.
pub const MAX_ROWS: u64 = (1 << 31) - 1;

impl Scale {
    /// Contiguous rows.
    pub fn new(columns: u32, factor: f32, x: Dtype, y: Dtype) -> Scale {
        Scale { columns, factor: factor.to_bits(), x, y, strided: false }
    }

    fn len(&self, stride: &'static str) -> Expr {
        if self.strided {
            Expr::size("rows").saturating_sub(1u32) * Expr::size(stride)
                + Expr::size("rows").min(1u32) * self.columns
        } else {
            Expr::size("rows") * self.columns
        }
    }
}

impl Shape for Rows {
    fn sizes(&self) -> Vec<(&'static str, u64)> {
        vec![("rows", self.0)]
    }

    fn for_each(&self, mut f: impl FnMut(u64)) {
        f(self.0);
    }
}

impl<B> Args<B> for ScaleArgs<B> {
    fn into_values(self) -> Vec<ArgValue<B>> {
        let mut values = Vec::new();
        self.for_each(|value| values.push(value));
        values
    }

    fn for_each(self, mut f: impl FnMut(ArgValue<B>)) {
        f(ArgValue::Buffer(self.x));
        f(ArgValue::Buffer(self.y));
        if let Some((x, y)) = self.strides {
            f(ArgValue::Scalar(x.cast_unsigned()));
            f(ArgValue::Scalar(y.cast_unsigned()));
        }
    }
}

impl AnyKernel for Scale {
    fn name(&self) -> &'static str {
        "scale"
    }

    fn fields(&self, _: Target) -> Vec<FieldValue> {
        let field = |name, text: String, shown: String| FieldValue { name, text, shown, schedule: false };
        let plain = |name, text: String| field(name, text.clone(), text);
        let factor = f32::from_bits(self.factor);
        vec![
            plain("columns", self.columns.text()),
            field("factor", factor.text(), factor.shown()),
            plain("x", self.x.text()),
            plain("y", self.y.text()),
        ]
    }

    fn operation(&self, target: Target) -> Result<Operation, KernelError> {
        let spec = *self;
        let entry = build_entry("scale", target, || {
            let (x, y) = (Global::param("x", spec.x, ALIGN), GlobalMut::param("y", spec.y, ALIGN));
            let (row, column) = (block_idx_x(), thread_idx_x());
            let (x, y) = if spec.strided {
                let (x_stride, y_stride) = (scalar_param::<i64>("x_stride"), scalar_param::<i64>("y_stride"));
                (x.row_strided(row, x_stride), y.row_strided(row, y_stride))
            } else {
                (x.row(row, spec.columns), y.row(row, spec.columns))
            };
            y.store(column, x.load(column) * f32::from_bits(spec.factor));
        })?;
        let buffer = |name, dtype, direction, stride| ArgInfo {
            name,
            kind: ArgKind::Buffer { dtype, direction, len: self.len(stride), align: ALIGN },
        };
        let mut args = vec![
            buffer("x", self.x, Direction::In, "x_stride"),
            buffer("y", self.y, Direction::Out, "y_stride"),
        ];
        if self.strided {
            args.push(ArgInfo { name: "x_stride", kind: ArgKind::Stride { of: "x" } });
            args.push(ArgInfo { name: "y_stride", kind: ArgKind::Stride { of: "y" } });
        }
        let geometry = Geometry::new(self.columns, Expr::size("rows"));
        Operation::new("scale", target, args, vec![("rows", MAX_ROWS)], vec![BuiltEntry { entry, geometry }])
    }

    fn bind(&self, _: &[TensorShape]) -> Result<Binding, KernelError> {
        Ok(Binding::default())
    }

    fn reference(&self, _: &ReferenceInputs) -> Option<Vec<(&'static str, Vec<f64>)>> {
        None
    }
}

impl Kernel for Scale {
    type Shape = Rows;
    type Args<B> = ScaleArgs<B>;

    fn field_infos() -> Vec<FieldInfo> {
        Vec::new()
    }

    fn from_fields(fields: &mut Fields) -> Result<Scale, KernelError> {
        Ok(Scale::new(
            fields.required("columns")?,
            fields.required("factor")?,
            fields.required("x")?,
            fields.required("y")?,
        ))
    }
}
