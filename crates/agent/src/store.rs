//! What the host keeps: sessions with their journals, runs, artefacts, and small documents.
//!
//! [`Store`] is the seam; [`MemoryStore`] keeps everything as long as the process lives, and the crate
//! `switchboard-store` keeps it in SQLite. What is stored is masked before it comes here. Methods block for as
//! long as a local disk takes. Where to look next: `session` for who writes what.

mod memory;

use serde::{Deserialize, Serialize};

pub use self::memory::MemoryStore;
use crate::digest::Digest;
use crate::journal::Entry;

/// Where the host keeps things.
pub trait Store: Send + Sync {
    /// A small document, such as a pin.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn document(&self, kind: &str, key: &str) -> Result<Option<String>, StoreError>;

    /// All documents of a kind, by key.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn documents(&self, kind: &str) -> Result<Vec<(String, String)>, StoreError>;

    /// Writes a document, or removes it.
    ///
    /// # Errors
    /// When the disk cannot be written.
    fn put_document(&self, kind: &str, key: &str, text: Option<&str>) -> Result<(), StoreError>;

    /// The sessions, the newest first, without their conversations.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError>;

    /// The newest `limit` sessions as [`sessions`](Self::sessions) gives them, each with how far its last run is.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn listed(&self, limit: usize) -> Result<Vec<(SessionRecord, Option<RunStatus>)>, StoreError>;

    /// One session.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError>;

    /// Writes a session, a new one or one that is there.
    ///
    /// # Errors
    /// When the disk cannot be written.
    fn put_session(&self, session: &SessionRecord) -> Result<(), StoreError>;

    /// Removes a session with all that belongs to it.
    ///
    /// # Errors
    /// When the disk cannot be written.
    fn remove_session(&self, id: &str) -> Result<(), StoreError>;

    /// Takes hold of a session for this process, so that no other host writes into it. Held until
    /// [`release`](Self::release) or the end of the process, however it ends.
    ///
    /// # Errors
    /// [`StoreError::is_held`] when another process holds it.
    fn hold(&self, session: &str) -> Result<(), StoreError>;

    /// Lets go of a session.
    fn release(&self, session: &str);

    /// Appends to the journal of a session.
    ///
    /// # Errors
    /// When the disk cannot be written.
    fn append(&self, session: &str, entry: &Entry) -> Result<(), StoreError>;

    /// The number of the last entry in the journal of a session, 0 if there is none.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn last_seq(&self, session: &str) -> Result<u64, StoreError>;

    /// The journal of a session after entry `after`, at most `limit` entries.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn entries(&self, session: &str, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// Writes a run, a new one or one that is there.
    ///
    /// # Errors
    /// When the disk cannot be written.
    fn put_run(&self, run: &RunRecord) -> Result<(), StoreError>;

    /// One run.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError>;

    /// The runs of a session, the oldest first.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn runs(&self, session: &str) -> Result<Vec<RunRecord>, StoreError>;

    /// The run that was begun with this key.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn run_with_key(&self, idempotency_key: &str) -> Result<Option<RunRecord>, StoreError>;

    /// Keeps an artefact whole. One that is there already, of this session or of another, is not written again: the
    /// session has it from now on, too.
    ///
    /// # Errors
    /// When the disk cannot be written.
    fn put_artefact(&self, artefact: &ArtefactRecord, bytes: &[u8]) -> Result<(), StoreError>;

    /// Gives an artefact of one session to another, too, without a copy. It is kept until the last session that has it
    /// is removed.
    ///
    /// # Errors
    /// When there is no such artefact, or the disk cannot be written.
    fn share_artefact(&self, session: &str, id: &str) -> Result<(), StoreError>;

    /// What is known of an artefact.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn artefact(&self, id: &str) -> Result<Option<ArtefactRecord>, StoreError>;

    /// As [`artefact`](Self::artefact), if the session has it.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn artefact_of(&self, session: &str, id: &str) -> Result<Option<ArtefactRecord>, StoreError>;

    /// The artefacts that a session has, the oldest first.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn artefacts(&self, session: &str) -> Result<Vec<ArtefactRecord>, StoreError>;

    /// A range of an artefact's bytes, shorter at its end. Reads no more than it gives.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn artefact_bytes(&self, id: &str, offset: u64, length: usize) -> Result<Vec<u8>, StoreError>;
}

/// A conversation that lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Unique; visible ASCII.
    pub id: String,
    /// For people: the beginning of the first question, unless somebody named it.
    pub title: String,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
    /// When something happened in it last.
    pub updated_ms: u64,
    /// The model that was chosen for it, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The servers that were chosen for it; all if none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
    /// The session that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The conversation after its last run that ended, as JSON of `turn::Conversation`.
    pub conversation: String,
    /// The order in which tools were first offered, by the name that a model uses, so that a prompt cache holds.
    #[serde(default)]
    pub offered: Vec<String>,
}

/// One question of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Unique; visible ASCII.
    pub id: String,
    /// The session that it belongs to.
    pub session: String,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
    /// How far it is.
    pub status: RunStatus,
    /// The journal entry that it began with.
    pub first_seq: u64,
    /// What it was asked to do, as JSON of `session::RunRequest`.
    pub options: String,
    /// How far its turn is, as JSON that only the host reads, until it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The questions that wait for an answer, as JSON of a list of `desk::PendingView`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<String>,
    /// What came of it, as JSON of `session::RunOutcome`, once it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Who began it twice gets the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Of what was asked with that key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It works.
    Running,
    /// It waits for a person.
    InputRequired,
    /// It was under way when its process ended, and nobody works on it; `Session::resume` goes on with it. Never kept: a
    /// process that ends has no time to say so, and whoever shows a run finds it out.
    Interrupted,
    /// It ended with an answer.
    Finished,
    /// It ended without one.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
}

impl RunStatus {
    /// Whether nothing more will come of it.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Cancelled)
    }
}

impl std::fmt::Display for RunStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::InputRequired => "input_required",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        })
    }
}

/// A piece of content that a tool gave, kept whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArtefactRecord {
    /// Unique; visible ASCII. The handle that a model reads it by.
    pub id: String,
    /// The session that it belongs to.
    pub session: String,
    /// The call that gave it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// The server that it came from, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What it is: `text`, `structured`, `image`, `audio`, `resource`, `resource_link` or `unknown`; `declarations` for
    /// the tools that a run may call.
    pub kind: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its media type, if it said one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Where it is, for a resource or a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Whom it is for; absent if it is for the person and the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Audience>,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it came, in milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
}

/// Whom a piece of content is for, if not for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// The person: it is shown, and the model is not given it.
    Person,
    /// The model: it is shown to the person only when they look for it.
    Model,
}

/// Something could not be kept or found.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    message: String,
    held: bool,
}

impl StoreError {
    /// The disk, or what is on it, does not work as it should.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), held: false }
    }

    /// Another process holds the session.
    pub fn held(message: impl Into<String>) -> Self {
        Self { message: message.into(), held: true }
    }

    /// Whether another process holds the session.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held
    }
}

/// Now, in milliseconds since 1970-01-01 UTC.
pub(crate) fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
