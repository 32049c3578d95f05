//! A running handler and everything that it says until its reply.
//!
//! An [`Exchange`] is polled by whoever carries its messages: an HTTP body, a pipe. There is no task and
//! no channel; dropping it drops the handler, which is the cancellation. Panics and timeouts of the
//! handler end here, as replies. Where to look next: `server.rs` opens exchanges, `outbox.rs` holds what
//! is said before the reply.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::model::subscription::SubscriptionFilter;
use switchboard_protocol::{Method, RequestId};
use tokio::time::{Instant, Sleep};

use crate::errors::Reference;
use crate::outbox::{Next, Outbox};
use crate::reply::Reply;

/// A future that gives a reply.
pub type ReplyFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// What became of a call.
#[derive(Debug)]
pub enum Dispatch {
    /// The reply is there: lists, discovery, errors.
    Ready(Reply),
    /// A handler runs.
    Running(Exchange),
    /// A subscription is to be opened; the transport does that.
    Listen(ListenRequest),
}

/// A subscription that was granted.
#[derive(Clone, Debug)]
pub struct ListenRequest {
    /// The id of the request, which is also the id of the subscription.
    pub id: RequestId,
    /// What the server agreed to: goes into the acknowledgement.
    pub filter: SubscriptionFilter,
}

/// What an exchange says next.
#[derive(Debug)]
pub enum ExchangeEvent {
    /// A JSON-RPC notification, ready to be sent.
    Notification(Bytes),
    /// The end.
    Reply(Reply),
}

/// A running handler.
pub struct Exchange {
    /// The id of the request: the reply is encoded under it.
    pub id: RequestId,
    future: Option<ReplyFuture>,
    reply: Option<Reply>,
    outbox: Option<Arc<Outbox>>,
    guard: Guard,
    /// Wakes the exchange for its timeout, or for progress that is held back; made when first needed.
    timer: Option<Pin<Box<Sleep>>>,
    deadline: Option<Instant>,
    stamp: Arc<str>,
}

/// How a handler that does not end by itself is ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) method: Method,
    pub(crate) timeout: Option<Duration>,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Exchange {
    pub(crate) fn new(
        id: RequestId,
        future: ReplyFuture,
        outbox: Option<Arc<Outbox>>,
        (guard, stamp): (Guard, Arc<str>),
    ) -> Self {
        Self { id, future: Some(future), reply: None, outbox, guard, timer: None, deadline: None, stamp }
    }

    /// Whether notifications may come before the reply. Where not, the reply is all there is to wait for.
    #[must_use]
    pub fn may_notify(&self) -> bool {
        self.outbox.is_some()
    }

    /// Runs the handler until it says something. Notifications always come before the reply; after the
    /// reply, polling again is pending for ever.
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<ExchangeEvent> {
        if let Some(outbox) = &self.outbox {
            outbox.register(cx.waker());
            if let Next::Message(message) = outbox.next(self.reply.is_some()) {
                return Poll::Ready(ExchangeEvent::Notification(message));
            }
        }
        if self.reply.is_none() {
            self.poll_handler(cx);
        }
        match self.poll_outbox() {
            Next::Message(message) => return Poll::Ready(ExchangeEvent::Notification(message)),
            Next::Later(due) => return self.poll_timer(cx, Some(due)),
            Next::Empty => {}
        }
        if let Some(reply) = self.reply.take() {
            return Poll::Ready(ExchangeEvent::Reply(reply.stamped(&self.stamp)));
        }
        self.poll_timer(cx, None)
    }

    /// The next event, as a future.
    pub async fn next_event(&mut self) -> ExchangeEvent {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_handler(&mut self, cx: &mut Context<'_>) {
        let Some(future) = &mut self.future else { return };
        // The future is dropped right after a panic and never polled again.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(reply)) => self.finish(reply),
            Err(panic) => {
                let reference = Reference::new();
                let cause = panic_text(&*panic);
                tracing::error!(%reference, method = self.guard.method.name(), cause, "a handler panicked");
                reference.keep(&format_args!("a handler panicked: {cause}"));
                self.finish(Reply::failure(self.guard.method, reference.sentence()));
            }
        }
    }

    fn finish(&mut self, reply: Reply) {
        let future = self.future.take();
        // What a handler owns may panic when it is dropped, too.
        if catch_unwind(AssertUnwindSafe(|| drop(future))).is_err() {
            tracing::error!("what a handler left behind panicked when it was dropped");
        }
        if let Some(outbox) = &self.outbox {
            outbox.close();
        }
        self.reply = Some(reply);
    }

    fn poll_outbox(&self) -> Next {
        self.outbox.as_ref().map_or(Next::Empty, |outbox| outbox.next(self.reply.is_some()))
    }

    /// Waits for the deadline of the handler, or for the moment when held-back progress is due.
    fn poll_timer(&mut self, cx: &mut Context<'_>, due: Option<Instant>) -> Poll<ExchangeEvent> {
        if self.future.is_none() {
            return Poll::Pending;
        }
        if self.deadline.is_none() {
            self.deadline = self.guard.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        }
        let Some(until) = [self.deadline, due].into_iter().flatten().min() else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if timer.deadline() != until {
            timer.as_mut().reset(until);
        }
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if self.deadline.is_some_and(|deadline| deadline <= until) {
            let seconds = self.guard.timeout.unwrap_or_default().as_secs_f64();
            self.finish(Reply::failure(self.guard.method, format!("timed out after {seconds} s")));
        }
        self.poll_event(cx)
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // Whoever kept a context past the end learns that it is over.
        if let Some(outbox) = &self.outbox {
            outbox.close();
        }
    }
}
