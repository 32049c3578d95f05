//! The tools of a server: what is known of them, whether that is fresh, and how they are asked for again.
//!
//! What is known is fresh while a change of it would be heard, and as long as the server said (`ttlMs`), which the
//! client's cache knows [spec: server/utilities/caching]. The keeper asks; whoever needs the tools leaves an order and
//! waits, but not for long: a server that does not answer keeps what is known of it.

use std::sync::Arc;
use std::time::Duration;

use switchboard_client::Hearing;
use tokio::time::{Instant, timeout};

use super::{Server, State};
use crate::policy::{LISTING, Listing, UpstreamError};
use crate::supervisor::status::ServerState;

/// A list that came with the connection counts for the first run, if that begins within this time.
const NEW: Duration = Duration::from_secs(1);

/// How far what is known is to be believed.
#[derive(Default)]
pub(super) struct Freshness {
    /// Whether a change is heard, where the server tells of changes.
    hearing: Option<Hearing>,
    /// Whether what is known was asked for since changes are heard.
    covered: bool,
    /// When the connection was made whose first list nobody has used yet.
    new: Option<Instant>,
    /// How many lists were asked for; `Server::listed` says which of them is there.
    asked: u64,
    /// Since when one is waited for.
    since: Option<Instant>,
    /// How many calls had ended when the last one was asked for.
    ended: u64,
    /// Whether a change was heard of that no list was asked for since.
    told: bool,
}

impl Freshness {
    /// What is known came with a connection.
    pub(super) fn arrived(&mut self, ended: u64) {
        *self = Self { asked: self.asked, ended, new: Some(Instant::now()), ..Self::default() };
    }

    fn is_fresh(&mut self) -> bool {
        let new = self.new.take().is_some_and(|new| new.elapsed() < NEW);
        if self.told {
            return false;
        }
        new || (self.covered && self.hearing.as_ref().is_some_and(Hearing::tools))
    }

    /// Whether the server has been asked for so long that it is not waited for.
    fn hangs(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= LISTING)
    }
}

/// # For the keeper
impl Server {
    /// Changes are heard from now on, or not any more.
    pub(in crate::supervisor) fn hears(&self, hearing: Option<Hearing>) {
        let fresh = &mut self.lock().fresh;
        (fresh.hearing, fresh.covered) = (hearing, false);
    }

    /// The server says that its tools have changed.
    pub(in crate::supervisor) fn told(&self) {
        self.lock().fresh.told = true;
    }

    /// Whether it said so since they were asked for last.
    pub(in crate::supervisor) fn is_told(&self) -> bool {
        self.lock().fresh.told
    }

    /// The tools are asked for. Gives the number that [`end_listing`](Self::end_listing) wants.
    pub(in crate::supervisor) fn begin_listing(&self) -> u64 {
        let mut state = self.lock();
        // Whoever ordered it waits for this one.
        state.orders.list = false;
        let ended = state.ended;
        let fresh = &mut state.fresh;
        (fresh.ended, fresh.told) = (ended, false);
        if fresh.asked == *self.listed.borrow() {
            // Somebody who needs the tools meanwhile waits for this, too.
            fresh.asked += 1;
        }
        fresh.since = Some(Instant::now());
        fresh.covered = fresh.hearing.as_ref().is_some_and(Hearing::tools);
        fresh.asked
    }

    /// That list is there, or will not come.
    pub(in crate::supervisor) fn end_listing(&self, number: u64, came: bool) {
        {
            let fresh = &mut self.lock().fresh;
            fresh.since = None;
            fresh.covered &= came;
        }
        self.listed.send_replace(number);
    }

    /// Everything that was told so far is read. Whether the tools are to be listed because of it; else whoever waited has
    /// what is known.
    pub(in crate::supervisor) fn heard_out(&self) -> bool {
        let number = {
            let fresh = &self.lock().fresh;
            if fresh.told || fresh.hearing.is_none() {
                return true;
            }
            fresh.asked
        };
        self.listed.send_replace(number);
        false
    }

    /// Nothing is asked on this connection any more.
    pub(in crate::supervisor) fn leave_listing(&self) {
        let number = {
            let fresh = &mut self.lock().fresh;
            *fresh = Freshness { asked: fresh.asked, ..Freshness::default() };
            fresh.asked
        };
        self.listed.send_replace(number);
    }

    /// What its tools are now; says whether that is something else than before.
    pub(in crate::supervisor) fn relisted(&self, listing: Listing) -> bool {
        let mut state = self.lock();
        let same = state.listing.as_ref().is_some_and(|before| before.is_same(&listing));
        if !same {
            state.listing = Some(Arc::new(listing));
        }
        drop(state);
        if !same {
            self.changed();
        }
        !same
    }
}

/// # For everybody else
impl Server {
    /// The tools that it has now, or had when it was stopped.
    pub(in crate::supervisor) fn listing(&self) -> Result<Arc<Listing>, UpstreamError> {
        let state = self.lock();
        match (state.phase, &state.listing) {
            (ServerState::Ready | ServerState::Idle | ServerState::Restarting, Some(listing)) => {
                Ok(Arc::clone(listing))
            }
            _ => Err(state.why_not()),
        }
    }

    /// Has the tools listed again where what is known of them may be stale.
    pub(in crate::supervisor) async fn freshen(&self) {
        let number = self.lock().order_listing();
        self.ordered.notify_one();
        self.wait_for_listing(number).await;
    }

    /// The tools as a call that is about to leave may find them. A list that is on its way is waited for; one is asked for
    /// where a change was heard of, and where a call has ended since the last one, of which nothing would be heard.
    pub(in crate::supervisor) async fn newest(&self) -> Option<Arc<Listing>> {
        let number = self.lock().order_newest();
        self.ordered.notify_one();
        self.wait_for_listing(number).await;
        self.listing().ok()
    }

    async fn wait_for_listing(&self, number: Option<u64>) {
        let Some(number) = number else { return };
        let mut listed = self.listed.subscribe();
        if timeout(LISTING, listed.wait_for(|listed| *listed >= number)).await.is_err() {
            let seconds = LISTING.as_secs();
            self.logs.host(format!(
                "it did not list its tools within {seconds} s; those that are known are used until it does"
            ));
        }
    }
}

impl State {
    /// As [`order_listing`](Self::order_listing), for a call. What was told before the last answer may not be read yet; the
    /// keeper reads it first.
    fn order_newest(&mut self) -> Option<u64> {
        if self.fresh.told || (self.fresh.ended != self.ended && !self.fresh.is_fresh()) {
            return self.order_listing();
        }
        if self.phase != ServerState::Ready || self.fresh.hangs() {
            return None;
        }
        if self.fresh.since.is_none() {
            self.fresh.hearing.as_ref()?;
            self.fresh.asked += 1;
            self.orders.hear = true;
        }
        Some(self.fresh.asked)
    }

    /// Leaves an order for the keeper where one is needed. Gives what is to be waited for.
    fn order_listing(&mut self) -> Option<u64> {
        if self.phase != ServerState::Ready {
            return None;
        }
        let hangs = self.fresh.hangs();
        if self.fresh.is_fresh() {
            // It may just be listed because of a change.
            return (self.fresh.since.is_some() && !hangs).then_some(self.fresh.asked);
        }
        self.fresh.asked += 1;
        self.orders.list = true;
        (!hangs).then_some(self.fresh.asked)
    }
}
