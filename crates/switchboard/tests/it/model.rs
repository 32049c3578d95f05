//! `--base-url`: a language model picks the tools, played by a scripted OpenAI-compatible endpoint.

use serde_json::{Value, json};
use switchboard_llm::scripted::{Script, ScriptedModel};

use crate::program::{Ran, command, finish};

/// Plays a script and runs a question against it and the demo.
async fn play(script: Value, args: &[&str]) -> (Ran, ScriptedModel) {
    let model = ScriptedModel::start(serde_json::from_value::<Script>(script).unwrap()).await.unwrap();
    let base_url = model.base_url();
    let mut all = vec!["--json", "run", "--demo", "--yes", "--base-url", &base_url, "--model", "scripted"];
    all.extend(args);
    let child = command(all).spawn().unwrap();
    let ran = tokio::task::spawn_blocking(|| finish(child)).await.unwrap();
    (ran, model)
}

/// An event of a streamed answer.
fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta }] })
}

#[tokio::test]
async fn a_model_calls_a_tool_with_arguments_in_pieces_and_answers() {
    let piece =
        |text: &str| delta(json!({ "tool_calls": [{ "index": 0, "function": { "arguments": text } }] }));
    let first = json!([
        delta(json!({ "tool_calls": [{
            "index": 0, "id": "call_1", "type": "function",
            "function": { "name": "calculator__calculator_arithmetic", "arguments": "" },
        }] })),
        piece("{\"expr"),
        piece("ession\": \"6 "),
        piece("* 7\"}"),
        { "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] },
        "data: [DONE]\n\n",
    ]);
    let script = json!({ "turns": [
        { "expect": { "last_role": "user" }, "stream": first },
        { "expect": { "last_role": "tool", "last_contains": "42" }, "say": "It is 42." },
    ] });
    let (ran, model) = play(script, &["What is 6 times 7?"]).await;
    let ran = ran.expect(0).says(&["scripted", "base URL"]);
    let result = ran.json();
    assert_eq!(result["answer"], "It is 42.");
    assert_eq!(result["calls"][0]["arguments"], json!({ "expression": "6 * 7" }));
    assert_eq!(result["steps"], 2);
    model.verify().unwrap();
}

#[tokio::test]
async fn a_tool_that_fails_does_not_end_the_run() {
    let script = json!({ "turns": [
        { "call": [{ "name": "calculator__calculator_arithmetic", "arguments": { "expression": "1/0" } }] },
        { "expect": { "last_role": "tool", "last_contains": "finite" }, "say": "That has no value." },
    ] });
    let (ran, model) = play(script, &["What is 1/0?"]).await;
    let result = ran.expect(0).json();
    assert_eq!(result["answer"], "That has no value.");
    assert_eq!(result["calls"][0]["status"], "tool_error");
    model.verify().unwrap();
}

#[tokio::test]
async fn a_limit_is_6() {
    let script = json!({ "repeat": true, "turns": [
        { "call": [{ "name": "calculator__calculator_arithmetic", "arguments": { "expression": "1" } }] },
    ] });
    let (ran, _model) = play(script, &["--max-steps", "2", "Count."]).await;
    let error = ran.expect(6).error();
    assert!(error["code"] == 6 && error["hint"].as_str().unwrap().contains("--max-steps"), "{error}");
}

#[tokio::test]
async fn a_model_that_fails_is_7() {
    let body = json!({ "error": { "message": "the key is wrong", "type": "invalid_request_error" } });
    let script = json!({ "turns": [{ "status": 401, "body": body }] });
    let (ran, _model) = play(script, &["How warm is it?"]).await;
    let error = ran.expect(7).error();
    assert_eq!(error["code"], 7);
    assert!(error["message"].as_str().unwrap().contains("the key is wrong"), "{error}");
}

#[tokio::test]
async fn a_denied_call_is_told_to_the_model() {
    let script = json!({ "turns": [
        { "call": [{ "name": "station__get_climate", "arguments": {} }] },
        { "expect": { "last_role": "tool", "last_contains": "not made" }, "say": "I may not look." },
    ] });
    let (ran, model) = play(script, &["--deny", "station/get_climate", "How warm is it?"]).await;
    assert_eq!(ran.expect(0).json()["answer"], "I may not look.");
    model.verify().unwrap();
}
