//! Reads tensors from safetensors files, and writes them.
//!
//! Only the header and the tensors asked for are read, so that a file may be larger than memory. The header's size is checked
//! against the file before anything is allocated for it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ptxsmith_builder::types::Dtype;
use safetensors::tensor::{Metadata, TensorView};
use safetensors::{Dtype as FileDtype, serialize};

use crate::element::{Element, USABLE};
use crate::error::Error;

/// Bytes of the number in front of the header.
const PREFIX: u64 = 8;
/// Largest header that is read, as in the safetensors format.
const MAX_HEADER: u64 = 100_000_000;

/// An open file of tensors.
#[derive(Debug)]
pub(crate) struct TensorFile {
    path: PathBuf,
    file: File,
    /// Where the data begin.
    start: u64,
    header: Metadata,
}

/// A tensor of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tensor {
    /// Its name in the file.
    pub(crate) name: String,
    /// How its bytes are read.
    pub(crate) element: Element,
    /// The dtype as messages name it.
    pub(crate) dtype: String,
    /// Dimensions, outermost first.
    pub(crate) dims: Vec<u64>,
    /// The elements, row-major, little-endian.
    pub(crate) bytes: Vec<u8>,
}

impl TensorFile {
    /// Opens a file and checks its header.
    pub(crate) fn open(path: &Path) -> Result<TensorFile, Error> {
        let unreadable = |source: io::Error| Error::Read { path: path.to_path_buf(), source };
        let broken = |reason: String| Error::Tensors { path: path.to_path_buf(), reason };
        let mut file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(unreadable(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")));
        }
        let len = metadata.len();
        if len < PREFIX {
            return Err(broken(format!("it has {len} bytes, the shortest one has {PREFIX} and a header")));
        }
        let mut prefix = [0; PREFIX as usize];
        file.read_exact(&mut prefix).map_err(unreadable)?;
        let header_len = u64::from_le_bytes(prefix);
        let limit = MAX_HEADER.min(len - PREFIX);
        if header_len > limit {
            return Err(broken(format!("its header claims {header_len} bytes, the limit is {limit}")));
        }
        let mut header = vec![0; header_len as usize];
        file.read_exact(&mut header).map_err(unreadable)?;
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|error| broken(format!("its header is unreadable: {error}")))?;
        let start = PREFIX + header_len;
        let (has, needs) = (len - start, header.data_len() as u64);
        if has != needs {
            return Err(broken(format!("it has {has} bytes of data, its header describes {needs}")));
        }
        Ok(TensorFile { path: path.to_path_buf(), file, start, header })
    }

    /// Reads a tensor.
    pub(crate) fn read(&mut self, name: &str) -> Result<Tensor, Error> {
        let Some(info) = self.header.info(name) else {
            let mut known_names = self.header.offset_keys();
            known_names.sort();
            return Err(Error::NoTensor { path: self.path.clone(), name: name.to_owned(), known_names });
        };
        let Some(element) = Element::of_file(info.dtype) else {
            let dtype = info.dtype.to_string();
            return Err(Error::TensorDtype { name: name.to_owned(), dtype, usable: USABLE });
        };
        let (begin, end) = info.data_offsets;
        let mut bytes = vec![0; end - begin];
        self.file
            .seek(SeekFrom::Start(self.start + begin as u64))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|source| Error::Read { path: self.path.clone(), source })?;
        Ok(Tensor {
            name: name.to_owned(),
            element,
            dtype: info.dtype.to_string().to_lowercase(),
            dims: info.shape.iter().map(|dim| *dim as u64).collect(),
            bytes,
        })
    }
}

/// The dtype that a file names an argument's dtype by.
const fn file_dtype(dtype: Dtype) -> FileDtype {
    match dtype {
        Dtype::F32 => FileDtype::F32,
        Dtype::F16 => FileDtype::F16,
        Dtype::Bf16 => FileDtype::BF16,
        Dtype::E4m3 => FileDtype::F8_E4M3,
        Dtype::E5m2 => FileDtype::F8_E5M2,
        Dtype::F64 => FileDtype::F64,
        Dtype::I8 => FileDtype::I8,
        Dtype::U8 => FileDtype::U8,
        Dtype::I32 => FileDtype::I32,
        Dtype::U32 => FileDtype::U32,
        Dtype::I64 => FileDtype::I64,
        Dtype::U64 => FileDtype::U64,
    }
}

/// The bytes of a file with these tensors.
pub(crate) fn to_file<'a>(
    path: &Path,
    tensors: impl Iterator<Item = (&'a str, Dtype, &'a [u64], &'a [u8])>,
) -> Result<Vec<u8>, Error> {
    let broken = |error: safetensors::SafeTensorError| Error::Write {
        path: path.to_path_buf(),
        source: io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
    };
    let mut views = Vec::new();
    for (name, dtype, dims, bytes) in tensors {
        let dims = dims.iter().map(|dim| *dim as usize).collect();
        views.push((name, TensorView::new(file_dtype(dtype), dims, bytes).map_err(broken)?));
    }
    serialize(views, None).map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.safetensors");
        std::fs::write(&path, bytes).expect("written");
        (folder, path)
    }

    fn sample() -> Vec<u8> {
        let x = 1.5f32.to_le_bytes();
        let tensors = [("x", Dtype::F32, &[1u64, 1][..], &x[..]), ("e", Dtype::Bf16, &[0, 4][..], &[][..])];
        to_file(Path::new("sample"), tensors.into_iter()).expect("serialized")
    }

    #[test]
    fn tensors_come_back() {
        let (_folder, path) = write(&sample());
        let mut file = TensorFile::open(&path).expect("whole");
        let x = file.read("x").expect("there");
        assert_eq!((x.dims, x.bytes), (vec![1, 1], 1.5f32.to_le_bytes().to_vec()));
        assert_eq!(file.read("e").expect("there").dims, [0, 4]);
        let error = file.read("xs").expect_err("absent").to_string();
        assert!(error.contains("no tensor `xs`; it has e, x (did you mean `x`?)"), "{error}");
    }

    #[test]
    fn every_truncation_is_refused() {
        let whole = sample();
        for len in 0..whole.len() {
            let (_folder, path) = write(&whole[..len]);
            let error = TensorFile::open(&path).expect_err("truncated").to_string();
            assert!(!error.contains('\n') && error.contains("t.safetensors"), "{len}: {error}");
        }
    }

    #[test]
    fn a_header_that_claims_too_much_is_not_allocated() {
        let mut bytes = u64::MAX.to_le_bytes().to_vec();
        bytes.extend_from_slice(b"{}");
        let (_folder, path) = write(&bytes);
        let error = TensorFile::open(&path).expect_err("a lie").to_string();
        assert!(error.contains("claims 18446744073709551615 bytes, the limit is 2"), "{error}");
    }

    #[test]
    fn shapes_that_overflow_are_refused() {
        let header = br#"{"x":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,4]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header);
        bytes.extend_from_slice(&[0; 4]);
        let (_folder, path) = write(&bytes);
        assert!(TensorFile::open(&path).is_err());
    }
}
