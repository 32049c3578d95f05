//! The tap: every message as it went over the wire.

use std::fmt;
use std::sync::Arc;

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From this client to the server.
    Sent,
    /// From the server to this client.
    Received,
}

/// One message as it went over the wire, without the headers around it.
///
/// The bytes are unmasked: what a tap writes down may hold whatever the arguments hold.
#[derive(Clone, Copy, Debug)]
pub struct WireMessage<'a> {
    /// Which way.
    pub direction: Direction,
    /// One JSON-RPC message, or whatever a server sent in its place.
    pub bytes: &'a [u8],
}

/// Sees every message. It runs inside the exchange, so it must not block.
#[derive(Clone, Default)]
pub(crate) struct Tap(Option<TapFn>);

type TapFn = Arc<dyn Fn(WireMessage<'_>) + Send + Sync>;

impl Tap {
    pub(crate) fn new(tap: impl Fn(WireMessage<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tap)))
    }

    pub(crate) fn sent(&self, bytes: &[u8]) {
        self.see(Direction::Sent, bytes);
    }

    pub(crate) fn received(&self, bytes: &[u8]) {
        self.see(Direction::Received, bytes);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn see(&self, direction: Direction, bytes: &[u8]) {
        if let Some(tap) = &self.0 {
            tap(WireMessage { direction, bytes });
        }
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Tap(set)" } else { "Tap(none)" })
    }
}
