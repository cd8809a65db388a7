//! The pinned assemblers, run on many entries at once.
//!
//! One call assembles a file of several hundred entries; the errors name lines, so each is given back to the entry that it
//! is about. An absent assembler is a failure that says what to run, never a skip.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use ptxsmith_builder::target::PtxVersion;
use ptxsmith_tests::assembler::{Role, ptxas};

/// An assembler.
#[derive(Debug, Clone)]
pub(crate) struct Ptxas {
    path: PathBuf,
    pub(crate) role: Role,
}

/// How far an entry is assembled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Syntax, types and features only.
    Check,
    /// To machine code.
    Code,
}

/// A file: entries under one version and target.
#[derive(Debug, Clone)]
pub(crate) struct Batch<'a> {
    pub(crate) version: PtxVersion,
    /// Spelled as behind `.target`.
    pub(crate) target: String,
    pub(crate) depth: Depth,
    /// Number and text of each entry.
    pub(crate) entries: Vec<(usize, &'a str)>,
}

/// What an assembler said about one entry; empty if it accepted it.
pub(crate) type Verdict = (usize, Vec<String>);

/// Entries of one file: the assembler's time grows linearly, and two files are assembled at a time.
const ENTRIES_PER_FILE: usize = 500;

impl Ptxas {
    /// The assembler of a role.
    pub(crate) fn pinned(role: Role) -> Ptxas {
        Ptxas { path: ptxas(role), role }
    }

    /// The numbers of the architectures that it makes code for.
    pub(crate) fn architectures(&self) -> Vec<u16> {
        let run = Command::new(&self.path).arg("--list-arch").output().expect("the assembler runs");
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        text.split_whitespace().map(|number| number.parse().expect("--list-arch lists numbers")).collect()
    }

    /// Assembles all batches and returns the verdict on each of their entries, in order.
    pub(crate) fn assemble(&self, batches: &[Batch<'_>]) -> Vec<Vec<Verdict>> {
        let jobs: Vec<(usize, Batch<'_>)> = batches
            .iter()
            .enumerate()
            .flat_map(|(i, batch)| {
                let files = batch.entries.chunks(ENTRIES_PER_FILE);
                files.map(move |entries| (i, Batch { entries: entries.to_vec(), ..batch.clone() }))
            })
            .collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some((batch, job)) = jobs.get(i) else { return done };
                done.push((i, *batch, self.run(job)));
            }
        };
        let threads = thread::available_parallelism().map_or(1, |n| n.get());
        let mut done: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
        });
        done.sort_by_key(|(job, ..)| *job);
        let mut verdicts = vec![Vec::new(); batches.len()];
        for (_, batch, mut of_job) in done {
            verdicts[batch].append(&mut of_job);
        }
        verdicts
    }

    fn run<'a>(&self, batch: &Batch<'a>) -> Vec<Verdict> {
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (input, output) =
            (folder.join(format!("isa-{number}.ptx")), folder.join(format!("isa-{number}.out")));
        let mut text = format!(".version {}\n.target {}\n.address_size 64\n", batch.version, batch.target);
        let mut starts = Vec::with_capacity(batch.entries.len());
        let mut line = 4;
        for (_, entry) in &batch.entries {
            starts.push(line);
            text.push_str(entry);
            line += entry.lines().count();
        }
        fs::write(&input, &text).expect("the temporary folder is writable");
        let arch = match batch.depth {
            Depth::Check => format!("compute_{}", device(&batch.target)),
            Depth::Code => format!("sm_{}", device(&batch.target)),
        };
        let run =
            Command::new(&self.path).arg(format!("-arch={arch}")).arg(&input).arg("-o").arg(&output).output();
        let run =
            run.unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask ptxas`", self.path.display()));
        let said = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
        let mut verdicts: Vec<Verdict> =
            batch.entries.iter().map(|(number, _)| (*number, Vec::new())).collect();
        let mut located = false;
        for message in said.lines() {
            let Some((at, message)) = error_line(message) else { continue };
            located = true;
            let entry = starts.partition_point(|start| *start <= at).saturating_sub(1);
            verdicts[entry].1.push(message.to_owned());
        }
        let _ = fs::remove_file(&input);
        let _ = fs::remove_file(&output);
        if run.status.success() || located {
            return verdicts;
        }
        // A crash, or a header that the assembler does not take: halves tell which entry it is about.
        if let [(_, messages)] = &mut verdicts[..] {
            messages.push(format!("{}: {}", run.status, said.trim()));
            return verdicts;
        }
        let (first, second) = batch.entries.split_at(batch.entries.len() / 2);
        let half =
            |entries: &[(usize, &'a str)]| self.run(&Batch { entries: entries.to_vec(), ..batch.clone() });
        [half(first), half(second)].concat()
    }
}

/// Line and message of `ptxas FILE, line N; error   : MESSAGE`.
fn error_line(text: &str) -> Option<(usize, &str)> {
    let (_, rest) = text.split_once(", line ")?;
    let (line, rest) = rest.split_once(';')?;
    let (kind, message) = rest.split_once(':')?;
    matches!(kind.trim(), "error" | "fatal").then_some(())?;
    Some((line.trim().parse().ok()?, message.trim()))
}

/// The device to assemble for: the oldest one that the pinned assemblers know, for targets before it. They check features
/// against the target all the same.
fn device(target: &str) -> &str {
    let name = target.trim_start_matches("sm_");
    match name.parse::<u16>() {
        Ok(number) if number < 75 => "75",
        _ => name,
    }
}
