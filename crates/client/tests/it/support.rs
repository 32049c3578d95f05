//! What the tests share: a scripted server that answers the probe, and a scripted pipe.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{Client, ClientBuilder};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};
use switchboard_testkit::wire::check_client_message;
use switchboard_transport::Pipe;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// What a modern server says about itself.
pub(crate) fn discovered() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}},
        "ttlMs": 60000,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "1"}}
    })
}

/// A page of a list that must not be kept.
pub(crate) fn page(member: &str, items: Value, next_cursor: Option<&str>) -> Value {
    let mut page = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    page[member] = items;
    if let Some(cursor) = next_cursor {
        page["nextCursor"] = cursor.into();
    }
    page
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

pub(crate) fn text_result(text: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}

/// A server that answers the probe and has the tool `f`, and plays `steps` besides.
pub(crate) async fn server<M: Into<String>>(steps: impl IntoIterator<Item = (M, Reply)>) -> ScriptedHttp {
    ScriptedHttp::play(steps)
        .await
        .always("server/discover", Reply::result(&discovered()))
        .always("tools/list", Reply::result(&page("tools", json!([tool("f")]), None)))
}

pub(crate) fn builder() -> ClientBuilder {
    Client::builder().info("tests", "1")
}

pub(crate) async fn connect(server: &ScriptedHttp) -> Client {
    builder().http(server.url()).await.unwrap()
}

/// Lets this much time pass at once, however long anything takes on this machine.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Answers a message with messages; `None` ends the connection.
type Script = dyn FnMut(&Value) -> Option<Vec<Value>> + Send;

/// A server at the other end of a pipe in memory. `script` is given each message, once it has been checked
/// against the published schema; a string among its answers is a line that is no message.
pub(crate) fn pipe_server(
    mut script: impl FnMut(&Value) -> Option<Vec<Value>> + Send + 'static,
) -> (Pipe, Arc<Mutex<Vec<Value>>>) {
    let (ours, theirs) = Pipe::in_memory(1 << 16);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        let script: &mut Script = &mut script;
        let mut lines = BufReader::new(theirs.reader).lines();
        let mut writer = theirs.writer;
        while let Ok(Some(line)) = lines.next_line().await {
            check_client_message(line.as_bytes());
            let message: Value = serde_json::from_str(&line).unwrap();
            log.lock().unwrap().push(message.clone());
            let Some(replies) = script(&message) else { return };
            for reply in replies {
                writer.write_all(as_line(&reply).as_bytes()).await.unwrap();
            }
        }
    });
    (ours, heard)
}

/// A message as a line, or a text that is none, as it is.
pub(crate) fn as_line(said: &Value) -> String {
    match said {
        Value::String(text) => format!("{text}\n"),
        message => format!("{message}\n"),
    }
}

pub(crate) fn answer(request: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}
