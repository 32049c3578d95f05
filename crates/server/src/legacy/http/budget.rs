//! How much all streams together may keep to be said again, and how long what has ended is kept.
//!
//! When it is used up, streams that have ended give way first, the oldest first, and then a stream loses
//! its own oldest events. What was not said yet to a client that is there is never lost.
//!
//! Nothing runs for a stream that is kept, however many there are: one task looks after all of them, as long
//! as there are any.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::live::Live;
use super::log::Log;

/// What a stream costs, however little it says.
pub(super) const BASE_BYTES: usize = 1024;

/// One stream takes at most this part of everything for what a client missed.
const SHARE: usize = 16;

/// The bytes that are kept, over all streams.
pub(super) struct Budget {
    limit: usize,
    /// How long a stream is kept after its end.
    time: Duration,
    used: AtomicUsize,
    /// The number of the next stream that ends.
    next: AtomicU64,
    ended: Mutex<Ended>,
}

#[derive(Default)]
struct Ended {
    /// Streams that have ended, in that order. They take themselves out when they are gone.
    logs: BTreeMap<u64, Kept>,
    /// The task that looks after them, if there are any.
    watching: Option<AbortHandle>,
}

/// A stream that has ended.
struct Kept {
    log: Weak<Log>,
    /// The session where it can be taken up again.
    live: Weak<Live>,
    since: Instant,
}

impl Kept {
    /// Says nothing more, and is gone unless somebody still reads it. To be called without any lock.
    fn let_go(self) {
        let Some(log) = self.log.upgrade() else { return };
        log.forget();
        if let Some(live) = self.live.upgrade() {
            live.remove_stream(&log);
        }
    }
}

impl Budget {
    pub(super) fn new(limit: usize, time: Duration) -> Self {
        let (used, next) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { limit, time, used, next, ended: Mutex::default() }
    }

    pub(super) fn charge(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit
    }

    /// What one stream may keep.
    pub(super) fn share(&self) -> usize {
        self.limit / SHARE
    }

    /// A number for a stream that ends, above those of all that have ended.
    pub(super) fn number_of_end(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Remembers a stream that has ended, so that it gives way.
    pub(super) fn add_ended(&self, number: u64, (log, live): (&Arc<Log>, Weak<Live>)) {
        let kept = Kept { log: Arc::downgrade(log), live, since: Instant::now() };
        self.ended().logs.insert(number, kept);
    }

    /// The stream that had this number is gone.
    pub(super) fn remove_ended(&self, number: u64) {
        self.ended().logs.remove(&number);
    }

    // Nothing panics while it holds the lock, so a poisoned one is sound.
    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes streams that have ended forget, until there is room for so much. To be called without any lock.
    pub(super) fn make_room(&self, bytes: usize) {
        while self.used.load(Ordering::Relaxed).saturating_add(bytes) > self.limit {
            let oldest = self.ended().logs.pop_first();
            let Some((_, oldest)) = oldest else { return };
            oldest.let_go();
        }
    }

    /// Lets go of what has ended once its time is over, or with the end of the service.
    pub(super) fn watch(self: &Arc<Self>, service: watch::Receiver<()>) {
        let mut ended = self.ended();
        // A task may also have ended with its runtime.
        if ended.watching.as_ref().is_none_or(AbortHandle::is_finished) {
            let task = tokio::spawn(Arc::clone(self).let_go_in_time(service));
            ended.watching = Some(task.abort_handle());
        }
    }

    async fn let_go_in_time(self: Arc<Self>, mut service: watch::Receiver<()>) {
        let mut time = self.time;
        while let Some(left) = self.time_left(time) {
            tokio::select! {
                biased;
                // An error means that the service is gone, which is its end as well.
                _ = service.changed() => time = Duration::ZERO,
                () = tokio::time::sleep(left) => {}
            }
            self.let_go_of(time);
        }
    }

    /// How long the oldest is still kept; `None` if there is none, and nobody looks after them any more.
    fn time_left(&self, time: Duration) -> Option<Duration> {
        let mut ended = self.ended();
        let since = ended.logs.first_key_value().map(|(_, oldest)| oldest.since);
        if since.is_none() {
            ended.watching = None;
        }
        since.map(|since| time.saturating_sub(since.elapsed()))
    }

    /// Lets go of what was kept for so long.
    fn let_go_of(&self, time: Duration) {
        loop {
            let oldest = {
                let mut ended = self.ended();
                let oldest = ended.logs.first_entry().filter(|oldest| oldest.get().since.elapsed() >= time);
                oldest.map(|oldest| oldest.remove())
            };
            let Some(oldest) = oldest else { return };
            oldest.let_go();
        }
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.ended().logs.len()
    }
}
