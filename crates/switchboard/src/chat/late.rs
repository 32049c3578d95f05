//! Servers that are still starting when a question is asked: waited for as long as a first turn does, and then told of.

use switchboard_agent::ServerName;
use switchboard_agent::supervisor::{ServerState, ServerStatus};

use super::Chat;
use crate::{starting, stdin};

impl Chat {
    /// Waits for servers that are still starting, each for one question and no longer than the grace of the supervisor.
    /// Ctrl-c goes on without them. Which of them the turn begins without is said.
    pub(super) async fn wait_for_servers(&mut self) {
        let new: Vec<_> =
            self.starting().into_iter().filter(|name| !self.waited_for.contains(name)).collect();
        if !new.is_empty() {
            let supervisor = &self.hosting.supervisor;
            let still = starting::still(supervisor, &new);
            self.screen.note(&format!("{still}; ctrl-c goes on without waiting"));
            self.waited_for.extend(new);
            let _quiet = stdin::quiet();
            let grace = supervisor.grace();
            tokio::select! {
                // One that is required is waited for by the turn itself, which says why it does not work.
                _ = tokio::time::timeout(grace, supervisor.ready(grace)) => {}
                () = self.interrupts.next() => {}
            }
            self.tell();
        }
        let left: Vec<_> = self.starting().iter().map(ToString::to_string).collect();
        if !left.is_empty() {
            self.screen.note(&format!("going on without {} until it has started", left.join(", ")));
        }
    }

    /// The servers of the question that were not there yet.
    fn starting(&self) -> Vec<ServerName> {
        let is_meant =
            |name: &str| self.servers.as_ref().is_none_or(|names| names.iter().any(|one| one == name));
        let starts =
            |status: &ServerStatus| status.state == ServerState::Starting && is_meant(status.name.as_str());
        let status = self.hosting.supervisor.status().into_iter();
        status.filter(starts).map(|status| status.name).collect()
    }
}
