//! Answers whose status is no success: the JSON-RPC error in the body if there is one, else the
//! status, without the HTML that proxies put around it.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use reqwest::Response;
use switchboard_protocol::error::ProtocolError;
use switchboard_protocol::frame::{Frame, ResponseFrame};

use crate::error::{Delivery, Error, Kind, excerpt};
use crate::limits::Limits;
use crate::wire::Tap;

pub(crate) async fn read(response: Response, limits: &Limits, tap: &Tap) -> Error {
    let status = response.status();
    let headers = response.headers().clone();
    let body = body(response, limits.error_body_bytes).await;
    if !body.is_empty() {
        tap.received(&body);
    }
    let error = match json_rpc_error(&body) {
        Some(error) => refined(Error::protocol(error), status),
        None => plain(status, &headers, &body),
    };
    error
        .status(status.as_u16(), retry_after(&headers))
        .challenged(text(&headers, &header::WWW_AUTHENTICATE).map(str::to_owned))
}

/// The body, or nothing of it if it is too long or breaks off: it is only an explanation.
async fn body(mut response: Response, limit: usize) -> Bytes {
    let mut whole = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if whole.len() + chunk.len() <= limit => whole.extend_from_slice(&chunk),
            Ok(None) => return whole.into(),
            Ok(Some(_)) | Err(_) => return Bytes::new(),
        }
    }
}

fn json_rpc_error(body: &[u8]) -> Option<ProtocolError> {
    match Frame::decode(body) {
        Ok(Frame::Response(ResponseFrame { outcome: Err(error), .. })) => Some(error),
        _ => None,
    }
}

/// A refusal by status was no execution, whatever the code inside.
fn refined(error: Error, status: StatusCode) -> Error {
    if status.is_client_error() { error.delivered(Delivery::Rejected) } else { error }
}

fn plain(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    let delivery = if status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE {
        Delivery::Rejected
    } else {
        Delivery::MaybeExecuted
    };
    let cause = match status {
        StatusCode::UNAUTHORIZED => "the server wants to know who is asking",
        StatusCode::FORBIDDEN => "the server does not allow this",
        StatusCode::NOT_FOUND => "there is nothing at this address",
        StatusCode::METHOD_NOT_ALLOWED => "this address takes no requests of this protocol",
        StatusCode::PAYLOAD_TOO_LARGE => "the request is too large for the server",
        StatusCode::TOO_MANY_REQUESTS => "the server got too many requests",
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            "the server is unreachable behind its gateway, or overloaded"
        }
        status if status.is_server_error() => "the server failed",
        _ => "the server refused the request",
    };
    let mut message = format!("{cause} (HTTP {})", status.as_u16());
    let said = readable(headers, body).map(|said| excerpt(&said));
    if let Some(said) = &said {
        message.push_str(": ");
        message.push_str(said);
    }
    Error::new(Kind::Http, delivery, message).hint(next_action(status)).saying(said)
}

fn next_action(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "log in, or give a token that the server accepts",
        StatusCode::FORBIDDEN => "ask for the right, or use another token",
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => "check the path of the URL",
        StatusCode::TOO_MANY_REQUESTS => "wait and try again",
        status if status.is_server_error() => "try again later, or look at the server's log",
        _ => "look at the server's log",
    }
}

/// Plain text is shown; markup is not, and neither is JSON that says nothing of this protocol.
fn readable(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let media_type = super::body::media_type(headers)?;
    if !media_type.eq_ignore_ascii_case("text/plain") {
        return None;
    }
    let said = String::from_utf8_lossy(body).trim().to_owned();
    (!said.is_empty() && !said.starts_with('<')).then_some(said)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let said = text(headers, &header::RETRY_AFTER)?.trim();
    if let Ok(seconds) = said.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(said).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
