//! The client that the official suite drives.
//!
//! ```text
//! MCP_CONFORMANCE_SCENARIO=NAME conformance-client URL
//! ```
//!
//! The suite gives the address of its mock server as the last argument, the scenario and its data in the environment,
//! and wants exit code 0. What is done in a scenario is in `switchboard_conformance::client`.

use std::error::Error;
use std::process::ExitCode;

use switchboard_client::Revision;
use switchboard_conformance::client::Scenario;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let usage = "usage: MCP_CONFORMANCE_SCENARIO=NAME conformance-client URL";
    let name = std::env::var("MCP_CONFORMANCE_SCENARIO").map_err(|_| usage)?;
    let url = std::env::args().skip(1).last().ok_or(usage)?;
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").ok();
    let date = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").ok();
    let scenario = Scenario {
        name: &name,
        url: &url,
        revision: date.as_deref().and_then(Revision::from_date),
        context: context.as_deref(),
    };
    switchboard_conformance::client::run(scenario).await
}
