//! A session: a conversation that lasts, with its journal, its questions and one run at a time.
//!
//! A run goes on in a task of its own and is kept at each of its transitions, so that it can go on after the process
//! has ended, wherever that was. Everything that happens is in the journal of the session, which can be followed from
//! any entry on. Where to look next: `session/open.rs` for how one is opened, `session/run.rs` for the task,
//! `session/live.rs` for what is kept of it, `session/feed.rs` for the journal, `host` for who opens sessions.

mod feed;
mod live;
mod open;
mod request;
mod run;
mod schema;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::watch;

use self::feed::{Feed, Reader};
use self::live::Live;
pub use self::request::{OnAsk, RunLimits, RunPolicy, RunRequest};
pub use self::view::{CallView, ErrorView, RunOutcome, RunView, SessionState};
use crate::answer::Answer;
use crate::desk::{AnswerError, Desk, PendingView, Reply};
use crate::error::{AgentError, ErrorKind};
use crate::host::Host;
use crate::journal::{Entry, Event, Journal, RunEvent, Selection};
use crate::name::{CallId, RunId, ServerName};
use crate::store::{RunRecord, RunStatus, SessionRecord, unix_ms};
use crate::turn::Conversation;
use crate::visible;

/// Characters of a title, and of a question that becomes one.
const TITLE_CHARS: usize = 80;
/// Runs whose results stay in memory.
const REMEMBERED: usize = 8;

/// What a session is to be like.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// An existing session; a new one without it.
    pub id: Option<String>,
    /// Its title, of which 80 characters are kept. Default: the beginning of the first question.
    pub title: Option<String>,
    /// The model, by the name that the host knows it by.
    pub model: Option<String>,
    /// The servers whose tools are offered. Default: all.
    pub servers: Option<Vec<String>>,
    /// Whether somebody can be asked.
    pub interactive: bool,
}

/// A conversation that lasts. A cheap clone; it is let go of with the last one.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

pub(crate) struct Inner {
    id: String,
    host: Host,
    journal: Journal,
    feed: Arc<Feed>,
    desk: Desk,
    /// Servers that were told the folders.
    told: Arc<Mutex<BTreeMap<ServerName, bool>>>,
    state: Mutex<State>,
    /// Counts changes of runs.
    changed: watch::Sender<u64>,
}

struct State {
    /// Why a model was chosen, as it was said last.
    told_model: Option<String>,
    record: SessionRecord,
    stored: bool,
    /// It is deleted.
    closed: bool,
    interactive: bool,
    conversation: Conversation,
    current: Option<Arc<Live>>,
    ended: VecDeque<Ended>,
    /// The end of a run that could not be written.
    unkept: Option<RunRecord>,
}

/// A run that ended in this process.
struct Ended {
    /// As it is shown, also where the store could not take it.
    view: RunView,
    result: Arc<Result<Answer, AgentError>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.0.id).finish_non_exhaustive()
    }
}

impl Session {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// What is kept of it.
    #[must_use]
    pub fn record(&self) -> SessionRecord {
        self.lock().record.clone()
    }

    /// Its questions.
    #[must_use]
    pub fn desk(&self) -> &Desk {
        &self.0.desk
    }

    /// The conversation after the last run that ended.
    #[must_use]
    pub fn conversation(&self) -> Conversation {
        self.lock().conversation.clone()
    }

    /// Its journal, for what belongs to no run.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.0.journal
    }

    /// Names it. Of a longer title, 80 characters are kept.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn rename(&self, title: &str) -> Result<(), AgentError> {
        let mut state = self.lock();
        state.record.title = short_title(title);
        if state.stored && !state.closed {
            self.0.host.store().put_session(&state.record)?;
            drop(state);
            self.bump();
        }
        Ok(())
    }

    /// Begins a run, which goes on by itself. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] while another run goes on; when what is asked cannot work; when it cannot be kept.
    pub fn ask(&self, request: RunRequest) -> Result<RunId, AgentError> {
        // Held throughout: of two that ask with one key at once, the second finds the run of the first.
        let mut state = self.lock();
        if let Some(run) = self.0.host.begun(&request)? {
            return Ok(run.id.as_str().into());
        }
        request.check(self.0.host.policy())?;
        if state.closed {
            return Err(no_session(&self.0.id));
        }
        if let Some(live) = &state.current {
            return Err(busy(live));
        }
        self.learn_secrets();
        let lost = self.0.feed.mend();
        if let Some(ended) = &state.unkept {
            // What was said to be over must not come back.
            self.0.host.store().put_run(ended)?;
            state.unkept = None;
        }
        self.put_record(&mut state, &request)?;
        let id = RunId::from(crate::host::new_id("r"));
        let journal = self.0.journal.for_run(id.clone());
        let record = RunRecord {
            id: id.to_string(),
            session: self.0.id.clone(),
            created_ms: unix_ms(),
            status: RunStatus::Running,
            first_seq: self.0.journal.last_seq() + 1,
            options: self.0.journal.masked_json(json(&request)?),
            turn: None,
            requests: None,
            outcome: None,
            idempotency_key: request.idempotency_key.clone(),
            digest: request.idempotency_key.as_ref().map(|_| request.digest()),
        };
        self.0.host.store().put_run(&record)?;
        let live = Arc::new(Live::begun(record, request.clone()));
        state.current = Some(Arc::clone(&live));
        drop(state);
        journal.record(RunEvent::Begun { question: request.input });
        if lost > 0 {
            let text =
                format!("{lost} entries of the journal before this could not be written and are missing");
            journal.record(Event::from(Selection::Note { text }));
        }
        self.start(live);
        Ok(id)
    }

    /// The servers may be others than when it was opened.
    fn learn_secrets(&self) {
        self.0.host.secrets().into_iter().for_each(|secret| self.0.journal.mask(secret));
    }

    /// A session is kept from its first question on.
    fn put_record(&self, state: &mut State, request: &RunRequest) -> Result<(), AgentError> {
        if state.record.title.is_empty() {
            let first = request.input.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
            let title = self.0.journal.masked(first.trim().to_owned());
            state.record.title = short_title(&title);
        }
        state.record.updated_ms = unix_ms();
        if state.record.conversation.is_empty() {
            state.record.conversation = json(&state.conversation)?;
        }
        self.0.host.store().put_session(&state.record)?;
        state.stored = true;
        self.0.feed.begin();
        Ok(())
    }

    /// Goes on with a run that an earlier process left. `None` if there is none, or somebody works on it already.
    /// Must be called on a tokio runtime.
    pub fn resume(&self) -> Option<RunId> {
        let live = self.lock().current.clone()?;
        if !live.take_over() {
            return None;
        }
        self.learn_secrets();
        let id = live.id().clone();
        self.0.journal.for_run(id.clone()).record(RunEvent::Resumed);
        self.start(live);
        Some(id)
    }

    /// The run that goes on, or waits to be resumed.
    #[must_use]
    pub fn current(&self) -> Option<RunView> {
        let live = self.lock().current.clone()?;
        Some(live.view(self))
    }

    /// How far the run is that goes on, or waits to be resumed.
    pub(crate) fn status(&self) -> Option<RunStatus> {
        let live = self.lock().current.clone()?;
        Some(live.status(!self.0.desk.pending_of(live.id()).is_empty()))
    }

    /// A run of this session.
    #[must_use]
    pub fn run(&self, id: &RunId) -> Option<RunView> {
        let current = self.lock().current.clone();
        if let Some(live) = current.filter(|live| live.id() == id) {
            return Some(live.view(self));
        }
        if let Some(ended) = self.lock().ended.iter().find(|ended| ended.view.id == *id) {
            return Some(ended.view.clone());
        }
        let record = self.0.host.store().run(id.as_str()).ok().flatten()?;
        (record.session == self.0.id).then(|| stored_view(&record, false))
    }

    /// What a run gave, whole, as long as it is one of the last of this process.
    #[must_use]
    pub fn result(&self, id: &RunId) -> Option<Arc<Result<Answer, AgentError>>> {
        let state = self.lock();
        state.ended.iter().find(|ended| ended.view.id == *id).map(|ended| Arc::clone(&ended.result))
    }

    /// Waits until a run is over or waits for a person, or nobody works on it any more.
    pub async fn settled(&self, id: &RunId) -> Option<RunView> {
        self.until(id, |view| view.status != RunStatus::Running).await
    }

    /// Waits until a run is over.
    pub async fn ended(&self, id: &RunId) -> Option<RunView> {
        self.until(id, |view| view.status.is_over()).await
    }

    async fn until(&self, id: &RunId, enough: impl Fn(&RunView) -> bool) -> Option<RunView> {
        let mut changed = self.0.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let view = self.run(id)?;
            if enough(&view) {
                return Some(view);
            }
            changed.changed().await.ok()?;
        }
    }

    /// What waits for an answer, the oldest first.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingView> {
        self.0.desk.pending()
    }

    /// Waits until a question does not wait any more: it was answered, or taken away.
    pub async fn answered(&self, request: &str) {
        let mut changes = self.0.desk.changes();
        while self.pending().iter().any(|pending| pending.id == request) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Answers a question. The first answer counts. A run that an earlier process left goes on with it. Must be called
    /// on a tokio runtime.
    ///
    /// # Errors
    /// When there is no such question, it was answered before, or the answer does not fit it.
    pub fn answer(&self, request: &str, reply: Reply) -> Result<(), AnswerError> {
        self.0.desk.answer(request, reply)?;
        self.resume();
        Ok(())
    }

    /// Ends a run; its calls are cancelled at their servers. Whether it was still going on.
    pub fn cancel(&self, id: &RunId) -> bool {
        let current = self.lock().current.clone();
        let Some(live) = current.filter(|live| live.id() == id) else { return false };
        live.cancel();
        if live.take_over() {
            // Nobody works on it: it ends here.
            self.end(&live, Err(AgentError::new(ErrorKind::Interrupted, "cancelled")), None);
        }
        true
    }

    /// Cancels one call of a run; the run goes on and the model is told. Whether the run was still going on.
    pub fn cancel_call(&self, run: &RunId, call: CallId) -> bool {
        let current = self.lock().current.clone();
        let Some(live) = current.filter(|live| live.id() == run) else { return false };
        live.cancel_call(call);
        true
    }

    /// The journal after entry `after`: what is stored, then what happens, without a gap and without a duplicate.
    /// Ends when the session is deleted.
    #[must_use]
    pub fn events(&self, after: u64) -> BoxStream<'static, Arc<Entry>> {
        let reader = Reader::new(Arc::clone(&self.0.feed), after);
        let session = self.clone();
        stream::unfold((reader, session), |(mut reader, session)| async move {
            let entry = reader.next().await?;
            Some((entry, (reader, session)))
        })
        .boxed()
    }

    /// Ends everything that goes on in it, because it is deleted.
    pub(crate) fn close(&self) {
        let current = {
            let mut state = self.lock();
            state.closed = true;
            state.current.take()
        };
        if let Some(live) = current {
            live.cancel();
            self.0.desk.clear(live.id(), "the session is deleted");
        }
        self.0.feed.close();
        self.bump();
    }

    fn bump(&self) {
        self.0.changed.send_modify(|changes| *changes += 1);
        self.0.host.sessions_changed();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn downgrade(&self) -> std::sync::Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(inner: &std::sync::Weak<Inner>) -> Option<Self> {
        inner.upgrade().map(Self)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.feed.close();
        self.host.store().release(&self.id);
    }
}

/// A run as the store has it; `elsewhere` is whether another process may work on it.
pub(crate) fn stored_view(record: &RunRecord, elsewhere: bool) -> RunView {
    let request = serde_json::from_str::<RunRequest>(&record.options);
    RunView::stored(record, request.map(|request| request.input).unwrap_or_default(), elsewhere)
}

/// What is kept of a title.
fn short_title(title: &str) -> String {
    visible::short(title, TITLE_CHARS)
}

pub(crate) fn no_session(id: &str) -> AgentError {
    AgentError::new(ErrorKind::NotFound, format!("there is no session {}", visible::quoted(id, 64)))
        .hint("list the sessions to see what there is")
}

fn unreadable(what: &str, error: &serde_json::Error) -> AgentError {
    let message = format!("what is kept of {what} cannot be read: {error}");
    AgentError::new(ErrorKind::Storage, message)
        .hint("it was written by another version; export or delete it")
}

fn busy(live: &Live) -> AgentError {
    let message = format!("the run {} of this session is not over", live.id());
    AgentError::new(ErrorKind::Busy, message).hint("wait for it, answer what it asks, resume it or cancel it")
}

fn json(value: &impl serde::Serialize) -> Result<String, AgentError> {
    serde_json::to_string(value).map_err(|error| {
        AgentError::new(ErrorKind::Storage, format!("it cannot be written as JSON: {error}"))
    })
}

#[cfg(test)]
mod tests;
