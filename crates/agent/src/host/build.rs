//! How a host is made.

use std::sync::{Arc, Mutex};

use switchboard_client::{Client, Connect};
use tokio::sync::watch;

use super::secrets::Remembered;
use super::{Host, Inner, Models, Servers};
use crate::agent::INSTRUCTIONS;
use crate::limits::Limits;
use crate::name::ServerName;
use crate::policy::{ClientUpstream, Pins, Policy};
use crate::store::{MemoryStore, Store};
use crate::supervisor::Supervisor;

/// Collects what a host needs. Only the models have no default.
pub struct HostBuilder {
    models: Arc<dyn Models>,
    servers: Servers,
    policy: Policy,
    store: Arc<dyn Store>,
    limits: Limits,
    instructions: String,
    secrets: Vec<String>,
}

impl std::fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostBuilder").finish_non_exhaustive()
    }
}

impl HostBuilder {
    pub(super) fn new(models: Arc<dyn Models>) -> Self {
        Self {
            models,
            servers: Servers::default(),
            policy: Policy::default(),
            store: Arc::new(MemoryStore::default()),
            limits: Limits::default(),
            instructions: INSTRUCTIONS.to_owned(),
            secrets: Vec::new(),
        }
    }

    /// The servers of the configuration, which somebody keeps alive. Its late ones join between runs.
    #[must_use]
    pub fn supervisor(mut self, supervisor: Supervisor) -> Self {
        self.servers.supervise(supervisor);
        self
    }

    /// A server that is connected.
    #[must_use]
    pub fn server(mut self, name: ServerName, client: Client) -> Self {
        self.servers.add(name, Arc::new(ClientUpstream::connected(client)));
        self
    }

    /// A server that is connected to when it is first needed.
    #[must_use]
    pub fn connect(mut self, name: ServerName, connect: Connect) -> Self {
        self.servers.add(name, Arc::new(ClientUpstream::connecting(connect)));
        self
    }

    /// A server that belongs to the configuration and is not there now. Rules about it are not errors.
    #[must_use]
    pub fn absent(mut self, name: ServerName) -> Self {
        self.servers.miss(name);
        self
    }

    /// Who may call what. Default: every tool asks.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Where everything is kept. Default: in memory.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = store;
        self
    }

    /// How far a run may go.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What a language model is told before the first question. An empty text means nothing.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = text.into();
        self
    }

    /// A text, such as a key, that is masked wherever something is written.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secrets.push(secret.into());
        self
    }

    /// Makes the host. Nothing is opened or connected to yet.
    #[must_use]
    pub fn build(self) -> Host {
        Host(Arc::new(Inner {
            servers: self.servers,
            policy: self.policy,
            models: self.models,
            pins: Pins::new(Arc::clone(&self.store)),
            store: self.store,
            limits: self.limits,
            instructions: self.instructions,
            secrets: self.secrets,
            masker: Remembered::default(),
            open: Mutex::default(),
            changed: watch::Sender::new(0),
        }))
    }
}
