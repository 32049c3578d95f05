//! What the Streamable HTTP transport of the legacy era has in its headers, and how a POST of that era is
//! told from a modern one on the same endpoint.

use std::borrow::Cow;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderName};

use super::classify::{essence, is_refused};
use super::{METHOD, PROTOCOL_VERSION};
use crate::era::legacy::name::INITIALIZE;
use crate::era::legacy::{may_name_revision, names_revision};
use crate::era::{Era, Revision};
use crate::frame::Frame;

/// Carries the session, on every request after the handshake.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Carries the last event that arrived of a stream that is to be gone on with.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The era that a POST belongs to, of which the headers are no complete claim of a modern request
/// ([`Claim`](super::classify::Claim)).
///
/// Whatever has a mark of the modern era is modern: `Mcp-Method`, the version in `_meta`, or the version in
/// its header. That last one decides neither over a handshake, which is about the version, nor over a
/// session, which has one. A legacy version in the header outweighs `Mcp-Method`, which that era ignores as
/// any header that it has not. An unknown version is left to the modern rules, which name what is spoken.
#[must_use]
pub fn era_of_post(headers: &HeaderMap, body: &[u8]) -> Era {
    let version = headers.get(&PROTOCOL_VERSION);
    let names_legacy =
        version.is_some_and(|version| version.to_str().ok().and_then(Revision::legacy).is_some());
    if headers.contains_key(&METHOD) && !names_legacy {
        return Era::Modern;
    }
    let may_be_legacy = names_legacy || version.is_none();
    let is_settled = may_be_legacy || headers.contains_key(&SESSION_ID);
    if is_settled && !may_name_revision(body) {
        return Era::Legacy;
    }
    let peek = Peek::read(body);
    if peek.has_version {
        return Era::Modern;
    }
    if is_settled || peek.is_handshake { Era::Legacy } else { Era::Modern }
}

/// What of a message tells its era.
#[derive(Default)]
struct Peek {
    /// Whether `_meta` names a version.
    has_version: bool,
    is_handshake: bool,
}

impl Peek {
    fn read(body: &[u8]) -> Self {
        let (method, params) = match Frame::decode(body) {
            Ok(Frame::Request(frame)) => (frame.method, frame.params),
            Ok(Frame::Notification(frame)) => (frame.method, frame.params),
            _ => (Cow::default(), None),
        };
        Self { has_version: names_revision(params), is_handshake: method == INITIALIZE }
    }
}

/// Whether an event stream may be the answer: what a GET must say. Nothing said allows it, too.
#[must_use]
pub fn accepts_events(headers: &HeaderMap) -> bool {
    let mut ranges = headers.get_all(ACCEPT).iter().flat_map(|value| value.as_bytes().split(|b| *b == b','));
    let allows = |range: &[u8]| {
        let known = [&b"text/event-stream"[..], b"text/*", b"*/*"];
        !is_refused(range) && known.iter().any(|known| essence(range).eq_ignore_ascii_case(known))
    };
    !headers.contains_key(ACCEPT) || ranges.any(allows)
}

#[cfg(test)]
mod tests;
