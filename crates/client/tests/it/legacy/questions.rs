//! What a server asks in a session over a pipe, and how it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{ClientBuilder, ElicitReply, Era, Limits, Refused};
use tokio::time::Instant;

use super::peer::{DATES, NEWEST, pass, result, session};
use super::pipe::{connect, legacy, no_script, people};
use crate::support::builder;

fn form() -> Value {
    json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}})
}

fn sampling() -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 10})
}

/// What a server asks, and what comes back: a result, or the code of a refusal.
struct Asked {
    method: &'static str,
    params: Value,
    from: &'static [&'static str],
    answered: Result<Value, i64>,
}

#[tokio::test(start_paused = true)]
async fn questions_of_the_server_are_answered_as_its_revision_has_them() {
    let asked = |method, params, from, answered| Asked { method, params, from, answered };
    let address = json!({"mode": "url", "message": "Go", "url": "https://a.example/", "elicitationId": "e1"});
    let table = [
        asked("ping", json!({}), &DATES[..], Ok(json!({}))),
        asked("roots/list", json!({}), &DATES[..], Ok(json!({"roots": [{"uri": "file:///a"}]}))),
        asked(
            "sampling/createMessage",
            sampling(),
            &DATES[..],
            Ok(json!({"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"})),
        ),
        asked(
            "elicitation/create",
            form(),
            &DATES[..2],
            Ok(json!({"action": "accept", "content": {"name": "Ada"}})),
        ),
        asked("elicitation/create", form(), &DATES[2..], Err(-32601)),
        asked("elicitation/create", address.clone(), &DATES[..1], Ok(json!({"action": "accept"}))),
        asked("elicitation/create", address, &DATES[1..2], Err(-32602)),
        asked("elicitation/create", json!({"message": 1}), &DATES[..2], Err(-32602)),
        asked("x/unknown", json!({}), &DATES[..], Err(-32601)),
    ];
    for date in DATES {
        let (pipe, mut peer) = session(date, no_script);
        let pinned = Era::Pinned(switchboard_client::Revision::from_date(date).unwrap());
        let _client = connect(people(builder()).era(pinned), pipe).await;
        let mut answers = 0;
        for row in table.iter().filter(|row| row.from.contains(&date)) {
            answers += 1;
            peer.ask(json!(format!("q{answers}")), row.method, row.params.clone());
            let answer = peer.wait("response", answers).await.pop().unwrap();
            assert_eq!(answer["id"], format!("q{answers}"));
            match &row.answered {
                Ok(expected) => assert_eq!(&answer["result"], expected, "{date} {}: {answer}", row.method),
                Err(code) => assert_eq!(answer["error"]["code"], *code, "{date} {}: {answer}", row.method),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_declared_is_refused_and_asked_of_nobody() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let only_forms = legacy().on_elicit(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(ElicitReply::Decline)
    });
    let address = json!({"mode": "url", "message": "Go", "url": "https://a.example/", "elicitationId": "e1"});
    for (builder, method, params, code, why) in [
        (legacy(), "elicitation/create", form(), -32601, "elicitation (form)"),
        (legacy(), "sampling/createMessage", sampling(), -32601, "sampling"),
        (legacy(), "roots/list", json!({}), -32601, "roots"),
        (only_forms, "elicitation/create", address, -32602, "elicitation (url)"),
    ] {
        let (pipe, mut peer) = session(NEWEST, no_script);
        let _client = connect(builder, pipe).await;
        peer.ask(json!(1), method, params);
        let answer = peer.wait("response", 1).await.remove(0);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(why), "{answer}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_by_a_person_is_told_to_the_server_and_the_call_goes_on() {
    let (pipe, mut peer) = session(NEWEST, no_script);
    let builder = legacy()
        .on_sampling(|_| std::future::ready(Err(Refused("not today".into()))))
        .on_elicit(|_| std::future::ready(ElicitReply::Accept(json!({"name": 7}))));
    let client = connect(builder, pipe).await;
    peer.ask(json!(1), "sampling/createMessage", sampling());
    peer.ask(json!(2), "elicitation/create", form());
    let answers = peer.wait("response", 2).await;
    assert_eq!(answers[0]["error"]["code"], -1, "{}", answers[0]);
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("not today"));
    assert_eq!(answers[1]["error"]["code"], -32603, "{}", answers[1]);
    client.call("f", &()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_costs_its_question_only() {
    let (pipe, mut peer) = session(NEWEST, no_script);
    let builder = legacy()
        .on_sampling(|asked| async move { panic!("no model for {} messages", asked.messages.len()) })
        .on_elicit(|_| std::future::ready(ElicitReply::Decline));
    let _client = connect(builder, pipe).await;
    peer.ask(json!(1), "sampling/createMessage", sampling());
    peer.ask(json!(2), "elicitation/create", form());
    let answers = peer.wait("response", 2).await;
    assert_eq!(answers[0]["error"]["code"], -32603, "{}", answers[0]);
    assert!(!answers[0].to_string().contains("no model"), "{}", answers[0]);
    assert_eq!(answers[1]["result"]["action"], "decline", "{}", answers[1]);
}

/// A person who takes this long.
fn slow(builder: ClientBuilder, seconds: u64) -> ClientBuilder {
    builder.on_elicit(move |_| async move {
        pass(seconds).await;
        ElicitReply::Decline
    })
}

#[tokio::test(start_paused = true)]
async fn no_clock_runs_while_a_person_is_asked() {
    // The server asks during the call, and answers the call so many seconds after the person did.
    for (think, work, fails) in [(3600, 4, false), (3600, 6, true), (0, 6, true)] {
        let (pipe, mut peer) = session(NEWEST, move |asked| match asked["method"].as_str() {
            Some("tools/call") => Some(Some(vec![
                json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": form()}),
            ])),
            _ => None,
        });
        let client = connect(slow(legacy(), think), pipe).await;
        let calling = tokio::spawn({
            let client = client.clone();
            async move { client.call("f", &()).timeout(Duration::from_secs(5)).await }
        });
        peer.wait("response", 1).await;
        pass(work).await;
        let asked = peer.all("tools/call").remove(0);
        peer.say(result(&asked, json!({"content": []})));
        let outcome = calling.await.unwrap();
        assert_eq!(outcome.is_err(), fails, "{think} {work}: {outcome:?}");
        if let Err(failed) = outcome {
            assert!(failed.is_timeout(), "{failed}");
            peer.wait("notifications/cancelled", 1).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn questions_wait_in_order_within_bounds_and_pings_do_not_wait() {
    let mut limits = Limits::default();
    limits.questions = 3;
    let (pipe, mut peer) = session(NEWEST, no_script);
    let _client = connect(slow(legacy(), 10).limits(limits), pipe).await;
    let started = Instant::now();
    peer.ask(json!(0), "elicitation/create", form());
    // So that it is being asked.
    pass(1).await;
    for id in 1..6 {
        peer.ask(json!(id), "elicitation/create", form());
    }
    peer.ask(json!("p"), "ping", json!({}));
    // One is being asked, three wait, the others are refused at once, and the ping is answered.
    let answers = peer.wait("response", 3).await;
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    assert_eq!(
        answers.iter().map(|answer| answer["id"].clone()).collect::<Vec<_>>(),
        [json!(4), json!(5), json!("p")]
    );
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("At most 3"), "{}", answers[0]);
    let answers = peer.wait("response", 7).await;
    assert_eq!(started.elapsed(), Duration::from_secs(40));
    assert_eq!(answers[3..].iter().map(|answer| answer["id"].clone()).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_server_takes_back_gets_no_answer() {
    let (pipe, mut peer) = session(NEWEST, no_script);
    let _client = connect(slow(legacy(), 10), pipe).await;
    for id in 1..=3 {
        peer.ask(json!(id), "elicitation/create", form());
    }
    // The id of one that waits: an answer would be taken for the answer to the first.
    peer.ask(json!(3), "elicitation/create", form());
    pass(1).await;
    for id in [1, 2] {
        peer.say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    peer.wait("response", 1).await;
    pass(60).await;
    let ids: Vec<_> = peer.all("response").iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [3]);
}
