//! The client's end of a pipe in a session of the legacy era: the server may ask, too, and what it
//! announces belongs to no exchange [spec: basic/lifecycle, basic/utilities].
//!
//! What the server asks and announces is handed on as it came, in its order. How much of it may wait
//! for an answer is for whoever takes it; nothing is kept here.

use std::time::Instant;

use super::{ClientSession, End, Event, OpenError, PeerFault};
use crate::era::legacy::batch::{self, BatchError};
use crate::era::legacy::{Features, answered_revision};
use crate::frame::{NotificationFrame, RequestFrame};
use crate::model::notification::name;

/// Messages in one line. More of them are read by nobody.
const MESSAGES: usize = 1024;

/// Whether the pipe carries a legacy session, and what that has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// A server sends no requests.
    #[default]
    Modern,
    /// Both sides ask, but the handshake is not answered yet.
    Handshake,
    /// Both sides ask.
    Session {
        /// A line may hold several messages.
        batches: bool,
    },
}

impl ClientSession {
    /// A handshake follows. From now on the server may ask, and announce what belongs to no exchange. Its answer
    /// opens the session, in whose revision everything behind it is said: [`Event::Agreed`] comes before that.
    pub fn enter_legacy(&mut self) {
        self.mode = Mode::Handshake;
    }

    /// No handshake was made after all.
    pub fn leave_legacy(&mut self) {
        self.mode = Mode::Modern;
    }

    /// Sends a message that gets no answer: a notification, or an answer to the server.
    ///
    /// # Errors
    /// When the connection has ended or `encode` fails.
    pub fn send(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> Result<(), OpenError> {
        if self.closed {
            return Err(OpenError::Closed);
        }
        self.outbox.append(encode)?;
        Ok(())
    }

    pub(super) fn is_legacy(&self) -> bool {
        self.mode != Mode::Modern
    }

    /// Takes over what the answer to the handshake says. Nothing else that is open meanwhile, which is a modern
    /// request at most, is answered in this way.
    pub(super) fn handle_agreement(&mut self, end: &End) {
        if let (Mode::Handshake, End::Result(result)) = (self.mode, end)
            && let Some(revision) = answered_revision(result)
        {
            self.mode = Mode::Session { batches: Features::of(revision).batches };
            self.events.push_back(Event::Agreed(revision));
        }
    }

    /// Takes a line that holds several messages, where the revision has such lines; says whether it was one.
    pub(super) fn handle_batch(&mut self, now: Instant, line: &str) -> bool {
        if self.mode != (Mode::Session { batches: true }) || !line.trim_start().starts_with('[') {
            return false;
        }
        // One level: a batch in a batch is no message.
        match batch::split(line, MESSAGES) {
            Ok(messages) if !messages.is_empty() => {
                for message in messages {
                    self.handle_one(now, message.get());
                }
                true
            }
            Err(error @ BatchError::TooMany { .. }) => {
                let message = error.to_string();
                self.end_answers(line.as_bytes(), &message);
                self.fault(PeerFault::Malformed(message));
                true
            }
            Ok(_) | Err(BatchError::Malformed(_)) => false,
        }
    }

    pub(super) fn handle_question(&mut self, request: RequestFrame<'_>) {
        let RequestFrame { id, method, params } = request;
        self.events.push_back(Event::Request {
            id,
            method: method.into_owned(),
            params: params.map(ToOwned::to_owned),
        });
    }

    /// Whether the notification belongs to no exchange. A cancellation never does: in a session a server
    /// cancels its own requests only.
    pub(super) fn is_announcement(&self, notification: &NotificationFrame<'_>) -> bool {
        self.is_legacy() && !matches!(&*notification.method, name::PROGRESS | name::MESSAGE)
    }

    pub(super) fn handle_announcement(&mut self, notification: &NotificationFrame<'_>) {
        self.events.push_back(Event::Notification {
            method: notification.method.clone().into_owned(),
            params: notification.params.map(ToOwned::to_owned),
        });
    }
}
