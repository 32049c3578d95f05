//! The tables, and how an older file becomes one of today.

use rusqlite::{Connection, TransactionBehavior};
use switchboard_agent::store::StoreError;

use crate::fault::Fault;

/// Each makes the next version out of the one before; the first out of an empty file. Never changed, only added to.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE document (
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (kind, key)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE session (
        id TEXT PRIMARY KEY,
        updated_ms INTEGER NOT NULL,
        record TEXT NOT NULL,
        conversation TEXT NOT NULL
    ) STRICT;
    CREATE INDEX session_updated ON session (updated_ms DESC);

    CREATE TABLE event (
        session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        entry TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE run (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
        created_ms INTEGER NOT NULL,
        status TEXT NOT NULL,
        first_seq INTEGER NOT NULL,
        options TEXT NOT NULL,
        turn TEXT,
        requests TEXT,
        outcome TEXT,
        idempotency_key TEXT UNIQUE
    ) STRICT;
    CREATE INDEX run_session ON run (session, number);

    CREATE TABLE artefact (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
        record TEXT NOT NULL,
        complete INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX artefact_session ON artefact (session, number);

    CREATE TABLE piece (
        artefact TEXT NOT NULL REFERENCES artefact (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (artefact, number)
    ) STRICT;
",
    "
    ALTER TABLE run ADD COLUMN digest TEXT;
",
    "
    CREATE TABLE shared (
        session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
        artefact TEXT NOT NULL REFERENCES artefact (id) ON DELETE CASCADE,
        PRIMARY KEY (session, artefact)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX shared_artefact ON shared (artefact);
",
];

/// Brings the file to the version of today.
pub(crate) fn migrate(connection: &mut Connection, fault: Fault<'_>) -> Result<(), StoreError> {
    let known = known();
    let version = version(connection).map_err(|error| fault.of(&error))?;
    if version > known {
        return Err(fault.newer());
    }
    if version == known {
        return Ok(());
    }
    upgrade(connection, known).map_err(|error| fault.of(&error))
}

fn upgrade(connection: &mut Connection, known: u32) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let from = version(&transaction)?;
    for migration in MIGRATIONS.iter().skip(from as usize) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()
}

/// The version of today.
pub(crate) fn known() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// The version that the file has.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
