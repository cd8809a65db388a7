//! Finds snapshots that no test reads and snapshots that wait for a review.
//!
//! A deleted or renamed test leaves its `.snap` file behind, and a reviewer takes the text in it for current. While the tests
//! run, insta appends the path of every snapshot it compares to the file named by `INSTA_SNAPSHOT_REFERENCES_FILE`; a `.snap`
//! file of the tree that is not among them is stale. This holds after a run of *all* tests only.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// Marks a folder as a cache of cargo or another tool, wherever it lies.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Fails with the list of all stale and pending snapshots below `root`; returns how many are current.
///
/// `references` holds one path a line; it is absent where no test compared a snapshot.
pub(crate) fn check(root: &Path, references: &Path) -> Result<usize> {
    let referenced = read_references(references)?;
    let (mut snapshots, mut problems) = (0, Vec::new());
    for file in snapshot_files(root)? {
        let name = file.strip_prefix(root).unwrap_or(&file).display();
        if is_pending(&file) {
            problems.push(format!("waits for review (cargo insta review, or remove it): {name}"));
        } else if referenced.contains(&canonical(&file)?) {
            snapshots += 1;
        } else {
            problems.push(format!("no test reads it (remove it): {name}"));
        }
    }
    if !problems.is_empty() {
        problems.sort();
        bail!("stale or pending snapshots: {}\n  {}", problems.len(), problems.join("\n  "));
    }
    Ok(snapshots)
}

fn read_references(file: &Path) -> Result<BTreeSet<PathBuf>> {
    match fs::read_to_string(file) {
        Ok(text) => text.lines().map(|line| canonical(Path::new(line))).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Two spellings of one path must compare equal: insta writes paths with `..` in them.
fn canonical(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).with_context(|| format!("cannot resolve {}", path.display()))
}

fn is_pending(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".snap.new") || name.ends_with(".pending-snap")
}

/// All snapshots and pending snapshots below `root`, outside caches. A pending inline snapshot is a hidden file, so only hidden
/// *folders* are passed over.
fn snapshot_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
                if !hidden && !path.join(CACHE_TAG).exists() {
                    pending.push(path);
                }
            } else if path.extension().is_some_and(|suffix| suffix == "snap") || is_pending(&path) {
                files.push(path);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with one referenced snapshot, plus `extra` files, and the verdict on it.
    fn check_with(extra: &[&str]) -> Result<usize> {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        put("tests/snapshots/read.snap", "");
        for name in extra {
            put(name, "");
        }
        let references = root.path().join("references");
        let spelled = root.path().join("tests").join("..").join("tests/snapshots/read.snap");
        put("references", &format!("{}\n", spelled.display()));
        check(root.path(), &references)
    }

    #[test]
    fn a_tree_with_only_referenced_snapshots_passes() {
        assert_eq!(check_with(&[]).unwrap(), 1);
    }

    #[test]
    fn a_snapshot_that_no_test_reads_is_named() {
        let error = check_with(&["tests/snapshots/left.snap"]).unwrap_err().to_string();
        assert!(error.contains("snapshots: 1\n"), "{error}");
        assert!(error.contains("no test reads it"), "{error}");
        assert!(error.contains("left.snap") && !error.contains("read.snap"), "{error}");
    }

    #[test]
    fn pending_snapshots_are_named() {
        let error = check_with(&["tests/snapshots/read.snap.new", "src/.lib.rs.pending-snap"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("snapshots: 2\n"), "{error}");
        assert!(error.contains("read.snap.new") && error.contains(".lib.rs.pending-snap"), "{error}");
    }

    #[test]
    fn caches_and_hidden_folders_are_passed_over() {
        let extra = ["build/CACHEDIR.TAG", "build/package/old.snap", ".git/old.snap"];
        assert_eq!(check_with(&extra).unwrap(), 1);
    }

    #[test]
    fn without_references_every_snapshot_is_stale() {
        let root = tempfile::tempdir().unwrap();
        let references = root.path().join("absent");
        assert_eq!(check(root.path(), &references).unwrap(), 0);
        fs::write(root.path().join("a.snap"), "").unwrap();
        assert!(check(root.path(), &references).is_err());
    }
}
