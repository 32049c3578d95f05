//! Tools that answer at once: every type of content, an error, progress, log messages, a schema that is kept as it
//! is written, an argument that is repeated as a header.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_protocol::model::resource::ResourceContents;
use switchboard_server::{Args, Builder, Ctx, Tool, ToolError};

use super::{PNG, WAV};

/// The pause between two things that a tool says.
const PAUSE: Duration = Duration::from_millis(50);

/// Longer than one connection carries an event stream where a client can take it up again, shorter than two do.
const LONG: Duration = Duration::from_millis(1_300);

/// The first tool takes no arguments: some scenarios call whatever is listed first.
pub(super) fn expose(builder: Builder<()>) -> Builder<()> {
    builder
        .tool(Tool::new("test_simple_text", simple_text).describe("Returns a text").read_only())
        .tool(Tool::new("test_image_content", image).describe("Returns a picture").read_only())
        .tool(Tool::new("test_audio_content", audio).describe("Returns a sound").read_only())
        .tool(Tool::new("test_embedded_resource", embedded).describe("Returns a resource").read_only())
        .tool(
            Tool::new("test_multiple_content_types", mixed)
                .describe("Returns a text, a picture and a resource")
                .read_only(),
        )
        .tool(Tool::new("test_error_handling", failing).describe("Fails, always"))
        .tool(Tool::new("test_tool_with_progress", progress).describe("Reports progress three times"))
        .tool(Tool::new("test_logging_tool", logging).describe("Logs three messages"))
        .tool(Tool::new("test_tool_with_logging", logging).describe("Logs three messages"))
        .tool(
            Tool::new("test_reconnection", outlast)
                .describe("Says that it begins, and answers later than an event stream lasts"),
        )
        .tool(
            Tool::new("json_schema_2020_12_tool", schema_tool)
                .describe("Tool with JSON Schema 2020-12 features")
                .input_schema(schema_2020_12()),
        )
        .tool(
            Tool::new("test_custom_header", custom_header)
                .describe("Returns the argument that is repeated as a header")
                .param_header("value", "Value")
                .read_only(),
        )
}

async fn simple_text() -> &'static str {
    "This is a simple text response for testing."
}

async fn image() -> ContentBlock {
    ContentBlock::image(PNG, "image/png")
}

async fn audio() -> ContentBlock {
    ContentBlock::audio(WAV, "audio/wav")
}

async fn embedded() -> ContentBlock {
    ContentBlock::resource(
        ResourceContents::text("test://embedded-resource", "This is an embedded resource content.")
            .with_mime_type("text/plain"),
    )
}

async fn mixed() -> Vec<ContentBlock> {
    let resource = ResourceContents::text("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
    vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(PNG, "image/png"),
        ContentBlock::resource(resource.with_mime_type("application/json")),
    ]
}

async fn failing() -> Result<(), ToolError> {
    Err(ToolError::say("This tool intentionally returns an error for testing"))
}

async fn progress(ctx: Ctx) -> &'static str {
    for done in [0.0, 50.0] {
        ctx.progress(done, 100.0).await;
        tokio::time::sleep(PAUSE).await;
    }
    ctx.progress(100.0, 100.0).await;
    "Progress was reported"
}

async fn logging(ctx: Ctx) -> &'static str {
    for said in ["Tool execution started", "Tool processing data"] {
        ctx.log(LoggingLevel::Info, said).await;
        tokio::time::sleep(PAUSE).await;
    }
    ctx.log(LoggingLevel::Info, "Tool execution completed").await;
    "Messages were logged"
}

async fn outlast(ctx: Ctx) -> &'static str {
    ctx.log(LoggingLevel::Info, "Reconnection test started").await;
    tokio::time::sleep(LONG).await;
    "Reconnection test completed"
}

async fn schema_tool(Args(given): Args<Map<String, Value>>) -> String {
    format!("{} arguments fit the schema", given.len())
}

/// The scenario compares keyword by keyword.
fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}

#[derive(Deserialize, JsonSchema)]
struct CustomHeader {
    /// Repeated as the header Mcp-Param-Value
    value: String,
}

async fn custom_header(Args(CustomHeader { value }): Args<CustomHeader>) -> String {
    value
}
