//! The `switchboard` program: reads the command line, runs one command, and says how it ended.
//!
//! One file a command: `run`, `tools`, `inspect`, `demo`. What they share: `servers`, `era`, `auth` and `session`
//! for whom to talk to and how, `consent`, `ask` and `elicit` for what is allowed and said, `model` for who picks the tools; `output` is stdout, `screen` is
//! stderr, `failure` is how it ends badly. Everything else is in the libraries.

mod ask;
mod auth;
mod child_log;
mod cli;
mod connect;
mod consent;
mod demo;
mod elicit;
mod era;
mod failure;
mod inspect;
mod interrupt;
mod model;
mod output;
mod progress;
mod run;
mod screen;
mod servers;
mod session;
mod stages;
mod stdin;
mod time_limit;
mod tools;

use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::screen::Screen;

/// What the libraries log, where `-v` does not say.
const LOG: &str = "SWITCHBOARD_LOG";

fn main() -> ExitCode {
    let screen = Screen::stderr();
    let cli = match cli::parse(std::env::args_os(), &screen) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    log(cli.verbose, &screen);
    let json = cli.json;
    match start(cli, &screen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(&screen, json);
            failure.code()
        }
    }
}

fn start(cli: Cli, screen: &Screen) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        Failure::usage(format!("no threads can be started: {error}"), "check the limits of this process")
    })?;
    let outcome = runtime.block_on(command(cli, screen));
    // A thread may still wait for a line that nobody types.
    runtime.shutdown_background();
    outcome
}

async fn command(cli: Cli, screen: &Screen) -> Result<(), Failure> {
    let Cli { json, verbose, command } = cli;
    match command {
        Command::Run(args) => Box::pin(run::command(args, (json, verbose > 0), screen)).await,
        Command::Tools(args) => Box::pin(tools::command(args, (json, verbose > 0), screen)).await,
        Command::Inspect(args) => Box::pin(inspect::command(args, json, screen)).await,
        Command::Demo(args) => Box::pin(demo::command(args, json, screen)).await,
    }
}

/// Log lines of the libraries go to stderr: warnings, or everything with `-vv`.
fn log(verbose: u8, screen: &Screen) {
    let usual = if verbose > 1 { "switchboard=debug,info" } else { "warn" };
    let filter = EnvFilter::try_from_env(LOG).unwrap_or_else(|_| EnvFilter::new(usual));
    // Nobody else sets one in this process.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(screen.clone())
        .with_ansi(screen.has_colours())
        .without_time()
        .try_init();
}
