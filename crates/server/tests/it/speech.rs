//! What a handler says before its reply: progress, log messages, and nothing after the end.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use http::Extensions;
use serde_json::{Value, json};
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_server::{Call, Ctx, Dispatch, ExchangeEvent, Limits, Server, State, Tool};

use crate::calls::{exchange, request};

type Kept = Arc<Mutex<Option<Ctx>>>;

async fn works(ctx: Ctx) -> String {
    for done in [1.0, 1.0, 0.5, f64::NAN, 2.0] {
        ctx.progress(done, 2.0).await;
    }
    ctx.log(LoggingLevel::Debug, "fine print").await;
    ctx.log_as(Some("work"), LoggingLevel::Warning, &json!({ "left": 0 })).await;
    "done".into()
}

async fn races(ctx: Ctx) {
    for done in 1..=10_000 {
        ctx.progress_message(f64::from(done), None, "step").await;
    }
}

async fn chatters(ctx: Ctx) {
    for line in 0..100 {
        // Said without waiting, as by something that never gives the exchange a turn.
        let said = pin!(ctx.log(LoggingLevel::Info, line));
        assert!(said.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    ctx.log(LoggingLevel::Info, "x".repeat(200_000)).await;
}

async fn keeps(State(kept): State<Kept>, ctx: Ctx) {
    *kept.lock().unwrap() = Some(ctx);
}

async fn waits(State(kept): State<Kept>, ctx: Ctx) {
    *kept.lock().unwrap() = Some(ctx);
    std::future::pending::<()>().await;
}

fn server(kept: &Kept) -> Server {
    Server::builder("speech", "1")
        .tool(Tool::new("works", works))
        .tool(Tool::new("races", races))
        .tool(Tool::new("chatters", chatters))
        .tool(Tool::new("keeps", keeps))
        .tool(Tool::new("waits", waits))
        .limits(Limits { outbox_messages: 8, ..Limits::default() })
        .build(Arc::clone(kept))
        .unwrap()
}

async fn speak(name: &str, meta: Value) -> Vec<Value> {
    let message = request("tools/call", json!({ "name": name, "_meta": meta }));
    let mut messages = exchange(&server(&Kept::default()), &message, Extensions::new()).await;
    assert!(messages.pop().unwrap()["result"].is_object(), "the reply is the last message");
    messages
}

#[tokio::test]
async fn a_handler_says_what_the_request_asked_for() {
    let level = "io.modelcontextprotocol/logLevel";
    let progress = |done: f64| json!({ "progressToken": 5, "progress": done, "total": 2.0 });
    let warning = json!({ "level": "warning", "logger": "work", "data": { "left": 0 } });
    let debug = json!({ "level": "debug", "data": "fine print" });
    for (meta, expected) in [
        (json!({}), vec![]),
        (json!({ "progressToken": 5 }), vec![progress(1.0), progress(2.0)]),
        (json!({ level: "info" }), vec![warning.clone()]),
        (json!({ level: "error" }), vec![]),
        (json!({ "progressToken": 5, level: "debug" }), vec![progress(1.0), progress(2.0), debug, warning]),
    ] {
        let said: Vec<Value> =
            speak("works", meta.clone()).await.iter().map(|message| message["params"].clone()).collect();
        assert_eq!(said, expected, "{meta}");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_that_races_is_coalesced_and_its_end_is_told() {
    let said = speak("races", json!({ "progressToken": "t" })).await;
    let steps: Vec<f64> =
        said.iter().map(|message| message["params"]["progress"].as_f64().unwrap()).collect();
    assert!(steps.len() < 30, "{} notifications", steps.len());
    assert!(steps.is_sorted_by(|before, after| before < after), "{steps:?}");
    assert_eq!(steps.last(), Some(&10_000.0));
}

#[tokio::test]
async fn log_messages_are_bounded_in_number_and_size() {
    let said = speak("chatters", json!({ "io.modelcontextprotocol/logLevel": "debug" })).await;
    let texts: Vec<String> = said.iter().map(|message| message["params"]["data"].to_string()).collect();
    assert!(texts.len() < 15, "{texts:?}");
    assert_eq!(texts[0], "\"93 log messages were left out: they came too fast\"");
    assert!(texts.last().unwrap().contains("it is too long"), "{texts:?}");
}

#[tokio::test]
async fn a_context_that_outlives_its_exchange_says_nothing() {
    let kept = Kept::default();
    let message = request("tools/call", json!({ "name": "keeps", "_meta": { "progressToken": 1 } }));
    let messages = exchange(&server(&kept), &message, Extensions::new()).await;
    assert_eq!(messages.len(), 1);
    let ctx = kept.lock().unwrap().take().unwrap();
    assert!(ctx.is_cancelled());
    ctx.cancelled().await;
    ctx.progress(1.0, 1.0).await;
}

#[tokio::test]
async fn dropping_an_exchange_cancels_its_handler() {
    let kept = Kept::default();
    let message = request("tools/call", json!({ "name": "waits" })).to_string();
    let call = Call::decode(&message.into(), Extensions::new()).unwrap();
    let Dispatch::Running(mut running) = server(&kept).dispatch(call) else { panic!("not running") };
    assert!(running.poll_event(&mut Context::from_waker(Waker::noop())).is_pending());
    let ctx = kept.lock().unwrap().take().unwrap();
    assert!(!ctx.is_cancelled());
    drop(running);
    ctx.cancelled().await;
}

#[tokio::test]
async fn a_reply_is_the_last_event() {
    let message = request("tools/call", json!({ "name": "works" })).to_string();
    let call = Call::decode(&message.into(), Extensions::new()).unwrap();
    let Dispatch::Running(mut running) = server(&Kept::default()).dispatch(call) else {
        panic!("not running")
    };
    assert!(!running.may_notify());
    assert!(matches!(running.next_event().await, ExchangeEvent::Reply(_)));
    assert!(running.poll_event(&mut Context::from_waker(Waker::noop())).is_pending());
}
