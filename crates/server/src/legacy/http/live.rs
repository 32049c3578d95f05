//! One session as it is here right now: what changes in it, and its event streams.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;

use super::log::{EventId, Log, Reader};
use super::places;
use super::table::Table;
use super::token::{Key, Opened};
use crate::legacy::Session;
use crate::listen::Slots;
use crate::server::Server;

/// Held by everything that happens in the session, and by the table if it is to be kept.
pub(super) struct Live {
    key: Key,
    session: Arc<Session>,
    places: Slots,
    streams: Mutex<Streams>,
    ended: watch::Sender<bool>,
    table: Weak<Table>,
}

#[derive(Default)]
struct Streams {
    /// The streams of requests, which run or have ended a moment ago.
    of_requests: HashMap<u64, Arc<Log>>,
    /// The stream that belongs to no request, once there was one.
    standing: Option<Arc<Log>>,
}

impl Live {
    pub(super) fn new(server: &Server, opened: Opened, table: &Arc<Table>) -> Self {
        let session = Session::new(server, opened.terms);
        // Another replica may have heard of it, and a client that uses its session is ready.
        session.handle_initialized();
        Self {
            key: opened.key,
            session: Arc::new(session),
            places: places::part(server.limits()),
            streams: Mutex::default(),
            ended: watch::Sender::new(false),
            table: Arc::downgrade(table),
        }
    }

    pub(super) fn key(&self) -> Key {
        self.key
    }

    pub(super) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Of what runs in it.
    pub(super) fn places(&self) -> &Slots {
        &self.places
    }

    // Nothing panics while it holds the lock, so a poisoned one is sound.
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something would be lost with it.
    pub(super) fn has_something(&self) -> bool {
        let streams = self.streams();
        self.session.has_state() || streams.standing.is_some() || !streams.of_requests.is_empty()
    }

    pub(super) fn add_stream(&self, log: &Arc<Log>) {
        self.streams().of_requests.insert(log.stream(), Arc::clone(log));
    }

    /// What a stream has said is no longer kept.
    pub(super) fn remove_stream(self: &Arc<Self>, log: &Log) {
        let removed = self.streams().of_requests.remove(&log.stream());
        // That it is over is no use of the session.
        if removed.is_some() && !self.has_something() {
            self.settle();
        }
    }

    /// Takes up a stream after an event, if that is known here.
    pub(super) fn resume(&self, event: EventId) -> Option<Reader> {
        let log = {
            let streams = self.streams();
            let standing = streams.standing.as_ref().filter(|log| log.stream() == event.stream);
            Arc::clone(standing.or_else(|| streams.of_requests.get(&event.stream))?)
        };
        log.attach(Some(event.number))
    }

    /// Takes up the stream that belongs to no request, or opens it; `None` once the session has ended.
    pub(super) fn stand(&self, make: impl FnOnce() -> Arc<Log>) -> Option<Reader> {
        let known = self.streams().standing.clone();
        // Others may give way to a new stream, and whoever that wakes may want the lock.
        let log = known.unwrap_or_else(make);
        let log = {
            let mut streams = self.streams();
            // Said before the streams are ended, so that none comes in between.
            if *self.ended.borrow() {
                return None;
            }
            Arc::clone(streams.standing.get_or_insert(log))
        };
        log.attach(None)
    }

    /// Keeps it in the table, or not.
    pub(super) fn settle(self: &Arc<Self>) {
        if let Some(table) = self.table.upgrade() {
            table.settle(self);
        }
    }

    /// Ends everything in it.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
        self.session.end();
        let streams = std::mem::take(&mut *self.streams());
        for log in streams.of_requests.into_values().chain(streams.standing) {
            log.end();
        }
    }

    /// Resolves once the session has ended.
    pub(super) async fn ended(&self) {
        // The sender lives in `self`, so this is no error.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(table) = self.table.upgrade() {
            table.forget(self.key);
        }
    }
}
