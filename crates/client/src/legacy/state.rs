//! What a client knows about the era of its server, and the requests that only a session has.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::name;
use switchboard_protocol::model::elicitation::ElicitAction;
use switchboard_protocol::model::input::InputRequests;
use tokio::time::timeout;

use super::{Keeper, Pauses, RequestPauses};
use crate::core::Core;
use crate::error::{Delivery, Error, Kind};

/// How long a server is given to say that a person is done at an address, before the request is repeated
/// the first time. It doubles.
const FIRST_VISIT: Duration = Duration::from_secs(1);
const LONGEST_VISIT: Duration = Duration::from_secs(60);

/// Whether a session may be opened, and whether one was.
#[derive(Default)]
pub(crate) struct State {
    keeper: OnceLock<Keeper>,
    /// The newest legacy revision that may be spoken, if any may.
    newest: OnceLock<Revision>,
    /// That the server is modern was not found out but assumed.
    assumed: AtomicBool,
    /// When somebody was being asked.
    pub(super) pauses: Arc<Pauses>,
}

impl State {
    pub(crate) fn keeper(&self) -> Option<&Keeper> {
        self.keeper.get()
    }

    /// The clocks of a request that begins now, if it is one in a session.
    pub(crate) fn request_pauses(&self) -> Option<RequestPauses> {
        self.keeper.get().map(|_| RequestPauses::new(&self.pauses))
    }

    /// The server is of the legacy era, for the life of this client.
    pub(super) fn keep(&self, keeper: Keeper) {
        // A second one can only come from a race that somebody else won.
        let _ = self.keeper.set(keeper);
    }

    pub(super) fn allow(&self, newest: Revision) {
        let _ = self.newest.set(newest);
    }

    /// The dates of the legacy revisions that may be spoken, newest first.
    pub(crate) fn dates(&self) -> impl Iterator<Item = &'static str> {
        let newest = self.newest.get().copied();
        let spoken =
            Revision::LEGACY.iter().filter(move |revision| newest.is_some_and(|newest| **revision <= newest));
        spoken.map(|revision| revision.date())
    }

    pub(super) fn assume(&self) {
        self.assumed.store(true, Ordering::Relaxed);
    }

    /// Whether what was assumed may be doubted; that is done once.
    pub(super) fn doubt(&self) -> bool {
        self.assumed.swap(false, Ordering::Relaxed)
    }
}

/// The addresses that a person agreed to visit for one request.
#[derive(Default)]
pub(crate) struct Visits {
    agreed: BTreeSet<String>,
    rounds: u32,
}

impl Core {
    pub(crate) async fn notify_in_session(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), Error> {
        let Some(keeper) = self.legacy.keeper() else { return Ok(()) };
        let sent = async { keeper.session(self).await?.notify(method, params).await };
        timeout(self.idle, sent).await.unwrap_or_else(|_| Err(Error::timeout(method, self.idle, true)))
    }

    pub(crate) async fn tell_roots_changed(&self) -> Result<(), Error> {
        self.notify_in_session(name::ROOTS_CHANGED, None).await
    }

    /// Sends the person to the addresses that the server wants visited, each once, and waits a while for
    /// the server to say that they are done there. The request is repeated then, whatever it said.
    pub(crate) async fn visit(&self, urls: InputRequests, visits: &mut Visits) -> Result<(), Error> {
        let ids: Vec<String> = urls.keys().cloned().collect();
        let new: InputRequests = urls.into_iter().filter(|(id, _)| !visits.agreed.contains(id)).collect();
        if !new.is_empty() {
            visits.agreed.extend(new.keys().cloned());
            visits.rounds = 0;
            for answer in self.inputs.answer(new).await?.values() {
                check_agreed(answer)?;
            }
        }
        let Some(keeper) = self.legacy.keeper() else { return Ok(()) };
        let session = keeper.session(self).await?;
        let wait = FIRST_VISIT.saturating_mul(2_u32.saturating_pow(visits.rounds)).min(LONGEST_VISIT);
        visits.rounds += 1;
        // Servers need not say it.
        let _ = timeout(wait, session.urls_done(&ids)).await;
        Ok(())
    }
}

/// Without the visit the request would only be refused again.
fn check_agreed(answer: &RawValue) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Said {
        action: ElicitAction,
    }
    match serde_json::from_str(answer.get()) {
        Ok(Said { action: ElicitAction::Accept }) => Ok(()),
        _ => Err(Error::new(
            Kind::Cancelled,
            Delivery::Rejected,
            "the person did not agree to visit an address, which the server wants before it serves the request",
        )),
    }
}
