//! `ptxsmith`: lists, emits and runs generated GPU kernels from the command line.
//!
//! A command is a function from its options to an [`Outcome`]: text for the two streams and an exit code. Only this file reads
//! the process's environment and writes to its streams.

mod args;
mod check;
mod compare;
mod doctor;
mod element;
mod emit;
mod error;
mod finding;
mod list;
mod manifest;
mod outcome;
mod output;
mod report;
mod request;
mod run;
mod table;
mod tensors;
mod text;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use args::{Command, NoCommand};
use doctor::Surroundings;
use error::Error;
use outcome::{Exit, Outcome};

fn main() -> ExitCode {
    let exit = match args::parse(env::args_os()) {
        Ok(cli) => match carry_out(&cli.command) {
            Ok(outcome) => show(&outcome),
            Err(error) => refuse(&error.to_string()),
        },
        Err(NoCommand::Mistake(message)) => refuse(&message),
        // clap writes help to the stream it belongs to, with colors on a terminal only.
        Err(NoCommand::Asked(help)) => printed(help.print(), Exit::Good),
        Err(NoCommand::Nothing(help)) => printed(help.print(), Exit::BadRequest),
    };
    ExitCode::from(exit as u8)
}

fn carry_out(command: &Command) -> Result<Outcome, Error> {
    match command {
        Command::List(args) => Ok(list::list(args)),
        Command::Emit(args) => emit::emit(args),
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::check(args),
        Command::Doctor(args) => Ok(doctor::doctor(args, &surroundings())),
    }
}

/// What `doctor` looks at besides the driver.
fn surroundings() -> Surroundings {
    Surroundings {
        folder: env::current_dir().ok(),
        path: env::var_os("PATH"),
        cache: doctor::cache_folder(|name| env::var_os(name)),
    }
}

fn show(outcome: &Outcome) -> Exit {
    let mut notes = String::new();
    for note in &outcome.notes {
        notes.push_str("note: ");
        notes.push_str(note);
        notes.push('\n');
    }
    // Without a standard error there is nobody left to tell.
    let _ = io::stderr().lock().write_all(notes.as_bytes());
    let mut stdout = io::stdout().lock();
    printed(stdout.write_all(outcome.stdout.as_bytes()).and_then(|()| stdout.flush()), outcome.exit)
}

/// A reader that has seen enough closes the pipe, which is no failure.
fn printed(result: io::Result<()>, exit: Exit) -> Exit {
    match result {
        Ok(()) => exit,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit,
        Err(error) => refuse(&format!("cannot write standard output: {error}")),
    }
}

fn refuse(message: &str) -> Exit {
    let _ = writeln!(io::stderr().lock(), "error: {message}");
    Exit::BadRequest
}
