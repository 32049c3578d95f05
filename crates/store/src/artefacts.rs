//! Artefacts in pieces, so that a part can be read without the rest.
//!
//! One session owns an artefact, and others may share it. When its owner goes, one of those owns it.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use switchboard_agent::store::ArtefactRecord;

use crate::records::{json, text};

/// Bytes of one piece.
pub(crate) const PIECE: usize = 256 * 1024;

pub(crate) fn begin(connection: &Connection, artefact: &ArtefactRecord) -> rusqlite::Result<()> {
    // What a process that was killed has left of it.
    connection
        .prepare_cached("DELETE FROM artefact WHERE id = ?1 AND complete = 0")?
        .execute([&artefact.id])?;
    let mut statement = connection
        .prepare_cached("INSERT INTO artefact (id, session, record, complete) VALUES (?1, ?2, ?3, 0)")?;
    statement.execute(params![artefact.id, artefact.session, text(artefact)?]).map(drop)
}

pub(crate) fn add(
    connection: &Connection,
    id: &str,
    (number, bytes): (usize, &[u8]),
) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare_cached("INSERT INTO piece (artefact, number, bytes) VALUES (?1, ?2, ?3)")?;
    statement.execute(params![id, i64::try_from(number).unwrap_or(i64::MAX), bytes]).map(drop)
}

pub(crate) fn finish(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE artefact SET complete = 1 WHERE id = ?1")?.execute([id]).map(drop)
}

pub(crate) fn forget(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM artefact WHERE id = ?1")?.execute([id]).map(drop)
}

/// Lets a session have an artefact that is there. `false` if it is not.
pub(crate) fn share(connection: &Connection, session: &str, id: &str) -> rusqlite::Result<bool> {
    if record(connection, id)?.is_none() {
        return Ok(false);
    }
    let mut statement = connection.prepare_cached(
        "INSERT OR IGNORE INTO shared (session, artefact)
         SELECT ?1, id FROM artefact WHERE id = ?2 AND session != ?1",
    )?;
    statement.execute([session, id])?;
    Ok(true)
}

/// Leaves what others share with a session to one of them.
pub(crate) fn bequeath(connection: &Connection, session: &str) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE artefact SET session = (SELECT session FROM shared WHERE shared.artefact = artefact.id LIMIT 1)
         WHERE session = ?1 AND EXISTS (SELECT 1 FROM shared WHERE shared.artefact = artefact.id)",
        [session],
    )?;
    // Who owns one does not share it.
    connection.execute(
        "DELETE FROM shared WHERE EXISTS
             (SELECT 1 FROM artefact WHERE artefact.id = shared.artefact AND artefact.session = shared.session)",
        [],
    )?;
    Ok(())
}

pub(crate) fn record(connection: &Connection, id: &str) -> rusqlite::Result<Option<ArtefactRecord>> {
    let mut statement =
        connection.prepare_cached("SELECT record, session FROM artefact WHERE id = ?1 AND complete = 1")?;
    statement.query_row([id], record_in).optional()
}

pub(crate) fn record_of(
    connection: &Connection,
    session: &str,
    id: &str,
) -> rusqlite::Result<Option<ArtefactRecord>> {
    let mut statement = connection.prepare_cached(&format!("{RECORD} AND artefact.id = ?2"))?;
    statement.query_row([session, id], record_in).optional()
}

pub(crate) fn records(connection: &Connection, session: &str) -> rusqlite::Result<Vec<ArtefactRecord>> {
    let mut statement = connection.prepare_cached(&format!("{RECORD} ORDER BY number"))?;
    statement.query_map([session], record_in)?.collect()
}

/// What a session has, as it has it.
const RECORD: &str = "SELECT record, ?1 FROM artefact WHERE complete = 1 AND
                      (session = ?1 OR id IN (SELECT artefact FROM shared WHERE shared.session = ?1))";

fn record_in(row: &Row<'_>) -> rusqlite::Result<ArtefactRecord> {
    Ok(ArtefactRecord { session: row.get(1)?, ..json(row, 0)? })
}

/// A range; nothing if there is no such artefact.
pub(crate) fn bytes(
    connection: &Connection,
    id: &str,
    (offset, length): (u64, usize),
) -> rusqlite::Result<Option<Vec<u8>>> {
    let Some(record) = record(connection, id)? else { return Ok(None) };
    let end = offset.saturating_add(length as u64).min(record.bytes);
    let mut out = Vec::with_capacity(usize::try_from(end.saturating_sub(offset)).unwrap_or(0));
    if end <= offset {
        return Ok(Some(out));
    }
    let piece = PIECE as u64;
    let numbers = (offset / piece, (end - 1) / piece);
    let numbers = [numbers.0, numbers.1].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    let mut statement = connection.prepare_cached(
        "SELECT number, bytes FROM piece WHERE artefact = ?1 AND number BETWEEN ?2 AND ?3 ORDER BY number",
    )?;
    let mut rows = statement.query(params![id, numbers[0], numbers[1]])?;
    while let Some(row) = rows.next()? {
        let first = u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0) * piece;
        let bytes = row.get_ref(1)?.as_blob()?;
        let at =
            |place: u64| usize::try_from(place.saturating_sub(first)).unwrap_or(usize::MAX).min(bytes.len());
        out.extend_from_slice(&bytes[at(offset)..at(end)]);
    }
    Ok(Some(out))
}
