//! How an answer may come over HTTP: JSON or events, in any pieces, with what proxies and other
//! servers add to it.

use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_client::{CallToolResult, Client, Delivery, Direction, Error, Limits};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use crate::support::{builder, connect, server, text_result};

fn response() -> Value {
    json!({"jsonrpc": "2.0", "id": "$id", "result": text_result("done")})
}

async fn call(reply: Reply) -> Result<CallToolResult, Error> {
    let server = server([("tools/call", reply)]).await;
    let client = connect(&server).await;
    let outcome = client.call("f", &json!({})).await;
    server.finish();
    outcome
}

async fn check_done(reply: Reply) {
    let result = call(reply.clone()).await.unwrap_or_else(|error| panic!("{error}: {reply:?}"));
    assert_eq!(serde_json::to_value(&result).unwrap(), text_result("done"));
}

async fn check_fault(reply: Reply, shown: &str) {
    let error = call(reply).await.unwrap_err();
    assert!(error.to_string().contains(shown), "{error}");
    assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");
}

#[tokio::test]
async fn the_content_type_is_read_by_its_media_type_alone() {
    let body = response().to_string().replace("\"$id\"", "$id");
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON;charset=UTF-8",
        " application/json ",
    ] {
        check_done(Reply::http(200, &format!("content-type: {kind}\r\n"), &body)).await;
    }
    let stream = format!("data: {body}\n\n");
    for kind in ["text/event-stream", "text/event-stream;charset=utf-8", "TEXT/EVENT-STREAM"] {
        check_done(Reply::http(200, &format!("content-type: {kind}\r\n"), &stream)).await;
    }
}

#[tokio::test]
async fn an_answer_is_the_same_however_it_is_cut() {
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                          "params": {"progressToken": "$id", "progress": 1}});
    for size in [1, 2, 3, 7, 64] {
        check_done(Reply::json(200, &response()).cut(size)).await;
        check_done(Reply::events(&[progress.clone(), response()]).cut(size)).await;
    }
}

#[tokio::test]
async fn events_that_are_no_messages_are_not_taken_for_messages() {
    let done = response().to_string().replace("\"$id\"", "$id");
    for stream in [
        // Priming events, an event with an id alone, and events without a name.
        format!("id: s1:0\nretry: 1500\ndata:\n\nid: s1:1\n\ndata\n\ndata: {done}\nid: s1:2\n\n"),
        format!(": keep-alive\n\n:\r\n\r\ndata: {done}\n\n"),
        format!("event: ping\ndata: whatever\n\nevent: message\ndata: {done}\n\n"),
        format!("\u{feff}data: {done}\r\n\r\n"),
        // Without the last blank line.
        format!("data: {done}\n"),
        format!("data: {done}"),
        // Notifications of kinds that nobody knows, and of other requests.
        format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"x/unknown\",\"params\":{{\"a\":1}}}}\n\ndata: {done}\n\n"
        ),
        format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":\
             \"other\",\"progress\":1}}}}\n\ndata: {done}\n\n"
        ),
        // A request, which this revision does not allow, gets no answer.
        format!("data: {{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}}\n\ndata: {done}\n\n"),
    ] {
        check_done(Reply::stream(&stream)).await;
    }
}

#[tokio::test]
async fn what_is_no_answer_to_the_request_is_refused() {
    let foreign = json!({"jsonrpc": "2.0", "id": "someone-else", "result": text_result("done")});
    check_fault(Reply::json(200, &foreign), "answered request \"someone-else\"").await;
    check_fault(Reply::events(&[foreign]), "answered request \"someone-else\"").await;
    check_fault(Reply::http(200, "content-type: application/json\r\n", "<html>"), "no message").await;
    check_fault(Reply::http(200, "content-type: application/json\r\n", "[]"), "Batches").await;
    check_fault(Reply::http(200, "content-type: application/json\r\n", ""), "empty body").await;
    check_fault(Reply::stream("data: nonsense\n\n"), "no message").await;
    let broken = r#"{"jsonrpc":"2.0","id":$id,"result":{"x":NaN}}"#;
    let at = "not valid JSON: expected value at line 1";
    check_fault(Reply::http(200, "content-type: application/json\r\n", broken), at).await;
    check_fault(Reply::stream(&format!("data: {broken}\n\n")), at).await;
    check_fault(Reply::http(202, "", ""), "wanted no answer (HTTP 202)").await;
    check_fault(Reply::http(204, "", ""), "wanted no answer (HTTP 204)").await;
    check_fault(Reply::http(200, "", "{}"), "without a content type").await;
    check_fault(Reply::stream(": bye\n\n"), "ended before the response").await;
    check_fault(Reply::stream("data: {\"jsonrpc\":"), "ended before the response").await;
    check_fault(Reply::result(&json!({"resultType": "complete"})), "malformed").await;
    check_fault(Reply::result(&json!({"resultType": "stream_later"})), "stream_later").await;
}

#[tokio::test]
async fn an_answer_larger_than_the_limit_is_refused() {
    let large = json!({"jsonrpc": "2.0", "id": "$id", "result": text_result(&"x".repeat(5000))});
    for reply in [
        Reply::json(200, &large),
        Reply::json(200, &large).cut(100),
        Reply::events(std::slice::from_ref(&large)),
    ] {
        let server = server([("tools/call", reply)]).await;
        let mut limits = Limits::default();
        limits.message_bytes = 2000;
        let client = builder().limits(limits).http(server.url()).await.unwrap();
        let error = client.call("f", &()).await.unwrap_err();
        assert!(error.to_string().contains("message_bytes (2000 bytes)"), "{error}");
        // The client is as good as new.
        server.then("tools/call", Reply::result(&text_result("done")));
        client.call("f", &()).await.unwrap();
    }
}

#[tokio::test]
async fn a_redirect_to_the_same_origin_is_followed_and_bounded() {
    let moved = || Reply::http(307, "location: /mcp/\r\n", "");
    let server = server([("tools/call", moved()), ("tools/call", Reply::result(&text_result("done")))]).await;
    let client = builder().bearer("t").http(server.url()).await.unwrap();
    client.call("f", &json!({"a": 1})).await.unwrap();
    let asked = server.asked("tools/call");
    assert_eq!(asked[1].line, "POST /mcp/ HTTP/1.1");
    assert_eq!(asked[1].header("authorization"), Some("Bearer t"));
    assert_eq!(asked[0].body, asked[1].body);

    for _ in 0..=3 {
        server.then("tools/call", moved());
    }
    let error = client.call("f", &()).await.unwrap_err();
    assert!(error.to_string().contains("redirected more than 3 times"), "{error}");
    server.finish();
}

#[tokio::test]
async fn a_redirect_elsewhere_is_not_followed_and_takes_no_token_along() {
    let other = ScriptedHttp::play::<String>([]).await;
    let location = format!("location: {}\r\n", other.url());
    for status in [307, 308, 302, 303] {
        let server = server([("tools/call", Reply::http(status, &location, ""))]).await;
        let client = builder().bearer("t").http(server.url()).await.unwrap();
        let error = client.call("f", &()).await.unwrap_err();
        assert!(error.to_string().contains("not followed"), "{error}");
        assert_eq!(error.delivery(), Delivery::Rejected);
    }
    assert!(other.finish().is_empty());
}

#[tokio::test]
async fn a_read_whose_connection_died_is_sent_once_more_and_a_call_is_not() {
    let server = server([
        ("tools/call", Reply::drop_connection()),
        ("resources/read", Reply::drop_connection()),
        ("resources/read", Reply::result(&json!({"resultType": "complete", "contents": []}))),
    ])
    .await;
    let client = connect(&server).await;
    client.tools().await.unwrap();
    let error = client.call("f", &()).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");
    assert!(error.is_unreachable() && error.is_transient(), "{error}");
    assert!(error.to_string().contains("may have been executed"), "{error}");
    assert!(client.read("x://1").await.unwrap().contents.is_empty());
    server.finish();
}

#[tokio::test]
async fn every_request_says_what_the_transport_demands() {
    let server = server([("tools/call", Reply::result(&text_result("done")))]).await;
    let client = connect(&server).await;
    client.call("f", &json!({"a": 1})).meta("com.example/trace", "t-1").await.unwrap();
    for request in server.received() {
        assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-method"), Some(request.method().as_str()));
        let meta = &request.params()["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "tests");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    }
    let call = &server.asked("tools/call")[0];
    assert_eq!(call.header("mcp-name"), Some("f"));
    assert_eq!(call.params()["_meta"]["com.example/trace"], "t-1");
}

#[tokio::test]
async fn the_tap_sees_every_message_and_the_relay_every_member() {
    let server = server([
        ("x/own", Reply::result(&json!({"resultType": "complete", "unknown": [1, 2]}))),
        ("tools/call", Reply::error(400, &json!({"code": -32602, "message": "Unknown tool: g"}))),
    ])
    .await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let client = builder()
        .on_wire(move |message| {
            let text = String::from_utf8_lossy(message.bytes).into_owned();
            log.lock().unwrap().push((message.direction, text));
        })
        .http(server.url())
        .await
        .unwrap();
    let params = RawValue::from_string(r#"{"b":1,"a":{"x":null}}"#.into()).unwrap();
    let raw = client.request_raw("x/own", Some(&params)).await.unwrap();
    assert_eq!(raw.get(), r#"{"resultType":"complete","unknown":[1,2]}"#);
    let sent = server.asked("x/own")[0].clone();
    assert_eq!(sent.header("mcp-method"), Some("x/own"));
    assert!(String::from_utf8_lossy(&sent.body).contains(r#""params":{"b":1,"a":{"x":null},"_meta""#));
    client.call("g", &()).await.unwrap_err();

    let seen = seen.lock().unwrap();
    let kinds: Vec<_> = seen.iter().map(|(direction, _)| *direction).collect();
    assert_eq!(kinds, [Direction::Sent, Direction::Received].repeat(4));
    assert!(seen[7].1.contains("Unknown tool: g"), "{seen:?}");
}

#[tokio::test]
async fn a_notification_is_taken_note_of_in_several_ways() {
    let server = server([
        ("notifications/x", Reply::http(202, "", "")),
        ("notifications/x", Reply::http(204, "", "")),
        ("notifications/x", Reply::json(200, &json!({}))),
        ("notifications/x", Reply::http(400, "content-type: text/plain\r\n", "not here")),
    ])
    .await;
    let client: Client = connect(&server).await;
    for _ in 0..3 {
        client.notify_raw("notifications/x", None).await.unwrap();
    }
    let error = client.notify_raw("notifications/x", None).await.unwrap_err();
    assert!(error.to_string().contains("not here"), "{error}");
    server.finish();
}
