//! Our client in the story.
//!
//! ```text
//! interop-client REVISION stdio COMMAND ARG…
//! interop-client REVISION http URL
//! ```
//!
//! REVISION is a date, the only one that is offered, or `auto`. `INTEROP_WITHOUT` names steps that are left out, with
//! commas between them. Prints one JSON object for each step, and ends with 1 if one failed.

#![expect(clippy::print_stdout, reason = "the steps are the output")]

use std::collections::BTreeSet;
use std::error::Error;
use std::process::ExitCode;

use switchboard_interop::steps;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("interop-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<bool, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let without = std::env::var("INTEROP_WITHOUT").unwrap_or_default();
    let without: BTreeSet<&str> = without.split(',').collect();
    let connect = match arguments.as_slice() {
        [revision, transport, program, rest @ ..] if transport == "stdio" => {
            steps::client(revision)?.command(program, rest.iter().map(String::as_str))
        }
        [revision, transport, url] if transport == "http" => steps::client(revision)?.http(url),
        _ => {
            return Err(
                "usage: interop-client REVISION stdio COMMAND ARG… | interop-client REVISION http URL".into(),
            );
        }
    };
    Ok(steps::play(connect, &without, |line| println!("{line}")).await)
}
