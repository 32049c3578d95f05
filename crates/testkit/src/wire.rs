//! Every message that a test sees is checked against the published JSON Schema of the revision.
//!
//! [`check`] judges one value by the name of its definition. [`Conversation`] judges messages of
//! both sides, picking the definition by method, by `resultType` and by error code.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::dated;

/// The newest published revision: what a modern message is checked against.
const NEWEST: &str = "2026-07-28";

/// Checks a value against a definition of the published schema.
///
/// # Panics
/// When the value does not conform, naming each violation.
pub fn check(definition: &str, value: &Value) {
    dated::check(NEWEST, definition, value);
}

/// Checks a message that a server sent in answer to `method`: a response or a notification.
///
/// # Panics
/// When the message does not conform.
pub fn check_server_message(bytes: &[u8], method: &str) {
    let message = parse(bytes);
    if let Some(name) = message.get("method").and_then(Value::as_str) {
        check(notification_definition(name), &message);
    } else if let Some(error) = message.get("error") {
        check(error_definition(error), &message);
    } else {
        check("JSONRPCResultResponse", &message);
        check(result_definition(method, &message["result"]), &message["result"]);
    }
}

/// Checks a message that a client sent: a request or a notification.
///
/// # Panics
/// When the message does not conform.
pub fn check_client_message(bytes: &[u8]) {
    let message = parse(bytes);
    let method = message.get("method").and_then(Value::as_str).expect("a client sends no responses");
    if message.get("id").is_none() {
        assert_eq!(method, "notifications/cancelled", "the only notification of a modern client");
        check("CancelledNotification", &message);
    } else {
        check(request_definition(method), &message);
    }
}

/// Both directions of one connection, matched by id.
#[derive(Default, Debug)]
pub struct Conversation {
    methods: Mutex<HashMap<String, String>>,
}

impl Conversation {
    /// Checks what the client sent.
    ///
    /// # Panics
    /// When the message does not conform.
    pub fn client(&self, bytes: &[u8]) {
        check_client_message(bytes);
        let message = parse(bytes);
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            let mut methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
            methods.insert(id.to_string(), method.to_owned());
        }
    }

    /// Checks what the server sent.
    ///
    /// # Panics
    /// When the message does not conform.
    pub fn server(&self, bytes: &[u8]) {
        let id = parse(bytes).get("id").map(Value::to_string).unwrap_or_default();
        let methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        check_server_message(bytes, methods.get(&id).map_or("", String::as_str));
    }
}

pub(crate) fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|error| panic!("no JSON: {error}\n{}", String::from_utf8_lossy(bytes)))
}

fn request_definition(method: &str) -> &'static str {
    match method {
        "server/discover" => "DiscoverRequest",
        "tools/list" => "ListToolsRequest",
        "tools/call" => "CallToolRequest",
        "resources/list" => "ListResourcesRequest",
        "resources/templates/list" => "ListResourceTemplatesRequest",
        "resources/read" => "ReadResourceRequest",
        "prompts/list" => "ListPromptsRequest",
        "prompts/get" => "GetPromptRequest",
        "completion/complete" => "CompleteRequest",
        "subscriptions/listen" => "SubscriptionsListenRequest",
        other => panic!("a client sent the unknown request {other}"),
    }
}

fn notification_definition(method: &str) -> &'static str {
    match method {
        "notifications/progress" => "ProgressNotification",
        "notifications/message" => "LoggingMessageNotification",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
        "notifications/tools/list_changed" => "ToolListChangedNotification",
        "notifications/prompts/list_changed" => "PromptListChangedNotification",
        "notifications/resources/list_changed" => "ResourceListChangedNotification",
        "notifications/resources/updated" => "ResourceUpdatedNotification",
        other => panic!("a server sent {other}, which no modern server may send"),
    }
}

fn result_definition(method: &str, result: &Value) -> &'static str {
    if result["resultType"] == "input_required" {
        return "InputRequiredResult";
    }
    match method {
        "server/discover" => "DiscoverResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        "subscriptions/listen" => "SubscriptionsListenResult",
        other => panic!("a server answered {other:?}, which nobody asked"),
    }
}

fn error_definition(error: &Value) -> &'static str {
    match error["code"].as_i64() {
        Some(-32020) => "HeaderMismatchError",
        Some(-32021) => "MissingRequiredClientCapabilityError",
        Some(-32022) => "UnsupportedProtocolVersionError",
        Some(-32099..=-32023) => {
            panic!("a reserved error code that the specification does not define: {error}")
        }
        _ => "JSONRPCErrorResponse",
    }
}

#[cfg(test)]
mod tests {
    use super::{check_client_message, check_server_message};
    use crate::spec;

    #[test]
    fn the_published_examples_pass_the_published_schema() {
        for (definition, method) in
            [("ListToolsResultResponse", "tools/list"), ("CallToolResultResponse", "tools/call")]
        {
            for (_, text) in spec::examples(definition) {
                check_server_message(text.as_bytes(), method);
            }
        }
        for (_, text) in spec::examples("CallToolRequest") {
            check_client_message(text.as_bytes());
        }
    }

    #[test]
    fn a_message_that_does_not_conform_is_named() {
        if spec::folder().is_none() {
            return;
        }
        let bad = br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":7}}"#;
        let fault = std::panic::catch_unwind(|| check_server_message(bad, "tools/call")).unwrap_err();
        let text = fault.downcast_ref::<String>().map(String::as_str).unwrap_or_default();
        assert!(text.contains("CallToolResult") && text.contains("/content"), "{text}");
    }
}
