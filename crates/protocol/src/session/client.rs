//! The client's end of a pipe [spec: basic/transports/stdio, basic/patterns/cancellation,
//! basic/patterns/progress].
//!
//! Every exchange that was opened ends exactly once, whatever the server says: with an answer, by
//! its timeout, by being cancelled, or with the connection. Decoding an answer is the business of
//! whoever asked; here it stays text. This machine never asks what time it is.

mod event;
#[cfg(feature = "legacy")]
mod legacy;
mod message;
mod noise;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::outbox::Outbox;
use crate::frame;
use crate::id::RequestId;
use crate::model::notification::{Cancelled, name};

pub use event::{Delivery, End, Event, PeerFault, Timeout};
pub use noise::{Counters, Noise};

/// One request of this session and everything said about it. Never used twice in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExchangeId(u64);

impl ExchangeId {
    /// The id on the wire. The progress token of the exchange is the same value.
    #[must_use]
    pub fn request_id(self) -> RequestId {
        RequestId::Integer(self.0.into())
    }
}

/// What the session has to know about a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening {
    /// Ends the exchange after this much silence; progress starts it anew.
    pub idle: Option<Duration>,
    /// Ends the exchange after this time, whatever is said meanwhile.
    pub total: Option<Duration>,
    /// The request carries a progress token, which is its id.
    pub progress: bool,
    /// The request asked for log messages.
    pub log: bool,
    /// It is `subscriptions/listen`.
    pub listen: bool,
    /// The server is not told when nobody waits any more: the request must not be cancelled, or a
    /// cancellation might confuse a server that does not know the method.
    pub unannounced: bool,
}

/// Bounds of a session.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// Exchanges open at the same time; 4096 by default.
    pub pending: usize,
    /// Bytes of stray output kept for a diagnosis; 2 KiB by default.
    pub noise_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { pending: 4096, noise_bytes: 2048 }
    }
}

/// Why an exchange could not be opened. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The limit of [`ClientLimits::pending`].
    #[error("{limit} requests are in flight already; wait for one to end, or raise the limit")]
    TooManyPending {
        /// How many are allowed.
        limit: usize,
    },
    /// The connection has ended.
    #[error("The connection to the server has ended")]
    Closed,
    /// The parameters do not serialise.
    #[error("The request cannot be encoded: {0}")]
    Encode(#[from] serde_json::Error),
}

#[derive(Debug)]
struct Pending {
    opening: Opening,
    idle_deadline: Option<Instant>,
    total_deadline: Option<Instant>,
    /// The last progress value; the next one must be greater.
    progress: f64,
    /// Where the request begins in the stream of sent bytes.
    place: u64,
}

impl Pending {
    fn deadline(&self) -> Option<Instant> {
        self.idle_deadline.into_iter().chain(self.total_deadline).min()
    }
}

/// The client's end of a pipe.
///
/// ```
/// use std::time::Instant;
/// use switchboard_protocol::frame::encode_request;
/// use switchboard_protocol::session::{ClientLimits, ClientSession, End, Event, Opening};
///
/// let mut session = ClientSession::new(ClientLimits::default());
/// let now = Instant::now();
/// let id = session
///     .open(now, Opening::default(), |id, out| encode_request(out, id, "x/ping", &()))
///     .unwrap();
/// let sent = session.poll_transmit().unwrap().len();
/// session.handle_transmitted(sent);
/// session.handle_message(now, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
/// let Some(Event::Ended { id: ended, end: End::Result(result) }) = session.poll_event() else {
///     panic!("no answer")
/// };
/// assert_eq!((ended, result.get()), (id, "{}"));
/// ```
#[derive(Debug)]
pub struct ClientSession {
    limits: ClientLimits,
    /// The last id that was used.
    last_id: u64,
    pending: HashMap<u64, Pending>,
    outbox: Outbox,
    events: VecDeque<Event>,
    /// No exchange times out before this. It may be too early, never too late.
    next_deadline: Option<Instant>,
    noise: Noise,
    counters: Counters,
    closed: bool,
    #[cfg(feature = "legacy")]
    mode: legacy::Mode,
}

impl ClientSession {
    /// A session over a fresh pipe.
    #[must_use]
    pub fn new(limits: ClientLimits) -> Self {
        Self {
            noise: Noise::new(limits.noise_bytes),
            limits,
            last_id: 0,
            pending: HashMap::new(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
            next_deadline: None,
            counters: Counters::default(),
            closed: false,
            #[cfg(feature = "legacy")]
            mode: legacy::Mode::default(),
        }
    }

    /// Opens an exchange: `encode` appends the request under the id that it is given.
    ///
    /// # Errors
    /// When a limit is reached, the connection has ended, or `encode` fails.
    pub fn open(
        &mut self,
        now: Instant,
        opening: Opening,
        encode: impl FnOnce(&RequestId, &mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> Result<ExchangeId, OpenError> {
        if self.closed {
            return Err(OpenError::Closed);
        }
        if self.pending.len() >= self.limits.pending {
            return Err(OpenError::TooManyPending { limit: self.limits.pending });
        }
        let id = ExchangeId(self.last_id + 1);
        let line = self.outbox.append(|out| encode(&id.request_id(), out))?;
        self.last_id = id.0;
        // A duration beyond the clock's range is as good as none.
        let after = |duration: Option<Duration>| duration.and_then(|duration| now.checked_add(duration));
        let pending = Pending {
            opening,
            idle_deadline: after(opening.idle),
            total_deadline: after(opening.total),
            progress: f64::NEG_INFINITY,
            place: line.start,
        };
        self.next_deadline = self.next_deadline.into_iter().chain(pending.deadline()).min();
        self.pending.insert(id.0, pending);
        Ok(id)
    }

    /// Ends an exchange that nobody waits for any more and tells the server. There is no event:
    /// the caller knows. An exchange that has ended is left alone.
    pub fn cancel(&mut self, id: ExchangeId, reason: &str) {
        let ended = self.pending.remove(&id.0);
        if ended.is_some_and(|ended| !ended.opening.unannounced) && !self.closed {
            self.send_cancelled(id, reason);
        }
    }

    fn send_cancelled(&mut self, id: ExchangeId, reason: &str) {
        let params = Cancelled { request_id: id.request_id(), reason: Some(reason.to_owned()), meta: None };
        // An integer and a string cannot fail to serialise.
        let _ = self.outbox.append(|out| frame::encode_notification(out, name::CANCELLED, Some(&params)));
    }

    /// Ends every exchange whose time is up.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.next_deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        let mut due: Vec<_> = self
            .pending
            .iter()
            .filter(|(_, pending)| pending.deadline().is_some_and(|deadline| deadline <= now))
            .map(|(id, pending)| {
                let total = pending.total_deadline.is_some_and(|deadline| deadline <= now);
                (*id, total, pending.opening.unannounced)
            })
            .collect();
        due.sort_unstable();
        for (id, total, unannounced) in due {
            let timeout = if total { Timeout::Total } else { Timeout::Idle };
            let id = ExchangeId(id);
            self.end(id, End::TimedOut(timeout));
            if !unannounced {
                self.send_cancelled(id, "timeout");
            }
        }
        self.next_deadline = self.pending.values().filter_map(Pending::deadline).min();
    }

    /// Ends every exchange because the connection has ended; nothing can be opened afterwards.
    pub fn handle_closed(&mut self) {
        self.closed = true;
        let mut ids: Vec<_> = self.pending.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let id = ExchangeId(id);
            let delivery = self.delivery(id);
            self.end(id, End::ConnectionLost(delivery));
        }
        self.next_deadline = None;
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

    /// What happened, in the order in which the server said it.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next; it may be early.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_deadline
    }

    /// How many exchanges are open.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Output of the server that is no message: what a person wants to see when nothing works.
    #[must_use]
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// What was dropped so far, by kind.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn delivery(&self, id: ExchangeId) -> Delivery {
        let sent = self.pending.get(&id.0).is_some_and(|pending| self.outbox.has_written_past(pending.place));
        if sent { Delivery::MaybeExecuted } else { Delivery::NotSent }
    }

    /// The only way in which an exchange ends with an event.
    fn end(&mut self, id: ExchangeId, end: End) {
        if self.pending.remove(&id.0).is_some() {
            self.events.push_back(Event::Ended { id, end });
        }
    }
}
