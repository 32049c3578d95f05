//! Input rounds: asking, asking again, state that is not good, capabilities, on every method that may ask.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_protocol::model::sampling::CreateMessage;
use switchboard_server::{
    Args, Call, Elicitation, Elicited, MultiRoundTrip, Need, Outcome, Prompt, Question, Questions, Resource,
    Server, Tool, ToolError,
};

use crate::calls::{error, reply, text};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

impl<S: Sync> Question<S> for Name {
    async fn need(call: &Call, _state: &S) -> Result<Need<Self>, ToolError> {
        let arguments: Value = call
            .target()
            .and_then(|target| target.arguments.as_ref())
            .map_or(Value::Null, |text| serde_json::from_slice(text).unwrap());
        Ok(match arguments["name"].as_str() {
            Some(name) => Need::Have(Self { name: name.into() }),
            None => Need::Ask("Who are you?".into()),
        })
    }

    fn key() -> String {
        "user_name".into()
    }
}

#[derive(Deserialize, JsonSchema)]
struct Age {
    #[schemars(range(max = 150))]
    age: u8,
}

impl<S: Sync> Question<S> for Age {
    async fn need(_call: &Call, _state: &S) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask("How old are you?".into()))
    }
}

#[derive(Serialize, Deserialize)]
enum Step {
    Waiting(u8),
}

async fn greet(Elicited(name): Elicited<Name>) -> String {
    format!("Hello, {}", name.name)
}

async fn both(Elicited(name): Elicited<Name>, Elicited(age): Elicited<Option<Age>>) -> String {
    format!("{} {}", name.name, age.map_or("?".into(), |age| age.age.to_string()))
}

async fn stepwise(round: MultiRoundTrip<Step>) -> Outcome<Step, String> {
    match round.state {
        None => Outcome::InputRequired(Step::Waiting(1), Questions::none()),
        Some(Step::Waiting(1)) => {
            let questions = Elicitation::form::<Age>("age")
                .and(Questions::roots())
                .and(Questions::sampling(CreateMessage { max_tokens: 10, ..CreateMessage::default() }));
            Outcome::InputRequired(Step::Waiting(2), questions)
        }
        Some(Step::Waiting(_)) => {
            let age = round.answer::<Age>().unwrap().map_or("declined".into(), |age| age.age.to_string());
            let roots = round.roots("roots").unwrap_or_default().len();
            let model = round.sampled("sampling").map(|answer| answer.model);
            Outcome::Complete(format!("{age} {roots} {model:?}"))
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Huge {
    bytes: usize,
}

async fn huge(Args(huge): Args<Huge>, _round: MultiRoundTrip<String>) -> Outcome<String, String> {
    Outcome::InputRequired("x".repeat(huge.bytes), Questions::none())
}

async fn visit() -> Outcome<(), String> {
    Outcome::InputRequired((), Elicitation::url("Log in", "https://example.com/login"))
}

async fn unit(round: MultiRoundTrip<()>) -> Outcome<(), &'static str> {
    match round.state {
        None => Outcome::InputRequired((), Questions::none()),
        Some(()) => Outcome::Complete("again"),
    }
}

fn server() -> Server {
    Server::builder("rounds", "1")
        .tool(Tool::new("unit", unit))
        .tool(Tool::new("greet", greet))
        .tool(Tool::new("both", both))
        .tool(Tool::new("stepwise", stepwise))
        .tool(Tool::new("huge", huge))
        .tool(Tool::new("visit", visit))
        .prompt(Prompt::new("greet", greet))
        .resource(Resource::new("greet://me", greet))
        .build(())
        .unwrap()
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// The next round of a tool call: what was asked comes back with these answers.
async fn next(server: &Server, name: &str, asked: &Value, answers: Value) -> Value {
    let state = &asked["result"]["requestState"];
    let params = json!({ "name": name, "requestState": state, "inputResponses": answers });
    reply(server, "tools/call", params).await
}

fn keys(asked: &Value) -> Vec<&str> {
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    asked["result"]["inputRequests"]
        .as_object()
        .map(|map| map.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

#[tokio::test]
async fn a_question_is_asked_on_every_method_that_may_ask() {
    let server = server();
    for (method, params) in [
        ("tools/call", json!({ "name": "greet" })),
        ("prompts/get", json!({ "name": "greet" })),
        ("resources/read", json!({ "uri": "greet://me" })),
    ] {
        let asked = reply(&server, method, params.clone()).await;
        assert_eq!(keys(&asked), ["user_name"]);
        let mut again = params;
        again["requestState"] = asked["result"]["requestState"].clone();
        again["inputResponses"] = json!({ "user_name": accept(json!({ "name": "Ada" })) });
        let done = reply(&server, method, again).await;
        assert!(done.to_string().contains("Hello, Ada"), "{method}: {done}");
    }
}

#[tokio::test]
async fn what_is_known_is_not_asked() {
    let params = json!({ "name": "greet", "arguments": { "name": "Bob" } });
    assert_eq!(text(&reply(&server(), "tools/call", params).await), "Hello, Bob");
}

#[tokio::test]
async fn missing_and_wrong_answers_are_asked_for_again_and_good_ones_kept() {
    let server = server();
    let first = reply(&server, "tools/call", json!({ "name": "both" })).await;
    assert_eq!(keys(&first), ["Age", "user_name"]);
    let half = next(
        &server,
        "both",
        &first,
        json!({
            "user_name": accept(json!({ "name": "Ada" })), "Age": accept(json!({ "age": 999 })), "extra": 1
        }),
    )
    .await;
    assert_eq!(keys(&half), ["Age"]);
    let done = next(&server, "both", &half, json!({ "Age": accept(json!({ "age": 36 })) })).await;
    assert_eq!(text(&done), "Ada 36");
    for wrong in [json!({}), Value::Null, json!({ "wrong": accept(json!({})) }), json!({ "Age": 5 })] {
        assert_eq!(keys(&next(&server, "both", &half, wrong).await), ["Age"]);
    }
    let unreadable = next(&server, "both", &half, json!(42)).await;
    assert_eq!(error(&unreadable), (-32_602, "Invalid params: inputResponses must be an object".into()));
}

#[tokio::test]
async fn an_answer_without_state_serves_a_question_that_can_be_made_again() {
    let server = server();
    for (answers, expected) in [
        (json!({ "user_name": accept(json!({ "name": "Ada" })), "more": 1 }), Some("Hello, Ada")),
        (json!({ "other": accept(json!({ "name": "Ada" })) }), None),
        (json!({ "user_name": 5 }), None),
        (json!({ "user_name": accept(json!({ "name": 5 })) }), None),
        (Value::Null, None),
    ] {
        let done = reply(&server, "tools/call", json!({ "name": "greet", "inputResponses": answers })).await;
        match expected {
            Some(expected) => assert_eq!(text(&done), expected),
            None => assert_eq!(keys(&done), ["user_name"]),
        }
    }
}

#[tokio::test]
async fn declining_fails_the_call_unless_the_handler_takes_an_option() {
    let server = server();
    let first = reply(&server, "tools/call", json!({ "name": "both" })).await;
    let name = accept(json!({ "name": "Ada" }));
    let done =
        next(&server, "both", &first, json!({ "user_name": name, "Age": { "action": "decline" } })).await;
    assert_eq!(text(&done), "Ada ?");
    let first = reply(&server, "tools/call", json!({ "name": "greet" })).await;
    let done = next(&server, "greet", &first, json!({ "user_name": { "action": "cancel" } })).await;
    assert_eq!(text(&done), "failed: the user declined");
}

#[tokio::test]
async fn rounds_go_on_from_their_state_and_each_state_is_new() {
    let server = server();
    let first = reply(&server, "tools/call", json!({ "name": "stepwise" })).await;
    assert_eq!(keys(&first), <[&str; 0]>::default());
    let second = next(&server, "stepwise", &first, Value::Null).await;
    assert_eq!(keys(&second), ["Age", "roots", "sampling"]);
    assert_ne!(first["result"]["requestState"], second["result"]["requestState"]);
    let answers = json!({
        "Age": { "action": "decline" },
        "roots": { "roots": [{ "uri": "file:///a" }, { "uri": "file:///b" }] },
        "sampling": { "role": "assistant", "model": "m", "content": { "type": "text", "text": "Paris" } },
    });
    assert_eq!(text(&next(&server, "stepwise", &second, answers).await), r#"declined 2 Some("m")"#);
}

#[tokio::test]
async fn a_state_that_is_written_as_null_is_a_state() {
    let server = server();
    let first = reply(&server, "tools/call", json!({ "name": "unit" })).await;
    assert_eq!(text(&next(&server, "unit", &first, Value::Null).await), "again");
}

#[tokio::test]
async fn a_state_that_is_not_good_here_has_one_answer() {
    let server = server();
    let asked = reply(&server, "tools/call", json!({ "name": "greet" })).await;
    let state = asked["result"]["requestState"].as_str().unwrap();
    let answers = json!({ "user_name": accept(json!({ "name": "Ada" })) });
    let mut texts = std::collections::HashSet::new();
    for (name, arguments, state) in [
        ("greet", json!({}), format!("{state}x")),
        ("greet", json!({}), "x".into()),
        ("greet", json!({}), String::new()),
        ("greet", json!({}), "x".repeat(100_000)),
        ("both", json!({}), state.to_owned()),
        ("greet", json!({ "other": 1 }), state.to_owned()),
    ] {
        let params =
            json!({ "name": name, "arguments": arguments, "requestState": state, "inputResponses": answers });
        let (code, message) = error(&reply(&server, "tools/call", params).await);
        assert_eq!(code, -32_602);
        texts.insert(message);
    }
    assert_eq!(texts.len(), 1, "{texts:?}");
    let elsewhere =
        reply(&self::server(), "tools/call", json!({ "name": "greet", "requestState": state })).await;
    assert_eq!(error(&elsewhere).0, -32_602, "another server has other keys");
}

#[tokio::test]
async fn nothing_is_asked_that_the_client_cannot_answer() {
    let server = server();
    for (name, capabilities, required) in [
        ("greet", json!({}), Some(json!({ "elicitation": { "form": {} } }))),
        ("greet", json!({ "elicitation": {} }), None),
        ("greet", json!({ "elicitation": { "url": {} } }), Some(json!({ "elicitation": { "form": {} } }))),
        ("visit", json!({ "elicitation": {} }), Some(json!({ "elicitation": { "url": {} } }))),
        ("visit", json!({ "elicitation": { "url": {} } }), None),
    ] {
        let meta = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
        let answer = reply(&server, "tools/call", json!({ "name": name, "_meta": meta })).await;
        match required {
            None => assert_eq!(keys(&answer).len(), 1),
            Some(required) => {
                assert_eq!(error(&answer).0, -32_021);
                assert_eq!(answer["error"]["data"]["requiredCapabilities"], required);
            }
        }
    }
}

#[tokio::test]
async fn a_state_has_a_largest_size() {
    let server = server();
    for (bytes, good) in [(1_000, true), (100_000, false)] {
        let answer =
            reply(&server, "tools/call", json!({ "name": "huge", "arguments": { "bytes": bytes } })).await;
        assert_eq!(answer["result"]["resultType"] == "input_required", good, "{bytes}");
    }
}
