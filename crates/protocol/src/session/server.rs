//! The server's end of a pipe [spec: basic/transports/stdio, basic/patterns/cancellation].
//!
//! It knows which requests are open, and lets at most one message end each: the first answer, or
//! the silence after a cancellation. What a request means is not decided here.

#[cfg(feature = "legacy")]
mod legacy;

use std::collections::HashSet;
use std::convert::Infallible;

use super::outbox::Outbox;
use crate::error::ProtocolError;
use crate::frame::{self, Frame, FrameError, NotificationFrame, RequestFrame};
use crate::id::RequestId;
use crate::model::notification::{Cancelled, name};

#[cfg(feature = "legacy")]
pub use legacy::InSession;

/// Bounds of a session.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Requests that are being worked on at the same time, subscriptions included; 1024 by default.
    pub open: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self { open: 1024 }
    }
}

/// What one message asks of the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum Incoming<'a> {
    /// To be worked on; the session waits for [`ServerSession::respond`].
    Request(RequestFrame<'a>),
    /// Not wanted any more: stop the work. Nothing that is said about it will be sent.
    Cancel(RequestId),
    /// Part of a session, which the server opened with [`ServerSession::open_session`].
    #[cfg(feature = "legacy")]
    InSession(InSession<'a>),
    /// Nothing: an answer was queued, or the message was none of the server's business.
    Nothing,
}

/// What was dropped, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounters {
    /// Messages that are no JSON-RPC message and were not answered.
    pub malformed: u64,
    /// Responses: a modern client sends none.
    pub responses: u64,
    /// Cancellations of nothing, and notifications that mean nothing here.
    pub notifications: u64,
    /// Requests under an id that was in flight.
    pub duplicates: u64,
    /// Requests beyond the limit.
    pub refused: u64,
}

/// The server's end of a pipe.
///
/// ```
/// use switchboard_protocol::session::{Incoming, ServerLimits, ServerSession};
/// use switchboard_protocol::frame::encode_raw_result;
///
/// let mut session = ServerSession::new(ServerLimits::default());
/// let line = r#"{"jsonrpc":"2.0","id":"a","method":"x/ping"}"#;
/// let Incoming::Request(request) = session.handle_message(line) else { panic!("a request") };
/// assert!(session.respond(&request.id, |id, out| encode_raw_result(out, id, b"{}")));
/// assert_eq!(session.poll_transmit(), Some(&b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n"[..]));
/// ```
#[derive(Debug)]
pub struct ServerSession {
    limits: ServerLimits,
    open: HashSet<RequestId>,
    outbox: Outbox,
    /// Unreadable text was answered, and nothing readable came since.
    complained: bool,
    counters: ServerCounters,
    #[cfg(feature = "legacy")]
    terms: legacy::Terms,
}

impl ServerSession {
    /// A session over a fresh pipe.
    #[must_use]
    pub fn new(limits: ServerLimits) -> Self {
        Self {
            limits,
            open: HashSet::new(),
            outbox: Outbox::default(),
            complained: false,
            counters: ServerCounters::default(),
            #[cfg(feature = "legacy")]
            terms: legacy::Terms::default(),
        }
    }

    /// Takes one line of the client, without its line end. Empty lines are nothing.
    pub fn handle_message<'a>(&mut self, line: &'a str) -> Incoming<'a> {
        #[cfg(feature = "legacy")]
        if self.terms.is_batch(line) {
            return Incoming::InSession(InSession::Batch(line));
        }
        match Frame::decode_text(line) {
            Ok(frame) => {
                self.complained = false;
                match frame {
                    Frame::Request(request) => self.handle_request(request),
                    #[cfg(feature = "legacy")]
                    Frame::Notification(notification) if self.terms.take(&notification) => {
                        Incoming::InSession(InSession::Notification(notification))
                    }
                    Frame::Notification(notification) => self.handle_notification(&notification),
                    #[cfg(feature = "legacy")]
                    Frame::Response(response) if self.terms.is_open() => {
                        Incoming::InSession(InSession::Response(response))
                    }
                    Frame::Response(_) => {
                        self.counters.responses += 1;
                        Incoming::Nothing
                    }
                }
            }
            Err(_) if line.bytes().all(|byte| byte.is_ascii_whitespace()) => Incoming::Nothing,
            Err(refused) => {
                self.handle_refused(line, &refused);
                Incoming::Nothing
            }
        }
    }

    /// Takes a line that is not valid UTF-8. It is never repaired, but if it is plainly a request, it
    /// is answered under its id.
    pub fn handle_invalid_utf8(&mut self, line: &[u8]) {
        let error = ProtocolError::parse_error("The message is not valid UTF-8");
        let readable = String::from_utf8_lossy(line);
        match Frame::decode_text(&readable) {
            Ok(Frame::Request(request)) if !self.open.contains(&request.id) => {
                self.send_error(Some(&request.id), &error);
            }
            Ok(_) => self.counters.malformed += 1,
            Err(FrameError { id: Some(id), answerable: true, .. }) if !self.open.contains(&id) => {
                self.send_error(Some(&id), &error);
            }
            Err(_) => self.handle_unreadable(&error),
        }
    }

    /// Answers something of which not even an id could be read, such as a line beyond the limit. Only
    /// the first in a row is answered.
    pub fn handle_unreadable(&mut self, error: &ProtocolError) {
        if std::mem::replace(&mut self.complained, true) {
            self.counters.malformed += 1;
        } else {
            self.send_error(None, error);
        }
    }

    fn handle_request<'a>(&mut self, request: RequestFrame<'a>) -> Incoming<'a> {
        let error = if self.open.contains(&request.id) {
            self.counters.duplicates += 1;
            ProtocolError::invalid_request(format!(
                "The id {} belongs to a request that is still in flight; give every request its own",
                request.id
            ))
        } else if self.open.len() >= self.limits.open {
            self.counters.refused += 1;
            ProtocolError::internal(format!(
                "{} requests are in flight, which is the limit of this server; wait for one to end",
                self.open.len()
            ))
        } else {
            self.open.insert(request.id.clone());
            return Incoming::Request(request);
        };
        self.send_error(Some(&request.id), &error);
        Incoming::Nothing
    }

    /// Odd cancellations are ignored: the client may be late, and nobody waits for an answer.
    fn handle_notification(&mut self, notification: &NotificationFrame<'_>) -> Incoming<'static> {
        if notification.method == name::CANCELLED
            && let Some(params) = notification.params
            && let Ok(cancelled) = serde_json::from_str::<Cancelled>(params.get())
            && self.open.remove(&cancelled.request_id)
        {
            return Incoming::Cancel(cancelled.request_id);
        }
        self.counters.notifications += 1;
        Incoming::Nothing
    }

    /// Answers what may have been a request. Text without a readable id is answered once, until
    /// something readable comes: two peers must not throw errors at each other for ever.
    fn handle_refused(&mut self, line: &str, refused: &FrameError) {
        let silent = match refused.id {
            Some(_) => !refused.answerable,
            None => !refused.answerable || self.complained || may_be_answer(line),
        };
        if silent {
            self.counters.malformed += 1;
        } else {
            self.complained = refused.id.is_none();
            self.send_error(refused.id.as_ref(), &refused.error);
        }
    }

    /// Ends a request with the response that `encode` appends. Says whether it was sent: an answer
    /// to a request that was cancelled or has been answered is dropped before it is encoded.
    pub fn respond(&mut self, id: &RequestId, encode: impl FnOnce(&RequestId, &mut Vec<u8>)) -> bool {
        self.open.remove(id) && self.send(|out| encode(id, out))
    }

    /// Sends the notification that `encode` appends on behalf of a request, while that is open.
    pub fn notify(&mut self, id: &RequestId, encode: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.open.contains(id) && self.send(encode)
    }

    /// How many requests are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// What is to be written next, any number of lines; call
    /// [`handle_transmitted`](Self::handle_transmitted) with what the pipe took.
    #[must_use]
    pub fn poll_transmit(&self) -> Option<&[u8]> {
        self.outbox.pending()
    }

    /// The pipe took this many of the bytes that [`poll_transmit`](Self::poll_transmit) showed.
    pub fn handle_transmitted(&mut self, count: usize) {
        self.outbox.advance(count);
    }

    /// How many bytes wait to be written.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.outbox.len()
    }

    /// What was dropped so far, by kind.
    #[must_use]
    pub fn counters(&self) -> ServerCounters {
        self.counters
    }

    fn send_error(&mut self, id: Option<&RequestId>, error: &ProtocolError) {
        self.send(|out| frame::encode_error(out, id, error));
    }

    fn send(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> bool {
        let queued = self.outbox.append(|out| {
            encode(out);
            Ok::<(), Infallible>(())
        });
        queued.is_ok()
    }
}

/// Whether broken text looks like a response. Those are never answered.
fn may_be_answer(line: &str) -> bool {
    (line.contains("\"result\"") || line.contains("\"error\"")) && !line.contains("\"method\"")
}
