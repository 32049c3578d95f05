//! The command line: commands, options and what `--help` says. Each command's own options are in its file.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgAction, Parser, Subcommand};

use crate::failure::Failure;
use crate::screen::Screen;
use crate::{demo, inspect, run, tools};

const EXIT_CODES: &str = "\
Exit codes:
  0    the result is on stdout
  1    the command line, a file or an address cannot work
  2    a call needs approval, or was denied
  3    a server wants a login
  4    a server cannot be reached
  5    a tool reported an error
  6    a limit on steps, calls or time was reached
  7    the language model failed
  130  interrupted

stdout carries the result only; everything else is on stderr. With --json the result is one JSON object, and
on failure the last line of stderr is one: {\"code\", \"message\", \"server\"?, \"hint\"}.";

/// Every tool call, connected: asks servers of the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Write the result as one JSON object, and on failure one error object as the last line of stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Show each stage of a tool call on stderr as it happens; twice for the log of the libraries
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::RunArgs),
    Tools(tools::ToolsArgs),
    Inspect(inspect::InspectArgs),
    Demo(demo::DemoArgs),
}

/// Reads the command line, or says what is wrong with it and returns the code to exit with.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>, screen: &Screen) -> Result<Cli, ExitCode> {
    let args: Vec<OsString> = args.into_iter().collect();
    let json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    Cli::try_parse_from(args).map_err(|error| {
        let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        if asked || !json {
            // There is nowhere left to report that the terminal is gone.
            let _ = error.print();
        }
        if asked {
            return ExitCode::SUCCESS;
        }
        let text = error.to_string();
        // The first paragraph says what is wrong; usage and tips follow it.
        let lines: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        let message = lines.join(" ");
        let failure = Failure::usage(message.trim_start_matches("error: "), "see switchboard --help");
        if json {
            failure.report(screen, true);
        }
        failure.code()
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
