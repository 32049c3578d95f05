//! What runs on although its client has left: it may come back for the answer. Together that may hold a part
//! of all places and no more; beyond it, whatever was left longest ends.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::places::share;

/// The places that are held for clients that have left.
pub(super) struct Abandoned {
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// In the order in which they were left.
    claims: BTreeMap<u64, Held>,
    next: u64,
    /// Of all claims.
    places: usize,
}

struct Held {
    places: usize,
    /// Dropped to give it up.
    _going_on: oneshot::Sender<()>,
}

impl Abandoned {
    /// Of so many places that everybody shares.
    pub(super) fn new(places: usize) -> Self {
        Self { most: share(places), inner: Mutex::default() }
    }

    // Nothing panics while it holds the lock, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds places for a client that has just left, and gives up what was left longest if those are too
    /// many.
    pub(super) fn add(&self, places: usize) -> Claim<'_> {
        let (going_on, given_up) = oneshot::channel();
        let mut gone = Vec::new();
        let number = {
            let mut inner = self.lock();
            let number = inner.next;
            inner.next += 1;
            inner.places += places;
            inner.claims.insert(number, Held { places, _going_on: going_on });
            while inner.places > self.most
                && let Some((_, oldest)) = inner.claims.pop_first()
            {
                inner.places -= oldest.places;
                gone.push(oldest);
            }
            number
        };
        if !gone.is_empty() {
            tracing::debug!(count = gone.len(), most = self.most, "requests of clients that left are ended");
        }
        // Whom that wakes may want the lock.
        drop(gone);
        Claim { list: self, number, given_up }
    }
}

/// Places that are held. Dropping it ends that: the client is back, or nothing runs any more.
pub(super) struct Claim<'a> {
    list: &'a Abandoned,
    number: u64,
    given_up: oneshot::Receiver<()>,
}

impl Claim<'_> {
    /// Resolves once the places are needed for others.
    pub(super) async fn given_up(&mut self) {
        // Nothing is ever sent: the end of the sender is the message.
        let _ = (&mut self.given_up).await;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let held = {
            let mut inner = self.list.lock();
            let held = inner.claims.remove(&self.number);
            inner.places -= held.as_ref().map_or(0, |held| held.places);
            held
        };
        drop(held);
    }
}
