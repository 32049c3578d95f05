//! Servers that give no answer to the first request, and what is said of them.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use switchboard_client::{ChildCommand, Direction, Era, Error, Limits};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};
use switchboard_transport::child::Shutdown;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::support::{builder, pass};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "why")]
    _why: String,
    children: Vec<Program>,
    statuses: Vec<Status>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    name: String,
    script: String,
    connect_ms: Option<u64>,
    /// What it writes before the time that it is given passes.
    writes: Option<Stream>,
    is: String,
    /// The beginning of the text, where `text` is only a part of it.
    starts: Option<String>,
    text: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Stream {
    /// A line, and no more.
    Stdout,
    /// Always more.
    Stderr,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    name: String,
    path: String,
    status: u16,
    /// A body of plain text.
    said: Option<String>,
    text: String,
}

fn file() -> File {
    serde_json::from_str(include_str!("../data/no_answers.json")).unwrap()
}

fn check(error: &Error, is: &str, place: &str) {
    let found =
        (error.is_silent(), error.is_timeout(), error.is_unreachable(), error.http_status().is_some());
    let expected = match is {
        "ended" => (false, false, true, false),
        "silent" => (true, true, false, false),
        "nothing there" => (false, false, false, true),
        other => panic!("{place}: unknown kind {other}"),
    };
    assert_eq!(found, expected, "{place}: {error}");
    assert!(!error.is_legacy(), "{place}: {error}");
    assert_eq!(format!("{error:?}"), error.to_string(), "{place}");
}

#[tokio::test]
async fn a_program_that_does_not_answer_is_told_by_its_end_and_its_words() {
    for row in file().children {
        for tapped in [false, true] {
            // Without the tap nobody could tell when the line was read.
            if tapped || row.writes != Some(Stream::Stdout) {
                row.play(tapped).await;
            }
        }
    }
}

impl Program {
    async fn play(&self, tapped: bool) {
        let mut limits = Limits::default();
        limits.connect_time = self.connect_ms.map_or(limits.connect_time, Duration::from_millis);
        let seen = Arc::new(Notify::new());
        let (lines, mut said) = mpsc::channel(16);
        let mut builder = builder().era(Era::Modern).server_name("S").limits(limits.clone());
        if tapped {
            let seen = Arc::clone(&seen);
            builder = builder.on_wire(move |message| {
                if message.direction == Direction::Received {
                    seen.notify_one();
                }
            });
        }
        let shutdown = Shutdown { leave: Duration::from_millis(100), ..Shutdown::default() };
        let child = ChildCommand::new("sh").args(["-c", &self.script]).shutdown(shutdown).stderr_lines(lines);
        let started = Instant::now();
        let time_passes = async {
            match self.writes {
                None => {}
                Some(Stream::Stdout) => {
                    seen.notified().await;
                    pass(limits.connect_time.saturating_sub(started.elapsed())).await;
                }
                Some(Stream::Stderr) => live(&mut said, limits.connect_time * 2 / 3).await,
            }
        };
        let (outcome, ()) = tokio::join!(builder.child(child), time_passes);
        let error = outcome.unwrap_err();
        check(&error, &self.is, &self.name);
        self.check_text(&error.to_string());
        if self.writes == Some(Stream::Stderr) {
            assert!(started.elapsed() >= limits.start_time, "{}: {:?}", self.name, started.elapsed());
        }
    }

    fn check_text(&self, text: &str) {
        match &self.starts {
            None => assert_eq!(text, self.text, "{}", self.name),
            Some(starts) => {
                assert!(text.starts_with(starts) && text.contains(&self.text), "{}: {text}", self.name);
            }
        }
    }
}

/// Lets so much time pass after each sign of life, until there is none any more.
async fn live(said: &mut mpsc::Receiver<String>, time: Duration) {
    while said.recv().await.is_some() {
        while said.try_recv().is_ok() {}
        pass(time).await;
    }
}

#[tokio::test]
async fn a_status_of_any_web_server_is_told_with_the_address() {
    for row in file().statuses {
        let kind = if row.said.is_some() { "text/plain" } else { "text/html" };
        let body = row.said.as_deref().unwrap_or("<h1>no</h1>");
        let reply = Reply::http(row.status, &format!("content-type: {kind}\r\n"), body);
        let server = ScriptedHttp::play([("server/discover", reply)]).await;
        let origin = server.url().trim_end_matches("/mcp").to_owned();
        let error = builder()
            .era(Era::Modern)
            .server_name("S")
            .http(format!("{origin}{}", row.path))
            .await
            .unwrap_err();
        check(&error, "nothing there", &row.name);
        assert_eq!(error.to_string(), row.text.replace("$ORIGIN", &origin), "{}", row.name);
        server.finish();
    }
}
