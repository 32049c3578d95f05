//! What is sent in a session, how answers may come, and how a session ends.

use std::sync::{Arc, Mutex};

use serde_json::json;
use switchboard_client::{Delivery, Error, Limits, Root};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use super::{
    NEWEST, bare, builder, call, check_done, connect, done, handshake, methods, response, server, text,
};

#[tokio::test]
async fn every_request_carries_the_session_and_the_revision_where_that_is_said() {
    for (revision, session, version) in [
        ("2025-03-26", Some("s-1"), None),
        ("2025-06-18", Some("!~s"), Some("2025-06-18")),
        ("2025-11-25", Some("s-1"), Some("2025-11-25")),
        ("2025-11-25", None, Some("2025-11-25")),
    ] {
        let server = bare([("tools/call", Reply::result(&text("done")))])
            .await
            .always("initialize", handshake(revision, session));
        let client = builder().bearer("t").http(server.url()).await.unwrap();
        check_done(call(&client).await);
        server.heard("GET", 1).await;
        client.close().await;

        let received = server.finish();
        assert_eq!(received[0].header("mcp-session-id"), None);
        assert_eq!(received[0].header("mcp-protocol-version"), None);
        assert_eq!(received[0].params()["protocolVersion"], NEWEST);
        for (at, request) in received.iter().enumerate() {
            let line = request.line.as_str();
            assert_eq!(request.header("authorization"), Some("Bearer t"), "{line}");
            assert_eq!(request.header("mcp-method"), None, "{line}");
            if at > 0 {
                assert_eq!(request.header("mcp-session-id"), session, "{line}");
                assert_eq!(request.header("mcp-protocol-version"), version, "{line}");
            }
            let accept = request.header("accept");
            match request.line.split(' ').next().unwrap() {
                "POST" => {
                    assert_eq!(accept, Some("application/json, text/event-stream"));
                    assert_eq!(request.header("content-type"), Some("application/json"));
                }
                "GET" => assert_eq!(accept, Some("text/event-stream")),
                _ => {}
            }
        }
        let deleted = received.iter().filter(|request| request.method() == "DELETE").count();
        assert_eq!(deleted, usize::from(session.is_some()));
    }
}

#[tokio::test]
async fn a_session_id_that_is_none_ends_the_handshake() {
    for (id, shown) in [
        ("a b", "visible ASCII"),
        ("\u{e4}", "visible ASCII"),
        (&"x".repeat(20_000), "limit"),
        ("a\r\nmcp-session-id: b", "two different ids"),
    ] {
        let server = bare([("initialize", handshake(NEWEST, Some(id)))]).await;
        let error = builder().http(server.url()).await.unwrap_err();
        assert!(error.to_string().contains(shown), "{error}");
        server.finish();
    }
}

async fn call_once(reply: Reply) -> Result<switchboard_client::CallToolResult, Error> {
    let server = server([("tools/call", reply)]).await;
    let client = connect(&server).await;
    let outcome = call(&client).await;
    server.finish();
    outcome
}

#[tokio::test]
async fn an_answer_may_be_one_message_or_a_stream_in_any_pieces() {
    let done = done();
    let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
                     "params": {"level": "info", "data": "x"}});
    for reply in [
        Reply::result(&text("done")),
        Reply::result(&text("done")).cut(3),
        Reply::events(&[log.clone(), response(&text("done"))]),
        Reply::events(&[log, response(&text("done"))]).cut(2),
        Reply::stream(&format!(
            "id: 1\nretry: 10\ndata:\n\nevent: other\ndata: x\n\nid: 2\ndata: {done}\n\n"
        )),
        Reply::stream(&format!(": hello\n\ndata: {done}")),
        Reply::stream(&format!("id: 1\ndata: {done}")),
    ] {
        check_done(call_once(reply).await);
    }
}

#[tokio::test]
async fn an_answer_that_breaks_a_rule_ends_the_request_at_once() {
    let foreign = json!({"jsonrpc": "2.0", "id": "other", "result": text("done")});
    for (reply, shown) in [
        (Reply::json(200, &foreign), "answered request \"other\""),
        (Reply::stream("event: message\ndata: {\"error\":\"Session not found\"}\n\n"), "no message"),
        (Reply::stream("id: 1\ndata: {\"error\":\"Session not found\"}\n\n"), "no message"),
        (Reply::http(200, "content-type: application/json\r\n", ""), "empty body"),
        (Reply::http(200, "content-type: text/html\r\n", "<html>"), "neither JSON nor an event stream"),
        (Reply::http(202, "", ""), "wanted no answer (HTTP 202)"),
        (Reply::stream(": bye\n\n"), "ended before the response"),
        (Reply::http(200, "content-type: application/json\r\n", &format!("[{}]", done())), "Batches"),
    ] {
        let error = call_once(reply).await.unwrap_err();
        assert!(error.to_string().contains(shown), "{error}");
        assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");
    }
}

#[tokio::test]
async fn several_messages_may_come_in_one_array_where_the_revision_has_batches() {
    let progress = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
                    {\"progressToken\":$id,\"progress\":1}}";
    let question = "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}";
    let batch = format!("[{progress}, {},{question}]", done());
    for reply in [
        Reply::http(200, "content-type: application/json\r\n", &batch),
        Reply::stream(&format!("data: {batch}\n\n")),
    ] {
        let server =
            bare([("tools/call", reply)]).await.always("initialize", handshake("2025-03-26", Some("s-1")));
        let client = connect(&server).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let call = client.call("f", &json!({}));
        check_done(call.on_progress(move |progress| log.lock().unwrap().push(progress.progress)).await);
        assert_eq!(*seen.lock().unwrap(), [1.0]);
        // What came behind the response is heard, too.
        server.heard("response", 1).await;
        assert_eq!(server.asked("response")[0].json()["id"], "q");
    }
}

#[tokio::test]
async fn the_server_asks_inside_an_open_exchange() {
    let question = json!({"jsonrpc": "2.0", "id": "q-1", "method": "roots/list"});
    let (reply, live) = Reply::live(&format!("data: {question}\n\n"));
    let server = server([("tools/call", reply)]).await;
    let client = builder()
        .on_roots(|| async { vec![Root { uri: "file:///a".into(), name: None, meta: None }] })
        .http(server.url())
        .await
        .unwrap();
    let calling = tokio::spawn(async move { call(&client).await });
    server.heard("response", 1).await;
    let answer = server.asked("response").remove(0);
    assert_eq!(answer.json()["id"], "q-1");
    assert_eq!(answer.json()["result"]["roots"][0]["uri"], "file:///a");
    assert_eq!(answer.header("mcp-session-id"), Some("s-1"));
    let id = server.asked("tools/call")[0].json()["id"].clone();
    live.event(&json!({"jsonrpc": "2.0", "id": id, "result": text("done")}));
    check_done(calling.await.unwrap());
}

#[tokio::test]
async fn any_success_acknowledges_a_notification_and_a_refusal_is_not_answered() {
    let json = "content-type: application/json\r\n";
    for reply in [
        Reply::http(202, "content-type: text/plain; charset=UTF-8\r\n", ""),
        Reply::http(204, "", ""),
        Reply::http(200, "", ""),
        Reply::http(200, json, "null"),
        Reply::http(200, json, r#"{"jsonrpc":"2.0","result":{}}"#),
        Reply::http(202, "", "Accepted"),
    ] {
        let server = server([
            ("notifications/initialized", reply.clone()),
            ("notifications/roots/list_changed", reply),
        ])
        .await;
        let client = connect(&server).await;
        client.notify_raw("notifications/roots/list_changed", None).await.unwrap();
        client.tools().await.unwrap();
        let expected =
            ["initialize", "notifications/initialized", "notifications/roots/list_changed", "tools/list"];
        assert_eq!(methods(&server.finish()), expected);
    }
    let refusal = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}"#;
    let server = server([("notifications/x", Reply::http(400, json, refusal))]).await;
    let client = connect(&server).await;
    let error = client.notify_raw("notifications/x", None).await.unwrap_err();
    assert!(error.to_string().contains("no"), "{error}");
    assert_eq!(methods(&server.finish()), ["initialize", "notifications/initialized", "notifications/x"]);
}

fn forgotten() -> Reply {
    Reply::http(
        404,
        "content-type: application/json\r\n",
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
    )
}

#[tokio::test]
async fn a_forgotten_session_is_followed_by_one_handshake_for_all_who_were_in_it() {
    let server = bare([
        ("initialize", handshake(NEWEST, Some("s-old"))),
        ("initialize", handshake(NEWEST, Some("s-new"))),
        ("tools/call", forgotten()),
        ("tools/call", forgotten()),
        ("tools/call", forgotten()),
    ])
    .await
    .always("tools/call", Reply::result(&text("done")));
    let client = connect(&server).await;
    let (first, second, third) = tokio::join!(call(&client), call(&client), call(&client));
    for outcome in [first, second, third] {
        check_done(outcome);
    }
    client.close().await;

    let received = server.finish();
    let handshakes: Vec<_> = received.iter().filter(|request| request.method() == "initialize").collect();
    assert_eq!(handshakes.len(), 2);
    assert!(handshakes.iter().all(|request| request.header("mcp-session-id").is_none()));
    let calls: Vec<_> = received.iter().filter(|request| request.method() == "tools/call").collect();
    let sessions = |id| calls.iter().filter(|call| call.header("mcp-session-id") == Some(id)).count();
    assert_eq!((sessions("s-old"), sessions("s-new")), (3, 3));
    let deleted: Vec<_> = received.iter().filter(|request| request.method() == "DELETE").collect();
    assert_eq!(deleted[0].header("mcp-session-id"), Some("s-new"));
}

#[tokio::test]
async fn a_handshake_that_fails_anew_is_told_and_not_repeated() {
    for (reply, shown) in [
        (forgotten(), "404"),
        (Reply::http(503, "", ""), "503"),
        (handshake("1999-01-01", None), "1999-01-01"),
    ] {
        let server = bare([
            ("initialize", handshake(NEWEST, Some("s-old"))),
            ("initialize", reply),
            ("tools/call", forgotten()),
        ])
        .await;
        let client = connect(&server).await;
        let error = call(&client).await.unwrap_err();
        assert!(error.to_string().contains(shown) || error.http_status() == Some(404), "{shown}: {error}");
        assert_eq!(error.delivery(), Delivery::NotSent, "{error}");
        server.finish();
    }
}

#[tokio::test]
async fn a_session_that_is_forgotten_again_and_again_makes_no_storm() {
    let server = server([]).await.always("tools/call", forgotten());
    let client = connect(&server).await;
    let error = call(&client).await.unwrap_err();
    assert!(error.to_string().contains("forgotten"), "{error}");
    let received = server.finish();
    assert!(received.iter().filter(|request| request.method() == "initialize").count() <= 3);
}

#[tokio::test]
async fn another_refusal_of_a_session_is_an_error_and_opens_no_new_one() {
    let refusal = json!({"code": -32000, "message": "Bad Request: no valid session id"});
    let server = server([("tools/call", Reply::error(400, &refusal))]).await;
    let client = connect(&server).await;
    let error = call(&client).await.unwrap_err();
    assert!(error.to_string().contains("no valid session id"), "{error}");
    assert_eq!(error.delivery(), Delivery::Rejected);
    assert_eq!(server.asked("initialize").len(), 1);
}

#[tokio::test]
async fn a_server_that_ends_no_sessions_is_left_all_the_same() {
    for reply in [Reply::http(405, "", ""), Reply::http(404, "", ""), Reply::drop_connection()] {
        let server = server([("DELETE", reply)]).await;
        let client = connect(&server).await;
        client.close().await;
        assert!(call(&client).await.unwrap_err().is_cancelled());
        assert_eq!(server.asked("DELETE").len(), 1);
        server.finish();
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_by_a_message() {
    let (reply, _live) = Reply::live("id: 1\ndata:\n\n");
    // Before its answer has begun, and while it is open.
    for reply in [Reply::raw("").then_hold(), reply] {
        let server = server([("tools/call", reply)]).await;
        let client = connect(&server).await;
        let mut calling = client.call("f", &json!({})).into_future();
        tokio::select! {
            _ = &mut calling => panic!("the call ended"),
            () = server.heard("tools/call", 1) => {}
        }
        drop(calling);
        server.heard("notifications/cancelled", 1).await;
        server.left(1).await;
        let cancelled = server.asked("notifications/cancelled").remove(0);
        assert_eq!(cancelled.params()["requestId"], server.asked("tools/call")[0].json()["id"]);
        assert_eq!(cancelled.header("mcp-session-id"), Some("s-1"));
        client.close().await;
        server.finish();
    }
}

#[tokio::test]
async fn a_call_that_has_ended_is_not_cancelled() {
    let server = server([
        ("tools/call", Reply::result(&text("done"))),
        ("tools/call", Reply::error(200, &json!({"code": -32603, "message": "no"}))),
        ("tools/call", Reply::drop_connection()),
    ])
    .await;
    let client = connect(&server).await;
    check_done(call(&client).await);
    assert!(call(&client).await.is_err());
    assert_eq!(call(&client).await.unwrap_err().delivery(), Delivery::MaybeExecuted);
    client.close().await;
    assert!(server.asked("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn redirects_are_followed_within_the_origin_alone() {
    let moved = |status| Reply::http(status, "location: /mcp/\r\n", "");
    let server = server([
        ("tools/call", moved(307)),
        ("tools/call", Reply::result(&text("done"))),
        ("DELETE", moved(308)),
    ])
    .await;
    let client = builder().bearer("t").http(server.url()).await.unwrap();
    check_done(call(&client).await);
    client.close().await;
    let calls = server.asked("tools/call");
    assert_eq!(calls[1].line, "POST /mcp/ HTTP/1.1");
    assert_eq!(calls[1].body, calls[0].body);
    assert_eq!(calls[1].header("mcp-session-id"), Some("s-1"));
    assert_eq!(server.asked("DELETE")[1].line, "DELETE /mcp/ HTTP/1.1");

    let other = ScriptedHttp::play::<String>([]).await;
    for status in [307, 308, 302] {
        let elsewhere = Reply::http(status, &format!("location: {}\r\n", other.url()), "");
        let server = bare([("tools/call", elsewhere)])
            .await
            .always("initialize", handshake(NEWEST, Some("secret-session")));
        let client = builder().bearer("t").http(server.url()).await.unwrap();
        let error = call(&client).await.unwrap_err();
        assert!(error.to_string().contains("not followed"), "{error}");
        assert!(!error.to_string().contains("secret-session"), "{error}");
    }
    assert!(other.finish().is_empty());
}

#[tokio::test]
async fn an_answer_larger_than_the_limit_is_refused_and_the_session_goes_on() {
    let large = response(&text(&"x".repeat(5000)));
    for reply in [Reply::json(200, &large), Reply::events(std::slice::from_ref(&large))] {
        let server = server([("tools/call", reply), ("tools/call", Reply::result(&text("done")))]).await;
        let mut limits = Limits::default();
        limits.message_bytes = 2000;
        let client = builder().limits(limits).http(server.url()).await.unwrap();
        let error = call(&client).await.unwrap_err();
        assert!(error.is_limit(), "{error}");
        check_done(call(&client).await);
        server.finish();
    }
}
