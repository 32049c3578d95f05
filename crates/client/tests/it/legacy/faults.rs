//! Servers on a pipe that break the rules of their session: what it costs, and what is said of it.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{Delivery, ElicitReply, Era, Limits, Pipe};
use switchboard_testkit::dated;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::peer::{NEWEST, described, error, pass, result, session};
use crate::support::builder;

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// What is said to a call.
type Said = fn(&Value) -> Value;

fn progress(token: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 9}})
}

#[tokio::test(start_paused = true)]
async fn what_comes_for_a_call_that_was_cancelled_is_dropped_and_its_id_is_not_used_again() {
    let late: [Said; 4] = [
        |call| result(call, text("late")),
        |call| error(call, -32_603, "cancelled"),
        |call| progress(&call["id"]),
        |call| json!({"jsonrpc": "2.0", "id": call["id"]}),
    ];
    for said in late {
        let mut first = true;
        let (pipe, mut peer) = session(NEWEST, move |asked| {
            (asked["method"] == "tools/call" && std::mem::take(&mut first)).then(|| Some(vec![]))
        });
        let client = builder().era(Era::Legacy).pipe(pipe).await.unwrap();
        let asked = json!({});
        let abandoned = client.call("f", &asked).timeout(Duration::from_secs(1));
        assert!(abandoned.on_progress(|_| panic!("it was cancelled")).await.unwrap_err().is_timeout());
        let cancelled = peer.wait("notifications/cancelled", 1).await.remove(0);
        let call = peer.all("tools/call").remove(0);
        assert_eq!(cancelled["params"]["requestId"], call["id"]);
        for _ in 0..3 {
            peer.say(said(&call));
        }
        for _ in 0..3 {
            assert_eq!(client.call("f", &asked).await.unwrap().text(), "done");
        }
        let mut ids: Vec<_> = peer.all("tools/call").iter().map(|call| call["id"].to_string()).collect();
        ids.dedup();
        assert_eq!((ids.len(), peer.all("notifications/cancelled").len()), (4, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_at_the_same_time_get_their_own_answers_while_the_server_asks_for_both() {
    // Each call is answered once its own question is, the second before the first.
    let mut calls: Vec<Value> = Vec::new();
    let (pipe, _peer) = session(NEWEST, move |asked| {
        if asked["method"] == "tools/call" {
            calls.push(asked.clone());
            let form = json!({"message": asked["params"]["arguments"]["n"].to_string(),
                              "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}}});
            let id = format!("q{}", calls.len());
            return Some(Some(vec![
                json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form}),
            ]));
        }
        let number: usize = asked["id"].as_str()?.strip_prefix('q')?.parse().ok()?;
        let said = asked["result"]["content"]["n"].as_str()?.to_owned();
        Some(Some(vec![result(&calls[number - 1], text(&said))]))
    });
    let client = builder()
        .era(Era::Legacy)
        .on_elicit(|form| async move {
            // Who was asked second answers first, as far as that is up to them.
            pass(if form.message == "1" { 5 } else { 1 }).await;
            ElicitReply::Accept(json!({"n": form.message}))
        })
        .pipe(pipe)
        .await
        .unwrap();
    let (one, two) = (json!({"n": 1}), json!({"n": 2}));
    let (first, second) = tokio::join!(client.call("f", &one), client.call("f", &two));
    assert_eq!((first.unwrap().text().as_str(), second.unwrap().text().as_str()), ("1", "2"));
}

/// A server whose end of the pipe is this small, which answers the handshake and then says these bytes to
/// a call; `$id` is the call's, and `None` goes on for ever.
async fn raw(size: usize, said: Option<&'static str>, limits: Limits) -> switchboard_client::Client {
    let (ours, theirs) = Pipe::in_memory(size);
    tokio::spawn(async move {
        let mut lines = BufReader::new(theirs.reader).lines();
        let mut writer = theirs.writer;
        while let Ok(Some(line)) = lines.next_line().await {
            dated::check_message(NEWEST, line.as_bytes(), "");
            let message: Value = serde_json::from_str(&line).unwrap();
            let bytes = match message["method"].as_str() {
                Some("initialize") => format!("{}\n", result(&message, described(NEWEST))),
                Some("tools/call") => match said {
                    Some(said) => said.replace("$id", &message["id"].to_string()),
                    None => {
                        let whole = format!("{}\n", result(&message, text(&"a".repeat(5_000))));
                        let piece = vec![b'x'; 4096];
                        let mut next = writer.write_all(whole.as_bytes()).await;
                        while next.is_ok() {
                            next = writer.write_all(&piece).await;
                        }
                        return;
                    }
                },
                _ => continue,
            };
            if writer.write_all(bytes.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    builder().era(Era::Legacy).limits(limits).pipe(ours).await.unwrap()
}

#[tokio::test]
async fn characters_come_whole_however_they_are_cut() {
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"读取 🎉\"}]}}\r\n";
    for size in [1, 2, 3, 5] {
        let client = raw(size, Some(answer), Limits::default()).await;
        assert_eq!(client.call("f", &()).await.unwrap().text(), "读取 🎉", "{size}");
    }
}

#[tokio::test]
async fn a_line_without_end_ends_the_session_after_what_came_before_it_and_says_the_limit() {
    let mut limits = Limits::default();
    limits.message_bytes = 10_000;
    let client = raw(1 << 12, None, limits).await;
    let (first, second) = (client.clone(), client.clone());
    let second = async move { second.call("g", &()).await };
    let (first, second) = tokio::join!(async move { first.call("f", &()).await }, second);
    // Whoever asked first has its answer; nobody else waits for ever.
    assert_eq!(first.unwrap().text().len(), 5_000);
    let error = second.unwrap_err();
    assert!(error.is_limit() && error.to_string().contains("limit of 10000 bytes"), "{error}");
    assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");
    assert!(client.call("f", &()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_could_take_an_answer_for_ends_with_the_rule_that_was_broken() {
    let table: [(Said, &str); 5] = [
        (
            |_| json!({"jsonrpc": "2.0", "id": 4711, "result": {}}),
            "answered the request 4711, which was never sent",
        ),
        (
            |call| json!({"jsonrpc": "2.0", "id": call["id"].to_string(), "result": {}}),
            "(ids are compared with their type)",
        ),
        (|_| json!({"jsonrpc": "2.0", "id": "x".repeat(500), "result": {}}), "answered the request \"xxx"),
        (|call| json!({"jsonrpc": "1.0", "id": "q", "method": "ping", "params": call}), "malformed message"),
        (
            |call| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call["id"]}}),
            "",
        ),
    ];
    for (said, rule) in table {
        let (pipe, _peer) =
            session(NEWEST, move |asked| (asked["method"] == "tools/call").then(|| Some(vec![said(asked)])));
        let client = builder().era(Era::Legacy).pipe(pipe).await.unwrap();
        let failed = client.call("f", &()).timeout(Duration::from_secs(5)).await.unwrap_err();
        assert!(failed.is_timeout() && failed.delivery() == Delivery::MaybeExecuted, "{failed}");
        let shown = failed.to_string();
        assert!(shown.contains(rule) && shown.len() < 1_000, "{rule:?} in {shown}");
        assert_eq!(shown.contains("breaks a rule, which may be why"), !rule.is_empty(), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_in_place_of_an_answer_ends_the_request_at_once_and_says_why() {
    for method in ["initialize", "tools/call"] {
        let (pipe, _peer) = session(NEWEST, move |asked| {
            let broken = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"x":NaN}}}}"#, asked["id"]);
            (asked["method"] == method).then(|| Some(vec![broken.into()]))
        });
        let started = tokio::time::Instant::now();
        let error = match builder().era(Era::Legacy).pipe(pipe).await {
            Ok(client) => client.call("f", &()).await.unwrap_err(),
            Err(error) => error,
        };
        assert!(error.is_server_fault() && started.elapsed() < Duration::from_secs(1), "{error}");
        assert!(error.to_string().contains("not valid JSON: expected value at line 1"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_leaves_is_left() {
    let (pipe, mut peer) = session(NEWEST, |_| None);
    let client = builder().era(Era::Legacy).pipe(pipe).await.unwrap();
    peer.wait("notifications/initialized", 1).await;
    // It goes on talking, and never ends its side.
    let started = tokio::time::Instant::now();
    for number in 0..100 {
        peer.say(json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"n": number}}));
    }
    client.close().await;
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert!(client.call("f", &()).await.unwrap_err().is_cancelled());
}
