//! The place of a call among those that run on its server, which is left while a person is asked.
//!
//! Between two rounds of a modern call its server works on nothing, and the person may take hours: other calls go on
//! meanwhile, and the next round waits for a place as the first did. In a session of the legacy era the call that asks is
//! still being worked on, and over a pipe nothing but the order of things says which call a question belongs to. There
//! the place is kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use switchboard_client::{
    CreateMessage, CreateMessageResult, Elicit, ElicitResult, InputRequiredResult, ListRootsResult, Refused,
};
use switchboard_protocol::model::tool::Tool;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::upstream::{Slot, Upstream};
use crate::name::{CallId, ServerName};
use crate::questions::Questions;

/// The place of one call.
pub(super) struct Place {
    upstream: Arc<dyn Upstream>,
    slots: Arc<Semaphore>,
    tool: Arc<Tool>,
    held: Mutex<Held>,
}

/// A call that is being made. Its place is free when this is dropped, whoever else still knows of the call: what was
/// cancelled may be answered for a long time.
pub(super) struct Stay(Arc<Place>);

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.lock().slot = None;
    }
}

#[derive(Default)]
struct Held {
    slot: Option<(Option<OwnedSemaphorePermit>, Slot)>,
    /// How many of its questions are open.
    open: usize,
}

impl Place {
    /// Waits for a place.
    pub(super) async fn take(upstream: &Arc<dyn Upstream>, slots: &Arc<Semaphore>, tool: &Arc<Tool>) -> Stay {
        let (upstream, slots, tool) = (Arc::clone(upstream), Arc::clone(slots), Arc::clone(tool));
        let place = Self { upstream, slots, tool, held: Mutex::default() };
        place.take_again().await;
        Stay(Arc::new(place))
    }

    async fn take_again(&self) {
        // It is never closed.
        let own = Arc::clone(&self.slots).acquire_owned().await.ok();
        let slot = (own, self.upstream.slot(&self.tool).await);
        self.lock().slot = Some(slot);
    }

    /// Asks without the place. Whoever has answered the last of its questions takes it again.
    async fn without<T>(&self, asked: impl Future<Output = T>) -> T {
        {
            let mut held = self.lock();
            held.open += 1;
            held.slot = None;
        }
        let answer = asked.await;
        let last = {
            let mut held = self.lock();
            held.open -= 1;
            held.open == 0
        };
        if last {
            self.take_again().await;
        }
        answer
    }

    // Nothing panics while it is held, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever answers what the server asks during the call.
pub(super) struct Asking {
    questions: Arc<dyn Questions>,
    place: Arc<Place>,
    leaves: bool,
}

impl Asking {
    /// `leaves` says whether the server works on nothing while it asks.
    pub(super) fn new(questions: &Arc<dyn Questions>, stay: &Stay, leaves: bool) -> Arc<Self> {
        Arc::new(Self { questions: Arc::clone(questions), place: Arc::clone(&stay.0), leaves })
    }

    async fn asked<T>(&self, asked: impl Future<Output = T>) -> T {
        if self.leaves { self.place.without(asked).await } else { asked.await }
    }
}

impl Questions for Asking {
    fn elicit<'a>(
        &'a self,
        server: &'a ServerName,
        call: Option<CallId>,
        asked: Elicit,
    ) -> BoxFuture<'a, ElicitResult> {
        self.asked(self.questions.elicit(server, call, asked)).boxed()
    }

    fn sample<'a>(
        &'a self,
        server: &'a ServerName,
        call: Option<CallId>,
        asked: CreateMessage,
    ) -> BoxFuture<'a, Result<CreateMessageResult, Refused>> {
        self.asked(self.questions.sample(server, call, asked)).boxed()
    }

    fn roots<'a>(&'a self, server: &'a ServerName) -> BoxFuture<'a, ListRootsResult> {
        self.questions.roots(server)
    }

    fn input_required(&self, server: &ServerName, call: Option<CallId>, asked: &InputRequiredResult) {
        self.questions.input_required(server, call, asked);
    }

    fn kept_round(&self, call: CallId, goes_on: bool) -> Option<InputRequiredResult> {
        self.questions.kept_round(call, goes_on)
    }
}
