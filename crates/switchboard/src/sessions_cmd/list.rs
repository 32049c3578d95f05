//! How sessions stand, for `switchboard sessions list` and `/sessions` of a conversation.

use std::time::{Duration, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;
use serde::Serialize;
use switchboard_agent::session::SessionState;
use switchboard_agent::store::SessionRecord;
use switchboard_agent::{Host, visible};

use crate::failure::Failure;
use crate::fold::cut;
use crate::output;
use crate::screen::Screen;

/// The columns that a question gets in a list, however narrow the terminal is.
const LEAST_QUESTION: usize = 20;

/// A session in a list.
#[derive(Serialize)]
pub(super) struct Listed<'a> {
    id: &'a str,
    title: &'a str,
    created_ms: u64,
    updated_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    /// How it stands, in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<SessionState>,
    /// What was asked in it last, in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'a str>,
}

impl<'a> From<&'a SessionRecord> for Listed<'a> {
    fn from(record: &'a SessionRecord) -> Self {
        Self {
            id: &record.id,
            title: &record.title,
            created_ms: record.created_ms,
            updated_ms: record.updated_ms,
            model: record.model.as_deref(),
            parent: record.parent.as_deref(),
            state: None,
            question: None,
        }
    }
}

pub(super) fn list(host: &Host, json: bool, screen: &Screen) -> Result<(), Failure> {
    let sessions = host.sessions()?;
    let stand = stand(host, &sessions)?;
    let listed = listed(&sessions, &stand);
    if json {
        return output::json(&listed);
    }
    if listed.is_empty() {
        screen.note("there are no sessions yet");
        return Ok(());
    }
    let open = |state| listed.iter().any(|session| session.state == Some(state));
    output::text(&table(&listed, screen.size().1))?;
    if open(SessionState::InputRequired) || open(SessionState::Interrupted) {
        screen.hint("go on with one that waits or was interrupted: switchboard chat --resume=ID");
    }
    Ok(())
}

/// How sessions stand, as a table for people.
///
/// # Errors
/// When the disk cannot be read.
pub(crate) fn overview(host: &Host, sessions: &[SessionRecord], columns: usize) -> Result<String, Failure> {
    Ok(table(&listed(sessions, &stand(host, sessions)?), columns))
}

/// How each session stands, and what was asked in it last.
fn stand(host: &Host, sessions: &[SessionRecord]) -> Result<Vec<(SessionState, Option<String>)>, Failure> {
    let one = |session: &SessionRecord| {
        let mut runs = host.runs(&session.id)?;
        let state = SessionState::of(&runs);
        Ok((state, runs.pop().map(|run| run.input).filter(|question| !question.is_empty())))
    };
    sessions.iter().map(one).collect()
}

fn listed<'a>(sessions: &'a [SessionRecord], stand: &'a [(SessionState, Option<String>)]) -> Vec<Listed<'a>> {
    let both = sessions.iter().zip(stand);
    both.map(|(session, (state, question))| Listed {
        state: Some(*state),
        question: question.as_deref(),
        ..Listed::from(session)
    })
    .collect()
}

/// One line a session, with as much of its last question as fits.
fn table(sessions: &[Listed<'_>], columns: usize) -> String {
    let header = ["session", "state", "last used (UTC)", "last question"].map(str::to_owned);
    let row = |session: &Listed<'_>| {
        let question = session.question.unwrap_or(session.title);
        // Several lines are one here.
        let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
        let state = session.state.map(|state| state.to_string()).unwrap_or_default();
        [session.id.to_owned(), state, time(session.updated_ms), visible::line(&question)]
    };
    let rows: Vec<[String; 4]> = std::iter::once(header).chain(sessions.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2)];
    let room = columns.saturating_sub(widths.iter().map(|width| width + 2).sum()).max(LEAST_QUESTION);
    let line = |[id, state, used, question]: &[String; 4]| {
        let cells = [id, state, used].into_iter().zip(widths);
        let cells: String =
            cells.map(|(cell, width)| format!("{}  ", visible::padded(cell, width))).collect();
        format!("{cells}{}", cut(question, room)).trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The end of the year 9999, the last that has four digits.
const LAST_MS: u64 = 253_402_300_799_999;

/// Milliseconds since 1970 as a date and a time in UTC.
fn time(unix_ms: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(unix_ms.min(LAST_MS));
    // To the minute.
    format_rfc3339_seconds(time).to_string().replace('T', " ").chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use switchboard_agent::Router;
    use switchboard_agent::host::{ModelChoice, OneModel};
    use switchboard_agent::store::{RunRecord, RunStatus, SessionRecord, Store as _};
    use switchboard_store::SqliteStore;

    use super::{Host, overview, time};

    const DAY: u64 = 86_400_000;

    /// A session with one run.
    fn keep(store: &SqliteStore, (id, day, input): (&str, u64, &str), status: Option<RunStatus>) {
        let session = serde_json::json!({
            "id": id, "title": "how it began", "created_ms": 0, "updated_ms": day * DAY, "conversation": "",
        });
        store.put_session(&serde_json::from_value::<SessionRecord>(session).unwrap()).unwrap();
        let Some(status) = status else { return };
        let run = serde_json::json!({
            "id": format!("r{id}"), "session": id, "created_ms": 0, "status": status, "first_seq": 1,
            "options": serde_json::json!({ "input": input }).to_string(),
        });
        store.put_run(&serde_json::from_value::<RunRecord>(run).unwrap()).unwrap();
    }

    #[test]
    fn a_list_says_how_each_session_stands_and_what_was_asked_last() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store");
        let (here, elsewhere) = (SqliteStore::open(&file).unwrap(), SqliteStore::open(&file).unwrap());
        let long = "One\nquestion\u{202e} that is longer than what is left of a line of eighty columns";
        for (kept, status) in [
            (("s0000000000000001", 6, "Now?"), Some(RunStatus::Running)),
            (("s0000000000000002", 5, long), Some(RunStatus::Running)),
            (("s0000000000000003", 4, "May I?"), Some(RunStatus::InputRequired)),
            (("s0000000000000004", 3, "Well?"), Some(RunStatus::Finished)),
            (("s0000000000000005", 2, "Oh?"), Some(RunStatus::Failed)),
            (("s0000000000000006", 1, "No?"), Some(RunStatus::Cancelled)),
            (("s0000000000000007", 0, ""), None),
        ] {
            keep(&here, kept, status);
        }
        elsewhere.hold("s0000000000000001").unwrap();
        let nobody = OneModel(ModelChoice::other(Router::new()));
        let host = Host::builder(nobody).store(std::sync::Arc::new(here)).build();
        let sessions = host.sessions().unwrap();
        let table = overview(&host, &sessions, 80).unwrap();
        assert_eq!(
            table,
            "\
session            state           last used (UTC)   last question
s0000000000000001  running         1970-01-07 00:00  Now?
s0000000000000002  interrupted     1970-01-06 00:00  One question\\u{202e} that …
s0000000000000003  input_required  1970-01-05 00:00  May I?
s0000000000000004  ended           1970-01-04 00:00  Well?
s0000000000000005  ended           1970-01-03 00:00  Oh?
s0000000000000006  ended           1970-01-02 00:00  No?
s0000000000000007  new             1970-01-01 00:00  how it began"
        );
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }

    #[test]
    fn a_time_is_a_date_in_utc() {
        for (unix_ms, expected) in [
            (0, "1970-01-01 00:00"),
            (951_782_400_000, "2000-02-29 00:00"),
            (1_785_225_599_000, "2026-07-28 07:59"),
            (4_107_542_399_999, "2100-02-28 23:59"),
            (u64::MAX, "9999-12-31 23:59"),
        ] {
            assert_eq!(time(unix_ms), expected);
        }
    }
}
