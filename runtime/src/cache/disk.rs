//! Cubins on disk, shared by any number of processes without lock files.
//!
//! * A file is named after everything that its contents depend on: the text without comments, the full architecture, the
//!   options, the driver. What a file holds never changes; two processes that write it write the same.
//! * A file is written under a name of its own and renamed, so that no reader sees half of one. What a crash tears is
//!   caught by the checksum, which every read verifies together with length and name.
//! * Space is bounded: a write removes the files that were used longest ago until all fit.
//! * Nothing here is an error: a folder that cannot be read or written costs a compilation, and a line in the log.
//! * The folder is private: it is created for its owner alone, and one that others own or may write is not used.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::files;
use super::stats::{Counters, one};
use super::text::TextHash;
use crate::driver::info::DeviceInfo;

/// Where cubins are kept, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskOptions {
    /// The folder; it is created if it does not exist.
    pub folder: PathBuf,
    /// Most bytes that its files may take.
    pub max_bytes: u64,
}

/// Name of a file: SHA-256 of what its contents depend on.
pub(crate) type DiskKey = [u8; 32];

/// A usable folder.
#[derive(Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
    max_bytes: u64,
}

/// First bytes of every file; the last one is the version of the format.
const MAGIC: &[u8; 8] = b"ptxcubn\x01";
/// Magic, name, length and checksum of the payload.
const HEADER: usize = 8 + 32 + 8 + 32;
const SUFFIX: &str = "cubin";
const UNFINISHED: &str = "part";
/// A file under way is left alone for this long; after that, whoever wrote it is gone.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Tells the files of one process apart while they are written.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// The key of the machine code that the driver of a device makes of a text.
pub(crate) fn key(text: TextHash, device: &DeviceInfo) -> DiskKey {
    let mut hasher = Sha256::new();
    let mut part = |bytes: &[u8]| {
        // Lengths keep neighbors apart.
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(MAGIC);
    part(&text);
    part(device.sm().as_bytes());
    part(device.driver.to_string().as_bytes());
    part(device.driver_build.as_bytes());
    hasher.finalize().into()
}

impl Disk {
    /// Makes a folder usable; `None`, with a line in the log, if it is not to be had or not private.
    pub(crate) fn open(options: &DiskOptions) -> Option<Disk> {
        let folder = options.folder.clone();
        let usable = create_private(&folder).and_then(|()| check_private(&folder));
        match usable {
            Ok(()) => Some(Disk { folder, max_bytes: options.max_bytes }),
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "kernels are not cached on disk");
                None
            }
        }
    }

    /// The cubin of a key, if there is an undamaged one.
    pub(crate) fn read(&self, key: &DiskKey, counters: &Counters) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut file = match files::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a cached kernel cannot be read");
                return None;
            }
        };
        let bytes = match files::read(&mut file) {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a cached kernel cannot be read");
                return None;
            }
        };
        match unpack(key, bytes) {
            Ok(cubin) => {
                // Marks it as used; a read-only folder keeps the order of writing.
                if let Err(error) = file.set_modified(SystemTime::now()) {
                    tracing::trace!(path = %path.display(), %error, "the time of use is not kept");
                }
                Some(cubin)
            }
            Err(reason) => {
                tracing::warn!(path = %path.display(), reason, "a cached kernel is damaged");
                self.discard(key, counters);
                None
            }
        }
    }

    /// Keeps a cubin.
    pub(crate) fn write(&self, key: &DiskKey, cubin: &[u8], counters: &Counters) {
        let bytes = pack(key, cubin);
        if bytes.len() as u64 > self.max_bytes {
            tracing::debug!(
                bytes = bytes.len(),
                limit = self.max_bytes,
                "a kernel is too large for the cache"
            );
            return;
        }
        let unfinished = self.unfinished();
        let written = files::write_private(&unfinished, &bytes)
            .and_then(|()| files::rename(&unfinished, &self.path(key)));
        match written {
            Ok(()) => self.make_room(counters),
            Err(error) => {
                tracing::warn!(folder = %self.folder.display(), %error, "a kernel cannot be cached");
                // It may not exist, or not be removable: then the next sweep tries again.
                let _ = fs::remove_file(&unfinished);
            }
        }
    }

    /// Removes a file that turned out to be of no use.
    pub(crate) fn discard(&self, key: &DiskKey, counters: &Counters) {
        one(&counters.discarded);
        let path = self.path(key);
        if let Err(error) = fs::remove_file(&path) {
            tracing::debug!(path = %path.display(), %error, "a useless cached kernel cannot be removed");
        }
    }

    fn path(&self, key: &DiskKey) -> PathBuf {
        let mut name = String::with_capacity(2 * key.len() + SUFFIX.len() + 1);
        for byte in key {
            name.push_str(&format!("{byte:02x}"));
        }
        name.push('.');
        name.push_str(SUFFIX);
        self.folder.join(name)
    }

    /// A name that no other write of any process uses: processes differ in number, or in time where numbers repeat.
    fn unfinished(&self) -> PathBuf {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (process, write) = (std::process::id(), WRITES.fetch_add(1, Relaxed));
        self.folder.join(format!("{process}-{write}-{}.{UNFINISHED}", since.as_nanos()))
    }

    /// Removes what was used longest ago until the rest fits, and what crashed writers left behind.
    fn make_room(&self, counters: &Counters) {
        let listed = match files::list(&self.folder) {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(folder = %self.folder.display(), %error, "the cache cannot be listed");
                return;
            }
        };
        let now = SystemTime::now();
        let mut files = Vec::new();
        for entry in listed.flatten() {
            let path = entry.path();
            // Another process may remove it meanwhile.
            let Ok(metadata) = entry.metadata() else { continue };
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(SUFFIX) => files.push((used, metadata.len(), path)),
                Some(UNFINISHED) if now.duration_since(used).is_ok_and(|age| age > ABANDONED) => {
                    // Somebody else may be faster.
                    let _ = fs::remove_file(&path);
                }
                _ => {}
            }
        }
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort();
        for (_, bytes, path) in files {
            if total <= self.max_bytes {
                break;
            }
            if fs::remove_file(&path).is_ok() {
                one(&counters.evictions);
            }
            // Counted as gone also if another process was faster, or holds it open.
            total -= bytes;
        }
    }
}

fn pack(key: &DiskKey, cubin: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + cubin.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(&(cubin.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&Sha256::digest(cubin));
    bytes.extend_from_slice(cubin);
    bytes
}

/// Takes the payload out of a file of the given name; the error says what is wrong with it.
fn unpack(key: &DiskKey, mut bytes: Vec<u8>) -> Result<Vec<u8>, &'static str> {
    let Some((header, payload)) = bytes.split_at_checked(HEADER) else { return Err("it is cut off") };
    let (magic, rest) = header.split_at(MAGIC.len());
    let (name, rest) = rest.split_at(key.len());
    let (len, sum) = rest.split_at(8);
    if magic != MAGIC {
        return Err("it is of another format");
    }
    if name != key {
        return Err("it has the contents of another file");
    }
    if len != (payload.len() as u64).to_le_bytes() {
        return Err("it is not as long as it says");
    }
    if sum != &*Sha256::digest(payload) {
        return Err("its checksum is wrong");
    }
    bytes.drain(..HEADER);
    Ok(bytes)
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Refuses a folder that somebody else could put code into. Where the system shows no owners, it is taken as it is.
#[cfg(unix)]
fn check_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(folder)?;
    if metadata.mode() & 0o022 != 0 {
        let mode = metadata.mode() & 0o7777;
        return Err(io::Error::other(format!("others may write to it (mode {mode:o})")));
    }
    // The process's own folder belongs to its user; systems without one are not asked.
    if let Ok(own) = fs::metadata("/proc/self")
        && metadata.uid() != own.uid()
        && metadata.uid() != 0
    {
        return Err(io::Error::other(format!("user {} owns it, not user {}", metadata.uid(), own.uid())));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(folder: &Path) -> io::Result<()> {
    fs::metadata(folder).map(|_| ())
}

#[cfg(test)]
mod stress;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::info::tests::h200;
    use crate::fault::{Point, with};
    use std::fs::File;

    fn disk(folder: &Path, max_bytes: u64) -> Disk {
        let options = DiskOptions { folder: folder.to_owned(), max_bytes };
        Disk::open(&options).expect("a private folder")
    }

    fn key_of(byte: u8) -> DiskKey {
        [byte; 32]
    }

    #[test]
    fn what_was_written_is_read_and_other_keys_are_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path().join("a/b");
        let counters = Counters::default();
        let disk = disk(&folder, 1 << 20);
        assert_eq!(disk.read(&key_of(1), &counters), None);
        disk.write(&key_of(1), b"code", &counters);
        disk.write(&key_of(1), b"code", &counters);
        assert_eq!(disk.read(&key_of(1), &counters).as_deref(), Some(&b"code"[..]));
        assert_eq!(disk.read(&key_of(2), &counters), None);
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 1);
        assert_eq!(counters.read(), super::super::CacheStats::default());
    }

    #[test]
    fn damage_anywhere_is_found_and_the_file_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let counters = Counters::default();
        let disk = disk(folder.path().join("c").as_path(), 1 << 20);
        let key = key_of(3);
        let whole = pack(&key, b"machine code");
        let mut damaged: Vec<Vec<u8>> = (0..whole.len()).map(|len| whole[..len].to_vec()).collect();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            damaged.push(bytes);
        }
        damaged.push([&whole[..], b"x"].concat());
        damaged.push(pack(&key_of(4), b"machine code"));
        let count = damaged.len() as u64;
        for bytes in damaged {
            fs::write(disk.path(&key), &bytes).expect("a writable folder");
            assert_eq!(disk.read(&key, &counters), None, "{bytes:?}");
            assert!(!disk.path(&key).exists());
        }
        assert_eq!(counters.read().discarded, count);
        fs::write(disk.path(&key), &whole).expect("a writable folder");
        assert!(disk.read(&key, &counters).is_some());
    }

    /// Error numbers that Linux, macOS and Windows share or that no test looks at.
    const NO_PERMISSION: u32 = 13;
    const NO_SPACE: u32 = 28;
    const BROKEN: u32 = 5;

    fn names(folder: &Path) -> Vec<String> {
        let listed = fs::read_dir(folder).expect("our folder");
        listed.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_full_disk_and_a_folder_that_takes_nothing_leave_nothing_behind() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (disk, counters) = (disk(folder.path().join("c").as_path(), 1 << 20), Counters::default());
        for (point, code) in
            [(Point::Write, NO_SPACE), (Point::Write, NO_PERMISSION), (Point::Rename, NO_PERMISSION)]
        {
            with(point, code, || disk.write(&key_of(1), b"code", &counters));
            assert_eq!(names(&disk.folder), Vec::<String>::new(), "{point:?}");
            assert_eq!(disk.read(&key_of(1), &counters), None);
        }
        // Once there is room again, everything works.
        disk.write(&key_of(1), b"code", &counters);
        assert_eq!(disk.read(&key_of(1), &counters).as_deref(), Some(&b"code"[..]));
    }

    #[test]
    fn a_torn_file_is_thrown_away_and_made_anew() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (disk, counters) = (disk(folder.path().join("c").as_path(), 1 << 20), Counters::default());
        for len in [0usize, 4, 4096] {
            let code = vec![7; len];
            with(Point::Tear, 0, || disk.write(&key_of(1), &code, &counters));
            assert!(disk.path(&key_of(1)).exists());
            assert_eq!(disk.read(&key_of(1), &counters), None, "{len}");
            assert!(!disk.path(&key_of(1)).exists());
            disk.write(&key_of(1), &code, &counters);
            assert_eq!(disk.read(&key_of(1), &counters), Some(code));
            fs::remove_file(disk.path(&key_of(1))).expect("our file");
        }
        assert_eq!(counters.read().discarded, 3);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_miss_and_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (disk, counters) = (disk(folder.path().join("c").as_path(), 1 << 20), Counters::default());
        disk.write(&key_of(1), b"code", &counters);
        for (point, code) in [(Point::Open, NO_PERMISSION), (Point::Read, BROKEN)] {
            assert_eq!(with(point, code, || disk.read(&key_of(1), &counters)), None, "{point:?}");
        }
        // A folder that cannot be listed is only not tidied.
        with(Point::List, NO_PERMISSION, || disk.write(&key_of(2), b"more", &counters));
        assert_eq!(disk.read(&key_of(2), &counters).as_deref(), Some(&b"more"[..]));
        assert_eq!(disk.read(&key_of(1), &counters).as_deref(), Some(&b"code"[..]));
        assert_eq!(counters.read().discarded, 0);
    }

    #[test]
    fn the_least_recently_used_leaves_first() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let counters = Counters::default();
        let size = (HEADER + 100) as u64;
        let disk = disk(folder.path().join("c").as_path(), 3 * size);
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for byte in 1..=3 {
            disk.write(&key_of(byte), &[byte; 100], &counters);
            let file = File::options().write(true).open(disk.path(&key_of(byte))).expect("the file");
            file.set_modified(at(byte.into())).expect("our file");
        }
        assert_eq!(counters.read().evictions, 0);
        // The oldest is used again.
        assert!(disk.read(&key_of(1), &counters).is_some());
        disk.write(&key_of(4), &[4; 100], &counters);
        let left: Vec<bool> = (1..=4).map(|byte| disk.path(&key_of(byte)).exists()).collect();
        assert_eq!(left, [true, false, true, true]);
        assert_eq!(counters.read().evictions, 1);
        // What cannot fit at all pushes nothing out.
        disk.write(&key_of(5), &[5; 1000], &counters);
        assert!(!disk.path(&key_of(5)).exists() && disk.path(&key_of(4)).exists());
    }

    #[test]
    fn what_crashed_writers_left_is_removed_after_a_while() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let counters = Counters::default();
        let disk = disk(folder.path().join("c").as_path(), 1 << 20);
        let (old, young) = (disk.unfinished(), disk.unfinished());
        assert_ne!(old, young);
        for path in [&old, &young] {
            fs::write(path, b"half").expect("a writable folder");
        }
        let file = File::options().write(true).open(&old).expect("the file");
        file.set_modified(SystemTime::now() - 2 * ABANDONED).expect("our file");
        disk.write(&key_of(1), b"code", &counters);
        assert!(!old.exists() && young.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_had_is_no_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("file");
        fs::write(&file, b"").expect("a writable folder");
        assert!(Disk::open(&DiskOptions { folder: file, max_bytes: 1 }).is_none());
        let gone = disk(folder.path().join("c").as_path(), 1 << 20);
        fs::remove_dir_all(folder.path().join("c")).expect("our folder");
        let counters = Counters::default();
        gone.write(&key_of(1), b"code", &counters);
        assert_eq!(gone.read(&key_of(1), &counters), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("open");
        fs::create_dir(&path).expect("a writable folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("our folder");
        assert!(Disk::open(&DiskOptions { folder: path.clone(), max_bytes: 1 }).is_none());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("our folder");
        let private = disk(&path, 1 << 20);
        private.write(&key_of(1), b"code", &Counters::default());
        let mode = fs::metadata(private.path(&key_of(1))).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn keys_differ_in_everything_that_the_code_depends_on() {
        let device = h200();
        let base = key([0; 32], &device);
        let others = [
            key([1; 32], &device),
            key([0; 32], &DeviceInfo { compute_capability: (10, 0), ..device.clone() }),
            key([0; 32], &DeviceInfo { driver: crate::CudaVersion::new(13, 1), ..device.clone() }),
            key([0; 32], &DeviceInfo { driver_build: "other".to_owned(), ..device.clone() }),
        ];
        assert!(others.iter().all(|other| *other != base));
        assert_eq!(key([0; 32], &DeviceInfo { ordinal: 3, name: "other".to_owned(), ..device }), base);
    }
}
