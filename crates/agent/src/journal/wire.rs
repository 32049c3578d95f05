//! Records the messages of one connection, and only counts what floods it.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use switchboard_client::{Direction, WireMessage};

use super::Journal;
use super::event::{Execution, WireDirection};
use crate::name::{CallId, ServerName};

/// How many messages that nobody asked for are recorded between two others.
const UNASKED: u64 = 1000;

/// A longer message is only mentioned: results are kept elsewhere, and bounded there.
const MESSAGE_BYTES: usize = 512 * 1024;

/// What listens to one connection.
pub(super) struct WireTap {
    journal: Journal,
    server: ServerName,
    call: Option<CallId>,
    /// Messages that nobody asked for since the last request of this side, or answer to one.
    unasked: Mutex<u64>,
}

impl WireTap {
    pub(super) fn new(journal: Journal, server: ServerName) -> Self {
        Self { journal, server, call: None, unasked: Mutex::new(0) }
    }

    /// What listens to the messages of one call on a shared connection.
    fn of_call(mut self, call: CallId) -> Self {
        self.call = Some(call);
        self
    }

    pub(super) fn see(&self, message: &WireMessage<'_>) {
        let direction = match message.direction {
            Direction::Sent => WireDirection::Sent,
            Direction::Received => WireDirection::Received,
        };
        let message = match message.bytes.len() {
            bytes if bytes > MESSAGE_BYTES => {
                Value::String(format!("a message, or a piece of one, of {bytes} bytes"))
            }
            _ => serde_json::from_slice(message.bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(message.bytes).into_owned())),
        };
        let answer = message.get("id").is_some() && message.get("method").is_none();
        // What a server of a session asks, and what it is told, is of its making: it asks as often as it likes.
        let unasked = match direction {
            WireDirection::Received => !answer,
            WireDirection::Sent => answer,
        };
        if unasked {
            let mut unasked = self.unasked.lock().unwrap_or_else(PoisonError::into_inner);
            *unasked += 1;
            if *unasked > UNASKED {
                return;
            }
        } else {
            self.settle();
        }
        self.journal.record(Execution::Wire {
            server: self.server.clone(),
            call: self.call,
            direction,
            message,
        });
    }

    /// Says how many were left out.
    fn settle(&self) {
        let unasked = std::mem::take(&mut *self.unasked.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(messages) = unasked.checked_sub(UNASKED).filter(|messages| *messages > 0) {
            self.journal.record(Execution::WireLeftOut { server: self.server.clone(), messages });
        }
    }
}

impl Journal {
    /// A tap that records the messages of one call, as [`tap`](Self::tap) does those of a connection.
    pub(crate) fn call_tap(
        &self,
        server: ServerName,
        call: CallId,
    ) -> impl Fn(WireMessage<'_>) + Send + Sync + 'static {
        let tap = WireTap::new(self.clone(), server).of_call(call);
        move |message| tap.see(&message)
    }
}

impl Drop for WireTap {
    fn drop(&mut self) {
        self.settle();
    }
}
