//! Plays a script of requests against the house and compares what comes back.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_server::Limits;
use switchboard_testkit::wire::check_server_message;
use switchboard_transport::{Lines, Pipe};
use tokio::io::AsyncWriteExt;

use super::house::{caller, house};
use crate::endpoint::{Answer, Post, answer, meta};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(rename = "why")]
    _why: String,
    pub(super) scripts: Vec<Script>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    name: String,
    /// `http` or `pipe`, where the other cannot play it.
    pub(super) only: Option<String>,
    page_size: Option<usize>,
    /// For how many seconds a request state is good.
    state_ttl: Option<u64>,
    steps: Vec<Step>,
}

/// One message of the client and everything that the server says to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(default)]
    method: String,
    #[serde(default = "no_params")]
    params: Value,
    /// Put over the usual `_meta`; `null` takes a member away.
    #[serde(default)]
    meta: Map<String, Value>,
    #[serde(default = "seven")]
    id: Value,
    /// Instead of all that: the message as text. `$META` in it is the usual `_meta`, `$DEEP` an array in 5000
    /// arrays.
    raw: Option<String>,
    /// Who asks, over HTTP.
    #[serde(rename = "as")]
    by: Option<String>,
    /// Over HTTP, over the usual ones.
    #[serde(default)]
    headers: Value,
    status: Option<u16>,
    /// The notifications before the reply, each by pointer.
    #[serde(default)]
    said: Vec<BTreeMap<String, Value>>,
    /// The reply by pointer; `"$absent"` for what must not be there. Without it, nothing must come.
    reply: Option<BTreeMap<String, Value>>,
    /// Parts of the reply to be used in later steps as `"$name"` or `"$name+more"`, by pointer.
    #[serde(default)]
    keep: BTreeMap<String, String>,
}

fn no_params() -> Value {
    json!({})
}

fn seven() -> Value {
    json!(7)
}

impl Script {
    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.page_size = self.page_size.unwrap_or(limits.page_size);
        limits.request_state_ttl = self.state_ttl.map_or(limits.request_state_ttl, Duration::from_secs);
        limits
    }
}

/// What earlier steps kept.
type Kept = HashMap<String, Value>;

fn fill(value: &Value, kept: &Kept) -> Value {
    match value {
        Value::String(text) => {
            let (name, more) = text.split_once('+').unwrap_or((text, ""));
            match name.strip_prefix('$').and_then(|name| kept.get(name)) {
                Some(Value::String(found)) => format!("{found}{more}").into(),
                Some(found) => found.clone(),
                None => value.clone(),
            }
        }
        Value::Array(items) => items.iter().map(|item| fill(item, kept)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), fill(member, kept))).collect()
        }
        _ => value.clone(),
    }
}

impl Step {
    fn message(&self, kept: &Kept) -> String {
        if let Some(raw) = &self.raw {
            let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
            return raw.replace("$META", &meta().to_string()).replace("$DEEP", &deep);
        }
        let mut params = fill(&self.params, kept);
        if params.is_object() {
            let mut full = meta();
            let members = full.as_object_mut().unwrap();
            for (name, value) in &self.meta {
                members.remove(name);
                if !value.is_null() {
                    members.insert(name.clone(), value.clone());
                }
            }
            params["_meta"] = full;
        }
        json!({"jsonrpc": "2.0", "id": self.id, "method": self.method, "params": params}).to_string()
    }

    fn post(&self, kept: &Kept) -> Post {
        let mut post = Post::raw(&self.method, self.message(kept));
        let params = fill(&self.params, kept);
        if let Some(name) = params.get("name").or(params.get("uri")).and_then(Value::as_str) {
            let header = switchboard_protocol::http::value::encode(name);
            post = post.set("mcp-name", &header);
        }
        post.set_all(Some(&self.headers))
    }

    fn check(&self, messages: &[Value], kept: &mut Kept, place: &str) {
        let (said, reply) = match (&self.reply, messages.split_last()) {
            (Some(_), Some((last, said))) => (said, Some(last)),
            (Some(_), None) => panic!("{place}: no reply"),
            (None, _) => (messages, None),
        };
        assert_eq!(said.len(), self.said.len(), "{place}: {messages:?}");
        for (message, expected) in said.iter().zip(&self.said) {
            compare(message, expected, kept, place);
        }
        let (Some(reply), Some(expected)) = (reply, &self.reply) else { return };
        compare(reply, expected, kept, place);
        if self.raw.is_none() {
            assert_eq!(reply["id"], self.id, "{place}: {reply}");
        }
        for (name, pointer) in &self.keep {
            let found = reply.pointer(pointer).unwrap_or_else(|| panic!("{place}: no {pointer} in {reply}"));
            kept.insert(name.clone(), found.clone());
        }
    }
}

fn compare(message: &Value, expected: &BTreeMap<String, Value>, kept: &Kept, place: &str) {
    for (pointer, value) in expected {
        let found = message.pointer(pointer);
        match value.as_str() {
            Some("$absent") => assert_eq!(found, None, "{place}: {pointer} in {message}"),
            Some("$text") => assert!(found.is_some_and(Value::is_string), "{place}: {pointer} in {message}"),
            Some(text) if text.starts_with('~') => {
                let found = found.and_then(Value::as_str).unwrap_or_default();
                assert!(found.contains(&text[1..]), "{place}: {pointer} in {message}");
            }
            _ => assert_eq!(found, Some(&fill(value, kept)), "{place}: {pointer} in {message}"),
        }
    }
    // In every result [spec: basic, serverInfo].
    if let Some(result) = message.get("result") {
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(*info, json!({"name": "house", "version": "2.1"}), "{place}: {message}");
        assert!(result["resultType"].is_string(), "{place}: {message}");
    }
}

pub(super) async fn over_http(script: &Script) {
    let service = house(script.limits()).http().into_service();
    let mut kept = Kept::new();
    for (number, step) in script.steps.iter().enumerate() {
        let place = format!("{}, step {}, HTTP", script.name, number + 1);
        let mut request = step.post(&kept).request();
        if let Some(by) = &step.by {
            request.extensions_mut().extend(caller(by));
        }
        let got = Answer::read(answer(&service, request).await, &step.method).await;
        if let Some(status) = step.status {
            assert_eq!(got.status, status, "{place}: {got:?}");
        }
        step.check(&got.messages, &mut kept, &place);
    }
}

/// The client's end of the pipe.
struct Client {
    pipe: Pipe,
    lines: Lines,
}

impl Client {
    async fn say(&mut self, line: &str) {
        self.pipe.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self, method: &str) -> Value {
        loop {
            if let Some(line) = self.lines.next_line().unwrap() {
                let message: Value = serde_json::from_slice(&line).unwrap();
                let method = if message["id"] == "marker" { "server/discover" } else { method };
                check_server_message(&line, method);
                return message;
            }
            assert!(self.lines.fill(&mut self.pipe.reader).await.unwrap() > 0, "the server is gone");
        }
    }
}

pub(super) async fn over_a_pipe(script: &Script) {
    let server = house(script.limits());
    let (pipe, Pipe { reader, writer }) = Pipe::in_memory(1 << 16);
    let serving = tokio::spawn(async move { server.serve_io(reader, writer).await });
    let mut client = Client { pipe, lines: Lines::new(1 << 20) };
    let mut kept = Kept::new();
    for (number, step) in script.steps.iter().enumerate() {
        let place = format!("{}, step {}, pipe", script.name, number + 1);
        client.say(&step.message(&kept)).await;
        let mut messages = Vec::new();
        // Everything that the server says to a request without waiting comes before the answer to the next;
        // what waits comes until its reply.
        while step.reply.is_some() && messages.last().is_none_or(|last: &Value| last.get("method").is_some())
        {
            messages.push(client.hear(&step.method).await);
        }
        let marker = json!({"jsonrpc": "2.0", "id": "marker", "method": "server/discover", "params": {"_meta": meta()}});
        client.say(&marker.to_string()).await;
        loop {
            let message = client.hear(&step.method).await;
            if message["id"] == "marker" {
                break;
            }
            messages.push(message);
        }
        step.check(&messages, &mut kept, &place);
    }
    drop(client);
    serving.await.unwrap().unwrap();
}

/// Everything that a fresh server says to one line of a client, up to the end.
pub(super) async fn said_over_a_pipe(line: &str, method: &str) -> Vec<Value> {
    let server = house(Limits::default());
    let (pipe, Pipe { reader, writer }) = Pipe::in_memory(1 << 16);
    let serving = tokio::spawn(async move { server.serve_io(reader, writer).await });
    let mut client = Client { pipe, lines: Lines::new(1 << 20) };
    client.say(line).await;
    client.pipe.writer.shutdown().await.unwrap();
    let mut said = Vec::new();
    loop {
        while let Some(line) = client.lines.next_line().unwrap() {
            check_server_message(&line, method);
            said.push(serde_json::from_slice(&line).unwrap());
        }
        if client.lines.fill(&mut client.pipe.reader).await.unwrap() == 0 {
            break;
        }
    }
    serving.await.unwrap().unwrap();
    said
}
