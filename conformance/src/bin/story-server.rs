//! The server of the story, over its standard streams.
//!
//! ```text
//! story-server [ERAS]
//! ```
//!
//! `ERAS` is `all` (the default), `modern`, or the date of the newest revision that it speaks.

use std::error::Error;
use std::process::ExitCode;

use switchboard_conformance::story;
use switchboard_server::Server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("story-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let eras = std::env::args().nth(1);
    server(eras.as_deref().unwrap_or("all"))?.serve_stdio().await?;
    Ok(())
}

#[cfg(feature = "legacy")]
fn server(eras: &str) -> Result<Server, Box<dyn Error>> {
    use switchboard_protocol::Revision;
    use switchboard_server::Eras;

    let eras = match eras {
        "all" => Eras::ALL,
        "modern" => Eras::MODERN_ONLY,
        date => Eras::up_to(Revision::from_date(date).ok_or_else(|| format!("{date} is no revision"))?),
    };
    Ok(story::server_of(eras)?)
}

#[cfg(not(feature = "legacy"))]
fn server(eras: &str) -> Result<Server, Box<dyn Error>> {
    match eras {
        "all" | "modern" => Ok(story::server()?),
        _ => Err("built without the feature legacy, so there is nothing older".into()),
    }
}
