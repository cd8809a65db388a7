//! Writes files whole or not at all.
//!
//! A file is written under another name beside its place and renamed, so that an interrupted or failed run leaves what was
//! there. Several files of one command are all written before the first is renamed. What is not a regular file (a pipe, a
//! device) is written in place: renaming would replace it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;

/// Files that are written but not yet in their places.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    staged: Vec<Staged>,
}

#[derive(Debug)]
enum Staged {
    /// Renamed to the path.
    Rename(NamedTempFile, PathBuf),
    /// Written to the path.
    Write(File, Vec<u8>, PathBuf),
}

impl Outputs {
    /// Writes `bytes` for `path`.
    pub(crate) fn stage(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let staged =
            stage(path, bytes).map_err(|source| Error::Write { path: path.to_path_buf(), source })?;
        self.staged.push(staged);
        Ok(())
    }

    /// Puts every file in its place.
    pub(crate) fn commit(self) -> Result<(), Error> {
        for staged in self.staged {
            let (path, result) = match staged {
                Staged::Rename(file, path) => {
                    let result = file.persist(&path).map(|_| ()).map_err(|error| error.error);
                    (path, result)
                }
                Staged::Write(mut file, bytes, path) => {
                    let result = file.write_all(&bytes);
                    (path, result)
                }
            };
            result.map_err(|source| Error::Write { path, source })?;
        }
        Ok(())
    }
}

fn stage(path: &Path, bytes: &[u8]) -> io::Result<Staged> {
    let existing = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(metadata) = &existing {
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        if metadata.permissions().readonly() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
        }
        if !metadata.is_file() {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Staged::Write(file, bytes.to_vec(), path.to_path_buf()));
        }
    }
    // A link keeps pointing where it did, and its target is replaced.
    let place = if existing.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ptxsmith-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The process's mask applies, as to any file that a program creates.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.flush()?;
    if let Some(metadata) = existing {
        fs::set_permissions(file.path(), metadata.permissions())?;
    }
    Ok(Staged::Rename(file, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_every_file_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let (good, bad) = (folder.path().join("a"), folder.path().join("none").join("b"));
        fs::write(&good, "old").expect("written");
        let mut outputs = Outputs::default();
        outputs.stage(&good, b"new").expect("staged");
        let error = outputs.stage(&bad, b"new").expect_err("no such folder").to_string();
        assert!(error.contains(&bad.display().to_string()), "{error}");
        drop(outputs);
        assert_eq!(fs::read(&good).expect("still there"), b"old");
        let names = fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(names, 1, "temporary files are gone");
    }

    #[test]
    fn files_are_replaced_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        for text in ["a longer first text", "short"] {
            let mut outputs = Outputs::default();
            outputs.stage(&path, text.as_bytes()).expect("staged");
            outputs.commit().expect("renamed");
            assert_eq!(fs::read_to_string(&path).expect("read"), text);
        }
    }

    #[test]
    fn folders_and_read_only_files_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Outputs::default().stage(folder.path(), b"").is_err());
        let path = folder.path().join("a");
        fs::write(&path, "old").expect("written");
        let mut permissions = fs::metadata(&path).expect("there").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).expect("set");
        let error = Outputs::default().stage(&path, b"").expect_err("read-only").to_string();
        assert!(error.contains("read-only"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_links_stay_what_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut outputs = Outputs::default();
        outputs.stage(Path::new("/dev/null"), b"text").expect("staged");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").expect("written");
        std::os::unix::fs::symlink(&target, &link).expect("linked");
        outputs.stage(&link, b"new").expect("staged");
        outputs.commit().expect("written");
        assert!(!fs::metadata("/dev/null").expect("there").is_file());
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&target).expect("read"), b"new");
    }
}
