//! Writes manifests.

use ptxsmith_builder::ir::Entry;
use ptxsmith_builder::kernel::emit::{Emitted, parameter_type};
use ptxsmith_builder::kernel::{ArgKind, Direction, Expr, FieldValue, ParamSource, Step};
use serde_json::{Map, Value, json};

use super::read::SCHEMA;
use crate::text::text_hash;

/// The manifest of a text. For an operation of several launches the top level describes the first one, and `launches` all of
/// them in order.
pub(crate) fn manifest(emitted: &Emitted) -> Value {
    let operation = &emitted.operation;
    let module = operation.module.module();
    let mut launches: Vec<Map<String, Value>> = operation
        .steps
        .iter()
        .zip(&module.entries)
        .map(|(step, entry)| launch(emitted, step, entry))
        .collect();
    let mut out = Map::new();
    out.insert("schema".to_owned(), json!(SCHEMA));
    out.insert("kernel".to_owned(), json!(operation.kernel));
    out.insert("spec".to_owned(), fields(&emitted.fields, false));
    out.insert("schedule".to_owned(), fields(&emitted.fields, true));
    if launches.len() > 1 {
        out.extend(launches[0].clone());
        out.insert("launches".to_owned(), json!(launches));
    } else if let Some(launch) = launches.pop() {
        out.extend(launch);
    }
    out.insert("ptx_version".to_owned(), json!(operation.module.version().to_string()));
    out.insert("target".to_owned(), json!(module.target.to_string()));
    let requires = emitted.needs.iter().map(|need| json!({ "what": need.what, "because": need.because }));
    out.insert("requires".to_owned(), requires.collect());
    out.insert("text_hash".to_owned(), json!(text_hash(&emitted.text)));
    Value::Object(out)
}

/// Fields of the spec, or of the schedule, each as `--set` or `--schedule` reads it.
pub(crate) fn fields(fields: &[FieldValue], schedule: bool) -> Value {
    let chosen = fields.iter().filter(|field| field.schedule == schedule);
    Value::Object(chosen.map(|field| (field.name.to_owned(), json!(field.text))).collect())
}

fn launch(emitted: &Emitted, step: &Step, entry: &Entry) -> Map<String, Value> {
    let geometry = &step.geometry;
    let params: Value = (0..step.params.len().min(entry.params.len()))
        .map(|index| parameter(emitted, step, entry, index))
        .collect();
    let mut out = Map::new();
    out.insert("entry".to_owned(), json!(step.entry));
    out.insert("params".to_owned(), params);
    out.insert("block".to_owned(), json!(geometry.block));
    out.insert("grid".to_owned(), json!([expression(&geometry.grid), 1, 1]));
    out.insert("cluster".to_owned(), json!([geometry.cluster, 1, 1]));
    out.insert("shared_bytes".to_owned(), json!(geometry.dynamic_shared));
    out
}

fn parameter(emitted: &Emitted, step: &Step, entry: &Entry, index: usize) -> Value {
    let operation = &emitted.operation;
    let source = &step.params[index];
    let ty = parameter_type(operation, source, entry, index);
    let arg = match source {
        ParamSource::Arg(arg) => operation.args.get(*arg).map(|arg| &arg.kind),
        ParamSource::Size(_) => None,
    };
    let name = &entry.params[index].name;
    match arg {
        Some(ArgKind::Buffer { direction, len, .. }) => {
            json!({ "name": name, "type": ty, "direction": direction.name(), "shape": shape(len) })
        }
        Some(ArgKind::Scalar { .. } | ArgKind::Stride { .. }) | None => {
            json!({ "name": name, "type": ty, "direction": Direction::In.name() })
        }
    }
}

fn expression(expr: &Expr) -> Value {
    match expr {
        Expr::Const(value) => json!(value),
        other => json!(other.to_string()),
    }
}

/// The dimensions that a length shows: the factors of a product, or the length itself.
fn shape(len: &Expr) -> Vec<Value> {
    match len {
        Expr::Mul(pair) => [shape(&pair.0), shape(&pair.1)].concat(),
        other => vec![expression(other)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_of_a_length_are_its_shape() {
        let rows = Expr::size("rows");
        assert_eq!(shape(&(rows.clone() * 576u32)), [json!("rows"), json!(576)]);
        assert_eq!(shape(&Expr::Const(576)), [json!(576)]);
        let strided = rows.saturating_sub(1u32) * Expr::size("x_stride") + 8u32;
        assert_eq!(shape(&strided), [json!("((saturating_sub(rows,1) * x_stride) + 8)")]);
    }
}
