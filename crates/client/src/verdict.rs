//! What was found out about a server's era, as a value that a host can store.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use switchboard_protocol::{Era, Revision};

/// For how long a verdict of the legacy era may be believed. A modern one corrects itself: a server
/// that no longer speaks its revision says so. A legacy one does not, since an upgraded server still
/// answers the handshake.
const LEGACY_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Which revision a server speaks, and when that was found out. A host may store it with the
/// configuration of the server and give it back to [`crate::ClientBuilder::verdict`], which saves
/// the first request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EraVerdict {
    /// The revision that was agreed on, by its date.
    pub revision: String,
    /// When, in seconds since 1970.
    pub seen_at: u64,
    /// Whether a legacy server is reached over HTTP+SSE, which takes a detour to find out.
    #[serde(default)]
    pub http_sse: bool,
}

impl EraVerdict {
    pub(crate) fn now(revision: Revision, http_sse: bool) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { revision: revision.date().to_owned(), seen_at: since.as_secs(), http_sse }
    }

    /// The revision, if it is one that this version of the library knows.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        Revision::from_date(&self.revision)
    }

    /// Whether the server speaks a modern revision, as far as is known here.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.revision().is_some_and(|revision| revision.era() == Era::Modern)
    }

    /// Whether it can still be relied on at `now`.
    #[must_use]
    pub fn holds_at(&self, now: SystemTime) -> bool {
        let seen = UNIX_EPOCH + Duration::from_secs(self.seen_at);
        self.is_modern() || now.duration_since(seen).is_ok_and(|age| age < LEGACY_AGE)
    }
}
