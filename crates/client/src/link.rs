//! The seam between requests and transports: an exchange is opened, says things, and ends; dropping
//! it cancels it.
//!
//! Over HTTP an exchange is one POST (`http`), over a pipe it is told apart by its id (`pipe`).
//! Nothing above this file knows which.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::value::RawValue;
use switchboard_protocol::RequestId;
use switchboard_protocol::model::notification::{LoggingMessage, Progress};
use url::Url;

use crate::error::Error;
use crate::http::{HttpLink, HttpStream};
use crate::pipe::{PipeLink, PipeStream, Traces};

/// Writes a message under the id that the transport chose.
pub(crate) type Encode<'a> =
    dyn Fn(&RequestId, &mut Vec<u8>) -> Result<(), serde_json::Error> + Send + Sync + 'a;

/// A request on its way to the transport.
pub(crate) struct Opening<'a> {
    /// The headers of the request, for transports that have any.
    pub(crate) headers: HeaderMap,
    pub(crate) encode: &'a Encode<'a>,
    pub(crate) progress: bool,
    pub(crate) log: bool,
    pub(crate) listen: bool,
    /// The server is not told when nobody waits for the answer any more.
    pub(crate) unannounced: bool,
}

impl Opening<'_> {
    /// The request under this id.
    ///
    /// # Errors
    /// When its parameters are no JSON.
    pub(crate) fn body(&self, id: &RequestId) -> Result<Bytes, Error> {
        let mut body = Vec::with_capacity(512);
        (self.encode)(id, &mut body).map_err(|error| {
            Error::misuse(format!("the request cannot be written as JSON: {error}")).source(error)
        })?;
        Ok(Bytes::from(body))
    }
}

/// What a server says about a request before it ends.
#[derive(Debug)]
pub(crate) enum Said {
    Progress(Progress),
    Log(LoggingMessage),
    /// A notification of a subscription: its method and its parameters.
    Subscription(String, Option<Box<RawValue>>),
    /// Notifications got lost between here and the transport, since nobody took them.
    Missed,
    /// The end.
    Result(Box<RawValue>),
}

/// The way to one server.
#[derive(Debug)]
pub(crate) enum Link {
    Http(Arc<HttpLink>),
    Pipe(Box<PipeLink>),
}

/// An open exchange.
pub(crate) enum Exchange {
    Http(Box<HttpStream>),
    Pipe(PipeStream),
    #[cfg(feature = "legacy")]
    Legacy(Box<crate::legacy::Exchange>),
}

impl Link {
    /// The address of a server that has one.
    pub(crate) fn url(&self) -> Option<&Url> {
        match self {
            Self::Http(link) => Some(link.url()),
            Self::Pipe(_) => None,
        }
    }

    /// Whether the server is a process that this client starts.
    pub(crate) fn is_child(&self) -> bool {
        matches!(self, Self::Pipe(link) if link.is_child())
    }

    pub(crate) fn is_http(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    pub(crate) async fn open(&self, opening: &Opening<'_>) -> Result<Exchange, Error> {
        match self {
            Self::Http(link) => link.open(opening).await.map(|stream| Exchange::Http(Box::new(stream))),
            Self::Pipe(link) => link.open(opening).await.map(Exchange::Pipe),
        }
    }

    /// Sends a message that has no answer.
    pub(crate) async fn notify(&self, headers: HeaderMap, message: Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Http(link) => link.notify(headers, Bytes::from(message)).await,
            Self::Pipe(_) => {
                Err(Error::misuse("over a pipe a client sends no notification but cancellation, by itself"))
            }
        }
    }

    /// Waits until a server that is a process was silent on its stderr, too, for as long as this;
    /// for ever where it is none.
    pub(crate) async fn quiet(&self, patience: Duration) {
        match self {
            Self::Http(_) => std::future::pending().await,
            Self::Pipe(link) => link.quiet(patience).await,
        }
    }

    /// Forgets a process that has ended, so that it is started once more although it never answered.
    #[cfg(feature = "legacy")]
    pub(crate) async fn renew_if_ended(&self) {
        if let Self::Pipe(link) = self {
            link.renew_if_ended().await;
        }
    }

    /// Waits until a pipe has ended, and says how; for ever over HTTP.
    pub(crate) async fn ended(&self) -> String {
        match self {
            Self::Http(_) => std::future::pending().await,
            Self::Pipe(link) => link.ended().await,
        }
    }

    pub(crate) async fn process_id(&self) -> Option<u32> {
        match self {
            Self::Http(_) => None,
            Self::Pipe(link) => link.process_id().await,
        }
    }

    /// What can be seen of a server that gave no answer.
    pub(crate) async fn traces(&self) -> Traces {
        match self {
            Self::Http(_) => Traces::default(),
            Self::Pipe(link) => link.traces().await,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Http(_) => {}
            Self::Pipe(link) => link.close().await,
        }
    }
}

impl Exchange {
    /// What the server says next.
    ///
    /// # Errors
    /// However the exchange ended other than with a result.
    pub(crate) async fn next(&mut self) -> Result<Said, Error> {
        match self {
            Self::Http(stream) => stream.next().await,
            Self::Pipe(stream) => stream.next().await,
            #[cfg(feature = "legacy")]
            Self::Legacy(exchange) => exchange.next().await,
        }
    }

    /// The rule that the server broke last, where that was not the end of the exchange.
    pub(crate) fn broken_rule(&self) -> Option<String> {
        match self {
            // An answer over HTTP that breaks a rule is the end.
            Self::Http(_) => None,
            Self::Pipe(stream) => stream.broken_rule(),
            #[cfg(feature = "legacy")]
            Self::Legacy(exchange) => exchange.broken_rule(),
        }
    }
}
