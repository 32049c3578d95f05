//! Asks all servers for their tools, side by side, and compiles them: declaration, discovery, exposure.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;

use super::Agent;
use super::compiled::Listed;
use crate::error::{AgentError, ErrorKind};
use crate::exposure::{Exposure, ExposureOptions, FailedServer};
use crate::journal::Discovery;
use crate::name::ServerName;
use crate::policy::{Listing, UpstreamError};
use crate::visible;

/// What an agent knows of its servers' tools.
pub(super) struct Known {
    listings: Vec<(ServerName, Result<Arc<Listing>, UpstreamError>)>,
    exposure: Arc<Exposure>,
}

impl Agent {
    /// The tools of all servers that answer. The servers are asked once.
    ///
    /// A server that does not answer is reported in the journal and by [`Exposure::failed_servers`], and left
    /// out, unless none answers.
    ///
    /// # Errors
    /// When no server answers, or a required one does not, a rule of the policy matches no tool, or the agent is
    /// interrupted meanwhile.
    pub async fn tools(&self) -> Result<Arc<Exposure>, AgentError> {
        let asked = async {
            let mut known = self.known.lock().await;
            match &*known {
                Some(known) => Ok(Arc::clone(&known.exposure)),
                None => self.discover(&mut known).await,
            }
        };
        tokio::select! {
            exposure = asked => exposure,
            () = self.interrupt.triggered() => Err(super::interrupted()),
        }
    }

    /// The tools as they are now, for the next step of a run. What is fresh is not asked for again, and where nothing
    /// changed these are the same tools. What a server that does not answer had before stays; one that has come joins.
    ///
    /// # Errors
    /// As [`tools`](Self::tools), where the servers were never asked before.
    pub(super) async fn tools_now(&self) -> Result<Arc<Exposure>, AgentError> {
        let mut known = self.known.lock().await;
        match &mut *known {
            None => self.discover(&mut known).await,
            Some(known) => {
                self.look_again(known).await;
                Ok(Arc::clone(&known.exposure))
            }
        }
    }

    async fn discover(&self, known: &mut Option<Known>) -> Result<Arc<Exposure>, AgentError> {
        let listings = join_all(self.gate.servers().map(|server| self.list(server))).await;
        let failed: Vec<(ServerName, UpstreamError)> = listings
            .iter()
            .filter_map(|(server, listed)| Some((server.clone(), listed.clone().err()?)))
            .collect();
        if let Some(required) = failed.iter().find(|(server, _)| self.gate.is_required(server)) {
            return Err(unreachable(std::slice::from_ref(required)));
        }
        if failed.len() == listings.len() && !failed.is_empty() && !self.without_servers {
            return Err(unreachable(&failed));
        }
        let exposure = self.compile(&listings, &self.offered);
        self.record_exposure(&exposure, None);
        let absent = failed.into_iter().map(|(server, _)| server).chain(self.absent.iter().cloned());
        let absent: Vec<ServerName> = absent.collect();
        self.gate.check_rules(&exposure, &absent)?;
        *known = Some(Known { listings, exposure: Arc::clone(&exposure) });
        Ok(exposure)
    }

    async fn look_again(&self, known: &mut Known) {
        let since = Instant::now();
        let asked = join_all(known.listings.iter().map(|(server, _)| self.gate.list_again(server))).await;
        let now = known
            .listings
            .iter()
            .zip(asked)
            .filter_map(|((server, _), now)| Some((server.clone(), now.ok()?)));
        let now = now.collect();
        self.take_listings(known, now, since);
    }

    /// The tools, of which one server's are as it has said by now. Nobody is asked.
    pub(super) async fn tools_of(&self, server: &ServerName) -> Option<Arc<Exposure>> {
        let since = Instant::now();
        let now = self.gate.newest(server).await?;
        let mut known = self.known.lock().await;
        let known = known.as_mut()?;
        self.take_listings(known, vec![(server.clone(), now)], since);
        Some(Arc::clone(&known.exposure))
    }

    fn take_listings(&self, known: &mut Known, listings: Vec<(ServerName, Arc<Listing>)>, since: Instant) {
        let mut changed = false;
        for (server, now) in listings {
            let Some((_, before)) = known.listings.iter_mut().find(|(known, _)| *known == server) else {
                continue;
            };
            if before.as_ref().is_ok_and(|before| Arc::ptr_eq(before, &now) || before.is_same(&now)) {
                continue;
            }
            self.record_listed(&server, &Ok(Arc::clone(&now)), since);
            (*before, changed) = (Ok(now), true);
        }
        if changed {
            // In the order in which the model knows them, so that what it has read stays as it was.
            let exposure = self.compile(&known.listings, known.exposure.offered());
            self.record_exposure(&exposure, Some(&known.exposure));
            known.exposure = exposure;
        }
    }

    fn compile(
        &self,
        listings: &[(ServerName, Result<Arc<Listing>, UpstreamError>)],
        offered: &[String],
    ) -> Arc<Exposure> {
        let mut listed = Listed { listings: Vec::new(), failed: Vec::new() };
        for (server, listing) in listings {
            match listing {
                Ok(listing) => listed.listings.push((server.clone(), Arc::clone(listing))),
                Err(UpstreamError { message, .. }) => {
                    listed.failed.push(FailedServer { server: server.clone(), message: message.clone() });
                }
            }
        }
        let options = ExposureOptions {
            dialect: self.dialect,
            offered,
            filters: self.filters.clone(),
            max_description: None,
        };
        self.compiled.exposure(listed, &options)
    }

    async fn list(&self, server: &ServerName) -> (ServerName, Result<Arc<Listing>, UpstreamError>) {
        let since = Instant::now();
        let listing = self.gate.list(server).await;
        self.record_listed(server, &listing, since);
        (server.clone(), listing)
    }

    fn record_listed(
        &self,
        server: &ServerName,
        listing: &Result<Arc<Listing>, UpstreamError>,
        since: Instant,
    ) {
        let took_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.journal.record(match listing {
            Ok(listing) => Discovery::Connected {
                server: server.clone(),
                implementation: listing.identity.implementation.clone(),
                revision: listing.identity.revision.clone(),
                session: listing.identity.session,
                tools: listing.tools.len(),
                took_ms,
            },
            Err(error) => Discovery::Failed { server: server.clone(), error: error.message.clone(), took_ms },
        });
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
