//! What must be an object is one: every place of every method, over both transports.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_server::{HttpService, Limits};

use super::house::house;
use super::play::said_over_a_pipe;
use crate::endpoint::{Answer, Post, REVISION, answer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "why")]
    _why: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    method: String,
    params: Value,
    arrays: BTreeMap<String, Value>,
}

impl Row {
    fn good(&self) -> Value {
        let params = fill(&self.params);
        json!({"jsonrpc": "2.0", "id": 7, "method": self.method, "params": params})
    }

    fn spoilt(&self) -> impl Iterator<Item = Value> {
        self.arrays.iter().map(|(pointer, array)| {
            let mut message = self.good();
            put(&mut message, pointer, fill(array));
            message
        })
    }

    fn post(&self, message: &Value) -> Post {
        let post = Post::raw(&self.method, message.to_string());
        let name = self.params.get("name").or(self.params.get("uri")).and_then(Value::as_str);
        match name {
            Some(name) => post.set("mcp-name", name),
            None => post,
        }
    }
}

/// Replaces or adds a member.
fn put(message: &mut Value, pointer: &str, array: Value) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        *message = array;
        return;
    };
    message.pointer_mut(parent).unwrap()[name.replace("~1", "/")] = array;
}

fn fill(value: &Value) -> Value {
    let capabilities = json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}});
    match value {
        Value::String(text) if text == "$META" => json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }),
        Value::String(text) if text == "$BY_POSITION" => {
            json!([REVISION, null, capabilities, null, null, null, null, null])
        }
        Value::String(text) if text == "$LARGE" => "x".repeat(20_000).into(),
        Value::Array(items) => items.iter().map(fill).collect(),
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), fill(member))).collect(),
        other => other.clone(),
    }
}

/// An error that says whose it is, if the message has an id at all.
fn check_refused(reply: &Value, message: &Value) {
    let shown: String = message.to_string().chars().take(600).collect();
    let code = reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("{shown} was served: {reply}"));
    assert!([-32_600, -32_602].contains(&code), "{shown}: {reply}");
    assert_eq!(reply.get("id"), message.get("id"), "{shown}: {reply}");
}

async fn check_over_http(service: &HttpService, row: &Row) {
    let served = answer(service, row.post(&row.good()).request()).await;
    assert_eq!(served.status(), 200, "{} as it should be", row.method);
    for message in row.spoilt() {
        let got = Answer::read(answer(service, row.post(&message).request()).await, &row.method).await;
        check_refused(got.json(), &message);
        assert_eq!(got.status, 400, "{message}");
    }
}

#[tokio::test]
async fn what_must_be_an_object_is_not_read_from_an_array() {
    let file: File = serde_json::from_str(include_str!("../../data/objects.json")).unwrap();
    let service = house(Limits::default()).http().into_service();
    for row in &file.rows {
        check_over_http(&service, row).await;
        for message in row.spoilt() {
            let said = said_over_a_pipe(&message.to_string(), &row.method).await;
            assert_eq!(said.len(), 1, "{said:?}");
            check_refused(&said[0], &message);
        }
    }
}
