//! The server that the official suite drives, over HTTP on loopback.
//!
//! ```text
//! conformance-server [--listen ADDR]    ADDR is 127.0.0.1:0 unless PORT says which port
//! ```
//!
//! Says `listening on http://127.0.0.1:PORT/mcp` on standard error once it does. What it exposes is in
//! `switchboard_conformance::server`.

use std::error::Error;
use std::process::ExitCode;

use switchboard_server::until_signal;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = match arguments.as_slice() {
        [] => format!("127.0.0.1:{}", std::env::var("PORT").as_deref().unwrap_or("0")),
        [flag, address] if flag == "--listen" => address.clone(),
        _ => return Err("usage: conformance-server [--listen ADDR]".into()),
    };
    let serving = switchboard_conformance::server::server()?.http().bind(&address).await?;
    eprintln!("listening on {}", serving.url());
    serving.run_until(until_signal()).await;
    Ok(())
}
