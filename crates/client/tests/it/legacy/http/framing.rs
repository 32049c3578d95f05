//! Event streams of a session however their lines end and wherever they are cut, on each of the streams that
//! a session has. All of them stay open, so that what is said comes when it is said, not at their end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use switchboard_client::{Change, Client, ClientBuilder, Limits, SubscriptionFilter};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};
use tokio::sync::mpsc;

use super::{builder, call, connect, handshake, initialized, response, server, text};
use crate::support::pass;

/// More than one byte a character.
const SAID: &str = "读取 🎉";
/// Bytes at a time; the last is more than any stream here has.
const CUTS: [usize; 4] = [1, 2, 7, 1 << 16];

/// The same events with each end of a line that there is.
fn spellings(events: &str) -> [String; 3] {
    ["\n", "\r\n", "\r"].map(|end| events.replace('\n', end))
}

fn wait_a_moment() -> Limits {
    let mut limits = Limits::default();
    limits.stream_time = Duration::from_secs(600);
    limits.reconnect_wait = Duration::from_millis(1);
    limits
}

/// The response over two lines of data.
fn answer() -> String {
    let result = text(SAID);
    format!("event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":$id,\ndata: \"result\":{result}}}\n\n")
}

fn log() -> String {
    let said = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": SAID}});
    format!("data: {said}\n\n")
}

#[tokio::test]
async fn an_answer_is_heard_with_the_line_end_behind_it() {
    for (spelling, cut) in spellings(&answer()).iter().flat_map(|text| CUTS.map(|cut| (text, cut))) {
        let (reply, _live) = Reply::live(spelling);
        let server = server([("tools/call", reply.cut(cut))]).await;
        let client = connect(&server).await;
        assert_eq!(call(&client).await.unwrap().text(), SAID, "{spelling:?} {cut}");
    }
}

/// A builder, and what is logged.
fn logging() -> (ClientBuilder, mpsc::UnboundedReceiver<String>) {
    let (tx, heard) = mpsc::unbounded_channel();
    let builder = builder().limits(wait_a_moment()).on_log(move |said| {
        let _ = tx.send(serde_json::from_str(said.data.get()).unwrap());
    });
    (builder, heard)
}

#[tokio::test]
async fn an_announcement_is_heard_with_the_line_end_behind_it() {
    for (spelling, cut) in spellings(&log()).iter().flat_map(|text| CUTS.map(|cut| (text, cut))) {
        let (reply, _live) = Reply::live(spelling);
        let server = server([("GET", reply.cut(cut))]).await;
        let (builder, mut heard) = logging();
        let client = builder.http(server.url()).await.unwrap();
        assert_eq!(heard.recv().await.unwrap(), SAID, "{spelling:?} {cut}");
        client.close().await;
    }
}

#[tokio::test]
async fn a_session_on_one_stream_is_read_with_any_line_ends() {
    let endpoint = spellings("event: endpoint\ndata: message?id=%E8%AF%BB\n\n");
    for ((endpoint, answer), cut) in
        endpoint.iter().zip(spellings(&answer())).flat_map(|pair| CUTS.map(|cut| (pair.clone(), cut)))
    {
        let (stream, live) = Reply::live(endpoint);
        let server = ScriptedHttp::play([("initialize", Reply::http(405, "", "")), ("GET", stream.cut(cut))])
            .await
            .of_legacy_era()
            .always("notifications/initialized", Reply::http(202, "", ""));
        server.then("initialize", Reply::elsewhere(&live, &response(&initialized("2024-11-05"))));
        let client = connect(&server).await;
        // One write a character, so that a line end of two is cut.
        let mut accepted = Reply::http(202, "", "");
        let (before, after) = answer.split_once("$id").unwrap();
        for piece in before.chars() {
            accepted = accepted.and_on(&live, piece);
        }
        accepted = accepted.and_on(&live, "$id");
        for piece in after.chars() {
            accepted = accepted.and_on(&live, piece);
        }
        server.then("tools/call", accepted);
        assert_eq!(call(&client).await.unwrap().text(), SAID, "{endpoint:?} {cut}");
        assert_eq!(server.asked("tools/call")[0].line, "POST /message?id=%E8%AF%BB HTTP/1.1");
    }
}

/// Events that say where the stream is, and one that says something.
fn primed(message: &str) -> String {
    format!("id: s1:0\nretry: 150\ndata:\n\nid: s1:1\n\n{message}data\n\nid: s1:2\n\n")
}

#[tokio::test]
async fn events_that_say_nothing_are_no_messages_on_the_stream_of_a_request() {
    let progress = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
                    {\"progressToken\":$id,\"progress\":1}}\n\n";
    let last = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}}\nid: s1:3\n\n", text(SAID));
    for events in spellings(&(primed(progress) + &last)) {
        let server = server([("tools/call", Reply::stream(&events).cut(1))]).await;
        let client = connect(&server).await;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        let asked = json!({});
        let call = client.call("f", &asked);
        let result = call.on_progress(move |progress| log.lock().unwrap().push(progress.progress)).await;
        assert_eq!((result.unwrap().text().as_str(), &heard.lock().unwrap()[..]), (SAID, &[1.0][..]));
    }
}

#[tokio::test]
async fn events_that_say_nothing_are_no_messages_on_the_stream_of_the_session() {
    for events in spellings(&primed(&log())) {
        let (again, live) = Reply::live("");
        let server = server([("GET", Reply::stream(&events).cut(1)), ("GET", again)]).await;
        let (builder, mut heard) = logging();
        let client: Client = builder.http(server.url()).await.unwrap();
        assert_eq!(heard.recv().await.unwrap(), SAID);
        let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        server.heard("GET", 2).await;
        live.event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        assert!(matches!(changes.next().await, Some(Change::Tools)));
        let gets = server.asked("GET");
        assert_eq!(gets[1].header("last-event-id"), Some("s1:2"));
        assert!(gets[1].at - gets[0].at >= Duration::from_millis(150));
        client.close().await;
    }
}

/// A line that is longer than any message may be, and does not end.
fn endless() -> String {
    format!("data: {}", "x".repeat(50_000))
}

fn short_messages() -> Limits {
    let mut limits = wait_a_moment();
    limits.message_bytes = 2_000;
    limits
}

#[tokio::test]
async fn a_line_without_end_on_the_stream_of_the_session_costs_that_stream() {
    let (first, _held) = Reply::live(&endless());
    let (second, live) = Reply::live("");
    let server = server([("GET", first), ("GET", second)]).await;
    let client = builder().limits(short_messages()).http(server.url()).await.unwrap();
    let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
    // What it would have said is lost, which is told.
    server.left(1).await;
    assert_eq!(changes.next().await, Some(Change::Resync));
    live.event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    assert_eq!(changes.next().await, Some(Change::Tools));
    client.tools().await.unwrap();
    assert_eq!(server.asked("initialize").len(), 1);
}

#[tokio::test]
async fn a_line_without_end_on_the_one_stream_ends_the_session_and_says_the_limit() {
    let (stream, live) = Reply::live("event: endpoint\ndata: /message\n\n");
    let server = ScriptedHttp::play([("initialize", Reply::http(405, "", "")), ("GET", stream)])
        .await
        .of_legacy_era()
        .always("notifications/initialized", Reply::http(202, "", ""));
    server.then("initialize", Reply::elsewhere(&live, &response(&initialized("2024-11-05"))));
    let client = builder().limits(short_messages()).http(server.url()).await.unwrap();
    // What came before it is heard.
    server.then("tools/call", Reply::elsewhere(&live, &response(&text("done"))));
    assert_eq!(call(&client).await.unwrap().text(), "done");
    server.then("tools/call", Reply::http(202, "", "").and_on(&live, endless()));
    let error = call(&client).await.unwrap_err();
    assert!(error.is_limit() && error.to_string().contains("2000 bytes"), "{error}");
    server.left(1).await;
}

#[tokio::test]
async fn an_answer_of_another_type_of_id_is_not_taken_for_the_answer() {
    let as_text = "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"content\":[]}}";
    let json = "content-type: application/json\r\n";
    for reply in [Reply::http(200, json, as_text), Reply::stream(&format!("data: {as_text}\n\n"))] {
        let server = server([("tools/call", reply)]).await;
        let error = call(&connect(&server).await).await.unwrap_err();
        assert!(error.is_server_fault() && error.to_string().contains("answered request \""), "{error}");
    }
    // On one stream it may be about anything, and is about nothing.
    let (stream, live) = Reply::live("event: endpoint\ndata: /message\n\n");
    let server = ScriptedHttp::play([("initialize", Reply::http(405, "", "")), ("GET", stream)])
        .await
        .of_legacy_era()
        .always("notifications/initialized", Reply::http(202, "", ""))
        .always("notifications/cancelled", Reply::http(202, "", ""))
        .always("response", Reply::http(202, "", ""));
    server.then("initialize", Reply::elsewhere(&live, &response(&initialized("2024-11-05"))));
    let client = connect(&server).await;
    let right = response(&text(SAID)).to_string().replace("\"$id\"", "$id");
    // What comes after it on the same stream is answered, so it has been read by then.
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let accepted = Reply::http(202, "", "").and_on(&live, format!("data: {as_text}\n\ndata: {ping}\n\n"));
    server.then("tools/call", accepted);
    let asked = json!({});
    let calling = client.call("f", &asked).timeout(Duration::from_secs(5)).into_future();
    let heard = async {
        server.heard("response", 1).await;
        pass(Duration::from_secs(5)).await;
    };
    let (outcome, ()) = tokio::join!(calling, heard);
    let error = outcome.unwrap_err();
    assert!(error.is_timeout() && error.to_string().contains("a request that is not open"), "{error}");
    let accepted = Reply::http(202, "", "").and_on(&live, format!("data: {as_text}\n\ndata: {right}\n\n"));
    server.then("tools/call", accepted);
    assert_eq!(call(&client).await.unwrap().text(), SAID);
}

#[tokio::test]
async fn a_handshake_may_come_as_a_stream() {
    let opened =
        format!("data: {}\n\n", response(&initialized(super::NEWEST)).to_string().replace("\"$id\"", "$id"));
    for events in spellings(&opened) {
        let reply = Reply::stream(&events).cut(1);
        let server =
            super::bare([("initialize", reply)]).await.always("initialize", handshake(super::NEWEST, None));
        let client = connect(&server).await;
        client.tools().await.unwrap();
        assert_eq!(server.asked("initialize").len(), 1);
    }
}
