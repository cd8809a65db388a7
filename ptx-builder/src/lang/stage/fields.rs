//! Baked parameters of a kernel: how a struct becomes named fields, and how floats are compared.

use std::hash::Hash;

use crate::kernel::{Baked, FieldError, FieldInfo, FieldValue, Fields};

/// A baked parameter: a baked value, a struct of such (`#[derive(Spec)]`), or an `Option` of either.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a baked parameter",
    label = "neither a baked value nor a struct of such",
    note = "derive `Spec` on a struct of baked fields, or `Baked` on an enum without data"
)]
pub trait BakedParam: Sized {
    /// Its fields; a value that is one field takes name and meaning from its parameter or struct field.
    fn infos(name: &'static str, meaning: &'static str) -> Vec<FieldInfo>;

    /// Whether any of its fields is given.
    fn given(name: &'static str, fields: &mut Fields) -> bool;

    /// Takes its fields.
    fn take(name: &'static str, fields: &mut Fields) -> Result<Self, FieldError>;

    /// Its fields with their values; a field without a value is left out.
    fn values(&self, name: &'static str) -> Vec<FieldValue>;
}

impl<T: Baked> BakedParam for T {
    fn infos(name: &'static str, meaning: &'static str) -> Vec<FieldInfo> {
        let ty = T::type_name();
        vec![FieldInfo { name, ty, required: true, default: None, meaning, schedule: false }]
    }

    fn given(name: &'static str, fields: &mut Fields) -> bool {
        fields.has(name)
    }

    fn take(name: &'static str, fields: &mut Fields) -> Result<T, FieldError> {
        fields.required(name)
    }

    fn values(&self, name: &'static str) -> Vec<FieldValue> {
        vec![FieldValue { name, text: self.text(), shown: self.shown(), schedule: false }]
    }
}

impl<T: BakedParam> BakedParam for Option<T> {
    fn infos(name: &'static str, meaning: &'static str) -> Vec<FieldInfo> {
        T::infos(name, meaning).into_iter().map(|info| FieldInfo { required: false, ..info }).collect()
    }

    fn given(name: &'static str, fields: &mut Fields) -> bool {
        T::given(name, fields)
    }

    fn take(name: &'static str, fields: &mut Fields) -> Result<Option<T>, FieldError> {
        if T::given(name, fields) { T::take(name, fields).map(Some) } else { Ok(None) }
    }

    fn values(&self, name: &'static str) -> Vec<FieldValue> {
        self.as_ref().map(|value| value.values(name)).unwrap_or_default()
    }
}

/// The information of fields that have a default.
pub fn infos_with_default<T: BakedParam>(
    infos: Vec<FieldInfo>,
    name: &'static str,
    default: &T,
) -> Vec<FieldInfo> {
    let values = default.values(name);
    let text = |info: &FieldInfo| {
        values.iter().find(|value| value.name == info.name).map(|value| value.text.clone())
    };
    infos.into_iter().map(|info| FieldInfo { required: false, default: text(&info), ..info }).collect()
}

/// Marks fields as those of the schedule.
pub fn schedule_infos(infos: Vec<FieldInfo>) -> Vec<FieldInfo> {
    infos.into_iter().map(|info| FieldInfo { schedule: true, ..info }).collect()
}

/// Marks values as those of the schedule.
pub fn schedule_values(values: Vec<FieldValue>) -> Vec<FieldValue> {
    values.into_iter().map(|value| FieldValue { schedule: true, ..value }).collect()
}

/// Refuses a field outside of its range.
pub fn in_range<T: Baked + PartialOrd>(
    name: &'static str,
    value: T,
    range: impl std::ops::RangeBounds<T> + std::fmt::Debug,
) -> Result<T, FieldError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let allowed = format!("in the range {range:?}");
    Err(FieldError::Invalid { name: name.to_owned(), value: value.text(), allowed })
}

/// Values compared and hashed by their bits, so that floats can be part of a key.
pub trait ByBits {
    /// The bits.
    type Bits: Eq + Hash;

    /// The bits.
    fn by_bits(&self) -> Self::Bits;
}

impl ByBits for f32 {
    type Bits = u32;

    fn by_bits(&self) -> u32 {
        self.to_bits()
    }
}

impl ByBits for f64 {
    type Bits = u64;

    fn by_bits(&self) -> u64 {
        self.to_bits()
    }
}

impl<T: ByBits> ByBits for Option<T> {
    type Bits = Option<T::Bits>;

    fn by_bits(&self) -> Option<T::Bits> {
        self.as_ref().map(T::by_bits)
    }
}

impl<T: ByBits, const N: usize> ByBits for [T; N] {
    type Bits = [T::Bits; N];

    fn by_bits(&self) -> [T::Bits; N] {
        self.each_ref().map(T::by_bits)
    }
}

impl<T: ByBits> ByBits for Vec<T> {
    type Bits = Vec<T::Bits>;

    fn by_bits(&self) -> Vec<T::Bits> {
        self.iter().map(T::by_bits).collect()
    }
}

/// The threads of a block: a number, or up to three.
#[diagnostic::on_unimplemented(
    message = "`block` is a number of threads, `(x, y)` or `(x, y, z)`, found `{Self}`",
    label = "not a block"
)]
pub trait IntoBlock {
    /// Threads along x, y and z.
    fn into_block(self) -> [u32; 3];
}

impl IntoBlock for u32 {
    fn into_block(self) -> [u32; 3] {
        [self, 1, 1]
    }
}

impl IntoBlock for (u32, u32) {
    fn into_block(self) -> [u32; 3] {
        [self.0, self.1, 1]
    }
}

impl IntoBlock for (u32, u32, u32) {
    fn into_block(self) -> [u32; 3] {
        [self.0, self.1, self.2]
    }
}

impl IntoBlock for [u32; 3] {
    fn into_block(self) -> [u32; 3] {
        self
    }
}
