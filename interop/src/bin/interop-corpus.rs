//! Our client, on one server of the corpus.
//!
//! ```text
//! interop-corpus SUBJECT LOG
//! ```
//!
//! SUBJECT is JSON that says how to start the server and which tool to call; every message is written to LOG. Prints
//! one JSON object, and ends with 1 if a step failed.

#![expect(clippy::print_stdout, reason = "the report is the output")]

use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use switchboard_interop::subject::{Subject, examine};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("interop-corpus: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<bool, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [subject, log] = arguments.as_slice() else { return Err("usage: interop-corpus SUBJECT LOG".into()) };
    let subject: Subject = serde_json::from_str(subject)?;
    let report = examine(&subject, File::create(log)?).await;
    println!("{}", serde_json::to_string(&report)?);
    Ok(report.is_ok())
}
