//! A session on the pipe: the client answers what the server asks, and the server speaks of its own accord.

use super::ServerSession;
use crate::frame::{NotificationFrame, ResponseFrame};
use crate::model::notification::name;

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

    /// Whether a notification is for whoever keeps the session.
    pub(super) fn take(&self, notification: &NotificationFrame<'_>) -> bool {
        self.is_open && notification.method != name::CANCELLED
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

#[cfg(test)]
mod tests {
    use crate::session::{Incoming, ServerLimits, ServerSession};

    use super::InSession;

    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":"q","result":{}}"#;
    const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    const CANCEL: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}"#;
    const BATCH: &str = " [1]";

    fn seen(session: &mut ServerSession, line: &str) -> &'static str {
        match session.handle_message(line) {
            Incoming::InSession(InSession::Response(_)) => "response",
            Incoming::InSession(InSession::Notification(_)) => "notification",
            Incoming::InSession(InSession::Batch(_)) => "batch",
            Incoming::Nothing => "nothing",
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_belongs_to_a_session_is_handed_out_once_there_is_one() {
        for (opened, answer, ready, batch) in [
            (None, "nothing", "nothing", "nothing"),
            (Some(false), "response", "notification", "nothing"),
            (Some(true), "response", "notification", "batch"),
        ] {
            let mut session = ServerSession::new(ServerLimits::default());
            if let Some(takes_batches) = opened {
                session.open_session(takes_batches);
            }
            for (line, expected) in [(ANSWER, answer), (READY, ready), (CANCEL, "nothing"), (BATCH, batch)] {
                assert_eq!(seen(&mut session, line), expected, "{opened:?} {line}");
            }
            assert_eq!(
                session.poll_transmit().is_some(),
                batch == "nothing",
                "an array is never met with silence"
            );
        }
    }

    #[test]
    fn the_server_speaks_of_its_own_accord() {
        let mut session = ServerSession::new(ServerLimits::default());
        session.say(|out| out.extend_from_slice(b"{}"));
        assert_eq!(session.poll_transmit(), Some(&b"{}\n"[..]));
    }
}
