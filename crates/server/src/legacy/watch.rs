//! What a session hears of: the lists, and the resources that it subscribed to.
//!
//! The client changes the set of resources while changes happen. A new subscription to the bus is opened
//! before the one that it replaces is emptied, so that nothing falls between the two; what is told twice is
//! told once where it waits.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use serde::Serialize;
use switchboard_protocol::frame;
use switchboard_protocol::model::notification::name;
use switchboard_protocol::model::subscription::SubscriptionFilter;

use super::room::{Room, Taken};
use crate::bus::{Change, ChangeBus, Changes};

/// The subscription of one session.
pub(super) struct Watch {
    /// The lists that the server announces changes of.
    lists: SubscriptionFilter,
    uris: BTreeSet<String>,
    /// Of all `uris`.
    bytes: usize,
    /// For all `uris`, of what all sessions have.
    taken: Taken,
    /// Open from the first poll on: a session that nobody reads hears of nothing.
    changes: Option<Box<dyn Changes>>,
    /// What an earlier subscription had heard of.
    due: VecDeque<Change>,
    is_closed: bool,
    waker: Option<Waker>,
}

/// Where there is no room for one more resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The session is subscribed to as much as one may.
    Session,
    /// All sessions together are.
    Server,
}

impl Watch {
    pub(super) fn new(lists: SubscriptionFilter, room: &Arc<Room>) -> Self {
        Self {
            lists,
            uris: BTreeSet::new(),
            bytes: 0,
            taken: Taken::new(room),
            changes: None,
            due: VecDeque::new(),
            is_closed: false,
            waker: None,
        }
    }

    /// Also hears of this resource from now on.
    pub(super) fn add(
        &mut self,
        uri: &str,
        bus: &dyn ChangeBus,
        (most, bytes): (usize, usize),
    ) -> Result<(), Full> {
        if self.uris.contains(uri) {
            return Ok(());
        }
        if self.uris.len() >= most || self.bytes.saturating_add(uri.len()) > bytes {
            return Err(Full::Session);
        }
        if !self.taken.add(uri) {
            return Err(Full::Server);
        }
        self.bytes += uri.len();
        self.uris.insert(uri.to_owned());
        self.renew(bus);
        Ok(())
    }

    /// Hears of nothing more, and gives back what is to be dropped.
    #[cfg(feature = "serve")]
    pub(super) fn close(&mut self) -> Option<Box<dyn Changes>> {
        self.uris.clear();
        self.bytes = 0;
        self.taken.clear();
        self.due.clear();
        self.is_closed = true;
        self.changes.take()
    }

    /// No longer hears of this resource. Says whether it did.
    pub(super) fn remove(&mut self, uri: &str, bus: &dyn ChangeBus) -> bool {
        let was_there = self.uris.remove(uri);
        if was_there {
            self.bytes -= uri.len();
            self.taken.remove(uri);
            self.renew(bus);
        }
        was_there
    }

    /// Replaces the open subscription by one of what is wanted now.
    fn renew(&mut self, bus: &dyn ChangeBus) {
        let Some(mut before) = self.changes.take() else { return };
        self.changes = Some(bus.subscribe(&self.filter()));
        let mut cx = Context::from_waker(Waker::noop());
        // A bus tells each change once, however often it happened; one that goes on for ever is not heard out.
        for _ in 0..self.uris.len() + 4 {
            let Poll::Ready(Some(change)) = before.poll_change(&mut cx) else { break };
            if !self.due.contains(&change) {
                self.due.push_back(change);
            }
        }
        self.due = std::mem::take(&mut self.due).into_iter().filter(|change| self.wants(change)).collect();
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn filter(&self) -> SubscriptionFilter {
        let uris = self.uris.iter().cloned().collect::<Vec<_>>();
        SubscriptionFilter {
            resource_subscriptions: Some(uris).filter(|uris| !uris.is_empty()),
            ..self.lists.clone()
        }
    }

    fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.lists.tools_list_changed == Some(true),
            Change::Prompts => self.lists.prompts_list_changed == Some(true),
            Change::Resources => self.lists.resources_list_changed == Some(true),
            Change::Resource(uri) => self.uris.contains(&**uri),
        }
    }

    /// Whether it hears of any resource.
    #[cfg(feature = "serve")]
    pub(super) fn has_resources(&self) -> bool {
        !self.uris.is_empty()
    }

    /// Begins to hear, if it has not yet.
    pub(super) fn open(&mut self, bus: &dyn ChangeBus) {
        if self.changes.is_none() && !self.is_closed {
            self.changes = Some(bus.subscribe(&self.filter()));
        }
    }

    /// Whom to wake when there may be something new that no bus wakes for.
    pub(super) fn register(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }

    /// Holds on to nobody any more; gives whom to wake if somebody still reads.
    #[cfg(feature = "serve")]
    pub(super) fn leave(&mut self) -> Option<Waker> {
        let mut cx = Context::from_waker(Waker::noop());
        match self.changes.as_mut().map(|changes| changes.poll_change(&mut cx)) {
            Some(Poll::Ready(Some(change))) if self.wants(&change) && !self.due.contains(&change) => {
                self.due.push_back(change);
            }
            Some(Poll::Ready(None)) => (self.changes, self.is_closed) = (None, true),
            _ => {}
        }
        self.waker.take()
    }

    pub(super) fn take_waker(&mut self) -> Option<Waker> {
        self.waker.take()
    }

    /// The next notification, encoded.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        if let Some(change) = self.due.pop_front() {
            return Poll::Ready(notification(&change));
        }
        while let Some(changes) = &mut self.changes {
            match changes.poll_change(cx) {
                // A bus may say more than it was asked for.
                Poll::Ready(Some(change)) if self.wants(&change) => {
                    return Poll::Ready(notification(&change));
                }
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => {
                    self.changes = None;
                    self.is_closed = true;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Pending
    }
}

fn notification(change: &Change) -> Bytes {
    #[derive(Serialize)]
    struct Params<'a> {
        uri: &'a str,
    }
    let (method, params) = match change {
        Change::Tools => (name::TOOLS_CHANGED, None),
        Change::Prompts => (name::PROMPTS_CHANGED, None),
        Change::Resources => (name::RESOURCES_CHANGED, None),
        Change::Resource(uri) => (name::RESOURCE_UPDATED, Some(Params { uri })),
    };
    let mut out = Vec::with_capacity(96);
    // Strings cannot fail to serialise.
    let _ = frame::encode_notification(&mut out, method, params.as_ref());
    out.into()
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use switchboard_protocol::model::subscription::SubscriptionFilter;

    use super::{Full, Watch};
    use crate::bus::{Change, ChangeBus};
    use crate::hub::Hub;
    use crate::legacy::room::Room;

    fn heard(watch: &mut Watch) -> Vec<String> {
        let mut heard = Vec::new();
        while let Poll::Ready(message) = watch.poll(&mut Context::from_waker(Waker::noop())) {
            let message: serde_json::Value = serde_json::from_slice(&message).unwrap();
            let (method, uri) = (&message["method"], &message["params"]["uri"]);
            heard.push(uri.as_str().or(method.as_str()).unwrap().to_owned());
        }
        heard
    }

    #[test]
    fn what_changes_while_the_set_changes_is_told_and_what_is_not_wanted_any_more_is_not() {
        let hub = Hub::new();
        let mut watch = Watch::new(SubscriptionFilter::new().tools(), &Room::new(1_000));
        watch.open(&hub);
        let most = (3, 10);
        assert_eq!((watch.add("a:1", &hub, most), watch.add("a:2", &hub, most)), (Ok(()), Ok(())));
        for uri in ["a:1", "a:2", "a:3", "a:1"] {
            hub.publish(Change::Resource(uri.into()));
        }
        hub.publish(Change::Tools);
        hub.publish(Change::Prompts);
        assert!(watch.remove("a:2", &hub) && watch.add("a:3", &hub, most).is_ok());
        hub.publish(Change::Tools);
        let told = heard(&mut watch);
        assert_eq!(told.iter().filter(|told| *told == "a:1").count(), 1, "{told:?}");
        assert!(told.contains(&"notifications/tools/list_changed".to_owned()), "{told:?}");
        assert!(
            !told.iter().any(|told| told == "a:2" || told == "a:3" || told.contains("prompts")),
            "{told:?}"
        );
    }

    #[test]
    fn nothing_is_heard_before_the_first_reading_and_nothing_after_the_bus_is_closed() {
        let hub = Hub::new();
        let mut watch = Watch::new(SubscriptionFilter::new().tools(), &Room::new(1_000));
        hub.publish(Change::Tools);
        watch.open(&hub);
        assert!(heard(&mut watch).is_empty());
        drop(hub);
        assert!(heard(&mut watch).is_empty());
        let other = Hub::new();
        watch.open(&other);
        assert_eq!(watch.add("a:1", &other, (2, 5)), Ok(()));
        assert_eq!(watch.add("a:22", &other, (2, 5)), Err(Full::Session));
        assert_eq!(watch.add("a:2", &other, (1, 100)), Err(Full::Session));
        other.publish(Change::Tools);
        assert!(heard(&mut watch).is_empty());
    }
}
