//! How an agent gets supervised servers.

use super::Supervisor;
use crate::agent::AgentBuilder;
use crate::name::ServerName;

impl AgentBuilder {
    /// All servers of a supervisor that are switched on. Each run takes the tools that are there when it begins: it
    /// waits for servers that are only just starting, but not long ([`Supervisor::grace`]), unless they are required.
    #[must_use]
    pub fn supervisor(self, supervisor: &Supervisor) -> Self {
        self.supervised(supervisor, |_| true)
    }

    /// Those of them that are wanted. Rules about the others are no errors.
    pub(crate) fn supervised(
        mut self,
        supervisor: &Supervisor,
        wanted: impl Fn(&ServerName) -> bool,
    ) -> Self {
        for config in supervisor.configs() {
            let name = config.name.clone();
            let upstream = supervisor.upstream(&name).ok().filter(|_| config.enabled && wanted(&name));
            self = match upstream {
                Some(upstream) => self.upstream(name.clone(), upstream).filter(name, (&*config).into()),
                None => self.absent(name),
            };
        }
        self
    }
}
