//! A call that waits for a decision.

use std::sync::Arc;

use serde_json::value::RawValue;
use switchboard_protocol::model::tool::Tool;

use crate::digest::Digest;
use crate::exposure::ExposedTool;
use crate::name::{CallId, ServerName};

/// A call that has been checked against the tool's schema and waits for a decision.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The host's number for it.
    pub call: CallId,
    /// Whose tool.
    pub server: ServerName,
    /// The tool as its server defines it.
    pub tool: Arc<Tool>,
    /// Binds decisions to the definition.
    pub definition: Digest,
    /// The arguments, as they will be sent.
    pub arguments: Box<RawValue>,
}

impl Proposal {
    /// A call of `tool` with these arguments.
    #[must_use]
    pub fn new(call: CallId, tool: &ExposedTool, arguments: Box<RawValue>) -> Self {
        let (server, definition) = (tool.server().clone(), tool.digest());
        Self { call, server, tool: Arc::clone(tool.tool()), definition, arguments }
    }

    /// The digest of everything that a server is sent.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&[
            b"call",
            self.server.as_str().as_bytes(),
            self.tool.name.as_bytes(),
            self.definition.to_string().as_bytes(),
            self.arguments.get().as_bytes(),
        ])
    }

    /// The arguments, parsed. They were checked before, so they are JSON.
    pub(super) fn value(&self) -> serde_json::Value {
        serde_json::from_str(self.arguments.get()).unwrap_or_default()
    }
}
