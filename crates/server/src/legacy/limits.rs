//! How many sessions, how large, and how long.

use std::time::Duration;

/// The limits of sessions: of what they are subscribed to on every transport, and of all else over HTTP.
/// What only initializes costs nothing there and is not counted: its session travels in its id.
///
/// ```
/// use switchboard_server::{Limits, SessionLimits};
///
/// let sessions = SessionLimits { kept: 100, ..SessionLimits::default() };
/// let limits = Limits { sessions, ..Limits::default() };
/// # let _ = limits;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Bytes of the URIs that sessions are subscribed to, with 64 more for each, over all sessions of the
    /// server. Beyond it nothing more can be subscribed to until a session unsubscribes or ends. Default
    /// 16 MiB.
    pub subscribed_bytes: usize,
    /// Sessions of which something is kept while nothing runs in them: a log level, subscriptions, a
    /// stream that was listened to. Beyond it the one that was used least recently ends. Four times as many
    /// ids of ended sessions are remembered. Default 10 000.
    pub kept: usize,
    /// How long something is kept of a session that nobody uses; the session ends then. A request whose
    /// stream nobody has read for so long is cancelled. Default 30 minutes.
    pub idle: Duration,
    /// How long the id of a session is good. Default 24 hours.
    pub life: Duration,
    /// Bytes of what event streams have said and may have to say again, over all sessions. Default 16 MiB.
    pub replay_bytes: usize,
    /// How long what a stream has said is kept after its end. Default 1 minute.
    pub replay_time: Duration,
    /// How long one connection carries an event stream that the client can take up again; clients that
    /// cannot are never cut off. Default 5 minutes.
    pub stream_time: Duration,
    /// After how long a client shall take up a stream again. Default 1 s.
    pub retry: Duration,
    /// Bytes that wait for a client of HTTP+SSE which does not read; beyond it nothing is taken from it.
    /// Default 1 MiB.
    pub unread_bytes: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            subscribed_bytes: 16 * 1024 * 1024,
            kept: 10_000,
            idle: Duration::from_secs(30 * 60),
            life: Duration::from_secs(24 * 60 * 60),
            replay_bytes: 16 * 1024 * 1024,
            replay_time: Duration::from_secs(60),
            stream_time: Duration::from_secs(5 * 60),
            retry: Duration::from_secs(1),
            unread_bytes: 1024 * 1024,
        }
    }
}
