//! Handlers in tasks, for the tools that ask for it: one that runs in a task of its own, and one that may
//! go on for a while after nobody waits for it any more.
//!
//! Other handlers have no task: they run where their exchange is polled, and are dropped with it. Where to
//! look next: `exchange.rs` drops handlers, `ctx.rs` tells them.

use std::fmt;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use switchboard_protocol::ProtocolError;
use switchboard_protocol::error::Origin;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::exchange::ReplyFuture;
use crate::reply::Reply;

/// A handler in a task of its own. The task starts at the first poll; dropping this aborts it.
pub(crate) enum Spawned {
    Waiting(ReplyFuture),
    Running(JoinHandle<Reply>),
}

impl Future for Spawned {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        loop {
            match &mut *self {
                Self::Running(task) => {
                    return Poll::Ready(match ready!(Pin::new(task).poll(cx)) {
                        Ok(reply) => reply,
                        Err(error) => match error.try_into_panic() {
                            // As if it had happened here: the exchange knows what to say.
                            Ok(panic) => resume_unwind(panic),
                            Err(_) => {
                                let error = ProtocolError::internal("The server is shutting down");
                                Reply::error(error, Origin::Handler)
                            }
                        },
                    });
                }
                Self::Waiting(future) => {
                    let nothing: ReplyFuture = Box::pin(std::future::pending());
                    let future = std::mem::replace(future, nothing);
                    *self = Self::Running(tokio::spawn(future));
                }
            }
        }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        if let Self::Running(task) = self {
            task.abort();
        }
    }
}

/// Counts the handlers that go on after their exchange, up to a limit.
#[derive(Debug)]
pub(crate) struct Lingering {
    count: watch::Sender<usize>,
    limit: usize,
}

impl Lingering {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { count: watch::Sender::new(0), limit })
    }

    /// Waits until there is none.
    pub(crate) async fn ended(&self) {
        // The sender lives in `self`, so this is no error.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    fn enter(self: &Arc<Self>) -> Option<Place> {
        let entered = self.count.send_if_modified(|count| {
            let free = *count < self.limit;
            *count += usize::from(free);
            free
        });
        entered.then(|| Place(Arc::clone(self)))
    }
}

struct Place(Arc<Lingering>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.count.send_modify(|count| *count -= 1);
    }
}

/// A handler with a grace: dropped before its end, it is told and goes on in a task until its time is up.
pub(crate) struct Graced {
    future: Option<ReplyFuture>,
    /// Contexts learn that the exchange is over when this is dropped.
    alive: Option<watch::Sender<()>>,
    grace: Duration,
    lingering: Arc<Lingering>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing has happened yet that would need an end.
    New,
    /// Within a poll. If it still is afterwards, the handler has panicked.
    Polled,
    Waiting,
}

impl fmt::Debug for Graced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graced").field("grace", &self.grace).finish_non_exhaustive()
    }
}

impl Graced {
    /// `alive` is what the contexts of the handler listen to.
    pub(crate) fn new(
        future: ReplyFuture,
        alive: watch::Sender<()>,
        (grace, lingering): (Duration, Arc<Lingering>),
    ) -> Self {
        Self { future: Some(future), alive: Some(alive), grace, lingering, state: State::New }
    }
}

impl Future for Graced {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        self.state = State::Polled;
        let Some(future) = &mut self.future else { return Poll::Pending };
        let reply = future.as_mut().poll(cx);
        self.state = State::Waiting;
        if reply.is_ready() {
            self.future = None;
        }
        reply
    }
}

impl Drop for Graced {
    fn drop(&mut self) {
        drop(self.alive.take());
        let Some(future) = self.future.take().filter(|_| self.state == State::Waiting) else { return };
        // Without a runtime there is nothing that the handler could go on in.
        let Ok(runtime) = Handle::try_current() else { return };
        let Some(place) = self.lingering.enter() else {
            tracing::warn!(
                limit = self.lingering.limit,
                "too many handlers are in their grace; this one is dropped at once"
            );
            return;
        };
        let grace = self.grace;
        runtime.spawn(async move {
            let _place = place;
            if tokio::time::timeout(grace, future).await.is_err() {
                tracing::debug!(?grace, "a handler did not end within its grace and is dropped");
            }
        });
    }
}
