//! An answer with a status of success: one JSON message, or an event stream of them.

use std::fmt;

use bytes::Bytes;
use reqwest::Response;
use serde::Deserialize;
use switchboard_protocol::RequestId;
use switchboard_protocol::frame::{Frame, NotificationFrame, ResponseFrame};
use switchboard_protocol::model::notification::{Cancelled, Progress, name};
use switchboard_protocol::model::subscription::SubscriptionMeta;
use switchboard_sse::DEFAULT_EVENT_NAME;

use super::body::{Body, lost, whole};
use crate::error::{Error, excerpt};
use crate::limits::Limits;
use crate::link::Said;
use crate::wire::Tap;

/// The answer to one POST. Dropping it closes the stream, which cancels the request.
pub(crate) struct HttpStream {
    id: RequestId,
    tap: Tap,
    body: Body,
}

impl HttpStream {
    pub(super) fn new(response: Response, id: RequestId, limits: &Limits, tap: Tap) -> Result<Self, Error> {
        Ok(Self { id, tap, body: Body::of(response, limits)? })
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
        if let Body::Events(events) = &mut self.body {
            while let Some(event) = events.next().await? {
                // Events of other kinds are none of this protocol's messages.
                if event.name() == DEFAULT_EVENT_NAME {
                    return Ok(event.data);
                }
            }
        }
        match std::mem::replace(&mut self.body, Body::Ended) {
            Body::Json(response, limit) => whole(response, limit).await,
            Body::Events(mut events) => {
                events.unfinished().ok_or_else(|| lost("the event stream ended before the response"))
            }
            Body::Ended => Err(lost("the server's answer holds no response")),
        }
    }

    /// Reads one message; `None` if it is nothing for whoever asked.
    fn read(&self, message: &[u8]) -> Result<Option<Said>, Error> {
        match decode(message)? {
            Frame::Response(response) => outcome(response, &self.id).map(Some),
            Frame::Notification(notification) => self.read_notification(&notification),
            Frame::Request(request) => {
                tracing::warn!(
                    method = %excerpt(&request.method),
                    "a server must not send requests in this revision; ignored"
                );
                Ok(None)
            }
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

/// Reads a message where somebody waits for an answer.
///
/// # Errors
/// When it is none.
pub(crate) fn decode(message: &[u8]) -> Result<Frame<'_>, Error> {
    Frame::decode(message).map_err(|refused| {
        let why = excerpt(&refused.error.message);
        Error::server_fault(format!("the server sent what is no message of this protocol: {why}"))
    })
}

/// How the request under this id ended, as a response on its own stream says.
///
/// # Errors
/// The error that the server answered with, or that it answered another request.
pub(crate) fn outcome(response: ResponseFrame<'_>, asked: &RequestId) -> Result<Said, Error> {
    match response.id {
        Some(id) if id != *asked => Err(Error::server_fault(format!(
            "the server answered request {} on the stream of request {asked}",
            excerpt(&id.to_string()),
        ))),
        _ => response.outcome.map(|result| Said::Result(result.to_owned())).map_err(Error::protocol),
    }
}

impl fmt::Debug for HttpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpStream").field("id", &self.id).finish_non_exhaustive()
    }
}
