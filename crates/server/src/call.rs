//! One request, decoded: what dispatch, middleware and extractors see, on every transport.
//!
//! A [`Call`] owns the bytes of its message. Whatever stays JSON text (arguments, answers, identity,
//! capabilities) is a slice of those bytes and never copied. It does not know HTTP, and it does not run
//! anything. Where to look next: `server.rs` dispatches it, `extract` reads it.

mod cut;
mod decode;
#[cfg(feature = "legacy")]
mod legacy;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;
use http::Extensions;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_protocol::error::Origin;
use switchboard_protocol::frame::{self, FrameError};
use switchboard_protocol::model::capability::{ClientCapabilities, Implementation};
use switchboard_protocol::model::completion::{CompletionContext, CompletionReference};
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_protocol::model::subscription::SubscriptionFilter;
use switchboard_protocol::trace::TraceContext;
use switchboard_protocol::uri_template;
use switchboard_protocol::{Method, ProgressToken, ProtocolError, RequestId, RequestMeta, Revision};

use crate::ctx::Alive;
use crate::entry::Bound;
use crate::outbox::Outbox;
use crate::reply::Reply;
use crate::rounds::OpenRound;

#[cfg(feature = "legacy")]
pub(crate) use legacy::Seed;

/// A request that is well-formed, of a known method and of a revision that is spoken here.
///
/// Its parts are fields: `call.id`, `call.params`, `call.extensions`. It is boxed, since it goes through many
/// hands until its handler has it, and every middleware is one more.
#[derive(Debug)]
pub struct Call(Box<CallParts>);

/// What a [`Call`] consists of.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallParts {
    /// Goes back with the answer.
    pub id: RequestId,
    /// Which row of the table of methods.
    pub method: Method,
    /// What the method was given.
    pub params: Params,
    /// Version, identity and capabilities.
    pub meta: CallMeta,
    /// What the transport and the middleware know: the authenticated principal, HTTP parts.
    pub extensions: Extensions,
    /// Where progress and log messages go, if the request asked for either.
    pub(crate) outbox: Option<Arc<Outbox>>,
    /// The input round that this request continues, once its state is verified.
    pub(crate) round: Option<Box<OpenRound>>,
    /// What the call was bound to when it was dispatched.
    pub(crate) bound: Option<Arc<Bound>>,
    /// The variables of the URI template that matched.
    pub(crate) vars: uri_template::Vars,
    /// Ends with the call.
    pub(crate) alive: Alive,
}

/// The parameters of a call, by the shape of its method.
#[derive(Debug)]
#[non_exhaustive]
pub enum Params {
    /// `server/discover` takes none.
    Discover,
    /// The four lists.
    List {
        /// Where to go on. The empty string is a cursor like any other.
        cursor: Option<String>,
    },
    /// `tools/call`.
    CallTool(Target),
    /// `resources/read`.
    ReadResource(Target),
    /// `prompts/get`.
    GetPrompt(Target),
    /// `completion/complete`.
    Complete(Box<Completing>),
    /// `subscriptions/listen`.
    Listen {
        /// What the client wants to hear of.
        filter: SubscriptionFilter,
    },
}

/// What a call is about, and what an earlier round of it left.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// The name of the tool or prompt, or the URI of the resource.
    pub name: String,
    /// The arguments: the text of an object.
    pub arguments: Option<Bytes>,
    /// Answers to the questions of the round before: the text of an object.
    pub input_responses: Option<Bytes>,
    /// What the server asked to be given back.
    pub request_state: Option<String>,
}

/// What is to be completed.
#[derive(Clone, Debug)]
pub struct Completing {
    /// Whose argument.
    pub reference: CompletionReference,
    /// The argument's name.
    pub argument: String,
    /// What was typed so far.
    pub value: String,
    /// Arguments that were given already.
    pub context: CompletionContext,
}

/// The `_meta` of a call. Identity and capabilities stay text until somebody asks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallMeta {
    /// The revision that the request is written in.
    pub revision: Revision,
    /// The least severe log message that the client wants; none at all if absent.
    pub log_level: Option<LoggingLevel>,
    /// Opts in to progress notifications.
    pub progress_token: Option<ProgressToken>,
    /// Who the client says it is: the text of an object.
    pub client_info: Option<Bytes>,
    /// What the client can do: the text of an object.
    pub client_capabilities: Bytes,
    /// The whole message.
    body: Bytes,
}

impl CallMeta {
    /// Who the client says it is. Self-reported; never a base for a decision.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        serde_json::from_slice(self.client_info.as_ref()?).ok()
    }

    /// What the client can do.
    #[must_use]
    pub fn client_capabilities(&self) -> ClientCapabilities {
        serde_json::from_slice(&self.client_capabilities).unwrap_or_default()
    }

    /// The trace that the request belongs to; malformed values are dropped.
    #[must_use]
    pub fn trace_context(&self) -> TraceContext {
        self.decode::<RequestMeta<'_>>().map(|meta| meta.trace_context()).unwrap_or_default()
    }

    /// Reads the whole `_meta` as a type of your own; `None` if it does not fit.
    #[must_use]
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, rename = "_meta")]
            meta: &'a RawValue,
        }
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            params: Params<'a>,
        }
        let message: Message<'a> = serde_json::from_slice(&self.body).ok()?;
        serde_json::from_str(message.params.meta.get()).ok()
    }
}

/// Why a message did not become a [`Call`], and what the sender is owed.
#[derive(Debug)]
pub struct Refusal {
    /// The id to answer under, where one could be read.
    pub id: Option<RequestId>,
    /// What to answer.
    pub error: ProtocolError,
}

impl Refusal {
    pub(crate) fn new(id: RequestId, error: ProtocolError) -> Self {
        Self { id: Some(id), error }
    }

    /// The status of the HTTP answer.
    #[must_use]
    pub fn http_status(&self) -> http::StatusCode {
        self.error.http_status(Origin::Transport)
    }

    /// Appends the whole JSON-RPC answer to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        frame::encode_error(out, self.id.as_ref(), &self.error);
    }

    /// The refusal as a reply, for drivers that handle replies only.
    #[must_use]
    pub fn into_reply(self) -> Reply {
        Reply::error(self.error, Origin::Transport)
    }
}

impl From<FrameError> for Refusal {
    fn from(error: FrameError) -> Self {
        Self { id: error.id, error: error.error }
    }
}

impl Deref for Call {
    type Target = CallParts;

    fn deref(&self) -> &CallParts {
        &self.0
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut CallParts {
        &mut self.0
    }
}

impl Call {
    /// Takes it apart.
    #[must_use]
    pub fn into_parts(self) -> CallParts {
        *self.0
    }

    /// The name or URI that the call is about, if its method has one.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        match &self.params {
            Params::CallTool(target) | Params::ReadResource(target) | Params::GetPrompt(target) => {
                Some(target)
            }
            Params::Discover | Params::List { .. } | Params::Complete(_) | Params::Listen { .. } => None,
        }
    }

    /// The arguments as text: an object, empty if none were given.
    pub(crate) fn arguments(&self) -> &[u8] {
        self.target().and_then(|target| target.arguments.as_deref()).unwrap_or(b"{}")
    }

    /// The name of the tool or prompt, or the URI of the resource; empty for other methods.
    #[must_use]
    pub fn name(&self) -> &str {
        self.target().map_or("", |target| target.name.as_str())
    }
}
