//! The command line: commands, options and what `--help` says. Each command's own options are in its file, the groups
//! that they stand in and the examples in `cli/help.rs`.

mod help;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use switchboard_agent::visible;

use crate::failure::Failure;
use crate::screen::Screen;
use crate::settings::GlobalArgs;
use crate::{
    chat, completions, config_cmd, demo, doctor, inspect, pins_cmd, policy_cmd, run, secrets_cmd, serve,
    servers_cmd, sessions_cmd, tools,
};

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

    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::RunArgs),
    Chat(chat::ChatArgs),
    Serve(serve::ServeArgs),
    Servers(servers_cmd::ServersArgs),
    Tools(tools::ToolsArgs),
    Sessions(sessions_cmd::SessionsArgs),
    Policy(policy_cmd::PolicyArgs),
    Pins(pins_cmd::PinsArgs),
    Secrets(secrets_cmd::SecretsArgs),
    Config(config_cmd::ConfigArgs),
    Doctor(doctor::DoctorArgs),
    Inspect(inspect::InspectArgs),
    Demo(demo::DemoArgs),
    Completions(completions::CompletionsArgs),
}

/// The whole command line.
pub(crate) fn command() -> clap::Command {
    help::arranged(Cli::command())
}

/// Reads the command line, or says what is wrong with it and returns the code to exit with.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>, screen: &Screen) -> Result<Cli, ExitCode> {
    let args: Vec<OsString> = args.into_iter().collect();
    let resume = resumed_with_a_blank(&args);
    let json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    let read = command()
        .try_get_matches_from(args)
        .and_then(|read| Cli::from_arg_matches(&read).map_err(|error| error.format(&mut command())));
    read.map_err(|error| {
        let mut error = error;
        if let (ErrorKind::UnknownArgument, Some(id)) = (error.kind(), resume) {
            let tip = format!("write it without a blank: --resume={id}").into();
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        }
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

/// What stands behind a `--resume` as if it were its value. It may have none, so the value is read as something else.
fn resumed_with_a_blank(args: &[OsString]) -> Option<String> {
    let mut args = args.iter().take_while(|arg| *arg != "--").skip_while(|arg| *arg != "--resume").skip(1);
    args.next()
        .filter(|id| !id.as_encoded_bytes().starts_with(b"-"))
        .map(|id| visible::argument(&id.to_string_lossy()))
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
    use switchboard_agent::journal::Masker;

    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }

    fn words(command: &clap::Command, found: &mut Vec<String>) {
        found.push(command.get_name().to_owned());
        found.extend(command.get_opts().filter_map(|option| option.get_long()).map(str::to_owned));
        command.get_subcommands().for_each(|command| words(command, found));
    }

    /// A secret that is one of them would leave holes in hints and in what programs read.
    #[test]
    fn no_secret_masks_what_we_write_ourselves() {
        let mut found: Vec<String> =
            super::EXIT_CODES.split(['(', ')']).skip(1).step_by(2).map(str::to_owned).collect();
        words(&super::command(), &mut found);
        let is_word = |word: &String| word.len() >= 6 && !word.contains(char::is_whitespace);
        let masked: Vec<_> =
            found.into_iter().filter(is_word).filter(|word| Masker::spares(word).is_none()).collect();
        assert!(masked.is_empty(), "add to crates/agent/src/journal/mask/words.txt: {masked:?}");
    }
}
