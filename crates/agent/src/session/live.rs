//! A run that goes on, and what is kept of it so that it can go on after a restart.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use switchboard_llm::Usage;
use tokio::sync::mpsc;

use super::request::RunRequest;
use super::view::{CallView, RunOutcome, RunView};
use super::{Session, unreadable};
use crate::agent::{Interrupt, Watch};
use crate::desk::{PendingView, Round};
use crate::digest::Digest;
use crate::error::{AgentError, ErrorKind};
use crate::journal::MASK;
use crate::name::{CallId, RunId};
use crate::policy::{Grant, Permit, Scope};
use crate::store::{RunRecord, RunStatus, StoreError};
use crate::turn::{Turn, TurnSnapshot};

/// Calls that were cancelled and that the run has not looked at yet, at most.
const MOST_CANCELLED: usize = 1024;

/// How far a run is, as it is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// Answers that did not fit the schema so far.
    pub(super) misfits: u32,
    /// The turn.
    pub(super) turn: Option<TurnSnapshot>,
    /// Calls that wait for answers to what their server asked.
    pub(super) rounds: BTreeMap<CallId, Round>,
    /// The marks of the permits of the calls that are being made.
    pub(super) permitted: BTreeMap<CallId, Digest>,
    /// What the person allowed for the run.
    pub(super) grants: Vec<Grant>,
}

impl Progress {
    /// Whether a call cannot go on, because a secret that belongs to it is not kept.
    fn has_lost(&self, call: CallId) -> bool {
        let round = self.rounds.get(&call);
        round.is_some_and(|round| !round.is_whole())
            || self.turn.iter().flat_map(TurnSnapshot::lost).any(|lost| lost == call)
    }

    /// The questions that are still to be answered, and those about calls that cannot go on.
    fn sorted(&self, record: &RunRecord) -> (Vec<PendingView>, Vec<PendingView>) {
        let requests = record.requests.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let requests: Vec<PendingView> = requests.unwrap_or_default();
        requests.into_iter().partition(|view| !view.question.call().is_some_and(|call| self.has_lost(call)))
    }
}

/// What waits for an answer in a run, and what cannot go on with one; `elsewhere` is whether another process works on it,
/// which can go on with all of it.
pub(super) fn waiting(record: &RunRecord, elsewhere: bool) -> (Vec<PendingView>, Vec<PendingView>) {
    let progress = || {
        let turn = record.turn.as_deref()?;
        serde_json::from_str::<Progress>(turn).ok()
    };
    (!elsewhere).then(progress).flatten().unwrap_or_default().sorted(record)
}

/// A run that goes on, or that an earlier process left.
pub(super) struct Live {
    id: RunId,
    pub(super) request: RunRequest,
    pub(super) interrupt: Interrupt,
    /// Whether nothing of what it was asked with was masked that would be sent.
    is_whole: bool,
    /// Whether somebody works on it.
    driven: AtomicBool,
    cancelled: AtomicBool,
    kept: Mutex<Kept>,
    scope: Mutex<Scope>,
    cancel_calls: mpsc::Sender<CallId>,
    cancelled_calls: tokio::sync::Mutex<mpsc::Receiver<CallId>>,
}

struct Kept {
    record: RunRecord,
    progress: Progress,
    calls: Vec<CallView>,
}

impl Live {
    /// A run that begins.
    pub(super) fn begun(record: RunRecord, request: RunRequest) -> Self {
        Self::new(record, request, Progress::default(), true)
    }

    /// A run that an earlier process left.
    pub(super) fn parked(record: RunRecord) -> Result<Self, AgentError> {
        let request: RunRequest =
            serde_json::from_str(&record.options).map_err(|error| unreadable(&record.id, &error))?;
        let progress = record.turn.as_deref().map(serde_json::from_str::<Progress>).transpose();
        let mut progress = progress.map_err(|error| unreadable(&record.id, &error))?.unwrap_or_default();
        progress.turn = progress.turn.filter(TurnSnapshot::is_known);
        // A rule that was masked would allow something else.
        progress.grants.retain(|grant| serde_json::to_string(grant).is_ok_and(|json| !json.contains(MASK)));
        let is_whole = request.is_whole(progress.turn.is_some());
        Ok(Self { is_whole, ..Self::new(record, request, progress, false) })
    }

    fn new(record: RunRecord, request: RunRequest, progress: Progress, driven: bool) -> Self {
        let (cancel_calls, cancelled_calls) = mpsc::channel(MOST_CANCELLED);
        Self {
            id: record.id.as_str().into(),
            request,
            interrupt: Interrupt::default(),
            is_whole: true,
            driven: AtomicBool::new(driven),
            cancelled: AtomicBool::new(false),
            kept: Mutex::new(Kept { record, progress, calls: Vec::new() }),
            scope: Mutex::default(),
            cancel_calls,
            cancelled_calls: tokio::sync::Mutex::new(cancelled_calls),
        }
    }

    pub(super) fn id(&self) -> &RunId {
        &self.id
    }

    /// Takes the work on, unless somebody has.
    pub(super) fn take_over(&self) -> bool {
        !self.driven.swap(true, Ordering::SeqCst)
    }

    /// Nobody works on it any more.
    pub(super) fn leave(&self) {
        self.driven.store(false, Ordering::SeqCst);
    }

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.interrupt.trigger();
    }

    /// Cancels one call; the run goes on.
    pub(super) fn cancel_call(&self, call: CallId) {
        // The receiver lives as long as the sender. What is too much says the same again, or names no call.
        let _ = self.cancel_calls.try_send(call);
    }

    /// Where the grants of the run are.
    pub(super) fn set_scope(&self, scope: Scope) {
        *self.scope.lock().unwrap_or_else(PoisonError::into_inner) = scope;
    }

    fn grants(&self) -> Vec<Grant> {
        self.scope.lock().unwrap_or_else(PoisonError::into_inner).run_grants()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// How far it was when it was kept last.
    pub(super) fn progress(&self) -> Progress {
        self.lock().progress.clone()
    }

    /// The questions that an earlier process left, and those of them that are about calls that cannot go on.
    pub(super) fn left_requests(&self) -> (Vec<PendingView>, Vec<PendingView>) {
        let kept = self.lock();
        kept.progress.sorted(&kept.record)
    }

    /// Whether it can be worked on.
    ///
    /// # Errors
    /// When what it was asked with is not kept whole.
    pub(super) fn can_go_on(&self) -> Result<(), AgentError> {
        if self.is_whole {
            return Ok(());
        }
        let message =
            "the run cannot go on: it was asked with a secret in an attachment or a rule, which is not kept";
        Err(AgentError::new(ErrorKind::Interrupted, message).hint("ask again"))
    }

    /// How far it is; `waits` is whether a question of its does.
    pub(super) fn status(&self, waits: bool) -> RunStatus {
        match waits {
            true => RunStatus::InputRequired,
            false if self.driven.load(Ordering::SeqCst) => RunStatus::Running,
            false => RunStatus::Interrupted,
        }
    }

    /// The run as it is now, without what the journal masks.
    pub(super) fn view(&self, session: &Session) -> RunView {
        let journal = &session.0.journal;
        // Questions hide what they must by themselves: of what somebody consents to nothing else is masked.
        let requests = session.0.desk.pending_of(&self.id);
        let status = self.status(!requests.is_empty());
        let kept = self.lock();
        RunView {
            id: self.id.clone(),
            session: kept.record.session.clone(),
            status,
            created_ms: kept.record.created_ms,
            input: journal.masked(self.request.input.clone()),
            first_seq: kept.record.first_seq,
            requests,
            outcome: RunOutcome {
                calls: kept.calls.clone(),
                usage: Usage::default(),
                ..RunOutcome::default()
            },
        }
    }

    /// Writes down what waits for an answer.
    pub(super) fn keep_requests(&self, session: &Session) {
        self.put(session, &mut self.lock());
    }

    /// Writes it down, with what waits for an answer now: what is kept never asks about a call that it says is being
    /// made.
    fn put(&self, session: &Session, kept: &mut Kept) {
        if kept.record.status.is_over() {
            return;
        }
        let pending = session.0.desk.to_keep_of(&self.id);
        kept.record.status = if pending.is_empty() { RunStatus::Running } else { RunStatus::InputRequired };
        kept.record.requests = (!pending.is_empty())
            .then(|| serde_json::to_string(&pending).ok())
            .flatten()
            .map(|text| session.0.journal.masked_json(text));
        put(session, &kept.record);
    }

    /// Changes how far it is, and writes that down.
    pub(super) fn keep(&self, session: &Session, change: impl FnOnce(&mut Progress)) {
        let mut kept = self.lock();
        change(&mut kept.progress);
        match serde_json::to_string(&kept.progress) {
            Ok(text) => kept.record.turn = Some(session.0.journal.masked_json(text)),
            Err(error) => session.0.feed.fail(&StoreError::new(error.to_string())),
        }
        self.put(session, &mut kept);
    }

    /// Writes down how it ended. Nothing is in the outcome any more that the journal masks. Gives what was to be written.
    pub(super) fn finish(&self, session: &Session, status: RunStatus, outcome: &RunOutcome) -> RunRecord {
        let mut kept = self.lock();
        kept.record.status = status;
        kept.record.turn = None;
        kept.record.requests = None;
        kept.record.outcome = serde_json::to_string(outcome).ok();
        put(session, &kept.record);
        kept.record.clone()
    }

    /// The calls that are answered.
    pub(super) fn calls(&self) -> Vec<CallView> {
        self.lock().calls.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn put(session: &Session, record: &RunRecord) {
    if let Err(error) = session.0.feed.store(|store| store.put_run(record)) {
        session.0.feed.fail(&error);
    }
}

/// Keeps a run at each of its transitions.
pub(super) struct Keeper {
    session: Session,
    live: Arc<Live>,
    /// The revision of the turn that was kept last.
    kept: Mutex<Option<u64>>,
}

impl Keeper {
    pub(super) fn new(session: Session, live: Arc<Live>) -> Self {
        Self { session, live, kept: Mutex::default() }
    }

    /// Whether the turn is not as it was kept last.
    fn is_new(&self, turn: &Turn) -> bool {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.replace(turn.revision()) != Some(turn.revision())
    }
}

impl Watch for Keeper {
    fn turned(&self, turn: &Turn, leaves: Option<&Permit>) -> Result<(), AgentError> {
        if !self.is_new(turn) && leaves.is_none() {
            return self.session.is_kept();
        }
        {
            let mut kept = self.live.lock();
            let known = kept.calls.len();
            let new = turn.records().iter().skip(known).map(|record| {
                let mut view = CallView::from(&**record);
                view.mask(&self.session.0.journal);
                view
            });
            kept.calls.extend(new.collect::<Vec<_>>());
        }
        let grants = self.live.grants();
        self.live.keep(&self.session, |progress| {
            progress.turn = Some(turn.snapshot());
            progress.grants = grants;
            if let Some(permit) = leaves {
                let call = permit.proposal().call;
                progress.permitted.insert(call, permit.mark());
                if !permit.resumes() {
                    progress.rounds.remove(&call);
                }
            }
        });
        self.session.bump();
        self.session.is_kept()
    }

    fn cancelled(&self) -> BoxFuture<'_, CallId> {
        async move {
            match self.live.cancelled_calls.lock().await.recv().await {
                Some(call) => call,
                None => std::future::pending().await,
            }
        }
        .boxed()
    }
}
