//! A server over a pipe, from the other end of it. Every message that it says is checked against the
//! published schema.

use std::io::{Read, Write};
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_protocol::frame::encode_request;
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_protocol::session::{End, Opening};
use switchboard_server::{Args, Ctx, Limits, Server, State, Tool};
use switchboard_testkit::wire::check_server_message;
use switchboard_transport::{InProcess, Lines, Pipe, PipeClient, PipeOptions};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::calls::request;
use crate::endpoint::Post;

struct Desk {
    go: Notify,
    events: mpsc::UnboundedSender<&'static str>,
    blobs: AtomicUsize,
}

struct Held(Arc<Desk>);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.events.send("left");
    }
}

async fn wait(State(desk): State<Arc<Desk>>) -> &'static str {
    let _held = Held(Arc::clone(&desk));
    let _ = desk.events.send("entered");
    desk.go.notified().await;
    "waited"
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

async fn echo(Args(Text { text }): Args<Text>) -> String {
    text
}

async fn steps(ctx: Ctx) -> &'static str {
    ctx.progress(1.0, 2.0).await;
    ctx.log(LoggingLevel::Info, "half").await;
    ctx.progress(2.0, 2.0).await;
    "done"
}

async fn blob(State(desk): State<Arc<Desk>>) -> String {
    desk.blobs.fetch_add(1, Ordering::Relaxed);
    "x".repeat(200_000)
}

async fn panics() -> String {
    Vec::<String>::new().swap_remove(0)
}

fn server(limits: Limits) -> (Server, Arc<Desk>, mpsc::UnboundedReceiver<&'static str>) {
    let (events, seen) = mpsc::unbounded_channel();
    let desk = Arc::new(Desk { go: Notify::new(), events, blobs: AtomicUsize::new(0) });
    let server = Server::builder("test", "1.0.0")
        .tool(Tool::new("wait", wait))
        .tool(Tool::new("echo", echo))
        .tool(Tool::new("steps", steps))
        .tool(Tool::new("blob", blob))
        .tool(Tool::new("panics", panics))
        .limits(limits)
        .build(Arc::clone(&desk))
        .unwrap();
    (server, desk, seen)
}

/// The other end of the pipe, and the server that serves it.
struct Client {
    pipe: Pipe,
    lines: Lines,
    serving: JoinHandle<std::io::Result<()>>,
    end: Option<oneshot::Sender<()>>,
    desk: Arc<Desk>,
    events: mpsc::UnboundedReceiver<&'static str>,
    server: Server,
}

impl Client {
    fn connect() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        let (server, desk, events) = server(limits);
        let (pipe, Pipe { reader, writer }) = Pipe::in_memory(4096);
        let (end, ended) = oneshot::channel();
        let served = server.clone();
        let serving = tokio::spawn(async move {
            served.serve_io_until(reader, writer, async move { drop(ended.await) }).await
        });
        Self { pipe, lines: Lines::new(1 << 20), serving, end: Some(end), desk, events, server }
    }

    async fn write(&mut self, text: &str) {
        self.pipe.writer.write_all(text.as_bytes()).await.unwrap();
    }

    async fn say(&mut self, message: &Value) {
        self.write(&format!("{message}\n")).await;
    }

    async fn ask(&mut self, id: impl Into<Value>, tool: &str) {
        self.say(&call(id, tool, &json!({}))).await;
    }

    async fn cancel(&mut self, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    }

    async fn hear(&mut self) -> Value {
        self.hear_about("tools/call").await.unwrap()
    }

    /// The next message, or `None` at the end of the stream.
    async fn hear_about(&mut self, method: &str) -> Option<Value> {
        loop {
            if let Some(line) = self.lines.next_line().unwrap() {
                check_server_message(&line, method);
                return Some(serde_json::from_slice(&line).unwrap());
            }
            if self.lines.fill(&mut self.pipe.reader).await.unwrap() == 0 {
                return None;
            }
        }
    }

    async fn event(&mut self, expected: &str) {
        assert_eq!(self.events.recv().await, Some(expected));
    }

    /// Says that no message is due: the answer to a call of its own is the next thing that comes.
    async fn silent(&mut self, id: i64) {
        self.say(&call(id, "echo", &json!({"text": "still here"}))).await;
        assert_eq!(summary(&self.hear().await), format!("{id} still here"));
    }
}

fn call(id: impl Into<Value>, tool: &str, arguments: &Value) -> Value {
    let mut message = request("tools/call", json!({"name": tool, "arguments": arguments}));
    message["id"] = id.into();
    message
}

/// A response in a few words.
fn summary(message: &Value) -> String {
    let id = &message["id"];
    match (message["error"]["code"].as_i64(), &message["result"]["content"][0]["text"]) {
        (Some(code), _) => format!("{id} error {code}"),
        (None, Value::String(text)) => format!("{id} {text}"),
        _ => message.to_string(),
    }
}

#[tokio::test]
async fn ids_come_back_with_their_type_wherever_they_stand() {
    let mut client = Client::connect();
    for id in [json!("1"), json!(0), json!("7f0c-uuid-like"), json!(9_007_199_254_740_993_i64), json!(-3)] {
        client.say(&call(id.clone(), "echo", &json!({"text": "a"}))).await;
        assert_eq!(summary(&client.hear().await), format!("{id} a"));
        client.say(&call(id.clone(), "nothing", &json!({}))).await;
        assert_eq!(summary(&client.hear().await), format!("{id} error -32602"));
    }
    let params = call(1, "echo", &json!({"text": "b", "params": [{"id": 3}]}))["params"].to_string();
    client
        .write(&format!(
            "{{\"method\":\"tools/call\",\"params\":{params},\"jsonrpc\":\"2.0\",\"id\":99999}}\r\n"
        ))
        .await;
    assert_eq!(summary(&client.hear().await), "99999 b");
}

#[tokio::test]
async fn what_a_handler_says_comes_before_its_reply() {
    let mut client = Client::connect();
    let mut message = call(3, "steps", &json!({}));
    message["params"]["_meta"]["progressToken"] = json!("t");
    message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    client.say(&message).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let message = client.hear().await;
        seen.push(match message["method"].as_str() {
            Some("notifications/progress") => format!("progress {}", message["params"]["progress"]),
            Some(method) => format!("{method} {}", message["params"]["data"]),
            None => summary(&message),
        });
    }
    assert_eq!(seen, ["progress 1.0", "notifications/message \"half\"", "progress 2.0", "3 done"]);
}

#[tokio::test]
async fn a_panic_fails_one_call_and_nothing_else() {
    let mut client = Client::connect();
    client.ask(1, "panics").await;
    assert_eq!(client.hear().await["result"]["isError"], true);
    client.silent(2).await;
}

fn listen(id: i64) -> Value {
    let mut message = request("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    message["id"] = id.into();
    message
}

/// Opens a subscription and waits for its acknowledgement.
async fn subscribe(client: &mut Client, id: i64) {
    client.say(&listen(id)).await;
    let message = client.hear_about("subscriptions/listen").await.unwrap();
    assert_eq!(message["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
}

#[tokio::test]
async fn subscriptions_share_the_pipe_and_are_cancelled_one_by_one() {
    let mut client = Client::connect();
    subscribe(&mut client, 1).await;
    subscribe(&mut client, 2).await;
    client.cancel(json!({"requestId": 1})).await;
    client.silent(3).await;
    client.server.notifier().tools_changed();
    let change = client.hear_about("subscriptions/listen").await.unwrap();
    assert_eq!(change["method"], "notifications/tools/list_changed");
    assert_eq!(change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 2);
    client.silent(4).await;
}

#[tokio::test]
async fn too_many_subscriptions_and_too_many_calls_are_refused() {
    let mut client = Client::with(Limits { listen_streams: 1, concurrent_exchanges: 2, ..Limits::default() });
    subscribe(&mut client, 1).await;
    client.say(&listen(2)).await;
    assert_eq!(summary(&client.hear().await), "2 error -32603");
    client.ask(3, "wait").await;
    client.ask(4, "echo").await;
    assert_eq!(summary(&client.hear().await), "4 error -32603");
    client.cancel(json!({"requestId": 1})).await;
    client.silent(5).await;
}

#[tokio::test]
async fn all_transports_of_a_server_share_the_places_of_subscriptions() {
    let mut client = Client::with(Limits { listen_streams: 1, ..Limits::default() });
    let service = client.server.http().into_service();
    let post = || Post::with_id("subscriptions/listen", json!({"notifications": {}}), &json!(1));
    subscribe(&mut client, 1).await;
    assert_eq!(post().send(&service).await.status, 503);
    client.cancel(json!({"requestId": 1})).await;
    client.silent(2).await;
    let _open = post().open(&service).await;
    client.say(&listen(3)).await;
    assert_eq!(summary(&client.hear().await), "3 error -32603");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_the_server_although_a_call_runs() {
    let mut client = Client::connect();
    subscribe(&mut client, 1).await;
    client.ask(2, "wait").await;
    client.event("entered").await;
    let last = call(3, "echo", &json!({"text": "last"}));
    // Without a line end, and in the same moment the input ends.
    client.write(&last.to_string()).await;
    client.pipe.writer = Box::new(tokio::io::sink());
    assert_eq!(summary(&client.hear().await), "3 last");
    let result = client.hear_about("subscriptions/listen").await.unwrap();
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    client.event("left").await;
    assert_eq!(client.hear_about("tools/call").await, None);
    client.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_is_told_to_end_lets_calls_finish() {
    let mut client = Client::connect();
    subscribe(&mut client, 1).await;
    client.ask(2, "wait").await;
    client.event("entered").await;
    client.end.take().unwrap().send(()).unwrap();
    assert_eq!(client.hear_about("subscriptions/listen").await.unwrap()["id"], 1);
    client.desk.go.notify_one();
    assert_eq!(summary(&client.hear().await), "2 waited");
    assert_eq!(client.hear_about("tools/call").await, None);
    client.serving.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_told_to_end_does_not_wait_for_ever() {
    let mut client = Client::connect();
    client.ask(2, "wait").await;
    client.event("entered").await;
    client.end.take().unwrap().send(()).unwrap();
    client.event("left").await;
    assert_eq!(client.hear_about("tools/call").await, None);
    client.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn nonsense_gets_one_error_and_a_line_too_long_costs_only_itself() {
    let mut client = Client::with(Limits { line_bytes: 1000, ..Limits::default() });
    client.write("nonsense\nmore of it\n").await;
    assert_eq!(summary(&client.hear().await), "null error -32700");
    client.silent(1).await;
    client.write(&format!("{}\n", "x".repeat(5000))).await;
    assert_eq!(summary(&client.hear().await), "null error -32600");
    client.silent(2).await;
    client.pipe.writer.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"caf\xe9\"}\n").await.unwrap();
    assert_eq!(summary(&client.hear().await), "3 error -32700");
    client.silent(4).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_worked_for() {
    let mut client = Client::connect();
    let desk = Arc::clone(&client.desk);
    let requests: String = (0..100).map(|id| format!("{}\n", call(id, "blob", &json!({})))).collect();
    let Pipe { mut reader, mut writer } = std::mem::replace(&mut client.pipe, Pipe::in_memory(1).0);
    let writing = tokio::spawn(async move { writer.write_all(requests.as_bytes()).await });
    // Whatever could be done is done once nothing makes progress any more.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let done = desk.blobs.load(Ordering::Relaxed);
    assert!((1..10).contains(&done), "{done} answers of 200 kB wait for a client that does not read");
    let mut answers = 0;
    while answers < 100 {
        client.lines.fill(&mut reader).await.unwrap();
        while let Some(line) = client.lines.next_line().unwrap() {
            assert!(line.len() > 200_000);
            answers += 1;
        }
    }
    writing.await.unwrap().unwrap();
}

/// Takes everything and counts how often.
struct Counting(Arc<AtomicUsize>);

impl AsyncWrite for Counting {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn the_answers_to_one_read_leave_with_one_write() {
    let (server, _, _) = server(Limits::default());
    let requests: String =
        (0..64).map(|id| format!("{}\n", call(id, "echo", &json!({"text": "a"})))).collect();
    let writes = Arc::new(AtomicUsize::new(0));
    server.serve_io(requests.as_bytes(), Counting(Arc::clone(&writes))).await.unwrap();
    assert_eq!(writes.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_client_in_the_same_process_speaks_over_a_pipe_in_memory() {
    let (server, desk, mut events) = server(Limits::default());
    let client = PipeClient::new(server.connect(), PipeOptions::default());
    let params = call(0, "wait", &json!({}))["params"].clone();
    let open = || client.open(Opening::default(), |id, out| encode_request(out, id, "tools/call", &params));
    let (one, two) = (open().await.unwrap(), open().await.unwrap());
    drop(one);
    for expected in ["entered", "entered", "left"] {
        assert_eq!(events.recv().await, Some(expected));
    }
    desk.go.notify_one();
    let End::Result(result) = two.ended().await else { panic!("no result") };
    assert!(result.get().contains("waited"));
}

#[test]
fn a_real_process_answers_what_it_was_asked_before_its_input_ended() {
    let test = std::env::current_exe().unwrap();
    let example = test.parent().unwrap().parent().unwrap().join("examples/echo_http");
    let mut process =
        Command::new(example).arg("stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    for id in 0..200 {
        writeln!(stdin, "{}", call(id, "echo", &json!({"text": "a"}))).unwrap();
    }
    drop(stdin);
    let mut answers = String::new();
    process.stdout.take().unwrap().read_to_string(&mut answers).unwrap();
    assert_eq!(answers.lines().count(), 200);
    for (id, line) in answers.lines().enumerate() {
        assert_eq!(summary(&serde_json::from_str(line).unwrap()), format!("{id} a"));
    }
    assert!(process.wait().unwrap().success());
}

/// The grace at the end of the input is short; this is what a host waits for.
#[tokio::test(start_paused = true)]
async fn an_idle_server_leaves_at_once() {
    let client = Client::connect();
    drop(client.pipe);
    let left = tokio::time::timeout(Duration::from_millis(400), client.serving).await;
    left.unwrap().unwrap().unwrap();
}
