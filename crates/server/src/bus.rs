//! Changes that subscribers may hear of: what changed, never the message that says so.
//!
//! The trait is the seam for several replicas: a bus of your own carries changes between them. The
//! in-process one lives in `hub.rs`, the streams that listen in `listen.rs`.

use std::sync::Arc;
use std::task::{Context, Poll};

use switchboard_protocol::model::subscription::SubscriptionFilter;

/// Something that a subscriber may have asked to hear of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The lists of resources and templates.
    Resources,
    /// The contents of the resource with this URI.
    Resource(Arc<str>),
}

/// Carries changes from whoever makes them to every open subscription.
pub trait ChangeBus: Send + Sync + 'static {
    /// Tells every subscriber. Never blocks and never fails: what cannot be delivered is coalesced.
    fn publish(&self, change: Change);

    /// Opens one subscription; it hears of what the filter names, as far as it is published from now
    /// on. The filter is what was granted, so a subscription is bounded by it.
    fn subscribe(&self, filter: &SubscriptionFilter) -> Box<dyn Changes>;
}

/// One subscription to a bus. Dropping it ends it.
pub trait Changes: Send + 'static {
    /// The next change; `Ready(None)` once the bus is closed. A slow reader loses no *kind* of change,
    /// but may be told once of what happened several times.
    fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<Option<Change>>;
}

/// Announces changes, from inside a handler or outside of any request. Cheap to clone.
///
/// As an extractor it is a parameter like any other; outside handlers it comes from `Server::notifier`.
#[derive(Clone)]
pub struct Notifier {
    bus: Arc<dyn ChangeBus>,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notifier")
    }
}

impl Notifier {
    pub(crate) fn new(bus: Arc<dyn ChangeBus>) -> Self {
        Self { bus }
    }

    /// The contents of this resource changed.
    pub fn resource_updated(&self, uri: &str) {
        self.bus.publish(Change::Resource(uri.into()));
    }

    /// The list of tools is not what it was, although the catalog is: visibility changed, for example.
    pub fn tools_changed(&self) {
        self.bus.publish(Change::Tools);
    }

    /// The list of prompts is not what it was.
    pub fn prompts_changed(&self) {
        self.bus.publish(Change::Prompts);
    }

    /// The list of resources is not what it was.
    pub fn resources_changed(&self) {
        self.bus.publish(Change::Resources);
    }
}

/// Waits for the next change of a subscription.
pub async fn next_change(changes: &mut dyn Changes) -> Option<Change> {
    std::future::poll_fn(|cx| changes.poll_change(cx)).await
}
