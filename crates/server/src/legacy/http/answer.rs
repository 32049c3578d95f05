//! Answers as servers of the legacy era give them.

use bytes::Bytes;
use http::header::ALLOW;
use http::{HeaderValue, Response, StatusCode};
use switchboard_protocol::http::legacy::SESSION_ID;
use switchboard_protocol::{ProtocolError, RequestId, Revision};

use super::stream::Stream;
use crate::http::{Body, answer};
use crate::legacy;

/// The code that servers of this era use for a session that is not there.
const SESSION_NOT_FOUND: i64 = -32001;

/// An answer, or the one that refuses.
pub(super) type Answered<T> = Result<T, Box<Response<Body>>>;

/// One JSON-RPC message, or an array of them.
pub(super) fn json(message: impl Into<Bytes>) -> Response<Body> {
    answer::json(StatusCode::OK, message)
}

/// The answer to a handshake, with the session that it opened.
pub(super) fn opened(message: Vec<u8>, session: &str) -> Response<Body> {
    let mut response = json(message);
    // What is sealed is base64url.
    if let Ok(session) = HeaderValue::from_str(session) {
        response.headers_mut().insert(SESSION_ID, session);
    }
    response
}

/// An event stream, which nobody on the way may hold back.
pub(super) fn events(stream: Stream) -> Response<Body> {
    answer::event_stream(Body::legacy(stream))
}

/// A JSON-RPC error under the id that it belongs to, if any.
#[cold]
pub(super) fn error(status: StatusCode, id: Option<&RequestId>, error: ProtocolError) -> Response<Body> {
    answer::json(status, legacy::error(id, None, error))
}

#[cold]
pub(super) fn bad(id: Option<&RequestId>, why: impl Into<String>) -> Response<Body> {
    error(StatusCode::BAD_REQUEST, id, ProtocolError::invalid_request(why))
}

/// The session is not, or no longer, one of this caller.
#[cold]
pub(super) fn no_session(id: Option<&RequestId>) -> Response<Body> {
    let why = "Session not found: it has ended, or was never opened by this caller; send initialize without \
               a session id to open another";
    error(StatusCode::NOT_FOUND, id, ProtocolError::new(SESSION_NOT_FOUND, why))
}

/// The request says neither in which session it is sent nor that it needs none.
#[cold]
pub(super) fn no_session_id(id: Option<&RequestId>, has_modern: bool) -> Response<Body> {
    let mut why =
        "The header Mcp-Session-Id is missing: send initialize first, and its session id with every request"
            .to_owned();
    if has_modern {
        why.push_str("; requests without a session carry MCP-Protocol-Version: ");
        why.push_str(Revision::LATEST.date());
    }
    bad(id, why)
}

/// This method, here, under no circumstances.
#[cold]
pub(super) fn not_served(method: &http::Method, allowed: &'static str) -> Response<Body> {
    let why = ProtocolError::invalid_request(format!("{method} is not served here: send {allowed}"));
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, None, why);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// The session has ended, as was asked for.
pub(super) fn ended() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
