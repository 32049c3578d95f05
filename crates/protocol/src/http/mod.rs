//! The header rules of the Streamable HTTP transport [spec: basic/transports/streamable-http].
//!
//! [`classify`] reads a POST on the server's side, [`headers`] writes one on the client's side,
//! [`value`] is the encoding of header values, [`param_headers`] the `x-mcp-header` annotation.

pub mod classify;
pub mod headers;
#[cfg(feature = "legacy")]
pub mod legacy;
pub mod param_headers;
pub mod value;

use http::HeaderName;

/// Carries the revision; equal to the one in `_meta`.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Carries the method.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// Carries the name or the URI that the request is about.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// What the headers of annotated parameters start with.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// Whether a text is a `token` [RFC 9110, section 5.6.2].
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

// The caller's own words are repeated to it, but not by the megabyte.
fn clip(text: &str) -> &str {
    text.char_indices().nth(120).map_or(text, |(end, _)| &text[..end])
}
