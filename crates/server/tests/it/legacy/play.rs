//! Plays a script of a client against the house, in one revision.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_server::{Eras, Limits, Server};
use switchboard_testkit::{dated, wire};
use switchboard_transport::{Lines, Pipe};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::house::{Desk, house, shed, usual_capabilities};
use crate::endpoint::meta;

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
    /// All of them, unless said otherwise.
    revisions: Option<Vec<String>>,
    /// `all`, `modern_only`, or `up_to` the revision that it is played in.
    #[serde(default = "all")]
    eras: String,
    /// Whether the session is opened first; with this, `initialized` is still to come.
    #[serde(default)]
    opening: Opening,
    /// What the client declares; the usual if absent.
    capabilities: Option<Value>,
    /// A server that has nothing but a tool.
    #[serde(default)]
    shed: bool,
    listen_uris: Option<usize>,
    batch_messages: Option<usize>,
    page_size: Option<usize>,
    line_bytes: Option<usize>,
    /// The client writes one byte at a time.
    #[serde(default)]
    byte_by_byte: bool,
    /// For how many milliseconds a question waits for its answer.
    question_ms: Option<u64>,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Opening {
    #[default]
    Whole,
    Half,
    None,
}

fn all() -> String {
    "all".into()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// A request: id, method, parameters.
    Ask(Value, String, Value),
    /// The same, in the modern way.
    Modern(Value, String, Value),
    /// A notification: method, parameters.
    Notify(String, Value),
    /// An answer to the question that was kept under this name.
    Answer(String, Value),
    /// An error instead.
    Fail(String, Value),
    /// Any text. `$LONG` in it is 40 requests in a row.
    Raw(String),
    /// The same in an encoding that is not UTF-8.
    Latin1(String),
    /// The next message of the server.
    Hear(Hear),
    /// The next message, which is of the modern era.
    HearModern(Hear),
    /// Nothing is due.
    Silent,
    /// Something changed: `tools`, `prompts`, `resources`, or a URI.
    Change(String),
    /// Lets a handler end.
    Go,
    /// What a handler says next.
    Seen(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hear {
    /// The method that a result answers.
    #[serde(default)]
    of: String,
    /// What it says, by pointer; `$absent`, `$text` and `~part of it` are what they say.
    #[serde(default)]
    with: BTreeMap<String, Value>,
    /// What differs in some revisions.
    #[serde(default)]
    but: BTreeMap<String, BTreeMap<String, Value>>,
    /// The name to keep its id under.
    keep: Option<String>,
    /// Parts of it to be used in later steps, by name and pointer.
    #[serde(default)]
    take: BTreeMap<String, String>,
}

impl Script {
    pub(super) fn is_about(&self, revision: Revision) -> bool {
        self.revisions.as_ref().is_none_or(|dates| dates.iter().any(|date| date == revision.date()))
    }

    fn server(&self, desk: Arc<Desk>, revision: Revision) -> Server {
        let eras = match self.eras.as_str() {
            "all" => Eras::ALL,
            "modern_only" => Eras::MODERN_ONLY,
            "up_to" => Eras::up_to(revision),
            other => panic!("no eras {other}"),
        };
        let mut limits = Limits::default();
        limits.listen_uris = self.listen_uris.unwrap_or(limits.listen_uris);
        limits.page_size = self.page_size.unwrap_or(limits.page_size);
        limits.line_bytes = self.line_bytes.unwrap_or(limits.line_bytes);
        limits.batch_messages = self.batch_messages.unwrap_or(limits.batch_messages);
        limits.request_state_ttl = self.question_ms.map_or(limits.request_state_ttl, Duration::from_millis);
        if self.shed { shed(eras) } else { house(desk, (eras, limits)) }
    }
}

/// The client's end of the pipe.
struct Client<'s> {
    script: &'s Script,
    revision: Revision,
    server: Server,
    desk: Arc<Desk>,
    events: mpsc::UnboundedReceiver<String>,
    pipe: Pipe,
    lines: Lines,
    serving: JoinHandle<std::io::Result<()>>,
    kept: HashMap<String, Value>,
}

/// Plays the script and sees that nothing is left to hear.
pub(super) async fn play(script: &Script, revision: Revision) {
    let (desk, events) = Desk::new();
    let server = script.server(Arc::clone(&desk), revision);
    let (pipe, Pipe { reader, writer }) = Pipe::in_memory(if script.byte_by_byte { 1 } else { 1 << 16 });
    let served = server.clone();
    let serving = tokio::spawn(async move { served.serve_io(reader, writer).await });
    let lines = Lines::new(1 << 20);
    let kept = HashMap::new();
    let mut client = Client { script, revision, server, desk, events, pipe, lines, serving, kept };
    client.open().await;
    for (number, step) in script.steps.iter().enumerate() {
        let place = format!("{} in {revision}, step {}: {step:?}", script.name, number + 1);
        let done = tokio::time::timeout(Duration::from_secs(10), client.step(step, &place)).await;
        assert!(done.is_ok(), "{place}: nothing happens");
    }
    client.silent("at the end").await;
    drop((client.pipe, client.lines));
    client.serving.await.unwrap().unwrap();
}

impl Client<'_> {
    async fn open(&mut self) {
        if self.script.opening == Opening::None {
            return;
        }
        let capabilities = self.script.capabilities.clone().unwrap_or_else(usual_capabilities);
        let params = json!({
            "protocolVersion": self.revision.date(),
            "capabilities": capabilities,
            "clientInfo": {"name": "client", "version": "7"},
        });
        self.say(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params})).await;
        let answer = self.hear("initialize").await;
        assert_eq!(answer["result"]["protocolVersion"], self.revision.date(), "{answer}");
        if self.script.opening == Opening::Whole {
            self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
    }

    async fn write(&mut self, text: &str) {
        self.pipe.writer.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    async fn say(&mut self, message: &Value) {
        self.write(&message.to_string()).await;
    }

    async fn line(&mut self) -> bytes::Bytes {
        loop {
            if let Some(line) = self.lines.next_line().unwrap() {
                return line;
            }
            assert!(self.lines.fill(&mut self.pipe.reader).await.unwrap() > 0, "the server is gone");
        }
    }

    /// The next message, held against the published schema of the revision.
    async fn hear(&mut self, method: &str) -> Value {
        let line = self.line().await;
        let message: Value = serde_json::from_slice(&line).unwrap();
        let method = if message["id"] == "marker" { "ping" } else { method };
        // An error about nothing that could be read has no id, for which the older schemas have no place.
        if message.get("id").is_some() || message.get("method").is_some() {
            dated::check_message(self.revision.date(), &line, method);
        }
        message
    }

    async fn silent(&mut self, place: &str) {
        self.say(&json!({"jsonrpc": "2.0", "id": "marker", "method": "ping"})).await;
        let message = self.hear("ping").await;
        assert_eq!(message["id"], "marker", "{}, {place}: {message}", self.script.name);
    }

    fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if text == "$REVISION" => self.revision.date().into(),
            Value::String(text) => match text.strip_prefix('$').and_then(|name| self.kept.get(name)) {
                Some(found) => found.clone(),
                None => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, member)| (name.clone(), self.fill(member))).collect()
            }
            _ => value.clone(),
        }
    }

    async fn step(&mut self, step: &Step, place: &str) {
        match step {
            Step::Ask(id, method, params) => {
                let params = self.fill(params);
                self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
            }
            Step::Modern(id, method, params) => {
                let mut params = params.clone();
                params["_meta"] = meta();
                self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
            }
            Step::Notify(method, params) => {
                let params = self.fill(params);
                self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
            }
            Step::Answer(name, result) => {
                let id = self.kept.get(name).cloned().unwrap_or_else(|| json!(name));
                self.say(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
            }
            Step::Fail(name, error) => {
                let id = self.kept[name].clone();
                self.say(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
            }
            Step::Raw(text) => {
                let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
                self.write(&text.replace("$LONG", &[ping; 40].join(","))).await;
            }
            Step::Latin1(text) => {
                let bytes = text.chars().map(|char| u8::try_from(char).unwrap());
                let line: Vec<u8> = bytes.chain([b'\n']).collect();
                self.pipe.writer.write_all(&line).await.unwrap();
            }
            Step::Hear(hear) => {
                let message = self.hear(&hear.of).await;
                self.compare(&message, hear, place);
            }
            Step::HearModern(hear) => {
                let line = self.line().await;
                wire::check_server_message(&line, &hear.of);
                self.compare(&serde_json::from_slice(&line).unwrap(), hear, place);
            }
            Step::Silent => self.silent(place).await,
            Step::Change(what) => {
                let notifier = self.server.notifier();
                match what.as_str() {
                    "tools" => notifier.tools_changed(),
                    "prompts" => notifier.prompts_changed(),
                    "resources" => notifier.resources_changed(),
                    uri => notifier.resource_updated(uri),
                }
            }
            Step::Go => self.desk.gate.add_permits(1),
            Step::Seen(expected) => assert_eq!(self.events.recv().await.as_ref(), Some(expected), "{place}"),
        }
    }

    fn compare(&mut self, message: &Value, hear: &Hear, place: &str) {
        let mut expected = hear.with.clone();
        expected.extend(hear.but.get(self.revision.date()).cloned().unwrap_or_default());
        for (pointer, value) in &expected {
            let found = message.pointer(pointer);
            match value.as_str() {
                Some("$absent") => assert_eq!(found, None, "{place}: {pointer} in {message}"),
                Some("$text") => {
                    assert!(found.is_some_and(Value::is_string), "{place}: {pointer} in {message}");
                }
                Some(text) if text.starts_with('~') => {
                    let found = found.and_then(Value::as_str).unwrap_or_default();
                    assert!(found.contains(&text[1..]), "{place}: {pointer} in {message}");
                }
                _ => assert_eq!(found, Some(&self.fill(value)), "{place}: {pointer} in {message}"),
            }
        }
        for (name, pointer) in &hear.take {
            self.kept.insert(name.clone(), message.pointer(pointer).unwrap().clone());
        }
        if let Some(name) = &hear.keep {
            self.kept.insert(name.clone(), message["id"].clone());
        }
    }
}
