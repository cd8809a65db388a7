//! One argument of a launch: a borrowed buffer, whoever owns it, with the dtype it is to be read as.
//!
//! cudarc's slices and views become a [`BufferArg`] without a copy, `&` for what the kernel reads and `&mut` for what it
//! writes, so that the borrow checker keeps a written buffer from being another argument too. cudarc orders the uses of
//! a buffer on several streams by events; they are waited for and recorded around each launch as its own calls do.
//!
//! Limits: a view has to be passed by reference (`(&mut view).into()`), since cudarc cannot retype an owned one.

use std::fmt;

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, DeviceRepr};
use ptxsmith_builder::types::Dtype;

use crate::emulated::EmulatedBuffer;

/// A Rust type that is the element of a buffer.
pub trait Element: DeviceRepr {
    /// The dtype of a buffer of it.
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($ty:ty: $dtype:ident,)*) => {$(
        impl Element for $ty {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

elements! {
    f32: F32,
    half::f16: F16,
    half::bf16: Bf16,
    f64: F64,
    i8: I8,
    u8: U8,
    i32: I32,
    u32: U32,
    i64: I64,
    u64: U64,
}

/// A buffer borrowed for a launch, with the dtype of its elements.
pub struct BufferArg<'a> {
    pub(crate) memory: Borrowed<'a>,
    pub(crate) dtype: Dtype,
}

/// Who owns a borrowed buffer, and whether it may be written.
pub(crate) enum Borrowed<'a> {
    View(CudaView<'a, u8>),
    ViewMut(CudaViewMut<'a, u8>),
    Emulated(&'a EmulatedBuffer),
    EmulatedMut(&'a mut EmulatedBuffer),
    Raw { address: u64, bytes: u64 },
}

impl<'a> BufferArg<'a> {
    /// Bytes on a CUDA device, to be read as elements of a dtype; for dtypes that Rust has no type for.
    pub fn bytes(slice: &'a CudaSlice<u8>, dtype: Dtype) -> BufferArg<'a> {
        BufferArg { memory: Borrowed::View(slice.as_view()), dtype }
    }

    /// Bytes on a CUDA device, to be written as elements of a dtype.
    pub fn bytes_mut(slice: &'a mut CudaSlice<u8>, dtype: Dtype) -> BufferArg<'a> {
        BufferArg { memory: Borrowed::ViewMut(slice.as_view_mut()), dtype }
    }

    /// An address in device memory that nobody's type stands for.
    ///
    /// # Safety
    /// `bytes` bytes at `address` are device memory of the context that the launch goes to. They stay allocated until the
    /// launched kernel has run; until then nobody else writes them nor, where the argument is written, reads them. Work
    /// that uses them on other streams is ordered by the caller.
    pub unsafe fn from_raw(address: u64, bytes: u64, dtype: Dtype) -> BufferArg<'a> {
        BufferArg { memory: Borrowed::Raw { address, bytes }, dtype }
    }

    /// The dtype of the elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Length in bytes.
    pub fn byte_len(&self) -> u64 {
        match &self.memory {
            Borrowed::View(view) => view.len() as u64,
            Borrowed::ViewMut(view) => view.len() as u64,
            Borrowed::Emulated(buffer) => buffer.len() as u64,
            Borrowed::EmulatedMut(buffer) => buffer.len() as u64,
            Borrowed::Raw { bytes, .. } => *bytes,
        }
    }

    /// Whether the kernel may write it.
    pub fn is_writable(&self) -> bool {
        matches!(self.memory, Borrowed::ViewMut(_) | Borrowed::EmulatedMut(_) | Borrowed::Raw { .. })
    }
}

impl fmt::Debug for BufferArg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = if self.is_writable() { "mut " } else { "" };
        write!(f, "{access}{}[{} bytes]", self.dtype, self.byte_len())
    }
}

impl<'a, T: Element> From<&'a CudaSlice<T>> for BufferArg<'a> {
    fn from(slice: &'a CudaSlice<T>) -> BufferArg<'a> {
        // SAFETY: every initialized or not yet written device byte is a `u8`; nothing reads them on the host.
        let view = unsafe { slice.transmute(slice.num_bytes()) };
        BufferArg { memory: view.map_or(EMPTY, Borrowed::View), dtype: T::DTYPE }
    }
}

impl<'a, T: Element> From<&'a mut CudaSlice<T>> for BufferArg<'a> {
    fn from(slice: &'a mut CudaSlice<T>) -> BufferArg<'a> {
        let bytes = slice.num_bytes();
        // SAFETY: as above; the kernel writes elements of the dtype that `T` stands for, for which every bit pattern is
        // a value.
        let view = unsafe { slice.transmute_mut(bytes) };
        BufferArg { memory: view.map_or(EMPTY, Borrowed::ViewMut), dtype: T::DTYPE }
    }
}

impl<'a, T: Element> From<&CudaView<'a, T>> for BufferArg<'a> {
    fn from(view: &CudaView<'a, T>) -> BufferArg<'a> {
        // SAFETY: as for a slice.
        let view = unsafe { view.transmute(view.len() * size_of::<T>()) };
        BufferArg { memory: view.map_or(EMPTY, Borrowed::View), dtype: T::DTYPE }
    }
}

impl<'a, T: Element> From<&'a mut CudaViewMut<'_, T>> for BufferArg<'a> {
    fn from(view: &'a mut CudaViewMut<'_, T>) -> BufferArg<'a> {
        let bytes = view.len() * size_of::<T>();
        // SAFETY: as for a slice.
        let view = unsafe { view.transmute_mut(bytes) };
        BufferArg { memory: view.map_or(EMPTY, Borrowed::ViewMut), dtype: T::DTYPE }
    }
}

/// What a view that cannot be retyped becomes, which no launch takes for more than zero elements.
const EMPTY: Borrowed<'static> = Borrowed::Raw { address: 0, bytes: 0 };
