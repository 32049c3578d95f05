//! Which call a message, or a question, of a shared connection belongs to.
//!
//! A call is a flight while it is under way. Its messages are known by their JSON-RPC ids and progress tokens; a
//! question asked within it, by the task that it runs in; a question of a legacy server, asked beside all calls, is
//! taken to belong to the newest. There is one router per connection, so nothing that is left of an old connection
//! reaches the calls of a new one. Where to look next: `connect.rs` for who calls it.

mod peek;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_client::{Direction, RequestId, WireMessage};
use tokio::time::Instant;

use self::peek::{Kind, Peek};
use super::logs::Logs;
use super::options::WireTap;
use super::status::LogStream;
use crate::name::{CallId, ServerName};
use crate::policy::WireSink;
use crate::questions::Questions;

/// Cancelled calls, and questions of the server, of which the end is waited for. Older ones are forgotten first.
const REMEMBERED: usize = 256;
/// For how long a cancelled call counts as one that may still run.
const LINGERS: Duration = Duration::from_secs(60);
/// Messages of one call that are not asked for and reach its own listener; a server could send them for ever.
const UNASKED: usize = 2000;
/// The tap shows a longer line in pieces of about this size.
const PIECE_BYTES: usize = 1 << 20;

tokio::task_local! {
    static CURRENT: Arc<Flight>;
}

/// A call that is under way.
pub(super) struct Flight {
    /// What the caller calls the server.
    pub(super) server: ServerName,
    pub(super) call: Option<CallId>,
    pub(super) questions: Arc<dyn Questions>,
    pub(super) wire: Option<WireSink>,
    /// What is being called, for the log.
    pub(super) what: String,
    heard: Mutex<usize>,
}

impl Flight {
    pub(super) fn new(server: &ServerName, what: String, context: &crate::policy::CallContext) -> Arc<Self> {
        Arc::new(Self {
            server: server.clone(),
            call: context.call,
            questions: Arc::clone(&context.questions),
            wire: context.wire.clone(),
            what,
            heard: Mutex::new(0),
        })
    }

    fn show(&self, message: WireMessage<'_>, unasked: bool) {
        let Some(wire) = &self.wire else { return };
        if unasked {
            let mut heard = lock(&self.heard);
            *heard += 1;
            if *heard > UNASKED {
                return;
            }
        }
        wire(message);
    }
}

/// The calls and the messages of one connection.
pub(super) struct Router {
    logs: Arc<Logs>,
    /// Who takes what belongs to no call.
    tap: Option<(ServerName, WireTap)>,
    routes: Mutex<Routes>,
}

#[derive(Default)]
struct Routes {
    /// In the order in which they began.
    flights: Vec<Arc<Flight>>,
    ids: BTreeMap<RequestId, Arc<Flight>>,
    cancelled: VecDeque<(RequestId, Arc<Flight>, Instant)>,
    /// Requests of the server that have no answer yet.
    asked: VecDeque<(RequestId, Arc<Flight>)>,
    noise: u64,
    /// A long line is passing: from the server, to the server; and whose it is.
    passing: [Option<Option<Arc<Flight>>>; 2],
}

impl Router {
    pub(super) fn new(logs: Arc<Logs>, tap: Option<(ServerName, WireTap)>) -> Arc<Self> {
        Arc::new(Self { logs, tap, routes: Mutex::default() })
    }

    /// Shows a message to whom it belongs.
    fn show(&self, owner: Option<&Arc<Flight>>, message: WireMessage<'_>, unasked: bool) {
        match (owner, &self.tap) {
            (Some(flight), _) => flight.show(message, unasked),
            (None, Some((server, tap))) => tap(server, message),
            (None, None) => {}
        }
    }

    // No code of others runs while this is held.
    fn lock(&self) -> MutexGuard<'_, Routes> {
        lock(&self.routes)
    }

    /// Runs what a flight does, so that what is asked within it is known to be its.
    pub(super) async fn fly<T>(self: &Arc<Self>, flight: Arc<Flight>, work: impl Future<Output = T>) -> T {
        self.lock().flights.push(Arc::clone(&flight));
        let mut landing = Landing { router: Arc::clone(self), flight: Arc::clone(&flight), landed: false };
        let done = CURRENT.scope(flight, work).await;
        landing.landed = true;
        done
    }

    /// A message with this id will carry the flight's request.
    pub(super) fn carries(&self, flight: &Arc<Flight>, id: &RequestId) {
        self.lock().ids.insert(id.clone(), Arc::clone(flight));
    }

    /// Whose question it is that is asked right now.
    pub(super) fn asking(&self) -> Option<Arc<Flight>> {
        current().or_else(|| self.lock().flights.last().map(Arc::clone))
    }

    pub(super) fn noise_lines(&self) -> u64 {
        self.lock().noise
    }

    /// Cancelled calls that may still run.
    pub(super) fn lingering(&self) -> usize {
        let now = Instant::now();
        let recent =
            |(_, _, since): &&(RequestId, Arc<Flight>, Instant)| now.duration_since(*since) < LINGERS;
        self.lock().cancelled.iter().filter(recent).count()
    }

    /// A message passes, or a line that is none.
    pub(super) fn see(&self, message: WireMessage<'_>) {
        let side = usize::from(message.direction == Direction::Sent);
        let long = message.bytes.len() >= PIECE_BYTES;
        let passing = self.lock().passing[side].clone();
        if let Some(owner) = passing {
            // The rest of a line of which the beginning was seen.
            if !long {
                self.lock().passing[side] = None;
            }
            self.show(owner.as_ref(), message, false);
            return;
        }
        let Some(peek) = Peek::of(message.bytes) else {
            if message.direction == Direction::Received && !message.bytes.trim_ascii().is_empty() {
                self.noise(message.bytes);
            }
            return;
        };
        self.logs.message(message);
        let owner = self.owner(message.direction, &peek).or_else(current);
        if long {
            self.lock().passing[side] = Some(owner.clone());
        }
        let asked = peek.kind() == Kind::Response || message.direction == Direction::Sent;
        self.show(owner.as_ref(), message, !asked);
    }

    fn noise(&self, bytes: &[u8]) {
        let count = {
            let mut routes = self.lock();
            routes.noise += 1;
            routes.noise
        };
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.logs.line(LogStream::Noise, text);
        if count == 1 {
            self.logs.host("a line on its standard output is no message; such lines are skipped");
        }
    }

    fn owner(&self, direction: Direction, peek: &Peek) -> Option<Arc<Flight>> {
        let mut routes = self.lock();
        let Routes { ids, cancelled, asked, flights, .. } = &mut *routes;
        let known = |id: &RequestId| {
            let late = || cancelled.iter().find(|(known, ..)| known == id).map(|(_, flight, _)| flight);
            ids.get(id).or_else(late).map(Arc::clone)
        };
        match (direction, peek.kind()) {
            (Direction::Sent, Kind::Request) => peek.id.as_ref().and_then(known),
            (_, Kind::Notification) => peek.cancels.as_ref().or(peek.progress_of.as_ref()).and_then(known),
            (Direction::Sent, Kind::Response) => {
                let place = asked.iter().position(|(id, _)| Some(id) == peek.id.as_ref())?;
                asked.remove(place).map(|(_, flight)| flight)
            }
            (Direction::Received, Kind::Request) => {
                let flight = current().or_else(|| flights.last().map(Arc::clone))?;
                push(asked, (peek.id.clone()?, Arc::clone(&flight)));
                Some(flight)
            }
            (Direction::Received, Kind::Response) => {
                let id = peek.id.as_ref()?;
                if let Some(place) = cancelled.iter().position(|(known, ..)| known == id) {
                    let (_, flight, since) = cancelled.remove(place)?;
                    drop(routes);
                    let took = Instant::now().duration_since(since).as_secs();
                    self.logs.host(format!("{} ended {took} s after it was cancelled", flight.what));
                    return Some(flight);
                }
                known(id)
            }
        }
    }

    fn land(&self, flight: &Arc<Flight>, landed: bool) {
        let mut routes = self.lock();
        routes.flights.retain(|other| !Arc::ptr_eq(other, flight));
        let mut open = Vec::new();
        routes.ids.retain(|id, other| {
            let its = Arc::ptr_eq(other, flight);
            if its {
                open.push(id.clone());
            }
            !its
        });
        if landed || open.is_empty() {
            return;
        }
        let now = Instant::now();
        // The last is the request that has no answer; those before it were repeated.
        if let Some(id) = open.pop() {
            push(&mut routes.cancelled, (id, Arc::clone(flight), now));
        }
        drop(routes);
        self.logs.host(format!("{}: cancel sent, the server may still be running it", flight.what));
    }
}

fn push<T>(queue: &mut VecDeque<T>, entry: T) {
    if queue.len() >= REMEMBERED {
        queue.pop_front();
    }
    queue.push_back(entry);
}

/// The flight that this task works on.
fn current() -> Option<Arc<Flight>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Ends a flight, also when its future is dropped.
struct Landing {
    router: Arc<Router>,
    flight: Arc<Flight>,
    landed: bool,
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.router.land(&self.flight, self.landed);
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
