//! What goes back for a call: a typed result, prepared bytes, or an error with who is to blame.
//!
//! A reply becomes bytes once, at the very end, in one pass into one buffer; the identity of the server
//! is spliced in there. Where to look next: `into_reply.rs` makes replies from what handlers return.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use switchboard_protocol::error::Origin;
use switchboard_protocol::frame;
use switchboard_protocol::meta::{MetaObject, SERVER_INFO};
use switchboard_protocol::model::completion::CompleteResult;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::input::InputRequiredResult;
use switchboard_protocol::model::prompt::GetPromptResult;
use switchboard_protocol::model::resource::ReadResourceResult;
use switchboard_protocol::model::tool::CallToolResult;
use switchboard_protocol::{Method, ProtocolError, RequestId};

/// The answer to one call.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What it says.
    pub body: ReplyBody,
    /// The server's identity as JSON text, once the reply has left the middleware.
    stamp: Option<Arc<str>>,
}

/// What a reply says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReplyBody {
    /// What a tool gave, its failures included.
    CallTool(CallToolResult),
    /// What a resource holds.
    ReadResource(ReadResourceResult),
    /// An expanded prompt.
    GetPrompt(GetPromptResult),
    /// Suggestions.
    Complete(CompleteResult),
    /// A question first.
    InputRequired(InputRequiredResult),
    /// A result object that is JSON text already, the server's identity included: lists, discovery.
    Prepared(Bytes),
    /// A protocol failure, and where it was found.
    Error(ProtocolError, Origin),
}

impl From<ReplyBody> for Reply {
    fn from(body: ReplyBody) -> Self {
        Self { body, stamp: None }
    }
}

impl Reply {
    /// A protocol failure.
    #[must_use]
    pub fn error(error: ProtocolError, origin: Origin) -> Self {
        ReplyBody::Error(error, origin).into()
    }

    /// A tool failure that the model may read.
    #[must_use]
    pub fn tool_error(text: impl Into<String>) -> Self {
        ReplyBody::CallTool(CallToolResult::error(text)).into()
    }

    /// A failure in words: the result of a tool, the error of anything else.
    pub(crate) fn failure(method: Method, text: impl Into<String>) -> Self {
        match method {
            Method::CallTool => Self::tool_error(text),
            _ => Self::error(ProtocolError::internal(text), Origin::Handler),
        }
    }

    /// Whether the call failed: a protocol failure, or a result with `isError`.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.body {
            ReplyBody::CallTool(result) => result.is_error(),
            ReplyBody::Error(..) => true,
            _ => false,
        }
    }

    /// The status of an HTTP answer that carries this reply alone.
    #[must_use]
    pub fn http_status(&self) -> StatusCode {
        match &self.body {
            ReplyBody::Error(error, origin) => error.http_status(*origin),
            _ => StatusCode::OK,
        }
    }

    pub(crate) fn stamped(mut self, stamp: &Arc<str>) -> Self {
        self.stamp = Some(Arc::clone(stamp));
        self
    }

    /// Appends the whole JSON-RPC message to `out`.
    ///
    /// A result that does not serialise (a map with keys that are no strings, say) becomes `-32603`.
    pub fn encode(self, out: &mut Vec<u8>, id: &RequestId) {
        let stamp = self.stamp.as_deref();
        let done = match self.body {
            ReplyBody::CallTool(mut result) => {
                let meta = result.meta.take();
                out.reserve(about_bytes(&result));
                encode_result(out, id, &result, (meta, stamp))
            }
            ReplyBody::ReadResource(mut result) => {
                let meta = result.meta.take();
                encode_result(out, id, &result, (meta, stamp))
            }
            ReplyBody::GetPrompt(mut result) => {
                let meta = result.meta.take();
                encode_result(out, id, &result, (meta, stamp))
            }
            ReplyBody::Complete(mut result) => {
                let meta = result.meta.take();
                encode_result(out, id, &result, (meta, stamp))
            }
            ReplyBody::InputRequired(mut result) => {
                let meta = result.meta.take();
                encode_result(out, id, &result, (meta, stamp))
            }
            ReplyBody::Prepared(result) => {
                frame::encode_raw_result(out, id, &result);
                Ok(())
            }
            ReplyBody::Error(error, _) => {
                frame::encode_error(out, Some(id), &error);
                Ok(())
            }
        };
        if let Err(fault) = done {
            tracing::error!(%fault, "a result does not serialise");
            let error = ProtocolError::internal("The result does not serialise as JSON");
            frame::encode_error(out, Some(id), &error);
        }
    }
}

/// About how much text a result has, so that a large one is written without moving it about.
fn about_bytes(result: &CallToolResult) -> usize {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text(block) => block.text.len(),
        ContentBlock::Image(block) | ContentBlock::Audio(block) => block.data.len(),
        ContentBlock::ResourceLink(_) | ContentBlock::Resource(_) | ContentBlock::Other(_) => 0,
    };
    let structured = result.structured_content.as_ref().map_or(0, |value| value.get().len());
    result.content.iter().map(block).sum::<usize>() + structured + 512
}

/// Appends a response; the result's own metadata and the server's identity go in last. Results are never
/// empty objects (`resultType` is always there), so a member can follow before the closing brace.
fn encode_result(
    out: &mut Vec<u8>,
    id: &RequestId,
    result: &impl Serialize,
    (meta, stamp): (Option<MetaObject>, Option<&str>),
) -> Result<(), serde_json::Error> {
    let before = out.len();
    out.reserve(512);
    let write = || {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        serde_json::to_writer(&mut *out, id)?;
        out.extend_from_slice(br#","result":"#);
        serde_json::to_writer(&mut *out, result)?;
        append_meta(out, meta, stamp)?;
        out.push(b'}');
        Ok(())
    };
    let done = write();
    if done.is_err() {
        out.truncate(before);
    }
    done
}

/// Puts `_meta` into the result object that `out` ends with.
pub(crate) fn append_meta(
    out: &mut Vec<u8>,
    meta: Option<MetaObject>,
    stamp: Option<&str>,
) -> Result<(), serde_json::Error> {
    let mut meta = meta.unwrap_or_default();
    // The identity is the server's to say: whatever a handler put there gives way.
    let stamp = stamp.inspect(|_| drop(meta.remove(SERVER_INFO)));
    if meta.is_empty() && stamp.is_none() {
        return Ok(());
    }
    out.pop();
    out.extend_from_slice(br#","_meta":{"#);
    if let Some(stamp) = stamp {
        serde_json::to_writer(&mut *out, SERVER_INFO)?;
        out.push(b':');
        out.extend_from_slice(stamp.as_bytes());
    }
    for (index, (key, value)) in meta.iter().enumerate() {
        if index > 0 || stamp.is_some() {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, key)?;
        out.push(b':');
        serde_json::to_writer(&mut *out, value)?;
    }
    out.extend_from_slice(b"}}");
    Ok(())
}
