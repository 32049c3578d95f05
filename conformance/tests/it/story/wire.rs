//! Every message of a connection, held against the published schema of the revision that is spoken.

use std::sync::Mutex;

use serde_json::Value;
use switchboard_client::{Direction, Revision, WireMessage};
use switchboard_protocol::era::Era;
use switchboard_testkit::wire as modern;
use tokio::sync::Notify;

use super::tap::Tap;

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

    fn of(&self, direction: Direction) -> Vec<Vec<u8>> {
        let messages = self.messages.lock().unwrap();
        messages
            .iter()
            .filter(|message| message.direction == direction)
            .map(|message| message.bytes.clone())
            .collect()
    }

    /// How many messages there are of which this is true.
    pub(super) fn count(&self, wanted: impl Fn(&Message) -> bool) -> usize {
        self.messages.lock().unwrap().iter().filter(|message| wanted(message)).count()
    }

    /// The last messages, in order.
    pub(super) fn last(&self, count: usize) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        let last = &messages[messages.len().saturating_sub(count)..];
        last.iter().map(|message| format!("{:?} {}", message.direction, message.json)).collect()
    }

    /// Waits until this request has been answered.
    #[cfg(feature = "legacy")]
    pub(super) async fn answered(&self, method: &str) {
        while self.count(|message| message.is_answer() && message.method == method) == 0 {
            self.more.notified().await;
        }
    }

    /// Holds every message against the schema, and all of them against what somebody else saw, in order.
    ///
    /// # Panics
    /// When one does not conform, or is not what was seen.
    pub(super) fn check(&self, revision: Revision, tap: Option<&Tap>) {
        if let Some(tap) = tap {
            assert_same(&tap.sent(), &self.of(Direction::Sent));
            assert_same(&tap.received(), &self.of(Direction::Received));
        }
        let messages = self.messages.lock().unwrap();
        for message in messages.iter().filter(|message| !UNKNOWN.contains(&message.method.as_str())) {
            #[cfg(feature = "legacy")]
            if revision.era() == Era::Legacy {
                crate::legacy::check(revision, message);
                continue;
            }
            assert_eq!(revision.era(), Era::Modern);
            match message.direction {
                Direction::Sent => modern::check_client_message(&message.bytes),
                Direction::Received => modern::check_server_message(&message.bytes, &message.method),
            }
        }
    }
}

fn assert_same(tapped: &[Vec<u8>], told: &[Vec<u8>]) {
    let at = (0..tapped.len().max(told.len())).find(|at| tapped.get(*at) != told.get(*at));
    if let Some(at) = at {
        let shown = |messages: &[Vec<u8>]| {
            messages.get(at).map(|message| String::from_utf8_lossy(message).into_owned())
        };
        panic!("message {at} on the pipe is {:?}, and {:?} was told", shown(tapped), shown(told));
    }
}

/// The method of the request of the other side that has this id.
fn asked(messages: &[Message], answering: Direction, id: &Value) -> String {
    let is_it = |message: &&Message| {
        message.direction != answering && !message.is_answer() && message.json["id"] == *id
    };
    messages.iter().rev().find(is_it).map(|message| message.method.clone()).unwrap_or_default()
}
