//! The life of one server: it waits until somebody needs it, connects, stays, and comes back when it has ended.
//!
//! One task a server, and the only one that opens and closes its connection. Where to look next: `connect.rs` for how
//! a connection is opened, `restarts.rs` for when it is opened again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use switchboard_client::{Change, Changes, Error, SubscriptionFilter};
use tokio::time::{Instant, sleep_until};

use super::connect::{self, Broken, Live};
use super::logs::Logs;
use super::remembered;
use super::restarts::{Restarts, scatter};
use super::server::{Orders, Server};
use super::status::ServerState;
use super::trial::tools_of;
use crate::policy::Listing;

/// A connection that lasted this long has worked.
const WORKED: Duration = Duration::from_secs(60);

/// The least time between two lists that nobody needs, however often the server says that its tools have changed.
const PACE: Duration = Duration::from_secs(1);
/// How much of what was told is read before a call leaves.
const AT_ONCE: usize = 64;
/// How often in a row the tools are listed because the server said meanwhile that they have changed.
const LISTS: usize = 3;

/// What comes next in a server's life.
enum Next {
    /// Nobody needs it, or it does not work.
    Rest(ServerState, Option<Broken>),
    /// It is connected to. It was there before, or not.
    Connect { again: bool },
    /// Somebody wants it started anew, whatever happened before.
    Anew,
    /// It ended, and is connected to after a while.
    Retry(Broken),
    /// It is there.
    Serve(Live),
    /// It is over.
    Close,
}

/// Keeps one server until it is closed.
pub(super) async fn keep(server: Arc<Server>) {
    let mut restarts = Restarts::new(server.options.restarts, server.config.target.is_bounded());
    let mut next = first(&server);
    loop {
        next = match next {
            Next::Rest(phase, failure) => rest(&server, (phase, failure)).await,
            Next::Connect { again } => connect(&server, again).await,
            Next::Anew => {
                restarts.forgive();
                connect(&server, false).await
            }
            Next::Retry(failure) => retry(&server, &mut restarts, failure).await,
            Next::Serve(live) => {
                let since = Instant::now();
                let next = serve(&server, live).await;
                if since.elapsed() >= WORKED {
                    restarts.worked();
                }
                next
            }
            Next::Close => break,
        };
    }
    server.rest(ServerState::Stopped, None);
}

fn first(server: &Server) -> Next {
    if !server.config.enabled {
        return Next::Rest(ServerState::Disabled, None);
    }
    if !server.config.lazy {
        return Next::Connect { again: false };
    }
    Next::Rest(ServerState::Idle, None)
}

/// Waits until somebody needs it.
async fn rest(server: &Server, (phase, failure): (ServerState, Option<Broken>)) -> Next {
    server.rest(phase, failure);
    loop {
        let orders = server.next_orders().await;
        if orders.close {
            return Next::Close;
        }
        if phase == ServerState::Disabled {
            continue;
        }
        if orders.stop {
            return Next::Rest(ServerState::Stopped, None);
        }
        if orders.restart {
            return Next::Anew;
        }
        if orders.start && matches!(phase, ServerState::Idle | ServerState::Failed) {
            return Next::Connect { again: false };
        }
    }
}

async fn connect(server: &Server, again: bool) -> Next {
    let phase = if again { ServerState::Restarting } else { ServerState::Starting };
    server.rest(phase, None);
    server.logs.host("starting");
    let since = Instant::now();
    let opening = server.opening();
    let opened = tokio::select! {
        opened = Box::pin(opening.open()) => opened,
        () = server.urgent() => return ordered(server.take_orders()),
    };
    match opened {
        Ok((live, listing, latency)) => {
            let (took, tools) = (since.elapsed().as_millis(), tools_of(&listing));
            let identity = server.logs.mask(listing.identity.to_string());
            server.logs.host(format!("ready after {took} ms: {identity}; {tools}"));
            remembered::keep(server, &listing);
            let pid = live.client.process_id().await;
            server.arrive(live.clone(), listing, (latency, pid));
            Next::Serve(live)
        }
        Err(error) => {
            let failure = Broken::of(&error);
            server.logs.host(format!("it cannot be used: {error}"));
            // What never worked as a program will not work by being started again.
            let worth_it = failure.transient && (again || !server.config.target.is_bounded());
            if worth_it { Next::Retry(failure) } else { Next::Rest(ServerState::Failed, Some(failure)) }
        }
    }
}

/// Waits before it is connected to once more, as long as the budget lasts.
async fn retry(server: &Server, restarts: &mut Restarts, failure: Broken) -> Next {
    let Some(wait) = restarts.next(Instant::now()) else {
        let spent = restarts.spent();
        server.logs.host(format!("given up: {spent}"));
        let message = format!("{}; {spent}", failure.message);
        return Next::Rest(ServerState::Failed, Some(Broken { message, ..failure }));
    };
    server.logs.host(format!("started again in {} ms", wait.as_millis()));
    server.rest(ServerState::Restarting, Some(failure));
    let until = Instant::now() + wait;
    tokio::select! {
        () = sleep_until(until) => {}
        () = server.urgent() => return ordered(server.take_orders()),
    }
    server.count_restart();
    Next::Connect { again: true }
}

/// What an order that cannot wait leads to.
fn ordered(orders: Orders) -> Next {
    if orders.close {
        Next::Close
    } else if orders.stop {
        Next::Rest(ServerState::Stopped, None)
    } else {
        Next::Anew
    }
}

/// Stays with a connection until it ends or is not wanted any more.
async fn serve(server: &Server, live: Live) -> Next {
    let mut changes = None;
    let mut listening = Some(Box::pin(listen(&live, &server.logs)));
    let mut schedule = Schedule::new(server);
    loop {
        let idle = idle_deadline(server);
        let next = tokio::select! {
            how = live.client.ended() => {
                server.logs.host(format!("it ended: {how}"));
                Some(Next::Retry(ended(how)))
            }
            opened = async { listening.as_mut().map(|listening| listening.as_mut())?.await }, if listening.is_some() => {
                listening = None;
                server.hears(opened.as_ref().map(Changes::hearing));
                changes = opened;
                None
            }
            change = next_change(&mut changes), if changes.is_some() => {
                heard(server, change.as_ref(), (&mut changes, &mut schedule));
                None
            }
            () = sleep_until(schedule.next()) => relist(server, &live, (&mut changes, &mut schedule)).await,
            () = sleep_until(idle), if server.config.idle_stop.is_some() => stop_unused(server),
            () = server.heard() => obey(server, &live, (&mut changes, &mut schedule)).await,
        };
        if let Some(next) = next {
            match &next {
                Next::Rest(phase, failure) => server.rest(*phase, failure.clone()),
                Next::Retry(failure) => server.rest(ServerState::Restarting, Some(failure.clone())),
                Next::Connect { .. } | Next::Anew | Next::Serve(_) => {
                    server.rest(ServerState::Starting, None)
                }
                Next::Close => server.rest(ServerState::Stopped, None),
            }
            server.leave_listing();
            leave(server, &live).await;
            return next;
        }
    }
}

/// Subscribes to what can change; a server that has no such thing is asked now and then.
async fn listen(live: &Live, logs: &Logs) -> Option<Changes> {
    let filter = SubscriptionFilter {
        tools_list_changed: Some(true),
        prompts_list_changed: Some(true),
        resources_list_changed: Some(true),
        resource_subscriptions: None,
    };
    let listened = live.client.listen(filter).await;
    // What refuses it can repeat what it was sent.
    let masked = |error: &Error| logs.mask(error.to_string());
    listened.inspect_err(|error| tracing::debug!(error = masked(error), "no changes are told")).ok()
}

async fn next_change(changes: &mut Option<Changes>) -> Option<Change> {
    changes.as_mut()?.next().await
}

/// Asks for the tools, where what is kept of them is stale, and again if they are said to have changed meanwhile. A server
/// that cannot be reached for that has ended.
async fn relist(
    server: &Server,
    live: &Live,
    (changes, schedule): (&mut Option<Changes>, &mut Schedule),
) -> Option<Next> {
    let mut lists = 0;
    loop {
        lists += 1;
        *schedule = Schedule { last: Some(Instant::now()), ..Schedule::new(server) };
        let number = server.begin_listing();
        let listed = tokio::select! {
            listed = connect::tools(&live.client, &server.logs) => listed,
            () = server.urgent() => return Some(ordered(server.take_orders())),
        };
        let came = listed.is_ok();
        let next =
            listed.map_or_else(|error| not_listed(server, &error), |listing| take_listing(server, listing));
        hear_out(server, changes, schedule);
        let is_stale = came && server.is_told();
        if is_stale && lists < LISTS {
            continue;
        }
        if is_stale {
            server.logs.host(format!(
                "it said {LISTS} times in a row that its tools changed while they were listed; the last list is used"
            ));
        }
        server.end_listing(number, came);
        return next;
    }
}

fn take_listing(server: &Server, listing: Listing) -> Option<Next> {
    remembered::keep(server, &listing);
    if server.relisted(listing) {
        server.logs.host("its tools have changed");
    }
    None
}

fn not_listed(server: &Server, error: &Error) -> Option<Next> {
    if error.is_unreachable() {
        return Some(Next::Retry(Broken::of(error)));
    }
    server.logs.host(format!("its tools cannot be listed: {error}"));
    None
}

/// When the tools are listed though nobody needs them now.
struct Schedule {
    /// Whatever happens.
    poll: Instant,
    /// When they were listed last.
    last: Option<Instant>,
    /// Whether the server said since that they have changed.
    told: bool,
}

impl Schedule {
    fn new(server: &Server) -> Self {
        Self { poll: next_poll(server), last: None, told: false }
    }

    fn next(&self) -> Instant {
        match self.last {
            Some(last) if self.told => self.poll.min(last + PACE),
            None if self.told => Instant::now(),
            _ => self.poll,
        }
    }
}

/// A time from half of the usual wait to all of it, so that not all servers are asked at once.
fn next_poll(server: &Server) -> Instant {
    Instant::now() + server.options.poll.div_f64(1.0 + scatter())
}

/// When it has been unused for long enough, as far as is known now.
fn idle_deadline(server: &Server) -> Instant {
    let now = Instant::now();
    match (server.config.idle_stop, server.unused_for()) {
        (Some(limit), Some(unused)) => now + limit.saturating_sub(unused),
        (Some(limit), None) => now + limit,
        // Nobody waits for it.
        (None, _) => now,
    }
}

fn stop_unused(server: &Server) -> Option<Next> {
    let unused = server.config.idle_stop?;
    server.leave_if_unused(unused).then(|| {
        server.logs.host(format!("stopped: unused for {} s", unused.as_secs()));
        Next::Rest(ServerState::Idle, None)
    })
}

async fn obey(
    server: &Server,
    live: &Live,
    (changes, schedule): (&mut Option<Changes>, &mut Schedule),
) -> Option<Next> {
    let orders = server.take_orders();
    if orders.close || orders.stop || orders.restart {
        return Some(ordered(orders));
    }
    // A failure of an earlier connection says nothing about this one.
    if orders.suspect == Some(server.generation()) {
        let next = relist_anew(server, live, schedule).await;
        if next.is_some() {
            return next;
        }
    }
    if orders.hear {
        hear_out(server, changes, schedule);
    }
    let is_needed = orders.list || (orders.hear && server.heard_out());
    if is_needed { relist(server, live, (changes, schedule)).await } else { None }
}

/// Reads what was told so far. Who tells more than can be read at once has changed something.
fn hear_out(server: &Server, changes: &mut Option<Changes>, schedule: &mut Schedule) {
    for _ in 0..AT_ONCE {
        let Some(told) = next_change(changes).now_or_never().filter(|_| changes.is_some()) else { return };
        heard(server, told.as_ref(), (changes, schedule));
    }
    server.told();
    schedule.told = true;
}

/// Takes what the server told, or that nothing is heard any more.
fn heard(
    server: &Server,
    change: Option<&Change>,
    (changes, schedule): (&mut Option<Changes>, &mut Schedule),
) {
    match change {
        Some(Change::Tools | Change::Resync) => {
            server.told();
            schedule.told = true;
        }
        Some(_) => {}
        None => {
            server.hears(None);
            *changes = None;
        }
    }
}

/// Finds out whether the connection still works.
async fn relist_anew(server: &Server, live: &Live, schedule: &mut Schedule) -> Option<Next> {
    schedule.poll = next_poll(server);
    let asked = tokio::select! {
        asked = async { live.client.tools().fresh().await } => asked,
        () = server.urgent() => return Some(ordered(server.take_orders())),
    };
    match asked {
        Err(error) if error.is_unreachable() || error.is_timeout() => {
            server.logs.host(format!("it cannot be reached: {error}"));
            Some(Next::Retry(Broken::of(&error)))
        }
        _ => None,
    }
}

/// Ends a connection. Whatever still waits on it is told, and nothing of it is heard from now on.
async fn leave(server: &Server, live: &Live) {
    let since = Instant::now();
    live.client.close().await;
    if since.elapsed() > Duration::from_secs(1) {
        server.logs.host(format!("it took {} s to stop", since.elapsed().as_secs()));
    }
}

fn ended(how: String) -> Broken {
    Broken { message: how, next_step: None, unauthorized: false, transient: true }
}
