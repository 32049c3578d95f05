//! Handlers with a grace are told before they are dropped, handlers with a task of their own do not hold
//! up the connection, and both end when they are to; over HTTP and over a pipe.

use std::sync::{Arc, Mutex, mpsc as blocking};
use std::task::{Context, Waker};
use std::time::Duration;

use http::Extensions;
use serde_json::{Value, json};
use switchboard_server::{Call, Ctx, Dispatch, Exchange, Limits, Server, State, Tool};
use switchboard_transport::{Lines, Pipe};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::calls::{call, request, text};
use crate::endpoint::Post;
use crate::http::wire;

const GRACE: Duration = Duration::from_secs(5);

/// What the handlers and the test tell each other.
struct Desk {
    events: mpsc::UnboundedSender<&'static str>,
    /// What a handler that blocks its thread waits for.
    unblock: Mutex<blocking::Receiver<()>>,
}

type Seen = mpsc::UnboundedReceiver<&'static str>;

struct Held(Arc<Desk>);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.events.send("dropped");
    }
}

impl Desk {
    fn enter(self: &Arc<Self>) -> Held {
        let _ = self.events.send("entered");
        Held(Arc::clone(self))
    }
}

/// Cleans up once it is told.
async fn tidies(State(desk): State<Arc<Desk>>, ctx: Ctx) {
    let _held = desk.enter();
    ctx.cancelled().await;
    assert!(ctx.is_cancelled());
    let _ = desk.events.send("told");
    let _ = tokio::time::timeout(GRACE / 2, std::future::pending::<()>()).await;
    let _ = desk.events.send("tidy");
}

/// Does not listen.
async fn stubborn(State(desk): State<Arc<Desk>>, ctx: Ctx) {
    let _held = desk.enter();
    let events = desk.events.clone();
    tokio::spawn(async move {
        ctx.cancelled().await;
        let _ = events.send("told");
    });
    std::future::pending::<()>().await;
}

async fn panics(State(desk): State<Arc<Desk>>) {
    let _held = desk.enter();
    panic!("it broke")
}

/// Keeps its thread until the test lets it go.
async fn blocks(State(desk): State<Arc<Desk>>) -> &'static str {
    let _held = desk.enter();
    desk.unblock.lock().unwrap().recv().unwrap();
    "blocked"
}

async fn waits(State(desk): State<Arc<Desk>>) {
    let _held = desk.enter();
    std::future::pending::<()>().await;
}

async fn reports(ctx: Ctx) -> &'static str {
    ctx.progress(1.0, 2.0).await;
    ctx.progress(2.0, 2.0).await;
    "reported"
}

fn server(limits: Limits) -> (Server, Seen, blocking::Sender<()>) {
    let (events, seen) = mpsc::unbounded_channel();
    let (unblock, unblocked) = blocking::channel();
    let server = Server::builder("linger", "1")
        .tool(Tool::new("tidies", tidies).grace(GRACE))
        .tool(Tool::new("stubborn", stubborn).grace(GRACE))
        .tool(Tool::new("slow", tidies).grace(GRACE).timeout(Duration::from_secs(1)))
        .tool(Tool::new("panics", panics).grace(GRACE))
        .tool(Tool::new("blocks", blocks).spawned())
        .tool(Tool::new("waits", waits).spawned())
        .tool(Tool::new("explodes", panics).spawned())
        .tool(Tool::new("reports", reports).spawned())
        .tool(Tool::new("both", tidies).spawned().grace(GRACE))
        .tool(Tool::new("quick", async || "quick"))
        .limits(limits)
        .build(Arc::new(Desk { events, unblock: Mutex::new(unblocked) }))
        .unwrap();
    (server, seen, unblock)
}

async fn expect(seen: &mut Seen, events: &[&str]) {
    for event in events {
        assert_eq!(seen.recv().await, Some(*event), "of {events:?}");
    }
}

/// A call without a transport.
fn start(server: &Server, tool: &str) -> Exchange {
    let message = request("tools/call", json!({ "name": tool })).to_string();
    match server.dispatch(Call::decode(&message.into(), Extensions::new()).unwrap()) {
        Dispatch::Running(exchange) => exchange,
        other => panic!("not running: {other:?}"),
    }
}

fn poll_once(exchange: &mut Exchange) {
    assert!(exchange.poll_event(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[tokio::test(start_paused = true)]
async fn a_handler_with_a_grace_is_told_and_then_has_its_time() {
    for (tool, events, ended_after) in [
        ("tidies", &["told", "tidy", "dropped"][..], GRACE / 2),
        ("both", &["told", "tidy", "dropped"], GRACE / 2),
        ("stubborn", &["told", "dropped"], GRACE),
    ] {
        let (server, mut seen, _unblock) = server(Limits::default());
        let mut exchange = start(&server, tool);
        poll_once(&mut exchange);
        expect(&mut seen, &["entered"]).await;
        let before = Instant::now();
        drop(exchange);
        expect(&mut seen, events).await;
        let took = before.elapsed();
        assert!(took >= ended_after && took < ended_after + Duration::from_millis(10), "{tool}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_leaves_the_grace_too() {
    let (server, mut seen, _unblock) = server(Limits::default());
    assert_eq!(text(&call(&server, "slow", json!({})).await), "failed: timed out after 1 s");
    expect(&mut seen, &["entered", "told", "tidy", "dropped"]).await;
}

#[tokio::test(start_paused = true)]
async fn what_has_not_begun_or_has_panicked_has_no_grace() {
    let (server, mut seen, unblock) = server(Limits::default());
    drop(start(&server, "tidies"));
    let told = text(&call(&server, "panics", json!({})).await);
    assert!(told.starts_with("failed: internal error, reference "), "{told}");
    expect(&mut seen, &["entered", "dropped"]).await;
    drop((server, unblock));
    assert_eq!(seen.recv().await, None, "nothing else was entered");
}

#[tokio::test(start_paused = true)]
async fn no_more_handlers_linger_than_may_run() {
    let (server, mut seen, _unblock) = server(Limits { concurrent_exchanges: 1, ..Limits::default() });
    let (mut one, mut two) = (start(&server, "stubborn"), start(&server, "stubborn"));
    poll_once(&mut one);
    poll_once(&mut two);
    expect(&mut seen, &["entered", "entered"]).await;
    let before = Instant::now();
    drop((one, two));
    expect(&mut seen, &["dropped", "told", "told"]).await;
    assert_eq!(before.elapsed(), Duration::ZERO);
    expect(&mut seen, &["dropped"]).await;
    assert!(before.elapsed() >= GRACE);
    let mut three = start(&server, "stubborn");
    poll_once(&mut three);
    drop(three);
    expect(&mut seen, &["entered", "told", "dropped"]).await;
}

#[tokio::test]
async fn outside_of_a_runtime_there_is_no_grace() {
    let (server, mut seen, _unblock) = server(Limits::default());
    let mut exchange = start(&server, "stubborn");
    poll_once(&mut exchange);
    expect(&mut seen, &["entered"]).await;
    std::thread::spawn(move || drop(exchange)).join().unwrap();
    assert_eq!(seen.try_recv(), Ok("dropped"));
}

#[tokio::test]
async fn a_spawned_handler_speaks_fails_and_is_aborted_like_any_other() {
    let (server, mut seen, _unblock) = server(Limits::default());
    let message = request("tools/call", json!({ "name": "reports", "_meta": { "progressToken": 1 } }));
    let said = crate::calls::exchange(&server, &message, Extensions::new()).await;
    let steps: Vec<&Value> = said.iter().map(|message| &message["params"]["progress"]).collect();
    assert_eq!(steps[steps.len() - 2], 2.0, "{said:?}");
    assert_eq!(text(said.last().unwrap()), "reported");

    let told = text(&call(&server, "explodes", json!({})).await);
    assert!(told.starts_with("failed: internal error, reference "), "{told}");
    expect(&mut seen, &["entered", "dropped"]).await;

    let mut exchange = start(&server, "waits");
    poll_once(&mut exchange);
    expect(&mut seen, &["entered"]).await;
    drop(exchange);
    expect(&mut seen, &["dropped"]).await;
}

#[tokio::test(start_paused = true)]
async fn over_http_a_client_that_leaves_leaves_the_grace() {
    let (server, mut seen, _unblock) = server(Limits::default());
    let service = server.http().into_service();
    let request = Post::tool("tidies", json!({})).request();
    let mut answering = by_hand(crate::endpoint::answer(&service, request));
    answering.poll_once();
    expect(&mut seen, &["entered"]).await;
    drop(answering);
    expect(&mut seen, &["told", "tidy", "dropped"]).await;
}

/// A future that is polled by hand.
struct ByHand<F>(std::pin::Pin<Box<F>>);

fn by_hand<F: Future>(future: F) -> ByHand<F> {
    ByHand(Box::pin(future))
}

impl<F: Future> ByHand<F> {
    fn poll_once(&mut self) {
        assert!(self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
}

/// The other end of a pipe.
struct Client {
    pipe: Pipe,
    lines: Lines,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Client {
    fn connect(server: &Server) -> Self {
        let (pipe, Pipe { reader, writer }) = Pipe::in_memory(4096);
        let server = server.clone();
        let serving = tokio::spawn(async move { server.serve_io(reader, writer).await });
        Self { pipe, lines: Lines::new(1 << 20), serving }
    }

    async fn say(&mut self, message: &Value) {
        self.pipe.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, id: i64, tool: &str) {
        let mut message = request("tools/call", json!({ "name": tool }));
        message["id"] = id.into();
        self.say(&message).await;
    }

    async fn hear(&mut self) -> (i64, String) {
        loop {
            if let Some(line) = self.lines.next_line().unwrap() {
                let message: Value = serde_json::from_slice(&line).unwrap();
                return (message["id"].as_i64().unwrap(), text(&message));
            }
            assert_ne!(self.lines.fill(&mut self.pipe.reader).await.unwrap(), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn over_a_pipe_a_cancellation_leaves_the_grace() {
    let (server, mut seen, _unblock) = server(Limits::default());
    let mut client = Client::connect(&server);
    client.ask(1, "tidies").await;
    expect(&mut seen, &["entered"]).await;
    let cancelled = json!({ "requestId": 1 });
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;
    client.ask(2, "quick").await;
    assert_eq!(client.hear().await, (2, "quick".into()), "the connection goes on meanwhile");
    expect(&mut seen, &["told", "tidy", "dropped"]).await;
    client.ask(1, "quick").await;
    assert_eq!(client.hear().await, (1, "quick".into()));
}

#[tokio::test(start_paused = true)]
async fn a_pipe_that_ends_waits_for_those_in_their_grace() {
    let (server, mut seen, _unblock) = server(Limits::default());
    let mut client = Client::connect(&server);
    client.ask(1, "tidies").await;
    expect(&mut seen, &["entered"]).await;
    drop(client.pipe);
    client.serving.await.unwrap().unwrap();
    for event in ["told", "tidy", "dropped"] {
        assert_eq!(seen.try_recv(), Ok(event));
    }
}

#[tokio::test]
async fn a_listener_that_shuts_down_waits_for_those_in_their_grace() {
    let (events, mut seen) = mpsc::unbounded_channel();
    let desk = Arc::new(Desk { events, unblock: Mutex::new(blocking::channel().1) });
    let cleans = async |State(desk): State<Arc<Desk>>, ctx: Ctx| {
        let _held = desk.enter();
        ctx.cancelled().await;
        tokio::task::yield_now().await;
        let _ = desk.events.send("tidy");
    };
    let tool = Tool::new("cleans", cleans).grace(Duration::from_secs(60));
    let server = Server::builder("linger", "1").tool(tool).build(desk).unwrap();
    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(serving.local_addr()).await.unwrap();
    connection.write_all(&wire(Post::tool("cleans", json!({})))).await.unwrap();
    expect(&mut seen, &["entered"]).await;
    serving.shutdown(Duration::ZERO).await;
    assert_eq!((seen.try_recv(), seen.try_recv()), (Ok("tidy"), Ok("dropped")));
}

/// The test would hang if the thread of the connection was the one that is blocked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spawned_handler_that_computes_does_not_hold_up_its_connection() {
    let (server, mut seen, unblock) = server(Limits::default());
    let mut client = Client::connect(&server);
    client.ask(1, "blocks").await;
    expect(&mut seen, &["entered"]).await;
    client.ask(2, "quick").await;
    assert_eq!(client.hear().await, (2, "quick".into()));
    unblock.send(()).unwrap();
    assert_eq!(client.hear().await, (1, "blocked".into()));

    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(serving.local_addr()).await.unwrap();
    connection.write_all(&wire(Post::tool("blocks", json!({})))).await.unwrap();
    expect(&mut seen, &["dropped", "entered"]).await;
    let quick = Post::tool("quick", json!({})).send(&server.http().into_service()).await;
    assert_eq!(quick.text(), "quick");
    unblock.send(()).unwrap();
    expect(&mut seen, &["dropped"]).await;
}
