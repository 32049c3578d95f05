//! What is said of a server: how it is, why it cannot be used, and what to do about it.

use std::time::Duration;

use switchboard_llm::SchemaDialect;
use switchboard_protocol::Era as Family;

use super::{Server, State};
use crate::exposure::ToolFilter;
use crate::name::ServerName;
use crate::policy::UpstreamError;
use crate::supervisor::config::{ServerConfig, ServerTarget};
use crate::supervisor::connect;
use crate::supervisor::status::{ServerState, ServerStatus};
use crate::supervisor::trial::INSTALL;

/// What to do about a server that stands in no file and so has no logs that are found by its name.
const PROGRAM: &str = "check that the program is installed and that its name or path is right";
const ADDRESS: &str = "check that it is a server of the Model Context Protocol";

impl Server {
    /// How it is, under the name that somebody calls it by.
    pub(in crate::supervisor) fn status(
        &self,
        (name, config): (&ServerName, &ServerConfig),
        dialect: SchemaDialect,
    ) -> ServerStatus {
        let state = self.lock();
        let identity = state.listing.as_ref().map(|listing| &listing.identity);
        let revision = state.live.as_ref().map(|live| live.client.revision());
        let era = revision.map(|revision| match revision.era() {
            Family::Modern => "modern",
            Family::Legacy => "legacy",
        });
        let failure = state.failure.as_ref();
        let filter = ToolFilter::from(config);
        let listing = state.listing.clone();
        let offered = listing.as_ref().map(|listing| {
            let offered = listing.tools.iter().filter(|tool| filter.hides(&tool.name).is_none()).count();
            (offered, listing.tools.len() + listing.invalid.len() - offered)
        });
        let status = ServerStatus {
            name: name.clone(),
            origin: config.origin.clone(),
            transport: config.target.transport().to_owned(),
            state: state.phase,
            required: config.required,
            era: era.map(str::to_owned),
            revision: revision.map(|revision| revision.to_string()),
            identity: identity.and_then(|identity| identity.implementation.clone()),
            latency_ms: state.latency.map(millis),
            tools: offered.map(|(offered, _)| offered),
            left_out: offered.map(|(_, left_out)| left_out).filter(|left_out| *left_out > 0),
            token_cost: None,
            last_error: failure.map(|failure| self.logs.mask(failure.message.clone())),
            next_step: self.next_step(&state),
            login_needed: failure.is_some_and(|failure| failure.unauthorized),
            restarts: state.restarts,
            noise_lines: state.noise(),
            calls: state.calls,
            cancelled_running: state.live.as_ref().map_or(0, |live| live.router.lingering()),
            since: state.since_ms,
            pid: state.pid,
        };
        drop(state);
        // The first time, all of it is compiled: nobody waits for that but who asks.
        let token_cost = listing.map(|listing| listing.token_cost(name, filter, dialect));
        ServerStatus { token_cost, ..status }
    }

    fn next_step(&self, state: &State) -> Option<String> {
        let name = crate::visible::argument(self.config.name.as_str());
        match state.phase {
            ServerState::Failed | ServerState::Restarting => {
                let failure = state.failure.as_ref()?;
                let usual = || match &self.config {
                    config if config.is_configured() && is_missing(&config.target) => INSTALL.to_owned(),
                    config if config.is_configured() => format!("see `switchboard servers logs {name}`"),
                    config if config.target.is_command() => PROGRAM.to_owned(),
                    _ => ADDRESS.to_owned(),
                };
                Some(failure.next_step.clone().map_or_else(usual, |next| self.logs.mask(next)))
            }
            ServerState::Disabled => Some(format!("switchboard servers enable {name}")),
            ServerState::Stopped => Some(format!("switchboard servers restart {name}")),
            ServerState::Idle | ServerState::Starting | ServerState::Ready => None,
        }
    }
}

fn is_missing(target: &ServerTarget) -> bool {
    target.is_command() && connect::command(target).resolve().is_err()
}

impl State {
    pub(super) fn why_not(&self) -> UpstreamError {
        match (self.phase, &self.failure) {
            (ServerState::Disabled, _) => UpstreamError::new("it is disabled"),
            (ServerState::Stopped, _) => UpstreamError::new("it was stopped"),
            (ServerState::Restarting, Some(failure)) => {
                let mut error = failure.upstream_error();
                error.message = format!("it is being started again ({})", error.message);
                error
            }
            (ServerState::Restarting, None) => UpstreamError::new("it is being started again"),
            (_, Some(failure)) => failure.upstream_error(),
            (ServerState::Starting, None) => {
                UpstreamError::new("it is still starting; its tools join when it is there")
            }
            (_, None) => UpstreamError::new("it is not there"),
        }
    }
}

pub(in crate::supervisor) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
