//! The change bus of one process.
//!
//! A subscription owns what it has not said yet as a set: three bits, and which of its own URIs
//! changed. There is no queue between publisher and reader, so a reader that is slow costs nothing and
//! hears of a thousand changes of one list once. What is said, and how, is `listen.rs`.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use switchboard_protocol::model::subscription::SubscriptionFilter;

use crate::bus::{Change, ChangeBus, Changes};

/// The in-process [`ChangeBus`]. Cheap to clone; subscriptions end when the last clone is dropped.
///
/// ```
/// use switchboard_server::{Change, ChangeBus, Hub, next_change};
/// use switchboard_protocol::model::subscription::SubscriptionFilter;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let hub = Hub::new();
/// let mut changes = hub.subscribe(&SubscriptionFilter::new().tools());
/// hub.publish(Change::Prompts);
/// hub.publish(Change::Tools);
/// hub.publish(Change::Tools);
/// drop(hub);
/// assert_eq!(next_change(&mut *changes).await, Some(Change::Tools));
/// assert_eq!(next_change(&mut *changes).await, None);
/// # });
/// ```
#[derive(Clone, Default)]
pub struct Hub {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    next: u64,
    open: HashMap<u64, Arc<Mutex<Dirty>>>,
}

/// What one subscription asked for and has not been told yet.
struct Dirty {
    tools: Bit,
    prompts: Bit,
    resources: Bit,
    /// The URIs asked for, and whether each is in `due`.
    uris: HashMap<Arc<str>, bool>,
    /// The URIs that changed, each once.
    due: VecDeque<Arc<str>>,
    closed: bool,
    waker: Option<Waker>,
}

#[derive(Clone, Copy)]
enum Bit {
    Unwanted,
    Clean,
    Dirty,
}

impl Bit {
    fn wanted(flag: Option<bool>) -> Self {
        if flag == Some(true) { Self::Clean } else { Self::Unwanted }
    }

    fn set(&mut self) -> bool {
        let wanted = !matches!(self, Self::Unwanted);
        if wanted {
            *self = Self::Dirty;
        }
        wanted
    }

    fn take(&mut self) -> bool {
        let dirty = matches!(self, Self::Dirty);
        if dirty {
            *self = Self::Clean;
        }
        dirty
    }
}

impl Hub {
    /// A hub that nobody listens to yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("open", &lock(&self.shared.table).open.len()).finish()
    }
}

impl ChangeBus for Hub {
    fn publish(&self, change: Change) {
        // Wakers run after the locks are free: waking may drop a reader, which locks the table.
        let wakers: Vec<Waker> = {
            let table = lock(&self.shared.table);
            table.open.values().filter_map(|dirty| lock(dirty).mark(&change)).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    fn subscribe(&self, filter: &SubscriptionFilter) -> Box<dyn Changes> {
        let dirty = Arc::new(Mutex::new(Dirty::new(filter)));
        let mut table = lock(&self.shared.table);
        let key = table.next;
        table.next += 1;
        table.open.insert(key, Arc::clone(&dirty));
        Box::new(Subscription { key, dirty, hub: Arc::downgrade(&self.shared) })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let open = std::mem::take(&mut lock(&self.table).open);
        for dirty in open.into_values() {
            let waker = {
                let mut dirty = lock(&dirty);
                dirty.closed = true;
                dirty.waker.take()
            };
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl Dirty {
    fn new(filter: &SubscriptionFilter) -> Self {
        let uris = filter.resource_subscriptions.iter().flatten();
        Self {
            tools: Bit::wanted(filter.tools_list_changed),
            prompts: Bit::wanted(filter.prompts_list_changed),
            resources: Bit::wanted(filter.resources_list_changed),
            uris: uris.map(|uri| (Arc::from(uri.as_str()), false)).collect(),
            due: VecDeque::new(),
            closed: false,
            waker: None,
        }
    }

    /// Takes a change in; gives the reader to wake, if it waits for that.
    fn mark(&mut self, change: &Change) -> Option<Waker> {
        let news = match change {
            Change::Tools => self.tools.set(),
            Change::Prompts => self.prompts.set(),
            Change::Resources => self.resources.set(),
            Change::Resource(uri) => self.mark_uri(uri),
        };
        if news { self.waker.take() } else { None }
    }

    fn mark_uri(&mut self, uri: &str) -> bool {
        let Some((known, _)) = self.uris.get_key_value(uri) else { return false };
        let known = Arc::clone(known);
        let Some(is_due) = self.uris.get_mut(uri) else { return false };
        if !std::mem::replace(is_due, true) {
            self.due.push_back(known);
        }
        true
    }

    fn take(&mut self) -> Option<Change> {
        if self.tools.take() {
            return Some(Change::Tools);
        }
        if self.prompts.take() {
            return Some(Change::Prompts);
        }
        if self.resources.take() {
            return Some(Change::Resources);
        }
        let uri = self.due.pop_front()?;
        if let Some(is_due) = self.uris.get_mut(&uri) {
            *is_due = false;
        }
        Some(Change::Resource(uri))
    }
}

struct Subscription {
    key: u64,
    dirty: Arc<Mutex<Dirty>>,
    hub: Weak<Shared>,
}

impl Changes for Subscription {
    fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        let mut dirty = lock(&self.dirty);
        if let Some(change) = dirty.take() {
            return Poll::Ready(Some(change));
        }
        if dirty.closed {
            return Poll::Ready(None);
        }
        dirty.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            lock(&hub.table).open.remove(&self.key);
        }
    }
}

// Nothing panics while it holds a lock, so a poisoned one is sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use switchboard_protocol::model::subscription::SubscriptionFilter;

    use super::Hub;
    use crate::bus::{Change, ChangeBus, Changes};

    fn drain(changes: &mut dyn Changes) -> Vec<Change> {
        let mut cx = Context::from_waker(Waker::noop());
        std::iter::from_fn(|| match changes.poll_change(&mut cx) {
            Poll::Ready(change) => change,
            Poll::Pending => None,
        })
        .collect()
    }

    fn uri(text: &str) -> Change {
        Change::Resource(text.into())
    }

    #[test]
    fn a_subscription_hears_once_of_what_it_asked_for_and_of_nothing_else() {
        let hub = Hub::new();
        let mut some = hub.subscribe(&SubscriptionFilter::new().prompts().resource("a").resource("b"));
        for change in [uri("b"), Change::Tools, uri("a"), uri("b"), uri("c"), Change::Prompts, uri("b")] {
            hub.publish(change);
        }
        assert_eq!(drain(&mut *some), [Change::Prompts, uri("b"), uri("a")]);
        hub.publish(uri("b"));
        assert_eq!(drain(&mut *some), [uri("b")]);
        assert_eq!(drain(&mut *some), []);
    }

    #[test]
    fn a_dropped_subscription_leaves_nothing_behind() {
        let hub = Hub::new();
        let one = hub.subscribe(&SubscriptionFilter::new().tools());
        let two = hub.subscribe(&SubscriptionFilter::new().tools());
        drop(one);
        assert!(format!("{hub:?}").contains("open: 1"));
        drop(two);
        assert!(format!("{hub:?}").contains("open: 0"));
    }
}
