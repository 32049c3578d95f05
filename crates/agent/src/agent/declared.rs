//! What a run writes down of the tools that it may call.
//!
//! In a session that is an entry a server, with the names. Everything else is kept once, however many runs and sessions
//! have the same tools: as an artefact that is called by the digest of what is in it. Without a session, or where it
//! cannot be kept, each tool has an entry of its own.

use serde::Serialize;

use super::Agent;
use crate::artefact::NewArtefact;
use crate::digest::Digest;
use crate::exposure::{ExposedTool, Exposure};
use crate::journal::{Declaration, Exposed, ExposedName};

/// A tool as the artefact holds it.
#[derive(Serialize)]
struct Declared<'a> {
    name: &'a str,
    server: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    definition: Digest,
}

impl Agent {
    /// Writes down what is offered; of what was offered before, only what is different.
    pub(super) fn record_exposure(&self, exposure: &Exposure, before: Option<&Exposure>) {
        let known = |tool: &&ExposedTool| {
            let same =
                |known: &ExposedTool| known.digest() == tool.digest() && known.server() == tool.server();
            before.and_then(|before| before.by_name(tool.name())).is_some_and(same)
        };
        let declared: Vec<&ExposedTool> = exposure.tools().iter().filter(|tool| !known(tool)).collect();
        let kept = self.keep_declared(exposure);
        match &kept {
            Some(kept) => self.record_listed_tools(&declared, kept),
            None => declared.iter().for_each(|tool| self.journal.record(declaration(tool))),
        }
        let is_new = |left: &_| !before.is_some_and(|before| before.left_out().contains(left));
        for left in exposure.left_out().iter().filter(|left| is_new(left)) {
            let (server, tool, reason) = (left.server.clone(), left.tool.clone(), left.reason.clone());
            self.journal.record(Exposed::LeftOut { server, tool, reason, fault: left.cause.is_fault() });
        }
        let is_new = |left: &_| !before.is_some_and(|before| before.unchecked().contains(left));
        for left in exposure.unchecked().iter().filter(|left| is_new(left)) {
            let (server, tool, reason) = (left.server.clone(), left.tool.clone(), left.reason.clone());
            self.journal.record(Exposed::Unchecked { server, tool, reason });
        }
        self.journal.record(match kept {
            Some(kept) => Exposed::Listed { tools: exposure.tools().len(), kept },
            None => Exposed::Offered { tools: exposure.tools().iter().map(name).collect() },
        });
    }

    /// Keeps everything that is offered, and gives the id of the artefact.
    fn keep_declared(&self, exposure: &Exposure) -> Option<String> {
        let keeper = self.keeper.as_ref()?;
        let declared = exposure.tools().iter().map(|tool| Declared {
            name: tool.name(),
            server: tool.server().as_str(),
            tool: &tool.tool().name,
            title: tool.tool().title.as_deref(),
            definition: tool.digest(),
        });
        let bytes = serde_json::to_vec(&declared.collect::<Vec<_>>()).ok()?;
        let artefact = NewArtefact {
            kind: "declarations",
            name: Some("declarations.json"),
            mime_type: Some("application/json"),
            is_shared: true,
            bytes: &bytes,
            ..NewArtefact::default()
        };
        match keeper.sink().keep(artefact) {
            Ok(record) => Some(record.id),
            Err(error) => {
                tracing::warn!(%error, "the declarations of the tools cannot be kept as an artefact");
                None
            }
        }
    }

    fn record_listed_tools(&self, declared: &[&ExposedTool], kept: &str) {
        let mut servers: Vec<_> = declared.iter().map(|tool| tool.server()).collect();
        servers.sort();
        servers.dedup();
        for server in servers {
            let of_server = declared.iter().filter(|tool| tool.server() == server);
            let tools = of_server.map(|tool| tool.tool().name.clone()).collect();
            self.journal.record(Declaration::Listed { server: server.clone(), tools, kept: kept.to_owned() });
        }
    }
}

fn declaration(tool: &ExposedTool) -> Declaration {
    Declaration::Tool {
        server: tool.server().clone(),
        tool: tool.tool().name.clone(),
        title: tool.tool().title.clone(),
        definition: tool.digest(),
    }
}

fn name(tool: &ExposedTool) -> ExposedName {
    ExposedName {
        name: tool.name().to_owned(),
        server: tool.server().clone(),
        tool: tool.tool().name.clone(),
    }
}
