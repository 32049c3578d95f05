//! HTTP+SSE: everything comes on one stream, and messages are sent elsewhere.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use switchboard_client::{Client, Delivery, Error, Limits, Root};
use switchboard_testkit::scripted_http::{Live, Reply, ScriptedHttp};

use super::{builder, call, check_done, initialized, methods, response, text};

const OLDEST: &str = "2024-11-05";

/// A server that has no Streamable HTTP, whose stream begins with `text`.
async fn play(text: &str) -> (ScriptedHttp, Live) {
    let (stream, live) = Reply::live(text);
    let server = ScriptedHttp::play([("initialize", Reply::http(405, "", "")), ("GET", stream)])
        .await
        .of_legacy_era()
        .always("notifications/initialized", Reply::http(202, "", "Accepted"))
        .always("notifications/cancelled", Reply::http(202, "", ""))
        .always("response", Reply::http(202, "", ""));
    server.then("initialize", Reply::elsewhere(&live, &response(&initialized(OLDEST))));
    (server, live)
}

async fn connect(server: &ScriptedHttp) -> Result<Client, Error> {
    let mut limits = Limits::default();
    limits.reconnect_wait = Duration::from_millis(1);
    builder().bearer("t").limits(limits).http(server.url_of("/gw/sse?tenant=1")).await
}

const ENDPOINT: &str = "event: endpoint\ndata: /message?session_id=a%2Fb\n\n";

#[tokio::test]
async fn a_story_over_one_stream_and_an_address_for_messages() {
    let (server, live) = play(ENDPOINT).await;
    let client = connect(&server).await.unwrap();
    let progress = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
                    {\"progressToken\":$id,\"progress\":1}}\n\n";
    server.then("tools/call", Reply::elsewhere(&live, &response(&text("done"))).and_on(&live, ""));
    server.then(
        "tools/call",
        Reply::http(202, "", "")
            .and_on(&live, progress)
            .and_on(&live, format!("event: ping\ndata: x\n\nevent: message\ndata: {}\n\n", super::done())),
    );
    check_done(call(&client).await);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let calling = client.call("f", &json!({}));
    check_done(calling.on_progress(move |progress| log.lock().unwrap().push(progress.progress)).await);
    assert_eq!(*seen.lock().unwrap(), [1.0]);
    client.close().await;
    server.left(1).await;

    let received = server.finish();
    assert_eq!(
        methods(&received),
        ["initialize", "initialize", "notifications/initialized", "tools/call", "tools/call"]
    );
    assert_eq!(received[1].line, "GET /gw/sse?tenant=1 HTTP/1.1");
    assert_eq!(received[1].header("accept"), Some("text/event-stream"));
    for request in &received[2..] {
        assert_eq!(request.line, "POST /message?session_id=a%2Fb HTTP/1.1");
        assert_eq!(request.header("authorization"), Some("Bearer t"));
        assert_eq!(request.header("mcp-session-id"), None);
        assert_eq!(request.header("mcp-protocol-version"), None);
    }
}

#[tokio::test]
async fn the_endpoint_is_understood_however_its_event_is_written() {
    for (event, line) in [
        ("event: endpoint\r\ndata: /messages?sessionId=a%2Fb&x=1\r\n\r\n", "/messages?sessionId=a%2Fb&x=1"),
        ("data: messages/?sid=1\nevent: endpoint\n\n", "/gw/messages/?sid=1"),
        (": hi\n\nevent: ping\ndata: x\n\nevent: endpoint\ndata: ?sid=1\n\n", "/gw/sse?sid=1"),
    ] {
        let (server, _live) = play(event).await;
        let _client = connect(&server).await.unwrap();
        assert_eq!(server.asked("initialize")[1].line, format!("POST {line} HTTP/1.1"));
    }
}

#[tokio::test]
async fn a_stream_that_names_no_place_for_messages_is_an_error() {
    let other = ScriptedHttp::play::<String>([]).await;
    let elsewhere = format!("event: endpoint\ndata: {}\n\n", other.url());
    for (stream, shown) in [
        (elsewhere.as_str(), "another origin"),
        ("event: endpoint\ndata: http://[\n\n", "names no address"),
        ("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", "before it said where"),
        (": hello\n\n", "did not say within 1 s where"),
    ] {
        let (stream, _live) = Reply::live(stream);
        let server = ScriptedHttp::play([("initialize", Reply::http(404, "", "")), ("GET", stream)])
            .await
            .of_legacy_era();
        let mut limits = Limits::default();
        if shown.contains("did not say") {
            limits.connect_time = Duration::from_secs(2);
        }
        let error = builder().bearer("t").limits(limits).http(server.url()).await.unwrap_err();
        assert!(error.to_string().contains(shown), "{error}");
        server.finish();
    }
    assert!(other.finish().is_empty());
}

#[tokio::test]
async fn the_server_asks_on_the_stream_and_is_answered_at_the_address() {
    let (server, live) = play(ENDPOINT).await;
    let client = builder()
        .on_roots(|| async { vec![Root { uri: "file:///a".into(), name: None, meta: None }] })
        .http(server.url())
        .await
        .unwrap();
    live.event(&json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
    server.heard("response", 1).await;
    let answer = server.asked("response").remove(0);
    assert_eq!(answer.json()["result"]["roots"][0]["uri"], "file:///a");
    assert_eq!(answer.line, "POST /message?session_id=a%2Fb HTTP/1.1");
    client.close().await;
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_and_its_late_answer_is_no_fault() {
    let (server, live) = play(ENDPOINT).await;
    let client = connect(&server).await.unwrap();
    server.then("tools/call", Reply::http(202, "", ""));
    let mut calling = client.call("f", &json!({})).into_future();
    tokio::select! {
        _ = &mut calling => panic!("the call ended"),
        () = server.heard("tools/call", 1) => {}
    }
    drop(calling);
    server.heard("notifications/cancelled", 1).await;
    let id = server.asked("tools/call")[0].json()["id"].clone();
    assert_eq!(server.asked("notifications/cancelled")[0].params()["requestId"], id);
    live.event(&json!({"jsonrpc": "2.0", "id": id, "result": text("late")}));
    server.then("tools/call", Reply::elsewhere(&live, &response(&text("done"))));
    check_done(call(&client).await);
}

#[tokio::test]
async fn a_message_that_is_refused_ends_its_request_alone() {
    let (server, live) = play(ENDPOINT).await;
    let client = connect(&server).await.unwrap();
    server.then("tools/call", Reply::http(401, "", ""));
    assert!(call(&client).await.unwrap_err().is_unauthorized());
    server.then("tools/call", Reply::elsewhere(&live, &response(&text("done"))));
    check_done(call(&client).await);
    assert_eq!(server.asked("GET").len(), 1);
}

#[tokio::test]
async fn what_is_no_message_in_place_of_an_answer_ends_its_request_alone_and_says_why() {
    let (server, live) = play(ENDPOINT).await;
    let client = connect(&server).await.unwrap();
    let broken = "data: {\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"x\":NaN}}\n\n";
    server.then("tools/call", Reply::http(202, "", "").and_on(&live, broken));
    let error = call(&client).await.unwrap_err();
    assert!(error.is_server_fault() && error.to_string().contains("not valid JSON: "), "{error}");
    server.then("tools/call", Reply::elsewhere(&live, &response(&text("done"))));
    check_done(call(&client).await);
    assert_eq!(server.asked("GET").len(), 1);
}

#[tokio::test]
async fn an_address_that_is_gone_is_the_end_of_the_session() {
    let (server, _live) = play(ENDPOINT).await;
    let client = connect(&server).await.unwrap();
    let (stream, second) = Reply::live("event: endpoint\ndata: /second\n\n");
    server.then("tools/call", Reply::http(404, "", ""));
    server.then("GET", stream);
    server.then("initialize", Reply::elsewhere(&second, &response(&initialized(OLDEST))));
    server.then("tools/call", Reply::elsewhere(&second, &response(&text("done"))));
    // Nobody carried it out, so it is sent again.
    check_done(call(&client).await);
    assert_eq!(server.asked("tools/call")[1].line, "POST /second HTTP/1.1");
    server.left(1).await;
    server.finish();
}

#[tokio::test]
async fn the_end_of_the_stream_ends_what_is_open_and_a_read_is_repeated_in_a_new_session() {
    let (server, live) = play(ENDPOINT).await;
    let client = connect(&server).await.unwrap();
    let (stream, second) = Reply::live("event: endpoint\ndata: /second\n\n");
    server.then("tools/call", Reply::http(202, "", ""));
    server.then("resources/read", Reply::http(202, "", ""));
    server.then("GET", stream);
    server.then("initialize", Reply::elsewhere(&second, &response(&initialized(OLDEST))));
    server.then("resources/read", Reply::elsewhere(&second, &response(&json!({"contents": []}))));

    let (calling, reading) = (client.clone(), client.clone());
    let calling = tokio::spawn(async move { call(&calling).await });
    let reading = tokio::spawn(async move { reading.read("x://1").await });
    server.heard("tools/call", 1).await;
    server.heard("resources/read", 1).await;
    live.end();
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");
    assert!(error.is_unreachable(), "{error}");
    assert!(reading.await.unwrap().unwrap().contents.is_empty());
    let reads = server.asked("resources/read");
    assert_eq!(reads[1].line, "POST /second HTTP/1.1");
    assert_eq!(server.asked("tools/call").len(), 1);
    server.finish();
}

#[tokio::test]
async fn a_flood_on_the_stream_does_not_keep_an_answer_away() {
    let (server, live) = play(ENDPOINT).await;
    let client = connect(&server).await.unwrap();
    for id in 0..2_000 {
        live.event(&json!({"jsonrpc": "2.0", "id": id, "method": "x/unknown"}));
        live.event(&json!({"jsonrpc": "2.0", "id": format!("nobody-{id}"), "result": {}}));
    }
    let progress = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
                    {\"progressToken\":$id,\"progress\":1}}\n\n";
    let flood = format!("{}data: {}\n\n", progress.repeat(2_000), super::done());
    server.then("tools/call", Reply::http(202, "", "").and_on(&live, flood));
    check_done(client.call("f", &json!({})).on_progress(|_| {}).await);
}

#[tokio::test]
async fn what_the_server_asks_right_behind_its_answer_to_the_handshake_is_answered() {
    let (stream, live) = Reply::live(ENDPOINT);
    let server = ScriptedHttp::play([("initialize", Reply::http(405, "", "")), ("GET", stream)])
        .await
        .of_legacy_era()
        .always("notifications/initialized", Reply::http(202, "", ""))
        .always("response", Reply::http(202, "", ""));
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"});
    let answer = Reply::elsewhere(&live, &response(&initialized(OLDEST)));
    server.then("initialize", answer.and_on(&live, format!("data: {asked}\n\n")));
    let builder = builder().on_roots(|| std::future::ready(vec![]));
    let _client = builder.http(server.url_of("/sse")).await.unwrap();
    server.heard("response", 1).await;
    assert_eq!(server.asked("response")[0].json()["result"], json!({"roots": []}));
}
