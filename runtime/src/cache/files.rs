//! The file operations of the disk cache, each of which a test can make fail.

use std::fs::{self, File, ReadDir};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::fault::{Point, at};

/// The error of an operation that a test makes fail.
fn failing(point: Point) -> io::Result<()> {
    at(point).map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code.cast_signed())))
}

/// Opens a file to read it.
pub(super) fn open(path: &Path) -> io::Result<File> {
    failing(Point::Open)?;
    File::open(path)
}

/// Reads the rest of a file.
pub(super) fn read(file: &mut File) -> io::Result<Vec<u8>> {
    failing(Point::Read)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a new file that only its owner may read.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let half = &bytes[..bytes.len() / 2];
    if at(Point::Tear).is_some() {
        return file.write_all(half);
    }
    if let Err(error) = failing(Point::Write) {
        file.write_all(half)?;
        return Err(error);
    }
    file.write_all(bytes)
}

/// Gives a file its name.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    failing(Point::Rename)?;
    fs::rename(from, to)
}

/// Lists a folder.
pub(super) fn list(folder: &Path) -> io::Result<ReadDir> {
    failing(Point::List)?;
    fs::read_dir(folder)
}
