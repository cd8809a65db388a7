//! Reads manifests and says where one is wrong.

use std::path::Path;

use ptxsmith_builder::emu::convert::IntType;
use ptxsmith_builder::emu::float::{F16, F32, F64, Format, Rounding};
use ptxsmith_builder::kernel::Direction;
use ptxsmith_builder::types::{Dtype, Ty};
use serde_json::{Map, Value};

use super::expr::{Expr, Names};
use crate::error::Error;

/// The version of the manifest's form.
pub(super) const SCHEMA: u64 = 1;

/// How a text is launched.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The kernel's name, for reports.
    pub(crate) kernel: String,
    /// Its spec, for reports.
    pub(crate) spec: Value,
    /// The entry to launch; the only one of the text if it is not given.
    pub(crate) entry: Option<String>,
    /// Parameters in the order of the entry.
    pub(crate) params: Vec<Param>,
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    /// Blocks.
    pub(crate) grid: [Expr; 3],
    /// Blocks of a cluster.
    pub(crate) cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared_bytes: u32,
    /// Hash of the text that it was made for.
    pub(crate) text_hash: Option<String>,
}

/// A parameter.
#[derive(Debug)]
pub(crate) struct Param {
    /// Its name.
    pub(crate) name: String,
    /// What is passed.
    pub(crate) kind: ParamKind,
}

/// What is passed for a parameter.
#[derive(Debug)]
pub(crate) enum ParamKind {
    /// A pointer to a buffer.
    Buffer {
        /// Element type.
        dtype: Dtype,
        /// Direction.
        direction: Direction,
        /// Dimensions, outermost first.
        shape: Option<Vec<Expr>>,
    },
    /// A number.
    Scalar {
        /// Its type.
        ty: Ty,
        /// Its value; a scalar without one has the value of the size of its name.
        value: Option<ScalarValue>,
    },
}

/// The value of a scalar parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScalarValue {
    /// Bits, zero-extended.
    Bits(u64),
    /// An integer that follows from the sizes.
    Expr(Expr),
}

/// A problem at a place of the JSON, such as `params[2].type`.
struct Wrong {
    at: String,
    problem: String,
}

type Result1<T> = Result<T, Wrong>;

fn wrong<T>(at: impl Into<String>, problem: impl Into<String>) -> Result1<T> {
    Err(Wrong { at: at.into(), problem: problem.into() })
}

impl Manifest {
    /// Reads a manifest file.
    pub(crate) fn open(path: &Path) -> Result<Manifest, Error> {
        let text = std::fs::read(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
        let error = |reason: String| Error::Manifest { path: path.to_path_buf(), reason };
        let value: Value = serde_json::from_slice(&text).map_err(|e| error(format!("not JSON: {e}")))?;
        manifest(&value).map_err(|Wrong { at, problem }| error(format!("{at} {problem}")))
    }
}

fn manifest(value: &Value) -> Result1<Manifest> {
    let Some(object) = value.as_object() else { return wrong("its top level", "is no object") };
    match object.get("schema").map(Value::as_u64) {
        Some(Some(SCHEMA)) => {}
        Some(_) => return wrong("schema", format!("is {}, known is {SCHEMA}", object["schema"])),
        None => return wrong("schema", format!("is missing, known is {SCHEMA}")),
    }
    if object.get("launches").is_some_and(|launches| launches.as_array().is_none_or(|all| all.len() != 1)) {
        return wrong("launches", "has several launches; a text of one launch can be run");
    }
    let params = match object.get("params").map(Value::as_array) {
        Some(Some(params)) => params,
        Some(None) => return wrong("params", "is no list"),
        None => return wrong("params", "is missing"),
    };
    let params: Vec<Param> = params
        .iter()
        .enumerate()
        .map(|(i, param)| parameter(param, &format!("params[{i}]")))
        .collect::<Result1<_>>()?;
    for (i, param) in params.iter().enumerate() {
        if params[..i].iter().any(|earlier| earlier.name == param.name) {
            return wrong(format!("params[{i}].name"), format!("`{}` is there twice", param.name));
        }
    }
    let grid = match object.get("grid") {
        Some(grid) => triple(grid, "grid", expression)?,
        None => return wrong("grid", "is missing"),
    };
    let block = match object.get("block") {
        Some(block) => triple(block, "block", integer)?,
        None => return wrong("block", "is missing"),
    };
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let entry = text("entry");
    Ok(Manifest {
        kernel: text("kernel").or_else(|| entry.clone()).unwrap_or_default(),
        spec: object.get("spec").cloned().unwrap_or_else(|| Value::Object(Map::new())),
        entry,
        params,
        block: block.unwrap_or([1; 3]),
        grid: grid.unwrap_or([const { Expr::Const(1) }; 3]),
        cluster: object.get("cluster").map_or(Ok(None), |v| triple(v, "cluster", integer))?.unwrap_or([1; 3]),
        shared_bytes: object.get("shared_bytes").map_or(Ok(0), |v| integer(v, "shared_bytes"))?,
        text_hash: text("text_hash"),
    })
}

/// Three values; a shorter list or a single value stands for x, the rest is 1. `None` for null.
fn triple<T: One>(value: &Value, at: &str, read: fn(&Value, &str) -> Result1<T>) -> Result1<Option<[T; 3]>> {
    let list = match value {
        Value::Null => return Ok(None),
        Value::Array(list) if (1..=3).contains(&list.len()) => list.as_slice(),
        Value::Array(list) => return wrong(at, format!("has {} values, 1 to 3 are allowed", list.len())),
        single => std::slice::from_ref(single),
    };
    let one = |i: usize| list.get(i).map_or_else(|| Ok(T::one()), |value| read(value, &format!("{at}[{i}]")));
    Ok(Some([one(0)?, one(1)?, one(2)?]))
}

/// A type with a 1.
trait One {
    fn one() -> Self;
}

impl One for u32 {
    fn one() -> u32 {
        1
    }
}

impl One for Expr {
    fn one() -> Expr {
        Expr::Const(1)
    }
}

fn integer(value: &Value, at: &str) -> Result1<u32> {
    match value.as_u64().and_then(|value| u32::try_from(value).ok()) {
        Some(value) => Ok(value),
        None => wrong(at, format!("is {value}, not an integer from 0 to {}", u32::MAX)),
    }
}

fn expression(value: &Value, at: &str) -> Result1<Expr> {
    match value {
        Value::String(text) => {
            Expr::parse(text).or_else(|problem| wrong(at, format!("is `{text}`: {problem}")))
        }
        other => match other.as_u64() {
            Some(value) => Ok(Expr::Const(value)),
            None => wrong(at, format!("is {other}, neither an integer of at least 0 nor an expression")),
        },
    }
}

fn parameter(value: &Value, at: &str) -> Result1<Param> {
    let text = |key: &str| match value.get(key) {
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => wrong(format!("{at}.{key}"), format!("is {other}, not a text")),
        None => wrong(format!("{at}.{key}"), "is missing"),
    };
    let name = text("name")?.to_owned();
    let ty = text("type")?;
    let direction = match value.get("direction") {
        None => None,
        Some(_) => match text("direction")? {
            "in" => Some(Direction::In),
            "out" => Some(Direction::Out),
            "inout" => Some(Direction::InOut),
            other => {
                return wrong(format!("{at}.direction"), format!("is `{other}`; known are in, out, inout"));
            }
        },
    };
    let kind = match ty.strip_suffix('*') {
        Some(element) => {
            let Ok(dtype) = element.trim_end().parse::<Dtype>() else { return unknown_type(at, ty) };
            let Some(direction) = direction else {
                return wrong(format!("{at}.direction"), "is missing; known are in, out, inout");
            };
            let shape = match value.get("shape") {
                None | Some(Value::Null) => None,
                Some(Value::Array(dims)) => {
                    let dims =
                        dims.iter().enumerate().map(|(i, dim)| expression(dim, &format!("{at}.shape[{i}]")));
                    Some(dims.collect::<Result1<_>>()?)
                }
                Some(other) => return wrong(format!("{at}.shape"), format!("is {other}, not a list")),
            };
            ParamKind::Buffer { dtype, direction, shape }
        }
        None => {
            let known =
                Ty::from_suffix(ty).filter(|ty| ty.is_register() && *ty != Ty::Pred && ty.bits() <= 64);
            let Some(ty) = known else { return unknown_type(at, ty) };
            let value = match value.get("value") {
                None | Some(Value::Null) => None,
                Some(value) => Some(scalar(value, ty, &format!("{at}.value"))?),
            };
            ParamKind::Scalar { ty, value }
        }
    };
    Ok(Param { name, kind })
}

fn unknown_type<T>(at: &str, ty: &str) -> Result1<T> {
    let dtypes: Vec<&str> = Dtype::ALL.iter().map(|dtype| dtype.name()).collect();
    let known =
        format!("known are pointers ({}, each with *) and scalars such as u32, s64, f32", dtypes.join(", "));
    wrong(format!("{at}.type"), format!("is `{ty}`; {known}"))
}

/// The integer type of the width and sign of a scalar; bit types count as unsigned.
const fn int_type(ty: Ty) -> IntType {
    match (ty.bytes(), ty.is_signed()) {
        (1, false) => IntType::U8,
        (1, true) => IntType::S8,
        (2, false) => IntType::U16,
        (2, true) => IntType::S16,
        (4, false) => IntType::U32,
        (4, true) => IntType::S32,
        (_, false) => IntType::U64,
        (_, true) => IntType::S64,
    }
}

fn scalar(value: &Value, ty: Ty, at: &str) -> Result1<ScalarValue> {
    let float: Option<Format> = match ty {
        Ty::F16 => Some(F16),
        Ty::F32 => Some(F32),
        Ty::F64 => Some(F64),
        _ => None,
    };
    if let Some(format) = float {
        // Texts stand for what JSON numbers cannot be.
        let number = match value {
            Value::String(text) => text.parse::<f64>().ok(),
            other => other.as_f64(),
        };
        return match number {
            Some(number) => Ok(ScalarValue::Bits(format.from_f64(number, Rounding::Rn))),
            None => wrong(at, format!("is {value}, not a number of type {}", ty.suffix())),
        };
    }
    if let Value::String(_) = value {
        return expression(value, at).map(ScalarValue::Expr);
    }
    let number = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let int = int_type(ty);
    match number.filter(|number| (int.min()..=int.max()).contains(number)) {
        Some(number) => Ok(ScalarValue::Bits(int.truncate(number))),
        None => wrong(
            at,
            format!("is {value}, not an integer from {} to {} ({})", int.min(), int.max(), ty.suffix()),
        ),
    }
}

impl ScalarValue {
    /// The bits for a type; the error says why there are none.
    pub(crate) fn bits(&self, ty: Ty, names: &Names) -> Result<u64, String> {
        match self {
            ScalarValue::Bits(bits) => Ok(*bits),
            ScalarValue::Expr(expr) => fit(expr.eval(names)?, ty),
        }
    }
}

/// A size as a scalar of a type.
pub(crate) fn fit(value: u64, ty: Ty) -> Result<u64, String> {
    let int = int_type(ty);
    if !ty.is_int() && !ty.is_bits() || i128::from(value) > int.max() {
        return Err(format!("{value} is no value of type {}", ty.suffix()));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn whole() -> Value {
        json!({
            "schema": 1, "kernel": "scale", "entry": "scale",
            "params": [
                { "name": "x", "type": "bf16*", "direction": "in", "shape": ["rows", 8] },
                { "name": "y", "type": "f32*", "direction": "out" },
                { "name": "rows", "type": "u32", "direction": "in" },
                { "name": "factor", "type": "f32", "value": 0.1 },
                { "name": "offset", "type": "s32", "value": -1 },
                { "name": "limit", "type": "f32", "value": "inf" },
            ],
            "block": [32, 1, 1], "grid": ["ceil_div(rows,4)", 1, 1], "cluster": null, "shared_bytes": 0,
        })
    }

    fn read(value: &Value) -> Result<Manifest, String> {
        manifest(value).map_err(|Wrong { at, problem }| format!("{at} {problem}"))
    }

    #[test]
    fn a_whole_manifest_is_read() {
        let manifest = read(&whole()).expect("whole");
        assert_eq!((manifest.block, manifest.cluster), ([32, 1, 1], [1, 1, 1]));
        let bits = |i: usize| match &manifest.params[i].kind {
            ParamKind::Scalar { value: Some(ScalarValue::Bits(bits)), .. } => *bits,
            other => panic!("{other:?}"),
        };
        assert_eq!(bits(3), u64::from(0.1f32.to_bits()));
        assert_eq!(bits(4), 0xffff_ffff);
        assert_eq!(bits(5), u64::from(f32::INFINITY.to_bits()));
    }

    #[test]
    fn mistakes_are_placed() {
        let change = |path: &str, value: Value| {
            let mut manifest = whole();
            *manifest.pointer_mut(path).expect("a place of the manifest") = value;
            read(&manifest).expect_err(path)
        };
        for (path, value, message) in [
            ("/schema", json!(2), "schema is 2, known is 1"),
            ("/params", json!(3), "params is no list"),
            ("/params/0/type", json!("bf17*"), "params[0].type is `bf17*`; known are"),
            ("/params/0/direction", json!("up"), "params[0].direction is `up`; known are in, out, inout"),
            ("/params/0/shape", json!(["rows +"]), "params[0].shape[0] is `rows +`: "),
            ("/params/1/name", json!("x"), "params[1].name `x` is there twice"),
            ("/params/4/value", json!(1i64 << 40), "params[4].value is 1099511627776, not an integer from"),
            ("/params/3/value", json!([]), "params[3].value is [], not a number of type f32"),
            ("/grid", json!([-1]), "grid[0] is -1, neither"),
            ("/block", json!([1, 2, 3, 4]), "block has 4 values, 1 to 3"),
            ("/shared_bytes", json!(1.5), "shared_bytes is 1.5, not an integer"),
        ] {
            let error = change(path, value);
            assert!(error.starts_with(message), "{error}");
        }
        assert!(read(&json!([])).is_err());
    }

    #[test]
    fn sizes_must_fit_their_parameters() {
        assert_eq!(fit(7, Ty::U32), Ok(7));
        assert!(fit(1 << 31, Ty::S32).is_err());
        assert!(fit(1, Ty::F32).is_err());
    }
}
