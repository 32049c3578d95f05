//! The sessions of which something is kept here, in one bounded table.
//!
//! A session is in it while a request, an exchange or a stream holds it, and afterwards if it has something
//! that must not be lost: a log level, subscriptions, a stream that may be taken up again. Whatever ends is
//! remembered as ended, so that its client starts anew instead of going on without what was lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::time::Instant;

use super::live::Live;
use super::token::{Key, Opened};
use crate::legacy::SessionLimits;
use crate::server::Server;

/// How many ended sessions are remembered for each that may be kept.
const ENDED_PER_KEPT: usize = 4;

pub(super) struct Table {
    limits: SessionLimits,
    inner: Mutex<Inner>,
}

/// Trees, as hash tables that lose as much as they gain double in size at some time, to make up for the traces
/// of what they lost.
#[derive(Default)]
struct Inner {
    sessions: BTreeMap<Key, Entry>,
    /// Those that are kept, by their last use.
    kept: BTreeMap<u64, Key>,
    /// Counts uses.
    uses: u64,
    ended: Ended,
}

struct Entry {
    live: Weak<Live>,
    kept: Option<Kept>,
}

struct Kept {
    live: Arc<Live>,
    last_use: u64,
    used: Instant,
}

#[derive(Default)]
struct Ended {
    keys: BTreeSet<Key>,
    order: VecDeque<Key>,
}

impl Table {
    pub(super) fn new(limits: SessionLimits) -> Arc<Self> {
        Arc::new(Self { limits, inner: Mutex::default() })
    }

    // Nothing panics while it holds the lock, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session with this id, as it is kept or anew; `None` if it has ended.
    pub(super) fn enter(self: &Arc<Self>, server: &Server, opened: Opened) -> Option<Arc<Live>> {
        let mut inner = self.lock();
        let expired = inner.expire(&self.limits);
        let found = inner.find(opened.key).map(|found| {
            found.unwrap_or_else(|| {
                let live = Arc::new(Live::new(server, opened, self));
                inner.sessions.insert(live.key(), Entry { live: Arc::downgrade(&live), kept: None });
                live
            })
        });
        drop(inner);
        // A session that is dropped takes itself out of the table.
        drop(expired);
        found
    }

    /// Keeps a session after it was used, or lets it go, as it has something to keep or not.
    pub(super) fn settle(&self, live: &Arc<Live>) {
        let mut gone = Vec::new();
        let mut inner = self.lock();
        inner.release(live.key(), &mut gone);
        if live.has_something() && !inner.ended.keys.contains(&live.key()) {
            inner.keep(live);
            inner.shrink(&self.limits, &mut gone);
        }
        drop(inner);
        end_all(gone.into_iter().filter(|other| !Arc::ptr_eq(other, live)));
    }

    /// Ends a session at the wish of its client.
    pub(super) fn end(&self, live: &Arc<Live>) {
        let mut gone = Vec::new();
        let mut inner = self.lock();
        inner.release(live.key(), &mut gone);
        inner.ended.add(live.key(), &self.limits);
        drop(inner);
        live.end();
        drop(gone);
    }

    /// To be called when nobody holds the session any more.
    pub(super) fn forget(&self, key: Key) {
        let mut inner = self.lock();
        if inner.sessions.get(&key).is_some_and(|entry| entry.live.strong_count() == 0) {
            inner.sessions.remove(&key);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.lock().sessions.len()
    }
}

impl Inner {
    /// `None` if it has ended, `Some(None)` if nothing is kept of it.
    #[expect(clippy::option_option, reason = "ended and not there are two things")]
    fn find(&mut self, key: Key) -> Option<Option<Arc<Live>>> {
        if self.ended.keys.contains(&key) {
            return None;
        }
        Some(self.sessions.get(&key).and_then(|entry| entry.live.upgrade()))
    }

    fn keep(&mut self, live: &Arc<Live>) {
        self.uses += 1;
        let kept = Kept { live: Arc::clone(live), last_use: self.uses, used: Instant::now() };
        self.kept.insert(self.uses, live.key());
        let live = Arc::downgrade(live);
        self.sessions.insert(kept.live.key(), Entry { live, kept: Some(kept) });
    }

    /// Keeps it no longer; what that leaves goes to `gone`, to be dropped without the lock.
    fn release(&mut self, key: Key, gone: &mut Vec<Arc<Live>>) {
        if let Some(kept) = self.sessions.get_mut(&key).and_then(|entry| entry.kept.take()) {
            self.kept.remove(&kept.last_use);
            gone.push(kept.live);
        }
    }

    /// Ends what was not used for too long.
    fn expire(&mut self, limits: &SessionLimits) -> Expired {
        let mut gone = Vec::new();
        let now = Instant::now();
        for _ in 0..self.kept.len() {
            let Some((&last_use, &key)) = self.kept.first_key_value() else { break };
            let entry = self.sessions.get(&key).and_then(|entry| entry.kept.as_ref());
            match entry {
                Some(kept) if now.duration_since(kept.used) < limits.idle => break,
                Some(kept) if is_used(&kept.live) => self.touch(last_use, now),
                _ => self.end(key, limits, &mut gone),
            }
        }
        Expired(gone)
    }

    /// Ends what was used least recently, while there is too much; not what is used right now.
    fn shrink(&mut self, limits: &SessionLimits, gone: &mut Vec<Arc<Live>>) {
        for _ in limits.kept..self.kept.len() {
            let Some((&last_use, &key)) = self.kept.first_key_value() else { return };
            let entry = self.sessions.get(&key).and_then(|entry| entry.kept.as_ref());
            match entry {
                Some(kept) if is_used(&kept.live) => {
                    let used = kept.used;
                    self.touch(last_use, used);
                }
                _ => self.end(key, limits, gone),
            }
        }
    }

    /// Puts a session that is in use behind the others.
    fn touch(&mut self, last_use: u64, used: Instant) {
        let Some(key) = self.kept.remove(&last_use) else { return };
        if let Some(kept) = self.sessions.get_mut(&key).and_then(|entry| entry.kept.as_mut()) {
            self.uses += 1;
            (kept.last_use, kept.used) = (self.uses, used);
            self.kept.insert(self.uses, key);
        }
    }

    fn end(&mut self, key: Key, limits: &SessionLimits, gone: &mut Vec<Arc<Live>>) {
        self.release(key, gone);
        self.ended.add(key, limits);
    }
}

impl Ended {
    fn add(&mut self, key: Key, limits: &SessionLimits) {
        if self.keys.insert(key) {
            self.order.push_back(key);
        }
        while self.order.len() > limits.kept.saturating_mul(ENDED_PER_KEPT) {
            if let Some(oldest) = self.order.pop_front() {
                self.keys.remove(&oldest);
            }
        }
    }
}

/// Sessions whose time was over.
struct Expired(Vec<Arc<Live>>);

impl Drop for Expired {
    fn drop(&mut self) {
        end_all(self.0.drain(..));
    }
}

/// Whether anybody but the table holds it.
fn is_used(live: &Arc<Live>) -> bool {
    Arc::strong_count(live) > 1
}

fn end_all(gone: impl Iterator<Item = Arc<Live>>) {
    gone.for_each(|live| live.end());
}

#[cfg(test)]
mod tests;
