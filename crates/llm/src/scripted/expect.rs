//! Whether a request is as the script expects, on either wire.

use serde_json::Value;

use super::script::Expect;
use super::{RecordedRequest, Wire};

impl Expect {
    pub(super) fn check(&self, request: &RecordedRequest) -> Result<(), String> {
        let usual = ["/v1/chat/completions", "/v1/messages"];
        match &self.path {
            Some(path) if request.path != *path => {
                return Err(format!("path {}, expected {path}", request.path));
            }
            None if !usual.contains(&request.path.as_str()) => {
                return Err(format!("path {}, expected {}", request.path, usual.join(" or ")));
            }
            _ => {}
        }
        let messages = request.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        if self.messages.is_some_and(|count| count != messages.len()) {
            return Err(format!("{} messages, expected {:?}", messages.len(), self.messages));
        }
        let last = messages.last().unwrap_or(&Value::Null);
        if let Some(expected) = &self.last_role
            && role(last) != expected
        {
            return Err(format!("the last message has role {}, expected {expected}", role(last)));
        }
        if let Some(expected) = &self.last_contains
            && !words(&last["content"]).contains(expected)
        {
            return Err(format!("the last message is {}, expected to contain {expected:?}", last["content"]));
        }
        self.check_members(request)
    }

    fn check_members(&self, request: &RecordedRequest) -> Result<(), String> {
        let tools = request.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name_of = |tool: &Value| match Wire::of(&request.path) {
            Some(Wire::Messages) => tool["name"].clone(),
            _ => tool["function"]["name"].clone(),
        };
        for name in &self.offers {
            if !tools.iter().any(|tool| name_of(tool) == name.as_str()) {
                return Err(format!("tool {name} is not offered"));
            }
        }
        if let Some(name) = self.has.iter().find(|name| request.body.get(name).is_none()) {
            return Err(format!("member {name} is missing"));
        }
        if let Some(name) = self.lacks.iter().find(|name| request.body.get(name).is_some()) {
            return Err(format!("member {name} is there"));
        }
        let text = String::from_utf8_lossy(&request.bytes);
        match self.contains.iter().find(|part| !text.contains(part.as_str())) {
            Some(part) => Err(format!("the body does not contain {part}")),
            None => Ok(()),
        }
    }
}

/// The role of a message as hosts see it: one wire has results of calls in messages of the user.
fn role(message: &Value) -> &str {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    if blocks.iter().any(|block| block["type"] == "tool_result") {
        return "tool";
    }
    message["role"].as_str().unwrap_or_default()
}

/// The words of a message's content, whatever they stand in.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .map(|block| match block {
                Value::Object(block) if block.contains_key("text") => words(&block["text"]),
                Value::Object(block) if block.contains_key("content") => words(&block["content"]),
                _ => String::new(),
            })
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
