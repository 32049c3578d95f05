//! What a client costs that never stops, never reads or never answers.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_server::{Eras, Limits, Server};
use switchboard_transport::{InProcess, Lines, Pipe};
use tokio::io::AsyncWriteExt;

use super::house::{Desk, house, usual_capabilities};

struct Client {
    pipe: Pipe,
    lines: Lines,
}

impl Client {
    /// A client whose session is open.
    async fn open(server: &Server) -> Self {
        let mut client = Self { pipe: server.connect(), lines: Lines::new(1 << 20) };
        let params = json!({
            "protocolVersion": Revision::NEWEST_LEGACY.date(),
            "capabilities": usual_capabilities(),
            "clientInfo": {"name": "client", "version": "7"},
        });
        client.ask("hello", "initialize", params).await;
        assert_eq!(client.hear().await["id"], "hello");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn say(&mut self, message: &Value) {
        self.pipe.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id: Value = id.into();
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    /// The next message; `null` once the server is gone.
    async fn hear(&mut self) -> Value {
        loop {
            if let Some(line) = self.lines.next_line().unwrap() {
                return serde_json::from_slice(&line).unwrap();
            }
            if self.lines.fill(&mut self.pipe.reader).await.unwrap() == 0 {
                return Value::Null;
            }
        }
    }

    async fn pings(&mut self) {
        self.ask("still here", "ping", json!({})).await;
        assert_eq!(self.hear().await, json!({"jsonrpc": "2.0", "id": "still here", "result": {}}));
    }
}

fn server(limits: Limits) -> Server {
    house(Desk::new().0, (Eras::ALL, limits))
}

#[tokio::test]
async fn a_flood_of_what_means_nothing_is_met_with_silence() {
    let mut client = Client::open(&server(Limits::default())).await;
    for number in 0..2_000 {
        client.say(&json!({"jsonrpc": "2.0", "id": number, "result": {"action": "accept"}})).await;
        client
            .say(&json!({"jsonrpc": "2.0", "id": format!("{number}"), "error": {"code": 1, "message": "x"}}))
            .await;
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await;
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})).await;
    }
    client.pings().await;
}

#[tokio::test]
async fn what_changes_a_thousand_times_unread_is_told_once() {
    let server = server(Limits::default());
    let mut client = Client::open(&server).await;
    client.ask(1, "resources/subscribe", json!({"uri": "note://1"})).await;
    assert_eq!(client.hear().await["id"], 1);
    for _ in 0..1_000 {
        server.notifier().tools_changed();
        server.notifier().resource_updated("note://1");
    }
    assert_eq!(client.hear().await["method"], "notifications/tools/list_changed");
    assert_eq!(client.hear().await["params"]["uri"], "note://1");
    client.pings().await;
}

#[tokio::test]
async fn what_all_connections_are_subscribed_to_is_bounded_and_given_back() {
    let mut limits = Limits::default();
    limits.sessions.subscribed_bytes = 2 * (64 + 8);
    let server = server(limits);
    for _ in 0..3 {
        let mut clients = Vec::new();
        for count in 0..3 {
            let mut client = Client::open(&server).await;
            client.ask(1, "resources/subscribe", json!({"uri": "note://1"})).await;
            let answer = client.hear().await;
            assert_eq!(answer.get("error").is_some(), count == 2, "{answer}");
            clients.push(client);
        }
        for client in &mut clients {
            client.pipe.writer.shutdown().await.unwrap();
            assert_eq!(client.hear().await, Value::Null);
        }
    }
}

#[tokio::test]
async fn so_many_questions_are_open_as_calls_may_run() {
    let mut client = Client::open(&server(Limits { concurrent_exchanges: 8, ..Limits::default() })).await;
    for id in 0..8 {
        client.ask(id, "tools/call", json!({"name": "confirm"})).await;
        assert_eq!(client.hear().await["method"], "elicitation/create");
    }
    client.ask(8, "tools/call", json!({"name": "confirm"})).await;
    let refused = client.hear().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(8), &json!(-32_603)), "{refused}");
    for id in 0..8 {
        client
            .say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
            .await;
        assert_eq!(client.hear().await["method"], "notifications/cancelled");
    }
    client.pings().await;
}

#[tokio::test]
async fn ids_of_questions_are_nothing_that_can_be_guessed() {
    let mut client = Client::open(&server(Limits::default())).await;
    let mut ids = std::collections::BTreeSet::new();
    for id in 0..50 {
        client.ask(id, "tools/call", json!({"name": "confirm"})).await;
        let question = client.hear().await;
        assert!(ids.insert(question["id"].as_str().unwrap().to_owned()));
    }
    assert!(ids.iter().all(|id| id.len() == 32));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_with_a_question_open_is_not_waited_for() {
    let (desk, _events) = Desk::new();
    let server = house(Arc::clone(&desk), (Eras::ALL, Limits::default()));
    let (pipe, Pipe { reader, writer }) = Pipe::in_memory(1 << 16);
    let served = server.clone();
    let serving = tokio::spawn(async move { served.serve_io(reader, writer).await });
    let mut client = Client { pipe, lines: Lines::new(1 << 20) };
    let params = json!({"protocolVersion": Revision::NEWEST_LEGACY.date(), "capabilities": usual_capabilities(), "clientInfo": {"name": "c", "version": "1"}});
    client.ask("hello", "initialize", params).await;
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    client.ask(1, "tools/call", json!({"name": "confirm"})).await;
    client.hear().await;
    assert_eq!(client.hear().await["method"], "elicitation/create");
    client.pipe.writer.shutdown().await.unwrap();
    assert_eq!(client.hear().await, Value::Null);
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_a_client_says_of_itself_is_kept_as_far_as_it_is_short() {
    let server = server(Limits::default());
    let mut client = Client { pipe: server.connect(), lines: Lines::new(1 << 20) };
    let long = "é".repeat(100_000);
    let capabilities = json!({"elicitation": {}, "experimental": {long.clone(): {}}});
    let params = json!({
        "protocolVersion": Revision::NEWEST_LEGACY.date(),
        "capabilities": capabilities,
        "clientInfo": {"name": long, "version": "1", "title": "x"},
    });
    client.ask("hello", "initialize", params).await;
    assert!(client.hear().await.get("result").is_some());
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    client.ask(1, "tools/call", json!({"name": "client"})).await;
    let text = client.hear().await["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with(&"é".repeat(64)) && text.len() < 200, "{text}");
    client.ask(2, "tools/call", json!({"name": "confirm"})).await;
    assert_eq!(client.hear().await["method"], "elicitation/create");
}

#[tokio::test(start_paused = true)]
async fn what_is_answered_is_said_to_a_client_that_leaves_in_the_middle_of_a_call() {
    let (desk, mut events) = Desk::new();
    let server = house(desk, (Eras::ALL, Limits::default()));
    let mut client = Client::open(&server).await;
    client.ask(1, "tools/call", json!({"name": "wait"})).await;
    assert_eq!(events.recv().await.as_deref(), Some("entered"));
    client.ask(2, "tools/list", json!({})).await;
    client.ask(3, "tools/call", json!({"name": "number"})).await;
    client.pipe.writer.shutdown().await.unwrap();
    let started = tokio::time::Instant::now();
    assert_eq!((client.hear().await["id"].clone(), client.hear().await["id"].clone()), (json!(2), json!(3)));
    assert_eq!(client.hear().await, Value::Null);
    assert_eq!(events.recv().await.as_deref(), Some("left"));
    assert!(started.elapsed() < std::time::Duration::from_secs(2), "{:?}", started.elapsed());
}
