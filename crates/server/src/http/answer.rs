//! Answers that carry one message or none.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use switchboard_protocol::frame;
use switchboard_protocol::http::classify::Refusal;
use switchboard_protocol::{ProtocolError, RequestId};

use super::body::Body;
use super::collect::CollectError;
use super::stream::EventStream;
use crate::reply::Reply;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The reply to a call, alone.
pub(super) fn reply(reply: Reply, id: &RequestId) -> Response<Body> {
    let status = reply.http_status();
    let mut message = Vec::new();
    reply.encode(&mut message, id);
    json(status, message)
}

/// One JSON-RPC message.
pub(crate) fn json(status: StatusCode, message: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::full(message));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// A JSON-RPC error, under the id that it belongs to, if any.
#[cold]
pub(super) fn refusal(refusal: &Refusal) -> Response<Body> {
    let mut message = Vec::with_capacity(256);
    frame::encode_error(&mut message, refusal.id.as_ref(), &refusal.error);
    let mut response = json(refusal.status, message);
    if refusal.status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

/// Why there is no body to read.
#[cold]
pub(super) fn no_body(error: CollectError, limit: usize) -> Response<Body> {
    let (status, text) = match error {
        CollectError::TooLarge => {
            let text = format!("The body is too large: this server takes at most {limit} bytes");
            (StatusCode::PAYLOAD_TOO_LARGE, text)
        }
        CollectError::TimedOut => (StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time".into()),
        CollectError::Broken => (StatusCode::BAD_REQUEST, "The body broke off".into()),
    };
    let mut response = refusal(&Refusal::new(status, ProtocolError::invalid_request(text)));
    // What is left of the body must not be read as the next request.
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Everything is taken; a second later it may not be.
#[cold]
pub(crate) fn busy(what: &str) -> Response<Body> {
    let error = ProtocolError::internal(format!("The server is busy: too many {what}; try again later"));
    retried(refusal(&Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error)))
}

/// A refusal, with when to try again.
#[cold]
pub(crate) fn retried(mut refusal: Response<Body>) -> Response<Body> {
    refusal.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    refusal
}

/// A notification was taken.
pub(crate) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// There is no endpoint. No JSON-RPC error: a client would take it for an unknown method.
#[cold]
pub(super) fn not_here(path: &str) -> Response<Body> {
    let mut response =
        Response::new(Body::full(format!("Nothing is served here. The MCP endpoint is {path}\n")));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// An event stream, which nobody on the way may hold back.
pub(super) fn events(stream: EventStream) -> Response<Body> {
    event_stream(Body::stream(stream))
}

/// The same, whatever the stream says.
pub(crate) fn event_stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(switchboard_sse::MEDIA_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}
