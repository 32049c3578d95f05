//! An open `subscriptions/listen`: the acknowledgement, the notifications, the end
//! [spec: basic/patterns/subscriptions].
//!
//! A [`ListenStream`] is polled by whoever carries its messages, an HTTP body or a pipe, and makes each
//! message when it is asked for: what happened in between lies in the subscription's set of changes, not
//! in a queue. Dropping it ends the subscription. Where to look next: `bus.rs` and `hub.rs` carry the
//! changes, `http/stream.rs` is one driver.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use serde::Serialize;
use switchboard_protocol::RequestId;
use switchboard_protocol::frame;
use switchboard_protocol::model::notification::name;
use switchboard_protocol::model::result::ResultType;
use switchboard_protocol::model::subscription::{
    SubscriptionFilter, SubscriptionMeta, SubscriptionsListenResult,
};

use crate::bus::{Change, ChangeBus, Changes};
use crate::exchange::ListenRequest;

/// The messages of one subscription, in order: the acknowledgement first, a result last if the server
/// ends it.
pub struct ListenStream {
    meta: SubscriptionMeta,
    filter: SubscriptionFilter,
    changes: Box<dyn Changes>,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    ExpectAcknowledgement,
    Open,
    /// The end was asked for. What had changed by then still comes, at most so many messages.
    Closing(usize),
    Ended,
}

impl fmt::Debug for ListenStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenStream").field("id", self.id()).finish_non_exhaustive()
    }
}

impl ListenStream {
    /// Subscribes, so that nothing is missed from now on. The stream ends with its result once `end`
    /// resolves (a shutdown) or the bus is closed.
    #[must_use]
    pub fn open(
        request: ListenRequest,
        bus: &dyn ChangeBus,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let ListenRequest { id, filter } = request;
        Self {
            meta: SubscriptionMeta { subscription_id: id },
            changes: bus.subscribe(&filter),
            filter,
            end: Box::pin(end),
            state: State::ExpectAcknowledgement,
        }
    }

    /// The id of the request that opened it.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.meta.subscription_id
    }

    /// Whether the last message was the result.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// The next JSON-RPC message, encoded; `None` after the result.
    pub fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self.state {
            State::ExpectAcknowledgement => {
                self.state = State::Open;
                Poll::Ready(Some(self.acknowledgement()))
            }
            State::Open | State::Closing(_) => self.poll_open(cx),
            State::Ended => Poll::Ready(None),
        }
    }

    /// The next message, as a future.
    pub async fn next_message(&mut self) -> Option<Bytes> {
        poll_fn(|cx| self.poll_message(cx)).await
    }

    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.state == State::Open && self.end.as_mut().poll(cx).is_ready() {
            self.state = State::Closing(self.different_changes());
        }
        while self.state != State::Closing(0) {
            match self.changes.poll_change(cx) {
                Poll::Pending if self.state == State::Open => return Poll::Pending,
                Poll::Pending | Poll::Ready(None) => break,
                Poll::Ready(Some(change)) => {
                    // Changes that go on for ever do not put off the end.
                    if let State::Closing(left) = &mut self.state {
                        *left -= 1;
                    }
                    // A bus may say more than it was asked for; a client hears only what it asked for.
                    if self.wants(&change) {
                        return Poll::Ready(Some(self.notification(&change)));
                    }
                }
            }
        }
        Poll::Ready(Some(self.finish()))
    }

    /// How many changes can wait at the same time: each is told once, however often it happened.
    fn different_changes(&self) -> usize {
        3 + self.filter.resource_subscriptions.as_ref().map_or(0, Vec::len)
    }

    fn wants(&self, change: &Change) -> bool {
        let filter = &self.filter;
        match change {
            Change::Tools => filter.tools_list_changed == Some(true),
            Change::Prompts => filter.prompts_list_changed == Some(true),
            Change::Resources => filter.resources_list_changed == Some(true),
            Change::Resource(uri) => {
                filter.resource_subscriptions.iter().flatten().any(|known| **known == **uri)
            }
        }
    }

    fn acknowledgement(&self) -> Bytes {
        let notifications = Some(&self.filter);
        encode(name::ACKNOWLEDGED, &Params { meta: &self.meta, notifications, uri: None })
    }

    fn notification(&self, change: &Change) -> Bytes {
        let (method, uri) = match change {
            Change::Tools => (name::TOOLS_CHANGED, None),
            Change::Prompts => (name::PROMPTS_CHANGED, None),
            Change::Resources => (name::RESOURCES_CHANGED, None),
            Change::Resource(uri) => (name::RESOURCE_UPDATED, Some(&**uri)),
        };
        encode(method, &Params { meta: &self.meta, notifications: None, uri })
    }

    fn finish(&mut self) -> Bytes {
        self.state = State::Ended;
        let result = SubscriptionsListenResult { result_type: ResultType::Complete, meta: self.meta.clone() };
        let mut out = Vec::with_capacity(160);
        // Strings and integers only: nothing in it can fail to serialise.
        let _ = frame::encode_result(&mut out, self.id(), &result);
        out.into()
    }
}

#[derive(Serialize)]
struct Params<'a> {
    #[serde(rename = "_meta")]
    meta: &'a SubscriptionMeta,
    #[serde(skip_serializing_if = "Option::is_none")]
    notifications: Option<&'a SubscriptionFilter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
}

fn encode(method: &str, params: &Params<'_>) -> Bytes {
    let mut out = Vec::with_capacity(192);
    // As above.
    let _ = frame::encode_notification(&mut out, method, Some(params));
    out.into()
}

/// Counts what is open, up to a limit. Dropping a slot frees it.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    open: Arc<AtomicUsize>,
    limit: usize,
}

/// One of [`Slots`].
#[derive(Debug)]
pub(crate) struct Slot(Arc<AtomicUsize>);

impl Slots {
    pub(crate) fn new(limit: usize) -> Self {
        Self { open: Arc::default(), limit }
    }

    /// A slot, unless all are taken.
    pub(crate) fn take(&self) -> Option<Slot> {
        // The slot exists from here on, so that it is given back on either way.
        let taken = self.open.fetch_add(1, Ordering::Relaxed);
        let slot = Slot(Arc::clone(&self.open));
        (taken < self.limit).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
