//! The command line: options, their help, and how mistakes in them are told.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

/// Generates verified PTX kernels and runs them, on a GPU or without one.
///
/// Exit codes: 0 good, 1 results differ or a check found errors, 2 bad request, 3 a run found an error in the kernel.
#[derive(Debug, Parser)]
#[command(name = "ptxsmith", version, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the kernels with their fields, arguments and sample specs
    List(List),
    /// Write the PTX text of a kernel
    Emit(Emit),
    /// Run a kernel on tensors of a file and compare its results
    Run(Run),
    /// Verify a file of PTX text
    Check(Check),
    /// Show what of driver, devices, assembler and cache is there
    Doctor(Doctor),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Emit {
    /// Name of the kernel, as `ptxsmith list` shows it
    pub(crate) kernel: String,
    /// Fields of the spec, one or more; may be repeated
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1..)]
    pub(crate) set: Vec<String>,
    /// Fields of the schedule, one or more, in place of what the heuristic chooses
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1..)]
    pub(crate) schedule: Vec<String>,
    /// Architecture to write for, for example sm_90
    #[arg(long, value_name = "SM")]
    pub(crate) target: String,
    /// File for the text, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Name the source lines of the kernel in the text, for profilers and sanitizers (`ptxas -lineinfo`)
    #[arg(long)]
    pub(crate) lines: bool,
    /// Also write how the text is launched, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Name of the kernel, as `ptxsmith list` shows it
    #[arg(required_unless_present = "ptx", conflicts_with = "ptx")]
    pub(crate) kernel: Option<String>,
    /// Fields of the spec, one or more; may be repeated
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., conflicts_with = "ptx")]
    pub(crate) set: Vec<String>,
    /// Fields of the schedule, one or more, in place of what the heuristic chooses
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., conflicts_with = "ptx")]
    pub(crate) schedule: Vec<String>,
    /// File of PTX text to run in place of a kernel of the library, on the emulator
    #[arg(long, value_name = "FILE", requires = "manifest")]
    pub(crate) ptx: Option<PathBuf>,
    /// How the text of --ptx is launched: a file that `ptxsmith emit --manifest` writes
    #[arg(long, value_name = "FILE", requires = "ptx")]
    pub(crate) manifest: Option<PathBuf>,
    /// Safetensors file with the inputs and expected outputs
    #[arg(long, value_name = "FILE")]
    pub(crate) tensors: PathBuf,
    /// Tensors of the file that arguments are read from, one or more; may be repeated
    #[arg(long, value_name = "ARG=TENSOR", num_args = 1..)]
    pub(crate) bind: Vec<String>,
    /// Tensors of the file that results are compared with, one or more; may be repeated
    #[arg(long, value_name = "ARG=TENSOR", num_args = 1..)]
    pub(crate) expect: Vec<String>,
    /// Safetensors file to write the results to, one tensor for each output argument
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Where to run: emulated, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "emulated")]
    pub(crate) device: String,
    /// Architecture to build for; sm_90 on the emulator and the device's own on a GPU, if not given
    #[arg(long, value_name = "SM")]
    pub(crate) target: Option<String>,
    /// Largest accepted |got - expected| is atol + rtol |expected|; by the dtype of the argument, if not given
    #[arg(long, value_name = "ATOL,RTOL")]
    pub(crate) tolerance: Option<String>,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// File of PTX text
    pub(crate) file: PathBuf,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Why there is no command to carry out.
#[derive(Debug)]
pub(crate) enum NoCommand {
    /// Help or the version was asked for.
    Asked(clap::Error),
    /// Nothing was given at all.
    Nothing(clap::Error),
    /// A mistake, in one line.
    Mistake(String),
}

/// Reads the command line.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, NoCommand> {
    Cli::try_parse_from(args).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => NoCommand::Asked(error),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => NoCommand::Nothing(error),
        _ => NoCommand::Mistake(one_line(&error.render().to_string())),
    })
}

/// The sentences of a rendered error without the usage lines, joined.
fn one_line(rendered: &str) -> String {
    let useful = rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty());
    let mut out = String::new();
    for line in useful {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        // Items of a list and what follows a colon belong to the sentence before them.
        let separator = match out.chars().last() {
            None => "",
            Some(':') => " ",
            Some(_) => "; ",
        };
        out.push_str(separator);
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(line: &str) -> String {
        match parse(line.split_whitespace().map(OsString::from)) {
            Err(NoCommand::Mistake(text)) => text,
            other => format!("no mistake but {other:?}"),
        }
    }

    #[test]
    fn mistakes_take_one_line_with_the_name_and_a_hint() {
        let text = mistake("ptxsmith emit rms_norm --target sm_90 --sett a=b");
        assert!(text.contains("'--sett'") && text.contains("'--set'") && !text.contains('\n'), "{text}");
        let text = mistake("ptxsmith emit rms_norm");
        assert!(text.contains("--target <SM>") && !text.contains('\n'), "{text}");
        let text = mistake("ptxsmith emitt");
        assert!(text.contains("'emitt'") && text.contains("'emit'"), "{text}");
    }

    #[test]
    fn options_take_several_values_or_are_repeated() {
        let line = "ptxsmith emit k --set a=1 b=2 --set c=3 --target sm_90";
        let cli = parse(line.split_whitespace().map(OsString::from)).expect("a good line");
        let Command::Emit(emit) = cli.command else { panic!("not emit") };
        assert_eq!(emit.set, ["a=1", "b=2", "c=3"]);
    }

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
