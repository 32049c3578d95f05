//! Where a request of the legacy era goes, by its method and its path.
//!
//! The endpoint is the one of the modern era. HTTP+SSE has two more addresses next to it, `sse` and
//! `message`: a bound listener serves them beside its path, a mounted service knows them by the last
//! segment of theirs.

use http::request::Parts;
use http::{Method, Uri};
use switchboard_protocol::http::legacy::SESSION_ID;

const STREAM: &str = "sse";
const MESSAGE: &str = "message";
/// The parameter that says whose message it is.
const PEER: &str = "session_id";

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Sends a message to the endpoint.
    Post,
    /// Listens in a session.
    Get,
    /// Ends a session.
    Delete,
    /// Opens a stream of HTTP+SSE.
    Open,
    /// Sends a message to such a stream.
    Message,
    /// Wants what is not to be had at this place, only this.
    Only(&'static str),
    /// Is of no interest here.
    None,
}

/// Where a request goes. `endpoint` is the path of the endpoint, if there is but one.
pub(super) fn route(parts: &Parts, endpoint: Option<&str>) -> Route {
    let path = parts.uri.path();
    let is = |name| match endpoint {
        Some(endpoint) => is_beside(path, endpoint, name),
        None => last_segment(path) == name,
    };
    let has_session = parts.headers.contains_key(SESSION_ID);
    let is_endpoint = endpoint.is_none_or(|endpoint| is_at(endpoint, path));
    match parts.method {
        Method::POST if is(MESSAGE) && (!is_endpoint || peer(&parts.uri).is_some()) => Route::Message,
        Method::GET if is(STREAM) && !has_session => Route::Open,
        Method::POST if is_endpoint => Route::Post,
        Method::GET if is_endpoint && has_session => Route::Get,
        Method::DELETE if is_endpoint && has_session => Route::Delete,
        _ if is_endpoint && has_session => Route::Only("GET, POST, DELETE"),
        _ if is_endpoint => Route::None,
        _ if is(STREAM) => Route::Only("GET"),
        _ if is(MESSAGE) => Route::Only("POST"),
        _ => Route::None,
    }
}

/// Whether a path is the endpoint, with a slash behind it or without.
fn is_at(endpoint: &str, path: &str) -> bool {
    unslashed(endpoint) == unslashed(path)
}

/// The id of the client that a message is from.
pub(super) fn peer(uri: &Uri) -> Option<&str> {
    let pairs = uri.query().unwrap_or_default().split('&');
    pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == PEER).map(|(_, id)| id)
}

/// Where a client of HTTP+SSE sends to: relative to where its stream was opened, so that it holds behind any
/// proxy, or below the address that the operator names.
pub(super) fn address(opened_at: &Uri, public_url: Option<&str>, id: &str) -> String {
    let base = match public_url {
        Some(base) => format!("{}/", unslashed(base)),
        None if opened_at.path().ends_with('/') => "../".to_owned(),
        None => String::new(),
    };
    format!("{base}{MESSAGE}?{PEER}={id}")
}

fn unslashed(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

fn last_segment(path: &str) -> &str {
    unslashed(path).rsplit('/').next().unwrap_or_default()
}

/// Whether a path is the sibling of the endpoint with this name.
fn is_beside(path: &str, endpoint: &str, name: &str) -> bool {
    let parent = unslashed(endpoint).rsplit_once('/').map_or("", |(parent, _)| parent);
    let rest = unslashed(path).strip_prefix(parent).and_then(|rest| rest.strip_prefix('/'));
    rest == Some(name)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::{Route, address, route};

    #[test]
    fn a_request_goes_where_its_method_and_its_path_say() {
        for (line, session, endpoint, expected) in [
            ("POST /mcp", false, Some("/mcp"), Route::Post),
            ("POST /mcp/", false, Some("/mcp"), Route::Post),
            ("POST /mcp?x=1", true, Some("/mcp/"), Route::Post),
            ("GET /mcp", false, Some("/mcp"), Route::None),
            ("GET /mcp", true, Some("/mcp"), Route::Get),
            ("DELETE /mcp/", true, Some("/mcp"), Route::Delete),
            ("PUT /mcp", true, Some("/mcp"), Route::Only("GET, POST, DELETE")),
            ("GET /sse", false, Some("/mcp"), Route::Open),
            ("GET /sse/", false, Some("/mcp"), Route::Open),
            ("POST /sse", false, Some("/mcp"), Route::Only("GET")),
            ("POST /message?session_id=a", false, Some("/mcp"), Route::Message),
            ("POST /message", false, Some("/mcp"), Route::Message),
            ("GET /message", false, Some("/mcp"), Route::Only("POST")),
            ("POST /elsewhere", false, Some("/mcp"), Route::None),
            ("GET /a/sse", false, Some("/mcp"), Route::None),
            ("GET /a/sse", false, Some("/a/mcp"), Route::Open),
            ("GET /sse", false, Some("/"), Route::Open),
            ("POST /", false, Some("/"), Route::Post),
            ("POST /message", false, Some("/message"), Route::Post),
            ("POST /message?session_id=a", false, Some("/message"), Route::Message),
            ("POST /sse", false, Some("/sse"), Route::Post),
            ("GET /any/sse", false, None, Route::Open),
            ("GET /any/sse", true, None, Route::Get),
            ("POST /any/sse", false, None, Route::Post),
            ("POST /any/message", false, None, Route::Post),
            ("POST /any/message?a=b&session_id=a", false, None, Route::Message),
            ("DELETE /any", false, None, Route::None),
        ] {
            let (method, uri) = line.split_once(' ').unwrap();
            let mut request = Request::builder().method(method).uri(uri);
            if session {
                request = request.header("mcp-session-id", "x");
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(route(&parts, endpoint), expected, "{line} {session} {endpoint:?}");
        }
    }

    #[test]
    fn a_client_is_told_an_address_that_resolves() {
        for (opened_at, public_url, expected) in [
            ("/gw/sse", None, "message?session_id=x"),
            ("/gw/sse/?tenant=1", None, "../message?session_id=x"),
            ("/sse", Some("https://h.example/gw"), "https://h.example/gw/message?session_id=x"),
            ("/sse", Some("https://h.example/gw/"), "https://h.example/gw/message?session_id=x"),
        ] {
            assert_eq!(address(&opened_at.parse().unwrap(), public_url, "x"), expected, "{opened_at}");
        }
    }
}
