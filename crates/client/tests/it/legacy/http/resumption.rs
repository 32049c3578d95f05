//! Streams that break off before the response, and are taken up again where they were.

use std::time::Duration;

use serde_json::json;
use switchboard_client::{Delivery, Limits};
use switchboard_testkit::scripted_http::{Received, Reply, ScriptedHttp};

use super::{builder, call, check_done, connect, done, server};
use crate::support::pass;

/// The requests that take a stream up again.
fn resumed(server: &ScriptedHttp) -> Vec<Received> {
    server.asked("GET").into_iter().filter(|get| get.header("last-event-id").is_some()).collect()
}

/// A server whose own stream is asked for before the test begins, so that every other GET takes up an answer.
async fn started(
    steps: impl IntoIterator<Item = (&'static str, Reply)>,
) -> (ScriptedHttp, switchboard_client::Client) {
    let server = server([("GET", Reply::http(405, "", ""))].into_iter().chain(steps)).await;
    let mut limits = Limits::default();
    limits.stream_time = Duration::from_secs(600);
    limits.reconnect_wait = Duration::from_millis(1);
    let client = builder().limits(limits).http(server.url()).await.unwrap();
    server.heard("GET", 1).await;
    (server, client)
}

#[tokio::test]
async fn a_stream_is_taken_up_after_its_last_event_and_not_before_it_asks_to() {
    let done = done();
    for (stream, after) in [
        // A priming event, as servers send it that close at will.
        ("id: e-1\nretry: 150\ndata: \n\n".to_owned(), "e-1"),
        ("retry: 150\nid: e-1\ndata:\n\nid: \u{e4}/2==\n\n".to_owned(), "\u{e4}/2=="),
        ("retry: 150\n\nid: e-1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n".to_owned(), "e-1"),
        // What has not come whole comes again.
        ("retry: 150\nid: e-1\ndata:\n\nid: e-2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}".to_owned(), "e-1"),
        (format!("retry: 150\nid: e-1\ndata:\n\nid: e-2\ndata: {}", &done[..done.len() - 1]), "e-1"),
    ] {
        let (server, client) = started([
            ("tools/call", Reply::stream(&stream)),
            ("GET", Reply::stream(&format!("id: e-9\ndata: {done}\n\n"))),
        ])
        .await;
        check_done(call(&client).await);
        let resumed = resumed(&server);
        assert_eq!(resumed.len(), 1);
        assert_eq!(resumed[0].header("last-event-id"), Some(after));
        assert_eq!(resumed[0].header("mcp-session-id"), Some("s-1"));
        assert_eq!(resumed[0].header("accept"), Some("text/event-stream"));
        let waited = resumed[0].at - server.asked("tools/call")[0].at;
        assert!(waited >= Duration::from_millis(150), "{waited:?}");
        // Closing a stream says nothing in this era.
        assert!(server.asked("notifications/cancelled").is_empty());
        server.finish();
    }
}

#[tokio::test]
async fn a_stream_may_break_off_many_times_and_goes_on_from_wherever_it_was() {
    let polls = ["id: 2\ndata:\n\n", ": nothing new\n\n", "retry: 1\nid: 3\ndata:\n\n"];
    let mut steps = vec![("tools/call", Reply::stream("id: 1\nretry: 1\ndata:\n\n"))];
    steps.extend(polls.iter().map(|poll| ("GET", Reply::stream(poll))));
    // Failures that pass do not end it either, and the stream that then comes may stay open.
    steps.push(("GET", Reply::http(503, "", "")));
    steps.push(("GET", Reply::drop_connection()));
    steps.push(("GET", Reply::stream(&format!("data: {}\n\n", done()))));
    let (server, client) = started(steps).await;
    // The scripted server cannot know the request's id on another stream: it is the first after the handshake.
    let outcome = call(&client).await;
    check_done(outcome);
    let after: Vec<_> =
        resumed(&server).iter().map(|get| get.header("last-event-id").unwrap().to_owned()).collect();
    assert_eq!(after, ["1", "2", "2", "3", "3", "3"]);
    server.finish();
}

#[tokio::test]
async fn a_stream_without_event_ids_is_lost_and_only_a_read_is_repeated() {
    let (server, client) = started([
        ("tools/call", Reply::stream("retry: 1\n\n: bye\n\n")),
        ("resources/read", Reply::stream(": bye\n\n")),
        ("resources/read", Reply::result(&json!({"contents": []}))),
    ])
    .await;
    let error = call(&client).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");
    assert!(error.is_unreachable(), "{error}");
    assert!(client.read("x://1").await.unwrap().contents.is_empty());
    assert!(resumed(&server).is_empty());
    assert_eq!(server.asked("initialize").len(), 1);
    server.finish();
}

#[tokio::test]
async fn a_stream_that_cannot_be_taken_up_ends_the_request_after_a_bounded_number_of_attempts() {
    for (reply, attempts) in [
        (Reply::http(405, "", ""), 1),
        (Reply::http(400, "", ""), 1),
        (Reply::json(200, &json!({})), 1),
        (Reply::http(503, "", ""), 5),
        (Reply::drop_connection(), 5),
    ] {
        let (server, client) = started([("tools/call", Reply::stream("id: 1\ndata:\n\n"))]).await;
        for _ in 0..attempts {
            server.then("GET", reply.clone());
        }
        let error = call(&client).await.unwrap_err();
        assert!(error.to_string().contains("cannot be taken up again"), "{error}");
        assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");
        assert_eq!(resumed(&server).len(), attempts, "{reply:?}");
        server.finish();
    }
}

#[tokio::test]
async fn an_event_id_that_cannot_be_sent_back_is_none() {
    for stream in [format!("id: {}\ndata:\n\n", "x".repeat(5000)), "id: a\u{7f}b\ndata:\n\n".to_owned()] {
        let (server, client) = started([("tools/call", Reply::stream(&stream))]).await;
        let error = call(&client).await.unwrap_err();
        assert!(error.to_string().contains("ended before the response"), "{error}");
        assert!(resumed(&server).is_empty());
        server.finish();
    }
}

#[tokio::test]
async fn a_session_that_is_forgotten_while_a_stream_is_broken_repeats_reads_alone() {
    let forgotten = || Reply::http(404, "", "");
    let (server, client) = started([
        ("tools/call", Reply::stream("id: 1\ndata:\n\n")),
        ("GET", forgotten()),
        ("resources/read", Reply::stream("id: 2\ndata:\n\n")),
        ("GET", Reply::http(405, "", "")),
    ])
    .await;
    let error = call(&client).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");

    // The next request opens a session, whose own stream is asked for again.
    let reading = tokio::spawn(async move { client.read("x://1").await });
    server.heard("resources/read", 1).await;
    server.then("GET", forgotten());
    server.then("resources/read", Reply::result(&json!({"contents": []})));
    let read = reading.await.unwrap();
    assert!(read.unwrap().contents.is_empty());
    assert_eq!(server.asked("tools/call").len(), 1);
    assert_eq!(server.asked("initialize").len(), 3);
}

#[tokio::test]
async fn a_wait_that_is_longer_than_the_request_may_take_ends_with_its_clock() {
    let (server, client) =
        started([("tools/call", Reply::stream("id: 1\nretry: 99999999999999999999\ndata:\n\n"))]).await;
    let asked = json!({});
    let calling = client.call("f", &asked).timeout(Duration::from_secs(5)).into_future();
    let heard = async {
        server.heard("tools/call", 1).await;
        // The stream has ended before, so that the wait has begun once another answer has come.
        client.tools().fresh().await.unwrap();
        pass(Duration::from_secs(5)).await;
    };
    let (outcome, ()) = tokio::join!(calling, heard);
    assert!(outcome.unwrap_err().is_timeout());
    // Nobody waits any more, and the server may still be at work.
    server.heard("notifications/cancelled", 1).await;
    assert!(resumed(&server).is_empty());
}

#[tokio::test]
async fn a_client_made_without_care_for_the_waits_takes_streams_up_too() {
    let server =
        server([("GET", Reply::http(405, "", "")), ("tools/call", Reply::stream("id: 1\ndata:\n\n"))]).await;
    let client = connect(&server).await;
    server.heard("GET", 1).await;
    server.then("GET", Reply::stream(&format!("data: {}\n\n", done())));
    check_done(call(&client).await);
}
