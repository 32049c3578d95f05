//! `Ctx`: how a handler speaks before its reply, and what it may know about the request.
//!
//! Progress and log messages go into the exchange's own outbox; there is no other way out. Where to look
//! next: `outbox.rs` for the pace, `exchange.rs` for the order.

use std::future::{Future, poll_fn, ready};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use serde::Serialize;
use switchboard_protocol::RequestId;
use switchboard_protocol::model::capability::{ClientCapabilities, Implementation};
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_protocol::trace::TraceContext;
use tokio::sync::watch;

use crate::call::{Call, CallMeta};
use crate::extract::{FromCall, Rejection};
use crate::needs::Needs;
use crate::outbox::Outbox;

/// The context of one exchange. Cheap to clone; a clone that outlives the exchange says nothing any more.
///
/// ```
/// use switchboard_server::Ctx;
///
/// async fn index(ctx: Ctx) -> String {
///     for part in 0..4 {
///         ctx.progress(f64::from(part), 4.0).await;
///     }
///     "indexed".into()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Ctx {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    id: RequestId,
    meta: CallMeta,
    outbox: Option<Arc<Outbox>>,
    alive: watch::Receiver<()>,
}

/// How contexts learn that the exchange is over: it ends with the call that owns it, unless it was told to
/// follow something that ends earlier.
#[derive(Debug, Default)]
pub(crate) struct Alive(OnceLock<Life>);

#[derive(Debug)]
enum Life {
    OfTheCall(watch::Sender<()>),
    OfAnother(watch::Receiver<()>),
}

impl Alive {
    /// From now on the exchange is over when the sender is dropped.
    pub(crate) fn follow(&mut self) -> watch::Sender<()> {
        let (sender, receiver) = watch::channel(());
        self.0 = OnceLock::from(Life::OfAnother(receiver));
        sender
    }

    fn subscribe(&self) -> watch::Receiver<()> {
        match self.0.get_or_init(|| Life::OfTheCall(watch::channel(()).0)) {
            Life::OfTheCall(sender) => sender.subscribe(),
            Life::OfAnother(receiver) => receiver.clone(),
        }
    }
}

impl<S: Sync> FromCall<S> for Ctx {
    fn describe(needs: &mut Needs) {
        needs.context();
    }

    fn from_call(call: &Call, _state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send {
        let inner = Inner {
            id: call.id.clone(),
            meta: call.meta.clone(),
            outbox: call.outbox.clone(),
            alive: call.alive.subscribe(),
        };
        ready(Ok(Self { inner: Arc::new(inner) }))
    }
}

impl Ctx {
    /// Reports how far the work has come. Nothing happens where the request did not ask for progress;
    /// values that do not grow are dropped; what comes faster than the pace is coalesced to the newest
    /// [spec: basic/patterns/progress].
    pub async fn progress(&self, done: f64, total: f64) {
        self.report(done, Some(total), None).await;
    }

    /// As [`Ctx::progress`], with words for the person; `total` may be unknown.
    pub async fn progress_message(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        if self.inner.outbox.is_some() {
            self.report(done, total, Some(message.into())).await;
        }
    }

    async fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if self.inner.outbox.as_ref().is_some_and(|outbox| outbox.progress(done, total, message)) {
            let_it_out().await;
        }
    }

    /// Sends a log message to the client, if the request asked for messages of this level
    /// [spec: server/utilities/logging]. For your own log use `tracing`.
    pub async fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.log_as(None, level, &data).await;
    }

    /// As [`Ctx::log`], naming the part of the server that speaks.
    pub async fn log_as(&self, logger: Option<&str>, level: LoggingLevel, data: &impl Serialize) {
        if self.inner.outbox.as_ref().is_some_and(|outbox| outbox.log(level, logger, data)) {
            let_it_out().await;
        }
    }

    /// Whether a log message of this level would be sent, for messages that are costly to make.
    #[must_use]
    pub fn wants_log(&self, level: LoggingLevel) -> bool {
        self.inner.outbox.as_ref().is_some_and(|outbox| outbox.wants(level) && !outbox.is_closed())
    }

    /// Waits until the exchange is over: the client cancelled or left, the handler timed out, or the reply
    /// is out. The handler itself is dropped then; this is for what it spawned, and for the handlers of
    /// tools with a [`grace`](crate::Tool::grace), which are told before they are dropped.
    pub async fn cancelled(&self) {
        let mut alive = self.inner.alive.clone();
        while alive.changed().await.is_ok() {}
    }

    /// Whether the exchange is over.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.alive.has_changed().is_err()
    }

    /// The id of the request.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.inner.id
    }

    /// Version, identity, capabilities, and the rest of `_meta`.
    #[must_use]
    pub fn meta(&self) -> &CallMeta {
        &self.inner.meta
    }

    /// Who the client says it is. Self-reported; never a base for a decision.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        self.inner.meta.client_info()
    }

    /// What the client can do.
    #[must_use]
    pub fn client_capabilities(&self) -> ClientCapabilities {
        self.inner.meta.client_capabilities()
    }

    /// The trace that the request belongs to.
    #[must_use]
    pub fn trace_context(&self) -> TraceContext {
        self.inner.meta.trace_context()
    }
}

/// Gives the exchange a turn, so that what was said is sent although the handler does not wait for
/// anything else.
async fn let_it_out() {
    let mut turned = false;
    poll_fn(|cx| {
        if turned {
            return Poll::Ready(());
        }
        turned = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
