//! The format of scripts, and what each turn answers.
//!
//! A script is JSON: `{"turns": [ … ]}`. A turn says what it expects of the request and answers in one of four
//! ways: `say` and `call` (written the usual way, streamed if the request asks for it), `stream` (pieces of an
//! event stream) or `body` (anything, with `status` and `headers`).

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::RecordedRequest;
use super::body::ScriptedBody;

/// What a scripted model plays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// One answer a chat request, in order.
    pub turns: Vec<Turn>,
    /// Whether to begin again after the last turn, instead of refusing.
    pub repeat: bool,
    /// Answers to GET requests by path, such as `/v1/models`. Every other path is not found.
    pub get: BTreeMap<String, Value>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// If the text is not JSON or has members that a script does not have.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// What the request must be like.
    pub expect: Expect,
    /// The status. 200 by default.
    pub status: Option<u16>,
    /// Further headers; they replace the usual ones.
    pub headers: BTreeMap<String, String>,
    /// The answer's text.
    pub say: Option<String>,
    /// The answer's calls.
    pub call: Vec<Call>,
    /// An event stream: a text is sent as it stands, any other value as the data of one event.
    pub stream: Option<Vec<Piece>>,
    /// A body: a text is sent as it stands, any other value as JSON.
    pub body: Option<Value>,
    /// Byte offsets at which the body is cut into pieces of their own.
    pub cuts: Vec<usize>,
    /// The size of the pieces in bytes, instead of `cuts`.
    pub cut_every: Option<usize>,
    /// What happens after the last byte.
    pub then: Ending,
}

/// One piece of a scripted event stream.
pub type Piece = Value;

/// A call of a tool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    /// The id. Made up if it is empty.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: a text is sent as it stands, any other value as its JSON text.
    pub arguments: Value,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// In good order.
    #[default]
    End,
    /// The connection breaks.
    Abort,
    /// Nothing more comes and the connection stays open.
    Hang,
}

/// What a request must be like. What is absent is not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// The path. `/v1/chat/completions` by default.
    pub path: Option<String>,
    /// The role of the last message.
    pub last_role: Option<String>,
    /// What the text of the last message must contain.
    pub last_contains: Option<String>,
    /// The number of messages.
    pub messages: Option<usize>,
    /// Tools that must be offered.
    pub offers: Vec<String>,
    /// Members of the body that must be there.
    pub has: Vec<String>,
    /// Members of the body that must not be there.
    pub lacks: Vec<String>,
    /// What the body must contain as text.
    pub contains: Vec<String>,
}

impl Expect {
    pub(super) fn check(&self, request: &RecordedRequest) -> Result<(), String> {
        let path = self.path.as_deref().unwrap_or("/v1/chat/completions");
        if request.path != path {
            return Err(format!("path {}, expected {path}", request.path));
        }
        let messages = request.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        if self.messages.is_some_and(|count| count != messages.len()) {
            return Err(format!("{} messages, expected {:?}", messages.len(), self.messages));
        }
        let last = messages.last().unwrap_or(&Value::Null);
        if let Some(role) = &self.last_role
            && last["role"] != role.as_str()
        {
            return Err(format!("the last message has role {}, expected {role}", last["role"]));
        }
        if let Some(text) = &self.last_contains
            && !last["content"].as_str().unwrap_or_default().contains(text)
        {
            return Err(format!("the last message is {}, expected to contain {text:?}", last["content"]));
        }
        self.check_members(request)
    }

    fn check_members(&self, request: &RecordedRequest) -> Result<(), String> {
        let tools = request.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        for name in &self.offers {
            if !tools.iter().any(|tool| tool["function"]["name"] == name.as_str()) {
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

impl Turn {
    /// A turn that answers with text.
    pub fn say(text: impl Into<String>) -> Self {
        Self { say: Some(text.into()), ..Self::default() }
    }

    /// A turn that calls one tool.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self { call: vec![Call { id: String::new(), name: name.into(), arguments }], ..Self::default() }
    }

    /// A turn that fails.
    pub fn fail(status: u16, body: Value) -> Self {
        Self { status: Some(status), body: Some(body), ..Self::default() }
    }

    /// A turn that answers with an event stream.
    pub fn stream(pieces: Vec<Piece>) -> Self {
        Self { stream: Some(pieces), ..Self::default() }
    }

    pub(super) fn respond(&self, turn: usize, request: &Value) -> Result<Response<ScriptedBody>, String> {
        let (bytes, media_type) = self.bytes(turn, request);
        let mut response = Response::new(ScriptedBody::new(self.pieces(&bytes), self.then));
        if let Some(status) = self.status {
            *response.status_mut() =
                StatusCode::from_u16(status).map_err(|_| format!("no status {status}"))?;
        }
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        for (name, value) in &self.headers {
            let name = name.parse::<HeaderName>().map_err(|_| format!("no header name {name:?}"))?;
            let value = HeaderValue::from_str(value).map_err(|_| format!("no header value {value:?}"))?;
            response.headers_mut().insert(name, value);
        }
        Ok(response)
    }

    /// The bytes that this turn sends, for tests that need no connection.
    #[cfg(test)]
    pub(crate) fn wire_bytes(&self) -> Bytes {
        self.bytes(0, &Value::Null).0
    }

    fn bytes(&self, turn: usize, request: &Value) -> (Bytes, &'static str) {
        const JSON: &str = "application/json";
        const STREAM: &str = "text/event-stream";
        if let Some(pieces) = &self.stream {
            return (encode(pieces), STREAM);
        }
        if let Some(body) = &self.body {
            return (text_or_json(body).into(), JSON);
        }
        let calls: Vec<Value> =
            self.call.iter().enumerate().map(|(index, call)| call.wire(turn, index)).collect();
        let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
        let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
        if request["stream"] != true {
            let message = json!({ "role": "assistant", "content": self.say, "tool_calls": calls });
            let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
            let body = json!({ "object": "chat.completion", "choices": [choice], "usage": usage });
            return (body.to_string().into(), JSON);
        }
        let chunk =
            |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
        let mut pieces = vec![chunk(json!({ "role": "assistant", "content": "" }))];
        pieces.extend(
            words(self.say.as_deref().unwrap_or_default()).map(|word| chunk(json!({ "content": word }))),
        );
        pieces.extend(calls.into_iter().map(|call| chunk(json!({ "tool_calls": [call] }))));
        pieces.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }));
        pieces.push(json!({ "choices": [], "usage": usage }));
        pieces.push(json!("data: [DONE]\n\n"));
        (encode(&pieces), STREAM)
    }

    fn pieces(&self, bytes: &Bytes) -> Vec<Bytes> {
        let mut cuts: Vec<usize> = match self.cut_every {
            Some(size) => (0..bytes.len()).step_by(size.max(1)).collect(),
            None => self.cuts.clone(),
        };
        cuts.retain(|cut| *cut > 0 && *cut < bytes.len());
        cuts.sort_unstable();
        cuts.dedup();
        cuts.push(bytes.len());
        let mut start = 0;
        cuts.into_iter().map(|end| bytes.slice(std::mem::replace(&mut start, end)..end)).collect()
    }
}

impl Call {
    fn wire(&self, turn: usize, index: usize) -> Value {
        let id =
            if self.id.is_empty() { format!("call_{}_{}", turn + 1, index + 1) } else { self.id.clone() };
        let function = json!({ "name": self.name, "arguments": text_or_json(&self.arguments) });
        json!({ "index": index, "id": id, "type": "function", "function": function })
    }
}

/// The bytes of an event stream of these pieces.
pub(super) fn encode(pieces: &[Piece]) -> Bytes {
    let encoded: String = pieces
        .iter()
        .map(|piece| match piece {
            Value::String(raw) => raw.clone(),
            data => format!("data: {data}\n\n"),
        })
        .collect();
    encoded.into()
}

fn text_or_json(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}
