//! The pinned assemblers of `cargo xtask ptxas`.

use std::path::PathBuf;
use std::process::Command;

use ptxsmith_builder::target::Target;

/// One of the pinned assemblers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The newest one.
    Newest,
    /// The one that matches the oldest driver that is supported.
    Driver,
}

/// Where an assembler is.
///
/// # Panics
/// Where it is not installed: a test that needs it fails.
pub fn ptxas(role: Role) -> PathBuf {
    let list = crate::root().join(".ptxas").join("paths.json");
    let text = std::fs::read_to_string(&list)
        .unwrap_or_else(|error| panic!("no pinned assemblers ({error}); run `cargo xtask ptxas`"));
    let parsed: serde_json::Value = serde_json::from_str(&text).expect("paths.json is JSON");
    let role = match role {
        Role::Newest => "newest",
        Role::Driver => "driver",
    };
    PathBuf::from(
        parsed[role]["path"].as_str().unwrap_or_else(|| panic!("paths.json names no {role} assembler")),
    )
}

/// Assembles a text; spills and local memory are errors. Returns what the assembler says, errors as `Err`.
pub fn assemble(role: Role, target: Target, text: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = folder.path().join("kernel.ptx");
    std::fs::write(&input, text).expect("the temporary folder is writable");
    let output = Command::new(ptxas(role))
        .arg(format!("-arch={target}"))
        .args(["-v", "-warn-spills", "-warn-lmem-usage", "-Werror", "-o"])
        .arg(folder.path().join("kernel.cubin"))
        .arg(&input)
        .output()
        .expect("the assembler runs");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(said) } else { Err(said) }
}

/// Assembles a text with `-lineinfo` and tells whether the machine code names a source file of the author (`.rs`).
/// Returns what the assembler says, as `Err`, if it does not take the text or warns about it.
pub fn line_table(role: Role, target: Target, text: &str) -> Result<bool, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
    std::fs::write(&input, text).expect("the temporary folder is writable");
    let ran = Command::new(ptxas(role))
        .arg(format!("-arch={target}"))
        .args(["-lineinfo", "-Werror", "-o"])
        .args([&output, &input])
        .output()
        .expect("the assembler runs");
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned());
    }
    let code = std::fs::read(&output).expect("the assembler writes its result");
    Ok(code.windows(4).any(|bytes| bytes == b".rs\0"))
}
