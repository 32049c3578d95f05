//! A server in memory that plays a part: it starts, is silent, ends, makes noise, and answers as told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_client::{InProcess, Pipe};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::Notify;

/// What one connection does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    /// Answers everything.
    Serves,
    /// Says nothing, for ever.
    IsSilent,
    /// Ends before it answers.
    Ends,
    /// Answers everything; the first call of a tool is its end.
    EndsOnCall,
}

#[derive(Default)]
pub(super) struct Stage {
    parts: Mutex<VecDeque<Part>>,
    pub(super) tools: Mutex<Vec<Value>>,
    /// Every message of the client, over all connections.
    pub(super) heard: Mutex<Vec<Value>>,
    pub(super) connections: Mutex<usize>,
    /// Ends the connections that serve.
    pub(super) end: Notify,
    /// Lets the calls of `late` be answered.
    pub(super) late: Notify,
    noise: Mutex<Vec<String>>,
    /// How long its list of tools may be believed, in milliseconds.
    pub(super) ttl_ms: Mutex<i64>,
    /// Whether it tells of changes, to whoever listens.
    pub(super) tells: Mutex<bool>,
    /// Whether it is of the legacy era.
    pub(super) legacy: Mutex<bool>,
    /// Whether it lists its tools no more.
    pub(super) lists_nothing: Mutex<bool>,
    /// The tools that it has from its next answer to a call on.
    pub(super) tools_after_call: Mutex<Option<Vec<Value>>>,
    /// What its tools become, one list after the other, while it lists them: it tells of it before it answers.
    pub(super) tools_while_listed: Mutex<VecDeque<Vec<Value>>>,
    /// The tools have changed, and it says so.
    pub(super) changed: Notify,
    /// The id of the subscription to changes.
    subscription: Mutex<Option<Value>>,
}

#[derive(Clone)]
pub(super) struct Fake(pub(super) Arc<Stage>);

impl Fake {
    /// Plays these parts, one a connection, and serves from then on.
    pub(super) fn new(parts: impl IntoIterator<Item = Part>) -> Self {
        let stage = Stage {
            parts: Mutex::new(parts.into_iter().collect()),
            tools: Mutex::new(vec![tool("echo", true), tool("late", false), tool("hang", false)]),
            ..Stage::default()
        };
        Self(Arc::new(stage))
    }

    /// Lines that it writes at the beginning of each connection.
    pub(super) fn noisy(self, lines: &[&str]) -> Self {
        *self.0.noise.lock().unwrap() = lines.iter().map(|&line| line.to_owned()).collect();
        self
    }

    pub(super) fn connections(&self) -> usize {
        *self.0.connections.lock().unwrap()
    }

    pub(super) fn heard(&self, method: &str) -> Vec<Value> {
        let heard = self.0.heard.lock().unwrap();
        heard.iter().filter(|message| message["method"] == method).cloned().collect()
    }
}

pub(super) fn tool(name: &str, read_only: bool) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": read_only}})
}

impl InProcess for Fake {
    fn connect(&self) -> Pipe {
        let (here, there) = Pipe::in_memory(64 * 1024);
        *self.0.connections.lock().unwrap() += 1;
        let part = self.0.parts.lock().unwrap().pop_front().unwrap_or(Part::Serves);
        tokio::spawn(play(Arc::clone(&self.0), there, part));
        here
    }
}

async fn play(stage: Arc<Stage>, pipe: Pipe, part: Part) {
    let Pipe { reader, mut writer } = pipe;
    if part == Part::Ends {
        return;
    }
    let noise = stage.noise.lock().unwrap().clone();
    for line in noise {
        writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    let writer = Arc::new(tokio::sync::Mutex::new(writer));
    let mut lines = BufReader::new(reader).lines();
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line,
            () = stage.end.notified() => return,
            () = stage.changed.notified() => {
                say(&writer, &stage.list_changed()).await;
                continue;
            }
        };
        let Ok(Some(line)) = line else { return };
        let message: Value = serde_json::from_str(&line).unwrap();
        stage.heard.lock().unwrap().push(message.clone());
        if part == Part::IsSilent {
            continue;
        }
        if message["method"] == "tools/call" && part == Part::EndsOnCall {
            return;
        }
        tokio::spawn(answer(Arc::clone(&stage), message, Arc::clone(&writer)));
    }
}

type Writer = Arc<tokio::sync::Mutex<Box<dyn tokio::io::AsyncWrite + Send + Unpin>>>;

async fn answer(stage: Arc<Stage>, message: Value, writer: Writer) {
    let Some(id) = message.get("id") else { return };
    let (legacy, tells) = (*stage.legacy.lock().unwrap(), *stage.tells.lock().unwrap());
    let body = match message["method"].as_str() {
        Some("initialize") if legacy => json!({"result": {
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {"listChanged": tells}},
            "serverInfo": {"name": "fake", "version": "1"},
        }}),
        Some("server/discover" | "subscriptions/listen") if legacy => {
            json!({"error": {"code": -32601, "message": "no such method"}})
        }
        Some("subscriptions/listen") if tells => {
            *stage.subscription.lock().unwrap() = Some(id.clone());
            let params =
                json!({"notifications": {"toolsListChanged": true}, "_meta": stage.of_subscription()});
            let method = "notifications/subscriptions/acknowledged";
            return say(&writer, &json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
        }
        Some("server/discover") => json!({"result": {
            "resultType": "complete", "ttlMs": 60000, "cacheScope": "private",
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"}},
        }}),
        Some("tools/list") if *stage.lists_nothing.lock().unwrap() => return,
        Some("tools/list") => {
            let (tools, ttl) = (stage.tools.lock().unwrap().clone(), *stage.ttl_ms.lock().unwrap());
            let meanwhile = stage.tools_while_listed.lock().unwrap().pop_front();
            if let Some(meanwhile) = meanwhile {
                *stage.tools.lock().unwrap() = meanwhile;
                say(&writer, &stage.list_changed()).await;
            }
            json!({"result": {"resultType": "complete", "ttlMs": ttl, "cacheScope": "private", "tools": tools}})
        }
        Some("tools/call") => match called(&stage, &message).await {
            Some(text) => json!({"result": {
                "resultType": "complete", "content": [{"type": "text", "text": text}],
            }}),
            None => return,
        },
        _ => json!({"error": {"code": -32601, "message": "no such method"}}),
    };
    let after =
        if message["method"] == "tools/call" { stage.tools_after_call.lock().unwrap().take() } else { None };
    if let Some(tools) = after {
        *stage.tools.lock().unwrap() = tools;
        if tells {
            say(&writer, &stage.list_changed()).await;
        }
    }
    let mut line = json!({"jsonrpc": "2.0", "id": id});
    line.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    say(&writer, &line).await;
}

/// A client that is gone hears nothing.
async fn say(writer: &Writer, message: &Value) {
    let _ = writer.lock().await.write_all(format!("{message}\n").as_bytes()).await;
}

impl Stage {
    fn of_subscription(&self) -> Value {
        json!({"io.modelcontextprotocol/subscriptionId": *self.subscription.lock().unwrap()})
    }

    fn list_changed(&self) -> Value {
        let params =
            if *self.legacy.lock().unwrap() { json!({}) } else { json!({"_meta": self.of_subscription()}) };
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": params})
    }
}

async fn called(stage: &Stage, message: &Value) -> Option<String> {
    match message["params"]["name"].as_str()? {
        "echo" => Some(message["params"]["arguments"].to_string()),
        "late" => {
            stage.late.notified().await;
            Some("at last".to_owned())
        }
        _ => None,
    }
}
