//! Whether a file is a store that works, for whoever asks before it is needed. Nothing that lasts is changed.

use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use switchboard_agent::store::StoreError;

use crate::fault::Fault;
use crate::{BUSY, schema};

/// Opens a store that is there, reads all of its pages, and tries whether it can be written. Returns how many sessions
/// there are; nothing if there is no file.
///
/// # Errors
/// What is wrong with it, and what to do.
pub fn check(path: &Path) -> Result<Option<u32>, StoreError> {
    let fault = Fault(path);
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault.io(&error)),
        // It was made and never written.
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => return Ok(None),
        Ok(_) => {}
    }
    let looked = look(path).map_err(|error| fault.of(&error))?;
    match looked {
        Looked::Sound(sessions) => Ok(Some(sessions)),
        Looked::Newer => Err(fault.newer()),
        Looked::Other => Err(fault.no_store()),
        Looked::Damaged(what) => Err(fault.damaged(&what)),
    }
}

enum Looked {
    /// How many sessions there are.
    Sound(u32),
    /// It was written by a newer version.
    Newer,
    /// It is a database of somebody else.
    Other,
    /// What is wrong in it.
    Damaged(String),
}

fn look(path: &Path) -> rusqlite::Result<Looked> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    let version = schema::version(&connection)?;
    if version > schema::known() {
        return Ok(Looked::Newer);
    }
    // The first thing that is wrong is enough.
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Ok(Looked::Damaged(found));
    }
    let count = |sql| connection.query_row::<u32, _, _>(sql, [], |row| row.get(0));
    let sessions = if version > 0 {
        count("SELECT count(*) FROM session")?
    } else if count("SELECT count(*) FROM sqlite_schema")? == 0 {
        // Whoever made it was ended before it had tables.
        0
    } else {
        return Ok(Looked::Other);
    };
    // It is rolled back when it goes.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute("CREATE TABLE switchboard_check (one INTEGER)", [])?;
    Ok(Looked::Sound(sessions))
}
