//! What a dispatched call is bound to: the thing it reached, and what all things share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::Extensions;

use crate::bus::ChangeBus;
use crate::extract::CallerId;
use crate::limits::Limits;
use crate::linger::Lingering;
use crate::output::OutputSchema;
use crate::schema::EnforcedSchema;
use crate::seal::Seal;

/// For how long a client may use an answer again, and who may share it [spec: server/utilities/caching].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Only the caller that asked.
    Private(Duration),
    /// Anybody: the answer is the same for every caller.
    Public(Duration),
}

impl Default for Cache {
    /// Not at all.
    fn default() -> Self {
        Self::Private(Duration::ZERO)
    }
}

/// What everything that a server exposes has in common.
pub(crate) struct Core {
    pub(crate) bus: Arc<dyn ChangeBus>,
    pub(crate) limits: Limits,
    pub(crate) seal: Seal,
    /// The handlers that go on after their exchange.
    pub(crate) lingering: Arc<Lingering>,
    #[cfg(feature = "legacy")]
    pub(crate) legacy: crate::legacy::Shared,
}

impl Core {
    /// The caller that sealed tokens are bound to; nobody in particular without an authenticator.
    pub(crate) fn caller(extensions: &Extensions) -> Option<&str> {
        extensions.get::<CallerId>().map(|caller| caller.0.as_str())
    }
}

/// The facts about one exposed thing that extractors and replies read.
#[derive(Default)]
pub(crate) struct Entry {
    pub(crate) schema: Option<EnforcedSchema>,
    /// What structured results are held against, where that says more than their type.
    pub(crate) output: Option<OutputSchema>,
    pub(crate) mime: Option<String>,
    pub(crate) cache: Cache,
    pub(crate) description: Option<String>,
    /// Whether its handler takes part in input rounds.
    pub(crate) rounds: bool,
    /// The keys of the questions that are asked before the handler is entered.
    pub(crate) elicited: Vec<String>,
    pub(crate) timeout: Option<Duration>,
    /// How long the handler may go on after the exchange is over.
    pub(crate) grace: Option<Duration>,
    /// Whether the handler has a task of its own.
    pub(crate) spawned: bool,
}

/// One exposed thing within its server.
pub(crate) struct Bound {
    pub(crate) core: Arc<Core>,
    pub(crate) entry: Entry,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").finish_non_exhaustive()
    }
}

impl Bound {
    /// How long a handler of this thing may take.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.entry.timeout.or(self.core.limits.handler_timeout)
    }
}
