//! The named limit of every buffer, queue and wait of the server.
//!
//! One value, set once on the builder and shared by every transport, so that nothing a peer sends
//! grows without bound. Where to look next: `build.rs` takes it, `http` and `stdio` obey it.

use std::time::Duration;

/// How large, how many and how long.
///
/// The defaults suit a server with ordinary tools; raise one where a tool needs more.
///
/// ```
/// use switchboard_server::Limits;
///
/// let limits = Limits { body_bytes: 64 * 1024 * 1024, ..Limits::default() };
/// assert_eq!(limits.page_size, 1_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one HTTP request body. Default 4 MiB.
    pub body_bytes: usize,
    /// Bytes of one line on a pipe, without its end. Default 4 MiB.
    pub line_bytes: usize,
    /// Bytes of one message that leaves on an event stream or a pipe as a notification; a longer log
    /// message or progress text is replaced by a note that says so. Default 64 KiB.
    pub event_bytes: usize,
    /// Exchanges that run at the same time: on one pipe, and over the whole HTTP service. Of the latter, a
    /// quarter may run in one session, and a quarter for clients of sessions that have left and may come
    /// back; a quarter more is there for messages of sessions that are read while all are taken. Default
    /// 1 024.
    pub concurrent_exchanges: usize,
    /// Connections that the HTTP listener keeps open at the same time. Default 4 096.
    pub connections: usize,
    /// How long an HTTP client may take to send its headers, and again for its body. Default 30 s.
    pub read_timeout: Duration,
    /// How long an HTTP client may read nothing of what is waiting to be written to it; its connection is
    /// closed then. Default 30 s. For the connections of our own listener: whoever mounts the service
    /// elsewhere has that server's.
    pub write_timeout: Duration,
    /// How long an event stream stays silent before a comment keeps it alive; also how long a handler may
    /// be silent before its answer becomes an event stream. Default 15 s.
    pub keep_alive: Duration,
    /// Items on one page of a list. Default 1 000.
    pub page_size: usize,
    /// `subscriptions/listen` streams of one server that are open at the same time, over all its
    /// transports, and whatever else a client listens to without a request. Default 1 024.
    pub listen_streams: usize,
    /// Resource URIs that one `subscriptions/listen` may name; what is beyond is not granted. Default 1 024.
    pub listen_uris: usize,
    /// Log messages of one exchange that wait to be sent; the oldest gives way. Default 64.
    pub outbox_messages: usize,
    /// The least time between two progress notifications of one exchange, once
    /// [`Limits::progress_burst`] are out. Default 50 ms.
    pub progress_interval: Duration,
    /// Progress notifications of one exchange that are sent as fast as they come. Default 16.
    pub progress_burst: u32,
    /// Bytes of a sealed request state, as it stands on the wire. Default 16 KiB.
    pub request_state_bytes: usize,
    /// For how long a sealed request state is good, and for how long a question of a session waits for its
    /// answer. Default 10 minutes.
    pub request_state_ttl: Duration,
    /// Input rounds of one request, asked-again questions included. Default 32.
    pub input_rounds: u32,
    /// How long a tool, resource or prompt handler may take that has no timeout of its own; `None` for
    /// ever. Default 10 minutes.
    pub handler_timeout: Option<Duration>,
    /// Messages of one batch, in the one revision that has them. Default 64.
    #[cfg(feature = "legacy")]
    pub batch_messages: usize,
    /// Sessions.
    #[cfg(feature = "legacy")]
    pub sessions: crate::legacy::SessionLimits,
    /// How long a graceful shutdown waits for exchanges that are running. Default 10 s.
    pub shutdown_grace: Duration,
}

impl Limits {
    /// How deep JSON may nest where it is decoded into a value; fixed, because the decoder has it built
    /// in. Text that is only passed on is not decoded.
    pub const JSON_DEPTH: usize = 128;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 4 * 1024 * 1024,
            line_bytes: 4 * 1024 * 1024,
            event_bytes: 64 * 1024,
            concurrent_exchanges: 1_024,
            connections: 4_096,
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            page_size: 1_000,
            listen_streams: 1_024,
            listen_uris: 1_024,
            outbox_messages: 64,
            progress_interval: Duration::from_millis(50),
            progress_burst: 16,
            request_state_bytes: 16 * 1024,
            request_state_ttl: Duration::from_secs(600),
            input_rounds: 32,
            handler_timeout: Some(Duration::from_secs(600)),
            #[cfg(feature = "legacy")]
            batch_messages: 64,
            #[cfg(feature = "legacy")]
            sessions: crate::legacy::SessionLimits::default(),
            shutdown_grace: Duration::from_secs(10),
        }
    }
}
