//! A server of the legacy era at the other end of a pipe in memory, which plays a script.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::{dated, wire};
use switchboard_transport::Pipe;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::support::as_line;

pub(crate) const NEWEST: &str = "2025-11-25";

/// Every legacy revision, newest first.
pub(crate) const DATES: [&str; 4] = [NEWEST, "2025-06-18", "2025-03-26", "2024-11-05"];

/// What the server says to a message; `None` ends the connection.
pub(crate) type Said = Option<Vec<Value>>;

/// The server as a test sees it.
pub(crate) struct Peer {
    heard: watch::Receiver<Vec<Value>>,
    say: mpsc::UnboundedSender<Value>,
}

impl Peer {
    /// Says something now.
    pub(crate) fn say(&self, message: Value) {
        self.say.send(message).unwrap();
    }

    pub(crate) fn ask(&self, id: Value, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Everything that came so far.
    pub(crate) fn heard(&self) -> Vec<Value> {
        self.heard.borrow().clone()
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        let named = |message: &Value| message["method"].as_str().unwrap_or("response").to_owned();
        self.heard().iter().map(named).collect()
    }

    /// The messages of this method so far; `response` for answers.
    pub(crate) fn all(&self, method: &str) -> Vec<Value> {
        let of = |message: &Value| message["method"].as_str().unwrap_or("response") == method;
        self.heard().into_iter().filter(of).collect()
    }

    /// Waits until so many messages of this method have come.
    pub(crate) async fn wait(&mut self, method: &str, count: usize) -> Vec<Value> {
        loop {
            let all = self.all(method);
            if all.len() >= count {
                return all;
            }
            self.heard.changed().await.unwrap();
        }
    }

    /// Waits until the client has closed the pipe.
    pub(crate) async fn left(&mut self) {
        while self.heard.changed().await.is_ok() {}
    }
}

/// A server that plays `script`. Messages to it are held against the published schema of `date`.
pub(crate) fn peer(
    date: &'static str,
    mut script: impl FnMut(&Value) -> Said + Send + 'static,
) -> (Pipe, Peer) {
    let (ours, theirs) = Pipe::in_memory(1 << 16);
    let (heard, receiver) = watch::channel(Vec::new());
    let (say, mut saying) = mpsc::unbounded_channel::<Value>();
    let asked: Arc<Mutex<HashMap<String, String>>> = Arc::default();
    tokio::spawn(async move {
        let mut lines = BufReader::new(theirs.reader).lines();
        let mut writer = theirs.writer;
        loop {
            let replies = tokio::select! {
                biased;
                Some(message) = saying.recv() => Some(vec![message]),
                line = lines.next_line() => {
                    let Ok(Some(line)) = line else { return };
                    check(date, &line, &asked.lock().unwrap());
                    let message: Value = serde_json::from_str(&line).unwrap();
                    heard.send_modify(|heard| heard.push(message.clone()));
                    script(&message)
                }
            };
            let Some(replies) = replies else { return };
            for reply in replies {
                for said in reply.as_array().unwrap_or(&vec![reply.clone()]) {
                    if let (Some(method), Some(id)) = (said["method"].as_str(), said.get("id")) {
                        asked.lock().unwrap().insert(id.to_string(), method.to_owned());
                    }
                }
                if writer.write_all(as_line(&reply).as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    });
    (ours, Peer { heard: receiver, say })
}

fn check(date: &str, line: &str, asked: &HashMap<String, String>) {
    let message: Value = serde_json::from_str(line).unwrap();
    match message["method"].as_str() {
        Some("server/discover") => wire::check_client_message(line.as_bytes()),
        // It is not yet known what will be spoken.
        Some("initialize") => {
            let offered = message["params"]["protocolVersion"].as_str().unwrap();
            dated::check_message(offered, line.as_bytes(), "");
        }
        Some(_) => dated::check_message(date, line.as_bytes(), ""),
        None => {
            let method = asked.get(&message["id"].to_string()).map(String::as_str);
            dated::check_message(date, line.as_bytes(), method.unwrap_or_default());
        }
    }
}

/// Lets so many seconds pass on a clock that stands still until everybody waits.
pub(crate) async fn pass(seconds: u64) {
    tokio::time::sleep_until(Instant::now() + Duration::from_secs(seconds)).await;
}

pub(crate) fn result(request: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

pub(crate) fn error(request: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})
}

pub(crate) fn described(date: &str) -> Value {
    json!({
        "protocolVersion": date,
        "capabilities": {
            "tools": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "logging": {}
        },
        "serverInfo": {"name": "scripted", "version": "1"},
        "instructions": "Be kind."
    })
}

/// What every server of a session answers; `script` has the first word.
pub(crate) fn session(
    date: &'static str,
    mut script: impl FnMut(&Value) -> Option<Said> + Send + 'static,
) -> (Pipe, Peer) {
    peer(date, move |message| {
        if let Some(said) = script(message) {
            return said;
        }
        Some(match message["method"].as_str() {
            Some("server/discover") => vec![error(message, -32601, "Method not found")],
            Some("initialize") => vec![result(message, described(date))],
            Some("tools/call") => {
                vec![result(message, json!({"content": [{"type": "text", "text": "done"}]}))]
            }
            Some("tools/list") => vec![result(message, tools())],
            Some("logging/setLevel" | "resources/subscribe" | "resources/unsubscribe") => {
                vec![result(message, json!({}))]
            }
            _ => vec![],
        })
    })
}

pub(crate) fn tools() -> Value {
    json!({"tools": [{"name": "f", "inputSchema": {"type": "object"}}]})
}
