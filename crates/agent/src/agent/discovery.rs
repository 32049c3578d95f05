//! Asks all servers for their tools, side by side, and compiles them: declaration, discovery, exposure.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;

use super::Agent;
use crate::error::{AgentError, ErrorKind};
use crate::exposure::{Exposure, FailedServer};
use crate::journal::{Declaration, Discovery, Exposed, ExposedName};
use crate::name::ServerName;
use crate::policy::{Listing, UpstreamError};
use crate::visible;

impl Agent {
    /// The tools of all servers that answer. The servers are asked once.
    ///
    /// A server that does not answer is reported in the journal and by [`Exposure::failed_servers`], and left
    /// out, unless none answers.
    ///
    /// # Errors
    /// When no server answers, a rule of the policy matches no tool, or the agent is interrupted meanwhile.
    pub async fn tools(&self) -> Result<Arc<Exposure>, AgentError> {
        tokio::select! {
            exposure = self.discovered.get_or_try_init(|| self.discover()) => exposure.map(Arc::clone),
            () = self.interrupt.triggered() => Err(super::interrupted()),
        }
    }

    async fn discover(&self) -> Result<Arc<Exposure>, AgentError> {
        let asked = join_all(self.gate.servers().map(|server| self.list(server))).await;
        let (mut declared, mut identities, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (server, listing) in asked {
            match listing {
                Ok(Listing { identity, declared: tools }) => {
                    identities.push((server.clone(), identity));
                    declared.push((server, tools));
                }
                Err(error) => failed.push((server, error)),
            }
        }
        if declared.is_empty() && !failed.is_empty() {
            return Err(unreachable(&failed));
        }
        let reported = failed
            .iter()
            .map(|(server, error)| FailedServer { server: server.clone(), message: error.message.clone() });
        let exposure = Exposure::compile(declared).listed_by(identities).without(reported.collect());
        self.record_exposure(&exposure);
        let absent = failed.into_iter().map(|(server, _)| server).chain(self.absent.iter().cloned());
        let absent: Vec<ServerName> = absent.collect();
        self.gate.check_rules(&exposure, &absent)?;
        Ok(Arc::new(exposure))
    }

    async fn list(&self, server: &ServerName) -> (ServerName, Result<Listing, UpstreamError>) {
        let since = Instant::now();
        let listing = self.gate.list(server).await;
        let took_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.journal.record(match &listing {
            Ok(listing) => Discovery::Connected {
                server: server.clone(),
                implementation: listing.identity.implementation.clone(),
                revision: listing.identity.revision.clone(),
                session: listing.identity.session,
                tools: listing.declared.tools.len(),
                took_ms,
            },
            Err(error) => Discovery::Failed { server: server.clone(), error: error.message.clone(), took_ms },
        });
        (server.clone(), listing)
    }

    fn record_exposure(&self, exposure: &Exposure) {
        for tool in exposure.tools() {
            self.journal.record(Declaration::Tool {
                server: tool.server().clone(),
                tool: tool.tool().name.clone(),
                title: tool.tool().title.clone(),
                definition: tool.digest(),
            });
        }
        for left in exposure.left_out() {
            let (server, tool, reason) = (left.server.clone(), left.tool.clone(), left.reason.clone());
            self.journal.record(Exposed::LeftOut { server, tool, reason });
        }
        for left in exposure.unchecked() {
            let (server, tool, reason) = (left.server.clone(), left.tool.clone(), left.reason.clone());
            self.journal.record(Exposed::Unchecked { server, tool, reason });
        }
        let tools = exposure.tools().iter().map(|tool| ExposedName {
            name: tool.name().to_owned(),
            server: tool.server().clone(),
            tool: tool.tool().name.clone(),
        });
        self.journal.record(Exposed::Offered { tools: tools.collect() });
    }
}

fn unreachable(failed: &[(ServerName, UpstreamError)]) -> AgentError {
    let messages: Vec<String> =
        failed.iter().map(|(server, error)| format!("{server}: {}", error.message)).collect();
    let login = failed.iter().all(|(_, error)| error.unauthorized);
    let (kind, hint) = if login {
        (ErrorKind::LoginNeeded, "log in to the server first")
    } else {
        (ErrorKind::ServerUnreachable, "check that the server runs and that its address or command is right")
    };
    let error = AgentError::new(kind, messages.join("; ")).hint(hint);
    match failed {
        [(server, _)] => error.at(server),
        _ => error,
    }
}

pub(super) fn no_such_tool(exposure: &Exposure, server: &ServerName, tool: &str) -> AgentError {
    let left_out = exposure.left_out().iter().find(|left| left.server == *server && left.tool == tool);
    let message = match left_out {
        Some(left) => format!("{server}/{} cannot be used: {}", visible::line(tool), left.reason),
        None => format!("{server} has no tool {}", visible::quoted(tool, 100)),
    };
    AgentError::new(ErrorKind::Configuration, message).at(server).hint("list the tools to see what there is")
}
