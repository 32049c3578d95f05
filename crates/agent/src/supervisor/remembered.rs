//! The tools of a lazy server, kept from the last time, so that they can be offered before it is started.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_protocol::model::tool::Tool;

use super::config::ServerConfig;
use super::options::SupervisorOptions;
use super::server::Server;
use crate::identity::Identity;
use crate::policy::Listing;

/// The kind of document that they are kept as, by the configuration's hash.
pub(super) const LISTING: &str = "listing";

#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    implementation: Option<String>,
    revision: String,
    #[serde(default)]
    session: bool,
    tools: Vec<Tool>,
}

/// What is known of the server.
pub(super) fn listing(config: &ServerConfig, options: &SupervisorOptions) -> Option<Listing> {
    let stored = options.store.document(LISTING, &config.hash);
    let text = stored.inspect_err(|error| tracing::debug!(%error, "no tools can be read")).ok()??;
    let Kept { implementation, revision, session, tools } = serde_json::from_str(&text).ok()?;
    let identity = Identity { implementation, revision, session };
    Some(Listing::new(identity, tools.into(), Arc::default()))
}

/// Keeps what is known of a server that is lazy.
pub(super) fn keep(server: &Server, listing: &Listing) {
    if !server.config.lazy {
        return;
    }
    let Identity { implementation, revision, session } = listing.identity.clone();
    let kept = Kept { implementation, revision, session, tools: listing.tools.to_vec() };
    let stored = serde_json::to_string(&kept).map_err(|error| error.to_string()).and_then(|text| {
        let stored = server.options.store.put_document(LISTING, &server.config.hash, Some(&text));
        stored.map_err(|error| error.to_string())
    });
    if let Err(error) = stored {
        tracing::warn!(%error, server = %server.config.name, "the tools of a lazy server are not kept");
    }
}
