//! The body of an answer: one JSON message, or events in whatever pieces they come.

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use reqwest::Response;
use switchboard_sse::{Decoder, Event};

use crate::error::{Delivery, Error, Kind, excerpt};
use crate::limits::Limits;

/// What came back with a status of success.
pub(crate) enum Body {
    /// One message of at most so many bytes.
    Json(Response, usize),
    Events(Box<EventStream>),
    Ended,
}

impl Body {
    /// Sorts an answer to a request by its media type.
    ///
    /// # Errors
    /// When it can hold no message.
    pub(crate) fn of(response: Response, limits: &Limits) -> Result<Self, Error> {
        let status = response.status();
        match media_type(response.headers()) {
            Some(kind) if kind.eq_ignore_ascii_case("application/json") => {
                Ok(Self::Json(response, limits.message_bytes))
            }
            Some(kind) if is_event_stream(kind) => {
                Ok(Self::Events(Box::new(EventStream::new(response, limits))))
            }
            _ if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) => Err(Error::server_fault(
                format!("the server took the request as if it wanted no answer (HTTP {})", status.as_u16()),
            )),
            Some(kind) => Err(Error::server_fault(format!(
                "the server answered with {}, neither JSON nor an event stream",
                excerpt(kind)
            ))
            .hint("check that the address is that of an MCP endpoint")),
            None => Err(Error::server_fault(format!(
                "the server answered without a content type (HTTP {})",
                status.as_u16()
            ))
            .hint("check that the address is that of an MCP endpoint")),
        }
    }
}

/// Reads a body that is one message.
pub(crate) async fn whole(mut response: Response, limit: usize) -> Result<Bytes, Error> {
    let Some(first) = chunk(&mut response).await? else {
        return Err(Error::server_fault("the server answered with an empty body"));
    };
    let mut whole = first;
    // Most answers come in one piece, which is then used as it is.
    if let Some(second) = chunk(&mut response).await? {
        let mut joined = Vec::from(whole);
        joined.extend_from_slice(&second);
        while joined.len() <= limit
            && let Some(more) = chunk(&mut response).await?
        {
            joined.extend_from_slice(&more);
        }
        whole = joined.into();
    }
    if whole.len() > limit {
        return Err(too_large(limit));
    }
    Ok(whole)
}

/// An event stream as it comes in.
pub(crate) struct EventStream {
    response: Response,
    decoder: Decoder,
}

impl EventStream {
    pub(crate) fn new(response: Response, limits: &Limits) -> Self {
        Self { response, decoder: Decoder::new(limits.message_bytes) }
    }

    /// The next event; `None` once the stream has ended. Nothing is lost when this is dropped.
    ///
    /// # Errors
    /// When the connection broke off, or an event is too large.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.decoder.next_event().map_err(|error| too_large(error.limit))? {
                return Ok(Some(event));
            }
            match chunk(&mut self.response).await? {
                Some(chunk) => self.decoder.push(chunk),
                None => return Ok(None),
            }
        }
    }

    /// The last event of a stream that ended without the blank line after it: what came is whole JSON
    /// or it is not worth anything.
    pub(crate) fn unfinished(&mut self) -> Option<Bytes> {
        self.decoder.push(Bytes::from_static(b"\n\n"));
        let event = self.decoder.next_event().ok().flatten()?;
        serde_json::from_slice::<serde::de::IgnoredAny>(&event.data).is_ok().then_some(event.data)
    }

    /// What the stream said so far about itself: the last event's id and the wait before reconnecting.
    #[cfg(feature = "legacy")]
    pub(crate) fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The answer whose body this is.
    #[cfg(feature = "legacy")]
    pub(crate) fn response(&self) -> &Response {
        &self.response
    }
}

async fn chunk(response: &mut Response) -> Result<Option<Bytes>, Error> {
    response.chunk().await.map_err(|error| {
        lost("the connection broke off in the middle of the answer").source(error.without_url())
    })
}

/// The media type without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(str::trim).filter(|kind| !kind.is_empty())
}

pub(crate) fn is_event_stream(media_type: &str) -> bool {
    media_type.eq_ignore_ascii_case(switchboard_sse::MEDIA_TYPE)
}

pub(crate) fn lost(what: &str) -> Error {
    Error::new(Kind::Lost, Delivery::MaybeExecuted, format!("{what}; the request may have been executed"))
}

fn too_large(limit: usize) -> Error {
    Error::new(
        Kind::Limit,
        Delivery::MaybeExecuted,
        format!("the server's answer is larger than message_bytes ({limit} bytes)"),
    )
    .hint("ask for less, or raise the limit")
}
