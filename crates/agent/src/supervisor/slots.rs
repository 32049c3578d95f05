//! How many calls run on one server at the same time.

use std::sync::Arc;

use switchboard_protocol::model::tool::Tool;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::config::ServerConfig;
use crate::policy::Slot;

/// The places for calls on one server. Programs are seldom made for two calls that change something at once, so
/// those take turns unless somebody said how many may run.
pub(super) struct Slots {
    all: Arc<Semaphore>,
    /// For calls that are not read-only, where they take turns.
    turns: Option<Arc<Semaphore>>,
}

impl Slots {
    pub(super) fn new(config: &ServerConfig) -> Self {
        let take_turns = config.target.is_command() && config.max_concurrency.is_none();
        let places = config.concurrency().min(Semaphore::MAX_PERMITS);
        Self { all: Arc::new(Semaphore::new(places)), turns: take_turns.then(|| Arc::new(Semaphore::new(1))) }
    }

    /// Waits for a place. A server that lies about its tools only harms itself.
    pub(super) async fn take(&self, tool: &Tool) -> Slot {
        let read_only = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
        let mut places = Vec::new();
        if let Some(turns) = self.turns.as_ref().filter(|_| !read_only) {
            places.extend(take(turns).await);
        }
        places.extend(take(&self.all).await);
        Slot { _places: places }
    }
}

async fn take(semaphore: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    // It is never closed.
    Arc::clone(semaphore).acquire_owned().await.ok()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::Slots;
    use crate::name::ServerName;
    use crate::supervisor::ServerConfig;

    /// How many calls of each kind run at once: that change something, and that only read beside one of those.
    fn check(config: &ServerConfig, changing: usize, reading: usize) {
        let tool = |read_only| {
            let text = format!(
                r#"{{"name":"t","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":{read_only}}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let slots = Slots::new(config);
        let taken = |read_only| -> Vec<_> {
            std::iter::from_fn(|| slots.take(&tool(read_only)).now_or_never()).take(100).collect()
        };
        let held = taken(false);
        assert_eq!(held.len(), changing, "{:?}", config.target);
        assert_eq!(taken(true).len(), reading, "{:?}", config.target);
    }

    #[test]
    fn what_changes_something_takes_turns_on_a_program_unless_somebody_says_otherwise() {
        let name = || ServerName::new("s").unwrap();
        check(&ServerConfig::command(name(), "x", ["y"]), 1, 3);
        check(&ServerConfig::http(name(), "http://127.0.0.1:1/mcp"), 8, 0);
        let many = |config| ServerConfig { max_concurrency: Some(2), ..config };
        check(&many(ServerConfig::command(name(), "x", ["y"])), 2, 0);
        check(&many(ServerConfig::http(name(), "http://127.0.0.1:1/mcp")), 2, 0);
    }
}
