//! Tools: arguments good and bad, output of every kind, failures of every kind.

use std::collections::HashMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_protocol::ProtocolError;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_server::{Args, Json, Server, Tool, ToolError};

use crate::calls::{call, error, reply, text};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

#[derive(Deserialize, JsonSchema)]
struct Weather {
    /// A city
    location: String,
    /// How to measure
    units: Option<Units>,
    days: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
struct Bounded {
    #[schemars(length(max = 5))]
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Nested {
    inner: Vec<Weather>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tree {
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
struct Wood {
    oak: Tree,
    root: Root,
}

#[derive(Deserialize, JsonSchema)]
struct Root {
    depth: f32,
}

async fn weather(Args(args): Args<Weather>) -> String {
    let units = match args.units {
        None => "none",
        Some(Units::Metric) => "metric",
        Some(Units::Imperial) => "imperial",
    };
    format!("{} {units} {:?}", args.location, args.days)
}

async fn forbidden() -> Result<String, ProtocolError> {
    Err(ProtocolError::new(-31_000, "not here").with_data(&json!({ "why": "because" })))
}

async fn panics() -> String {
    panic!("it broke")
}

async fn hangs() {
    std::future::pending::<()>().await;
}

fn server() -> Server {
    Server::builder("tools", "1")
        .tool(Tool::new("weather", weather))
        .tool(Tool::new("bounded", async |Args(args): Args<Bounded>| args.name))
        .tool(Tool::new("nested", async |Args(args): Args<Nested>| args.inner.len().to_string()))
        .tool(Tool::new("tree", async |Args(tree): Args<Tree>| Json(tree)))
        .tool(Tool::new("wood", async |Args(wood): Args<Wood>| {
            format!("{} {}", wood.oak.children.len(), wood.root.depth)
        }))
        .tool(Tool::new("raw", async |Args(raw): Args<Box<RawValue>>| raw.get().to_owned()).input_schema(
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["x"] }),
        ))
        .tool(Tool::new("nothing", async || ()))
        .tool(Tool::new("blocks", async || vec![ContentBlock::text("a"), ContentBlock::image("AA==", "image/png")]))
        .tool(Tool::new("null", async || Json(())))
        .tool(Tool::new("unserialisable", async || Json(HashMap::from([(vec![1u8], 1u8)]))))
        .tool(Tool::new("says", async || Err::<String, _>(ToolError::say("no such city"))))
        .tool(Tool::new("forbidden", forbidden))
        .tool(Tool::new("panics", panics))
        .tool(Tool::new("hangs", hangs).timeout(Duration::from_millis(1_500)))
        .build(())
        .unwrap()
}

#[tokio::test]
async fn arguments_are_decoded_or_refused_by_path() {
    let server = server();
    for (name, arguments, expected) in [
        ("weather", json!({ "location": "Bern" }), "Bern none None"),
        ("weather", json!({ "location": "Bern", "units": null, "days": null }), "Bern none None"),
        ("weather", json!({ "location": "Bern", "units": "metric", "days": 3 }), "Bern metric Some(3)"),
        ("weather", json!({ "location": "Bern", "unknown": 1 }), "Bern none None"),
        (
            "weather",
            json!({}),
            "failed: Invalid arguments\n/location: expected a value, it is required; got nothing",
        ),
        (
            "weather",
            json!({ "location": "Bern", "units": "kelvin" }),
            "failed: Invalid arguments\n/units: expected one of metric, imperial, or null; got \"kelvin\"",
        ),
        (
            "weather",
            json!({ "location": 4 }),
            "failed: Invalid arguments\n/location: expected a string; got 4",
        ),
        (
            "weather",
            json!({ "location": "Bern", "days": 300 }),
            "failed: Invalid arguments\n/days: expected at most 255; got 300",
        ),
        (
            "nested",
            json!({ "inner": [{ "location": "a" }, { "location": [] }] }),
            "failed: Invalid arguments\n/inner/1/location: expected a string; got an array of 0",
        ),
        ("bounded", json!({ "name": "short" }), "short"),
        (
            "bounded",
            json!({ "name": "too long" }),
            "failed: Invalid arguments\n/name: expected at most 5 characters; got \"too long\"",
        ),
        ("raw", json!({ "x": [1, 2] }), r#"{"x":[1,2]}"#),
        ("raw", json!({}), "failed: Invalid arguments\n/x: expected a value, it is required; got nothing"),
        ("tree", json!({ "children": [{ "children": [] }] }), r#"{"children":[{"children":[]}]}"#),
    ] {
        assert_eq!(text(&call(&server, name, arguments.clone()).await), expected, "{name} {arguments}");
    }
}

#[tokio::test]
async fn failures_take_the_way_they_belong_to() {
    let server = server();
    assert_eq!(text(&call(&server, "says", json!({})).await), "failed: no such city");
    assert_eq!(error(&call(&server, "forbidden", json!({})).await), (-31_000, "not here".into()));
    assert_eq!(error(&call(&server, "missing", json!({})).await), (-32_602, "Unknown tool: missing".into()));
    let text_of = text(&call(&server, "unserialisable", json!({})).await);
    assert!(text_of.starts_with("failed: internal error, reference "), "{text_of}");
    let array = reply(&server, "tools/call", json!({ "name": "weather", "arguments": [] })).await;
    assert_eq!(error(&array), (-32_602, "Invalid params: arguments must be an object".into()));
}

#[tokio::test]
async fn a_panic_is_a_failed_call_and_nothing_else() {
    let server = server();
    let text_of = text(&call(&server, "panics", json!({})).await);
    assert!(text_of.starts_with("failed: internal error, reference "), "{text_of}");
    assert!(!text_of.contains("it broke"));
    assert_eq!(text(&call(&server, "weather", json!({ "location": "x" })).await), "x none None");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_times_out() {
    assert_eq!(text(&call(&server(), "hangs", json!({})).await), "failed: timed out after 1.5 s");
}

#[tokio::test]
async fn output_is_written_as_the_specification_wants_it() {
    let server = server();
    for (name, expected) in [
        ("nothing", json!({ "content": [] })),
        (
            "blocks",
            json!({ "content": [
                { "type": "text", "text": "a" }, { "type": "image", "data": "AA==", "mimeType": "image/png" }
            ] }),
        ),
        ("null", json!({ "content": [{ "type": "text", "text": "null" }], "structuredContent": null })),
    ] {
        let mut result = call(&server, name, json!({})).await["result"].take();
        result.as_object_mut().unwrap().retain(|key, _| key != "_meta" && key != "resultType");
        assert_eq!(result, expected, "{name}");
    }
}

async fn listed(server: &Server, name: &str) -> Value {
    let list = reply(server, "tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).unwrap().clone()
}

#[tokio::test]
async fn published_schemas_are_plain_and_inlined() {
    let server = server();
    assert_eq!(
        listed(&server, "weather").await["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "location": { "type": "string", "description": "A city" },
                "units": { "type": "string", "enum": ["metric", "imperial"], "description": "How to measure" },
                "days": { "type": "integer", "minimum": 0, "maximum": 255 }
            },
            "required": ["location"]
        })
    );
    assert_eq!(
        listed(&server, "tree").await["inputSchema"],
        json!({
            "type": "object",
            "properties": { "children": { "type": "array", "items": { "$ref": "#" } } },
            "required": ["children"]
        })
    );
    let tree = json!({
        "type": "object",
        "properties": { "children": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } },
        "required": ["children"]
    });
    assert_eq!(
        listed(&server, "wood").await["inputSchema"],
        json!({
            "type": "object",
            "properties": { "oak": { "$ref": "#/$defs/Tree" }, "root": {
                "type": "object", "properties": { "depth": { "type": "number" } }, "required": ["depth"]
            } },
            "required": ["oak", "root"],
            "$defs": { "Tree": tree }
        })
    );
    assert_eq!(
        listed(&server, "nothing").await["inputSchema"],
        json!({ "type": "object", "properties": {} })
    );
    let raw = &listed(&server, "raw").await["inputSchema"];
    assert_eq!(raw["$schema"], "http://json-schema.org/draft-07/schema#");
}

/// Forms that a decoder would take and the published schema does not know.
#[tokio::test]
async fn arguments_have_the_shape_that_the_schema_says() {
    let server = server();
    for (tool, arguments) in [
        ("weather", json!({ "location": "Oslo", "units": { "metric": null } })),
        ("nested", json!({ "inner": [["Oslo", null, null]] })),
        ("nested", json!({ "inner": [{ "location": "Oslo", "units": { "metric": null } }] })),
    ] {
        let reply = call(&server, tool, arguments.clone()).await;
        assert!(text(&reply).starts_with("failed: Invalid arguments"), "{arguments}: {reply}");
    }
    for (tool, arguments) in [
        ("weather", json!({ "location": "Oslo", "units": "metric" })),
        ("nested", json!({ "inner": [{ "location": "Oslo", "units": "metric" }] })),
    ] {
        let reply = call(&server, tool, arguments.clone()).await;
        assert!(!text(&reply).starts_with("failed"), "{arguments}: {reply}");
    }
}
