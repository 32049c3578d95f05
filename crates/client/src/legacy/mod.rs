//! Sessions with servers of the legacy era, as the rest of this crate sees any server: exchanges are
//! opened, say things and end. A handshake opens the session, the server may ask and announce, and every
//! answer is turned into the modern model before anybody above reads it.
//!
//! `session` is the handshake and what it agreed on, `keeper` opens sessions and opens them again, `detect`
//! finds out that one is needed, `ears` is what a server says of its own accord and `answer` what is said
//! to it, `listen` the local stream of changes, `watched` the resources in it, `clock` the clocks that stop while a person is asked. The
//! carriers are `pipe` and `http`.
//!
//! # What a carrier must offer
//!
//! A [`Carrier`] belongs to one session, from its handshake to its end, and is used by one session only. Its
//! methods may be called from several tasks at a time.
//!
//! - **begin**: makes the carrier. Streamable HTTP needs no IO for it; HTTP+SSE opens the stream and waits
//!   for the `endpoint` event; a pipe starts the program. An error with an HTTP status is read as evidence,
//!   so it must carry that status and, if there is one, the JSON-RPC error of the body.
//! - **open**: opens an exchange. `opening.encode` writes the request under the id that the carrier chose,
//!   which is the progress token, too; `opening.headers` is empty, since which headers there are is the
//!   carrier's business. `opening.unannounced` is set for `initialize` alone: it goes without a session id,
//!   the id in its answer is taken from then on, and dropping it tells the server nothing. The [`Stream`]
//!   that comes back yields what the server says about this request: progress under its token, log messages
//!   on its own stream, and the result as it came, or the error. Dropping any other stream before its end
//!   sends `notifications/cancelled`, best effort.
//! - **send**: sends a message that wants no answer: a notification, or an answer to the server. Any success
//!   will do as an acknowledgement. The caller bounds the time.
//! - **agreed**: the handshake agreed on this revision, before anything else is sent: its rules hold from
//!   now on (version header, batches). A carrier that reads on before whoever asked has read the answer says
//!   [`Ears::open`] by itself when it reads it: what the server says right behind it is said in the session.
//! - **listen**: the session is open; a carrier with a stream of its own for what the server says of its own
//!   accord opens it now, without waiting for it.
//! - **over**: resolves once the session has ended and nothing can be opened in it any more (the connection
//!   ended, or the server forgot the session: 404). **is_over** says the same at once. Exchanges that are
//!   open then end with [`Kind::Lost`](crate::error::Kind), as `MaybeExecuted` if their request may have been
//!   read, and as `NotSent` if it provably was not (404 to a session's id is such a proof): those, and reads,
//!   are repeated once in the next session by whoever asked. A carrier opens no session by itself.
//! - **close**: the session is no longer needed: tells the server where there is a message for it (DELETE),
//!   and ends standing streams. Bounded in time. Dropping a carrier ends its streams; what the server
//!   is told then is told in the background, if at all.
//!
//! Everything else that a server says goes to the session's [`Ears`], in its order, with [`Ears::hear`]: its
//! requests, and its notifications that belong to no open exchange (list and resource changes, log messages
//! on a standing stream, cancellations of its own requests). The ears never block, and bound what waits. When
//! messages may have been lost and the session goes on, [`Ears::gap`] says so to whoever listens for changes.
//! Answers to unknown ids are the carrier's to count and to warn about, in a bounded number of lines.

mod answer;
mod clock;
mod detect;
mod ears;
mod http;
mod keeper;
mod listen;
mod params;
mod pipe;
mod session;
mod state;
mod urls;
mod watched;

use std::pin::Pin;
use std::sync::Arc;

use switchboard_protocol::Revision;

use crate::error::Error;
use crate::link::{Link, Opening, Said};

pub(crate) use clock::{Pauses, RequestPauses};
pub(crate) use detect::connect;
pub(crate) use ears::Ears;
pub(crate) use keeper::Keeper;
pub(crate) use session::Exchange;
pub(crate) use state::{State, Visits};

/// How the messages of a session travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Pipe,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE.
    Sse,
}

/// The connection of one session.
pub(crate) enum Carrier {
    Pipe(pipe::PipeCarrier),
    Http(http::StreamableHttp),
    Sse(http::HttpSse),
}

/// What a server says about one request.
pub(crate) enum Stream {
    Pipe(crate::pipe::PipeStream),
    Http(http::StreamableExchange),
    Sse(http::SseExchange),
}

impl Carrier {
    pub(crate) async fn begin(link: &Link, transport: Transport, ears: &Arc<Ears>) -> Result<Self, Error> {
        let impossible = || Error::misuse("the server is not reached in the way that its verdict names");
        match (transport, link) {
            (Transport::Pipe, Link::Pipe(link)) => pipe::PipeCarrier::begin(link, ears).await.map(Self::Pipe),
            (Transport::Http, Link::Http(link)) => Ok(Self::Http(http::StreamableHttp::new(link, ears))),
            (Transport::Sse, Link::Http(link)) => http::HttpSse::begin(link, ears).await.map(Self::Sse),
            (Transport::Pipe, Link::Http(_)) | (Transport::Http | Transport::Sse, Link::Pipe(_)) => {
                Err(impossible())
            }
        }
    }

    pub(crate) async fn open(&self, opening: &Opening<'_>) -> Result<Stream, Error> {
        match self {
            Self::Pipe(carrier) => carrier.open(opening).await.map(Stream::Pipe),
            Self::Http(carrier) => carrier.open(opening).await.map(Stream::Http),
            Self::Sse(carrier) => carrier.open(opening).await.map(Stream::Sse),
        }
    }

    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Pipe(carrier) => carrier.send(&message).await,
            Self::Http(carrier) => carrier.send(message).await,
            Self::Sse(carrier) => carrier.send(message).await,
        }
    }

    pub(crate) fn agreed(&self, revision: Revision) {
        match self {
            // The connection itself has read it.
            Self::Pipe(_) => {}
            Self::Http(carrier) => carrier.agreed(revision),
            Self::Sse(carrier) => carrier.agreed(revision),
        }
    }

    pub(crate) fn listen(&self) {
        match self {
            // What they say comes over the one stream that they have.
            Self::Pipe(_) | Self::Sse(_) => {}
            Self::Http(carrier) => carrier.listen(),
        }
    }

    /// Waits until what the server says of its own accord is heard.
    pub(crate) async fn listening(&self) {
        match self {
            Self::Pipe(_) | Self::Sse(_) => {}
            Self::Http(carrier) => carrier.listening().await,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Pipe(carrier) => carrier.is_over(),
            Self::Http(carrier) => carrier.is_over(),
            Self::Sse(carrier) => carrier.is_over(),
        }
    }

    pub(crate) fn over(&self) -> Over {
        match self {
            Self::Pipe(carrier) => carrier.over(),
            Self::Http(carrier) => carrier.over(),
            Self::Sse(carrier) => carrier.over(),
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            // The link closes it, as in the modern era: there is no message for it.
            Self::Pipe(_) => {}
            Self::Http(carrier) => carrier.close().await,
            Self::Sse(carrier) => carrier.close().await,
        }
    }
}

impl Stream {
    /// The rule that the server broke last on this connection, where that was not the end of the exchange.
    pub(crate) fn broken_rule(&self) -> Option<String> {
        match self {
            Self::Pipe(stream) => stream.broken_rule(),
            Self::Http(_) | Self::Sse(_) => None,
        }
    }

    pub(crate) async fn next(&mut self) -> Result<Said, Error> {
        match self {
            Self::Pipe(stream) => stream.next().await,
            Self::Http(stream) => stream.next().await,
            Self::Sse(stream) => stream.next().await,
        }
    }
}

/// Resolves when a session has ended; holds nothing of the carrier that would keep it alive.
pub(crate) type Over = Pin<Box<dyn Future<Output = ()> + Send>>;
