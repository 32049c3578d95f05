//! How much all streams together may keep to be said again.
//!
//! When it is used up, streams that have ended give way first, the oldest first, and then a stream loses
//! its own oldest events. What was not said yet to a client that is there is never lost.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::log::Log;

/// What a stream costs, however little it says.
pub(super) const BASE_BYTES: usize = 1024;

/// One stream takes at most this part of everything for what a client missed.
const SHARE: usize = 16;

/// So many streams that have ended are not looked through for those that are gone.
const FEW: usize = 64;

/// The bytes that are kept, over all streams.
pub(super) struct Budget {
    limit: usize,
    used: AtomicUsize,
    ended: Mutex<Ended>,
}

#[derive(Default)]
struct Ended {
    /// Streams that have ended, in that order. Some are gone by now.
    logs: VecDeque<Weak<Log>>,
    /// At how many of them those that are gone are left out.
    sweep_at: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), ended: Mutex::default() }
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

    /// Remembers a stream that has ended, so that it gives way.
    pub(super) fn add_ended(&self, log: &Arc<Log>) {
        let mut ended = self.ended();
        if ended.logs.len() >= ended.sweep_at {
            ended.logs.retain(|log| log.strong_count() > 0);
            ended.sweep_at = (2 * ended.logs.len()).max(FEW);
        }
        ended.logs.push_back(Arc::downgrade(log));
    }

    // Nothing panics while it holds the lock, so a poisoned one is sound.
    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes streams that have ended forget, until there is room for so much. To be called without the lock
    /// of a log.
    pub(super) fn make_room(&self, bytes: usize) {
        while self.used.load(Ordering::Relaxed).saturating_add(bytes) > self.limit {
            let oldest = self.ended().logs.pop_front();
            let Some(oldest) = oldest else { return };
            if let Some(log) = oldest.upgrade() {
                log.forget();
            }
        }
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.ended().logs.len()
    }
}
