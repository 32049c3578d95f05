//! Records the messages of one connection, and only counts what floods it.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use switchboard_client::{Direction, WireMessage};

use super::Journal;
use super::event::{Execution, WireDirection};
use crate::name::ServerName;

/// How many messages that nobody asked for are recorded between two others.
const UNASKED: u64 = 1000;

/// What listens to one connection.
pub(super) struct WireTap {
    journal: Journal,
    server: ServerName,
    /// Messages that nobody asked for since the last request of this side, or answer to one.
    unasked: Mutex<u64>,
}

impl WireTap {
    pub(super) fn new(journal: Journal, server: ServerName) -> Self {
        Self { journal, server, unasked: Mutex::new(0) }
    }

    pub(super) fn see(&self, message: &WireMessage<'_>) {
        let direction = match message.direction {
            Direction::Sent => WireDirection::Sent,
            Direction::Received => WireDirection::Received,
        };
        let message = serde_json::from_slice(message.bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(message.bytes).into_owned()));
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
        self.journal.record(Execution::Wire { server: self.server.clone(), direction, message });
    }

    /// Says how many were left out.
    fn settle(&self) {
        let unasked = std::mem::take(&mut *self.unasked.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(messages) = unasked.checked_sub(UNASKED).filter(|messages| *messages > 0) {
            self.journal.record(Execution::WireLeftOut { server: self.server.clone(), messages });
        }
    }
}

impl Drop for WireTap {
    fn drop(&mut self) {
        self.settle();
    }
}
