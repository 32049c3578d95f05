//! Changes in a session as the modern stream of them: the acknowledgement first, then what changed. The
//! server announces changes of lists to everybody; for resources it is asked, resource by resource, and
//! asked to stop when nobody listens any more.
//!
//! A stream owns a set of what changed and no queue, so that a slow reader costs nothing.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_protocol::model::capability::ServerCapabilities;
use switchboard_protocol::model::notification::{SubscriptionsAcknowledged, name};
use switchboard_protocol::model::subscription::SubscriptionFilter;
use tokio::sync::Notify;

use super::session::Session;
use crate::error::{Delivery, Error, Kind};
use crate::link::Said;
use crate::params::Ask;

/// So many changed resources are told one by one, if their URIs have no more than so many bytes together; more
/// of them are told as a gap.
const MAX_UPDATED: usize = 1024;
const MAX_UPDATED_BYTES: usize = 1 << 20;

/// What changed and was not read yet.
#[derive(Default)]
pub(super) struct Dirty {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// What is wanted, once it is known.
    granted: SubscriptionFilter,
    lists: BTreeSet<&'static str>,
    updated: BTreeSet<String>,
    updated_bytes: usize,
    missed: bool,
    over: bool,
}

/// What there is to say.
enum Next {
    List(&'static str),
    Updated(String),
    Missed,
    Over,
}

impl Dirty {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list that this notification is about changed.
    pub(super) fn list(&self, method: &str) {
        {
            let mut state = self.lock();
            let wanted = match method {
                name::TOOLS_CHANGED => (state.granted.tools_list_changed, name::TOOLS_CHANGED),
                name::PROMPTS_CHANGED => (state.granted.prompts_list_changed, name::PROMPTS_CHANGED),
                name::RESOURCES_CHANGED => (state.granted.resources_list_changed, name::RESOURCES_CHANGED),
                _ => return,
            };
            let (Some(true), method) = wanted else { return };
            state.lists.insert(method);
        }
        self.changed.notify_one();
    }

    /// This resource changed. It may be a part of one that was asked for.
    pub(super) fn resource(&self, uri: &str) {
        {
            let mut state = self.lock();
            let wanted = state.granted.resource_subscriptions.iter().flatten();
            if !wanted.into_iter().any(|wanted| uri.starts_with(wanted.as_str())) {
                return;
            }
            state.update(uri);
        }
        self.changed.notify_one();
    }

    pub(super) fn miss(&self) {
        self.lock().missed = true;
        self.changed.notify_one();
    }

    pub(super) fn end(&self) {
        self.lock().over = true;
        self.changed.notify_one();
    }

    fn grant(&self, change: impl FnOnce(&mut SubscriptionFilter)) {
        change(&mut self.lock().granted);
    }

    fn granted(&self) -> SubscriptionFilter {
        self.lock().granted.clone()
    }

    async fn next(&self) -> Next {
        loop {
            if let Some(next) = self.lock().next() {
                return next;
            }
            self.changed.notified().await;
        }
    }
}

impl State {
    fn update(&mut self, uri: &str) {
        if self.updated.contains(uri) {
            return;
        }
        let bytes = self.updated_bytes.saturating_add(uri.len());
        if self.updated.len() < MAX_UPDATED && bytes <= MAX_UPDATED_BYTES {
            self.updated.insert(uri.to_owned());
            self.updated_bytes = bytes;
        } else {
            self.missed = true;
        }
    }

    fn next(&mut self) -> Option<Next> {
        if std::mem::take(&mut self.missed) {
            return Some(Next::Missed);
        }
        if let Some(method) = self.lists.pop_first() {
            return Some(Next::List(method));
        }
        if let Some(uri) = self.updated.pop_first() {
            self.updated_bytes -= uri.len();
            return Some(Next::Updated(uri));
        }
        self.over.then_some(Next::Over)
    }
}

/// The stream of one listener.
pub(crate) struct LocalStream {
    session: Arc<Session>,
    dirty: Arc<Dirty>,
    acknowledgement: Option<Box<RawValue>>,
    /// The resources that this listener wants to hear of.
    listened: Vec<String>,
}

impl LocalStream {
    /// Asks for what the filter of `subscriptions/listen` wants, as far as the server has it.
    pub(super) async fn open(session: &Arc<Session>, ask: &Ask) -> Result<Self, Error> {
        let wanted: SubscriptionFilter = match ask.member("notifications") {
            Some(raw) => serde_json::from_str(raw.get()).map_err(|error| {
                Error::misuse(format!("the filter of {} is invalid: {error}", ask.method))
            })?,
            None => SubscriptionFilter::default(),
        };
        let dirty = Arc::new(Dirty::default());
        let capabilities = &session.discovered.capabilities;
        dirty.grant(|granted| *granted = lists(&wanted, capabilities));
        session.ears.listener(&dirty);
        let mut stream =
            Self { session: Arc::clone(session), dirty, acknowledgement: None, listened: Vec::new() };
        if let Some(uris) = wanted.resource_subscriptions {
            let watches =
                capabilities.resources.as_ref().is_some_and(|resources| resources.subscribe == Some(true));
            stream.dirty.grant(|granted| granted.resource_subscriptions = Some(Vec::new()));
            for uri in BTreeSet::from_iter(uris.into_iter().filter(|_| watches)) {
                stream.watch(uri).await?;
            }
        }
        session.carrier.listening().await;
        let acknowledged = SubscriptionsAcknowledged { notifications: stream.dirty.granted(), meta: None };
        stream.acknowledgement = Some(raw(&acknowledged)?);
        Ok(stream)
    }

    /// A resource that the server refuses to watch is not granted; the others are.
    async fn watch(&mut self, uri: String) -> Result<(), Error> {
        self.session.watched.join(&uri);
        // Noted before it is waited for: a listener that leaves meanwhile leaves this, too.
        self.listened.push(uri.clone());
        match self.session.watch(&uri).await {
            Ok(()) => {
                self.dirty.grant(|granted| granted.resource_subscriptions.get_or_insert_default().push(uri));
                Ok(())
            }
            Err(error) if error.protocol_error().is_some() => {
                tracing::debug!(%error, "the server does not watch a resource");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn next(&mut self) -> Result<Said, Error> {
        if let Some(acknowledgement) = self.acknowledgement.take() {
            return Ok(Said::Subscription(name::ACKNOWLEDGED.to_owned(), Some(acknowledgement)));
        }
        match self.dirty.next().await {
            Next::List(method) => Ok(Said::Subscription(method.to_owned(), None)),
            Next::Updated(uri) => {
                #[derive(Serialize)]
                struct Updated {
                    uri: String,
                }
                Ok(Said::Subscription(name::RESOURCE_UPDATED.to_owned(), Some(raw(&Updated { uri })?)))
            }
            Next::Missed => Ok(Said::Missed),
            Next::Over => {
                Err(Error::new(Kind::Lost, Delivery::MaybeExecuted, "the session with the server has ended"))
            }
        }
    }
}

impl Drop for LocalStream {
    fn drop(&mut self) {
        self.session.unwatch(&self.listened);
    }
}

/// Changes of lists that the server announces.
fn lists(wanted: &SubscriptionFilter, offered: &ServerCapabilities) -> SubscriptionFilter {
    let granted = |wanted: Option<bool>, announced: Option<bool>| match wanted {
        Some(true) if announced == Some(true) => Some(true),
        _ => None,
    };
    let tools = offered.tools.as_ref().and_then(|tools| tools.list_changed);
    let prompts = offered.prompts.as_ref().and_then(|prompts| prompts.list_changed);
    let resources = offered.resources.as_ref().and_then(|resources| resources.list_changed);
    SubscriptionFilter {
        tools_list_changed: granted(wanted.tools_list_changed, tools),
        prompts_list_changed: granted(wanted.prompts_list_changed, prompts),
        resources_list_changed: granted(wanted.resources_list_changed, resources),
        resource_subscriptions: None,
    }
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| Error::misuse(format!("a change cannot be written as JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::{Dirty, MAX_UPDATED, MAX_UPDATED_BYTES, Next};

    /// How many of these resources are told one by one, and whether the rest is told as a gap.
    fn told(uris: impl Iterator<Item = String>) -> (usize, bool) {
        let dirty = Dirty::default();
        dirty.grant(|granted| granted.resource_subscriptions = Some(vec!["x://".into()]));
        uris.for_each(|uri| dirty.resource(&uri));
        let said: Vec<_> = std::iter::from_fn(|| dirty.lock().next()).collect();
        let updated = said.iter().filter(|next| matches!(next, Next::Updated(_))).count();
        assert_eq!(dirty.lock().updated_bytes, 0);
        (updated, said.iter().any(|next| matches!(next, Next::Missed)))
    }

    #[test]
    fn a_flood_of_changed_resources_is_told_as_a_gap() {
        let uris =
            |count: usize, pad: usize| (0..count).map(move |at| format!("x://{at:08}{}", "a".repeat(pad)));
        assert_eq!(told(uris(MAX_UPDATED, 0)), (MAX_UPDATED, false));
        assert_eq!(told(uris(MAX_UPDATED + 1, 0)), (MAX_UPDATED, true));
        assert_eq!(told(uris(5, MAX_UPDATED_BYTES / 4)), (3, true));
        assert_eq!(told(std::iter::repeat_n("x://1".to_owned(), 2 * MAX_UPDATED)), (1, false));
        assert_eq!(told(["y://1".to_owned()].into_iter()), (0, false));
    }
}
