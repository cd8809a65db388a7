//! Everything that CI runs, as a list of steps.
//!
//! A new check is one more entry of [`STEPS`]. The tests come late because they are the slowest; what depends on them comes
//! after. Nothing is left out in silence: what this machine cannot run is listed as `not run` at the end.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::{Outcome, assemblers, docs, snapshots};

/// One check: passes, fails, or cannot be run on this machine.
pub(crate) struct Step {
    name: &'static str,
    action: Action,
}

enum Action {
    /// A cargo command with extra environment variables.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A function of this program.
    Chore(fn(&Suite) -> Result<Outcome>),
}

/// The checks, in order.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "assemblers", action: Action::Chore(|suite| assemblers::install(&suite.root)) },
    Step { name: "format", action: Action::Cargo(&["fmt", "--all", "--check"], &[]) },
    Step {
        name: "clippy",
        action: Action::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[]),
    },
    Step {
        name: "documentation",
        action: Action::Cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")]),
    },
    Step { name: "generated pages", action: Action::Chore(check_docs) },
    // `no`: a differing snapshot fails and writes nothing, so a run leaves the tree as it was.
    Step {
        name: "tests",
        action: Action::Cargo(&["test", "--workspace", "--no-fail-fast"], &[("INSTA_UPDATE", "no")]),
    },
    Step { name: "snapshots", action: Action::Chore(check_snapshots) },
];

/// Settings under which tests rewrite what they should compare, or pass whatever they find.
const SETTINGS_REMOVED: &[&str] =
    &["INSTA_FORCE_PASS", "INSTA_FORCE_UPDATE", "INSTA_FORCE_UPDATE_SNAPSHOTS", "TRYBUILD"];

/// The folder with `golden/`, the vectors that may not be copied into the repository. Read by the package of tests only.
const SHARED: &str = "PTXSMITH_SHARED";

/// What the steps of one run have in common.
pub(crate) struct Suite {
    root: PathBuf,
    /// Where insta notes the snapshots that tests compare.
    references: PathBuf,
    shared: Option<PathBuf>,
}

/// Runs all steps on the repository at `root`; stops at the first that fails and says which.
pub(crate) fn run(root: &Path) -> Result<()> {
    let suite = Suite {
        root: root.to_path_buf(),
        references: env::temp_dir().join(format!("ptxsmith-snapshot-references-{}", process::id())),
        shared: shared_folder(root, env::var_os(SHARED).map(PathBuf::from))?,
    };
    let mut not_run = Vec::new();
    if suite.shared.is_none() {
        not_run.push("shared golden suite (folder absent)".to_owned());
    }
    suite.remove_references()?;
    let result = suite.run_steps(STEPS, &mut not_run);
    suite.remove_references()?;
    for what in &not_run {
        println!("not run: {what}");
    }
    result
}

/// `given` by the user, or the folder `shared` beside the checkout where that holds the golden vectors.
fn shared_folder(root: &Path, given: Option<PathBuf>) -> Result<Option<PathBuf>> {
    if let Some(folder) = given {
        if !folder.join("golden").is_dir() {
            bail!("{SHARED} names {}, which has no folder golden", folder.display());
        }
        return Ok(Some(folder));
    }
    let beside = root.parent().map(|parent| parent.join("shared"));
    Ok(beside.filter(|folder| folder.join("golden").is_dir()))
}

impl Suite {
    fn run_steps(&self, steps: &[Step], not_run: &mut Vec<String>) -> Result<()> {
        let (start, mut passed) = (Instant::now(), 0);
        for (i, step) in steps.iter().enumerate() {
            let place = format!("[{}/{}] {}", i + 1, steps.len(), step.name);
            println!("==> {place}{}", step.action.command_line());
            let step_start = Instant::now();
            let outcome = step.action.run(self).with_context(|| format!("step {place} failed"))?;
            let seconds = step_start.elapsed().as_secs_f64();
            match outcome {
                Outcome::Done => {
                    passed += 1;
                    println!("==> {place}: passed in {seconds:.1} s\n");
                }
                Outcome::NotRun(reason) => {
                    println!("==> {place}: not run: {reason}\n");
                    not_run.push(format!("{} ({reason})", step.name));
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{passed} of {} steps passed in {seconds:.1} s", steps.len());
        Ok(())
    }

    fn cargo(&self, args: &[&str]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(args).current_dir(&self.root).stdin(Stdio::null());
        for name in SETTINGS_REMOVED {
            cargo.env_remove(name);
        }
        cargo.env("INSTA_SNAPSHOT_REFERENCES_FILE", &self.references);
        if let Some(folder) = &self.shared {
            cargo.env(SHARED, folder);
            // A test of what is absent is not built, so that it cannot count as passed.
            if args.first() == Some(&"test") {
                cargo.args(["--features", "ptxsmith-tests/shared"]);
            }
        }
        cargo
    }

    fn remove_references(&self) -> Result<()> {
        match fs::remove_file(&self.references) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.references.display()))
            }
            _ => Ok(()),
        }
    }
}

impl Action {
    fn command_line(&self) -> String {
        match self {
            Action::Cargo(args, _) => format!(": cargo {}", args.join(" ")),
            Action::Chore(_) => String::new(),
        }
    }

    fn run(&self, suite: &Suite) -> Result<Outcome> {
        match self {
            Action::Cargo(args, variables) => {
                let mut cargo = suite.cargo(args);
                cargo.envs(variables.iter().copied());
                succeed(&mut cargo).map(|()| Outcome::Done)
            }
            Action::Chore(chore) => chore(suite),
        }
    }
}

fn succeed(cargo: &mut Command) -> Result<()> {
    let status = cargo.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("cargo ended with {status}");
    }
    Ok(())
}

fn check_docs(suite: &Suite) -> Result<Outcome> {
    docs::check(&suite.root).map(|()| Outcome::Done)
}

fn check_snapshots(suite: &Suite) -> Result<Outcome> {
    let current = snapshots::check(&suite.root, &suite.references)?;
    println!("snapshots, each read by a test: {current}");
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(root: &Path) -> Suite {
        Suite { root: root.to_path_buf(), references: root.join("references"), shared: None }
    }

    #[test]
    fn a_failing_step_is_named_and_stops_the_run() {
        const FAILING: &[Step] = &[
            Step { name: "first", action: Action::Chore(|_| Ok(Outcome::NotRun("no such tool".to_owned()))) },
            Step { name: "second", action: Action::Chore(|suite| bail!("{} is bad", suite.root.display())) },
            Step {
                name: "third",
                action: Action::Chore(|suite| Ok(fs::write(&suite.references, "").map(|()| Outcome::Done)?)),
            },
        ];
        let root = tempfile::tempdir().unwrap();
        let suite = suite(root.path());
        let mut not_run = Vec::new();
        let error = format!("{:#}", suite.run_steps(FAILING, &mut not_run).unwrap_err());
        assert!(error.starts_with("step [2/3] second failed: ") && error.ends_with(" is bad"), "{error}");
        assert_eq!(not_run, ["first (no such tool)"]);
        assert!(!suite.references.exists(), "the third step ran");
        suite.run_steps(&FAILING[2..], &mut not_run).unwrap();
        assert!(suite.references.exists(), "the third step does nothing");
    }

    #[test]
    fn a_failing_cargo_command_fails_its_step() {
        let root = tempfile::tempdir().unwrap();
        let suite = suite(root.path());
        let run = |args: &[&str]| succeed(suite.cargo(args).stdout(Stdio::null()).stderr(Stdio::null()));
        assert!(run(&["--version"]).is_ok());
        let error = run(&["no-such-command"]).unwrap_err().to_string();
        assert!(error.starts_with("cargo ended with"), "{error}");
    }

    #[test]
    fn the_shared_folder_needs_its_golden_vectors() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("checkout");
        let shared = parent.path().join("shared");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&shared).unwrap();
        assert_eq!(shared_folder(&root, None).unwrap(), None);
        assert!(
            shared_folder(&root, Some(shared.clone())).unwrap_err().to_string().contains("no folder golden")
        );
        fs::create_dir(shared.join("golden")).unwrap();
        assert_eq!(shared_folder(&root, None).unwrap(), Some(shared.clone()));
        assert_eq!(shared_folder(&root, Some(shared.clone())).unwrap(), Some(shared));
    }
}
