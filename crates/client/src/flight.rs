//! Single flight: callers that want the same answer at the same time wait for one request.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};

use crate::cache::{Generation, Key, Stored};
use crate::error::Error;

type Answer = Pin<Box<dyn Future<Output = Result<Stored, Error>> + Send>>;

/// The requests under way. Whoever waits drives them; when nobody waits any more they are dropped,
/// which cancels them.
#[derive(Default)]
pub(crate) struct Flights(Mutex<HashMap<Key, (Generation, WeakShared<Answer>)>>);

impl Flights {
    /// Joins the request under way for `key`, or starts the one that `start` makes. A request from
    /// before a change is not joined. Also says whether it was joined.
    pub(crate) fn join(
        &self,
        key: &Key,
        generation: Generation,
        start: impl FnOnce() -> Answer,
    ) -> (Shared<Answer>, bool) {
        let mut flights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        flights.retain(|_, (_, flight)| flight.upgrade().is_some_and(|flight| flight.peek().is_none()));
        if let Some((started, flight)) = flights.get(key)
            && *started == generation
            && let Some(flight) = flight.upgrade()
        {
            return (flight, true);
        }
        let flight = start().shared();
        if let Some(weak) = flight.downgrade() {
            flights.insert(key.clone(), (generation, weak));
        }
        (flight, false)
    }
}
