//! Keeps servers alive: starts them side by side, starts them again, stops what nobody uses, and says how they are.
//!
//! A [`Supervisor`] owns one connection per configuration hash, whoever shares it, and hands calls to the gate only. It
//! is for one principal: another one has another, so that no connection is shared.
//! What a server wrote is kept in bounded rings, masked. It reads no configuration and prints nothing. Where to look
//! next: `supervisor/keeper.rs` is the life of one server, `supervisor/routing.rs` how its messages and questions find
//! the call that they belong to.

mod build;
mod config;
mod connect;
mod keeper;
mod logs;
mod options;
mod remembered;
mod restarts;
mod routing;
mod server;
mod slots;
mod status;
mod supervised;
mod trial;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{join_all, try_join, try_join_all};
use switchboard_llm::SchemaDialect;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

pub use self::config::{Local, Secret, ServerConfig, ServerTarget};
pub use self::connect::connect;
pub use self::options::{LogSink, Offers, SupervisorOptions, WireTap};
pub use self::restarts::RestartPolicy;
use self::server::Server;
pub use self::status::{LogLine, LogStream, ServerState, ServerStatus, TestReport, TestStep, WireLine};
use self::supervised::Supervised;
use crate::name::ServerName;
use crate::policy::{Upstream, UpstreamError};

/// The kinds of documents that are kept of servers, by the hash of their configuration: the revision that one speaks,
/// and the tools of a lazy one. Without them it is found out anew.
pub const DOCUMENTS: [&str; 2] = [connect::VERDICT, remembered::LISTING];

/// Keeps servers alive. A cheap clone; the servers end when the last clone is gone, and in order with
/// [`close`](Self::close).
///
/// ```no_run
/// use switchboard_agent::ServerName;
/// use switchboard_agent::supervisor::{ServerConfig, Supervisor, SupervisorOptions};
///
/// # async fn doc() -> Result<(), Box<dyn std::error::Error>> {
/// let supervisor = Supervisor::new(SupervisorOptions::default());
/// supervisor.start(vec![ServerConfig::command(ServerName::new("files")?, "npx", ["-y", "some-server"])]);
/// supervisor.ready(supervisor.grace()).await?;
/// for server in supervisor.status() {
///     println!("{}: {}", server.name, server.state.as_str());
/// }
/// supervisor.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Supervisor(Arc<Shared>);

struct Shared {
    options: Arc<SupervisorOptions>,
    changes: watch::Sender<u64>,
    entries: Mutex<Vec<Entry>>,
    /// For whom it is said what tools cost.
    dialect: Mutex<SchemaDialect>,
}

/// One name of a server. Several may stand for one, if everything else about them is the same.
#[derive(Clone)]
struct Entry {
    config: Arc<ServerConfig>,
    server: Arc<Server>,
    keeper: Arc<Mutex<Option<JoinHandle<()>>>>,
}

/// A server without which nothing works does not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{server}: {message}")]
pub struct RequiredServer {
    /// Which.
    pub server: ServerName,
    /// Why, and what to do.
    pub message: String,
    /// Whether it wants a login.
    pub unauthorized: bool,
}

/// There is no server of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no server is called {0}")]
pub struct NoSuchServer(pub ServerName);

impl Supervisor {
    /// A supervisor without servers.
    #[must_use]
    pub fn new(options: SupervisorOptions) -> Self {
        let (changes, _) = watch::channel(0);
        let (entries, dialect) = Default::default();
        Self(Arc::new(Shared { options: Arc::new(options), changes, entries, dialect }))
    }

    /// Takes these servers on, starting at once those that are not lazy. Servers of an earlier configuration go on if
    /// they are in this one unchanged, and are closed if not.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self, servers: Vec<ServerConfig>) {
        let mut entries = self.lock();
        let before = std::mem::take(&mut *entries);
        for config in servers {
            let config = Arc::new(config);
            let known = before.iter().chain(entries.iter()).find(|entry| entry.is_for(&config)).cloned();
            entries.push(match known {
                Some(known) => Entry { config, ..known },
                None => self.keep(config),
            });
        }
        for entry in before {
            if !entries.iter().any(|kept| Arc::ptr_eq(&kept.server, &entry.server)) {
                entry.server.order(|orders| orders.close = true);
            }
        }
        drop(entries);
        self.0.changes.send_modify(|count| *count += 1);
    }

    fn keep(&self, config: Arc<ServerConfig>) -> Entry {
        let options = Arc::clone(&self.0.options);
        let server = Server::new(Arc::clone(&config), options, self.0.changes.clone());
        let keeper = tokio::spawn(keeper::keep(Arc::clone(&server)));
        Entry { config, server, keeper: Arc::new(Mutex::new(Some(keeper))) }
    }

    // Nothing panics while it is held, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, name: &ServerName) -> Result<Entry, NoSuchServer> {
        let found = self.lock().iter().find(|entry| entry.config.name == *name).cloned();
        found.ok_or_else(|| NoSuchServer(name.clone()))
    }

    fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    /// How long the first turn waits for servers that are not required.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.0.options.grace
    }

    /// The configuration of every server, in its order.
    #[must_use]
    pub fn configs(&self) -> Vec<Arc<ServerConfig>> {
        self.lock().iter().map(|entry| Arc::clone(&entry.config)).collect()
    }

    /// How every server is, in the order of the configuration.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let (entries, dialect) = (self.entries(), *self.dialect());
        let status = |entry: &Entry| entry.server.status((&entry.config.name, &entry.config), dialect);
        entries.iter().map(status).collect()
    }

    /// From now on [`status`](Self::status) says what tools cost a model of this dialect. Without it nobody is known who
    /// would be sent them, and it is [`SchemaDialect::Generic`].
    pub fn measure_for(&self, dialect: SchemaDialect) {
        if std::mem::replace(&mut *self.dialect(), dialect) != dialect {
            self.0.changes.send_modify(|count| *count += 1);
        }
    }

    fn dialect(&self) -> MutexGuard<'_, SchemaDialect> {
        self.0.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that grows whenever the state or the tools of a server change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Waits until every server has been tried, for at most `within`; for a required one, as long as it takes. Starts
    /// lazy servers of which nothing is known, and those that failed a while ago.
    ///
    /// # Errors
    /// When a required server does not work, as soon as that is known.
    pub async fn ready(&self, within: Duration) -> Result<(), RequiredServer> {
        let until = Instant::now() + within;
        let entries = self.entries();
        entries.iter().for_each(|entry| entry.server.wake());
        let settled = join_all(entries.iter().map(|entry| entry.server.settled()));
        let all = async {
            let _ = timeout_at(until, settled).await;
            Ok(())
        };
        let required = entries.iter().filter(|entry| entry.config.required && entry.config.enabled);
        // Whoever waits for the others would wait in vain.
        try_join(all, try_join_all(required.map(Entry::required))).await.map(drop)
    }

    /// Starts a server anew, whatever its state, with a fresh budget.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn restart(&self, name: &ServerName) -> Result<(), NoSuchServer> {
        self.entry(name)?.server.order(|orders| orders.restart = true);
        Ok(())
    }

    /// Stops a server until somebody starts it anew.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn stop(&self, name: &ServerName) -> Result<(), NoSuchServer> {
        self.entry(name)?.server.order(|orders| orders.stop = true);
        Ok(())
    }

    /// Tries a server out, step by step: on its connection if it has one, else on one of its own.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn test(&self, name: &ServerName) -> Result<TestReport, NoSuchServer> {
        let entry = self.entry(name)?;
        Ok(trial::run(&entry.server, name).await)
    }

    /// The latest lines that a server wrote, and what the host did with it.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn logs(&self, name: &ServerName, count: usize) -> Result<Vec<LogLine>, NoSuchServer> {
        Ok(self.entry(name)?.server.logs.last_lines(count))
    }

    /// The latest messages to and from a server.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn wire(&self, name: &ServerName, count: usize) -> Result<Vec<WireLine>, NoSuchServer> {
        Ok(self.entry(name)?.server.logs.last_messages(count))
    }

    /// Ends all servers in order, side by side, and waits until nothing of them is left.
    pub async fn close(&self) {
        let entries = self.entries();
        entries.iter().for_each(|entry| entry.server.order(|orders| orders.close = true));
        let keepers: Vec<_> = entries.iter().filter_map(Entry::take_keeper).collect();
        join_all(keepers).await;
    }

    /// The way to a server, for the gate.
    pub(crate) fn upstream(&self, name: &ServerName) -> Result<Arc<dyn Upstream>, NoSuchServer> {
        let entry = self.entry(name)?;
        Ok(Arc::new(Supervised { config: entry.config, server: entry.server }))
    }
}

impl Entry {
    /// Whether it is the server of this configuration: nothing but names and filters may differ.
    fn is_for(&self, config: &ServerConfig) -> bool {
        let known = &self.server.config;
        let life = |config: &ServerConfig| {
            let clocks = (config.startup_timeout, config.idle_timeout, config.hard_timeout);
            (config.enabled, config.lazy, config.idle_stop, config.max_concurrency, clocks)
        };
        known.hash == config.hash && known.era == config.era && life(known) == life(config)
    }

    /// Waits until this server works, without which nothing does.
    async fn required(&self) -> Result<(), RequiredServer> {
        let broken = |error: UpstreamError| {
            let server = self.config.name.clone();
            RequiredServer { server, message: error.message, unauthorized: error.unauthorized }
        };
        self.server.works().await.map_err(broken)
    }

    fn take_keeper(&self) -> Option<JoinHandle<()>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let entries = self.entries.get_mut().unwrap_or_else(PoisonError::into_inner);
        entries.iter().for_each(|entry| entry.server.order(|orders| orders.close = true));
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.lock().iter().map(|entry| entry.config.name.clone()).collect();
        f.debug_struct("Supervisor").field("servers", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
