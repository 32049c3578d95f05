//! The bounds on what a server can make this client hold, send or wait for.

use std::time::Duration;

/// Bounds on what a server can make the client hold, send or wait for. Every buffer has one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one message. 32 MiB.
    pub message_bytes: usize,
    /// Bytes of the body of an HTTP answer that is no success; what is longer is not read. 1 MiB.
    pub error_body_bytes: usize,
    /// Redirects of one request, to the same origin. 3.
    pub redirects: usize,
    /// Pages of one list. 100.
    pub pages: usize,
    /// Items of one list. 10 000.
    pub items: usize,
    /// Bytes of all pages of one list. What is in a list is held as long as the connection, and costs several times its text.
    /// 16 MiB.
    pub list_bytes: usize,
    /// Time for all pages of one list. 60 s.
    pub list_time: Duration,
    /// Rounds of input of one request. 10.
    pub rounds: usize,
    /// Bytes that the cache holds, by the size of the answers. 16 MiB.
    pub cache_bytes: usize,
    /// Entries that the cache holds. 1 024.
    pub cache_entries: usize,
    /// Time until the server has answered the first request. For a program that this client starts
    /// it begins anew with whatever that writes to its stderr, since one that is still compiled or
    /// installed does: nothing on either stream for this long is the end of the wait. 30 s.
    pub connect_time: Duration,
    /// Time until a program has answered the first request, whatever it writes to its stderr. 5 min.
    pub start_time: Duration,
    /// Silence after which a server behind a pipe is offered the handshake of the legacy era, beside the
    /// first request of the modern one. 2 s.
    pub probe_time: Duration,
    /// Time for a server of a legacy session to answer whether it has a stream of its own, before changes are said to be
    /// heard. 2 s.
    pub stream_time: Duration,
    /// Requests of a server in a legacy session that wait for their answer; what they hold together is
    /// bounded by `message_bytes`. More are refused. 16.
    pub questions: usize,
    /// The first wait before a broken subscription is opened again; it doubles up to a minute. 500 ms.
    pub reconnect_wait: Duration,
    /// How often a child process that ended is started again within a minute. 3.
    pub restarts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 32 << 20,
            error_body_bytes: 1 << 20,
            redirects: 3,
            pages: 100,
            items: 10_000,
            list_bytes: 16 << 20,
            list_time: Duration::from_secs(60),
            rounds: 10,
            cache_bytes: 16 << 20,
            cache_entries: 1024,
            connect_time: Duration::from_secs(30),
            start_time: Duration::from_secs(5 * 60),
            probe_time: Duration::from_secs(2),
            stream_time: Duration::from_secs(2),
            questions: 16,
            reconnect_wait: Duration::from_millis(500),
            restarts: 3,
        }
    }
}
