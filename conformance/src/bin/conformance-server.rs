//! The server that the official suite drives, over HTTP on loopback.
//!
//! ```text
//! conformance-server [--listen ADDR] [--newest DATE]
//! ```
//!
//! `ADDR` is `127.0.0.1:0` unless `PORT` says which port. With `--newest` it is a server that has no revision after
//! this one: the suite's own client always offers the newest with a handshake, and is answered with an older one.
//! Says `listening on http://127.0.0.1:PORT/mcp` on standard error once it does. What it exposes is in
//! `switchboard_conformance::server`.

use std::error::Error;
use std::process::ExitCode;

use switchboard_server::{Server, until_signal};

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
    let usage = "usage: conformance-server [--listen ADDR] [--newest DATE]";
    let mut address = format!("127.0.0.1:{}", std::env::var("PORT").as_deref().unwrap_or("0"));
    let mut newest = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or(usage)?;
        match flag.as_str() {
            "--listen" => address = value,
            "--newest" => newest = Some(value),
            _ => return Err(usage.into()),
        }
    }
    let serving = server(newest.as_deref())?.http().bind(&address).await?;
    eprintln!("listening on {}", serving.url());
    serving.run_until(until_signal()).await;
    Ok(())
}

fn server(newest: Option<&str>) -> Result<Server, Box<dyn Error>> {
    match newest {
        None => Ok(switchboard_conformance::server::server()?),
        #[cfg(feature = "legacy")]
        Some(date) => {
            let newest = switchboard_protocol::Revision::from_date(date);
            let newest = newest.ok_or_else(|| format!("{date} is the date of no revision"))?;
            Ok(switchboard_conformance::server::server_up_to(newest)?)
        }
        #[cfg(not(feature = "legacy"))]
        Some(_) => Err("built without the feature legacy, so there is nothing older".into()),
    }
}
