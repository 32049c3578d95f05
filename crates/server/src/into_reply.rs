//! What a handler may return, and the reply that it becomes.
//!
//! The kind of handler is part of the trait, so that a prompt cannot return the result of a tool: that
//! does not compile. Errors are in `errors.rs`, rounds in `rounds`.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::to_raw_value;
use switchboard_protocol::error::Origin;
use switchboard_protocol::model::completion::{CompleteResult, Completion, MAX_VALUES};
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::prompt::{GetPromptResult, PromptMessage};
use switchboard_protocol::model::resource::{ReadResourceResult, ResourceContents};
use switchboard_protocol::model::result::CacheScope;
use switchboard_protocol::model::tool::CallToolResult;
use switchboard_protocol::{Method, ProtocolError};

use crate::call::Call;
use crate::entry::Cache;
use crate::errors::ToolError;
use crate::needs::Needs;
use crate::reply::{Reply, ReplyBody};

mod sealed {
    pub trait Sealed {}
}

/// What a handler serves: [`ForTool`], [`ForResource`], [`ForPrompt`] or [`ForCompletion`].
pub trait Kind: sealed::Sealed + Send + 'static {
    /// The method that reaches the handler.
    const METHOD: Method;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}
        impl sealed::Sealed for $name {}
        impl Kind for $name {
            const METHOD: Method = Method::$method;
        }
    )*};
}

kinds! {
    /// The handler serves a tool.
    ForTool CallTool;
    /// The handler serves a resource or a template.
    ForResource ReadResource;
    /// The handler serves a prompt.
    ForPrompt GetPrompt;
    /// The handler completes an argument.
    ForCompletion Complete;
}

/// What a handler may return, for handlers of kind `K`.
///
/// | returned | tool | resource | prompt |
/// |---|---|---|---|
/// | `String`, `&'static str` | text | text contents | a message of the person |
/// | [`Json<T>`] | structured content, its text, an output schema | JSON contents | – |
/// | `ContentBlock`, `Vec<ContentBlock>` | content | – | – |
/// | `()` | no content | – | – |
/// | `Vec<u8>`, `Bytes` | – | binary contents | – |
/// | `ResourceContents`, `Vec<…>` | – | contents | – |
/// | `PromptMessage`, `Vec<…>` | – | – | messages |
/// | the method's own result | as it is | as it is | as it is |
///
/// and `Result<T, ToolError>`, `Result<T, ProtocolError>` and `Outcome<S, T>` of any of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a handler ({K})",
    label = "no reply can be made of this",
    note = "structs, numbers and lists of a tool or a resource go into `Json(…)`; their type implements `Serialize + JsonSchema`",
    note = "a handler that can fail returns `Result<T, ToolError>`; `?` turns any `std::error::Error` into that, `.map_err(ToolError::internal)?` an `anyhow::Error` or a boxed one",
    note = "a tool may return text, `Json<T>`, content blocks, a `CallToolResult` or `()`; the documentation of `IntoReply` has the others"
)]
pub trait IntoReply<K: Kind>: Sized {
    /// What a handler with this output needs, said once when it is registered.
    fn describe(needs: &mut Needs) {
        let _ = needs;
    }

    /// Makes the reply to `call`.
    fn into_reply(self, call: &Call) -> Reply;
}

/// A value as structured output: `structuredContent`, the same as text for hosts that read only that,
/// and an `outputSchema` generated from the type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoReply<ForTool> for Json<T> {
    fn describe(needs: &mut Needs) {
        needs.output::<T>();
    }

    fn into_reply(self, _call: &Call) -> Reply {
        match to_raw_value(&self.0) {
            Ok(value) => ReplyBody::CallTool(CallToolResult {
                content: vec![ContentBlock::text(value.get())],
                structured_content: Some(value),
                ..CallToolResult::default()
            })
            .into(),
            // Maps whose keys are no strings, for one. The model can do nothing about it.
            Err(error) => Reply::failure(Method::CallTool, ToolError::opaque(&error).into_text()),
        }
    }
}

impl IntoReply<ForTool> for CallToolResult {
    fn into_reply(self, _call: &Call) -> Reply {
        ReplyBody::CallTool(self).into()
    }
}

impl IntoReply<ForTool> for Vec<ContentBlock> {
    fn into_reply(self, _call: &Call) -> Reply {
        ReplyBody::CallTool(CallToolResult::of(self)).into()
    }
}

impl IntoReply<ForTool> for ContentBlock {
    fn into_reply(self, call: &Call) -> Reply {
        vec![self].into_reply(call)
    }
}

impl IntoReply<ForTool> for () {
    fn into_reply(self, call: &Call) -> Reply {
        Vec::<ContentBlock>::new().into_reply(call)
    }
}

impl IntoReply<ForResource> for ReadResourceResult {
    fn into_reply(self, _call: &Call) -> Reply {
        ReplyBody::ReadResource(self).into()
    }
}

impl IntoReply<ForResource> for Vec<ResourceContents> {
    fn into_reply(self, call: &Call) -> Reply {
        let (ttl_ms, cache_scope) = cache_of(call).hints();
        let contents = self;
        ReplyBody::ReadResource(ReadResourceResult { contents, ttl_ms, cache_scope, ..Default::default() })
            .into()
    }
}

impl IntoReply<ForResource> for ResourceContents {
    fn into_reply(mut self, call: &Call) -> Reply {
        if self.mime_type.is_none() {
            self.mime_type = mime_of(call).map(str::to_owned);
        }
        vec![self].into_reply(call)
    }
}

impl<T: Serialize> IntoReply<ForResource> for Json<T> {
    fn into_reply(self, call: &Call) -> Reply {
        match serde_json::to_string(&self.0) {
            Ok(text) => {
                let mime_type = mime_of(call).unwrap_or("application/json");
                ResourceContents::text(call.name(), text).with_mime_type(mime_type).into_reply(call)
            }
            Err(error) => Reply::failure(Method::ReadResource, ToolError::opaque(&error).into_text()),
        }
    }
}

impl IntoReply<ForResource> for Vec<u8> {
    fn into_reply(self, call: &Call) -> Reply {
        ResourceContents::blob(call.name(), STANDARD.encode(self)).into_reply(call)
    }
}

impl IntoReply<ForResource> for Bytes {
    fn into_reply(self, call: &Call) -> Reply {
        ResourceContents::blob(call.name(), STANDARD.encode(self)).into_reply(call)
    }
}

impl IntoReply<ForPrompt> for GetPromptResult {
    fn into_reply(mut self, call: &Call) -> Reply {
        if self.description.is_none() {
            self.description = call.bound.as_ref().and_then(|bound| bound.entry.description.clone());
        }
        ReplyBody::GetPrompt(self).into()
    }
}

impl IntoReply<ForPrompt> for Vec<PromptMessage> {
    fn into_reply(self, call: &Call) -> Reply {
        GetPromptResult { messages: self, ..GetPromptResult::default() }.into_reply(call)
    }
}

impl IntoReply<ForPrompt> for PromptMessage {
    fn into_reply(self, call: &Call) -> Reply {
        vec![self].into_reply(call)
    }
}

macro_rules! text {
    ($($type:ty),*) => {$(
        impl IntoReply<ForTool> for $type {
            fn into_reply(self, call: &Call) -> Reply {
                ContentBlock::text(self).into_reply(call)
            }
        }
        impl IntoReply<ForResource> for $type {
            fn into_reply(self, call: &Call) -> Reply {
                ResourceContents::text(call.name(), self).into_reply(call)
            }
        }
        impl IntoReply<ForPrompt> for $type {
            fn into_reply(self, call: &Call) -> Reply {
                PromptMessage::user(self).into_reply(call)
            }
        }
    )*};
}

text!(String, &'static str, Cow<'static, str>, Box<str>);

/// Suggestions for an argument, and how many there are in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// The best first. What is beyond the first hundred is cut off, and said to exist.
    pub values: Vec<String>,
    /// How many there are in all, where that is known and more than are here.
    pub total: Option<u64>,
}

impl IntoReply<ForCompletion> for Suggestions {
    fn into_reply(mut self, _call: &Call) -> Reply {
        let given = self.values.len() as u64;
        self.values.truncate(MAX_VALUES);
        let total = self.total.unwrap_or(given).max(given);
        let has_more = Some(total > self.values.len() as u64);
        let completion = Completion { values: self.values, total: Some(total), has_more };
        ReplyBody::Complete(CompleteResult { completion, ..CompleteResult::default() }).into()
    }
}

impl<T: Into<String>> IntoReply<ForCompletion> for Vec<T> {
    fn into_reply(self, call: &Call) -> Reply {
        let values: Vec<String> = self.into_iter().map(Into::into).collect();
        Suggestions { values, total: None }.into_reply(call)
    }
}

impl<K: Kind, T: IntoReply<K>> IntoReply<K> for Result<T, ToolError> {
    fn describe(needs: &mut Needs) {
        T::describe(needs);
    }

    fn into_reply(self, call: &Call) -> Reply {
        match self {
            Ok(value) => value.into_reply(call),
            Err(error) => Reply::failure(K::METHOD, error.into_text()),
        }
    }
}

impl<K: Kind, T: IntoReply<K>> IntoReply<K> for Result<T, ProtocolError> {
    fn describe(needs: &mut Needs) {
        T::describe(needs);
    }

    fn into_reply(self, call: &Call) -> Reply {
        match self {
            Ok(value) => value.into_reply(call),
            Err(error) => Reply::error(error, Origin::Handler),
        }
    }
}

fn mime_of(call: &Call) -> Option<&str> {
    call.bound.as_ref()?.entry.mime.as_deref()
}

/// How long an answer keeps. One that came out of an input round depends on what the caller answered, which
/// is no part of a cache's key [spec: server/utilities/caching, Cache Key].
fn cache_of(call: &Call) -> Cache {
    let asked = call
        .target()
        .is_some_and(|target| target.input_responses.is_some() || target.request_state.is_some());
    match &call.bound {
        Some(bound) if !asked => bound.entry.cache,
        _ => Cache::default(),
    }
}

impl Cache {
    /// The two members of a result.
    pub(crate) fn hints(self) -> (i64, CacheScope) {
        let (duration, scope) = match self {
            Self::Private(duration) => (duration, CacheScope::Private),
            Self::Public(duration) => (duration, CacheScope::Public),
        };
        (i64::try_from(duration.as_millis()).unwrap_or(i64::MAX), scope)
    }
}
