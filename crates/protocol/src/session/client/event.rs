//! What a client's session reports: a closed set, so that a driver's `match` is complete.

use serde_json::value::RawValue;

use super::ExchangeId;
#[cfg(feature = "legacy")]
use crate::era::Revision;
use crate::error::ProtocolError;
use crate::id::RequestId;
use crate::model::notification::{LoggingMessage, Progress};

/// What happened on the pipe.
#[derive(Debug)]
pub enum Event {
    /// An exchange has come further.
    Progress {
        /// Which.
        id: ExchangeId,
        /// How far.
        progress: Progress,
    },
    /// The server logged something.
    Log {
        /// The exchange, where only one asked for log messages: they carry no id of their own.
        id: Option<ExchangeId>,
        /// What it said.
        message: LoggingMessage,
    },
    /// A subscription's acknowledgement or a change.
    Subscription {
        /// The `subscriptions/listen` exchange.
        id: ExchangeId,
        /// The notification's method.
        method: String,
        /// Its parameters, as text.
        params: Box<RawValue>,
    },
    /// An exchange is over. There is exactly one of these for each that was not cancelled.
    Ended {
        /// Which.
        id: ExchangeId,
        /// How.
        end: End,
    },
    /// The server answers the handshake with this revision: whatever comes after this is said in a session.
    #[cfg(feature = "legacy")]
    Agreed(Revision),
    /// The server asks something, which it may in a legacy session only.
    #[cfg(feature = "legacy")]
    Request {
        /// To be answered under.
        id: RequestId,
        /// What it asks.
        method: String,
        /// With which parameters, as text.
        params: Option<Box<RawValue>>,
    },
    /// The server announces something that belongs to no exchange, in a legacy session.
    #[cfg(feature = "legacy")]
    Notification {
        /// What.
        method: String,
        /// With which parameters, as text.
        params: Option<Box<RawValue>>,
    },
    /// The server broke a rule. The session goes on.
    Fault(PeerFault),
}

/// How an exchange ends.
#[derive(Debug)]
pub enum End {
    /// With a result, to be decoded by the method that was asked.
    Result(Box<RawValue>),
    /// With an error.
    Error(ProtocolError),
    /// The server answered with something that is no valid response; says what was wrong.
    Malformed(String),
    /// Nothing came in time; the server was told.
    TimedOut(Timeout),
    /// The server tore down a subscription, with its reason.
    TornDown(Option<String>),
    /// The connection ended first.
    ConnectionLost(Delivery),
}

/// Which clock ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// There was no progress for too long.
    Idle,
    /// The whole took too long.
    Total,
}

/// What became of a request that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Not a byte of it left: it may be sent again without a doubt.
    NotSent,
    /// The server may have executed it.
    MaybeExecuted,
}

/// A rule that the server broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerFault {
    /// A modern server asks through its results, never by a request of its own.
    #[error(
        "The server sent the request {method:?}; in this revision a server sends none, so it gets no answer"
    )]
    ServerRequest {
        /// Which method.
        method: String,
    },
    /// An answer to a request that was never sent.
    #[error("The server answered the request {id}, which was never sent (ids are compared with their type)")]
    ForeignAnswer {
        /// The id that it gave.
        id: RequestId,
    },
    /// An error that names no request, while more than one was open.
    #[error("The server reports an error about no known request: {0}")]
    UnattributedError(String),
    /// A message that is no JSON-RPC message.
    #[error("The server sent a malformed message: {0}")]
    Malformed(String),
    /// The server tried to cancel what is not a subscription.
    #[error("The server cancelled the request {id}, which only its client may do")]
    Cancelled {
        /// Which request.
        id: RequestId,
    },
}
