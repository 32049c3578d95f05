//! What can go wrong with a request, by what a caller can do about it.
//!
//! An [`Error`] names the server, the cause and the next action; predicates and data say the rest.
//! A tool that failed is not an [`Error`]: it is a result with `isError`, or [`CallError::Tool`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use switchboard_protocol::error::{ErrorCode, ProtocolError};
use switchboard_protocol::model::capability::ClientCapabilities;
use switchboard_protocol::model::tool::CallToolResult;

use crate::visible;

/// How much of a text that a server wrote goes into a message, in characters.
const SHOWN_CHARS: usize = 500;
/// How long the cause in a message may be, in characters: some causes quote what a server wrote.
const MESSAGE_CHARS: usize = 1000;

/// How far a request came before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It never left this machine, or provably nobody read it. Sending it again is safe.
    NotSent,
    /// The server, or somebody before it, refused it. It was not carried out.
    Rejected,
    /// Nobody can tell whether it was carried out.
    MaybeExecuted,
}

/// Why a request, or the opening of a connection, failed.
///
/// Cheap to clone: callers that wait for one and the same answer share it.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A clock ran out.
    Timeout,
    /// The server answered nothing to the first request.
    Silent,
    /// Somebody on this side ended it.
    Cancelled,
    /// There is no revision that both sides may speak.
    Incompatible,
    /// A JSON-RPC error that the server answered with.
    Protocol,
    /// An HTTP status without a JSON-RPC error.
    Http,
    /// The server broke the protocol.
    ServerFault,
    /// The server answered the first request with something that describes no modern server.
    Undescribed,
    /// The result is none that the caller's type can be read from.
    Unreadable,
    /// No connection.
    Unreachable,
    /// The connection ended before the answer did.
    Lost,
    /// The connection ended and cannot be opened again.
    Gone,
    /// The caller asked for something impossible.
    Misuse,
    /// A bound of this client was reached.
    Limit,
}

#[derive(Clone)]
struct Inner {
    kind: Kind,
    delivery: Delivery,
    legacy: bool,
    server: String,
    message: String,
    hint: Option<String>,
    status: Option<u16>,
    retry_after: Option<Duration>,
    challenge: Option<String>,
    offered: Vec<String>,
    protocol: Option<ProtocolError>,
    required: Option<ClientCapabilities>,
    said: Option<String>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: Kind, delivery: Delivery, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            delivery,
            legacy: false,
            server: String::new(),
            message: clip(&message.into(), MESSAGE_CHARS),
            hint: None,
            status: None,
            retry_after: None,
            challenge: None,
            offered: Vec::new(),
            protocol: None,
            required: None,
            said: None,
            source: None,
        }))
    }

    pub(crate) fn misuse(message: impl Into<String>) -> Self {
        Self::new(Kind::Misuse, Delivery::NotSent, message)
    }

    pub(crate) fn server_fault(message: impl Into<String>) -> Self {
        Self::new(Kind::ServerFault, Delivery::MaybeExecuted, message)
            .hint("this is a fault of the server; report it to its author")
    }

    pub(crate) fn timeout(what: &str, after: Duration, sent: bool) -> Self {
        let (delivery, tail) = if sent {
            (Delivery::MaybeExecuted, ", and may have been executed")
        } else {
            (Delivery::NotSent, "")
        };
        Self::new(Kind::Timeout, delivery, format!("{what} timed out after {}{tail}", seconds(after)))
            .hint("allow more time, or ask the server for less")
    }

    pub(crate) fn protocol(error: ProtocolError) -> Self {
        let delivery = match error.code {
            ErrorCode::PARSE_ERROR
            | ErrorCode::INVALID_REQUEST
            | ErrorCode::METHOD_NOT_FOUND
            | ErrorCode::INVALID_PARAMS
            | ErrorCode::RESOURCE_NOT_FOUND => Delivery::Rejected,
            code if code.is_modern() => Delivery::Rejected,
            _ => Delivery::MaybeExecuted,
        };
        let text = if error.message.is_empty() { "no message" } else { &error.message };
        let said = format!("error {}: {}", error.code.0, excerpt(text));
        let required = error.required_capabilities();
        let made = match required.as_ref().and_then(crate::missing::capabilities) {
            Some((wants, next)) => {
                let message =
                    format!("the server wants to {wants}, which this client does not offer ({said})");
                Self::new(Kind::Protocol, delivery, message).hint(next)
            }
            None => Self::new(Kind::Protocol, delivery, format!("the server answered with {said}")),
        };
        made.with(|inner| {
            inner.protocol = Some(error);
            inner.required = required;
        })
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        // One that several callers got keeps what it says to the others.
        change(Arc::make_mut(&mut self.0));
        self
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.with(|inner| inner.hint = Some(hint.into()))
    }

    pub(crate) fn status(self, status: u16, retry_after: Option<Duration>) -> Self {
        self.with(|inner| {
            inner.status = Some(status);
            inner.retry_after = retry_after;
        })
    }

    pub(crate) fn challenged(self, challenge: Option<String>) -> Self {
        self.with(|inner| inner.challenge = challenge)
    }

    pub(crate) fn legacy(self) -> Self {
        self.with(|inner| inner.legacy = true)
    }

    pub(crate) fn offering(self, offered: Vec<String>) -> Self {
        self.with(|inner| inner.offered = offered)
    }

    /// Keeps the JSON-RPC error that it was made from, as the evidence that it is.
    pub(crate) fn made_from(self, refusal: ProtocolError) -> Self {
        self.with(|inner| inner.protocol = Some(refusal))
    }

    pub(crate) fn requiring(self, required: ClientCapabilities) -> Self {
        self.with(|inner| inner.required = Some(required))
    }

    /// Keeps what a web server says in plain text, beside the message that quotes it.
    pub(crate) fn saying(self, said: Option<String>) -> Self {
        self.with(|inner| inner.said = said)
    }

    pub(crate) fn said(&self) -> Option<&str> {
        self.0.said.as_deref()
    }

    pub(crate) fn source(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.with(|inner| inner.source = Some(Arc::new(source)))
    }

    pub(crate) fn delivered(self, delivery: Delivery) -> Self {
        self.with(|inner| inner.delivery = delivery)
    }

    /// Says what else was tried before this.
    #[cfg(feature = "legacy")]
    pub(crate) fn after(self, before: &str) -> Self {
        self.with(|inner| {
            inner.message = clip(&format!("{} (before that, {before})", inner.message), MESSAGE_CHARS);
        })
    }

    /// Names the server, unless it is named already.
    pub(crate) fn at(self, server: &str) -> Self {
        self.with(|inner| {
            if inner.server.is_empty() {
                server.clone_into(&mut inner.server);
            }
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        self.0.kind
    }

    pub(crate) fn protocol_error(&self) -> Option<&ProtocolError> {
        self.0.protocol.as_ref()
    }

    pub(crate) fn is(&self, code: ErrorCode) -> bool {
        self.code() == Some(code)
    }

    /// Whether a clock ran out: [`crate::ClientBuilder::timeout`] or `max_total`.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.kind, Kind::Timeout | Kind::Silent)
    }

    /// Whether a server behind a pipe answered nothing to the first request within
    /// [`crate::Limits::connect_time`].
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.0.kind == Kind::Silent
    }

    /// Whether a tool's result is no value of the type that [`crate::Client::call_as`] was to read.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.0.kind == Kind::Unreadable
    }

    /// Whether somebody on this side ended it: the client was closed, or a person refused.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.kind == Kind::Cancelled
    }

    /// Whether the server wants to know who is asking (HTTP 401) [spec: basic/authorization].
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.0.status == Some(401)
    }

    /// Whether the server speaks only revisions that open a session with a handshake, as its own
    /// answer shows. One that answers nothing, ends, or has nothing at the address may be of that kind,
    /// too; its error says so, and this says `false`.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.0.legacy
    }

    /// Whether a bound of this client was reached: the size of an answer, the rounds of input, or the
    /// requests that wait ([`crate::Limits`]).
    #[must_use]
    pub fn is_limit(&self) -> bool {
        self.0.kind == Kind::Limit
    }

    /// Whether there is no revision that both sides speak. [`Error::is_legacy`] is one case of it.
    #[must_use]
    pub fn is_incompatible(&self) -> bool {
        self.0.kind == Kind::Incompatible
    }

    /// Whether the server broke the protocol.
    #[must_use]
    pub fn is_server_fault(&self) -> bool {
        self.0.kind == Kind::ServerFault
    }

    /// Whether there is no connection to the server, or no longer one.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self.0.kind, Kind::Unreachable | Kind::Lost | Kind::Gone)
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self.0.kind, Kind::Timeout | Kind::Silent | Kind::Unreachable | Kind::Lost)
            || matches!(self.0.status, Some(408 | 425 | 429 | 500 | 502 | 503 | 504))
    }

    /// The code of the JSON-RPC error that the server answered with.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        self.0.protocol.as_ref().map(|error| error.code)
    }

    /// The message of the JSON-RPC error, whole and as the server wrote it.
    #[must_use]
    pub fn protocol_message(&self) -> Option<&str> {
        self.0.protocol.as_ref().map(|error| error.message.as_str())
    }

    /// The data of the JSON-RPC error. Never part of the displayed text: it may be large.
    #[must_use]
    pub fn data(&self) -> Option<&RawValue> {
        self.0.protocol.as_ref().and_then(|error| error.data.as_deref())
    }

    /// What the server needs and this client did not declare: it refused the request for want of it, or
    /// asked all the same [spec: basic, Error Codes] [spec: basic/patterns/mrtr].
    #[must_use]
    pub fn required_capabilities(&self) -> Option<&ClientCapabilities> {
        self.0.required.as_ref()
    }

    /// The HTTP status, if one that is no success was the cause.
    #[must_use]
    pub fn http_status(&self) -> Option<u16> {
        self.0.status
    }

    /// How long the server asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The `WWW-Authenticate` header of a refusal.
    #[must_use]
    pub fn challenge(&self) -> Option<&str> {
        self.0.challenge.as_deref()
    }

    /// The revisions that the server offered instead, if it said so.
    #[must_use]
    pub fn offered_revisions(&self) -> &[String] {
        &self.0.offered
    }

    /// What went wrong, without the server's name and without what to do about it.
    #[must_use]
    pub fn cause(&self) -> &str {
        &self.0.message
    }

    /// What to do about it, if that is known.
    #[must_use]
    pub fn next_action(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// How far the request came.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.0.delivery
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.server.is_empty() {
            write!(f, "{}: ", self.0.server)?;
        }
        f.write_str(&self.0.message)?;
        match &self.0.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

// `main` prints an error that it returns this way, so it is the text for a person here, too.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// Why [`crate::Client::call_as`] has no value.
#[derive(Clone, thiserror::Error)]
pub enum CallError {
    /// The tool ran and failed.
    #[error("the tool failed: {}", .0.text())]
    Tool(ToolFailure),
    /// The call itself failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a failed tool said.
#[derive(Clone, Debug)]
pub struct ToolFailure(pub Box<CallToolResult>);

impl ToolFailure {
    /// The text of the failure, bounded; a placeholder if the tool gave none.
    #[must_use]
    pub fn text(&self) -> String {
        let text = self.0.text();
        if text.is_empty() { "it gave no reason".into() } else { excerpt(&text) }
    }
}

/// The beginning of a text that a peer wrote, fit for one line of a terminal.
pub(crate) fn excerpt(text: &str) -> String {
    clip(text, SHOWN_CHARS)
}

fn clip(text: &str, chars: usize) -> String {
    let mut shown = String::new();
    let mut left = chars;
    for char in text.chars() {
        let start = shown.len();
        visible::push(&mut shown, char);
        let Some(rest) = left.checked_sub(shown[start..].chars().count()) else {
            shown.truncate(start);
            shown.push_str(&format!("… ({} bytes in all)", text.len()));
            break;
        };
        left = rest;
    }
    shown
}

pub(crate) fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{:.3} s", duration.as_secs_f64())
    }
}
