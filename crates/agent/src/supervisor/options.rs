//! What holds for all servers of a supervisor.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::WireMessage;

use super::restarts::RestartPolicy;
use super::status::LogLine;
use crate::name::ServerName;
use crate::store::{MemoryStore, Store};

/// Takes the lines of the servers' logs as they come. Must not wait for long.
pub type LogSink = Arc<dyn Fn(&ServerName, &LogLine) + Send + Sync>;

/// Takes messages to and from a server that belong to no call, as they go over the wire, unmasked. Must not wait.
pub type WireTap = Arc<dyn Fn(&ServerName, WireMessage<'_>) + Send + Sync>;

/// What holds for all servers of a supervisor.
#[derive(Clone)]
#[non_exhaustive]
pub struct SupervisorOptions {
    /// The name and the version that servers see.
    pub implementation: (String, String),
    /// Where it is kept which revision a server speaks, and which tools a lazy one has.
    pub store: Arc<dyn Store>,
    /// What servers may ask.
    pub offers: Offers,
    /// How long the first turn waits for servers that are not required. Default 3 s.
    pub grace: Duration,
    /// How often a server that ended is started again.
    pub restarts: RestartPolicy,
    /// How often a server is asked for its tools, where they can be stale. Default 5 min.
    pub poll: Duration,
    /// Takes the lines of the servers' logs.
    pub log: Option<LogSink>,
    /// Takes the messages that belong to no call, such as those that a connection begins with. What belongs to one is in
    /// the journal of its run.
    pub wire: Option<WireTap>,
}

impl Default for SupervisorOptions {
    fn default() -> Self {
        Self {
            implementation: ("switchboard".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            store: Arc::new(MemoryStore::default()),
            offers: Offers::default(),
            grace: Duration::from_secs(3),
            restarts: RestartPolicy::default(),
            poll: Duration::from_secs(5 * 60),
            log: None,
            wire: None,
        }
    }
}

impl fmt::Debug for SupervisorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SupervisorOptions")
            .field("implementation", &self.implementation)
            .field("offers", &self.offers)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}

/// What servers may ask. What is not offered is not declared, so a server that needs it says so at once. Whether a server
/// may ask for folders is its own [`roots`](super::ServerConfig::roots).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// A person fills in forms.
    pub forms: bool,
    /// A person visits addresses.
    pub urls: bool,
    /// A language model is asked.
    pub sampling: bool,
}

impl Default for Offers {
    fn default() -> Self {
        Self { forms: true, urls: true, sampling: true }
    }
}

impl Offers {
    /// Nothing.
    #[must_use]
    pub fn none() -> Self {
        Self { forms: false, urls: false, sampling: false }
    }
}
