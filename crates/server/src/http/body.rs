//! The body of an answer: nothing, one JSON message, or an event stream.
//!
//! What streams is polled by the connection itself, so a client that does not read stops the handler,
//! and a client that leaves drops it. The streams are in `stream.rs`.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::stream::EventStream;

/// The body of an HTTP answer of this server. It never fails.
#[derive(Default)]
pub struct Body {
    kind: Kind,
}

#[derive(Default)]
enum Kind {
    #[default]
    Empty,
    Full(Bytes),
    Stream(Box<EventStream>),
    #[cfg(feature = "legacy")]
    Legacy(Box<crate::legacy::http::Stream>),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Empty => "Body::empty",
            Kind::Full(_) => "Body::full",
            Kind::Stream(_) => "Body::stream",
            #[cfg(feature = "legacy")]
            Kind::Legacy(_) => "Body::legacy",
        })
    }
}

impl Body {
    /// No bytes.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// These bytes.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Full(bytes.into()) }
    }

    pub(crate) fn stream(stream: EventStream) -> Self {
        Self { kind: Kind::Stream(Box::new(stream)) }
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn legacy(stream: crate::legacy::http::Stream) -> Self {
        Self { kind: Kind::Legacy(Box::new(stream)) }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let kind = &mut self.get_mut().kind;
        let data = match kind {
            Kind::Empty => None,
            Kind::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                *kind = Kind::Empty;
                Some(bytes).filter(|bytes| !bytes.is_empty())
            }
            Kind::Stream(stream) => std::task::ready!(stream.poll_chunk(cx)),
            #[cfg(feature = "legacy")]
            Kind::Legacy(stream) => std::task::ready!(stream.poll_chunk(cx)),
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, Kind::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(_) => SizeHint::default(),
            #[cfg(feature = "legacy")]
            Kind::Legacy(_) => SizeHint::default(),
        }
    }
}
