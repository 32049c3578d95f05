//! What goes on every request of one session: its id, its revision and what an answer may be.
//!
//! A way never changes. A session that is lost is followed by another one, with a way of its own, so
//! whatever is under way always knows which session it belongs to.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use reqwest::Response;
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::Features;
use switchboard_protocol::http::PROTOCOL_VERSION;
use switchboard_protocol::http::legacy::{LAST_EVENT_ID, SESSION_ID};
use url::Url;

use super::id::SessionId;
use crate::error::Error;
use crate::http::body::{EventStream, is_event_stream, media_type};
use crate::http::{HttpLink, Outgoing, refusal};

/// The way to the server within one session, or before there is one.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) link: Arc<HttpLink>,
    /// Where messages go.
    pub(super) url: Url,
    pub(super) session: Option<SessionId>,
    pub(super) revision: Option<Revision>,
}

impl Way {
    /// Before the handshake: nothing is known yet.
    pub(super) fn new(link: &Arc<HttpLink>) -> Self {
        Self { url: link.url().clone(), link: Arc::clone(link), session: None, revision: None }
    }

    /// Whether several messages may come in one array.
    pub(super) fn batches(&self) -> bool {
        self.revision.is_some_and(|revision| Features::of(revision).batches)
    }

    /// Sends one message.
    ///
    /// # Errors
    /// When nothing came back, or no success.
    pub(super) async fn post(&self, message: Bytes) -> Result<Response, Error> {
        let mut headers = self.headers("application/json, text/event-stream");
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(Method::POST, headers, Some(message)).await
    }

    /// Opens an event stream: the one of the session, or with an event's id the one that it was on.
    ///
    /// # Errors
    /// When there is none.
    pub(super) async fn get(&self, after: Option<&HeaderValue>) -> Result<EventStream, Error> {
        let mut headers = self.headers(switchboard_sse::MEDIA_TYPE);
        if let Some(after) = after {
            headers.insert(LAST_EVENT_ID, after.clone());
        }
        let response = self.send(Method::GET, headers, None).await?;
        let status = response.status();
        if status == StatusCode::OK && media_type(response.headers()).is_some_and(is_event_stream) {
            return Ok(EventStream::new(response, self.link.limits()));
        }
        Err(Error::server_fault(format!(
            "the server answered a request for an event stream with something else (HTTP {})",
            status.as_u16()
        ))
        .status(status.as_u16(), None))
    }

    /// Ends the session.
    ///
    /// # Errors
    /// When the server does not let a client do that.
    pub(super) async fn delete(&self) -> Result<(), Error> {
        self.send(Method::DELETE, self.headers("application/json"), None).await.map(drop)
    }

    /// Whether an error says that the server does not know this session any more
    /// [spec: basic/transports, Session Management].
    pub(super) fn is_lost(&self, error: &Error) -> bool {
        self.session.is_some() && error.http_status() == Some(StatusCode::NOT_FOUND.as_u16())
    }

    async fn send(&self, method: Method, headers: HeaderMap, body: Option<Bytes>) -> Result<Response, Error> {
        let response = self.link.send(Outgoing { method, url: self.url.clone(), headers, body }).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal::read(response, self.link.limits(), self.link.tap()).await)
    }

    fn headers(&self, accept: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if let Some(session) = &self.session {
            headers.insert(SESSION_ID, session.header());
        }
        if let Some(revision) = self.revision.filter(|revision| Features::of(*revision).version_header) {
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(revision.date()));
        }
        headers
    }
}
