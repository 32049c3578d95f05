//! The server under test: everything that the suite's server scenarios ask for, and nothing else.
//!
//! `tools.rs`, `resources.rs` and `prompts.rs` answer at once, `rounds.rs` and `questions.rs` ask first, `triggers.rs`
//! changes the catalog while it is watched. No handler knows which revision its caller speaks.

#[cfg(feature = "legacy")]
mod legacy;
mod prompts;
mod questions;
mod resources;
mod rounds;
mod tools;
mod triggers;

use std::time::Duration;

#[cfg(feature = "legacy")]
pub use legacy::server_up_to;
use switchboard_server::{BuildError, Builder, Cache, Server};

/// A picture of one red pixel: a PNG in base64.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// Half a millisecond of silence: a WAV in base64.
const WAV: &str = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA";

/// Makes the server, for clients of every revision.
///
/// # Errors
/// What is wrong with the things that it exposes.
pub fn server() -> Result<Server, BuildError> {
    finish(builder())
}

fn builder() -> Builder<()> {
    let builder = Server::builder("switchboard-conformance", env!("CARGO_PKG_VERSION"))
        .description("What the official conformance suite asks for")
        .list_cache(Cache::Public(Duration::from_secs(60)));
    #[cfg(feature = "legacy")]
    let builder = legacy::limit(builder);
    let builder = prompts::expose(resources::expose(tools::expose(builder)));
    questions::expose(rounds::expose(builder))
}

fn finish(builder: Builder<()>) -> Result<Server, BuildError> {
    let server = builder.build(())?;
    triggers::expose(server.catalog())?;
    Ok(server)
}
