//! `--base-url`: a language model picks the tools, played by a scripted OpenAI-compatible endpoint.

use serde_json::{Value, json};
use switchboard_llm::scripted::{Script, ScriptedModel};

use crate::program::{Ran, command, finish, home};

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

/// Plays a script as a model of the configuration, which speaks Anthropic's wire.
async fn play_configured(script: Value, entry: &str, args: &[&str]) -> (Ran, ScriptedModel) {
    let model = ScriptedModel::start(serde_json::from_value::<Script>(script).unwrap()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    let text = entry.replace("BASE", &format!("http://{}", model.address()));
    std::fs::write(&file, text).unwrap();
    let mut all = vec!["--json", "--config", file.to_str().unwrap(), "run", "--demo", "--yes"];
    all.extend(args);
    let child = command(all).env("ANTHROPIC_API_KEY", "for-anthropic-only").spawn().unwrap();
    let ran = tokio::task::spawn_blocking(|| finish(child)).await.unwrap();
    (ran, model)
}

const LOCAL: &str =
    "[models.local]\nkind = \"anthropic\"\nbase_url = \"BASE\"\nmodel = \"scripted\"\nkey = \"k-local\"\n";

#[tokio::test]
async fn a_configured_model_speaks_its_own_wire() {
    for args in [&["What is 6 times 7?"][..], &["--model", "local", "What is 6 times 7?"]] {
        let script = json!({ "turns": [
            {
                "expect": { "last_role": "user", "path": "/v1/messages", "offers": ["calculator__calculator_arithmetic"] },
                "think": "Six sevens.",
                "call": [{ "name": "calculator__calculator_arithmetic", "arguments": { "expression": "6 * 7" } }],
            },
            { "expect": { "last_role": "tool", "last_contains": "42", "contains": ["signed-1"] }, "say": "It is 42." },
        ] });
        let (ran, model) = play_configured(script, LOCAL, args).await;
        let ran = ran.expect(0).says(&["configured as local"]);
        assert_eq!(ran.json()["answer"], "It is 42.");
        assert_eq!(model.requests()[0].headers["x-api-key"], "k-local");
        model.verify().unwrap();
    }
}

#[tokio::test]
async fn a_configured_endpoint_gets_no_key_that_is_not_its_own() {
    let entry = LOCAL.replace("key = \"k-local\"\n", "");
    let (ran, model) = play_configured(json!({ "turns": [{ "say": "Hello." }] }), &entry, &["Hi!"]).await;
    assert_eq!(ran.expect(0).json()["answer"], "Hello.");
    assert!(!model.requests()[0].headers.contains_key("x-api-key"));
}

#[tokio::test]
async fn a_configured_model_that_cannot_be_used_stands_in_nobodys_way_unless_it_is_meant() {
    let broken = "[models.broken]\nkind = \"openai\"\nbase_url = \"ftp://nowhere\"\nmodel = \"m\"\n";
    let script = || json!({ "turns": [{ "say": "Hello." }] });
    for broken in [broken, "[models.broken]\nkind = \"openai\"\nkey = \"${secret:gone}\"\n"] {
        let entry = format!("{broken}{LOCAL}");
        let (ran, _model) = play_configured(script(), &entry, &["--model", "local", "Hi!"]).await;
        assert_eq!(ran.expect(0).json()["answer"], "Hello.");
        let (ran, _model) = play_configured(script(), &entry, &["--model", "broken", "Hi!"]).await;
        let error = ran.expect(1).error();
        assert!(error["message"].as_str().unwrap().contains("broken"), "{error}");
    }
}

/// What is configured: an entry, variables and options; then what the doctor says in JSON, and for people.
type Answers<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str], Value, &'a [&'a str]);

#[test]
fn the_doctor_names_the_model_that_would_answer_and_what_decided() {
    const KEY: &str = "sk-c4nary-c4nary";
    let openai = |link: Value| json!({ "link": link, "provider": "openai" });
    let cases: [Answers<'_>; 8] = [
        (
            "",
            &[],
            &[],
            json!({ "link": { "kind": "router" } }),
            &[
                "warning  model: the router",
                "OPENAI_API_KEY",
                "[models.NAME]",
                "SWITCHBOARD_NO_LOCAL_MODELS",
                "--base-url",
            ],
        ),
        (
            "",
            &[("OPENAI_API_KEY", KEY), ("OPENAI_MODEL", "m1")],
            &[],
            openai(json!({ "kind": "environment", "variable": "OPENAI_API_KEY" })),
            &["ok       model: model m1", "api.openai.com", "OPENAI_API_KEY", "provider openai"],
        ),
        (
            "",
            &[("ANTHROPIC_API_KEY", KEY)],
            &[],
            json!({ "link": { "kind": "environment", "variable": "ANTHROPIC_API_KEY" }, "provider": "anthropic" }),
            &["claude", "provider anthropic"],
        ),
        (
            LOCAL,
            &[("OPENAI_API_KEY", KEY)],
            &[],
            json!({ "link": { "kind": "configuration", "name": "local" }, "provider": "anthropic", "model": "scripted" }),
            &["configured as local in ", "config.toml:1", "scripted"],
        ),
        (
            LOCAL,
            &[("OPENAI_MODEL", "m2")],
            &["--base-url", "http://127.0.0.1:9/v1"],
            json!({ "link": { "kind": "flags" }, "provider": "openai", "model": "m2", "endpoint": "127.0.0.1:9" }),
            &["model m2", "the base URL that was given"],
        ),
        (
            "[models.k]\nkind = \"openai\"\nbase_url = \"BASE/${K}\"\nmodel = \"m3\"\nkey = \"${K}\"\n",
            &[("K", KEY)],
            &[],
            json!({ "link": { "kind": "configuration", "name": "k" }, "model": "m3", "endpoint": "127.0.0.1:9" }),
            &["/***"],
        ),
        (
            "[models.broken]\nkind = \"openai\"\nbase_url = \"ftp://nowhere\"\nmodel = \"m\"\n",
            &[],
            &[],
            json!({ "link": { "kind": "router" } }),
            &[
                "warning  model: the model broken of the configuration cannot be used",
                "warning  model: the router",
            ],
        ),
        ("", &[], &["--base-url", "ftp://nowhere"], Value::Null, &["FAILED   model: "]),
    ];
    for (entry, variables, options, answers, says) in cases {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, entry.replace("BASE", "http://127.0.0.1:9")).unwrap();
        let doctor = |json: &[&str]| {
            let named = ["--config", file.to_str().unwrap(), "doctor", "--no-servers"];
            let all: Vec<&str> = json.iter().chain(&named).chain(options).copied().collect();
            let mut command = command(all);
            finish(command.envs(variables.iter().copied()).current_dir(home()).spawn().unwrap())
        };
        let code = i32::from(answers.is_null());
        let (text, report) = (doctor(&[]).expect(code).stdout, doctor(&["--json"]).expect(code));
        for part in says {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
        assert!(
            !format!("{text}{}{}", report.stdout, report.stderr).contains(KEY),
            "{text}\n{}",
            report.stdout
        );
        let mut found = report.json()["model"].clone();
        if let Some(link) = found.get_mut("link").and_then(Value::as_object_mut) {
            link.remove("origin");
        }
        for (name, value) in answers.as_object().into_iter().flatten() {
            assert_eq!(&found[name], value, "{found:#}");
        }
    }
}
