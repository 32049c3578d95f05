//! Our server in the story.
//!
//! ```text
//! interop-server stdio|http [NEWEST]
//! ```
//!
//! NEWEST is the date of the newest revision that it knows; without it, it knows all. Over HTTP it says
//! `listening on URL` on standard error, and is reached at that URL, or with HTTP+SSE at `/sse`.

use std::error::Error;
use std::process::ExitCode;

use switchboard_interop::server::server;
use switchboard_server::until_signal;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interop-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (transport, newest) = match arguments.as_slice() {
        [transport] => (transport.as_str(), None),
        [transport, newest] => (transport.as_str(), Some(newest.as_str())),
        _ => return Err("usage: interop-server stdio|http [NEWEST]".into()),
    };
    let server = server(newest)?;
    match transport {
        "stdio" => Ok(server.serve_stdio().await?),
        "http" => {
            let serving = server.http().bind("127.0.0.1:0").await?;
            eprintln!("listening on {}", serving.url());
            serving.run_until(until_signal()).await;
            Ok(())
        }
        other => Err(format!("{other} is no transport: stdio or http").into()),
    }
}
