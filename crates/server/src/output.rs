//! Structured output, held against the schema that its tool published
//! [spec: server/tools, Output Schema].
//!
//! Where the schema comes from the type of the result and says no more than that, nothing is checked here:
//! what was written from the type conforms. Where to look next: `schema/check.rs` is the check,
//! `into_reply.rs` writes the results.

use std::sync::Arc;

use crate::entry::Bound;
use crate::errors::Reference;
use crate::exchange::ReplyFuture;
use crate::reply::{Reply, ReplyBody};
use crate::schema::EnforcedSchema;

/// The output schema of one tool.
pub(crate) struct OutputSchema {
    tool: String,
    schema: EnforcedSchema,
}

impl OutputSchema {
    pub(crate) fn new(tool: &str, schema: EnforcedSchema) -> Self {
        Self { tool: tool.to_owned(), schema }
    }

    /// What is wrong with a reply. Failures, questions and protocol errors have no structured output.
    fn violation(&self, reply: &Reply) -> Option<String> {
        let ReplyBody::CallTool(result) = &reply.body else { return None };
        if result.is_error() {
            return None;
        }
        match &result.structured_content {
            Some(value) => self.schema.check(value.get().as_bytes()),
            None => Some("there is no structured content".into()),
        }
    }
}

/// The reply of a handler. One that breaks its tool's promise is not sent as if it kept it: the caller can do
/// nothing about it, so it is told as much as about any other fault of the server.
pub(crate) async fn conforming(reply: ReplyFuture, bound: Arc<Bound>) -> Reply {
    let reply = reply.await;
    let Some(output) = &bound.entry.output else { return reply };
    let Some(violation) = output.violation(&reply) else { return reply };
    let (reference, tool) = (Reference::new(), &output.tool);
    tracing::error!(%reference, tool, violation, "a result does not conform to the output schema of its tool");
    reference.keep(&format_args!("the result of {tool} does not conform to its output schema: {violation}"));
    Reply::tool_error(reference.sentence())
}
