//! `ptxsmith list`: the kernels with their fields, arguments and sample specs.

use std::fmt::Write;

use ptxsmith_builder::kernel::FieldInfo;
use ptxsmith_kernels::registry::{self, KernelInfo};
use serde_json::{Map, Value, json};

use crate::args::List;
use crate::outcome::Outcome;

/// Lists the kernels.
pub(crate) fn list(args: &List) -> Outcome {
    if args.json {
        let all: Value = registry::all().iter().map(kernel_json).collect();
        return Outcome::json(&all);
    }
    let mut out = String::new();
    for (i, kernel) in registry::all().iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        describe(&mut out, kernel);
    }
    Outcome::text(out)
}

fn kernel_json(kernel: &KernelInfo) -> Value {
    let (spec, schedule): (Vec<FieldInfo>, Vec<FieldInfo>) =
        (kernel.fields)().into_iter().partition(|field| !field.schedule);
    let args: Vec<Value> = kernel
        .args
        .iter()
        .map(|arg| json!({ "name": arg.name, "type": arg.ty, "direction": arg.direction }))
        .collect();
    let samples: Vec<Value> = (kernel.samples)()
        .iter()
        .map(|sample| {
            let spec: Map<String, Value> =
                sample.fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            json!({ "name": sample.name, "spec": spec })
        })
        .collect();
    json!({
        "name": kernel.name,
        "summary": kernel.summary,
        "spec": spec.iter().map(field_json).collect::<Vec<_>>(),
        "schedule": schedule.iter().map(field_json).collect::<Vec<_>>(),
        "args": args,
        "samples": samples,
    })
}

fn field_json(field: &FieldInfo) -> Value {
    json!({
        "field": field.name,
        "type": field.ty,
        "required": field.required,
        "default": field.default,
        "meaning": field.meaning,
    })
}

fn describe(out: &mut String, kernel: &KernelInfo) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}\n  {}", kernel.name, kernel.summary);
    let (spec, schedule): (Vec<FieldInfo>, Vec<FieldInfo>) =
        (kernel.fields)().into_iter().partition(|field| !field.schedule);
    for (title, fields) in [("fields (--set)", spec), ("schedule (--schedule)", schedule)] {
        let rows = fields.iter().map(|field| {
            let need = match (&field.default, field.required) {
                (Some(default), _) => format!("default {default}"),
                (None, true) => "required".to_owned(),
                (None, false) => "optional".to_owned(),
            };
            [field.name.to_owned(), field.ty.clone(), need, field.meaning.to_owned()]
        });
        section(out, title, rows.collect());
    }
    let args =
        kernel.args.iter().map(|arg| [arg.name.to_owned(), arg.direction.to_owned(), arg.ty.to_owned()]);
    section(out, "arguments (--bind, --expect)", args.collect());
    let samples = (kernel.samples)().into_iter().map(|sample| {
        let fields: Vec<String> =
            sample.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        [sample.name.to_owned(), fields.join(" ")]
    });
    section(out, "samples", samples.collect());
}

/// A titled table; columns are as wide as their widest cell.
fn section<const N: usize>(out: &mut String, title: &str, rows: Vec<[String; N]>) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "  {title}");
    for line in crate::table::lines(&rows) {
        let _ = writeln!(out, "    {line}");
    }
}
