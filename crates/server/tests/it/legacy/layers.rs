//! Middleware sees a call of a session as it sees any other.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_server::{Call, CallFuture, CallService, Elicitation, MultiRoundTrip, Outcome, Server, Tool};
use switchboard_transport::{InProcess, Lines};
use tokio::io::AsyncWriteExt;
use tower_layer::Layer;
use tower_service::Service;

type Seen = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct Watch(Seen);

#[derive(Clone)]
struct Watching(Seen, CallService);

impl Layer<CallService> for Watch {
    type Service = Watching;

    fn layer(&self, inner: CallService) -> Watching {
        Watching(Arc::clone(&self.0), inner)
    }
}

impl Service<Call> for Watching {
    type Response = switchboard_server::Reply;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.1.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> CallFuture {
        let answered = call.target().is_some_and(|target| target.input_responses.is_some());
        let line = format!("{} {} {answered}", call.method.name(), call.name());
        self.0.lock().unwrap().push(line);
        assert_eq!(call.meta.revision, Revision::NEWEST_LEGACY);
        self.1.call(call)
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Confirm {
    ok: bool,
}

async fn confirm(round: MultiRoundTrip<()>) -> Outcome<(), String> {
    match round.state {
        None => Outcome::InputRequired((), Elicitation::form::<Confirm>("Go?")),
        Some(()) => {
            let ok = round.answer::<Confirm>().unwrap().unwrap().ok;
            Outcome::Complete(format!("{ok}"))
        }
    }
}

/// What the tool says to a client that thinks for a while before it answers each question.
async fn confirmed(server: &Server, thinks: Duration) -> Value {
    let mut pipe = server.connect();
    let mut lines = Lines::new(1 << 20);
    let hello = json!({"protocolVersion": Revision::NEWEST_LEGACY.date(), "capabilities": {"elicitation": {}}, "clientInfo": {"name": "c", "version": "1"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "confirm"}}),
    ];
    for message in messages {
        pipe.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    loop {
        let Some(line) = lines.next_line().unwrap() else {
            assert!(lines.fill(&mut pipe.reader).await.unwrap() > 0);
            continue;
        };
        let message: Value = serde_json::from_slice(&line).unwrap();
        if message["method"] == "elicitation/create" {
            tokio::time::advance(thinks).await;
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"action": "accept", "content": {"ok": true}}});
            pipe.writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        } else if message["id"] == 3 {
            return message["result"]["content"][0]["text"].clone();
        }
    }
}

/// Takes more than half of its time in each round.
async fn slow(round: MultiRoundTrip<()>) -> Outcome<(), String> {
    tokio::time::advance(TIME / 2 + TIME / 10).await;
    confirm(round).await
}

const TIME: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn layers_see_every_call_of_a_session_and_every_round_of_one_however_the_tool_runs() {
    let plain = || Tool::new("confirm", slow).timeout(TIME);
    for tool in [plain(), plain().grace(TIME), plain().spawned(), plain().spawned().grace(TIME)] {
        let seen = Seen::default();
        let server =
            Server::builder("layered", "1").tool(tool).layer(Watch(Arc::clone(&seen))).build(()).unwrap();
        assert_eq!(confirmed(&server, TIME * 100).await, "true");
        assert_eq!(
            *seen.lock().unwrap(),
            ["tools/list  false", "tools/call confirm false", "tools/call confirm true"]
        );
    }
}
