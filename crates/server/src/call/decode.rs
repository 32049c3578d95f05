//! From bytes to a [`Call`].
//!
//! Where the method is known beforehand (HTTP headers), envelope, `_meta` and parameters are read in one
//! typed pass; where it is not (pipes), the frame is split first. Whatever the one pass cannot read is
//! read again the slow way, which knows what is wrong and under which id to say so.

use std::borrow::Cow;

use bytes::Bytes;
use http::Extensions;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use switchboard_protocol::frame::{Frame, RequestFrame};
use switchboard_protocol::meta::object_only;
use switchboard_protocol::method;
use switchboard_protocol::model::{completion, discover, request, resource, subscription, tool};
use switchboard_protocol::{Method, ProtocolError, RequestId, RequestMeta, Revision, uri_template};

use crate::ctx::Alive;

use super::cut::cut;
use super::{Call, CallMeta, CallParts, Completing, Params, Refusal, Target};

/// A request in one pass, its parameters typed.
#[derive(Deserialize)]
#[serde(bound(deserialize = "P: Deserialize<'de>, 'de: 'a"))]
struct Envelope<'a, P> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: RequestId,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(deserialize_with = "object_only")]
    params: P,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

/// `prompts/get` with its arguments as text: the handler's type says how to read them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GetPrompt<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_state: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "_meta", default, deserialize_with = "object_only")]
    meta: RequestMeta<'a>,
}

/// Turns the parameters of one method into their owned form.
trait IntoParams<'a>: Deserialize<'a> {
    fn split(self, body: &Bytes) -> Result<(Params, RequestMeta<'a>), ProtocolError>;
}

impl<'a> IntoParams<'a> for discover::Discover<'a> {
    fn split(self, _body: &Bytes) -> Result<(Params, RequestMeta<'a>), ProtocolError> {
        Ok((Params::Discover, self.meta))
    }
}

impl<'a> IntoParams<'a> for request::Paginated<'a> {
    fn split(self, _body: &Bytes) -> Result<(Params, RequestMeta<'a>), ProtocolError> {
        Ok((Params::List { cursor: self.cursor.map(Cow::into_owned) }, self.meta))
    }
}

impl<'a> IntoParams<'a> for tool::CallTool<'a> {
    fn split(self, body: &Bytes) -> Result<(Params, RequestMeta<'a>), ProtocolError> {
        let target = Target {
            name: self.name.into_owned(),
            arguments: object(body, self.arguments, "arguments")?,
            input_responses: object(body, self.input_responses, "inputResponses")?,
            request_state: self.request_state.map(Cow::into_owned),
        };
        Ok((Params::CallTool(target), self.meta))
    }
}

impl<'a> IntoParams<'a> for resource::ReadResource<'a> {
    fn split(self, body: &Bytes) -> Result<(Params, RequestMeta<'a>), ProtocolError> {
        let target = Target {
            name: self.uri.into_owned(),
            arguments: None,
            input_responses: object(body, self.input_responses, "inputResponses")?,
            request_state: self.request_state.map(Cow::into_owned),
        };
        Ok((Params::ReadResource(target), self.meta))
    }
}

impl<'a> IntoParams<'a> for GetPrompt<'a> {
    fn split(self, body: &Bytes) -> Result<(Params, RequestMeta<'a>), ProtocolError> {
        let target = Target {
            name: self.name.into_owned(),
            arguments: object(body, self.arguments, "arguments")?,
            input_responses: object(body, self.input_responses, "inputResponses")?,
            request_state: self.request_state.map(Cow::into_owned),
        };
        Ok((Params::GetPrompt(target), self.meta))
    }
}

impl<'a> IntoParams<'a> for completion::Complete<'a> {
    fn split(self, _body: &Bytes) -> Result<(Params, RequestMeta<'a>), ProtocolError> {
        let completing = Completing {
            reference: self.r#ref,
            argument: self.argument.name.into_owned(),
            value: self.argument.value.into_owned(),
            context: self.context.unwrap_or_default(),
        };
        Ok((Params::Complete(Box::new(completing)), self.meta))
    }
}

impl<'a> IntoParams<'a> for subscription::SubscriptionsListen<'a> {
    fn split(self, _body: &Bytes) -> Result<(Params, RequestMeta<'a>), ProtocolError> {
        Ok((Params::Listen { filter: self.notifications }, self.meta))
    }
}

impl Call {
    /// Decodes a message whose method is known from its headers, in one typed pass.
    ///
    /// # Errors
    /// What the sender is owed: `-32700`, `-32600`, `-32020` if the body names another method than the
    /// headers, `-32602`, `-32022`.
    pub fn decode_as(method: Method, body: &Bytes, extensions: Extensions) -> Result<Self, Refusal> {
        match method {
            Method::Discover => Self::pass::<discover::Discover<'_>>(method, (body, body), extensions),
            Method::ListTools
            | Method::ListResources
            | Method::ListResourceTemplates
            | Method::ListPrompts => Self::pass::<request::Paginated<'_>>(method, (body, body), extensions),
            Method::CallTool => Self::tool_call(body, extensions),
            Method::ReadResource => {
                Self::pass::<resource::ReadResource<'_>>(method, (body, body), extensions)
            }
            Method::GetPrompt => Self::pass::<GetPrompt<'_>>(method, (body, body), extensions),
            Method::Complete => Self::pass::<completion::Complete<'_>>(method, (body, body), extensions),
            Method::SubscriptionsListen => {
                Self::pass::<subscription::SubscriptionsListen<'_>>(method, (body, body), extensions)
            }
        }
    }

    /// Decodes a message whose method is not known yet.
    ///
    /// # Errors
    /// What the sender is owed, `-32601` for a method that is not in the table among it. A notification
    /// or a response is `-32600` here: split the frame first where either may arrive.
    pub fn decode(body: &Bytes, extensions: Extensions) -> Result<Self, Refusal> {
        match Frame::decode(body)? {
            Frame::Request(frame) => Self::from_frame(frame, body, extensions),
            Frame::Notification(_) | Frame::Response(_) => {
                Err(Refusal { id: None, error: ProtocolError::invalid_request("The message is no request") })
            }
        }
    }

    /// Decodes a request whose frame is split already; `body` is the message that it was split from.
    ///
    /// # Errors
    /// What the sender is owed: `-32601`, `-32602`, `-32022`.
    pub fn from_frame(
        frame: RequestFrame<'_>,
        body: &Bytes,
        extensions: Extensions,
    ) -> Result<Self, Refusal> {
        Self::from_frame_with(frame, (body, extensions), &check)
    }

    /// As [`Call::from_frame`]; `check` says what of the request's `_meta` counts.
    pub(super) fn from_frame_with(
        frame: RequestFrame<'_>,
        (body, extensions): (&Bytes, Extensions),
        check: Check<'_>,
    ) -> Result<Self, Refusal> {
        let RequestFrame { id, method: name, params } = frame;
        let Some(method) = Method::from_name(&name) else {
            return Err(Refusal::new(id, unknown_method(&name, params)));
        };
        let split = match method {
            Method::Discover => split::<discover::Discover<'_>>(params, body, check),
            Method::ListTools
            | Method::ListResources
            | Method::ListResourceTemplates
            | Method::ListPrompts => split::<request::Paginated<'_>>(params, body, check),
            Method::CallTool => split::<tool::CallTool<'_>>(params, body, check),
            Method::ReadResource => split::<resource::ReadResource<'_>>(params, body, check),
            Method::GetPrompt => split::<GetPrompt<'_>>(params, body, check),
            Method::Complete => split::<completion::Complete<'_>>(params, body, check),
            Method::SubscriptionsListen => {
                split::<subscription::SubscriptionsListen<'_>>(params, body, check)
            }
        };
        match split {
            Ok((params, meta)) => Ok(Self::assemble((id, method), params, meta, extensions)),
            Err(error) => Err(Refusal::new(id, error)),
        }
    }

    /// The one request that may be large is cut at its arguments, so that they are read once.
    fn tool_call(body: &Bytes, extensions: Extensions) -> Result<Self, Refusal> {
        let Some(parts) = cut(body) else {
            return Self::pass::<tool::CallTool<'_>>(Method::CallTool, (body, body), extensions);
        };
        let mut call = Self::pass::<tool::CallTool<'_>>(Method::CallTool, (&parts.head, body), extensions)?;
        if let Params::CallTool(target) = &mut call.params {
            target.arguments = Some(body.slice(parts.arguments));
        }
        Ok(call)
    }

    /// Reads `text`, which is the body or a part of it.
    fn pass<'a, P: IntoParams<'a>>(
        method: Method,
        (text, body): (&'a [u8], &Bytes),
        extensions: Extensions,
    ) -> Result<Self, Refusal> {
        // An array of the members in order is no message, though a derived type would take it.
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Self::diagnose(method, body, extensions);
        }
        match serde_json::from_slice::<Envelope<'a, P>>(text) {
            Ok(envelope) if envelope.is_request_of(method) => {
                let Envelope { id, params, .. } = envelope;
                match params.split(body).and_then(|(params, meta)| Ok((params, check(&meta, body)?))) {
                    Ok((params, meta)) => Ok(Self::assemble((id, method), params, meta, extensions)),
                    Err(error) => Err(Refusal::new(id, error)),
                }
            }
            _ => Self::diagnose(method, body, extensions),
        }
    }

    /// The second reading of what one pass could not take.
    #[cold]
    fn diagnose(method: Method, body: &Bytes, extensions: Extensions) -> Result<Self, Refusal> {
        match Frame::decode(body)? {
            Frame::Request(frame) if frame.method != method.name() => {
                let message = format!("The header names {} but the body {}", method.name(), frame.method);
                Err(Refusal::new(frame.id, ProtocolError::header_mismatch(message)))
            }
            Frame::Request(frame) => Self::from_frame(frame, body, extensions),
            Frame::Notification(_) | Frame::Response(_) => Err(Refusal {
                id: None,
                error: ProtocolError::invalid_request("The headers name a request, but the body is none"),
            }),
        }
    }

    pub(super) fn assemble(
        (id, method): (RequestId, Method),
        params: Params,
        meta: CallMeta,
        extensions: Extensions,
    ) -> Self {
        Self(Box::new(CallParts {
            id,
            method,
            params,
            meta,
            extensions,
            outbox: None,
            round: None,
            bound: None,
            vars: uri_template::Vars::new(),
            alive: Alive::default(),
        }))
    }
}

impl<P> Envelope<'_, P> {
    fn is_request_of(&self, method: Method) -> bool {
        self.jsonrpc == "2.0" && self.method == method.name() && self.result.is_none() && self.error.is_none()
    }
}

/// Splits the parameters of a frame. The `_meta` is checked before the rest of a malformed parameter
/// object is complained about, so that a peer of another revision learns that first.
fn split<'a, P: IntoParams<'a>>(
    params: Option<&'a RawValue>,
    body: &Bytes,
    check: Check<'_>,
) -> Result<(Params, CallMeta), ProtocolError> {
    let text = params.map_or("{}", RawValue::get);
    match serde_json::from_str::<P>(text) {
        Ok(typed) => {
            let (params, meta) = typed.split(body)?;
            Ok((params, check(&meta, body)?))
        }
        Err(fault) => {
            // `server/discover` has no parameters but the `_meta`.
            let only = method::decode_params::<method::spec::Discover>(params)?;
            check(&only.meta, body)?;
            Err(ProtocolError::invalid_params(format!("Invalid params: {fault}")))
        }
    }
}

/// Says who asks, and in which revision, from what a request's `_meta` holds.
pub(super) type Check<'c> = &'c dyn Fn(&RequestMeta<'_>, &Bytes) -> Result<CallMeta, ProtocolError>;

fn check(meta: &RequestMeta<'_>, body: &Bytes) -> Result<CallMeta, ProtocolError> {
    let revision = match meta.protocol_version.as_deref() {
        None => None,
        Some(requested) => Some(modern(requested)?),
    };
    meta.check().map_err(|error| ProtocolError::invalid_params(error.to_string()))?;
    let (Some(revision), Some(capabilities)) = (revision, meta.client_capabilities) else {
        // `check` has refused both absences by name.
        return Err(ProtocolError::invalid_params("Invalid params: _meta is incomplete"));
    };
    let log_level = meta.log_level().map_err(|error| ProtocolError::invalid_params(error.to_string()))?;
    Ok(CallMeta {
        revision,
        log_level,
        progress_token: meta.progress_token.clone(),
        client_info: meta.client_info.map(|raw| slice(body, raw.get())),
        client_capabilities: slice(body, capabilities.get()),
        body: body.clone(),
    })
}

fn modern(requested: &str) -> Result<Revision, ProtocolError> {
    Revision::modern(requested)
        .ok_or_else(|| ProtocolError::unsupported_version(&Revision::modern_dates(), requested))
}

/// A peer that opens with a handshake is told what is spoken here.
#[cold]
fn unknown_method(name: &str, params: Option<&RawValue>) -> ProtocolError {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Handshake<'a> {
        #[serde(borrow, default)]
        protocol_version: Option<Cow<'a, str>>,
        #[serde(borrow, rename = "_meta", default)]
        meta: RequestMeta<'a>,
    }
    if name == "initialize" {
        let params = params.map_or("{}", RawValue::get);
        let handshake: Handshake<'_> = serde_json::from_str(params).unwrap_or_default();
        if handshake.meta.protocol_version.is_none() {
            return ProtocolError::no_handshake(&handshake.protocol_version.unwrap_or_default());
        }
    }
    ProtocolError::method_not_found(name)
}

/// The text of an object as a slice of the body; `null` and absence are the same.
fn object(body: &Bytes, raw: Option<&RawValue>, member: &str) -> Result<Option<Bytes>, ProtocolError> {
    match raw {
        None => Ok(None),
        Some(raw) if raw.get().starts_with('{') => Ok(Some(slice(body, raw.get()))),
        Some(_) => Err(ProtocolError::invalid_params(format!("Invalid params: {member} must be an object"))),
    }
}

/// A part of the body without copying it. Text from elsewhere is copied instead.
fn slice(body: &Bytes, text: &str) -> Bytes {
    let start = (text.as_ptr() as usize).wrapping_sub(body.as_ptr() as usize);
    match start.checked_add(text.len()) {
        Some(end) if end <= body.len() => body.slice(start..end),
        _ => Bytes::copy_from_slice(text.as_bytes()),
    }
}
