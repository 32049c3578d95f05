//! A store that lasts as long as the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{ArtefactRecord, RunRecord, RunStatus, SessionRecord, Store, StoreError};
use crate::journal::Entry;

/// Keeps everything in memory.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    documents: BTreeMap<(String, String), String>,
    sessions: BTreeMap<String, SessionRecord>,
    journals: BTreeMap<String, Vec<Entry>>,
    runs: Vec<RunRecord>,
    /// One entry for each session that has one.
    artefacts: Vec<(ArtefactRecord, Arc<[u8]>)>,
}

impl MemoryStore {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn document(&self, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        Ok(self.lock().documents.get(&(kind.to_owned(), key.to_owned())).cloned())
    }

    fn documents(&self, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        let kept = self.lock();
        let of_kind = kept.documents.iter().filter(|((other, _), _)| other == kind);
        Ok(of_kind.map(|((_, key), text)| (key.clone(), text.clone())).collect())
    }

    fn put_document(&self, kind: &str, key: &str, text: Option<&str>) -> Result<(), StoreError> {
        let (mut kept, at) = (self.lock(), (kind.to_owned(), key.to_owned()));
        match text {
            Some(text) => kept.documents.insert(at, text.to_owned()),
            None => kept.documents.remove(&at),
        };
        Ok(())
    }

    fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        let listed =
            |session: &SessionRecord| SessionRecord { conversation: String::new(), ..session.clone() };
        let mut sessions: Vec<_> = self.lock().sessions.values().map(listed).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.updated_ms));
        Ok(sessions)
    }

    fn listed(&self, limit: usize) -> Result<Vec<(SessionRecord, Option<RunStatus>)>, StoreError> {
        let sessions = self.sessions()?;
        let last: BTreeMap<String, RunStatus> =
            self.lock().runs.iter().map(|run| (run.session.clone(), run.status)).collect();
        let with_last = |session: SessionRecord| {
            let last = last.get(&session.id).copied();
            (session, last)
        };
        Ok(sessions.into_iter().take(limit).map(with_last).collect())
    }

    fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        Ok(self.lock().sessions.get(id).cloned())
    }

    fn put_session(&self, session: &SessionRecord) -> Result<(), StoreError> {
        self.lock().sessions.insert(session.id.clone(), session.clone());
        Ok(())
    }

    fn remove_session(&self, id: &str) -> Result<(), StoreError> {
        let mut kept = self.lock();
        kept.sessions.remove(id);
        kept.journals.remove(id);
        kept.runs.retain(|run| run.session != id);
        kept.artefacts.retain(|(artefact, _)| artefact.session != id);
        Ok(())
    }

    fn hold(&self, _: &str) -> Result<(), StoreError> {
        // No other process sees this memory.
        Ok(())
    }

    fn release(&self, _: &str) {}

    fn append(&self, session: &str, entry: &Entry) -> Result<(), StoreError> {
        self.lock().journals.entry(session.to_owned()).or_default().push(entry.clone());
        Ok(())
    }

    fn last_seq(&self, session: &str) -> Result<u64, StoreError> {
        Ok(self.lock().journals.get(session).and_then(|journal| journal.last()).map_or(0, |entry| entry.seq))
    }

    fn entries(&self, session: &str, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let kept = self.lock();
        let journal = kept.journals.get(session).map_or(&[][..], Vec::as_slice);
        Ok(journal.iter().filter(|entry| entry.seq > after).take(limit).cloned().collect())
    }

    fn put_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        let mut kept = self.lock();
        match kept.runs.iter_mut().find(|other| other.id == run.id) {
            Some(other) => *other = run.clone(),
            None => kept.runs.push(run.clone()),
        }
        Ok(())
    }

    fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        Ok(self.lock().runs.iter().find(|run| run.id == id).cloned())
    }

    fn runs(&self, session: &str) -> Result<Vec<RunRecord>, StoreError> {
        Ok(self.lock().runs.iter().filter(|run| run.session == session).cloned().collect())
    }

    fn run_with_key(&self, idempotency_key: &str) -> Result<Option<RunRecord>, StoreError> {
        let kept = self.lock();
        let with_key = |run: &&RunRecord| run.idempotency_key.as_deref() == Some(idempotency_key);
        Ok(kept.runs.iter().find(with_key).cloned())
    }

    fn put_artefact(&self, artefact: &ArtefactRecord, bytes: &[u8]) -> Result<(), StoreError> {
        if self.share_artefact(&artefact.session, &artefact.id).is_err() {
            self.lock().artefacts.push((artefact.clone(), bytes.into()));
        }
        Ok(())
    }

    fn share_artefact(&self, session: &str, id: &str) -> Result<(), StoreError> {
        let mut kept = self.lock();
        let (record, bytes) =
            kept.artefacts.iter().find(|(artefact, _)| artefact.id == id).ok_or_else(|| none(id))?;
        let shared = (ArtefactRecord { session: session.to_owned(), ..record.clone() }, Arc::clone(bytes));
        let has = |(artefact, _): &(ArtefactRecord, _)| artefact.id == id && artefact.session == session;
        if !kept.artefacts.iter().any(has) {
            kept.artefacts.push(shared);
        }
        Ok(())
    }

    fn artefact(&self, id: &str) -> Result<Option<ArtefactRecord>, StoreError> {
        let kept = self.lock();
        let found = kept.artefacts.iter().find(|(artefact, _)| artefact.id == id);
        Ok(found.map(|(artefact, _)| artefact.clone()))
    }

    fn artefact_of(&self, session: &str, id: &str) -> Result<Option<ArtefactRecord>, StoreError> {
        Ok(self.artefacts(session)?.into_iter().find(|artefact| artefact.id == id))
    }

    fn artefacts(&self, session: &str) -> Result<Vec<ArtefactRecord>, StoreError> {
        let kept = self.lock();
        let of_session = kept.artefacts.iter().filter(|(artefact, _)| artefact.session == session);
        Ok(of_session.map(|(artefact, _)| artefact.clone()).collect())
    }

    fn artefact_bytes(&self, id: &str, offset: u64, length: usize) -> Result<Vec<u8>, StoreError> {
        let kept = self.lock();
        let Some((_, bytes)) = kept.artefacts.iter().find(|(artefact, _)| artefact.id == id) else {
            return Err(none(id));
        };
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let to = from.saturating_add(length).min(bytes.len());
        Ok(bytes[from..to].to_vec())
    }
}

fn none(id: &str) -> StoreError {
    StoreError::new(format!("there is no artefact {id}"))
}
