//! Servers of the configuration under a supervisor, for the commands that look after them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard_agent::ServerName;
use switchboard_agent::store::{MemoryStore, Store};
use switchboard_agent::supervisor::{Offers, ServerConfig, ServerState, Supervisor, SupervisorOptions};
use switchboard_store::SqliteStore;

use crate::child_log::{self, LastWords};
use crate::failure::Failure;
use crate::interrupt::Stop;
use crate::progress;
use crate::screen::Screen;
use crate::server_logs;
use crate::settings::Settings;

/// How long servers get to say goodbye.
const GOODBYE: Duration = Duration::from_secs(8);

/// Servers that are looked after for as long as a command runs.
pub(crate) struct Fleet {
    pub(crate) supervisor: Supervisor,
    pub(crate) names: Vec<ServerName>,
    stop: Stop,
    last_words: LastWords,
}

/// When the servers of a fleet are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// At once, all of them.
    AtOnce,
    /// When they are tried out.
    WhenTried,
}

impl Fleet {
    /// The servers of these names, or all that are enabled.
    ///
    /// # Errors
    /// When one that was named cannot be used.
    pub(crate) async fn new(
        settings: &Settings,
        (names, begin): (&[String], Begin),
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let stop = Stop::listen()?;
        let servers = settings.servers(names, (screen, None)).await?.servers;
        let mut options = SupervisorOptions::default();
        options.implementation = ("switchboard".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        // Nobody is there to be asked.
        options.offers = Offers::none();
        let file = settings.paths().ok().map(|paths| server_logs::sink(&paths.data_dir));
        let (log, last_words) = child_log::sink(file, None);
        options.log = Some(log);
        options.store = store(settings);
        let supervisor = Supervisor::new(options);
        let names = servers.iter().map(|server| server.name.clone()).collect();
        let lazy = begin == Begin::WhenTried;
        let lazily = |server| ServerConfig { lazy, required: false, idle_stop: None, ..server };
        supervisor.start(servers.into_iter().map(lazily).collect());
        Ok(Self { supervisor, names, stop, last_words })
    }

    /// Does something with the servers, and ends them, also when the person stops it.
    pub(crate) async fn and_close<T>(
        self,
        work: impl AsyncFnOnce(&Supervisor, &[ServerName]) -> T,
    ) -> Result<T, Failure> {
        let Self { supervisor, names, stop, last_words } = self;
        let done = stop.unless(async { Ok(work(&supervisor, &names).await) }).await;
        let goodbye = async {
            supervisor.close().await;
            drop(supervisor);
            last_words.arrive().await;
        };
        // Whoever does not leave in time is ended with this process.
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
        done
    }
}

/// Waits until every server has been tried, for at most so long, and shows for which.
pub(super) async fn ready(supervisor: &Supervisor, limit: Duration, screen: &Screen) {
    let waiting = progress::waiting(screen, "starting servers");
    let mut changes = supervisor.changes();
    let mut ready = pin!(supervisor.ready(limit));
    loop {
        let status = supervisor.status();
        let open =
            status.iter().filter(|server| is_on_its_way(server.state)).map(|server| server.name.as_str());
        waiting.say(&format!("waiting for {}", open.collect::<Vec<_>>().join(", ")));
        tokio::select! {
            // None of them is required here.
            _ = &mut ready => return,
            Ok(()) = changes.changed() => {}
        }
    }
}

/// Whether more may come of it by itself.
pub(super) fn is_on_its_way(state: ServerState) -> bool {
    matches!(state, ServerState::Starting | ServerState::Restarting)
}

/// What is kept of the servers. Without it they are only asked a little more.
pub(crate) fn store(settings: &Settings) -> Arc<dyn Store> {
    let opened = settings.store_path().ok().and_then(|path| {
        let opened = SqliteStore::open(&path);
        opened.inspect_err(|error| tracing::warn!(%error, "what is known of servers cannot be kept")).ok()
    });
    match opened {
        Some(store) => Arc::new(store),
        None => Arc::new(MemoryStore::default()),
    }
}
