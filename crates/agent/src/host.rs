//! The host: what all sessions share, and who opens them.
//!
//! A [`Host`] has the servers, the policy, the models, the store and the limits. It opens each session once in this
//! process, and no other process can open it meanwhile. Where to look next: `session` for what goes on in one,
//! `host/export.rs` for what leaves it as a file.

mod browse;
mod build;
mod export;
mod models;
mod secrets;
mod servers;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use switchboard_protocol::model::roots::Root;
use tokio::sync::watch;

pub use self::browse::{ArgumentToComplete, ServerPrompt, ServerResource};
pub use self::build::HostBuilder;
pub use self::export::{Export, ExportForm};
pub use self::models::{ModelChoice, ModelInfo, Models, OneModel};
use self::secrets::Remembered;
pub(crate) use self::servers::Servers;
use crate::agent::{Agent, AgentBuilder};
use crate::error::{AgentError, ErrorKind};
use crate::limits::Limits;
use crate::name::{RunId, ServerName};
use crate::policy::{Grants, Pins, Policy};
use crate::router::Router;
use crate::session::{self, RunOutcome, RunRequest, RunView, Session, SessionOptions, SessionState};
use crate::store::{RunRecord, RunStatus, SessionRecord, Store, unix_ms};
use crate::supervisor::Supervisor;
use crate::turn::Conversation;
use crate::visible;

/// Entries that are copied at a time.
const PAGE: usize = 256;

/// What all sessions share. A cheap clone.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

pub(crate) struct Inner {
    servers: Servers,
    policy: Policy,
    models: Arc<dyn Models>,
    store: Arc<dyn Store>,
    /// One for all runs: a server that is in no configuration is pinned as long as the host lives.
    pins: Pins,
    limits: Limits,
    instructions: String,
    secrets: Vec<String>,
    /// Knows them, and those of the servers.
    masker: Remembered,
    /// The sessions that are open in this process.
    open: Mutex<HashMap<String, Weak<session::Inner>>>,
    /// Counts changes of what a list of the sessions shows.
    changed: watch::Sender<u64>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("open", &self.lock().len()).finish_non_exhaustive()
    }
}

impl Host {
    /// Begins to make a host whose runs are answered by `models`.
    pub fn builder(models: impl Models + 'static) -> HostBuilder {
        HostBuilder::new(Arc::new(models))
    }

    /// Opens a session, a new one or one that is there. A new one is kept from its first question on.
    ///
    /// # Errors
    /// When there is no such session, another process has it open, or the disk does not work.
    pub fn open(&self, options: SessionOptions) -> Result<Session, AgentError> {
        let mut open = self.lock();
        let known = options.id.as_ref().and_then(|id| open.get(id)).and_then(Session::upgrade);
        if let Some(session) = known {
            return Ok(session);
        }
        let session = Session::open(self.clone(), options)?;
        open.retain(|_, session| session.strong_count() > 0);
        open.insert(session.id().to_owned(), session.downgrade());
        Ok(session)
    }

    /// Opens a session that is there, so that somebody can be asked.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn session(&self, id: &str) -> Result<Session, AgentError> {
        self.open(SessionOptions { id: Some(id.to_owned()), interactive: true, ..SessionOptions::default() })
    }

    /// The sessions, the newest first.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionRecord>, AgentError> {
        Ok(self.0.store.sessions()?)
    }

    /// The newest `limit` sessions, each with how it stands.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub fn session_list(&self, limit: usize) -> Result<Vec<(SessionRecord, SessionState)>, AgentError> {
        let stands = |(record, last): (SessionRecord, Option<RunStatus>)| {
            let state = match (last, self.opened(&record.id)) {
                (None, _) => SessionState::New,
                (Some(_), Some(session)) => session.status().map_or(SessionState::Ended, SessionState::from),
                (Some(RunStatus::Running | RunStatus::InputRequired), None) => {
                    SessionState::of(&self.runs(&record.id)?)
                }
                (Some(last), None) => last.into(),
            };
            Ok((record, state))
        };
        self.0.store.listed(limit)?.into_iter().map(stands).collect()
    }

    /// A number that grows whenever a session begins or is gone, gets a title, asks something, or its run ends.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    pub(crate) fn sessions_changed(&self) {
        self.0.changed.send_modify(|changes| *changes += 1);
    }

    /// The runs of a session, the oldest first.
    ///
    /// # Errors
    /// When there is no such session, or the disk cannot be read.
    pub fn runs(&self, session: &str) -> Result<Vec<RunView>, AgentError> {
        self.record(session)?;
        if let Some(live) = self.opened(session) {
            let view = |record: RunRecord| {
                let live = live.run(&record.id.as_str().into());
                live.unwrap_or_else(|| session::stored_view(&record, false))
            };
            return Ok(self.0.store.runs(session)?.into_iter().map(view).collect());
        }
        let mut runs = self.0.store.runs(session)?;
        let mut elsewhere = false;
        if runs.iter().any(needs_process) {
            elsewhere = self.is_held(session);
            // Read once more: what ended meanwhile has ended.
            runs = self.0.store.runs(session)?;
        }
        Ok(runs.iter().map(|record| session::stored_view(record, elsewhere)).collect())
    }

    /// Whether another process has a session open. Nobody can be told by its store alone: a process that is killed writes
    /// nothing.
    fn is_held(&self, session: &str) -> bool {
        match self.0.store.hold(session) {
            Ok(()) => {
                self.0.store.release(session);
                false
            }
            Err(error) => error.is_held(),
        }
    }

    /// A run, wherever it is, without opening its session.
    ///
    /// # Errors
    /// When there is no such run, or the disk cannot be read.
    pub fn run(&self, id: &RunId) -> Result<RunView, AgentError> {
        let record = self.run_record(id)?;
        if let Some(live) = self.opened(&record.session).and_then(|session| session.run(id)) {
            return Ok(live);
        }
        if !needs_process(&record) {
            return Ok(session::stored_view(&record, false));
        }
        // As in `runs`.
        let elsewhere = self.is_held(&record.session);
        Ok(session::stored_view(&self.run_record(id)?, elsewhere))
    }

    /// The run that was begun with the key of a request, if one was.
    ///
    /// # Errors
    /// When the key cannot be one; [`ErrorKind::KeyReused`] when that run was asked something else; when the disk
    /// cannot be read.
    pub fn begun(&self, request: &RunRequest) -> Result<Option<RunRecord>, AgentError> {
        let Some(key) = request.key()? else { return Ok(None) };
        let Some(run) = self.0.store.run_with_key(key)? else { return Ok(None) };
        if run.digest.is_some_and(|digest| digest != request.digest()) {
            let message = format!("the key {} is that of another question", visible::quoted(key, 64));
            return Err(AgentError::new(ErrorKind::KeyReused, message)
                .hint("a key belongs to one question: take another key, or ask just what was asked before"));
        }
        Ok(Some(run))
    }

    /// Opens the session of a run.
    ///
    /// # Errors
    /// When there is no such run; as [`open`](Self::open).
    pub fn session_of(&self, run: &RunId) -> Result<Session, AgentError> {
        self.session(&self.run_record(run)?.session)
    }

    /// A new session with what another one held after one of its runs, or after its last.
    ///
    /// # Errors
    /// When there is no such session or run, the run is not over, or the disk does not work.
    pub fn fork(&self, id: &str, after: Option<&RunId>) -> Result<SessionRecord, AgentError> {
        let store = &self.0.store;
        let parent = self.record(id)?;
        let mut runs = store.runs(id)?;
        runs.retain(|run| run.status.is_over());
        if let Some(after) = after {
            let at = runs.iter().position(|run| run.id == after.as_str()).ok_or_else(|| {
                let message = format!("the session has no run {after} that is over");
                AgentError::new(ErrorKind::NotFound, message)
            })?;
            runs.truncate(at + 1);
        }
        let outcome =
            |run: &RunRecord| run.outcome.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let last: Option<RunOutcome> = runs.last().and_then(outcome);
        let conversation = self.conversation_of(&parent)?;
        let conversation = match last.as_ref().and_then(|last| last.messages) {
            Some(messages) => conversation.until(messages),
            None => self.conversation(),
        };
        let now = unix_ms();
        let fork = SessionRecord {
            id: new_id("s"),
            created_ms: now,
            updated_ms: now,
            parent: Some(parent.id.clone()),
            conversation: serde_json::to_string(&conversation).unwrap_or_default(),
            ..parent
        };
        store.put_session(&fork)?;
        self.copy(id, &fork.id, runs, last.and_then(|last| last.last_seq))?;
        self.sessions_changed();
        Ok(fork)
    }

    /// Copies runs and the journal up to entry `last`; runs get names of their own. Artefacts are shared.
    fn copy(&self, from: &str, to: &str, runs: Vec<RunRecord>, last: Option<u64>) -> Result<(), AgentError> {
        let store = &self.0.store;
        let mut names = HashMap::new();
        for run in runs {
            let id = new_id("r");
            names.insert(RunId::from(run.id.as_str()), RunId::from(id.as_str()));
            store.put_run(&RunRecord { id, session: to.to_owned(), idempotency_key: None, ..run })?;
        }
        let (mut after, last, mut until_ms) = (0, last.unwrap_or(0), 0);
        while after < last {
            let entries = store.entries(from, after, PAGE)?;
            let Some(end) = entries.last().map(|entry| entry.seq) else { break };
            for mut entry in entries.into_iter().take_while(|entry| entry.seq <= last) {
                until_ms = entry.unix_ms;
                entry.run = entry.run.and_then(|run| names.get(&run).cloned());
                store.append(to, &entry)?;
            }
            after = end;
        }
        // What came later belongs to runs that are not copied.
        let artefacts = store.artefacts(from)?.into_iter().filter(|artefact| artefact.created_ms <= until_ms);
        artefacts.into_iter().try_for_each(|artefact| Ok(store.share_artefact(to, &artefact.id)?))
    }

    /// Removes a session with all that belongs to it. A run that goes on in this process is cancelled.
    ///
    /// # Errors
    /// When there is no such session, another process has it open, or the disk does not work.
    pub fn delete(&self, id: &str) -> Result<(), AgentError> {
        self.record(id)?;
        self.0.store.hold(id)?;
        if let Some(session) = self.lock().remove(id).as_ref().and_then(Session::upgrade) {
            session.close();
        }
        let removed = Grants::new(Arc::clone(&self.0.store)).remove_session(id);
        let removed = removed.and_then(|()| self.0.store.remove_session(id));
        self.0.store.release(id);
        self.sessions_changed();
        Ok(removed?)
    }

    /// Where everything is kept.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Who answers.
    #[must_use]
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.0.models
    }

    /// Who may call what.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.0.policy
    }

    /// How far a run may go.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The folders that each server may be told of, once the person consents.
    pub(crate) fn roots(&self) -> BTreeMap<ServerName, Vec<Root>> {
        let configs = self.supervisor().map(Supervisor::configs).unwrap_or_default();
        configs.iter().map(|config| (config.name.clone(), config.roots.clone())).collect()
    }

    pub(crate) fn pins(&self) -> &Pins {
        &self.0.pins
    }

    pub(crate) fn servers(&self) -> &Servers {
        &self.0.servers
    }

    /// Who keeps the servers of the configuration alive.
    #[must_use]
    pub fn supervisor(&self) -> Option<&Supervisor> {
        self.0.servers.supervisor()
    }

    /// Begins an agent for calls that a person or a program names, outside of all sessions: with the servers, the policy,
    /// the pins and the limits of the host.
    ///
    /// # Errors
    /// Never by now: all servers of the host are there.
    pub fn agent(&self) -> Result<AgentBuilder, AgentError> {
        let agent = Agent::builder(Router::new())
            .store(Arc::clone(self.store()))
            .pins(self.pins().clone())
            .policy(self.policy().clone())
            .limits(self.limits().clone());
        self.servers().introduce(agent, None)
    }

    /// Texts that must not be written anywhere: those that it was made with, and those of the servers' configuration; but
    /// for what is part of a server's name, by which calls, rules and questions are found.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = self.0.servers.secrets();
        secrets.extend(self.0.secrets.iter().cloned());
        secrets.retain(|secret| !self.0.servers.are_named(secret));
        secrets
    }

    /// JSON that is shown, without those of them that can be masked: one place for everything that leaves the host.
    #[must_use]
    pub fn shown_json(&self, json: String) -> String {
        self.0.masker.of(self.secrets()).shown_json(json)
    }

    pub(crate) fn instructions(&self) -> &str {
        &self.0.instructions
    }

    /// A conversation that begins.
    pub(crate) fn conversation(&self) -> Conversation {
        match self.0.instructions.as_str() {
            "" => Conversation::default(),
            text => Conversation::with_instructions(text),
        }
    }

    fn conversation_of(&self, record: &SessionRecord) -> Result<Conversation, AgentError> {
        if record.conversation.is_empty() {
            return Ok(self.conversation());
        }
        serde_json::from_str(&record.conversation).map_err(|error| {
            let message = format!("the conversation of {} cannot be read: {error}", record.id);
            AgentError::new(ErrorKind::Storage, message)
        })
    }

    /// The session, if it is open in this process.
    fn opened(&self, id: &str) -> Option<Session> {
        self.lock().get(id).and_then(Session::upgrade)
    }

    fn record(&self, id: &str) -> Result<SessionRecord, AgentError> {
        self.0.store.session(id)?.ok_or_else(|| session::no_session(id))
    }

    fn run_record(&self, id: &RunId) -> Result<RunRecord, AgentError> {
        self.0.store.run(id.as_str())?.ok_or_else(|| {
            let message = format!("there is no run {}", visible::quoted(id.as_str(), 64));
            AgentError::new(ErrorKind::NotFound, message)
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Weak<session::Inner>>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a run stands as it is kept only while a process works on it.
fn needs_process(record: &RunRecord) -> bool {
    !record.status.is_over() && session::stored_view(record, false).status != record.status
}

/// A name that nothing else has: a letter for what it is, and 15 of 32 signs.
pub(crate) fn new_id(kind: &str) -> String {
    const SIGNS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut bytes = [0_u8; 15];
    if getrandom::fill(&mut bytes).is_err() {
        // No randomness: the time and the process are as good as it gets.
        let seed = u128::from(unix_ms()) << 32 | u128::from(std::process::id());
        bytes.copy_from_slice(&seed.to_be_bytes()[1..]);
    }
    let signs = bytes.iter().map(|byte| char::from(SIGNS[usize::from(byte % 32)]));
    kind.chars().chain(signs).collect()
}
