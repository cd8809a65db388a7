//! A buffer that a [`Device`](crate::Device) allocated: bytes on a CUDA device or in the emulator.
//!
//! Programs that own cudarc slices pass those instead; this type is for tools that run the same code on both devices.

use cudarc::driver::CudaSlice;
use ptxsmith_builder::types::Dtype;

use crate::argument::{Borrowed, BufferArg};
use crate::emulated::EmulatedBuffer;

/// Bytes on a device, with a name for messages.
#[derive(Debug)]
pub struct Buffer {
    pub(crate) name: String,
    pub(crate) memory: Memory,
}

#[derive(Debug)]
pub(crate) enum Memory {
    Cuda(CudaSlice<u8>),
    Emulated(EmulatedBuffer),
}

impl Buffer {
    /// Name given at allocation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Length in bytes.
    pub fn byte_len(&self) -> usize {
        match &self.memory {
            Memory::Cuda(slice) => slice.len(),
            Memory::Emulated(buffer) => buffer.len(),
        }
    }

    /// The argument of a kernel that reads it as elements of `dtype`.
    pub fn read(&self, dtype: Dtype) -> BufferArg<'_> {
        match &self.memory {
            Memory::Cuda(slice) => BufferArg::bytes(slice, dtype),
            Memory::Emulated(buffer) => BufferArg { memory: Borrowed::Emulated(buffer), dtype },
        }
    }

    /// The argument of a kernel that writes it as elements of `dtype`, or reads and writes it.
    pub fn write(&mut self, dtype: Dtype) -> BufferArg<'_> {
        match &mut self.memory {
            Memory::Cuda(slice) => BufferArg::bytes_mut(slice, dtype),
            Memory::Emulated(buffer) => BufferArg { memory: Borrowed::EmulatedMut(buffer), dtype },
        }
    }

    /// The slice of a buffer on a CUDA device.
    pub fn as_cuda(&self) -> Option<&CudaSlice<u8>> {
        match &self.memory {
            Memory::Cuda(slice) => Some(slice),
            Memory::Emulated(_) => None,
        }
    }

    /// The slice of a buffer on a CUDA device.
    pub fn as_cuda_mut(&mut self) -> Option<&mut CudaSlice<u8>> {
        match &mut self.memory {
            Memory::Cuda(slice) => Some(slice),
            Memory::Emulated(_) => None,
        }
    }
}
