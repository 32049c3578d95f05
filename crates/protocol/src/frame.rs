//! One JSON-RPC message, split into its members and no further: parameters and results stay text
//! until the method says what they are.
//!
//! Batches, `null` ids and anything that is no message are refused with the code that the sender
//! is owed. What could not be parsed is never answered by guess: the error says whether an id was
//! readable.

mod answers;
mod salvage;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::ProtocolError;
use crate::id::RequestId;

pub use answers::answers_in;

/// A message, borrowed from the bytes it arrived in.
#[derive(Debug)]
pub enum Frame<'a> {
    /// Wants an answer.
    Request(RequestFrame<'a>),
    /// Wants none.
    Notification(NotificationFrame<'a>),
    /// Is an answer.
    Response(ResponseFrame<'a>),
}

/// A request whose parameters are not decoded yet.
#[derive(Debug)]
pub struct RequestFrame<'a> {
    /// Echoed in the answer.
    pub id: RequestId,
    /// The method's name.
    pub method: Cow<'a, str>,
    /// An object, if present.
    pub params: Option<&'a RawValue>,
}

/// A notification whose parameters are not decoded yet.
#[derive(Debug)]
pub struct NotificationFrame<'a> {
    /// The method's name.
    pub method: Cow<'a, str>,
    /// An object, if present.
    pub params: Option<&'a RawValue>,
}

/// An answer whose result is not decoded yet.
#[derive(Debug)]
pub struct ResponseFrame<'a> {
    /// The id of the request; absent only in errors about a request whose id could not be read.
    pub id: Option<RequestId>,
    /// The result, or the error object.
    pub outcome: Result<&'a RawValue, ProtocolError>,
}

/// Why a message was refused.
#[derive(Debug)]
pub struct FrameError {
    /// The id to answer under, where one could be read.
    pub id: Option<RequestId>,
    /// What to answer, if an answer is owed at all: a broken response is never answered.
    pub error: ProtocolError,
    /// Whether the refused message may have been a request.
    pub answerable: bool,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "crate::meta::present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "crate::meta::present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "crate::meta::present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "crate::meta::present")]
    error: Option<&'a RawValue>,
}

impl<'a> Frame<'a> {
    /// Splits one message.
    ///
    /// # Errors
    /// When the bytes are no JSON (-32700) or no single JSON-RPC 2.0 message (-32600).
    pub fn decode(bytes: &'a [u8]) -> Result<Self, FrameError> {
        Self::read(bytes, || serde_json::from_slice(bytes))
    }

    /// Splits one message that is known to be UTF-8.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_text(text: &'a str) -> Result<Self, FrameError> {
        Self::read(text.as_bytes(), || serde_json::from_str(text))
    }

    fn read(
        bytes: &[u8],
        parse: impl FnOnce() -> Result<Wire<'a>, serde_json::Error>,
    ) -> Result<Self, FrameError> {
        // serde reads an array as a struct by position, which no JSON-RPC peer means.
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
            return Err(refuse_array(bytes));
        }
        parse().map_err(|error| refuse_object(bytes, &error)).and_then(Self::sort)
    }

    fn sort(wire: Wire<'a>) -> Result<Self, FrameError> {
        let answerable = wire.result.is_none() && wire.error.is_none();
        let id = match wire.id.map(|raw| serde_json::from_str::<RequestId>(raw.get())) {
            None => None,
            Some(Ok(id)) => Some(id),
            // A peer that could not read our id answers with `null`; nobody else may send it.
            Some(Err(_)) if wire.error.is_some() => None,
            Some(Err(_)) => {
                let message = format!(
                    "The id must be an integer or a string of at most {} bytes",
                    RequestId::MAX_BYTES
                );
                return Err(FrameError::invalid(None, answerable, &message));
            }
        };
        if wire.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
            return Err(FrameError::invalid(id, answerable, "The member jsonrpc must be the string \"2.0\""));
        }
        if let Some(method) = wire.method {
            return Self::call(id, method, wire.params, answerable);
        }
        Self::response(id, wire.result, wire.error)
    }

    fn call(
        id: Option<RequestId>,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
        alone: bool,
    ) -> Result<Self, FrameError> {
        if !alone {
            return Err(FrameError::invalid(
                id,
                false,
                "A message has either a method or a result, not both",
            ));
        }
        // `null` stands for "no params" in enough peers that it is read as such.
        let params = params.filter(|raw| raw.get() != "null");
        if params.is_some_and(|raw| !raw.get().starts_with('{')) {
            // Without an id it was a notification, which nobody answers.
            let answerable = id.is_some();
            return Err(FrameError::invalid(id, answerable, "The member params must be an object"));
        }
        Ok(match id {
            Some(id) => Self::Request(RequestFrame { id, method, params }),
            None => Self::Notification(NotificationFrame { method, params }),
        })
    }

    fn response(
        id: Option<RequestId>,
        result: Option<&'a RawValue>,
        error: Option<&'a RawValue>,
    ) -> Result<Self, FrameError> {
        // Some peers send the unused member as `null`.
        let result_set = result.filter(|raw| raw.get() != "null");
        let error_set = error.filter(|raw| raw.get() != "null");
        let outcome = match (result_set, error_set) {
            (Some(result), None) if id.is_some() => Ok(result),
            (None, Some(error)) => {
                if !error.get().starts_with('{') {
                    return Err(FrameError::invalid(id, false, "The member error must be an object"));
                }
                Err(serde_json::from_str::<ProtocolError>(error.get()).map_err(|fault| {
                    FrameError::invalid(id.clone(), false, &format!("The error object is malformed: {fault}"))
                })?)
            }
            (Some(_), None) => {
                return Err(FrameError::invalid(None, false, "A result carries no id"));
            }
            (Some(_), Some(_)) => {
                return Err(FrameError::invalid(id, false, "A response has both a result and an error"));
            }
            (None, None) if result.is_some() || error.is_some() => {
                return Err(FrameError::invalid(id, false, "A response has neither a result nor an error"));
            }
            (None, None) => {
                return Err(FrameError::invalid(id, true, "The message has no method, result or error"));
            }
        };
        Ok(Self::Response(ResponseFrame { id, outcome }))
    }
}

impl FrameError {
    fn invalid(id: Option<RequestId>, answerable: bool, message: &str) -> Self {
        Self { id, error: ProtocolError::invalid_request(message), answerable }
    }
}

/// JSON that is no message may still say under which id the answer is waited for.
#[cold]
fn refuse_object(bytes: &[u8], error: &serde_json::Error) -> FrameError {
    let why = format!("The text is JSON but no JSON-RPC message: {error}");
    if let Some(found) = salvage::members(bytes) {
        return FrameError::invalid(found.id, !found.is_response, &why);
    }
    refuse_unless_json(bytes, &why)
}

#[cold]
fn refuse_array(bytes: &[u8]) -> FrameError {
    refuse_unless_json(bytes, "Batches are not part of this revision: send one message at a time")
}

/// Refuses text: for `why` if it is JSON, else for not being that.
fn refuse_unless_json(bytes: &[u8], why: &str) -> FrameError {
    let message = if std::str::from_utf8(bytes).is_err() {
        "The message is not valid UTF-8".into()
    } else {
        match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
            Ok(_) => return FrameError::invalid(None, true, why),
            Err(error) => format!("The message is not valid JSON: {error}"),
        }
    };
    FrameError { id: None, error: ProtocolError::parse_error(message), answerable: true }
}

#[derive(Serialize)]
struct RequestWire<'a, P> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    method: &'a str,
    params: &'a P,
}

#[derive(Serialize)]
struct NotificationWire<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
}

#[derive(Serialize)]
struct ResultWire<'a, R> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a R,
}

#[derive(Serialize)]
struct ErrorWire<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    error: &'a ProtocolError,
}

const JSONRPC: &str = "2.0";

/// Appends a request to `out`.
///
/// # Errors
/// When `params` does not serialise; `out` is then as it was.
pub fn encode_request(
    out: &mut Vec<u8>,
    id: &RequestId,
    method: &str,
    params: &impl Serialize,
) -> Result<(), serde_json::Error> {
    append(out, &RequestWire { jsonrpc: JSONRPC, id, method, params })
}

/// Appends a notification to `out`.
///
/// # Errors
/// When `params` does not serialise; `out` is then as it was.
pub fn encode_notification(
    out: &mut Vec<u8>,
    method: &str,
    params: Option<&impl Serialize>,
) -> Result<(), serde_json::Error> {
    append(out, &NotificationWire { jsonrpc: JSONRPC, method, params })
}

/// Appends a response with a result to `out`.
///
/// # Errors
/// When `result` does not serialise; `out` is then as it was.
pub fn encode_result(
    out: &mut Vec<u8>,
    id: &RequestId,
    result: &impl Serialize,
) -> Result<(), serde_json::Error> {
    append(out, &ResultWire { jsonrpc: JSONRPC, id, result })
}

/// Appends a response whose result is JSON text already, such as a prepared list.
pub fn encode_raw_result(out: &mut Vec<u8>, id: &RequestId, result: &[u8]) {
    out.reserve(result.len() + 64);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    // Serialising a string or an integer into memory cannot fail.
    let _ = serde_json::to_writer(&mut *out, id);
    out.extend_from_slice(br#","result":"#);
    out.extend_from_slice(result);
    out.push(b'}');
}

/// Appends a response with an error to `out`.
pub fn encode_error(out: &mut Vec<u8>, id: Option<&RequestId>, error: &ProtocolError) {
    // Strings, integers and text that is JSON already cannot fail to serialise.
    let _ = append(out, &ErrorWire { jsonrpc: JSONRPC, id, error });
}

fn append(out: &mut Vec<u8>, message: &impl Serialize) -> Result<(), serde_json::Error> {
    let before = out.len();
    serde_json::to_writer(&mut *out, message).inspect_err(|_| out.truncate(before))
}

#[cfg(test)]
mod tests;
