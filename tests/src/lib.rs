//! What the integration tests share: numbers in every dtype, seeded inputs, kernels run on the emulator, the pinned
//! assemblers.

pub mod assembler;
pub mod numbers;
pub mod run;

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder with golden vectors of other people's models. `cargo xtask test` names it where it lies beside the checkout and
/// builds the tests that read it; where it is absent it says that they are not run.
///
/// # Panics
/// Where `PTXSMITH_SHARED` does not name it.
#[cfg(feature = "shared")]
pub fn shared() -> PathBuf {
    std::env::var_os("PTXSMITH_SHARED")
        .map(PathBuf::from)
        .expect("PTXSMITH_SHARED names the folder with golden/")
}
