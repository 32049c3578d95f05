//! Servers that give no answer to the first request, and what is said of them.

use std::time::{Duration, Instant};

use serde::Deserialize;
use switchboard_client::{ChildCommand, Era, Error, Limits};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};
use switchboard_transport::child::Shutdown;

use crate::support::builder;

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
    start_ms: Option<u64>,
    is: String,
    /// The beginning of the text, where `text` is only a part of it.
    starts: Option<String>,
    text: String,
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
        let mut limits = Limits::default();
        limits.connect_time = row.connect_ms.map_or(limits.connect_time, Duration::from_millis);
        limits.start_time = row.start_ms.map_or(limits.start_time, Duration::from_millis);
        for tapped in [false, true] {
            let mut builder = builder().era(Era::Modern).server_name("S").limits(limits.clone());
            if tapped {
                builder = builder.on_wire(|_| {});
            }
            let shutdown = Shutdown { leave: Duration::from_millis(100), ..Shutdown::default() };
            let child = ChildCommand::new("sh").args(["-c", &row.script]).shutdown(shutdown);
            let started = Instant::now();
            let error = builder.child(child).await.unwrap_err();
            check(&error, &row.is, &row.name);
            let waited = started.elapsed().as_millis();
            assert!(waited >= row.start_ms.unwrap_or_default().into(), "{}: {waited} ms", row.name);
            match &row.starts {
                None => assert_eq!(error.to_string(), row.text, "{}", row.name),
                Some(starts) => {
                    let text = error.to_string();
                    assert!(text.starts_with(starts) && text.contains(&row.text), "{}: {text}", row.name);
                }
            }
        }
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
