//! `weather-station [--listen ADDRESS]`: starts the simulated station and serves its MCP server,
//! over stdio unless an address is given.

use std::error::Error;

use switchboard_server::until_signal;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let station = weather_station::api::start().await?;
    let server = weather_station::server(&format!("http://{station}/"))?;
    match std::env::args().skip_while(|argument| argument != "--listen").nth(1) {
        Some(address) => server.http().bind(address).await?.run_until(until_signal()).await,
        None => server.serve_stdio().await?,
    }
    Ok(())
}
