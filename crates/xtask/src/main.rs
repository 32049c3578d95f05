//! The project's own chores: `cargo xtask ci`, `tidy`, `conformance`, `browser`, `interop` and `bench`.
//!
//! One subcommand is one file, with its arguments and a `run`. Nothing here is published, and nothing here uses
//! the libraries: the chores must run when the libraries do not compile. Look next at `ci`, which calls the rest.

#![expect(clippy::print_stdout, reason = "what a chore has to say is its standard output")]

mod bench;
mod browser;
mod ci;
mod conformance;
mod finding;
mod interop;
mod process;
mod sunset;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure beside a hand-written server and the official SDK.
    Bench(bench::Args),
    /// Drive the web page in a headless Chromium.
    Browser(browser::Args),
    /// Run every check that a change must pass, cheap ones first.
    Ci(ci::Args),
    /// Drive our server and client with the official conformance suite.
    Conformance(conformance::Args),
    /// Play with the official SDKs and with real servers.
    Interop(interop::Args),
    /// Check dependency walls, budgets and habits.
    Tidy(tidy::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bench(args) => bench::run(&args),
        Command::Browser(args) => browser::run(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Interop(args) => interop::run(&args),
        Command::Tidy(args) => tidy::run(&args),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
