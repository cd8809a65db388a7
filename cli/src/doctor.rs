//! `ptxsmith doctor`: what of driver, devices, assembler and cache is there, and what to do about what is not.
//!
//! Nothing here is an error: the emulator needs none of it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ptxsmith_runtime::{device_count, device_info, driver_version};
use serde_json::{Value, json};

use crate::args::Doctor;
use crate::outcome::Outcome;
use crate::table;

/// What the process was started with.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// The current folder.
    pub(crate) folder: Option<PathBuf>,
    /// Folders of programs.
    pub(crate) path: Option<OsString>,
    /// Where compiled kernels are kept.
    pub(crate) cache: Option<PathBuf>,
}

/// The folder where compiled kernels are kept, from environment variables.
pub(crate) fn cache_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library").join("Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    };
    absolute("PTXSMITH_CACHE_DIR").or_else(|| base.map(|base| base.join("ptxsmith")))
}

/// One thing that was looked for.
#[derive(Debug)]
struct Part {
    name: &'static str,
    found: bool,
    /// What is there, or what is missing.
    detail: String,
    /// What to do where it is missing.
    advice: Option<String>,
    /// More for programs.
    items: Vec<Value>,
}

/// Looks for everything.
pub(crate) fn doctor(args: &Doctor, surroundings: &Surroundings) -> Outcome {
    let parts = [driver(), devices(), assembler(surroundings), cache(surroundings.cache.as_deref())];
    if args.json {
        let all = parts.iter().map(|part| {
            let value = json!({
                "found": part.found, "detail": part.detail, "advice": part.advice, "items": part.items,
            });
            (part.name.to_owned(), value)
        });
        return Outcome::json(&Value::Object(all.collect()));
    }
    let mut rows = Vec::new();
    for part in &parts {
        let mark = if part.found { "found" } else { "absent" };
        rows.push([part.name.to_owned(), mark.to_owned(), part.detail.clone()]);
        rows.extend(
            part.advice.iter().map(|advice| [String::new(), String::new(), format!("to do: {advice}")]),
        );
    }
    rows.push([
        "emulator".to_owned(),
        "found".to_owned(),
        "built in; runs every kernel without a GPU".to_owned(),
    ]);
    Outcome::text(table::lines(&rows).join("\n") + "\n")
}

fn driver() -> Part {
    match driver_version() {
        Ok(version) => Part {
            name: "driver",
            found: true,
            detail: format!("CUDA {version}, PTX up to {}", version.max_ptx()),
            advice: None,
            items: vec![json!({ "cuda": version.to_string(), "ptx": version.max_ptx().to_string() })],
        },
        Err(error) => Part {
            name: "driver",
            found: false,
            detail: first_part(&error.to_string()),
            advice: Some(
                "to run on a GPU, install the NVIDIA display driver (into a container it is passed with --gpus all)"
                    .to_owned(),
            ),
            items: Vec::new(),
        },
    }
}

fn devices() -> Part {
    let count = device_count();
    let mut titles = Vec::new();
    let mut items = Vec::new();
    for ordinal in 0..count.as_ref().copied().unwrap_or(0) {
        match device_info(ordinal) {
            Ok(info) => {
                titles.push(format!("cuda:{ordinal} {} ({})", info.name, info.sm()));
                items.push(json!({
                    "device": format!("cuda:{ordinal}"),
                    "name": info.name,
                    "sm": info.sm(),
                    "targets": info.targets().iter().map(ToString::to_string).collect::<Vec<_>>(),
                    "memory_bytes": info.total_memory,
                }));
            }
            Err(error) => titles.push(format!("cuda:{ordinal} {}", first_part(&error.to_string()))),
        }
    }
    let (detail, advice) = match count {
        Ok(0) => (
            "the driver shows no device",
            Some("look for the GPU with nvidia-smi and in CUDA_VISIBLE_DEVICES"),
        ),
        Ok(_) => ("", None),
        Err(_) => ("no driver to ask", None),
    };
    let found = !items.is_empty();
    let detail = if titles.is_empty() { detail.to_owned() } else { titles.join(", ") };
    Part { name: "devices", found, detail, advice: advice.map(str::to_owned), items }
}

/// The pinned assemblers of the checkout around the current folder, else the one among the programs.
fn assembler(surroundings: &Surroundings) -> Part {
    let pinned = surroundings.folder.as_deref().and_then(pinned_assemblers);
    let items =
        pinned.or_else(|| surroundings.path.as_deref().and_then(assembler_on_path)).unwrap_or_default();
    let titles: Vec<String> = items
        .iter()
        .map(|tool| {
            format!("{} {}", tool["path"].as_str().unwrap_or(""), tool["version"].as_str().unwrap_or(""))
        })
        .collect();
    if items.is_empty() {
        let detail = "no .ptxas/paths.json in this folder or above, no ptxas on the path".to_owned();
        let advice =
            "cargo xtask ptxas installs the pinned one; only tests and resource reports need it".to_owned();
        return Part { name: "ptxas", found: false, detail, advice: Some(advice), items };
    }
    Part { name: "ptxas", found: true, detail: titles.join(", "), advice: None, items }
}

/// What the nearest `.ptxas/paths.json` lists, without tools that are gone.
fn pinned_assemblers(folder: &Path) -> Option<Vec<Value>> {
    let file = folder
        .ancestors()
        .map(|folder| folder.join(".ptxas").join("paths.json"))
        .find(|file| file.is_file())?;
    let roles: serde_json::Map<String, Value> = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    let tools: Vec<Value> = roles
        .iter()
        .filter(|(_, tool)| tool["path"].as_str().is_some_and(|path| is_assembler(Path::new(path))))
        .map(|(role, tool)| json!({ "role": role, "path": tool["path"], "version": tool["version"] }))
        .collect();
    (!tools.is_empty()).then_some(tools)
}

fn is_assembler(path: &Path) -> bool {
    path.is_file() && path.file_stem() == Some(OsStr::new("ptxas"))
}

fn assembler_on_path(path: &OsStr) -> Option<Vec<Value>> {
    let program = format!("ptxas{}", std::env::consts::EXE_SUFFIX);
    let file = std::env::split_paths(path).map(|folder| folder.join(&program)).find(|file| file.is_file())?;
    let output = Command::new(&file).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split([' ', ',', '\n']).find_map(|word| word.strip_prefix('V'));
    let path = file.display().to_string();
    Some(vec![json!({ "role": null, "path": path, "version": version.unwrap_or("of unknown version") })])
}

fn cache(folder: Option<&Path>) -> Part {
    let (found, detail, advice) = match folder {
        None => (
            false,
            "no folder for it: no home folder is set".to_owned(),
            Some("set PTXSMITH_CACHE_DIR to keep compiled kernels between runs".to_owned()),
        ),
        Some(folder) => match fs::metadata(folder) {
            Ok(metadata) if !metadata.is_dir() => {
                let advice = format!("remove {}, or set PTXSMITH_CACHE_DIR", folder.display());
                (false, format!("{} is not a folder", folder.display()), Some(advice))
            }
            Ok(metadata) if metadata.permissions().readonly() => {
                let advice = "make it writable, or set PTXSMITH_CACHE_DIR".to_owned();
                (true, format!("{} is read-only", folder.display()), Some(advice))
            }
            Ok(_) => (true, folder.display().to_string(), None),
            Err(_) => (
                false,
                format!("{} is not there yet; nothing needs it before a first use", folder.display()),
                None,
            ),
        },
    };
    let items = folder.map(|folder| json!({ "path": folder.display().to_string() })).into_iter().collect();
    Part { name: "cache", found, detail, advice, items }
}

/// What is wrong, without what to do about it, which is told apart.
fn first_part(text: &str) -> String {
    text.split([';', '\n']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_pin_file_is_read_and_lost_tools_are_left_out() {
        let root = tempfile::tempdir().expect("a folder");
        let inner = root.path().join("a").join("b");
        fs::create_dir_all(&inner).expect("made");
        fs::create_dir(root.path().join(".ptxas")).expect("made");
        let program = root.path().join("ptxas");
        let list = json!({
            "newest": { "path": program, "version": "13.5" },
            "driver": { "path": root.path().join("gone").join("ptxas"), "version": "13.0" },
            "nvdisasm": { "path": root.path(), "version": "13.5" },
        });
        fs::write(root.path().join(".ptxas").join("paths.json"), list.to_string()).expect("written");
        assert_eq!(pinned_assemblers(&inner), None, "no program is there yet");
        fs::write(&program, "").expect("written");
        let tools = pinned_assemblers(&inner).expect("one is there");
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0]["role"], "newest");
    }

    #[test]
    fn the_cache_folder_follows_the_platform_unless_it_is_set() {
        let root = if cfg!(windows) { "C:\\" } else { "/" };
        let home = |name: &str| matches!(name, "HOME" | "LOCALAPPDATA").then(|| OsString::from(root));
        assert!(cache_folder(home).expect("home is set").ends_with("ptxsmith"));
        assert_eq!(cache_folder(|_| None), None);
        let set = |name: &str| (name == "PTXSMITH_CACHE_DIR").then(|| OsString::from(root));
        assert_eq!(cache_folder(set), Some(PathBuf::from(root)));
    }

    #[test]
    fn a_cache_that_is_no_folder_gets_advice() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let part = cache(Some(file.path()));
        assert!(!part.found && part.advice.is_some_and(|advice| advice.contains("PTXSMITH_CACHE_DIR")));
    }
}
