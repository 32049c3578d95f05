//! Calls without a transport: a message in, the messages of its exchange out.

use bytes::Bytes;
use http::Extensions;
use serde_json::{Value, json};
use switchboard_protocol::RequestId;
use switchboard_server::{Call, Dispatch, ExchangeEvent, Server};
use switchboard_testkit::wire::check_server_message;

/// The text of a request with the `_meta` that every request has.
pub(crate) fn request(method: &str, params: Value) -> Value {
    let mut params = params;
    let meta = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
    let meta = meta.as_object_mut().unwrap();
    meta.entry("io.modelcontextprotocol/protocolVersion").or_insert_with(|| json!("2026-07-28"));
    meta.entry("io.modelcontextprotocol/clientCapabilities")
        .or_insert_with(|| json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} }));
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

/// All messages of one exchange, the reply last, each held against the published schema.
pub(crate) async fn exchange(server: &Server, message: &Value, extensions: Extensions) -> Vec<Value> {
    let body = Bytes::from(message.to_string());
    let mut out = Vec::new();
    let call = match Call::decode(&body, extensions) {
        Ok(call) => call,
        Err(refusal) => {
            let mut bytes = Vec::new();
            refusal.encode(&mut bytes);
            return vec![checked(&bytes, "")];
        }
    };
    let id = call.id.clone();
    let method = message["method"].as_str().unwrap();
    match server.dispatch(call) {
        Dispatch::Ready(reply) => out.push(encoded(reply, &id, method)),
        Dispatch::Running(mut exchange) => loop {
            match exchange.next_event().await {
                ExchangeEvent::Notification(bytes) => out.push(checked(&bytes, method)),
                ExchangeEvent::Reply(reply) => {
                    out.push(encoded(reply, &id, method));
                    break;
                }
            }
        },
        Dispatch::Listen(request) => out.push(json!({ "granted": request.filter })),
    }
    out
}

fn encoded(reply: switchboard_server::Reply, id: &RequestId, method: &str) -> Value {
    let mut bytes = Vec::new();
    reply.encode(&mut bytes, id);
    checked(&bytes, method)
}

fn checked(bytes: &[u8], method: &str) -> Value {
    check_server_message(bytes, method);
    serde_json::from_slice(bytes).unwrap()
}

/// The last message of an exchange.
pub(crate) async fn reply(server: &Server, method: &str, params: Value) -> Value {
    exchange(server, &request(method, params), Extensions::new()).await.pop().unwrap()
}

/// The last message of a tool call.
pub(crate) async fn call(server: &Server, name: &str, arguments: Value) -> Value {
    reply(server, "tools/call", json!({ "name": name, "arguments": arguments })).await
}

/// The text of the first block of a result, with a mark in front of failures.
pub(crate) fn text(reply: &Value) -> String {
    let text = reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {reply}"));
    if reply["result"]["isError"] == true { format!("failed: {text}") } else { text.to_owned() }
}

/// Code and message of an error.
pub(crate) fn error(reply: &Value) -> (i64, String) {
    let error = &reply["error"];
    let code = error["code"].as_i64().unwrap_or_else(|| panic!("no error in {reply}"));
    (code, error["message"].as_str().unwrap().to_owned())
}
