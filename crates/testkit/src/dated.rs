//! Messages checked against the published JSON Schema of a revision that is named by its date.
//!
//! `wire` does this for the newest one; here are the definitions that revisions with a handshake have, in
//! both directions.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{spec, wire};

type Compiled = HashMap<(String, String), Option<Arc<Validator>>>;

static SCHEMAS: LazyLock<Mutex<HashMap<String, Option<Arc<Value>>>>> = LazyLock::new(Mutex::default);
static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

/// The published schema of a revision; says so once where there is none.
fn schema(date: &str) -> Option<Arc<Value>> {
    let folder = spec::folder()?;
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    let read = || {
        let path = folder.join(format!("{date}.schema.json"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("no published schema at {}: the check against it is skipped", path.display());
            return None;
        };
        Some(Arc::new(serde_json::from_str(&text).expect("the published schema is JSON")))
    };
    schemas.entry(date.to_owned()).or_insert_with(read).clone()
}

/// Where a schema keeps its definitions: the word changed with the draft of JSON Schema.
fn keyword(schema: &Value) -> &'static str {
    if schema.get("$defs").is_some() { "$defs" } else { "definitions" }
}

fn defines(date: &str, definition: &str) -> bool {
    schema(date).is_some_and(|schema| schema[keyword(&schema)].get(definition).is_some())
}

fn validator(date: &str, definition: &str) -> Option<Arc<Validator>> {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compile = || {
        let schema = schema(date)?;
        let keyword = keyword(&schema);
        let known = schema[keyword].get(definition).is_some();
        assert!(known, "the published schema of {date} has no {definition}");
        let root = json!({
            "$schema": schema["$schema"],
            keyword: schema[keyword],
            "$ref": format!("#/{keyword}/{definition}"),
        });
        Some(Arc::new(jsonschema::validator_for(&root).expect("the published schema compiles")))
    };
    compiled.entry((date.to_owned(), definition.to_owned())).or_insert_with(compile).clone()
}

/// Checks a value against a definition of the published schema of a revision.
///
/// # Panics
/// When the value does not conform, naming each violation, or when the revision has no such definition.
pub fn check(date: &str, definition: &str, value: &Value) {
    let Some(validator) = validator(date, definition) else { return };
    let faults: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(faults.is_empty(), "not a valid {definition} of {date}:\n{}\n{value:#}", faults.join("\n"));
}

/// Checks the result of a method of a revision with a handshake, in either direction.
///
/// # Panics
/// When the result does not conform, or the revision has no such method.
pub fn check_result(date: &str, method: &str, result: &Value) {
    let definition = match method {
        "initialize" => "InitializeResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        "sampling/createMessage" => "CreateMessageResult",
        "roots/list" => "ListRootsResult",
        "elicitation/create" => "ElicitResult",
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => "EmptyResult",
        other => panic!("somebody answered {other:?}, which no revision with a handshake has"),
    };
    if definition == "EmptyResult" {
        assert_eq!(result, &json!({}), "{method} is answered with an empty object");
    }
    check(date, definition, result);
}

/// Checks a message of a session, from either side. `method` is what a response answers.
///
/// # Panics
/// When the message does not conform, or the revision has no such message.
pub fn check_message(date: &str, bytes: &[u8], method: &str) {
    let message = wire::parse(bytes);
    if let Some(name) = message.get("method").and_then(Value::as_str) {
        let is_request = message.get("id").is_some();
        check(date, if is_request { "JSONRPCRequest" } else { "JSONRPCNotification" }, &message);
        check(date, if is_request { request(name) } else { notification(name) }, &message);
    } else if message.get("error").is_some() {
        check(date, either(date, ["JSONRPCErrorResponse", "JSONRPCError"]), &message);
    } else {
        check(date, either(date, ["JSONRPCResultResponse", "JSONRPCResponse"]), &message);
        check_result(date, method, &message["result"]);
    }
}

/// The first of two names that the revision has: the envelopes were renamed once.
fn either(date: &str, [newer, older]: [&'static str; 2]) -> &'static str {
    if defines(date, newer) { newer } else { older }
}

fn request(method: &str) -> &'static str {
    match method {
        "initialize" => "InitializeRequest",
        "ping" => "PingRequest",
        "tools/list" => "ListToolsRequest",
        "tools/call" => "CallToolRequest",
        "resources/list" => "ListResourcesRequest",
        "resources/templates/list" => "ListResourceTemplatesRequest",
        "resources/read" => "ReadResourceRequest",
        "resources/subscribe" => "SubscribeRequest",
        "resources/unsubscribe" => "UnsubscribeRequest",
        "prompts/list" => "ListPromptsRequest",
        "prompts/get" => "GetPromptRequest",
        "completion/complete" => "CompleteRequest",
        "logging/setLevel" => "SetLevelRequest",
        "sampling/createMessage" => "CreateMessageRequest",
        "roots/list" => "ListRootsRequest",
        "elicitation/create" => "ElicitRequest",
        other => panic!("somebody asked {other}, which no revision with a handshake has"),
    }
}

fn notification(method: &str) -> &'static str {
    match method {
        "notifications/initialized" => "InitializedNotification",
        "notifications/progress" => "ProgressNotification",
        "notifications/message" => "LoggingMessageNotification",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/roots/list_changed" => "RootsListChangedNotification",
        "notifications/tools/list_changed" => "ToolListChangedNotification",
        "notifications/prompts/list_changed" => "PromptListChangedNotification",
        "notifications/resources/list_changed" => "ResourceListChangedNotification",
        "notifications/resources/updated" => "ResourceUpdatedNotification",
        "notifications/elicitation/complete" => "ElicitationCompleteNotification",
        other => panic!("somebody sent {other}, which no revision with a handshake has"),
    }
}
