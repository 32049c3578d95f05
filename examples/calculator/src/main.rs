//! `calculator [--listen ADDRESS]`: serves arithmetic, over stdio unless an address is given.

use std::error::Error;

use switchboard_server::until_signal;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = calculator::server()?;
    match std::env::args().skip_while(|argument| argument != "--listen").nth(1) {
        Some(address) => server.http().bind(address).await?.run_until(until_signal()).await,
        None => server.serve_stdio().await?,
    }
    Ok(())
}
