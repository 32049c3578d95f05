//! The servers of a host, and those that one run may use.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agent::{AgentBuilder, Compiled};
use crate::error::{AgentError, ErrorKind};
use crate::name::ServerName;
use crate::policy::Upstream;
use crate::supervisor::{ServerConfig, Supervisor};
use crate::visible;

/// The servers of a host.
#[derive(Default)]
pub(crate) struct Servers {
    fixed: BTreeMap<ServerName, Arc<dyn Upstream>>,
    supervisor: Option<Supervisor>,
    /// Those that are not there, though rules may be about them.
    absent: Vec<ServerName>,
    /// Of their tools.
    compiled: Compiled,
}

impl Servers {
    pub(super) fn add(&mut self, name: ServerName, upstream: Arc<dyn Upstream>) {
        self.fixed.insert(name, upstream);
    }

    pub(super) fn miss(&mut self, name: ServerName) {
        self.absent.push(name);
    }

    pub(super) fn supervise(&mut self, supervisor: Supervisor) {
        self.supervisor = Some(supervisor);
    }

    pub(super) fn supervisor(&self) -> Option<&Supervisor> {
        self.supervisor.as_ref()
    }

    /// Texts of their configuration that must not be written anywhere.
    pub(super) fn secrets(&self) -> Vec<String> {
        self.configs().iter().flat_map(|config| config.all_secrets().collect::<Vec<_>>()).collect()
    }

    /// Whether this text is part of the name of one.
    pub(super) fn are_named(&self, text: &str) -> bool {
        let configs = self.configs();
        let mut names =
            self.fixed.keys().chain(&self.absent).chain(configs.iter().map(|config| &config.name));
        names.any(|name| name.as_str().contains(text))
    }

    /// Makes the servers known to the agent of a run: all, or those that were chosen.
    ///
    /// # Errors
    /// When a server was chosen that there is none of.
    pub(crate) fn introduce(
        &self,
        mut agent: AgentBuilder,
        chosen: Option<&[String]>,
    ) -> Result<AgentBuilder, AgentError> {
        let configs = self.configs();
        let known = || self.fixed.keys().chain(configs.iter().map(|config| &config.name));
        if let Some(unknown) =
            chosen.into_iter().flatten().find(|chosen| known().all(|name| name.as_str() != **chosen))
        {
            let known: Vec<_> = known().map(ServerName::as_str).collect();
            let message = format!("there is no server {}", visible::quoted(unknown, 64));
            let hint = format!("the servers are: {}", known.join(", "));
            return Err(AgentError::new(ErrorKind::Configuration, message).hint(hint));
        }
        let wanted = |name: &ServerName| {
            chosen.is_none_or(|chosen| chosen.iter().any(|chosen| chosen == name.as_str()))
        };
        for (name, upstream) in &self.fixed {
            agent = if wanted(name) {
                agent.upstream(name.clone(), Arc::clone(upstream))
            } else {
                // Rules about it are no errors.
                agent.absent(name.clone())
            };
        }
        if let Some(supervisor) = &self.supervisor {
            agent = agent.supervised(supervisor, wanted);
        }
        let agent = self.absent.iter().cloned().fold(agent, AgentBuilder::absent);
        Ok(agent.compiled(&self.compiled))
    }

    fn configs(&self) -> Vec<Arc<ServerConfig>> {
        self.supervisor.as_ref().map(Supervisor::configs).unwrap_or_default()
    }
}
