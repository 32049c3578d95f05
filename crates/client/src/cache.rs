//! The cache of answers: whose they are, how long they are fresh, and what makes them stale
//! [spec: server/utilities/caching].
//!
//! Time is given from outside; nothing here waits. One cache may serve many clients: the key holds
//! the server and, unless the server said that anybody may see it, the context of authorization.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_protocol::Method;
use switchboard_protocol::model::result::CacheScope;
use tokio::time::Instant;

use crate::limits::Limits;
use crate::secret::Partition;

/// Answers of servers, kept as long as the servers allow. A cheap clone.
///
/// Give one to several clients ([`crate::ClientBuilder::cache`]) and they share what may be
/// shared: entries of the same server and the same credentials, and, after [`Cache::share_public`],
/// entries that a server declared public.
#[derive(Clone)]
pub struct Cache(Arc<Mutex<Store>>);

/// An answer, whatever its type.
pub(crate) type Stored = Arc<dyn Any + Send + Sync>;

/// What an answer is the answer to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) server: Arc<str>,
    pub(crate) method: Method,
    /// The parameters that make a difference; empty if none do.
    pub(crate) params: String,
}

impl Key {
    /// The key of an answer that does not depend on parameters.
    pub(crate) fn list(server: &Arc<str>, method: Method) -> Self {
        Self { server: Arc::clone(server), method, params: String::new() }
    }
}

/// How long an answer may be used, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hints {
    ttl: Duration,
    public: bool,
}

/// Which state of the server an answer belongs to. An answer that was asked for before a change
/// must not be kept as if it came after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u64);

#[derive(Default)]
struct Store {
    entries: HashMap<(Key, Option<Partition>), Entry>,
    generations: HashMap<(Arc<str>, Method), u64>,
    bytes: usize,
    max_bytes: usize,
    max_entries: usize,
    share_public: bool,
    uses: u64,
}

struct Entry {
    value: Stored,
    bytes: usize,
    fresh_until: Instant,
    used: u64,
}

impl Hints {
    /// Negative and zero mean stale at once.
    pub(crate) fn new(ttl_ms: i64, scope: CacheScope) -> Self {
        Self {
            ttl: Duration::from_millis(u64::try_from(ttl_ms).unwrap_or(0)),
            public: scope == CacheScope::Public,
        }
    }

    /// What holds for several pages together: the shorter time, and public only if all are.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { ttl: self.ttl.min(other.ttl), public: self.public && other.public }
    }

    /// The same hints for an answer that was received a while ago.
    pub(crate) fn aged(self, by: Duration) -> Self {
        Self { ttl: self.ttl.saturating_sub(by), ..self }
    }
}

impl Cache {
    /// An empty cache with the bounds of `limits`.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self(Arc::new(Mutex::new(Store {
            max_bytes: limits.cache_bytes,
            max_entries: limits.cache_entries,
            ..Store::default()
        })))
    }

    /// Lets clients with different credentials share the entries of one server that it declared
    /// public. Off unless called, since a server that is wrong about it would show one person's
    /// answers to another.
    #[must_use]
    pub fn share_public(self) -> Self {
        self.store().share_public = true;
        self
    }

    // A panic in a holder leaves the map whole, since no code of others runs under the lock.
    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find(&self, key: &Key, partition: Partition, now: Instant) -> Option<Stored> {
        let mut store = self.store();
        store.uses += 1;
        let uses = store.uses;
        let mut owners = vec![Some(partition)];
        if store.share_public {
            owners.push(None);
        }
        owners.into_iter().find_map(|owner| {
            let entry = store.entries.get_mut(&(key.clone(), owner))?;
            (now < entry.fresh_until).then(|| {
                entry.used = uses;
                Arc::clone(&entry.value)
            })
        })
    }

    pub(crate) fn generation(&self, server: &Arc<str>, method: Method) -> Generation {
        self.store().generation(server, method)
    }

    /// Keeps an answer, unless something changed since it was asked for.
    pub(crate) fn keep(&self, key: Key, owner: (Partition, Hints), asked: Generation, kept: (Stored, usize)) {
        let (partition, hints) = owner;
        let (value, bytes) = kept;
        // A time beyond what a clock can hold is as good as a day.
        let now = Instant::now();
        let fresh_until = now.checked_add(hints.ttl).unwrap_or(now + Duration::from_secs(86_400));
        let mut store = self.store();
        let current = store.generation(&key.server, key.method);
        let owner = if hints.public && store.share_public { None } else { Some(partition) };
        store.remove(&(key.clone(), owner));
        if hints.ttl.is_zero() || current != asked || bytes > store.max_bytes {
            return;
        }
        store.make_room(bytes);
        store.uses += 1;
        let used = store.uses;
        store.bytes += bytes;
        store.entries.insert((key, owner), Entry { value, bytes, fresh_until, used });
    }

    /// Forgets the answers to a method, those still under way included. With parameters, only the
    /// answers to these.
    pub(crate) fn invalidate(&self, server: &Arc<str>, method: Method, params: Option<&str>) {
        let mut store = self.store();
        *store.generations.entry((Arc::clone(server), method)).or_default() += 1;
        let gone: Vec<_> = store
            .entries
            .keys()
            .filter(|(key, _)| {
                key.server == *server
                    && key.method == method
                    && params.is_none_or(|params| params == key.params)
            })
            .cloned()
            .collect();
        for key in &gone {
            store.remove(key);
        }
    }
}

impl Store {
    fn generation(&self, server: &Arc<str>, method: Method) -> Generation {
        Generation(self.generations.get(&(Arc::clone(server), method)).copied().unwrap_or(0))
    }

    fn remove(&mut self, key: &(Key, Option<Partition>)) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
        }
    }

    /// Drops what was used longest ago until `bytes` more fit.
    fn make_room(&mut self, bytes: usize) {
        while self.entries.len() >= self.max_entries.max(1) || self.bytes + bytes > self.max_bytes {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.remove(&oldest);
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = self.store();
        f.debug_struct("Cache")
            .field("entries", &store.entries.len())
            .field("bytes", &store.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
