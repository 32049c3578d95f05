//! Structured results that break the promise of their tool are not sent as if they kept it.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::tool::CallToolResult;
use switchboard_server::{Args, Elicitation, Json, MultiRoundTrip, Outcome, Server, Tool, ToolError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::calls::{call, text};

/// What a tool is to give back.
#[derive(Deserialize, JsonSchema)]
struct Wanted {
    #[serde(default)]
    value: Option<Value>,
    #[serde(default)]
    fails: bool,
}

#[derive(Serialize, JsonSchema)]
struct Percent {
    #[schemars(range(max = 100))]
    percent: u8,
}

#[derive(Deserialize, JsonSchema)]
struct Number {
    percent: u8,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only asked for")]
struct Form {
    sure: bool,
}

async fn by_hand(Args(wanted): Args<Wanted>) -> CallToolResult {
    CallToolResult {
        content: vec![ContentBlock::text("by hand")],
        structured_content: wanted.value.map(|value| to_raw_value(&value).unwrap()),
        is_error: wanted.fails.then_some(true),
        ..CallToolResult::default()
    }
}

async fn typed(Args(wanted): Args<Wanted>) -> Result<Json<Value>, ToolError> {
    if wanted.fails { Err(ToolError::say("not today")) } else { Ok(Json(wanted.value.unwrap_or_default())) }
}

async fn percent(Args(Number { percent }): Args<Number>) -> Json<Percent> {
    Json(Percent { percent })
}

async fn asks(_round: MultiRoundTrip<()>) -> Outcome<(), Json<Value>> {
    Outcome::InputRequired((), Elicitation::form::<Form>("Are you sure?"))
}

fn server() -> Server {
    let schema = json!({
        "type": "object", "properties": { "celsius": { "type": "number", "minimum": -273.15 } },
        "required": ["celsius"]
    });
    Server::builder("output", "1")
        .tool(Tool::new("by_hand", by_hand).output_schema(schema.clone()))
        .tool(Tool::new("typed", typed).output_schema(schema))
        .tool(Tool::new("spawned", typed).output_schema(json!({ "type": "array" })).spawned())
        .tool(Tool::new("percent", percent))
        .build(())
        .unwrap()
}

#[tokio::test]
async fn a_result_conforms_or_is_no_result() {
    let server = server();
    let warm = json!({ "value": { "celsius": 21.5 } });
    for (tool, arguments, expected) in [
        ("by_hand", warm.clone(), Ok("by hand")),
        ("typed", warm, Ok(r#"{"celsius":21.5}"#)),
        ("by_hand", json!({ "value": { "celsius": -300 } }), Err("/celsius")),
        ("typed", json!({ "value": { "celsius": "warm" } }), Err("/celsius")),
        ("typed", json!({ "value": {} }), Err("/celsius")),
        ("typed", json!({}), Err("expected an object")),
        ("by_hand", json!({}), Err("no structured content")),
        ("by_hand", json!({ "fails": true }), Ok("failed: by hand")),
        ("by_hand", json!({ "fails": true, "value": 1 }), Ok("failed: by hand")),
        ("typed", json!({ "fails": true }), Ok("failed: not today")),
        ("spawned", json!({ "value": [1] }), Ok("[1]")),
        ("spawned", json!({ "value": 1 }), Err("expected an array")),
        ("percent", json!({ "percent": 100 }), Ok(r#"{"percent":100}"#)),
        ("percent", json!({ "percent": 101 }), Err("/percent")),
    ] {
        check(&server, (tool, arguments), expected).await;
    }
}

/// The text of the result; or that the caller gets a reference, and the log says under it what is wrong.
async fn check(server: &Server, (tool, arguments): (&str, Value), expected: Result<&str, &str>) {
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.clone());
    let reply = call(server, tool, arguments.clone()).await;
    drop(guard);
    let (told, log) = (text(&reply), log.0.lock().unwrap().join("\n"));
    match expected {
        Ok(expected) => {
            assert_eq!((told.as_str(), log.as_str()), (expected, ""), "{tool} {arguments}");
        }
        Err(violation) => {
            let reference = told.strip_prefix("failed: internal error, reference ").unwrap();
            assert!(log.contains(reference) && log.contains(violation), "{tool} {arguments}: {log}");
            assert!(log.contains(&format!("tool={tool:?}")), "{log}");
            assert!(reply["result"].get("structuredContent").is_none(), "{reply}");
        }
    }
}

#[tokio::test]
async fn a_question_is_no_result() {
    let schema = json!({ "type": "string" });
    let server =
        Server::builder("output", "1").tool(Tool::new("asks", asks).output_schema(schema)).build(()).unwrap();
    let asked = call(&server, "asks", json!({})).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
}

#[test]
fn an_output_schema_that_cannot_be_enforced_is_refused() {
    for (schema, expected) in [
        (json!({ "type": "strange" }), "its output schema cannot be used"),
        (json!({ "$ref": "https://x.example/own" }), "nothing is fetched"),
    ] {
        let tool = Tool::new("t", async || "").output_schema(schema);
        let refused = Server::builder("output", "1").tool(tool).build(()).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}

/// What was logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("switchboard_server")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}
