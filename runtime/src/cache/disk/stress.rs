//! Many processes on one folder, killed in the middle of what they do: whoever reads gets the right bytes or none.
//!
//! The processes are this test binary again, told by a variable to work on the shared folder.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::super::stats::Counters;
use super::{Disk, DiskKey, DiskOptions};

const FOLDER: &str = "PTXSMITH_STRESS_FOLDER";
const SEED: &str = "PTXSMITH_STRESS_SEED";
const KEYS: u64 = 24;
const PROCESSES: u64 = 16;
const ROUNDS: u64 = 6;

/// A generator of few instructions (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

fn key(number: u64) -> DiskKey {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_le_bytes());
    key
}

/// What the file of a key has to hold: up to 40 000 bytes that only this key has.
fn contents(number: u64) -> Vec<u8> {
    let mut random = Random(number);
    let len = 1000 + random.below(39_000);
    (0..len).map(|_| random.next() as u8).collect()
}

fn open(folder: &Path) -> Disk {
    // Room for about half of the files, so that they are evicted under the readers.
    Disk::open(&DiskOptions { folder: folder.to_owned(), max_bytes: 256 << 10 }).expect("a private folder")
}

/// Reads, writes and damages files; panics if a read gives anything but what was written.
fn work(folder: &Path, seed: u64, steps: u64) -> u64 {
    let (disk, counters, mut random) = (open(folder), Counters::default(), Random(seed));
    let mut hits = 0;
    for _ in 0..steps {
        let number = random.below(KEYS);
        match disk.read(&key(number), &counters) {
            Some(bytes) => {
                assert!(bytes == contents(number), "the file of key {number} has other contents");
                hits += 1;
            }
            None => disk.write(&key(number), &contents(number), &counters),
        }
        if random.below(16) == 0 {
            // As a crash of the machine may leave it: cut off, under its final name. It may just have been evicted.
            let torn = &super::pack(&key(number), &contents(number))[..500];
            let _ = std::fs::write(disk.path(&key(number)), torn);
        }
    }
    hits
}

/// What a process leaves beside the folder when it has done its work.
fn done(folder: &Path, seed: &str) -> PathBuf {
    folder.with_extension(format!("done-{seed}"))
}

fn spawn(folder: &Path, seed: u64) -> Child {
    let program = std::env::current_exe().expect("the test binary");
    Command::new(program)
        .args(["--exact", "cache::disk::stress::one_process_reads_what_it_wrote"])
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the test binary runs")
}

#[test]
fn one_process_reads_what_it_wrote() {
    if let (Some(folder), Ok(seed)) = (std::env::var_os(FOLDER), std::env::var(SEED)) {
        let folder = Path::new(&folder);
        work(folder, seed.parse().expect("a number"), 400);
        std::fs::write(done(folder, &seed), b"").expect("a writable folder");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(work(&folder.path().join("c"), 1, 200) > 0);
}

#[test]
fn processes_killed_at_random_leave_no_wrong_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().join("c");
    let mut random = Random(7);
    for round in 0..ROUNDS {
        let seeds = (0..PROCESSES).map(|process| round * PROCESSES + process);
        let mut children: Vec<Child> = seeds.map(|seed| spawn(&folder, seed)).collect();
        for (index, child) in children.iter_mut().enumerate() {
            if index % 2 == 0 {
                std::thread::sleep(Duration::from_millis(random.below(15)));
                child.kill().expect("our own process");
            }
        }
        for (index, child) in children.iter_mut().enumerate() {
            let status = child.wait().expect("our own process");
            // One that was to be killed may have ended before.
            let seed = (round * PROCESSES + index as u64).to_string();
            let whole = status.success() && done(&folder, &seed).exists();
            assert!(index % 2 == 0 || whole, "process {index} of round {round}: {status}");
        }
    }
    let (disk, counters) = (open(&folder), Counters::default());
    for number in 0..KEYS {
        if let Some(bytes) = disk.read(&key(number), &counters) {
            assert!(bytes == contents(number), "the file of key {number} has other contents");
        }
    }
    // The folder is still of use.
    disk.write(&key(KEYS), b"code", &counters);
    assert!(disk.read(&key(KEYS), &counters).is_some());
}

#[test]
fn the_check_notices_wrong_contents() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().join("c");
    let disk = open(&folder);
    for number in 0..KEYS {
        disk.write(&key(number), b"of another key", &Counters::default());
    }
    let noticed = std::panic::catch_unwind(|| work(&folder, 1, 200));
    assert!(noticed.is_err());
}
