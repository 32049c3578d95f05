//! What the host keeps on disk: sessions, runs, artefacts and small documents, in one SQLite file.
//!
//! [`SqliteStore`] implements `switchboard_agent::store::Store` and decides nothing. Writes go through one connection,
//! reads of what is large through another, so that neither waits for the other; several processes may use one file, but
//! each session is held by one. Where to look next: `schema.rs` for the tables, `hold.rs` for who holds a session,
//! `fault.rs` for what is said when the disk does not work, `check.rs` for a look before that.
//!
//! ```
//! use switchboard_agent::store::Store;
//! use switchboard_store::SqliteStore;
//!
//! # let folder = tempfile::tempdir()?;
//! let store = SqliteStore::open(&folder.path().join("sessions.db"))?;
//! store.put_document("pin", "files/read", Some("{}"))?;
//! assert_eq!(store.document("pin", "files/read")?.as_deref(), Some("{}"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod artefacts;
mod check;
mod fault;
mod hold;
mod records;
mod schema;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use switchboard_agent::journal::Entry;
use switchboard_agent::store::{ArtefactRecord, RunRecord, RunStatus, SessionRecord, Store, StoreError};

pub use self::check::check;
use self::fault::Fault;
use self::hold::Holds;

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

/// A store in one file, with two more beside it while it is open, a lock file and a folder of them.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    holds: Holds,
}

impl SqliteStore {
    /// Opens the file, or makes it, with the folders that it is in.
    ///
    /// # Errors
    /// When it cannot be opened or made, is no store, is damaged, or was written by a newer version. The message says
    /// what to do.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let fault = Fault(path);
        let _one_at_a_time = make(path).map_err(|error| fault.io(&error))?;
        let mut writer = Self::connect(path).map_err(|error| fault.of(&error))?;
        schema::migrate(&mut writer, fault)?;
        let reader = Self::connect(path).map_err(|error| fault.of(&error))?;
        Ok(Self {
            path: path.to_owned(),
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
            holds: Holds::beside(path),
        })
    }

    /// Lets the file grow to this many bytes at most.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn max_bytes(self, bytes: u64) -> Result<Self, StoreError> {
        let limited = {
            let writer = self.writer();
            writer.query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0)).and_then(|page| {
                let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1);
                writer.query_row(&format!("PRAGMA max_page_count = {}", pages.max(1)), [], |_| Ok(()))
            })
        };
        limited.map_err(|error| self.fault().of(&error))?;
        Ok(self)
    }

    fn connect(path: &Path) -> rusqlite::Result<Connection> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        // A new file is given back what is deleted from it; an old one keeps its way.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        // What was written is there after the process was killed; only a loss of power may cost the last moments.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // What is removed within a page is written over. Pages that are free go when something is removed: to write over
        // them, too, would make each write of a long conversation twice as long, and need room on a full disk.
        connection.pragma_update(None, "secure_delete", "FAST")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Of the file, what is in memory: what is read and written is small, and what is large is read once.
        connection.pragma_update(None, "cache_size", -512)?;
        Ok(connection)
    }

    fn fault(&self) -> Fault<'_> {
        Fault(&self.path)
    }

    // Nothing panics while it is held, so a poisoned one is sound.
    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(
        &self,
        what: impl FnOnce(&mut Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, StoreError> {
        what(&mut self.writer()).map_err(|error| self.fault().of(&error))
    }

    fn read<T>(&self, what: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>) -> Result<T, StoreError> {
        what(&self.reader()).map_err(|error| self.fault().of(&error))
    }
}

/// Makes the file and its folders, for the person only. While the lock is held, no other process opens it: while a new
/// file becomes one with a log beside it, SQLite would not wait for another one that does the same.
fn make(path: &Path) -> io::Result<File> {
    let (mut folders, mut options) = (DirBuilder::new(), OpenOptions::new());
    folders.recursive(true);
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        folders.mode(0o700);
        options.mode(0o600);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        folders.create(folder)?;
    }
    let lock = options.clone().create(true).truncate(false).open(beside(path, ".opening"))?;
    // Where a file system has no locks, there are seldom two processes either.
    let _ = lock.lock();
    // SQLite gives the files beside it the same mode. One that is there must not be opened here: whoever closes it lets
    // go of the locks of all others in this process.
    match options.create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(lock),
    }
}

/// The path of a file that belongs to a store.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(end);
    beside.into()
}

impl Store for SqliteStore {
    fn document(&self, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection| records::document(connection, kind, key))
    }

    fn documents(&self, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.read(|connection| records::documents(connection, kind))
    }

    fn put_document(&self, kind: &str, key: &str, text: Option<&str>) -> Result<(), StoreError> {
        self.write(|connection| records::put_document(connection, (kind, key), text))
    }

    fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        self.read(records::sessions)
    }

    fn listed(&self, limit: usize) -> Result<Vec<(SessionRecord, Option<RunStatus>)>, StoreError> {
        self.read(|connection| records::listed(connection, limit))
    }

    fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        self.read(|connection| records::session(connection, id))
    }

    fn put_session(&self, session: &SessionRecord) -> Result<(), StoreError> {
        self.write(|connection| records::put_session(connection, session))
    }

    fn remove_session(&self, id: &str) -> Result<(), StoreError> {
        self.write(|connection| records::remove_session(connection, id))?;
        // It is removed. Where another process is in the way now, the next removal gives its place back.
        while let Ok(true) = self.write(|connection| records::give_back(connection)) {}
        let _ = self.write(|connection| records::empty_log(connection));
        Ok(())
    }

    fn hold(&self, session: &str) -> Result<(), StoreError> {
        self.holds.hold(session, self.fault())
    }

    fn release(&self, session: &str) {
        self.holds.release(session);
    }

    fn append(&self, session: &str, entry: &Entry) -> Result<(), StoreError> {
        self.write(|connection| records::append(connection, session, entry))
    }

    fn last_seq(&self, session: &str) -> Result<u64, StoreError> {
        self.read(|connection| records::last_seq(connection, session))
    }

    fn entries(&self, session: &str, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.read(|connection| records::entries(connection, session, (after, limit)))
    }

    fn put_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        self.write(|connection| records::put_run(connection, run))
    }

    fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        self.read(|connection| records::run(connection, "id", id))
    }

    fn runs(&self, session: &str) -> Result<Vec<RunRecord>, StoreError> {
        self.read(|connection| records::runs(connection, session))
    }

    fn run_with_key(&self, idempotency_key: &str) -> Result<Option<RunRecord>, StoreError> {
        self.read(|connection| records::run(connection, "idempotency_key", idempotency_key))
    }

    fn put_artefact(&self, artefact: &ArtefactRecord, bytes: &[u8]) -> Result<(), StoreError> {
        if self.write(|connection| artefacts::share(connection, &artefact.session, &artefact.id))? {
            return Ok(());
        }
        // Piece by piece, so that nobody waits for a large one.
        self.write(|connection| artefacts::begin(connection, artefact))?;
        let kept = bytes
            .chunks(artefacts::PIECE)
            .enumerate()
            .try_for_each(|piece| self.write(|connection| artefacts::add(connection, &artefact.id, piece)))
            .and_then(|()| self.write(|connection| artefacts::finish(connection, &artefact.id)));
        if kept.is_err() {
            // What is there of it takes place that somebody needs. If that fails, too, nothing more can be done.
            let _ = self.write(|connection| artefacts::forget(connection, &artefact.id));
        }
        kept
    }

    fn share_artefact(&self, session: &str, id: &str) -> Result<(), StoreError> {
        let shared = self.write(|connection| artefacts::share(connection, session, id))?;
        if shared { Ok(()) } else { Err(no_artefact(id)) }
    }

    fn artefact(&self, id: &str) -> Result<Option<ArtefactRecord>, StoreError> {
        self.read(|connection| artefacts::record(connection, id))
    }

    fn artefact_of(&self, session: &str, id: &str) -> Result<Option<ArtefactRecord>, StoreError> {
        self.read(|connection| artefacts::record_of(connection, session, id))
    }

    fn artefacts(&self, session: &str) -> Result<Vec<ArtefactRecord>, StoreError> {
        self.read(|connection| artefacts::records(connection, session))
    }

    fn artefact_bytes(&self, id: &str, offset: u64, length: usize) -> Result<Vec<u8>, StoreError> {
        let read = self.read(|connection| artefacts::bytes(connection, id, (offset, length)))?;
        read.ok_or_else(|| no_artefact(id))
    }
}

fn no_artefact(id: &str) -> StoreError {
    StoreError::new(format!("there is no artefact {id}"))
}
