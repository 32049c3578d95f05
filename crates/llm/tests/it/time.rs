//! Limits of time and size. No test waits: the clock moves when the test says so.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use switchboard_llm::scripted::{Ending, ScriptedModel, Turn};
use switchboard_llm::{ChatModel, Finish, ModelAnswer, ModelConfig, ModelEvent, OpenAiModel, Warning};

use crate::support::{TestTimer, config, nobody, question, serve};

fn word() -> Value {
    json!({ "choices": [{ "delta": { "content": "x" } }] })
}

fn hanging(pieces: Vec<Value>) -> Turn {
    Turn { then: Ending::Hang, ..Turn::stream(pieces) }
}

fn timed(config: ModelConfig, released: &[Duration]) -> (OpenAiModel, TestTimer) {
    let timer = TestTimer::new(released);
    (OpenAiModel::with_timer(config, Arc::new(timer.clone())).unwrap(), timer)
}

async fn silent_after_one_word(server: &ScriptedModel, span: impl Fn(&ModelConfig) -> Duration) -> String {
    let config = config(server);
    let span = span(&config);
    let (model, timer) = timed(config, &[]);
    let mut events = model.chat(question());
    assert_eq!(events.next().await.unwrap().unwrap(), ModelEvent::TextDelta("x".to_owned()));
    timer.release(span);
    let error = events.next().await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(events.next().await.is_none(), "an error is the end");
    error.to_string()
}

#[tokio::test]
async fn an_endpoint_that_falls_silent_is_given_up() {
    let server = serve(vec![hanging(vec![word()]), hanging(vec![word()])]).await;
    let error = silent_after_one_word(&server, |config| config.timeouts.idle).await;
    assert!(error.contains("said nothing for 180.0 s"), "{error}");
    let error = silent_after_one_word(&server, |config| config.timeouts.total).await;
    assert!(error.contains("did not finish its answer for 900.0 s"), "{error}");
}

#[tokio::test]
async fn a_complete_answer_does_not_wait_for_its_closing_mark() {
    let stop = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
    let server = serve(vec![hanging(vec![word(), stop])]).await;
    let (model, timer) = timed(config(&server), &[Duration::from_secs(2)]);
    let answer = ModelAnswer::collect(model.chat(question())).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("x", Finish::Stop));
    assert_eq!(answer.warnings, [Warning::Unterminated]);
    assert_eq!(timer.count(Duration::from_secs(2)), 1);
}

#[tokio::test]
async fn the_total_time_covers_the_retries() {
    let busy = Turn::fail(503, json!("busy"));
    let server = serve(vec![busy]).await;
    let config = config(&server);
    let (total, delay) = (config.timeouts.total, config.retry.delay);
    let (model, timer) = timed(config, &[]);
    let asking = tokio::spawn(ModelAnswer::collect(model.chat(question())));
    while timer.count(delay) == 0 {
        tokio::task::yield_now().await;
    }
    timer.release(total);
    assert!(asking.await.unwrap().unwrap_err().is_timeout());
    assert_eq!(timer.count(total), 1, "one clock for all attempts");
}

#[tokio::test]
async fn an_answer_without_end_stops_at_the_limit() {
    let many = |piece: &str, times: usize| Turn {
        stream: Some(vec![json!(piece); times]),
        cut_every: Some(1000),
        ..Turn::default()
    };
    let line = format!("data: {}\n\n", word());
    for (turn, limit) in [
        (many(&line, 1_000), "max_answer_bytes (20000 bytes)"),
        (many(": ping\n", 10_000), "max_answer_bytes (20000 bytes)"),
        (many("data: xxxxxxxxxxxx\n", 1_000), "max_event_bytes (5000 bytes)"),
        (
            Turn { body: Some(json!({ "x": "y".repeat(100_000) })), ..Turn::default() },
            "max_answer_bytes (20000 bytes)",
        ),
    ] {
        let server = serve(vec![turn]).await;
        let mut config = config(&server);
        config.limits.max_answer_bytes = 20_000;
        config.limits.max_event_bytes = 5_000;
        let error =
            ModelAnswer::collect(OpenAiModel::new(config).unwrap().chat(question())).await.unwrap_err();
        assert!(error.is_too_large() && error.to_string().contains(limit), "{error}");
    }
}

#[tokio::test]
async fn an_answer_with_too_many_calls_is_refused() {
    let calls: Vec<Value> =
        (0..200).map(|n| json!({ "index": n, "function": { "name": "f", "arguments": "{}" } })).collect();
    let chunk = json!({ "choices": [{ "delta": { "tool_calls": calls } }] });
    let server = serve(vec![Turn::stream(vec![chunk])]).await;
    let model = OpenAiModel::new(config(&server)).unwrap();
    let error = ModelAnswer::collect(model.chat(question())).await.unwrap_err();
    assert!(error.is_too_large() && error.to_string().contains("128 calls"), "{error}");
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_named_without_its_path() {
    let bound = nobody();
    let address = bound.local_addr().unwrap();
    let config = ModelConfig::openai(&format!("http://{address}/v1?key=hidden"), "m").unwrap();
    let error = ModelAnswer::collect(OpenAiModel::new(config).unwrap().chat(question())).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    let text = format!("{error} {error:?}");
    assert!(text.contains(&address.to_string()) && !text.contains("hidden"), "{text}");
}
