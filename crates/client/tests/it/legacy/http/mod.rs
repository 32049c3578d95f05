//! Sessions over HTTP, against servers that play a script.

mod framing;
mod handshakes;
mod redirects;
mod resumption;
mod session;
mod sse;
mod standing;

use serde_json::{Value, json};
use switchboard_client::{CallToolResult, Client, ClientBuilder, Era, Error};
use switchboard_testkit::scripted_http::{Received, Reply, ScriptedHttp};

pub(super) const NEWEST: &str = "2025-11-25";

/// The answer to a handshake, under a session id or without one.
pub(super) fn handshake(revision: &str, session: Option<&str>) -> Reply {
    let session = session.map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
    let body = json!({"jsonrpc": "2.0", "id": "$id", "result": initialized(revision)});
    let body = body.to_string().replace("\"$id\"", "$id");
    Reply::http(200, &format!("content-type: application/json\r\n{session}"), &body)
}

pub(super) fn initialized(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}},
        "serverInfo": {"name": "scripted", "version": "1"}
    })
}

/// What every server of a session answers in the same way.
pub(super) async fn bare(steps: impl IntoIterator<Item = (&'static str, Reply)>) -> ScriptedHttp {
    ScriptedHttp::play(steps)
        .await
        .of_legacy_era()
        .always("notifications/initialized", Reply::http(202, "", ""))
        .always("notifications/cancelled", Reply::http(202, "", ""))
        .always("response", Reply::http(202, "", ""))
        .always(
            "tools/list",
            Reply::result(&json!({"tools": [{"name": "f", "inputSchema": {"type": "object"}}]})),
        )
}

/// A server that agrees on the newest revision, and gives the session the id `s-1`.
pub(super) async fn server(steps: impl IntoIterator<Item = (&'static str, Reply)>) -> ScriptedHttp {
    bare(steps).await.always("initialize", handshake(NEWEST, Some("s-1")))
}

pub(super) fn builder() -> ClientBuilder {
    Client::builder().info("tests", "1").era(Era::Legacy)
}

pub(super) async fn connect(server: &ScriptedHttp) -> Client {
    builder().http(server.url()).await.unwrap()
}

pub(super) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(super) fn response(result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "$id", "result": result})
}

/// The response that the tests wait for, as text with the place of the id.
pub(super) fn done() -> String {
    response(&text("done")).to_string().replace("\"$id\"", "$id")
}

pub(super) async fn call(client: &Client) -> Result<CallToolResult, Error> {
    client.call("f", &json!({})).await
}

pub(super) fn check_done(outcome: Result<CallToolResult, Error>) {
    assert_eq!(outcome.unwrap().text(), "done");
}

/// The methods of what was asked, without what comes at times of its own.
pub(super) fn methods(received: &[Received]) -> Vec<String> {
    let own_time = |method: &String| !matches!(method.as_str(), "GET" | "DELETE");
    received.iter().map(Received::method).filter(own_time).collect()
}
