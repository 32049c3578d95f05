//! The journal of a session as it is kept and as it is followed: first what is stored, then what happens, without a
//! gap and without a duplicate.
//!
//! What happened last is in memory, in bounded space. Who reads slower than that reads from the store. Pieces of an
//! answer are only passed on: the whole answer follows them and is kept.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::journal::{Entry, Sink};
use crate::store::{Store, StoreError};

/// Entries in memory, at most.
const MOST_ENTRIES: usize = 4096;
/// Their bytes, at most, about.
const MOST_BYTES: usize = 2 << 20;
/// Entries that are read at a time.
const PAGE: usize = 256;

/// The end of the journal that writes into the store and into memory.
pub(super) struct Feed {
    session: String,
    store: Arc<dyn Store>,
    ring: Mutex<Ring>,
    /// Nothing is stored any more. Held while something is.
    closed: Mutex<bool>,
    /// The session is stored. What happens before that is only passed on: there is nothing yet that it belongs to.
    begun: AtomicBool,
    /// The number of the last entry.
    last: watch::Sender<u64>,
    /// Why the store cannot be written any more.
    failure: watch::Sender<Option<Arc<str>>>,
}

struct Ring {
    entries: VecDeque<(Arc<Entry>, usize)>,
    bytes: usize,
    /// Everything after this number is in memory.
    floor: u64,
    /// Entries that could not be stored.
    lost: u64,
}

impl Feed {
    /// A feed that goes on after entry `last`.
    pub(super) fn new(session: &str, store: Arc<dyn Store>, last: u64) -> Self {
        let ring = Ring { entries: VecDeque::new(), bytes: 0, floor: last, lost: 0 };
        Self {
            session: session.to_owned(),
            store,
            ring: Mutex::new(ring),
            closed: Mutex::new(false),
            begun: AtomicBool::new(false),
            last: watch::Sender::new(last),
            failure: watch::Sender::new(None),
        }
    }

    /// The session is stored: from now on its journal is, too.
    pub(super) fn begin(&self) {
        self.begun.store(true, Ordering::SeqCst);
    }

    /// Waits until the store cannot be written, and says why.
    pub(super) async fn failed(&self) -> Arc<str> {
        let mut failure = self.failure.subscribe();
        match failure.wait_for(Option::is_some).await.map(|message| message.clone()) {
            Ok(Some(message)) => message,
            // The sender is ours, so neither happens.
            _ => std::future::pending().await,
        }
    }

    /// Why the store cannot be written, if that is so.
    pub(super) fn failure(&self) -> Option<Arc<str>> {
        self.failure.borrow().clone()
    }

    /// Forgets a failure, to try again. Gives the entries that were lost by it.
    pub(super) fn mend(&self) -> u64 {
        self.failure.send_replace(None);
        std::mem::take(&mut self.lock().lost)
    }

    /// Says that the store cannot be written.
    pub(super) fn fail(&self, error: &StoreError) {
        tracing::warn!(session = self.session, %error, "the session cannot be kept");
        self.failure.send_if_modified(|failure| {
            let first = failure.is_none();
            failure.get_or_insert_with(|| error.to_string().into());
            first
        });
    }

    /// Ends all readers. From now on nothing is stored: what is deleted must not come back.
    pub(super) fn close(&self) {
        *self.closed() = true;
        self.last.send_modify(|_| {});
    }

    /// Stores something, unless it is closed.
    pub(super) fn store(
        &self,
        write: impl FnOnce(&dyn Store) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let closed = self.closed();
        if *closed { Ok(()) } else { write(&*self.store) }
    }

    fn closed(&self) -> MutexGuard<'_, bool> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, entry: &Entry) {
        let kept = !entry.event.is_piece() && self.begun.load(Ordering::SeqCst);
        if kept && let Err(error) = self.store(|store| store.append(&self.session, entry)) {
            self.lock().lost += 1;
            self.fail(&error);
        }
        let size = entry.event.size();
        let mut ring = self.lock();
        ring.entries.push_back((Arc::new(entry.clone()), size));
        ring.bytes += size;
        while ring.entries.len() > MOST_ENTRIES || (ring.bytes > MOST_BYTES && ring.entries.len() > 1) {
            let Some((old, size)) = ring.entries.pop_front() else { break };
            ring.bytes -= size;
            ring.floor = old.seq;
        }
        drop(ring);
        self.last.send_replace(entry.seq);
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the journal into the feed.
pub(super) struct FeedSink(pub(super) Arc<Feed>);

impl Sink for FeedSink {
    fn write(&mut self, entry: &Entry) {
        self.0.keep(entry);
    }
}

/// Someone who follows a feed.
pub(super) struct Reader {
    feed: Arc<Feed>,
    last: watch::Receiver<u64>,
    after: u64,
    ready: VecDeque<Arc<Entry>>,
}

impl Reader {
    /// Begins after entry `after`.
    pub(super) fn new(feed: Arc<Feed>, after: u64) -> Self {
        let last = feed.last.subscribe();
        Self { feed, last, after, ready: VecDeque::new() }
    }

    /// The next entry, as soon as there is one; nothing once the feed is closed and read.
    pub(super) async fn next(&mut self) -> Option<Arc<Entry>> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                self.after = entry.seq;
                return Some(entry);
            }
            self.last.mark_unchanged();
            match self.read().await {
                Ok(true) => {}
                Ok(false) if *self.feed.closed() => return None,
                Ok(false) => self.last.changed().await.ok()?,
                Err(error) => {
                    tracing::warn!(session = self.feed.session, %error, "the journal cannot be read");
                    return None;
                }
            }
        }
    }

    /// Reads what there is. Whether there was something.
    async fn read(&mut self) -> Result<bool, StoreError> {
        let Some(floor) = self.read_memory() else { return Ok(!self.ready.is_empty()) };
        let (feed, after) = (Arc::clone(&self.feed), self.after);
        // Where it holds nobody up.
        let stored =
            tokio::task::spawn_blocking(move || feed.store.entries(&feed.session, after, PAGE)).await;
        let stored = stored.unwrap_or_else(|error| Err(StoreError::new(error.to_string())))?;
        self.ready.extend(stored.into_iter().filter(|entry| entry.seq <= floor).map(Arc::new));
        if self.ready.is_empty() {
            // All that is stored up to there is read.
            self.after = floor;
        }
        Ok(true)
    }

    /// Takes what is in memory. Up to which entry the store is to be asked, if what comes next is not in memory any
    /// more.
    fn read_memory(&mut self) -> Option<u64> {
        let ring = self.feed.lock();
        if self.after < ring.floor {
            return Some(ring.floor);
        }
        let from = ring.entries.partition_point(|(entry, _)| entry.seq <= self.after);
        self.ready.extend(ring.entries.range(from..).take(PAGE).map(|(entry, _)| Arc::clone(entry)));
        None
    }
}
