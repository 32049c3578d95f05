//! Sessions, runs, journals and documents as rows.

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use switchboard_agent::Digest;
use switchboard_agent::journal::Entry;
use switchboard_agent::store::{RunRecord, RunStatus, SessionRecord};

use crate::artefacts;

/// Pages that are given back to the disk at a time, so that others may write in between.
const PAGES: u32 = 4096;

pub(crate) fn document(connection: &Connection, kind: &str, key: &str) -> rusqlite::Result<Option<String>> {
    let mut statement =
        connection.prepare_cached("SELECT text FROM document WHERE kind = ?1 AND key = ?2")?;
    statement.query_row([kind, key], |row| row.get(0)).optional()
}

pub(crate) fn documents(connection: &Connection, kind: &str) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement =
        connection.prepare_cached("SELECT key, text FROM document WHERE kind = ?1 ORDER BY key")?;
    statement.query_map([kind], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

pub(crate) fn put_document(
    connection: &Connection,
    (kind, key): (&str, &str),
    text: Option<&str>,
) -> rusqlite::Result<()> {
    let rows = match text {
        Some(text) => connection
            .prepare_cached("INSERT OR REPLACE INTO document (kind, key, text) VALUES (?1, ?2, ?3)")?
            .execute([kind, key, text]),
        None => connection
            .prepare_cached("DELETE FROM document WHERE kind = ?1 AND key = ?2")?
            .execute([kind, key]),
    };
    rows.map(drop)
}

pub(crate) fn sessions(connection: &Connection) -> rusqlite::Result<Vec<SessionRecord>> {
    let mut statement =
        connection.prepare_cached("SELECT record FROM session ORDER BY updated_ms DESC, id")?;
    statement.query_map([], |row| json(row, 0))?.collect()
}

pub(crate) fn listed(
    connection: &Connection,
    limit: usize,
) -> rusqlite::Result<Vec<(SessionRecord, Option<RunStatus>)>> {
    let mut statement = connection.prepare_cached(
        "SELECT record, (SELECT status FROM run WHERE run.session = session.id ORDER BY number DESC LIMIT 1)
         FROM session ORDER BY updated_ms DESC, id LIMIT ?1",
    )?;
    let last = |row: &Row<'_>| match row.get_ref(1)? {
        ValueRef::Null => Ok(None),
        _ => json(row, 1).map(Some),
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    statement.query_map([limit], |row| Ok((json(row, 0)?, last(row)?)))?.collect()
}

pub(crate) fn session(connection: &Connection, id: &str) -> rusqlite::Result<Option<SessionRecord>> {
    let mut statement =
        connection.prepare_cached("SELECT record, conversation FROM session WHERE id = ?1")?;
    let read = |row: &Row<'_>| Ok(SessionRecord { conversation: row.get(1)?, ..json(row, 0)? });
    statement.query_row([id], read).optional()
}

pub(crate) fn put_session(connection: &Connection, session: &SessionRecord) -> rusqlite::Result<()> {
    // Beside the record, because the list of sessions does not need it.
    let record = SessionRecord { conversation: String::new(), ..session.clone() };
    let mut statement = connection.prepare_cached(
        "INSERT INTO session (id, updated_ms, record, conversation) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET updated_ms = ?2, record = ?3, conversation = ?4",
    )?;
    let values = params![session.id, number(session.updated_ms), text(&record)?, session.conversation];
    statement.execute(values).map(drop)
}

pub(crate) fn remove_session(connection: &mut Connection, id: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    artefacts::bequeath(&transaction, id)?;
    transaction.execute("DELETE FROM session WHERE id = ?1", [id])?;
    transaction.commit()
}

/// Gives some of what is free back to the disk. `true` where there is more.
pub(crate) fn give_back(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
    // Each row is a page: it is done where all were asked for.
    let mut rows = statement.query([])?;
    let mut pages = 0;
    while rows.next()?.is_some() {
        pages += 1;
    }
    Ok(pages == PAGES)
}

/// Empties the log beside the file, where what was removed would still stand.
pub(crate) fn empty_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

pub(crate) fn append(connection: &Connection, session: &str, entry: &Entry) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare_cached("INSERT INTO event (session, seq, entry) VALUES (?1, ?2, ?3)")?;
    statement.execute(params![session, number(entry.seq), text(entry)?]).map(drop)
}

pub(crate) fn last_seq(connection: &Connection, session: &str) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached("SELECT max(seq) FROM event WHERE session = ?1")?;
    let last: Option<i64> = statement.query_row([session], |row| row.get(0))?;
    Ok(last.and_then(|last| u64::try_from(last).ok()).unwrap_or(0))
}

pub(crate) fn entries(
    connection: &Connection,
    session: &str,
    (after, limit): (u64, usize),
) -> rusqlite::Result<Vec<Entry>> {
    let mut statement = connection
        .prepare_cached("SELECT entry FROM event WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3")?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    statement.query_map(params![session, number(after), limit], |row| json(row, 0))?.collect()
}

const RUN: &str = "SELECT id, session, created_ms, status, first_seq, options, turn, requests, outcome, \
                   idempotency_key, digest FROM run";

pub(crate) fn put_run(connection: &Connection, run: &RunRecord) -> rusqlite::Result<()> {
    // What a run was asked to do never changes.
    let mut statement = connection.prepare_cached(
        "INSERT INTO run (id, session, created_ms, status, first_seq, options, turn, requests, outcome,
                          idempotency_key, digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (id) DO UPDATE SET status = ?4, turn = ?7, requests = ?8, outcome = ?9",
    )?;
    let status = text(&run.status)?;
    let (created, first) = (number(run.created_ms), number(run.first_seq));
    let (turn, requests, outcome) = (&run.turn, &run.requests, &run.outcome);
    let (key, digest) = (&run.idempotency_key, run.digest.map(String::from));
    let values = params![
        run.id,
        run.session,
        created,
        status,
        first,
        run.options,
        turn,
        requests,
        outcome,
        key,
        digest
    ];
    statement.execute(values).map(drop)
}

/// The run with this value in a column that is unique.
pub(crate) fn run(
    connection: &Connection,
    column: &'static str,
    value: &str,
) -> rusqlite::Result<Option<RunRecord>> {
    let mut statement = connection.prepare_cached(&format!("{RUN} WHERE {column} = ?1"))?;
    statement.query_row([value], run_of).optional()
}

pub(crate) fn runs(connection: &Connection, session: &str) -> rusqlite::Result<Vec<RunRecord>> {
    let mut statement = connection.prepare_cached(&format!("{RUN} WHERE session = ?1 ORDER BY number"))?;
    statement.query_map([session], run_of)?.collect()
}

fn run_of(row: &Row<'_>) -> rusqlite::Result<RunRecord> {
    Ok(RunRecord {
        id: row.get(0)?,
        session: row.get(1)?,
        created_ms: row.get::<_, i64>(2)?.try_into().unwrap_or(0),
        status: json(row, 3)?,
        first_seq: row.get::<_, i64>(4)?.try_into().unwrap_or(0),
        options: row.get(5)?,
        turn: row.get(6)?,
        requests: row.get(7)?,
        outcome: row.get(8)?,
        idempotency_key: row.get(9)?,
        digest: row.get::<_, Option<String>>(10)?.and_then(|digest| Digest::try_from(digest).ok()),
    })
}

/// SQLite counts with a sign.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn text(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

pub(crate) fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}
