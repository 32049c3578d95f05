//! What a client puts on a POST: media types, revision, method and name.
//!
//! The `Mcp-Param-*` headers are added by [`super::param_headers`]; whether the server agrees with
//! what is written here is decided by [`super::classify`].

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

use super::{METHOD, NAME, PROTOCOL_VERSION, value};
use crate::era::Revision;
use crate::method::Method;

/// The headers of a request.
///
/// `name` is the value of the parameter that [`Method::name_parameter`] names: the tool, the
/// prompt or the URI. It is encoded where it cannot stand in a header as it is, and left out for
/// methods that have no such parameter.
///
/// ```
/// use switchboard_protocol::http::headers::request_headers;
/// use switchboard_protocol::{Method, Revision};
///
/// let headers = request_headers(Method::CallTool, Some("wetter-für-heute"), Revision::LATEST);
/// assert_eq!(headers["mcp-method"], "tools/call");
/// assert_eq!(headers["mcp-name"], "=?base64?d2V0dGVyLWbDvHItaGV1dGU=?=");
/// ```
#[must_use]
pub fn request_headers(method: Method, name: Option<&str>, revision: Revision) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(revision.date()));
    headers.insert(METHOD, HeaderValue::from_static(method.name()));
    if let Some(name) = name.filter(|_| method.name_parameter().is_some()) {
        // What `encode` returns is printable ASCII, so the conversion cannot fail.
        if let Ok(encoded) = HeaderValue::from_str(&value::encode(name)) {
            headers.insert(NAME, encoded);
        }
    }
    headers
}
