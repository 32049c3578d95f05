//! How a session is opened: taken hold of, read, and its questions put on the desk.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::watch;

use super::feed::{Feed, FeedSink};
use super::live::Live;
use super::{Inner, Session, SessionOptions, State, no_session, short_title, unreadable};
use crate::desk::{Desk, DeskKeeper, PendingView};
use crate::error::AgentError;
use crate::host::Host;
use crate::journal::{Authorization, Journal};
use crate::name::RunId;
use crate::store::{SessionRecord, unix_ms};

/// How far the numbers of a journal jump after a crash: more than there can be pieces of an answer that were shown
/// and are not kept, so that no number is used twice.
const CRASH_GAP: u64 = 1 << 20;

impl Session {
    /// Takes hold of a session and reads what there is of it.
    pub(crate) fn open(host: Host, options: SessionOptions) -> Result<Self, AgentError> {
        let store = Arc::clone(host.store());
        let (record, stored) = match &options.id {
            Some(id) => (store.session(id)?.ok_or_else(|| no_session(id))?, true),
            None => (new_record(&options), false),
        };
        let id = record.id.clone();
        store.hold(&id)?;
        // Whatever goes wrong from here on lets go of it.
        let mut held = Held { host: &host, id: Some(&id) };
        let state = State { stored, ..state(&host, record, options)? };
        let mut last = store.last_seq(&id)?;
        if state.current.is_some() {
            last += CRASH_GAP;
        }
        held.id = None;
        drop(held);
        let feed = Arc::new(Feed::new(&id, store, last));
        if stored {
            feed.begin();
        }
        let journal = Journal::continuing(last).with_sink(FeedSink(Arc::clone(&feed)));
        host.secrets().into_iter().for_each(|secret| journal.mask(secret));
        let session = Self(Arc::new(Inner {
            id,
            host,
            desk: Desk::new(journal.clone()),
            journal,
            feed,
            told: Arc::default(),
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
        }));
        session.keep_questions();
        Ok(session)
    }

    /// Writes the questions of a run down whenever they change, and puts those of an earlier process on the desk.
    fn keep_questions(&self) {
        self.0.desk.kept_by(KeptQuestions(Arc::downgrade(&self.0)));
        let current = self.lock().current.clone();
        if let Some(live) = current {
            let (left, lost) = live.left_requests();
            self.0.desk.restore(left);
            if lost.is_empty() {
                return;
            }
            let journal = self.0.journal.for_run(live.id().clone());
            for PendingView { id: request, .. } in lost {
                let reason =
                    "the host ended meanwhile, and its call held a secret that is not kept".to_owned();
                journal.record(Authorization::Withdrawn { request, reason });
            }
            live.keep_requests(self);
        }
    }
}

/// Where a session was left.
fn state(host: &Host, record: SessionRecord, options: SessionOptions) -> Result<State, AgentError> {
    let unfinished = host.store().runs(&record.id)?.into_iter().rfind(|run| !run.status.is_over());
    let conversation = match record.conversation.as_str() {
        "" => host.conversation(),
        text => serde_json::from_str(text).map_err(|error| unreadable(&record.id, &error))?,
    };
    Ok(State {
        told_model: None,
        record: SessionRecord {
            model: options.model.or(record.model.clone()),
            servers: options.servers.or(record.servers.clone()),
            ..record
        },
        stored: false,
        closed: false,
        interactive: options.interactive,
        conversation,
        current: unfinished.map(Live::parked).transpose()?.map(Arc::new),
        ended: VecDeque::new(),
        unkept: None,
    })
}

/// Keeps the questions of a session with their runs.
struct KeptQuestions(Weak<Inner>);

impl DeskKeeper for KeptQuestions {
    fn keep(&self, run: &RunId) {
        let Some(session) = self.0.upgrade().map(Session) else { return };
        let current = session.lock().current.clone();
        if let Some(live) = current.filter(|live| live.id() == run) {
            live.keep_requests(&session);
        }
    }

    fn changed(&self) {
        if let Some(session) = self.0.upgrade().map(Session) {
            session.bump();
        }
    }
}

fn new_record(options: &SessionOptions) -> SessionRecord {
    let now = unix_ms();
    SessionRecord {
        id: crate::host::new_id("s"),
        title: options.title.as_deref().map(short_title).unwrap_or_default(),
        created_ms: now,
        updated_ms: now,
        model: options.model.clone(),
        servers: options.servers.clone(),
        parent: None,
        conversation: String::new(),
        offered: Vec::new(),
    }
}

/// Lets go of a session that could not be opened.
struct Held<'a> {
    host: &'a Host,
    id: Option<&'a str>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.host.store().release(id);
        }
    }
}
