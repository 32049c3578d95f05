//! `city-weather [--listen ADDRESS]`: serves the weather of cities, over stdio unless an address is given.
//! `CITY_WEATHER_URL` names another service of the same shape.

use std::error::Error;

use switchboard_server::until_signal;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = city_weather::server(std::env::var("CITY_WEATHER_URL").ok().as_deref())?;
    match std::env::args().skip_while(|argument| argument != "--listen").nth(1) {
        Some(address) => server.http().bind(address).await?.run_until(until_signal()).await,
        None => server.serve_stdio().await?,
    }
    Ok(())
}
