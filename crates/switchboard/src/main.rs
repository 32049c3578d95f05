//! The `switchboard` program: reads the command line, runs one command, and says how it ended.
//!
//! One file a command: `run`, `chat`, `serve`, `tools`, `inspect` and so on; `…_cmd` where the plain name is something
//! that they share. What they share: `hosting` makes the host; `servers`, `era`, `auth` and `session` say whom to talk
//! to and how, `consent`, `ask` and `elicit` what is allowed and said, `model` who picks the tools; `output` is stdout,
//! `screen` is stderr, `failure` is how it ends badly. Everything else is in the libraries.

mod answering;
mod ask;
mod auth;
mod chat;
mod child_log;
mod cli;
mod completions;
mod config_cmd;
mod consent;
mod demo;
mod doctor;
mod elicit;
mod era;
mod failure;
mod first_steps;
mod fold;
mod follow;
mod hosting;
mod inspect;
mod interrupt;
mod kept;
mod known;
mod model;
mod output;
mod pins_cmd;
mod policy_cmd;
mod private_file;
mod progress;
mod questions;
mod rules;
mod run;
mod screen;
mod secrets_cmd;
mod serve;
mod server_logs;
mod servers;
mod servers_cmd;
mod session;
mod sessions_cmd;
mod settings;
mod stages;
mod starting;
mod stdin;
mod time_limit;
mod tools;
mod wire;

use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::screen::Screen;
use crate::settings::Settings;

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
    let Cli { json, verbose, global, command } = cli;
    let settings = Settings::load(&global)?;
    match command {
        Command::Run(args) => Box::pin(run::command(args, (json, verbose > 0), (&settings, screen))).await,
        Command::Tools(args) => {
            Box::pin(tools::command(args, (json, verbose > 0), (&settings, screen))).await
        }
        Command::Policy(args) => {
            Box::pin(policy_cmd::command(args, (json, verbose > 0), (&settings, screen))).await
        }
        Command::Pins(args) => {
            Box::pin(pins_cmd::command(args, (json, verbose > 0), (&settings, screen))).await
        }
        Command::Secrets(args) => secrets_cmd::command(args, json, (&settings, screen)).await,
        Command::Config(args) => config_cmd::command(&args, json, (&settings, screen)),
        Command::Inspect(args) => Box::pin(inspect::command(args, json, (&settings, screen))).await,
        Command::Chat(args) => Box::pin(chat::command(args, verbose > 0, (&settings, screen))).await,
        Command::Serve(args) => Box::pin(serve::command(args, &settings, json, screen)).await,
        Command::Sessions(args) => Box::pin(sessions_cmd::command(args, json, (&settings, screen))).await,
        Command::Servers(args) => Box::pin(servers_cmd::command(args, json, (&settings, screen))).await,
        Command::Doctor(args) => Box::pin(doctor::command(&args, &settings, (json, screen))).await,
        Command::Completions(args) => completions::command(args),
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
