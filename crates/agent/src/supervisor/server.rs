//! One server: what is known of it, what somebody wants of it, and the way to its connection.
//!
//! All of it is under one lock that is never held over an `.await`. `keeper.rs` is the only one that changes the state
//! of the connection; everybody else leaves an order. Where to look next: `server/listings.rs` for the tools,
//! `server/report.rs` for what is said of it.

mod listings;
mod report;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

use self::listings::Freshness;
pub(super) use self::report::millis;
use super::config::ServerConfig;
use super::connect::{Broken, Live, Opening};
use super::logs::{Logs, unix_ms};
use super::options::SupervisorOptions;
use super::remembered;
use super::slots::Slots;
use super::status::ServerState;
use crate::policy::{Listing, UpstreamError};

/// How long a call waits for a server that is being started or started again.
const PATIENCE: Duration = Duration::from_secs(60);
/// A failure of this age is worth another try when somebody needs the server.
const STALE_FAILURE: Duration = Duration::from_secs(30);

/// One server, whoever uses it.
pub(super) struct Server {
    pub(super) config: Arc<ServerConfig>,
    pub(super) options: Arc<SupervisorOptions>,
    pub(super) logs: Arc<Logs>,
    pub(super) slots: Slots,
    state: Mutex<State>,
    /// Something was ordered, or somebody needs less than before.
    pub(super) ordered: Notify,
    /// Counts changes of anything that is shown or offered, over all servers.
    changes: watch::Sender<u64>,
    /// Which of the lists of its tools that were asked for is there.
    listed: watch::Sender<u64>,
}

struct State {
    phase: ServerState,
    since_ms: u64,
    since: Instant,
    live: Option<Live>,
    /// Grows with every connection.
    generation: u64,
    listing: Option<Arc<Listing>>,
    fresh: Freshness,
    latency: Option<Duration>,
    failure: Option<Broken>,
    restarts: u64,
    /// Of connections that are gone.
    noise_before: u64,
    pid: Option<u32>,
    calls: usize,
    /// How many calls have ended.
    ended: u64,
    last_use: Instant,
    orders: Orders,
}

/// What is wanted of the keeper.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Orders {
    /// Somebody needs the server.
    pub(super) start: bool,
    /// It is to be started anew.
    pub(super) restart: bool,
    /// It is to be stopped until somebody starts it.
    pub(super) stop: bool,
    /// It is to be stopped for good.
    pub(super) close: bool,
    /// Its tools are to be listed.
    pub(super) list: bool,
    /// What it told so far is to be read, and its tools are to be listed if they changed.
    pub(super) hear: bool,
    /// A call on the connection with this number found it broken.
    pub(super) suspect: Option<u64>,
}

impl Orders {
    fn is_urgent(self) -> bool {
        self.restart || self.stop || self.close
    }

    fn is_any(self) -> bool {
        self.start || self.list || self.hear || self.suspect.is_some() || self.is_urgent()
    }
}

/// The way to a connection while a call uses it.
pub(super) struct Lease {
    pub(super) live: Live,
    pub(super) generation: u64,
    server: Arc<Server>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.server.lock();
        state.calls = state.calls.saturating_sub(1);
        state.ended += 1;
        state.last_use = Instant::now();
        drop(state);
        self.server.ordered.notify_one();
    }
}

impl Server {
    pub(super) fn new(
        config: Arc<ServerConfig>,
        options: Arc<SupervisorOptions>,
        changes: watch::Sender<u64>,
    ) -> Arc<Self> {
        let logs = Arc::new(Logs::new(&config, options.log.clone()));
        let phase = match (config.enabled, config.lazy) {
            (false, _) => ServerState::Disabled,
            (true, false) => ServerState::Starting,
            (true, true) => ServerState::Idle,
        };
        let remembered = config.lazy.then(|| remembered::listing(&config, &options)).flatten();
        let now = Instant::now();
        let state = State {
            phase,
            since_ms: unix_ms(),
            since: now,
            live: None,
            generation: 0,
            listing: remembered.map(Arc::new),
            fresh: Freshness::default(),
            latency: None,
            failure: None,
            restarts: 0,
            noise_before: 0,
            pid: None,
            calls: 0,
            ended: 0,
            last_use: now,
            orders: Orders::default(),
        };
        let slots = Slots::new(&config);
        let (state, ordered) = (Mutex::new(state), Notify::new());
        let (listed, _) = watch::channel(0);
        Arc::new(Self { config, options, logs, slots, state, ordered, changes, listed })
    }

    // Nothing panics while it is held, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn opening(&self) -> Opening<'_> {
        Opening { config: &self.config, options: &self.options, logs: &self.logs }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// # For the keeper
impl Server {
    /// Goes over to a state without a connection.
    pub(super) fn rest(&self, phase: ServerState, failure: Option<Broken>) {
        let mut state = self.lock();
        state.leave_connection();
        if failure.is_some() || matches!(phase, ServerState::Idle | ServerState::Stopped) {
            state.failure = failure;
        }
        if phase == ServerState::Starting {
            // That is being done.
            state.orders.start = false;
        }
        state.enter(phase);
        drop(state);
        self.changed();
    }

    /// Goes over to a connection that works.
    pub(super) fn arrive(&self, live: Live, listing: Listing, (latency, pid): (Duration, Option<u32>)) {
        let mut state = self.lock();
        state.generation += 1;
        state.live = Some(live);
        state.listing = Some(Arc::new(listing));
        let ended = state.ended;
        state.fresh.arrived(ended);
        (state.latency, state.pid) = (Some(latency), pid);
        state.failure = None;
        state.last_use = Instant::now();
        state.enter(ServerState::Ready);
        drop(state);
        self.changed();
    }

    pub(super) fn count_restart(&self) {
        self.lock().restarts += 1;
    }

    pub(super) fn generation(&self) -> u64 {
        self.lock().generation
    }

    /// How long it has been without a call; nothing while there is one.
    pub(super) fn unused_for(&self) -> Option<Duration> {
        let state = self.lock();
        (state.calls == 0).then(|| state.last_use.elapsed())
    }

    /// Stops the connection unless a call has begun meanwhile.
    pub(super) fn leave_if_unused(&self, unused: Duration) -> bool {
        let mut state = self.lock();
        if state.calls > 0 || state.last_use.elapsed() < unused {
            return false;
        }
        state.leave_connection();
        state.failure = None;
        state.enter(ServerState::Idle);
        drop(state);
        self.changed();
        true
    }

    /// Takes what was ordered.
    pub(super) fn take_orders(&self) -> Orders {
        std::mem::take(&mut self.lock().orders)
    }

    /// Waits until something was ordered, or a call has ended.
    pub(super) async fn next_orders(&self) -> Orders {
        loop {
            let orders = self.take_orders();
            if orders.is_any() {
                return orders;
            }
            self.ordered.notified().await;
        }
    }

    /// Waits until there is an order, or somebody needs less than before. An order that came while something else was
    /// waited for counts.
    pub(super) async fn heard(&self) {
        if !self.lock().orders.is_any() {
            self.ordered.notified().await;
        }
    }

    /// Waits until something was ordered that cannot wait, and leaves it there.
    pub(super) async fn urgent(&self) {
        while !self.lock().orders.is_urgent() {
            self.ordered.notified().await;
        }
    }
}

impl State {
    fn enter(&mut self, phase: ServerState) {
        if phase != self.phase {
            (self.since_ms, self.since) = (unix_ms(), Instant::now());
        }
        self.phase = phase;
    }

    fn leave_connection(&mut self) {
        if let Some(live) = self.live.take() {
            self.noise_before += live.router.noise_lines();
        }
        self.pid = None;
    }

    fn noise(&self) -> u64 {
        self.noise_before + self.live.as_ref().map_or(0, |live| live.router.noise_lines())
    }

    fn is_starting(&self) -> bool {
        matches!(self.phase, ServerState::Starting | ServerState::Restarting)
    }
}

/// # For everybody else
impl Server {
    pub(super) fn order(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.lock().orders);
        self.ordered.notify_one();
    }

    /// A call on a connection failed because there is none any more.
    pub(super) fn suspect(&self, generation: u64) {
        self.order(|orders| orders.suspect = Some(generation));
    }

    /// Whether the first turn need not wait for it any more.
    fn is_settled(&self) -> bool {
        let state = self.lock();
        !matches!(state.phase, ServerState::Starting) && !state.orders.start
    }

    /// Waits until it has been tried.
    pub(super) async fn settled(&self) {
        let mut changes = self.changes.subscribe();
        while !self.is_settled() {
            // The sender lives as long as this server.
            let _ = changes.changed().await;
        }
    }

    /// Waits until it works, or is known not to.
    pub(super) async fn works(&self) -> Result<(), UpstreamError> {
        let mut changes = self.changes.subscribe();
        loop {
            match self.verdict() {
                Some(verdict) => return verdict,
                None => drop(changes.changed().await),
            }
        }
    }

    /// Wakes it, and waits for it as long as a turn does: only the first one after it began to start, and for ever
    /// where nothing works without it.
    pub(super) async fn settle(&self, required: bool) {
        self.wake();
        if required {
            // Whoever asks for its tools hears why it does not work.
            let _ = self.works().await;
            return;
        }
        let until = self.lock().since + self.options.grace;
        let _ = tokio::time::timeout_at(until, self.settled()).await;
    }

    /// Whether it works, or why it does not and will not soon.
    fn verdict(&self) -> Option<Result<(), UpstreamError>> {
        let state = self.lock();
        match state.phase {
            ServerState::Ready => Some(Ok(())),
            ServerState::Idle if state.orders.start => None,
            ServerState::Idle => Some(Ok(())),
            ServerState::Starting => None,
            ServerState::Restarting if state.failure.is_none() => None,
            ServerState::Restarting | ServerState::Failed | ServerState::Stopped | ServerState::Disabled => {
                Some(Err(state.why_not()))
            }
        }
    }

    /// Starts what a turn needs: a lazy server of which nothing is known, and one that failed a while ago.
    pub(super) fn wake(&self) {
        let mut state = self.lock();
        let needed = match state.phase {
            ServerState::Idle => state.listing.is_none(),
            ServerState::Failed => {
                state.since.elapsed() >= STALE_FAILURE
                    && state.failure.as_ref().is_some_and(|failure| failure.transient)
            }
            _ => false,
        };
        if needed {
            state.orders.start = true;
            // The grace begins now.
            state.since = Instant::now();
            drop(state);
            self.ordered.notify_one();
        }
    }

    /// The connection, for one call. Starts the server if nobody has, and waits for it.
    pub(super) async fn lease(self: &Arc<Self>) -> Result<Lease, UpstreamError> {
        let mut changes = self.changes.subscribe();
        let leased = timeout(PATIENCE, async {
            loop {
                if let Some(leased) = self.try_lease() {
                    return leased;
                }
                // The sender lives as long as this server.
                let _ = changes.changed().await;
            }
        });
        leased.await.unwrap_or_else(|_| Err(self.lock().why_not()))
    }

    /// The connection, if there is one now.
    pub(super) fn lease_if_ready(self: &Arc<Self>) -> Option<Lease> {
        let mut state = self.lock();
        let live = state.live.clone().filter(|_| state.phase == ServerState::Ready)?;
        state.calls += 1;
        Some(Lease { live, generation: state.generation, server: Arc::clone(self) })
    }

    fn try_lease(self: &Arc<Self>) -> Option<Result<Lease, UpstreamError>> {
        if let Some(lease) = self.lease_if_ready() {
            return Some(Ok(lease));
        }
        let mut state = self.lock();
        match state.phase {
            // It came meanwhile.
            ServerState::Ready => None,
            ServerState::Idle => {
                state.orders.start = true;
                drop(state);
                self.ordered.notify_one();
                None
            }
            _ if state.is_starting() || state.orders.start || state.orders.restart => None,
            _ => Some(Err(state.why_not())),
        }
    }
}
