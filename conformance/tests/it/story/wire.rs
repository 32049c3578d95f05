//! Every message of a connection, held against the published schema of the revision that is spoken.

use std::sync::Mutex;

use serde_json::Value;
use switchboard_client::{Direction, Revision, WireMessage};
use switchboard_protocol::era::Era;
use switchboard_testkit::wire as modern;
use tokio::sync::Notify;

/// Requests of the story that no revision has, or not each: there is no schema for them.
const UNKNOWN: &[&str] = &["story/unknown", "ping"];

#[derive(Default)]
pub(super) struct Wire {
    messages: Mutex<Vec<Message>>,
    more: Notify,
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) direction: Direction,
    pub(crate) bytes: Vec<u8>,
    pub(crate) json: Value,
    /// The method; of an answer that of its request.
    pub(crate) method: String,
}

impl Message {
    pub(crate) fn is_answer(&self) -> bool {
        self.json.get("method").is_none()
    }
}

impl Wire {
    pub(super) fn see(&self, message: WireMessage<'_>) {
        let json: Value = serde_json::from_slice(message.bytes).unwrap_or_default();
        let mut messages = self.messages.lock().unwrap();
        let method = match json["method"].as_str() {
            Some(method) => method.to_owned(),
            None => asked(&messages, message.direction, &json["id"]),
        };
        messages.push(Message { direction: message.direction, bytes: message.bytes.to_vec(), json, method });
        self.more.notify_one();
    }

    /// How many messages there are of which this is true.
    pub(super) fn count(&self, wanted: impl Fn(&Message) -> bool) -> usize {
        self.messages.lock().unwrap().iter().filter(|message| wanted(message)).count()
    }

    /// Waits until this request has been answered.
    #[cfg(feature = "legacy")]
    pub(super) async fn answered(&self, method: &str) {
        while self.count(|message| message.is_answer() && message.method == method) == 0 {
            self.more.notified().await;
        }
    }

    /// Holds every message against the schema.
    ///
    /// # Panics
    /// When one does not conform.
    pub(super) fn check(&self, revision: Revision) {
        let messages = self.messages.lock().unwrap();
        for message in messages.iter().filter(|message| !UNKNOWN.contains(&message.method.as_str())) {
            match (revision.era(), message.direction) {
                #[cfg(feature = "legacy")]
                (Era::Legacy, _) => crate::legacy::check(revision, message),
                (_, Direction::Sent) => modern::check_client_message(&message.bytes),
                (_, Direction::Received) => modern::check_server_message(&message.bytes, &message.method),
            }
        }
    }
}

/// The method of the request of the other side that has this id.
fn asked(messages: &[Message], answering: Direction, id: &Value) -> String {
    let is_it = |message: &&Message| {
        message.direction != answering && !message.is_answer() && message.json["id"] == *id
    };
    messages.iter().rev().find(is_it).map(|message| message.method.clone()).unwrap_or_default()
}
