//! JSON-RPC errors: the codes that this specification uses, the error object, and the HTTP status
//! that goes with a code.
//!
//! A failing tool is no error in this sense: it is a result with `isError` [spec: server/tools].

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize, de};
use serde_json::value::RawValue;

use crate::era::Revision;
use crate::model::capability::ClientCapabilities;

/// A JSON-RPC error code [spec: basic, Error Codes].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// What arrived is no JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// What arrived is JSON but no JSON-RPC message that may be sent here.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The method is not implemented here.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// Parameters are missing, malformed, or name something unknown.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The receiver failed.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// The HTTP headers do not match the body, or are missing or malformed.
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The request needs a capability that the client did not declare.
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The requested revision is not spoken here.
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);
    /// What servers of earlier revisions answer for a missing resource. Accepted, never sent.
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);

    /// Whether only a modern peer answers with this code: the evidence of the era.
    #[must_use]
    pub fn is_modern(self) -> bool {
        matches!(
            self,
            Self::HEADER_MISMATCH
                | Self::MISSING_REQUIRED_CLIENT_CAPABILITY
                | Self::UNSUPPORTED_PROTOCOL_VERSION
        )
    }
}

// Some peers write codes as floats ("-32602.0"); the value is what counts.
impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CodeVisitor;
        impl de::Visitor<'_> for CodeVisitor {
            type Value = ErrorCode;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer error code")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<ErrorCode, E> {
                Ok(ErrorCode(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<ErrorCode, E> {
                i64::try_from(value).map(ErrorCode).map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<ErrorCode, E> {
                // Exact below 2^53; a code beyond that is no code.
                if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
                    #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
                    return Ok(ErrorCode(value as i64));
                }
                Err(E::custom("an error code is an integer"))
            }
        }
        deserializer.deserialize_any(CodeVisitor)
    }
}

/// The data of -32021.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MissingCapability<'a> {
    required_capabilities: Cow<'a, ClientCapabilities>,
}

/// Who found the fault, which decides the HTTP status of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The transport, before any handler ran: headers, envelope, `_meta`, version, method.
    Transport,
    /// A handler, or the look-up of what it was asked for.
    Handler,
}

/// The error member of a JSON-RPC response.
///
/// The codes from -32099 to -32020 belong to the specification: [`ProtocolError::new`] refuses
/// to carry one, so that a handler cannot imitate the protocol's own errors.
#[derive(Clone, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message} (code {})", code.0)]
pub struct ProtocolError {
    /// What kind of error.
    pub code: ErrorCode,
    /// One sentence: the cause, and where there is one the next action.
    #[serde(default)]
    pub message: String,
    /// Whatever helps a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl ProtocolError {
    /// An error with a code of your own. A code in the range that the specification reserves
    /// becomes `INTERNAL_ERROR`.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        let reserved = (-32099..=-32020).contains(&code);
        Self::of(if reserved { ErrorCode::INTERNAL_ERROR } else { ErrorCode(code) }, message)
    }

    pub(crate) fn of(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data. What does not serialise is left out.
    #[must_use]
    pub fn with_data(mut self, data: &impl Serialize) -> Self {
        self.data = serde_json::value::to_raw_value(data).ok();
        self
    }

    /// -32700.
    #[must_use]
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::of(ErrorCode::PARSE_ERROR, message)
    }

    /// -32600.
    #[must_use]
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::of(ErrorCode::INVALID_REQUEST, message)
    }

    /// -32601.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::of(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    /// -32602.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::of(ErrorCode::INVALID_PARAMS, message)
    }

    /// -32603.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::of(ErrorCode::INTERNAL_ERROR, message)
    }

    /// -32020.
    #[must_use]
    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::of(ErrorCode::HEADER_MISMATCH, message)
    }

    /// -32021, naming what the client would have to declare.
    #[must_use]
    pub fn missing_client_capability(required: &ClientCapabilities) -> Self {
        Self::of(
            ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
            "The request needs a capability that the client did not declare",
        )
        .with_data(&MissingCapability { required_capabilities: Cow::Borrowed(required) })
    }

    /// What the client would have to declare, if this is -32021 and says so.
    #[must_use]
    pub fn required_capabilities(&self) -> Option<ClientCapabilities> {
        if self.code != ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY {
            return None;
        }
        let data: MissingCapability<'_> = serde_json::from_str(self.data.as_deref()?.get()).ok()?;
        Some(data.required_capabilities.into_owned())
    }

    /// -32022, naming what is spoken here.
    #[must_use]
    pub fn unsupported_version(supported: &[&str], requested: &str) -> Self {
        #[derive(Serialize)]
        struct Data<'a> {
            supported: &'a [&'a str],
            requested: &'a str,
        }
        Self::of(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version")
            .with_data(&Data { supported, requested })
    }

    /// -32022, to a handshake where none is served. Whoever sends one has no other way to learn what is spoken
    /// here [spec: basic/versioning, Backward Compatibility].
    #[must_use]
    pub fn no_handshake(requested: &str) -> Self {
        let spoken = Revision::modern_dates();
        let message = format!(
            "Unsupported protocol version: there is no initialize here, every request carries its revision; \
             spoken: {}",
            spoken.join(", ")
        );
        Self { message, ..Self::unsupported_version(&spoken, requested) }
    }

    /// The revisions that the peer says it speaks, whatever the code: servers are known to name them in
    /// other refusals, too. `None` without data; empty if the data names none.
    #[must_use]
    pub fn supported_versions(&self) -> Option<Vec<String>> {
        #[derive(Deserialize)]
        struct Data {
            #[serde(default)]
            supported: Vec<String>,
        }
        serde_json::from_str::<Data>(self.data.as_deref()?.get()).ok().map(|data| data.supported)
    }

    /// The status of the HTTP answer that carries this error on the modern transport
    /// [spec: basic/transports/streamable-http]. An error that a handler produced is an answer
    /// like any other, apart from a missing capability, which is always 400.
    #[must_use]
    pub fn http_status(&self, origin: Origin) -> http::StatusCode {
        match (self.code, origin) {
            (ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, _) => http::StatusCode::BAD_REQUEST,
            (_, Origin::Handler) => http::StatusCode::OK,
            (ErrorCode::METHOD_NOT_FOUND, Origin::Transport) => http::StatusCode::NOT_FOUND,
            (ErrorCode::INTERNAL_ERROR, Origin::Transport) => http::StatusCode::INTERNAL_SERVER_ERROR,
            (_, Origin::Transport) => http::StatusCode::BAD_REQUEST,
        }
    }
}
