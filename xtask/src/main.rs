//! Chores of the workspace: install the pinned assemblers, run everything that CI runs.
//!
//! `cargo xtask ptxas` fills the git-ignored folder `.ptxas/`; `cargo xtask test` does that and then runs every check, in the
//! order of [`suite::STEPS`], and stops at the first that fails. `.ci/run` is that second command and nothing else, so what
//! passes here passes there.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool: its output is what it is for"
)]

mod assemblers;
mod docs;
mod pins;
mod snapshots;
mod suite;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

/// How a chore ended when it did not fail.
pub(crate) enum Outcome {
    /// Everything it is there for was done.
    Done,
    /// This machine cannot run it; the reason is shown to the user, never dropped.
    NotRun(String),
}

const USAGE: &str = "\
usage: cargo xtask <command>

  docs    write docs/instructions.md from the instruction table; with --check fail if it is not current
  ptxas   install the assemblers pinned in xtask/ptxas-pins.toml into .ptxas/ (needs python3 with pip)
  test    install the assemblers, then run everything CI runs; stops at the first step that fails";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        ["ptxas"] => ptxas(),
        ["docs"] => repository_root().and_then(|root| write_docs(&root)),
        ["docs", "--check"] => repository_root().and_then(|root| docs::check(&root)),
        ["test"] => repository_root().and_then(|root| suite::run(&root)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn ptxas() -> Result<()> {
    match assemblers::install(&repository_root()?)? {
        Outcome::Done => Ok(()),
        Outcome::NotRun(reason) => bail!("{reason}"),
    }
}

fn write_docs(root: &Path) -> Result<()> {
    println!("docs/instructions.md: {}", if docs::write(root)? { "written" } else { "current" });
    Ok(())
}

/// The folder of the workspace's manifest. Asked of cargo at run time, so that a moved or copied checkout with an old build of
/// this program still works on itself.
fn repository_root() -> Result<PathBuf> {
    let xtask = env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .context("CARGO_MANIFEST_DIR is not set: start this program as `cargo xtask`")?;
    let root = xtask.parent().with_context(|| format!("{} has no parent folder", xtask.display()))?;
    Ok(root.to_path_buf())
}
