//! One launch of the gate: sizes, strides and the values of every buffer.
//!
//! Rows of a strided buffer lie farther apart than they are long, with NaN between them, so that a kernel which takes one
//! stride for another, or none, is seen.

use ptxsmith_builder::kernel::{ArgKind, Direction, Operation};
use ptxsmith_builder::types::Dtype;

use super::Pattern;
use super::numbers::{decode, encode, is_known, power_of_two, uniform};

/// What every byte is that nobody writes: a NaN in every float dtype.
pub(super) const POISON: u8 = 0xff;

/// The launch.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) sizes: Vec<(&'static str, u64)>,
    /// Strides by argument.
    pub(super) strides: Vec<(&'static str, u64)>,
    /// Buffers in the order of the arguments.
    pub(super) buffers: Vec<CaseBuffer>,
}

/// A buffer of a launch.
#[derive(Debug)]
pub(super) struct CaseBuffer {
    pub(super) name: &'static str,
    pub(super) dtype: Dtype,
    pub(super) direction: Direction,
    /// Elements of a row; all of them where the buffer has no rows.
    pub(super) row: usize,
    /// Elements from one row to the next.
    stride: usize,
    /// Elements without gaps.
    pub(super) len: usize,
    /// Elements that the kernel may touch.
    pub(super) span: usize,
    /// Values without gaps; empty for an output.
    pub(super) values: Vec<f64>,
}

impl CaseBuffer {
    /// What it holds before the launch.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let element = self.dtype.bytes() as usize;
        let mut bytes = vec![POISON; self.span * element];
        let dense = encode(self.dtype, &self.values);
        for (row, values) in dense.chunks((self.row * element).max(1)).enumerate() {
            let start = row * self.stride * element;
            if let Some(place) = bytes.get_mut(start..start + values.len()) {
                place.copy_from_slice(values);
            }
        }
        bytes
    }

    /// The values after the launch, without gaps, and the first byte between or behind the rows that was written.
    pub(super) fn read(&self, bytes: &[u8]) -> (Vec<f64>, Option<usize>) {
        let (row, stride) =
            (self.row * self.dtype.bytes() as usize, self.stride * self.dtype.bytes() as usize);
        let mut dense = Vec::with_capacity(self.len * self.dtype.bytes() as usize);
        let mut damaged = None;
        let end = self.span * self.dtype.bytes() as usize;
        for (index, &byte) in bytes.iter().enumerate() {
            if index < end && (stride == 0 || index % stride < row) {
                dense.push(byte);
            } else if byte != POISON {
                damaged = damaged.or(Some(index));
            }
        }
        (decode(self.dtype, &dense), damaged)
    }
}

/// Makes a launch with every size at `count` (or at its limit, if that is less). The error says what the gate has no
/// values for.
pub(super) fn case(operation: &Operation, count: u64, pattern: Pattern, seed: u64) -> Result<Case, String> {
    let sizes: Vec<(&'static str, u64)> = operation
        .sizes
        .iter()
        .zip(&operation.size_limits)
        .map(|(&name, &limit)| (name, count.min(limit)))
        .collect();
    let buffer = |name: &str| {
        operation.args.iter().find(|arg| arg.name == name).and_then(|arg| match &arg.kind {
            ArgKind::Buffer { dtype, len, align, .. } => Some((*dtype, len, *align)),
            ArgKind::Scalar { .. } | ArgKind::Stride { .. } => None,
        })
    };
    // Rows that all lie at the start span one row.
    let mut named: Vec<(&str, u64)> = sizes.clone();
    let mut strides = Vec::new();
    for arg in &operation.args {
        match &arg.kind {
            ArgKind::Buffer { .. } => {}
            ArgKind::Scalar { ty } => {
                return Err(format!("it has no values for `{}`, a scalar {ty}", arg.name));
            }
            ArgKind::Stride { of } => {
                named.push((arg.name, 0));
                strides.push((arg.name, *of));
            }
        }
    }
    let mut rows = Vec::new();
    for (name, of) in strides {
        let Some((dtype, len, align)) = buffer(of) else {
            return Err(format!("`{name}` is the stride of `{of}`, which is no buffer"));
        };
        let row = len.eval(&named).map_err(|error| error.to_string())?;
        let unit = u64::from(align / dtype.bytes()).max(1);
        rows.push((name, of, row, row.next_multiple_of(unit) + unit));
    }
    let length = |of: &str, tight: bool| -> Result<usize, String> {
        let mut named: Vec<(&str, u64)> = sizes.clone();
        named.extend(rows.iter().map(|&(name, _, row, stride)| (name, if tight { row } else { stride })));
        let (_, len, _) = buffer(of).ok_or("no such buffer")?;
        let len = len.eval(&named).map_err(|error| error.to_string())?;
        usize::try_from(len).map_err(|error| error.to_string())
    };
    let mut buffers = Vec::new();
    for (index, arg) in operation.args.iter().enumerate() {
        let ArgKind::Buffer { dtype, direction, len, .. } = &arg.kind else { continue };
        if !is_known(*dtype) {
            return Err(format!("it has no values for `{}`, a buffer of {dtype}", arg.name));
        }
        let elements = length(arg.name, true)?;
        let strided = rows.iter().find(|(_, of, ..)| *of == arg.name);
        let once: Vec<(&str, u64)> = named.iter().map(|&(name, value)| (name, value.min(1))).collect();
        let one = len.eval(&once).map_err(|error| error.to_string())?;
        let row = strided.map_or(one, |(_, _, row, _)| *row) as usize;
        // A length without sizes is a parameter of the model, of ordinary magnitude whatever the input is.
        let pattern = if len.eval(&[]).is_ok() { Pattern::Seeded } else { pattern };
        let values = match direction {
            Direction::Out => Vec::new(),
            Direction::In | Direction::InOut => {
                let seed = seed.wrapping_add(index as u64);
                let exact: Vec<f64> =
                    (0..elements).map(|at| pattern.value(*dtype, seed, at, row.max(1))).collect();
                // The reference sees what the kernel sees.
                decode(*dtype, &encode(*dtype, &exact))
            }
        };
        buffers.push(CaseBuffer {
            name: arg.name,
            dtype: *dtype,
            direction: *direction,
            row,
            stride: strided.map_or(row, |(.., stride)| *stride as usize),
            len: elements,
            span: length(arg.name, false)?,
            values,
        });
    }
    let strides = rows.into_iter().map(|(name, _, _, stride)| (name, stride)).collect();
    Ok(Case { sizes, strides, buffers })
}

impl Pattern {
    /// The value of an element of rows of `row` elements.
    fn value(self, dtype: Dtype, seed: u64, at: usize, row: usize) -> f64 {
        let random = uniform(seed, at as u64);
        let line = at / row;
        let half = dtype == Dtype::F16;
        match self {
            Pattern::Seeded => random,
            Pattern::Zeros => 0.0,
            Pattern::Small => random / 1024.0,
            Pattern::Tiny => random * power_of_two(if half { -18 } else { -60 }),
            Pattern::Large => random * power_of_two(if half { 14 } else { 40 }),
            Pattern::ConstantRows => 0.5 + uniform(seed, line as u64) / 4.0,
            // The place moves from row to row, from the last element on.
            Pattern::Spike if at % row == (row - 1).saturating_sub(line * 7 % row) => 3.0 + random,
            Pattern::Spike => 0.0,
        }
    }
}
