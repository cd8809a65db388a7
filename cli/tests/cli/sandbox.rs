//! A folder of files that the program is started in.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON: {error}: {self:?}"))
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        self
    }
}

/// A tensor to write: name, dtype and dimensions as safetensors names them, elements as little-endian bytes.
pub(crate) struct Tensor(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) Vec<usize>,
    pub(crate) Vec<u8>,
);

impl Tensor {
    pub(crate) fn f32(name: &'static str, dims: &[usize], values: &[f32]) -> Tensor {
        Tensor(name, "F32", dims.to_vec(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    pub(crate) fn f64(name: &'static str, dims: &[usize], values: &[f64]) -> Tensor {
        Tensor(name, "F64", dims.to_vec(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }
}

/// A temporary folder.
pub(crate) struct Sandbox(TempDir);

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("read")
    }

    /// Writes a safetensors file byte by byte, so that the program's own writer is not what it is tested with.
    pub(crate) fn tensors(&self, name: &str, tensors: &[Tensor]) {
        let (mut entries, mut data) = (Vec::new(), Vec::new());
        for Tensor(name, dtype, dims, bytes) in tensors {
            let (begin, end) = (data.len(), data.len() + bytes.len());
            entries.push(format!(
                r#""{name}":{{"dtype":"{dtype}","shape":{dims:?},"data_offsets":[{begin},{end}]}}"#
            ));
            data.extend_from_slice(bytes);
        }
        let header = format!("{{{}}}", entries.join(","));
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(&data);
        self.write(name, file);
    }

    /// Starts the program in the folder; words are separated by blanks.
    pub(crate) fn run(&self, line: &str) -> Ran {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.run_words(&words)
    }

    pub(crate) fn run_words(&self, words: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_ptxsmith"))
            .args(words)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .output()
            .expect("started");
        Ran {
            code: output.status.code().expect("not ended by a signal"),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Names of the files in the folder.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .expect("listed")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }
}

/// The sample of real activations in the repository.
pub(crate) fn sample() -> String {
    format!("{}/../samples/smollm2_layer0.safetensors", env!("CARGO_MANIFEST_DIR"))
}
