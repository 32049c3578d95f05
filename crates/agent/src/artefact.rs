//! What tools give, kept whole: each piece of content is an artefact with an id.
//!
//! [`ArtefactSink`] is where they are kept and read again; [`SessionArtefacts`] keeps them in the store of a session,
//! with known secrets masked. A model reads more of them with the host's own tools ([`HostTools`]), which are in
//! `artefact/tools.rs`. Where to look next: `integration` for what becomes an artefact, `artefact/read.rs` and
//! `artefact/search.rs` for ranges and searches.

mod read;
mod search;
mod tools;

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(test)]
pub(crate) use self::tools::READ_RESOURCE;
pub(crate) use self::tools::{ALLOWED_BY, READ_ARTEFACT, SEARCH_ARTEFACT, model_name};
pub use self::tools::{HostTools, ResourceReader, host_exposure, is_host_tool};
use crate::digest::Digest;
use crate::journal::Journal;
use crate::name::{CallId, ServerName};
use crate::store::{ArtefactRecord, Audience, Store, StoreError};

/// Characters of an id after its letter: 55 random bits, so that nobody guesses one.
const ID_CHARS: usize = 11;

/// Digits that cannot be mistaken for one another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Where artefacts are kept.
///
/// Methods block for as long as a local disk takes.
pub trait ArtefactSink: Send + Sync {
    /// Keeps a piece of content.
    ///
    /// # Errors
    /// When it cannot be kept, for example because the disk is full.
    fn keep(&self, content: NewArtefact<'_>) -> Result<ArtefactRecord, StoreError>;

    /// What is known of one.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn record(&self, id: &str) -> Result<Option<ArtefactRecord>, StoreError>;

    /// A range of its bytes, shorter at its end.
    ///
    /// # Errors
    /// When the disk cannot be read.
    fn bytes(&self, id: &str, offset: u64, length: usize) -> Result<Vec<u8>, StoreError>;
}

/// A piece of content that is to be kept.
#[derive(Clone, Debug, Default)]
pub struct NewArtefact<'a> {
    /// The call that gave it.
    pub call: Option<CallId>,
    /// The server that it came from.
    pub server: Option<&'a ServerName>,
    /// What it is: see [`ArtefactRecord::kind`].
    pub kind: &'static str,
    /// A name for people.
    pub name: Option<&'a str>,
    /// Its media type.
    pub mime_type: Option<&'a str>,
    /// Where it is, for a resource or a link.
    pub uri: Option<&'a str>,
    /// Whom it is for, if not for both.
    pub audience: Option<Audience>,
    /// Whether one with the same content is the same artefact, whichever session has it. It is called by its content.
    pub is_shared: bool,
    /// The content.
    pub bytes: &'a [u8],
}

/// The artefacts of one session.
#[derive(Clone)]
pub struct SessionArtefacts {
    store: Arc<dyn Store>,
    session: Arc<str>,
    journal: Journal,
}

impl SessionArtefacts {
    /// Keeps them in `store`. The journal knows which secrets are masked.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, session: &str, journal: Journal) -> Self {
        Self { store, session: session.into(), journal }
    }
}

impl fmt::Debug for SessionArtefacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionArtefacts").field("session", &self.session).finish_non_exhaustive()
    }
}

impl ArtefactSink for SessionArtefacts {
    fn keep(&self, content: NewArtefact<'_>) -> Result<ArtefactRecord, StoreError> {
        let bytes = self.journal.masked_bytes(content.bytes);
        let masked = |text: &str| self.journal.masked(text.to_owned());
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let record = ArtefactRecord {
            id: if content.is_shared { id_of(&bytes) } else { fresh_id()? },
            session: self.session.to_string(),
            call: content.call.map(|call| call.0),
            server: content.server.map(ToString::to_string),
            kind: content.kind.to_owned(),
            name: content.name.map(masked),
            mime_type: content.mime_type.map(masked),
            uri: content.uri.map(masked),
            audience: content.audience,
            bytes: bytes.len() as u64,
            created_ms: u64::try_from(unix_ms).unwrap_or(u64::MAX),
        };
        self.store.put_artefact(&record, &bytes)?;
        Ok(record)
    }

    fn record(&self, id: &str) -> Result<Option<ArtefactRecord>, StoreError> {
        // Nothing of another session is read from here, but for what a fork has of the one that it came from.
        self.store.artefact_of(&self.session, id)
    }

    fn bytes(&self, id: &str, offset: u64, length: usize) -> Result<Vec<u8>, StoreError> {
        self.store.artefact_bytes(id, offset, length)
    }
}

/// Hexadecimal digits of the digest that an artefact is called by.
const DIGEST_CHARS: usize = 32;

fn id_of(bytes: &[u8]) -> String {
    format!("d{}", Digest::of(&[b"artefact", bytes]).short(DIGEST_CHARS))
}

fn fresh_id() -> Result<String, StoreError> {
    let mut random = [0; ID_CHARS];
    getrandom::fill(&mut random).map_err(|error| StoreError::new(format!("no random bytes: {error}")))?;
    let digits = random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    Ok(std::iter::once('a').chain(digits).collect())
}

#[cfg(test)]
mod tests;
