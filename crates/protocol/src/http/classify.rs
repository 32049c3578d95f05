//! What a POST is: a modern request whose headers tell the truth about its body, a notification,
//! or something to be refused, and how.
//!
//! Pure functions over headers and bytes. Reading the body, `Host` and `Origin` are the server's
//! business; the `Mcp-Param-*` headers need the tool's schema and are checked where the tool is
//! known ([`super::param_headers`]).
//!
//! The order of the checks is part of the contract: what the headers say before what the body
//! says, the revision before anything that depends on it, the method before its parameters.

use std::borrow::Cow;

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{METHOD, NAME, PROTOCOL_VERSION, clip, value};
use crate::era::Revision;
use crate::error::{Origin, ProtocolError};
use crate::frame::{Frame, FrameError, NotificationFrame, RequestFrame};
use crate::id::RequestId;
use crate::meta::RequestMeta;
use crate::method::Method;

/// What the headers of a POST claim that its body is. Only claims that can be true are read: the
/// revision is spoken here, the method is in the table, each header is there once and well-formed.
///
/// Knowing the method before the body is read lets the body be decoded in one typed pass; what that
/// pass cannot read, [`classify`] explains.
#[derive(Debug)]
pub struct Claim<'a> {
    /// The method of `Mcp-Method`.
    pub method: Method,
    /// The revision of `MCP-Protocol-Version`.
    pub revision: Revision,
    /// The decoded `Mcp-Name`, for methods that have one.
    name: Option<Cow<'a, str>>,
}

impl<'a> Claim<'a> {
    /// Reads the headers; `None` if anything about them is to be complained about.
    #[must_use]
    pub fn read(headers: &'a HeaderMap) -> Option<Self> {
        let revision = Revision::modern(single(headers, &PROTOCOL_VERSION).ok()?)?;
        let method = Method::from_name(single(headers, &METHOD).ok()?)?;
        let name = match method.name_parameter() {
            Some(_) => Some(value::decode(single(headers, &NAME).ok()?).ok()?),
            None => None,
        };
        Some(Self { method, revision, name })
    }

    /// Whether the decoded body is what the headers claim. `name` is the parameter of
    /// [`Method::name_parameter`], and anything for methods without one.
    #[must_use]
    pub fn holds(&self, method: Method, revision: Revision, name: &str) -> bool {
        self.method == method
            && self.revision == revision
            && self.name.as_ref().is_none_or(|claimed| claimed == name)
    }
}

/// A POST that may be served.
#[derive(Debug)]
pub enum Post<'a> {
    /// Wants an answer. Headers and `_meta` were checked; the parameters are text still.
    Request(RequestFrame<'a>),
    /// Wants none: 202 and no body.
    Notification(NotificationFrame<'a>),
}

/// Why a POST is not served: the status and the JSON-RPC error of the answer.
#[derive(Debug)]
pub struct Refusal {
    /// The HTTP status. With 405 goes `Allow: POST`.
    pub status: StatusCode,
    /// The id of the request, where one could be read.
    pub id: Option<RequestId>,
    /// What goes into the body.
    pub error: ProtocolError,
}

impl Refusal {
    /// A refusal before any id was read.
    #[must_use]
    pub fn new(status: StatusCode, error: ProtocolError) -> Self {
        Self { status, id: None, error }
    }

    fn of(id: RequestId, error: ProtocolError) -> Self {
        Self { status: error.http_status(Origin::Transport), id: Some(id), error }
    }
}

impl From<FrameError> for Refusal {
    fn from(fault: FrameError) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            id: fault.id.filter(|_| fault.answerable),
            error: fault.error,
        }
    }
}

/// Checks what can be checked before the body is read: the HTTP method, `Content-Type`,
/// `Content-Encoding` and `Accept`.
///
/// # Errors
/// 405, 415 or 406.
pub fn check_head(method: &HttpMethod, headers: &HeaderMap) -> Result<(), Refusal> {
    if method != HttpMethod::POST {
        let error = ProtocolError::invalid_request(format!(
            "{method} is not served here: send each message as a POST (revision {})",
            Revision::LATEST
        ));
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error));
    }
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    // Two of them, and whoever looks at the body may have read the other.
    if !kinds.next().is_some_and(is_json) || kinds.next().is_some() {
        let error = ProtocolError::invalid_request("The Content-Type must be application/json");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
    }
    if headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
    {
        let error =
            ProtocolError::invalid_request("The body must be sent as it is, without Content-Encoding");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
    }
    if !accepts_both(headers) {
        let error = ProtocolError::invalid_request(
            "The Accept header must allow application/json and text/event-stream",
        );
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, error));
    }
    Ok(())
}

/// Reads the body of a POST whose head was checked, and every header that repeats a part of it.
///
/// # Errors
/// 400 or 404 with the JSON-RPC error that the sender is owed.
pub fn classify<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<Post<'a>, Refusal> {
    match Frame::decode(body)? {
        Frame::Request(frame) => match check_request(headers, &frame) {
            Ok(()) => Ok(Post::Request(frame)),
            Err(error) => Err(Refusal::of(frame.id, error)),
        },
        Frame::Notification(frame) => Ok(Post::Notification(frame)),
        Frame::Response(_) => {
            let error = ProtocolError::invalid_request(
                "A client sends no responses in this revision: answers to input requests go into the repeated request",
            );
            Err(Refusal::new(StatusCode::BAD_REQUEST, error))
        }
    }
}

#[derive(Default, Deserialize)]
struct ParamsPeek<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta", default)]
    meta: Option<&'a RawValue>,
}

fn check_request(headers: &HeaderMap, frame: &RequestFrame<'_>) -> Result<(), ProtocolError> {
    let name: &str = &frame.method;
    let peek: ParamsPeek<'_> = decode(frame.params.map_or("{}", RawValue::get))?;
    let request_meta: Option<RequestMeta<'_>> = peek.meta.map(|raw| decode(raw.get())).transpose()?;
    let in_meta = request_meta.as_ref().and_then(|meta| meta.protocol_version.as_deref());
    if name == INITIALIZE && in_meta.is_none() && !headers.contains_key(&METHOD) {
        return Err(refuse_handshake(frame.params));
    }
    check_revision(headers, in_meta)?;
    let claimed = single(headers, &METHOD)?;
    if claimed != name {
        return Err(mismatch(&METHOD, claimed, name));
    }
    let Some(method) = Method::from_name(name) else { return Err(unknown_method(name)) };
    if let Some(parameter) = method.name_parameter() {
        check_name(headers, parameter, if parameter == "uri" { peek.uri } else { peek.name })?;
    }
    let Some(request_meta) = request_meta else {
        return Err(ProtocolError::invalid_params("Invalid params: _meta is missing"));
    };
    request_meta.check().map_err(|error| ProtocolError::invalid_params(error.to_string()))
}

fn decode<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ProtocolError> {
    serde_json::from_str(text)
        .map_err(|error| ProtocolError::invalid_params(format!("Invalid params: {error}")))
}

// The legacy handshake, which no modern peer sends.
const INITIALIZE: &str = "initialize";

#[cold]
fn refuse_handshake(params: Option<&RawValue>) -> ProtocolError {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Handshake<'a> {
        #[serde(borrow, default)]
        protocol_version: Option<Cow<'a, str>>,
    }
    let requested = params.and_then(|raw| serde_json::from_str::<Handshake<'_>>(raw.get()).ok());
    let requested = requested.and_then(|handshake| handshake.protocol_version).unwrap_or_default();
    ProtocolError::no_handshake(&requested)
}

#[cold]
fn unknown_method(name: &str) -> ProtocolError {
    let mut error = ProtocolError::method_not_found(name);
    if name == INITIALIZE {
        error.message.push_str("; every request carries its revision, and these are spoken here: ");
        error.message.push_str(&Revision::modern_dates().join(", "));
    }
    error
}

#[cold]
fn unsupported(requested: &str) -> ProtocolError {
    ProtocolError::unsupported_version(&Revision::modern_dates(), requested)
}

/// The revision that the header names must be the one in `_meta`, if that is present, and spoken.
fn check_revision(headers: &HeaderMap, in_meta: Option<&str>) -> Result<(), ProtocolError> {
    let header = single(headers, &PROTOCOL_VERSION)?;
    if let Some(in_meta) = in_meta.filter(|in_meta| *in_meta != header) {
        return Err(mismatch(&PROTOCOL_VERSION, header, in_meta));
    }
    Revision::modern(header).map(drop).ok_or_else(|| unsupported(header))
}

fn check_name(headers: &HeaderMap, parameter: &str, source: Option<&RawValue>) -> Result<(), ProtocolError> {
    let Some(source) = source else {
        return Err(ProtocolError::invalid_params(format!("Invalid params: {parameter} is missing")));
    };
    let text: Cow<'_, str> = serde_json::from_str::<Text<'_>>(source.get())
        .map_err(|_| ProtocolError::invalid_params(format!("Invalid params: {parameter} must be a string")))?
        .0;
    let claimed = value::decode(single(headers, &NAME)?)
        .map_err(|error| ProtocolError::header_mismatch(format!("Header mismatch: Mcp-Name: {error}")))?;
    if claimed == text { Ok(()) } else { Err(mismatch(&NAME, &claimed, &text)) }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The one value of a header: present, not repeated, printable ASCII, without the white space
/// around it.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, ProtocolError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Err(ProtocolError::header_mismatch(format!(
            "Header mismatch: {} is missing; revision {} requires it",
            shown(name),
            Revision::LATEST
        )));
    };
    if values.next().is_some() {
        return Err(ProtocolError::header_mismatch(format!(
            "Header mismatch: {} is sent more than once",
            shown(name)
        )));
    }
    // Visible ASCII, space and tab only: what `to_str` accepts [RFC 9110, section 5.5].
    let text = value.to_str().map_err(|_| {
        // The one of these headers that may be encoded.
        let hint = if name == NAME { "; encode it as =?base64?…?=" } else { "" };
        ProtocolError::header_mismatch(format!(
            "Header mismatch: {} contains characters that no header may carry{hint}",
            shown(name)
        ))
    })?;
    Ok(text.trim_matches([' ', '\t']))
}

#[cold]
fn mismatch(name: &HeaderName, header: &str, body: &str) -> ProtocolError {
    ProtocolError::header_mismatch(format!(
        "Header mismatch: {} is {:?}, but the body says {:?}",
        shown(name),
        clip(header),
        clip(body)
    ))
}

/// The header's name as the specification spells it.
fn shown(name: &HeaderName) -> &str {
    match name.as_str() {
        "mcp-protocol-version" => "MCP-Protocol-Version",
        "mcp-method" => "Mcp-Method",
        "mcp-name" => "Mcp-Name",
        other => other,
    }
}

fn is_json(content_type: &HeaderValue) -> bool {
    let bytes = content_type.as_bytes();
    bytes == b"application/json" || essence(bytes).eq_ignore_ascii_case(b"application/json")
}

/// The media type alone, without parameters and white space.
pub(super) fn essence(value: &[u8]) -> &[u8] {
    let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
    value[..end].trim_ascii()
}

fn accepts_both(headers: &HeaderMap) -> bool {
    let mut ranges = headers.get_all(ACCEPT).iter().peekable();
    if ranges.peek().is_none() {
        return true;
    }
    let (mut json, mut events, mut any) = (false, false, false);
    for value in ranges {
        if value == "application/json, text/event-stream" {
            return true;
        }
        for range in
            value.as_bytes().split(|byte| *byte == b',').filter(|range| !range.trim_ascii().is_empty())
        {
            any = true;
            if is_refused(range) {
                continue;
            }
            let range = essence(range);
            let all = range == b"*/*";
            json |= all
                || [&b"application/json"[..], b"application/*"]
                    .iter()
                    .any(|known| range.eq_ignore_ascii_case(known));
            events |= all
                || [&b"text/event-stream"[..], b"text/*"]
                    .iter()
                    .any(|known| range.eq_ignore_ascii_case(known));
        }
    }
    !any || (json && events)
}

/// Whether a media range has the weight 0, which excludes it.
pub(super) fn is_refused(range: &[u8]) -> bool {
    range.split(|byte| *byte == b';').skip(1).any(|parameter| {
        let mut halves = parameter.splitn(2, |byte| *byte == b'=').map(<[u8]>::trim_ascii);
        let is_weight = halves.next().is_some_and(|name| name.eq_ignore_ascii_case(b"q"));
        is_weight && halves.next().is_some_and(|weight| weight.iter().all(|byte| matches!(byte, b'0' | b'.')))
    })
}

#[cfg(test)]
mod tests;
