//! What a model may call: the tools of the servers, and those of the host itself once there is something to read.
//!
//! The host's tools come last, so that a prompt cache holds up to them.

use std::sync::Arc;

use switchboard_llm::ToolDefinition;

use crate::artefact::host_exposure;
use crate::exposure::{ExposedTool, Exposure};

/// What a model may call.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) servers: Arc<Exposure>,
    host: Arc<Exposure>,
    /// Whether there is something to read.
    pub(super) readable: bool,
}

impl Offer {
    pub(super) fn new(servers: Arc<Exposure>, readable: bool) -> Self {
        let host = host_exposure(servers.dialect());
        Self { servers, host, readable }
    }

    fn host(&self) -> Option<&Exposure> {
        self.readable.then_some(&*self.host)
    }

    /// The tool that a model calls so.
    pub(super) fn by_name(&self, name: &str) -> Option<&ExposedTool> {
        self.servers.by_name(name).or_else(|| self.host()?.by_name(name))
    }

    /// The tools, in their order.
    pub(super) fn tools(&self) -> impl Iterator<Item = &ExposedTool> {
        self.servers.tools().iter().chain(self.host().into_iter().flat_map(Exposure::tools))
    }

    /// The definitions, in their order.
    pub(super) fn definitions(&self) -> Vec<ToolDefinition> {
        let mut definitions = self.servers.definitions();
        definitions.extend(self.host().into_iter().flat_map(Exposure::definitions));
        definitions
    }
}
