//! Installs the pinned NVIDIA tools into `.ptxas/` and writes down where they are.
//!
//! The folder, which git ignores and which belongs to this module alone:
//!
//! ```text
//! .ptxas/nvidia-cuda-nvcc-13.5.37/…   one folder per package and version, as pip laid it out
//! .ptxas/partial/                     an installation in progress or interrupted; never used
//! .ptxas/lock                         held while installing
//! .ptxas/paths.json                   {"newest": {"package": "…", "version": "…", "path": "/…/ptxas"}, …}
//! ```
//!
//! `paths.json` maps each role of `ptxas-pins.toml` to the absolute path of its program; readers need nothing else. It is a
//! file and not links, because Windows makes links for administrators only.
//!
//! An installation is made in `partial` and renamed when it is whole, and each program is asked for its version before it is
//! recorded, so a folder that is interrupted, damaged or of another version is made anew and never read. The tools are
//! proprietary: they are fetched by each user and never part of the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::{ARCH, EXE_SUFFIX, OS};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use crate::Outcome;
use crate::pins::{self, Pin};

/// Operating systems and architectures that the packages exist for, in Rust's names.
const SUPPORTED: &[(&str, &str)] = &[("linux", "x86_64"), ("linux", "aarch64"), ("windows", "x86_64")];

/// pip settings under which `--target` fails or installs something else; a user may have them set for good reasons elsewhere.
/// Index, proxy and certificate settings are left alone.
const PIP_SETTINGS_REMOVED: &[&str] =
    &["PIP_DRY_RUN", "PIP_NO_BINARY", "PIP_PREFIX", "PIP_ROOT", "PIP_TARGET"];

/// One entry of `paths.json`.
#[derive(Serialize)]
struct Installed<'a> {
    package: &'a str,
    version: &'a str,
    path: PathBuf,
}

/// Brings `.ptxas/` under `root` to the pinned versions; does nothing but check where they are there already.
///
/// # Errors
/// When python or pip is missing, pip fails, or an installed program does not report the pinned version.
pub(crate) fn install(root: &Path) -> Result<Outcome> {
    if !SUPPORTED.contains(&(OS, ARCH)) {
        return Ok(Outcome::NotRun(format!("NVIDIA publishes no assembler for {OS} on {ARCH}")));
    }
    let pins = pins::load()?;
    let folder = root.join(".ptxas");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let lock =
        File::create(folder.join("lock")).with_context(|| format!("cannot lock {}", folder.display()))?;
    lock.lock().with_context(|| format!("cannot lock {}", folder.display()))?;

    let mut installed = BTreeMap::new();
    for (role, pin) in &pins {
        let home = folder.join(pin.folder());
        let path = match working_program(&home, pin) {
            Ok(path) => path,
            Err(_) => {
                fetch(&folder, pin)?;
                working_program(&home, pin).with_context(|| {
                    format!("{} {} was installed but does not work", pin.package, pin.version)
                })?
            }
        };
        println!("{role}: {} {} at {}", pin.binary, pin.version, path.display());
        installed.insert(role, Installed { package: &pin.package, version: &pin.version, path });
    }
    write_if_changed(&folder, &(serde_json::to_string_pretty(&installed)? + "\n"))?;
    let wanted = pins.values().map(Pin::folder).collect();
    remove_other_folders(&folder, &wanted)?;
    Ok(Outcome::Done)
}

/// The program of `pin` below `home`, after it has reported the pinned version.
fn working_program(home: &Path, pin: &Pin) -> Result<PathBuf> {
    let path = find_file(home, &format!("{}{EXE_SUFFIX}", pin.binary))?;
    let output = Command::new(&path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !reports_version(&text, &pin.version) {
        bail!("{} --version does not name {}: {}", path.display(), pin.version, text.trim());
    }
    Ok(path)
}

/// Whether a tool's `--version` text names exactly `version`, written there as a word `V13.5.37`.
fn reports_version(text: &str, version: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || c == ',').any(|word| word.strip_prefix('V') == Some(version))
}

/// The only file called `name` at any depth below `home`: packages have moved their folder of programs between versions.
fn find_file(home: &Path, name: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![home.to_path_buf()];
    while let Some(folder) = pending.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            } else if entry.file_name() == OsStr::new(name) {
                found.push(entry.path());
            }
        }
    }
    match &found[..] {
        [path] => Ok(path.clone()),
        [] => bail!("no file {name} below {}", home.display()),
        _ => bail!("{} files {name} below {}, expected 1", found.len(), home.display()),
    }
}

/// Installs the package of `pin` into its folder below `folder`, replacing what is there.
fn fetch(folder: &Path, pin: &Pin) -> Result<()> {
    let python = python_with_pip()?;
    println!("installing {} {} with {python} -m pip", pin.package, pin.version);
    let partial = folder.join("partial");
    remove_folder(&partial)?;
    let mut pip = Command::new(python);
    // `--target` leaves the interpreter's own packages alone, so an externally managed python allows it.
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target"])
        .arg(&partial)
        .arg(format!("{}=={}", pin.package, pin.version))
        .env("PIP_USER", "0")
        .env("PIP_REQUIRE_VIRTUALENV", "0")
        .env("PIP_NO_INPUT", "1")
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("PIP_ROOT_USER_ACTION", "ignore")
        .stdin(Stdio::null());
    for name in PIP_SETTINGS_REMOVED {
        pip.env_remove(name);
    }
    let output = pip.output().with_context(|| format!("cannot start `{python} -m pip`"))?;
    if !output.status.success() {
        bail!(
            "`{python} -m pip install {}=={}` ended with {}:\n{}",
            pin.package,
            pin.version,
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let home = folder.join(pin.folder());
    remove_folder(&home)?;
    fs::rename(&partial, &home)
        .with_context(|| format!("cannot rename {} to {}", partial.display(), home.display()))
}

/// The first command that starts a python with pip.
fn python_with_pip() -> Result<&'static str> {
    let candidates: &[&str] =
        if cfg!(windows) { &["python3", "python", "py"] } else { &["python3", "python"] };
    let works = |python: &&&str| {
        Command::new(python)
            .args(["-m", "pip", "--version"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    candidates.iter().find(works).copied().with_context(|| {
        format!(
            "`python3 -m pip` does not run (tried {}): the assemblers are Python packages, so install python3 and its pip",
            candidates.join(", ")
        )
    })
}

/// Writes `paths.json` in one step, so that a test that reads it meanwhile sees the old or the new file, never half of one.
fn write_if_changed(folder: &Path, text: &str) -> Result<()> {
    let file = folder.join("paths.json");
    if fs::read_to_string(&file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let partial = folder.join("paths.json.partial");
    fs::write(&partial, text).with_context(|| format!("cannot write {}", partial.display()))?;
    fs::rename(&partial, &file).with_context(|| format!("cannot write {}", file.display()))
}

/// Removes what an earlier pin or an interrupted run left behind.
fn remove_other_folders(folder: &Path, wanted: &BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let keep = entry.file_name().to_str().is_some_and(|name| wanted.contains(name));
        if entry.file_type()?.is_dir() && !keep {
            remove_folder(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_matched_whole() {
        let text =
            "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.5, V13.5.37\n";
        assert!(reports_version(text, "13.5.37"));
        assert!(!reports_version(text, "13.5.3"));
        assert!(!reports_version(text, "13.5"));
        assert!(!reports_version("", "13.5.37"));
    }

    #[test]
    fn a_program_is_found_at_any_depth_and_only_once() {
        let home = tempfile::tempdir().unwrap();
        assert!(find_file(home.path(), "ptxas").unwrap_err().to_string().contains("no file ptxas"));
        for place in ["a/b/bin", "c"] {
            let folder = home.path().join(place);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("ptxas"), "").unwrap();
            let found = find_file(home.path(), "ptxas");
            match place {
                "c" => assert!(found.unwrap_err().to_string().contains("2 files ptxas")),
                _ => assert_eq!(found.unwrap(), folder.join("ptxas")),
            }
        }
        assert!(find_file(&home.path().join("absent"), "ptxas").is_err());
    }

    #[test]
    fn only_pinned_folders_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["tool-1", "tool-2", "partial"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("paths.json"), "{}").unwrap();
        remove_other_folders(folder.path(), &BTreeSet::from(["tool-2".to_owned()])).unwrap();
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["paths.json", "tool-2"]);
    }
}
