//! The server under test: everything that the suite's server scenarios ask for, and nothing else.
//!
//! `tools.rs`, `resources.rs` and `prompts.rs` answer at once, `rounds.rs` asks first, `triggers.rs` changes the
//! catalog while it is watched.

mod prompts;
mod resources;
mod rounds;
mod tools;
mod triggers;

use std::time::Duration;

use switchboard_server::{BuildError, Cache, Server};

/// A picture of one red pixel: a PNG in base64.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// Half a millisecond of silence: a WAV in base64.
const WAV: &str = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA";

/// Makes the server.
///
/// # Errors
/// What is wrong with the things that it exposes.
pub fn server() -> Result<Server, BuildError> {
    let builder = Server::builder("switchboard-conformance", env!("CARGO_PKG_VERSION"))
        .description("What the official conformance suite asks for")
        .list_cache(Cache::Public(Duration::from_secs(60)));
    let builder = rounds::expose(prompts::expose(resources::expose(tools::expose(builder))));
    let server = builder.build(())?;
    triggers::expose(server.catalog())?;
    Ok(server)
}
