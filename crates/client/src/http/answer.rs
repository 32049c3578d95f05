//! An answer with a status of success: one JSON message, or an event stream of them.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use reqwest::Response;
use serde::Deserialize;
use switchboard_protocol::RequestId;
use switchboard_protocol::frame::{Frame, NotificationFrame, ResponseFrame};
use switchboard_protocol::model::notification::{Cancelled, Progress, name};
use switchboard_protocol::model::subscription::SubscriptionMeta;
use switchboard_sse::{DEFAULT_EVENT_NAME, Decoder};

use crate::error::{Delivery, Error, Kind, excerpt};
use crate::limits::Limits;
use crate::link::Said;
use crate::wire::Tap;

/// The answer to one POST. Dropping it closes the stream, which cancels the request.
pub(crate) struct HttpStream {
    response: Response,
    id: RequestId,
    tap: Tap,
    body: Body,
}

enum Body {
    /// One message of at most so many bytes.
    Json(usize),
    Events(Box<Decoder>),
    Ended,
}

impl HttpStream {
    pub(super) fn new(response: Response, id: RequestId, limits: &Limits, tap: Tap) -> Result<Self, Error> {
        let status = response.status();
        let body = match media_type(response.headers()) {
            Some(kind) if kind.eq_ignore_ascii_case("application/json") => Body::Json(limits.message_bytes),
            Some(kind) if kind.eq_ignore_ascii_case(switchboard_sse::MEDIA_TYPE) => {
                Body::Events(Box::new(Decoder::new(limits.message_bytes)))
            }
            _ if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) => {
                return Err(Error::server_fault(format!(
                    "the server took the request as if it wanted no answer (HTTP {})",
                    status.as_u16()
                )));
            }
            Some(kind) => {
                return Err(Error::server_fault(format!(
                    "the server answered with {}, neither JSON nor an event stream",
                    excerpt(kind)
                ))
                .hint("check that the address is that of an MCP endpoint"));
            }
            None => {
                return Err(Error::server_fault(format!(
                    "the server answered without a content type (HTTP {})",
                    status.as_u16()
                ))
                .hint("check that the address is that of an MCP endpoint"));
            }
        };
        Ok(Self { response, id, tap, body })
    }

    pub(crate) async fn next(&mut self) -> Result<Said, Error> {
        loop {
            let message = self.next_message().await?;
            self.tap.received(&message);
            if let Some(said) = self.read(&message)? {
                return Ok(said);
            }
        }
    }

    async fn next_message(&mut self) -> Result<Bytes, Error> {
        match &mut self.body {
            Body::Json(limit) => {
                let limit = *limit;
                self.body = Body::Ended;
                self.whole(limit).await
            }
            Body::Events(_) => self.next_event().await,
            Body::Ended => Err(lost("the server's answer holds no response")),
        }
    }

    async fn whole(&mut self, limit: usize) -> Result<Bytes, Error> {
        let Some(first) = self.chunk().await? else {
            return Err(Error::server_fault("the server answered with an empty body"));
        };
        let mut whole = first;
        // Most answers come in one piece, which is then used as it is.
        if let Some(second) = self.chunk().await? {
            let mut joined = Vec::from(whole);
            joined.extend_from_slice(&second);
            while joined.len() <= limit
                && let Some(more) = self.chunk().await?
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

    async fn next_event(&mut self) -> Result<Bytes, Error> {
        loop {
            let Body::Events(decoder) = &mut self.body else {
                return Err(lost("the event stream ended before the response"));
            };
            while let Some(event) = decoder.next_event().map_err(|error| too_large(error.limit))? {
                // Events of other kinds are none of this protocol's messages.
                if event.name() == DEFAULT_EVENT_NAME {
                    return Ok(event.data);
                }
            }
            match self.chunk().await? {
                Some(chunk) => {
                    if let Body::Events(decoder) = &mut self.body {
                        decoder.push(chunk);
                    }
                }
                None => return self.last_event(),
            }
        }
    }

    /// A stream that ends without the blank line after its last event: what came is whole JSON or
    /// it is not, and `read` finds out.
    fn last_event(&mut self) -> Result<Bytes, Error> {
        if let Body::Events(mut decoder) = std::mem::replace(&mut self.body, Body::Ended) {
            decoder.push(Bytes::from_static(b"\n\n"));
            if let Ok(Some(event)) = decoder.next_event()
                && serde_json::from_slice::<serde::de::IgnoredAny>(&event.data).is_ok()
            {
                return Ok(event.data);
            }
        }
        Err(lost("the event stream ended before the response"))
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        self.response.chunk().await.map_err(|error| {
            lost("the connection broke off in the middle of the answer").source(error.without_url())
        })
    }

    /// Reads one message; `None` if it is nothing for whoever asked.
    fn read(&self, message: &[u8]) -> Result<Option<Said>, Error> {
        match Frame::decode(message) {
            Ok(Frame::Response(response)) => self.read_response(response).map(Some),
            Ok(Frame::Notification(notification)) => self.read_notification(&notification),
            Ok(Frame::Request(request)) => {
                tracing::warn!(
                    method = %excerpt(&request.method),
                    "a server must not send requests in this revision; ignored"
                );
                Ok(None)
            }
            Err(refused) => Err(Error::server_fault(format!(
                "the server sent what is no message of this protocol: {}",
                excerpt(&refused.error.message)
            ))),
        }
    }

    fn read_response(&self, response: ResponseFrame<'_>) -> Result<Said, Error> {
        match response.id {
            Some(id) if id != self.id => Err(Error::server_fault(format!(
                "the server answered request {} on the stream of request {}",
                excerpt(&id.to_string()),
                self.id
            ))),
            _ => response.outcome.map(|result| Said::Result(result.to_owned())).map_err(Error::protocol),
        }
    }

    fn read_notification(&self, notification: &NotificationFrame<'_>) -> Result<Option<Said>, Error> {
        let params = notification.params;
        let text = params.map_or("{}", |params| params.get());
        Ok(match &*notification.method {
            name::PROGRESS => serde_json::from_str::<Progress>(text)
                .ok()
                .filter(|progress| progress.progress_token.0 == self.id)
                .map(Said::Progress),
            name::MESSAGE => serde_json::from_str(text).ok().map(Said::Log),
            name::CANCELLED => {
                let cancelled = serde_json::from_str::<Cancelled>(text).ok();
                if cancelled.is_some_and(|cancelled| cancelled.request_id == self.id) {
                    return Err(lost("the server ended the subscription"));
                }
                None
            }
            method if self.is_ours(text) => {
                Some(Said::Subscription(method.to_owned(), params.map(ToOwned::to_owned)))
            }
            _ => None,
        })
    }

    /// A message without a subscription id is taken for one of this stream, since there is no other.
    fn is_ours(&self, params: &str) -> bool {
        #[derive(Deserialize)]
        struct Subscribed {
            #[serde(rename = "_meta")]
            meta: SubscriptionMeta,
        }
        serde_json::from_str::<Subscribed>(params)
            .map_or(true, |subscribed| subscribed.meta.subscription_id == self.id)
    }
}

/// The media type without its parameters.
pub(super) fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(str::trim).filter(|kind| !kind.is_empty())
}

fn lost(what: &str) -> Error {
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

impl fmt::Debug for HttpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpStream").field("id", &self.id).finish_non_exhaustive()
    }
}
