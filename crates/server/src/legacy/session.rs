//! A session: what its handshake agreed on, and the little that changes while it lasts.
//!
//! The changing part is behind one lock that is held for moments: the log level, what is subscribed to,
//! which requests run, and which questions wait for an answer. Everything in it is bounded by a limit of the
//! server. Where to look next: `watch.rs` hears of changes, `exchange.rs` asks.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_protocol::era::legacy::name::INITIALIZED;
use switchboard_protocol::frame::{self, NotificationFrame, ResponseFrame};
use switchboard_protocol::model::notification::{Cancelled, LoggingLevel, name};
use switchboard_protocol::{ProtocolError, RequestId};

use super::handshake::Terms;
use super::watch::{Full, Watch};
use crate::server::Server;

/// Messages of the session itself that wait to be read; the oldest gives way.
const UNREAD: usize = 64;

/// One session. It is shared by whatever runs in it.
pub(crate) struct Session {
    server: Server,
    terms: Terms,
    state: Mutex<State>,
}

/// What may change.
struct State {
    level: LoggingLevel,
    /// The client said that it is ready for what the server says of its own accord.
    is_ready: bool,
    running: HashMap<RequestId, Running>,
    /// The number of the next request.
    next: u64,
    /// The questions that wait, by their own ids.
    questions: HashMap<Box<str>, Question>,
    unread: VecDeque<Bytes>,
    watch: Watch,
    /// Answers to nothing that was asked.
    ignored: u64,
}

/// A request of the client that runs. Once it is cancelled it is not in here any more.
struct Running {
    number: u64,
    answers: Vec<Answered>,
    waker: Option<Waker>,
}

/// What is known of a question while it waits.
struct Question {
    /// The request on whose behalf it was asked.
    entry: Entry,
    key: String,
}

/// A request that was taken in, told apart from an earlier one under the same id.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: RequestId,
    number: u64,
}

/// An answer to the question under a key.
pub(super) struct Answered {
    pub(super) key: String,
    pub(super) outcome: Result<Box<RawValue>, ProtocolError>,
}

/// What happened to a request that runs.
pub(super) enum News {
    /// The client cancelled it.
    Cancelled,
    /// These answers came in; none, as a rule.
    Answers(Vec<Answered>),
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("revision", &self.terms.revision).finish_non_exhaustive()
    }
}

impl Session {
    /// A session in which nothing happened yet.
    pub(crate) fn new(server: &Server, terms: Terms) -> Self {
        let state = State {
            // What a session has until the client says otherwise.
            level: LoggingLevel::Info,
            is_ready: false,
            running: HashMap::new(),
            next: 0,
            questions: HashMap::new(),
            unread: VecDeque::new(),
            watch: Watch::new(server.announced(), &server.legacy().room),
            ignored: 0,
        };
        Self { server: server.clone(), terms, state: Mutex::new(state) }
    }

    // Nothing in here panics while it holds the lock; a poisoned one is still sound.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the handshake agreed on.
    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The least severe log message that the client wants.
    pub(crate) fn level(&self) -> LoggingLevel {
        self.lock().level
    }

    pub(crate) fn set_level(&self, level: LoggingLevel) {
        self.lock().level = level;
    }

    /// The client is ready for what the server says of its own accord. To be called for a session that is
    /// known to be, such as one that another replica opened.
    pub(crate) fn handle_initialized(&self) {
        let waker = {
            let mut state = self.lock();
            state.is_ready = true;
            state.watch.take_waker()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.lock().is_ready
    }

    /// Whether it is more by now than what its terms say: a log level of its own, or subscriptions.
    #[cfg(feature = "serve")]
    pub(crate) fn has_state(&self) -> bool {
        let state = self.lock();
        state.level != LoggingLevel::Info || state.watch.has_resources()
    }

    /// Tells of changes of this resource from now on, if there is room for it: there may be as many as a
    /// modern subscription may name, in one message of the largest size, and no more than all sessions may
    /// have together.
    pub(super) fn subscribe(&self, uri: &str) -> Result<(), Full> {
        let limits = self.server.limits();
        self.lock().watch.add(uri, &**self.server.bus(), (limits.listen_uris, limits.line_bytes))
    }

    /// Hears of nothing more: the session has ended, even if something still holds it.
    #[cfg(feature = "serve")]
    pub(crate) fn end(&self) {
        let heard = self.lock().watch.close();
        drop(heard);
    }

    /// No longer. Says whether it did.
    pub(crate) fn unsubscribe(&self, uri: &str) -> bool {
        self.lock().watch.remove(uri, &**self.server.bus())
    }

    /// The next thing that the session itself says, encoded: a change, or that a question is void. Nothing
    /// before the client is ready. What changes is heard of from the first poll on.
    pub(crate) fn poll_change(&self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let mut state = self.lock();
        state.watch.open(&**self.server.bus());
        state.watch.register(cx.waker());
        if !state.is_ready {
            return Poll::Pending;
        }
        match state.unread.pop_front() {
            Some(message) => Poll::Ready(message),
            None => state.watch.poll(cx),
        }
    }

    /// Whoever read the changes has left. Another one who reads them by now looks again.
    #[cfg(feature = "serve")]
    pub(crate) fn leave_changes(&self) {
        let waker = self.lock().watch.leave();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Takes an answer of the client. What answers no open question is ignored: it may be late, or cross
    /// with the withdrawal.
    pub(crate) fn handle_response(&self, response: ResponseFrame<'_>) {
        let ResponseFrame { id, outcome } = response;
        let waker = {
            let mut state = self.lock();
            let question = match &id {
                Some(RequestId::String(id)) => state.questions.remove(id),
                _ => None,
            };
            let Some(Question { entry, key }) = question else {
                state.ignored += 1;
                let count = state.ignored;
                drop(state);
                tracing::debug!(?id, count, "an answer to nothing that was asked is ignored");
                return;
            };
            let Some(running) = state.running_mut(&entry) else { return };
            running.answers.push(Answered { key, outcome: outcome.map(RawValue::to_owned) });
            running.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Takes a notification of the client. What means nothing here is ignored.
    pub(crate) fn handle_notification(&self, notification: &NotificationFrame<'_>) {
        match &*notification.method {
            INITIALIZED => self.handle_initialized(),
            name::CANCELLED => {
                let params = notification.params.map(RawValue::get).unwrap_or_default();
                if let Ok(cancelled) = serde_json::from_str::<Cancelled>(params) {
                    self.cancel(&cancelled.request_id);
                }
            }
            // Roots are asked for whenever they are needed, so that their change is no news.
            _ => {}
        }
    }

    /// Ends a request, if it still runs. Its id is free from then on.
    pub(crate) fn cancel(&self, request: &RequestId) {
        let running = self.lock().running.remove(request);
        let waker = running.and_then(|running| running.waker);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Takes a request in, unless its id belongs to one that runs.
    pub(super) fn enter(&self, request: &RequestId) -> Option<Entry> {
        let mut state = self.lock();
        if state.running.contains_key(request) {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.running.insert(request.clone(), Running { number, answers: Vec::new(), waker: None });
        Some(Entry { id: request.clone(), number })
    }

    /// What happened to a request that has not ended by itself; `waker` is for what happens next.
    pub(super) fn news(&self, entry: &Entry, waker: &Waker) -> News {
        let mut state = self.lock();
        let Some(running) = state.running_mut(entry) else { return News::Cancelled };
        if !running.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            running.waker = Some(waker.clone());
        }
        News::Answers(std::mem::take(&mut running.answers))
    }

    /// Waits for an answer to a question that is about to be asked.
    pub(super) fn expect(&self, id: &str, entry: &Entry, key: &str) {
        let question = Question { entry: entry.clone(), key: key.to_owned() };
        self.lock().questions.insert(id.into(), question);
    }

    /// No longer waits for the answers to these questions, and gives what tells the client so.
    pub(super) fn withdraw(&self, questions: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Bytes> {
        let mut state = self.lock();
        let open = questions.into_iter().filter(|id| state.questions.remove(id.as_ref()).is_some());
        open.map(|id| cancellation(id.as_ref())).collect()
    }

    /// The request has ended. Its questions are void, which the client is told as soon as it reads.
    pub(super) fn leave(&self, entry: &Entry, questions: impl IntoIterator<Item = impl AsRef<str>>) {
        let void = self.withdraw(questions);
        let has_left = {
            let mut state = self.lock();
            let is_running = state.running_mut(entry).is_some();
            is_running.then(|| state.running.remove(&entry.id))
        };
        // It has a waker, which may drop whatever it belongs to.
        drop(has_left);
        if void.is_empty() {
            return;
        }
        let waker = {
            let mut state = self.lock();
            state.unread.extend(void);
            let excess = state.unread.len().saturating_sub(UNREAD);
            state.unread.drain(..excess);
            state.watch.take_waker()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl State {
    fn running_mut(&mut self, entry: &Entry) -> Option<&mut Running> {
        self.running.get_mut(&entry.id).filter(|running| running.number == entry.number)
    }
}

fn cancellation(question: &str) -> Bytes {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        request_id: &'a str,
        reason: &'static str,
    }
    let mut out = Vec::with_capacity(160);
    let params = Params { request_id: question, reason: "The call that asked this is over" };
    // Strings cannot fail to serialise.
    let _ = frame::encode_notification(&mut out, name::CANCELLED, Some(&params));
    out.into()
}
