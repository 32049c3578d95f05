//! Records to be kept.

use std::path::Path;

use switchboard_agent::Digest;
use switchboard_agent::journal::{Entry, Event, Selection};
use switchboard_agent::store::{ArtefactRecord, RunRecord, RunStatus, SessionRecord};
use switchboard_store::SqliteStore;

pub(crate) fn sqlite(folder: &Path) -> SqliteStore {
    SqliteStore::open(&folder.join("data/sessions.db")).unwrap()
}

pub(crate) fn session(id: &str, updated_ms: u64) -> SessionRecord {
    SessionRecord {
        id: id.to_owned(),
        title: format!("about {id}"),
        created_ms: 1,
        updated_ms,
        model: Some("m".to_owned()),
        servers: Some(vec!["a".to_owned()]),
        parent: None,
        conversation: r#"{"messages":[]}"#.to_owned(),
        offered: vec!["a__t".to_owned()],
    }
}

pub(crate) fn run(id: &str, session: &str, key: Option<&str>) -> RunRecord {
    RunRecord {
        id: id.to_owned(),
        session: session.to_owned(),
        created_ms: 2,
        status: RunStatus::Running,
        first_seq: 1,
        options: r#"{"input":"q"}"#.to_owned(),
        turn: None,
        requests: None,
        outcome: None,
        idempotency_key: key.map(str::to_owned),
        digest: key.map(|key| Digest::of(&[key.as_bytes()])),
    }
}

pub(crate) fn entry(seq: u64, text: &str) -> Entry {
    let event = Event::from(Selection::Note { text: text.to_owned() });
    Entry { seq, unix_ms: 3, elapsed_ms: 4, run: Some("r".into()), event }
}

pub(crate) fn artefact(id: &str, session: &str, bytes: u64) -> ArtefactRecord {
    ArtefactRecord {
        id: id.to_owned(),
        session: session.to_owned(),
        call: Some(1),
        server: Some("a".to_owned()),
        kind: "text".to_owned(),
        name: None,
        mime_type: Some("text/plain".to_owned()),
        uri: None,
        audience: None,
        bytes,
        created_ms: 5,
    }
}
