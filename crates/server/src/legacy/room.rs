//! How much all sessions of a server together may be subscribed to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a URI costs beside its text.
const BASE_BYTES: usize = 64;

/// The bytes that there are.
pub(super) struct Room {
    limit: usize,
    used: AtomicUsize,
}

impl Room {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    fn take(&self, bytes: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }
}

/// What one session has of it. Dropping it gives all of that back.
pub(super) struct Taken {
    room: Arc<Room>,
    bytes: usize,
}

impl Taken {
    pub(super) fn new(room: &Arc<Room>) -> Self {
        Self { room: Arc::clone(room), bytes: 0 }
    }

    /// Says whether there is room for it.
    pub(super) fn add(&mut self, uri: &str) -> bool {
        let bytes = BASE_BYTES.saturating_add(uri.len());
        let has_room = self.room.take(bytes);
        if has_room {
            self.bytes += bytes;
        }
        has_room
    }

    /// Gives back what was taken for it.
    pub(super) fn remove(&mut self, uri: &str) {
        self.give_back(BASE_BYTES + uri.len());
    }

    pub(super) fn clear(&mut self) {
        self.give_back(self.bytes);
    }

    fn give_back(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.room.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.clear();
    }
}
