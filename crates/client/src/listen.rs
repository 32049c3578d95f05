//! Changes of a server as a stream that heals itself [spec: basic/patterns/subscriptions].
//!
//! The stream is driven by whoever reads it: no task runs, and dropping it cancels the subscription.
//! A stream that breaks, and one that the server ends gracefully (it may only be going down for a
//! restart), is opened again with growing waits, which start over only after a change arrived.
//! Nothing is replayed, so after each gap comes [`Change::Resync`]: what was read before may be
//! stale. The stream ends when opening it again is refused for good; [`Changes::failure`] says why.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use http::HeaderMap;
use serde_json::value::RawValue;
use switchboard_protocol::Method;
use switchboard_protocol::error::ErrorCode;
use switchboard_protocol::model::notification::{ResourceUpdated, SubscriptionsAcknowledged, name};
use switchboard_protocol::model::subscription::SubscriptionFilter;
use tokio::time::{sleep, timeout};

use crate::backoff::Backoff;
use crate::core::Core;
use crate::error::{Delivery, Error, Kind};
use crate::link::{Exchange, Said};
use crate::params::{Ask, Input};

/// The longest wait that a server can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources, or that of their templates.
    Resources,
    /// The contents of this resource.
    Updated(String),
    /// Anything: there was a gap. Read again what matters.
    Resync,
    /// Nothing changed, but the server agreed to less than was asked: this.
    Narrowed(SubscriptionFilter),
}

/// A stream of [`Change`]s. While it is read, kept lists are dropped as they change.
pub struct Changes {
    stream: Pin<Box<dyn Stream<Item = Change> + Send>>,
    hearing: Hearing,
}

/// Whether changes are heard at this moment: not in a gap, and not of what the server did not agree to. A cheap clone,
/// for whoever does not read the stream; it is as new as the last read.
#[derive(Clone)]
pub struct Hearing {
    core: Arc<Core>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    granted: SubscriptionFilter,
    open: bool,
    failure: Option<Error>,
}

impl Hearing {
    /// Whether a change of the list of tools would be heard.
    #[must_use]
    pub fn tools(&self) -> bool {
        let open = |shared: &mut Shared| shared.open && shared.granted.tools_list_changed == Some(true);
        lock(&self.shared, open) && self.core.hears()
    }
}

impl Core {
    /// Whether it is heard what the server says of its own accord. Without a session, what was asked for is heard.
    fn hears(&self) -> bool {
        #[cfg(feature = "legacy")]
        return self.legacy.keeper().is_none_or(crate::legacy::Keeper::hears);
        #[cfg(not(feature = "legacy"))]
        true
    }
}

impl fmt::Debug for Hearing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hearing").field("tools", &self.tools()).finish_non_exhaustive()
    }
}

impl Changes {
    pub(crate) async fn open(core: Arc<Core>, filter: SubscriptionFilter) -> Result<Self, Error> {
        let mut listener = Listener {
            ask: Ask::new(Method::SubscriptionsListen).with("notifications", &filter)?,
            backoff: Backoff::new(core.limits.reconnect_wait),
            core,
            filter,
            exchange: None,
            ready: VecDeque::new(),
            shared: Arc::default(),
        };
        listener.open().await?;
        let hearing = Hearing { core: Arc::clone(&listener.core), shared: Arc::clone(&listener.shared) };
        let stream = futures_util::stream::unfold(listener, |mut listener| async move {
            listener.next().await.map(|change| (change, listener))
        });
        Ok(Self { stream: Box::pin(stream), hearing })
    }

    /// The next change; `None` when the stream has ended for good.
    pub async fn next(&mut self) -> Option<Change> {
        std::future::poll_fn(|context| self.stream.as_mut().poll_next(context)).await
    }

    /// What the server agreed to.
    #[must_use]
    pub fn granted(&self) -> SubscriptionFilter {
        lock(&self.hearing.shared, |shared| shared.granted.clone())
    }

    /// Whether changes are heard at this moment.
    #[must_use]
    pub fn hearing(&self) -> Hearing {
        self.hearing.clone()
    }

    /// Why the stream has ended, once it has.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        lock(&self.hearing.shared, |shared| shared.failure.clone())
    }
}

fn lock<T>(shared: &Mutex<Shared>, read: impl FnOnce(&mut Shared) -> T) -> T {
    read(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Stream for Changes {
    type Item = Change;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Change>> {
        self.stream.as_mut().poll_next(context)
    }
}

// Nobody reads it any more, so nothing is heard.
impl Drop for Listener {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("granted", &self.granted()).finish_non_exhaustive()
    }
}

struct Listener {
    core: Arc<Core>,
    ask: Ask,
    filter: SubscriptionFilter,
    exchange: Option<Exchange>,
    ready: VecDeque<Change>,
    backoff: Backoff,
    shared: Arc<Mutex<Shared>>,
}

impl Listener {
    async fn next(&mut self) -> Option<Change> {
        let mut asked_wait = None;
        loop {
            if let Some(change) = self.ready.pop_front() {
                self.invalidate(&change);
                return Some(change);
            }
            let failed = match &mut self.exchange {
                Some(exchange) => match exchange.next().await {
                    Ok(said) => {
                        self.hear(said);
                        continue;
                    }
                    Err(error) => error,
                },
                None => {
                    let wait = self.backoff.next().max(asked_wait.take().unwrap_or_default());
                    sleep(wait.min(LONGEST_WAIT)).await;
                    match self.open().await {
                        Ok(()) => {
                            self.ready.push_front(Change::Resync);
                            continue;
                        }
                        Err(error) => error,
                    }
                }
            };
            self.leave();
            if is_final(&failed) {
                lock(&self.shared, |shared| shared.failure = Some(failed.at(&self.core.name)));
                return None;
            }
            asked_wait = failed.retry_after();
            tracing::debug!(server = %self.core.name, error = %failed, "the subscription broke; it is opened again");
        }
    }

    /// Opens the stream and waits for the server's acknowledgement.
    async fn open(&mut self) -> Result<(), Error> {
        let time = self.core.limits.connect_time;
        let mut renegotiated = false;
        loop {
            let opened = timeout(time, self.open_once()).await;
            let error = match opened.unwrap_or_else(|_| Err(Error::timeout(&self.ask.method, time, true))) {
                Ok(()) => return Ok(()),
                Err(error) => error.at(&self.core.name),
            };
            self.exchange = None;
            let refused = error
                .protocol_error()
                .filter(|_| !self.core.is_legacy())
                .filter(|refusal| refusal.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION && !renegotiated);
            let Some(refusal) = refused else { return Err(error) };
            renegotiated = true;
            self.core.learned.set_revision(self.core.common_revision(refusal, &error)?);
        }
    }

    async fn open_once(&mut self) -> Result<(), Error> {
        let headers =
            if self.core.has_headers() { self.core.standard_headers(&self.ask)? } else { HeaderMap::new() };
        let run = self.core.run();
        let mut exchange = self.core.open(&self.ask, &Input::default(), headers, &run).await?;
        loop {
            match exchange.next().await? {
                Said::Subscription(method, params) if method == name::ACKNOWLEDGED => {
                    self.acknowledged(params.as_deref());
                }
                Said::Result(_) => {
                    return Err(Error::new(
                        Kind::Lost,
                        Delivery::Rejected,
                        "the server ended the subscription before it began",
                    ));
                }
                // The acknowledgement comes first; a server that forgot it has still begun.
                said @ Said::Subscription(..) => self.hear(said),
                Said::Progress(_) | Said::Log(_) | Said::Missed => continue,
            }
            self.exchange = Some(exchange);
            lock(&self.shared, |shared| shared.open = true);
            return Ok(());
        }
    }

    fn leave(&mut self) {
        self.exchange = None;
        lock(&self.shared, |shared| shared.open = false);
    }

    fn acknowledged(&mut self, params: Option<&RawValue>) {
        let acknowledged =
            params.and_then(|params| serde_json::from_str::<SubscriptionsAcknowledged>(params.get()).ok());
        let Some(acknowledged) = acknowledged else { return };
        let granted = acknowledged.notifications;
        if is_narrower(&granted, &self.filter) {
            self.ready.push_back(Change::Narrowed(granted.clone()));
        }
        lock(&self.shared, |shared| shared.granted = granted);
    }

    fn hear(&mut self, said: Said) {
        match said {
            Said::Subscription(method, params) => {
                if let Some(change) = change(&method, params.as_deref()) {
                    self.backoff.reset();
                    self.ready.push_back(change);
                }
            }
            // The graceful end; the stream is opened again.
            Said::Result(_) => self.leave(),
            Said::Log(message) => {
                if let Some(on_log) = &self.core.on_log {
                    on_log(message);
                }
            }
            // What was missed is unknown.
            Said::Missed => self.ready.push_back(Change::Resync),
            Said::Progress(_) => {}
        }
    }

    fn invalidate(&self, change: &Change) {
        let forget = |method| self.core.cache.invalidate(&self.core.server, method, None);
        match change {
            Change::Tools => forget(Method::ListTools),
            Change::Prompts => forget(Method::ListPrompts),
            Change::Resources => {
                forget(Method::ListResources);
                forget(Method::ListResourceTemplates);
            }
            Change::Updated(uri) => {
                self.core.cache.invalidate(&self.core.server, Method::ReadResource, Some(uri));
            }
            Change::Resync => {
                forget(Method::ListTools);
                forget(Method::ListPrompts);
                forget(Method::ListResources);
                forget(Method::ListResourceTemplates);
                forget(Method::ReadResource);
            }
            Change::Narrowed(_) => {}
        }
    }
}

fn change(method: &str, params: Option<&RawValue>) -> Option<Change> {
    Some(match method {
        name::TOOLS_CHANGED => Change::Tools,
        name::PROMPTS_CHANGED => Change::Prompts,
        name::RESOURCES_CHANGED => Change::Resources,
        name::RESOURCE_UPDATED => {
            Change::Updated(serde_json::from_str::<ResourceUpdated>(params?.get()).ok()?.uri)
        }
        _ => return None,
    })
}

fn is_narrower(granted: &SubscriptionFilter, asked: &SubscriptionFilter) -> bool {
    let lacks = |granted: Option<bool>, asked: Option<bool>| asked == Some(true) && granted != Some(true);
    let granted_uris = granted.resource_subscriptions.as_deref().unwrap_or_default();
    lacks(granted.tools_list_changed, asked.tools_list_changed)
        || lacks(granted.prompts_list_changed, asked.prompts_list_changed)
        || lacks(granted.resources_list_changed, asked.resources_list_changed)
        || asked.resource_subscriptions.iter().flatten().any(|uri| !granted_uris.contains(uri))
}

/// Whether trying again can only end the same way.
fn is_final(error: &Error) -> bool {
    match error.kind() {
        Kind::Cancelled | Kind::Misuse | Kind::Incompatible | Kind::Gone => true,
        Kind::Protocol | Kind::Http => error.delivery() == Delivery::Rejected && !error.is_transient(),
        Kind::Timeout
        | Kind::Silent
        | Kind::ServerFault
        | Kind::Undescribed
        | Kind::Unreadable
        | Kind::Unreachable
        | Kind::Lost
        | Kind::Limit => false,
    }
}
