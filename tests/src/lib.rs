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

/// The folder with golden vectors of other people's models, if this run was told of one. `cargo xtask test` names it
/// where it lies beside the checkout, and says that the suite is not run where it does not.
pub fn shared() -> Option<PathBuf> {
    std::env::var_os("PTXSMITH_SHARED").map(PathBuf::from)
}
