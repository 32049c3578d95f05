//! `switchboard completions`: what a shell completes of this command line.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::cli;
use crate::failure::Failure;
use crate::output;

/// Print a script that lets a shell complete this command line
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn command(args: CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut cli::command(), "switchboard", &mut script);
    output::whole_text(&String::from_utf8_lossy(&script))
}
