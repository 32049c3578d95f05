//! The command line: commands, options and what `--help` says. Each command's own options are in its file.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgAction, Parser, Subcommand};

use crate::failure::Failure;
use crate::screen::Screen;
use crate::{demo, inspect, run, tools};

/// What every help ends with.
pub(crate) const EXIT_CODES: &str = "\
Exit codes, with the kinds of failure that --json tells apart:
  0    the result is on stdout
  1    the command line, a file or an address cannot work (configuration), or the question
       does not say what a tool must know (missing_arguments)
  2    a call needs approval (approval_needed), was denied (denied), or the tool asks the
       person and there is no terminal (input_needed)
  3    a server wants a login (login_needed): give a token with --bearer-env
  4    a server cannot be reached (server_unreachable)
  5    a tool or a server reported an error (tool_failed)
  6    a limit was reached (limit_reached): --max-steps, --max-calls, --timeout, or of one
       request: no answer in time, an answer too large, too many rounds of input
  7    the language model failed (model_failed), or there is none and no tool fits the words
       of the question (no_tool_fits)
  130  interrupted (interrupted)

stdout carries the result only; everything else is on stderr. With --json the result is one
JSON object, and on failure the last line of stderr is one:
  code     the exit code
  kind     what failed, as above
  message  the cause, for people
  server   the name of the server that it is about, if it is about one
  hint     what to do next";

/// Every tool call, connected: asks servers of the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Write the result as one JSON object, and on failure one error object as the last line of stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Show each stage of a tool call on stderr as it happens, and what child processes write to theirs; twice for the
    /// log of the libraries
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
        let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
        let failure =
            Failure::usage(message.trim_start_matches("error: "), tip.unwrap_or("see switchboard --help"));
        if json {
            failure.report(screen, true);
        }
        failure.code()
    })
}

/// Reads a limit: a whole number that is not 0.
pub(crate) fn at_least_one(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("it must be a whole number, and at least 1".to_owned()),
    }
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
