//! The seam to a server: list its tools, call one.
//!
//! The handles live in [`Gate`](super::Gate) and nowhere else. `policy/upstream/client.rs` is the one
//! implementation outside of tests.

mod client;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use switchboard_protocol::model::tool::Tool;

use crate::exposure::Declared;
use crate::identity::Identity;
use crate::outcome::ToolOutcome;

pub(crate) use self::client::ClientUpstream;

/// A server that tools can be listed and called on.
pub(crate) trait Upstream: Send + Sync {
    /// Opens the connection where that is needed and lists the tools of all pages.
    fn list(&self) -> BoxFuture<'_, Result<Listing, UpstreamError>>;

    /// Makes one call. Dropping the future cancels it.
    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: &'a RawValue,
        progress: ProgressSink,
    ) -> BoxFuture<'a, ToolOutcome>;
}

/// Takes the progress of one call.
pub(crate) type ProgressSink = Arc<dyn Fn(CallProgress) + Send + Sync>;

/// How far a call has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallProgress {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// What a server says when it is asked for its tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) identity: Identity,
    pub(crate) declared: Declared,
}

/// Why a server cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UpstreamError {
    pub(crate) message: String,
    pub(crate) unauthorized: bool,
}
