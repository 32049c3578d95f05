//! The desk of a session: where questions wait until somebody answers them.
//!
//! A question may be answered from anywhere, and the first answer counts. It is journaled when it is asked, answered
//! and withdrawn, and kept with its run, so that it is there again after a restart, under the same handle. Where to
//! look next: `desk/question.rs` for the questions, `desk/run.rs` for who asks them.

mod question;
mod run;
mod sampling;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{oneshot, watch};

pub use self::question::{AnswerError, PendingView, Question, Reply, SamplingLine};
pub(crate) use self::run::{Round, RunDesk, RunDeskOptions};
use crate::journal::{Authorization, Journal, Masker};
use crate::name::RunId;
use crate::store::unix_ms;

/// Answered handles that are remembered, to tell a late answer from a wrong one.
const REMEMBERED: usize = 4096;

/// The questions of a session. A cheap clone.
#[derive(Clone)]
pub struct Desk(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    journal: Journal,
    /// Counts changes.
    changed: watch::Sender<u64>,
    keeper: OnceLock<Box<dyn DeskKeeper>>,
}

/// Who writes down what waits.
pub(crate) trait DeskKeeper: Send + Sync {
    /// Writes down what waits in a run, which has changed.
    fn keep(&self, run: &RunId);

    /// What is seen to wait has changed.
    fn changed(&self);
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<String, Waiting>,
    /// Answers to questions of an earlier process, until the run asks again.
    early: BTreeMap<String, Early>,
    answered: HashSet<String>,
    /// Counts those who listen, to tell them apart.
    listeners: u64,
}

/// An answer that came before the run asked again.
struct Early {
    /// What was shown.
    question: Question,
    reply: Reply,
}

struct Waiting {
    view: PendingView,
    /// Whether it is written down. Nobody sees it before: what a person has seen is there again after a restart.
    kept: bool,
    /// Nobody listens where the question is that of an earlier process.
    listener: Option<Listener>,
}

/// Who waits for an answer.
struct Listener {
    number: u64,
    sender: oneshot::Sender<Reply>,
}

/// How a question stands when it is asked.
enum Asked {
    /// It is answered.
    Early(Reply),
    /// It waits on the desk, and the listener with this number for its answer.
    Waits {
        /// Whether the very question was there already.
        again: bool,
        listener: u64,
    },
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("waiting", &self.lock().waiting.len()).finish_non_exhaustive()
    }
}

impl Desk {
    /// A desk without questions, which writes into `journal`.
    #[must_use]
    pub fn new(journal: Journal) -> Self {
        let changed = watch::Sender::new(0);
        Self(Arc::new(Inner { state: Mutex::default(), journal, changed, keeper: OnceLock::new() }))
    }

    /// What its journal knows to be secret.
    fn masker(&self) -> Masker {
        self.0.journal.masker()
    }

    /// What waits for an answer, the oldest first.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingView> {
        self.sorted(|waiting| waiting.kept)
    }

    /// What waits for an answer in one run.
    #[must_use]
    pub fn pending_of(&self, run: &RunId) -> Vec<PendingView> {
        self.sorted(|waiting| waiting.kept && waiting.view.run == *run)
    }

    /// What is to be written down of one run.
    pub(crate) fn to_keep_of(&self, run: &RunId) -> Vec<PendingView> {
        self.sorted(|waiting| waiting.view.run == *run)
    }

    fn sorted(&self, choose: impl Fn(&Waiting) -> bool) -> Vec<PendingView> {
        let state = self.lock();
        let chosen = state.waiting.values().filter(|waiting| choose(waiting));
        let mut pending: Vec<_> = chosen.map(|waiting| waiting.view.clone()).collect();
        pending.sort_by(|one, other| one.asked_ms.cmp(&other.asked_ms).then_with(|| one.id.cmp(&other.id)));
        pending
    }

    /// Answers a question. The first answer counts.
    ///
    /// # Errors
    /// When there is no such question, it was answered before, or the answer does not fit it; it still waits then.
    pub fn answer(&self, request: &str, reply: Reply) -> Result<RunId, AnswerError> {
        let (run, word) = {
            let mut state = self.lock();
            let Some(waiting) = state.waiting.get(request).filter(|waiting| waiting.kept) else {
                let request = request.to_owned();
                let taken = state.answered.contains(&request);
                return Err(if taken { AnswerError::Taken(request) } else { AnswerError::Unknown(request) });
            };
            waiting.view.question.check(&reply).map_err(|error| match error {
                // It may name what was asked.
                AnswerError::NotThis(why) => AnswerError::NotThis(self.0.journal.masked(why)),
                other => other,
            })?;
            let Some(waiting) = state.waiting.remove(request) else {
                return Err(AnswerError::Unknown(request.to_owned()));
            };
            state.remember(request);
            let word = reply.word();
            match waiting.listener {
                Some(listener) => drop(listener.sender.send(reply)),
                None => {
                    let early = Early { question: waiting.view.question, reply };
                    state.early.insert(request.to_owned(), early);
                }
            }
            (waiting.view.run, word)
        };
        let (request, answer) = (request.to_owned(), word.to_owned());
        self.0.journal.for_run(run.clone()).record(Authorization::Answered { request, answer });
        self.changed(&run);
        Ok(run)
    }

    /// Takes a question away that the person leaves without an answer: a call that asked for consent is not made, and a
    /// form is closed. Whether it still waited.
    pub fn withdraw(&self, request: &str, reason: &str) -> bool {
        let waiting = self.lock().waiting.remove(request);
        let Some(Waiting { view: PendingView { run, .. }, .. }) = waiting else { return false };
        let (request, reason) = (request.to_owned(), reason.to_owned());
        self.0.journal.for_run(run.clone()).record(Authorization::Withdrawn { request, reason });
        self.changed(&run);
        true
    }

    /// Signals every change of what waits.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Puts the questions of an earlier process on the desk again.
    pub(crate) fn restore(&self, pending: Vec<PendingView>) {
        let mut state = self.lock();
        for view in pending {
            state.waiting.insert(view.id.clone(), Waiting { view, kept: true, listener: None });
        }
    }

    /// Who writes down what waits.
    pub(crate) fn kept_by(&self, keeper: impl DeskKeeper + 'static) {
        // Set once, by the session that made the desk.
        let _ = self.0.keeper.set(Box::new(keeper));
    }

    /// Asks, and waits for the answer. Dropping the future withdraws the question.
    async fn ask(&self, view: PendingView) -> Option<Reply> {
        let (sender, receiver) = oneshot::channel();
        let (id, run, question) = (view.id.clone(), view.run.clone(), view.question.clone());
        let journal = self.0.journal.for_run(run.clone());
        // In a statement of its own, for the lock to be let go of.
        let asked = self.lock().ask(view, sender);
        let (again, listener) = match asked {
            Asked::Early(reply) => return Some(reply),
            Asked::Waits { again, listener } => (again, listener),
        };
        self.keep(&run);
        {
            let mut state = self.lock();
            if !again {
                // Whoever reads this finds what waits, and nobody answers before.
                let (request, call) = (id.clone(), question.call());
                journal.record(Authorization::Requested { request, call, question: Box::new(question) });
            }
            if let Some(waiting) = state.waiting.get_mut(&id) {
                waiting.kept = true;
            }
        }
        self.tell();
        let mut withdrawn = Withdrawn { desk: self, journal, run, id: Some(id), listener };
        let reply = receiver.await.ok();
        withdrawn.id = None;
        reply
    }

    /// Nobody listens to the answers of a run any more, because its process ends. Its questions stay.
    pub(crate) fn leave(&self, run: &RunId) {
        let mut state = self.lock();
        let left = state.waiting.values_mut().filter(|waiting| waiting.view.run == *run);
        left.for_each(|waiting| waiting.listener = None);
    }

    /// Takes the questions of a run away, because it is over.
    pub(crate) fn clear(&self, run: &RunId, reason: &str) {
        let mut gone = Vec::new();
        {
            let mut state = self.lock();
            state.waiting.retain(|id, waiting| {
                let stays = waiting.view.run != *run;
                if !stays {
                    gone.push(id.clone());
                }
                stays
            });
        }
        let journal = self.0.journal.for_run(run.clone());
        for request in gone {
            journal.record(Authorization::Withdrawn { request, reason: reason.to_owned() });
        }
        self.changed(run);
    }

    /// Takes a question away that needs no answer any more. Gives the answer that it got before its run asked again.
    pub(crate) fn settle(&self, request: &str, reason: &str) -> Option<Reply> {
        let early = {
            let mut state = self.lock();
            if state.waiting.contains_key(request) {
                // Whoever answers it now came late.
                state.remember(request);
            }
            state.early.remove(request)
        };
        self.withdraw(request, reason);
        early.map(|early| early.reply)
    }

    /// Writes down what waits in a run, and tells whoever looks.
    fn changed(&self, run: &RunId) {
        self.keep(run);
        self.tell();
    }

    fn keep(&self, run: &RunId) {
        if let Some(keeper) = self.0.keeper.get() {
            keeper.keep(run);
        }
    }

    fn tell(&self) {
        if let Some(keeper) = self.0.keeper.get() {
            keeper.changed();
        }
        self.0.changed.send_modify(|changes| *changes += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the answer that is there already, or puts the question on the desk. In one go: an answer that comes in
    /// between would reach nobody.
    fn ask(&mut self, view: PendingView, sender: oneshot::Sender<Reply>) -> Asked {
        match self.early.remove(&view.id) {
            Some(early) if view.question.takes(&early.question, &early.reply) => {
                return Asked::Early(early.reply);
            }
            // What is asked is another thing now, such as a tool whose definition changed meanwhile.
            Some(_) => drop(self.answered.remove(&view.id)),
            None => {}
        }
        self.listeners += 1;
        let (id, listener) = (view.id.clone(), Listener { number: self.listeners, sender });
        let again =
            self.waiting.get(&id).is_some_and(|before| before.kept && before.view.question == view.question);
        self.waiting.insert(id, Waiting { view, kept: again, listener: Some(listener) });
        Asked::Waits { again, listener: self.listeners }
    }

    fn remember(&mut self, request: &str) {
        if self.answered.len() >= REMEMBERED {
            self.answered.clear();
        }
        self.answered.insert(request.to_owned());
    }
}

/// Takes a question away whose asker does not wait any more.
struct Withdrawn<'a> {
    desk: &'a Desk,
    journal: Journal,
    run: RunId,
    id: Option<String>,
    /// Whose question it is. Another may have asked it meanwhile.
    listener: u64,
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        let Some(request) = self.id.take() else { return };
        let withdrawn = {
            let mut state = self.desk.lock();
            let waiting = state.waiting.get(&request).and_then(|waiting| waiting.listener.as_ref());
            let heard = waiting.is_some_and(|listener| listener.number == self.listener);
            heard && state.waiting.remove(&request).is_some()
        };
        if withdrawn {
            let reason = "whoever asked does not wait for the answer any more".to_owned();
            self.journal.record(Authorization::Withdrawn { request, reason });
            self.desk.changed(&self.run);
        }
    }
}

/// A question as it is put on the desk.
fn view(id: String, run: &RunId, question: Question) -> PendingView {
    PendingView { id, run: run.clone(), asked_ms: unix_ms(), question }
}

#[cfg(test)]
mod tests;
