//! A session on the pipe: the client answers what the server asks, and the server speaks of its own accord.

use super::ServerSession;
use crate::frame::{NotificationFrame, ResponseFrame};

/// What only a session has.
#[derive(Debug)]
pub enum InSession<'a> {
    /// An answer to something that the server asked.
    Response(ResponseFrame<'a>),
    /// A notification that is no cancellation.
    Notification(NotificationFrame<'a>),
    /// An array, which holds several messages: each is to be handed in by itself.
    Batch(&'a str),
}

/// What of the terms of a session this machine has to know.
#[derive(Debug, Default)]
pub(super) struct Terms {
    is_open: bool,
    takes_batches: bool,
}

impl Terms {
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn is_batch(&self, line: &str) -> bool {
        self.takes_batches && line.trim_ascii_start().starts_with('[')
    }
}

impl ServerSession {
    /// From now on there is a session: answers and notifications of the client are handed out, and arrays
    /// are if its revision has them.
    pub fn open_session(&mut self, takes_batches: bool) {
        self.terms = Terms { is_open: true, takes_batches };
    }

    /// Sends a message that `encode` appends and that belongs to no request of the client.
    pub fn say(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        self.send(encode);
    }

    /// Answers a message without an id, such as a batch that is none.
    pub fn refuse(&mut self, error: &crate::error::ProtocolError) {
        self.send_error(None, error);
    }
}
