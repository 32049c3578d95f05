//! A session over a pipe: what is sent in each revision, what comes back, and how a server may misbehave.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{
    Change, Client, ClientBuilder, CompletionContext, CompletionReference, CreateMessageResult, ElicitReply,
    Era, LoggingLevel, OneOrMany, Pipe, Role, Root, SamplingContent, SubscriptionFilter,
};
use tokio::time::Instant;

use super::peer::{DATES, NEWEST, Peer, described, error, pass, result, session};
use crate::support::builder;

pub(super) fn legacy() -> ClientBuilder {
    builder().era(Era::Legacy)
}

pub(super) async fn connect(builder: ClientBuilder, pipe: Pipe) -> Client {
    builder.pipe(pipe).await.unwrap()
}

pub(super) fn no_script(_: &Value) -> Option<super::peer::Said> {
    None
}

/// Somebody who answers everything.
pub(super) fn people(builder: ClientBuilder) -> ClientBuilder {
    builder
        .on_elicit(|_| std::future::ready(ElicitReply::Accept(json!({"name": "Ada"}))))
        .on_elicit_url(|_| std::future::ready(ElicitReply::Accept(Value::Null)))
        .on_sampling(|_| {
            std::future::ready(Ok(CreateMessageResult {
                role: Role::Assistant,
                content: OneOrMany::One(SamplingContent::text("hello")),
                model: "m".into(),
                stop_reason: None,
                meta: None,
            }))
        })
        .on_roots(|| std::future::ready(vec![Root { uri: "file:///a".into(), ..Root::default() }]))
}

#[tokio::test(start_paused = true)]
async fn a_handshake_says_what_its_revision_has() {
    for date in DATES {
        let (pipe, mut peer) = session(date, no_script);
        let builder =
            people(builder()).era(Era::Pinned(switchboard_client::Revision::from_date(date).unwrap()));
        let client = connect(builder.log_level(LoggingLevel::Warning), pipe).await;
        peer.wait("logging/setLevel", 1).await;
        assert_eq!(peer.methods(), ["initialize", "notifications/initialized", "logging/setLevel"]);
        assert_eq!(peer.all("logging/setLevel")[0]["params"], json!({"level": "warning"}));
        let params = peer.all("initialize")[0]["params"].clone();
        let elicitation = match date {
            NEWEST => json!({"form": {}, "url": {}}),
            "2025-06-18" => json!({}),
            _ => Value::Null,
        };
        assert_eq!(params["capabilities"]["elicitation"], elicitation, "{date}");
        assert_eq!(params["capabilities"]["roots"], json!({"listChanged": true}));
        assert_eq!(params["capabilities"]["sampling"], json!({}));
        assert_eq!(client.server_info().unwrap().name, "scripted");
        assert_eq!(client.instructions().as_deref(), Some("Be kind."));
        assert!(client.capabilities().unwrap().tools.is_some());
        assert_eq!(client.discover().await.unwrap().supported_versions, [date]);
        client.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_those_of_the_session() {
    for date in DATES {
        let (pipe, peer) = session(date, |asked| {
            Some(Some(vec![match asked["method"].as_str()? {
                "initialize" => {
                    let mut described = described(asked["params"]["protocolVersion"].as_str()?);
                    described["capabilities"]["completions"] = json!({});
                    result(asked, described)
                }
                "tools/call" => {
                    let token = &asked["params"]["_meta"]["progressToken"];
                    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": 0.5}});
                    return Some(Some(vec![
                        progress,
                        result(
                            asked,
                            json!({"content": [{"type": "text", "text": "done"}], "resultType": "odd"}),
                        ),
                    ]));
                }
                "completion/complete" => result(asked, json!({"completion": {"values": ["a"]}})),
                _ => return None,
            }]))
        });
        let pinned = Era::Pinned(switchboard_client::Revision::from_date(date).unwrap());
        let client = connect(builder().era(pinned), pipe).await;
        let heard = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&heard);
        let call = client.call("f", &json!({"a": 1})).meta("com.example/trace", "t").on_progress(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(call.await.unwrap().text(), "done");
        assert_eq!(heard.load(Ordering::Relaxed), 1, "{date}");
        let call = &peer.all("tools/call")[0];
        let expected = json!({"name": "f", "arguments": {"a": 1},
            "_meta": {"progressToken": call["id"], "com.example/trace": "t"}});
        assert_eq!(call["params"], expected, "{date}");
        client.tools().await.unwrap();
        assert_eq!(peer.all("tools/list")[0]["params"], json!({}));

        let of = CompletionReference::Prompt { name: "p".into(), title: None };
        let mut context = CompletionContext::default();
        context.arguments.get_or_insert_default().insert("b".into(), "2".into());
        client.complete(&of, "a", "", Some(&context)).await.unwrap();
        let sent = peer.all("completion/complete")[0]["params"].get("context").is_some();
        assert_eq!(sent, matches!(date, NEWEST | "2025-06-18"), "{date}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_server_did_not_declare_is_not_asked_for() {
    let (pipe, peer) = session(NEWEST, |asked| {
        (asked["method"] == "initialize").then(|| {
            let mut described = described(NEWEST);
            described["capabilities"] = json!({"tools": {}});
            Some(vec![result(asked, described)])
        })
    });
    let client = connect(legacy().log_level(LoggingLevel::Info), pipe).await;
    for failed in [
        client.prompts().await.unwrap_err(),
        client.resources().await.unwrap_err(),
        client.read("x://1").await.unwrap_err(),
    ] {
        assert_eq!(failed.code().unwrap().0, -32601, "{failed}");
        assert!(failed.to_string().contains("declared no"), "{failed}");
    }
    let mut changes = client.listen(SubscriptionFilter::new().tools().resource("x://1")).await.unwrap();
    assert_eq!(changes.granted().tools_list_changed, None);
    assert!(matches!(changes.next().await, Some(Change::Narrowed(_))));
    client.call("f", &()).await.unwrap();
    assert_eq!(peer.methods(), ["initialize", "notifications/initialized", "tools/call"]);
    let _ = client.request_raw("prompts/list", None).await;
    assert_eq!(peer.methods().last().unwrap(), "prompts/list", "what is raw is sent as it is");
}

#[tokio::test(start_paused = true)]
async fn before_the_handshake_is_answered_only_a_ping_is() {
    // The server answers the handshake once it knows that somebody is there.
    let mut handshake = None;
    let (pipe, mut peer) = session(NEWEST, move |asked| match asked["method"].as_str() {
        Some("initialize") => {
            handshake = Some(asked.clone());
            Some(Some(vec![
                json!({"jsonrpc": "2.0", "id": 2, "method": "roots/list"}),
                json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
            ]))
        }
        None if asked["id"] == 1 => Some(Some(vec![result(handshake.as_ref().unwrap(), described(NEWEST))])),
        _ => None,
    });
    let _client = connect(people(legacy()), pipe).await;
    let answers = peer.wait("response", 2).await;
    assert_eq!(answers[0]["error"]["code"], -32600, "{}", answers[0]);
    assert_eq!(answers[1]["result"], json!({}));
    peer.wait("notifications/initialized", 1).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_right_behind_its_answer_to_the_handshake_is_said_in_the_session() {
    for date in DATES {
        let (pipe, mut peer) = session(date, move |asked| {
            let question = json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"});
            let batch = json!([{"jsonrpc": "2.0", "id": 2, "method": "roots/list"}]);
            (asked["method"] == "initialize")
                .then(|| Some(vec![result(asked, described(date)), question, batch]))
        });
        let _client = connect(people(legacy()), pipe).await;
        let expected = if date == "2025-03-26" { 2 } else { 1 };
        for answer in peer.wait("response", expected).await {
            assert_eq!(answer["result"]["roots"][0]["uri"], "file:///a", "{date} {answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_log_level_costs_a_moment() {
    let (pipe, _peer) =
        session(NEWEST, |asked| (asked["method"] == "logging/setLevel").then(|| Some(vec![])));
    let started = Instant::now();
    let client = connect(legacy().log_level(LoggingLevel::Info), pipe).await;
    assert_eq!(started.elapsed(), Duration::from_secs(2));
    client.call("f", &()).await.unwrap();
}

fn changed(list: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed")})
}

fn updated(uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
}

#[tokio::test(start_paused = true)]
async fn changes_are_a_local_stream_with_subscriptions_underneath() {
    let (pipe, mut peer) = session(NEWEST, |asked| {
        (asked["method"] == "resources/subscribe" && asked["params"]["uri"] == "x://no")
            .then(|| Some(vec![error(asked, -32002, "none")]))
    });
    let client = connect(legacy(), pipe).await;
    let filter = SubscriptionFilter::new().tools().prompts().resource("x://1").resource("x://no");
    let mut changes = client.listen(filter).await.unwrap();
    let granted = changes.granted();
    assert_eq!((granted.tools_list_changed, granted.prompts_list_changed), (Some(true), None));
    assert_eq!(granted.resource_subscriptions, Some(vec!["x://1".to_owned()]));
    assert_eq!(changes.next().await, Some(Change::Narrowed(granted)));
    // A second listener of the same resource costs no second request.
    let mut second = client.listen(SubscriptionFilter::new().resource("x://1")).await.unwrap();
    assert_eq!(peer.all("resources/subscribe").len(), 2);

    // A flood is one change.
    for _ in 0..1000 {
        peer.say(changed("tools"));
        peer.say(changed("resources"));
        peer.say(updated("x://1/part"));
        peer.say(updated("y://2"));
    }
    peer.ask(json!(1), "ping", json!({}));
    peer.wait("response", 1).await;
    let heard = [changes.next().await, changes.next().await];
    assert_eq!(heard, [Some(Change::Tools), Some(Change::Updated("x://1/part".into()))]);
    assert_eq!(second.next().await, Some(Change::Updated("x://1/part".into())));
    drop(second);
    drop(changes);
    let left = peer.wait("resources/unsubscribe", 1).await;
    assert_eq!(left[0]["params"], json!({"uri": "x://1"}));
    pass(1).await;
    assert_eq!(peer.all("resources/unsubscribe").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_comes_to_listen_while_another_leaves_is_not_forgotten() {
    let (pipe, mut peer) = session(NEWEST, no_script);
    let client = connect(legacy(), pipe).await;
    let filter = || SubscriptionFilter::new().resource("x://1");
    let first = client.listen(filter()).await.unwrap();
    drop(first);
    let mut second = client.listen(filter()).await.unwrap();
    pass(1).await;
    let last = peer.methods().into_iter().rfind(|method| method.starts_with("resources/"));
    assert_eq!(last.as_deref(), Some("resources/subscribe"));
    peer.say(updated("x://1"));
    assert_eq!(second.next().await, Some(Change::Updated("x://1".into())));
    drop(second);
    peer.wait("resources/unsubscribe", 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_nobody_waited_for_is_asked_for_again_and_ended() {
    // The server is slow to answer the first time.
    let mut asked_before = false;
    let (pipe, mut peer) = session(NEWEST, move |asked| {
        (asked["method"] == "resources/subscribe" && !std::mem::replace(&mut asked_before, true))
            .then(|| Some(vec![]))
    });
    let client = connect(legacy(), pipe).await;
    let filter = || SubscriptionFilter::new().resource("x://1");
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.listen(filter()).await }
    });
    peer.wait("resources/subscribe", 1).await;
    let other = tokio::spawn({
        let client = client.clone();
        async move { client.listen(filter()).await }
    });
    pass(1).await;
    assert!(!other.is_finished(), "what the server has not agreed to is not granted");
    waiting.abort();
    let other = other.await.unwrap().unwrap();
    assert_eq!(other.granted().resource_subscriptions, Some(vec!["x://1".to_owned()]));
    assert_eq!(peer.all("resources/subscribe").len(), 2);
    drop(other);
    peer.wait("resources/unsubscribe", 1).await;
    pass(1).await;
    assert_eq!(peer.all("resources/unsubscribe").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_goodbye_that_is_not_answered_keeps_no_session_that_nobody_uses() {
    let (pipe, mut peer) =
        session(NEWEST, |asked| (asked["method"] == "resources/unsubscribe").then(|| Some(vec![])));
    let client = connect(legacy(), pipe).await;
    drop(client.listen(SubscriptionFilter::new().resource("x://1")).await.unwrap());
    peer.wait("resources/unsubscribe", 1).await;
    let started = Instant::now();
    drop(client);
    peer.left().await;
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_changes_ends_with_its_pipe() {
    let (pipe, _peer) = session(NEWEST, |asked| (asked["method"] == "tools/call").then_some(None));
    let client = connect(legacy(), pipe).await;
    let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
    client.call("f", &()).await.unwrap_err();
    assert_eq!(changes.next().await, None);
    assert!(changes.failure().unwrap().is_unreachable(), "{:?}", changes.failure());
}

fn required(ids: &[&str]) -> Value {
    let urls: Vec<_> = ids
        .iter()
        .map(|id| json!({"mode": "url", "elicitationId": id, "url": "https://a.example/", "message": "Go"}))
        .collect();
    json!({"code": -32042, "message": "more is needed", "data": {"elicitations": urls}})
}

/// A server that serves `tools/call` after the person was at these addresses, one after the other.
fn behind_addresses(addresses: &'static [&'static [&'static str]]) -> (Pipe, Peer) {
    let mut left = addresses.iter();
    session(NEWEST, move |asked| {
        (asked["method"] == "tools/call").then(|| {
            Some(vec![match left.next() {
                Some(ids) => json!({"jsonrpc": "2.0", "id": asked["id"], "error": required(ids)}),
                None => result(asked, json!({"content": [{"type": "text", "text": "done"}]})),
            }])
        })
    })
}

#[tokio::test(start_paused = true)]
async fn addresses_that_a_request_needs_are_visited_and_the_request_is_repeated() {
    let visited = Arc::new(Mutex::new(0));
    let on_url = |reply: ElicitReply| {
        let visited = Arc::clone(&visited);
        move |_| {
            *visited.lock().unwrap() += 1;
            std::future::ready(reply.clone())
        }
    };
    // The same address is not asked for twice, however often the server names it.
    let (pipe, mut peer) = behind_addresses(&[&["a"], &["a"], &["a", "b"]]);
    let client = connect(legacy().on_elicit_url(on_url(ElicitReply::Accept(Value::Null))), pipe).await;
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.call("f", &()).await }
    });
    let started = Instant::now();
    peer.wait("tools/call", 2).await;
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    // The server says that the person is done there, so nobody waits any longer.
    peer.say(json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": "a"}}));
    peer.wait("tools/call", 3).await;
    assert_eq!(calling.await.unwrap().unwrap().text(), "done");
    assert_eq!(*visited.lock().unwrap(), 2);
    let calls = peer.all("tools/call");
    assert!(
        calls
            .iter()
            .all(|call| call["params"] == json!({"name": "f"}) || call["params"]["arguments"].is_object())
    );
    assert!(calls.iter().all(|call| call["params"].get("inputResponses").is_none()));

    let (pipe, peer) = behind_addresses(&[&["a"]]);
    let client = connect(legacy().on_elicit_url(on_url(ElicitReply::Decline)), pipe).await;
    let failed = client.call("f", &()).await.unwrap_err();
    assert!(failed.is_cancelled() && peer.all("tools/call").len() == 1, "{failed}");

    // Who did not say that it can visit addresses gets the error as it is.
    let (pipe, _peer) = behind_addresses(&[&["a"]]);
    let failed = connect(legacy(), pipe).await.call("f", &()).await.unwrap_err();
    assert_eq!(failed.code().unwrap().0, -32042);

    // A server that is never satisfied.
    let (pipe, _peer) = session(NEWEST, |asked| {
        (asked["method"] == "tools/call")
            .then(|| Some(vec![json!({"jsonrpc": "2.0", "id": asked["id"], "error": required(&["a"])})]))
    });
    let client = connect(legacy().on_elicit_url(on_url(ElicitReply::Accept(Value::Null))), pipe).await;
    let failed = client.call("f", &()).await.unwrap_err();
    assert!(failed.is_limit() && failed.to_string().contains("10 rounds"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn changed_roots_are_told_in_a_session_only() {
    let (pipe, mut peer) = session(NEWEST, no_script);
    let client = connect(people(legacy()), pipe).await;
    client.roots_changed().await.unwrap();
    peer.wait("notifications/roots/list_changed", 1).await;
    let (pipe, _peer) = session(NEWEST, no_script);
    let failed = connect(legacy(), pipe).await.roots_changed().await.unwrap_err();
    assert!(failed.to_string().contains("on_roots"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn log_messages_of_a_session_are_heard_whatever_they_belong_to() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let (pipe, mut peer) = session(NEWEST, no_script);
    let client =
        connect(legacy().on_log(move |said| log.lock().unwrap().push(said.data.to_string())), pipe).await;
    client.call("f", &()).await.unwrap();
    peer.say(
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}),
    );
    peer.ask(json!(1), "ping", json!({}));
    peer.wait("response", 1).await;
    assert_eq!(*heard.lock().unwrap(), ["1"]);
    assert_eq!(peer.all("logging/setLevel")[0]["params"]["level"], "info");
}

#[tokio::test(start_paused = true)]
async fn batches_are_read_where_the_revision_has_them() {
    for (date, read) in [("2025-03-26", true), ("2025-06-18", false), ("2024-11-05", false)] {
        let (pipe, mut peer) = session(date, |asked| {
            (asked["method"] == "tools/call").then(|| {
                Some(vec![json!([
                    {"jsonrpc": "2.0", "id": "q", "method": "ping"},
                    result(asked, json!({"content": [{"type": "text", "text": "done"}]})),
                ])])
            })
        });
        let client = connect(legacy(), pipe).await;
        let outcome = client.call("f", &()).timeout(Duration::from_secs(5)).await;
        assert_eq!(outcome.is_ok(), read, "{date}: {outcome:?}");
        if read {
            peer.wait("response", 1).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_breaks_rules_costs_nothing_and_hides_nothing() {
    let (pipe, mut peer) = session(NEWEST, |asked| {
        (asked["method"] == "tools/call").then(|| {
            let done = result(asked, json!({"content": [{"type": "text", "text": "done"}]}));
            let foreign = json!({"jsonrpc": "2.0", "id": 4711, "result": {}});
            let text = json!({"jsonrpc": "2.0", "id": asked["id"].to_string(), "result": {}});
            // Answers to nothing, the handshake once more with another revision, and the answer twice.
            let again = json!({"jsonrpc": "2.0", "id": 1, "result": described("2024-11-05")});
            Some(vec![foreign, text, again, done.clone(), done])
        })
    });
    let client = connect(people(legacy()), pipe).await;
    for _ in 0..100 {
        assert_eq!(client.call("f", &()).await.unwrap().text(), "done");
    }
    assert_eq!(client.revision().date(), NEWEST);
    // A flood of requests at once: each is answered, and the session still works.
    for id in 0..5000 {
        peer.ask(json!(format!("p{id}")), "ping", json!({}));
    }
    peer.wait("response", 5000).await;
    assert_eq!(client.call("f", &()).await.unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_is_cancelled_by_a_notification() {
    let (pipe, mut peer) = session(NEWEST, |asked| (asked["method"] == "tools/call").then(|| Some(vec![])));
    let client = connect(legacy(), pipe).await;
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.call("f", &()).await }
    });
    let call = peer.wait("tools/call", 1).await.remove(0);
    calling.abort();
    let cancelled = peer.wait("notifications/cancelled", 1).await.remove(0);
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
    client.close().await;
    assert!(client.call("f", &()).await.unwrap_err().is_cancelled());
}
