//! The HTTP service: what is served, what is refused and how, what streams, and when a handler is
//! dropped.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full, StreamBody};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_server::{Args, Ctx, Extension, HttpService, Limits, Resource, Server, State, Tool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};

use crate::endpoint::{Answer, Post, answer, meta};

/// What the handlers and the test tell each other.
struct Desk {
    /// Handlers that waited are let go.
    go: Notify,
    events: mpsc::UnboundedSender<&'static str>,
}

/// Says when it is dropped: with the handler that holds it.
struct Held(Arc<Desk>);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.events.send("dropped");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Mirrored {
    limit: Option<i64>,
    q: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Set {
    params: Vec<Value>,
}

async fn quick() -> &'static str {
    "quick"
}

async fn headers(Args(mirrored): Args<Mirrored>) -> String {
    format!("{:?} {:?}", mirrored.limit, mirrored.q)
}

async fn set(Args(set): Args<Set>) -> String {
    set.params.len().to_string()
}

async fn wait(State(desk): State<Arc<Desk>>) -> &'static str {
    let _held = Held(Arc::clone(&desk));
    let _ = desk.events.send("entered");
    desk.go.notified().await;
    "waited"
}

async fn report(ctx: Ctx, State(desk): State<Arc<Desk>>) -> &'static str {
    let _held = Held(Arc::clone(&desk));
    ctx.progress(1.0, 2.0).await;
    let _ = desk.events.send("entered");
    desk.go.notified().await;
    ctx.progress(2.0, 2.0).await;
    "reported"
}

async fn whoami(Extension(caller): Extension<Caller>) -> String {
    caller.0.to_owned()
}

async fn agent(Extension(parts): Extension<http::request::Parts>) -> String {
    parts.headers["user-agent"].to_str().unwrap().to_owned()
}

#[derive(Clone)]
struct Caller(&'static str);

fn server(limits: Limits) -> (Server, Arc<Desk>, mpsc::UnboundedReceiver<&'static str>) {
    let (events, seen) = mpsc::unbounded_channel();
    let desk = Arc::new(Desk { go: Notify::new(), events });
    let server = Server::builder("test", "1.0.0")
        .limits(limits)
        .tool(Tool::new("fast", quick))
        .tool(Tool::new("headers", headers).param_header("limit", "Limit").param_header("q", "Q"))
        .tool(Tool::new("set", set))
        .tool(Tool::new("wait", wait))
        .tool(Tool::new("report", report))
        .tool(Tool::new("whoami", whoami))
        .tool(Tool::new("agent", agent))
        .resource(Resource::template("res://{name}", quick).name("res"))
        .build(Arc::clone(&desk))
        .unwrap();
    (server, desk, seen)
}

fn service() -> HttpService {
    server(Limits::default()).0.http().into_service()
}

fn rows(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn media_types_are_compared_without_case_and_parameters() {
    let service = service();
    for row in rows(include_str!("../data/http/media_types.json")) {
        let got = Post::new("tools/list", json!({})).set_all(row.get("set")).send(&service).await;
        assert_eq!(got.status, row["status"], "{row}");
        assert_eq!(got.code(), row["code"].as_i64(), "{row}");
        assert_eq!(got.headers["content-type"], "application/json", "{row}");
    }
}

#[tokio::test]
async fn an_id_is_echoed_with_its_type_wherever_it_stands() {
    let service = service();
    for row in rows(include_str!("../data/http/ids.json")) {
        let id: Value = serde_json::from_str(row["id"].as_str().unwrap()).unwrap();
        let nested = json!({"params": [{"id": 3, "value": 1}]});
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "set", "arguments": nested})),
            ("tools/call", json!({"name": "nobody", "arguments": {}})),
            ("resources/read", json!({"uri": "none://x"})),
        ] {
            let got = Post::with_id(method, params, &id).send(&service).await;
            assert_eq!(got.json()["id"], id, "{row} {method}");
        }
    }
    let body = format!(
        r#"{{"method":"tools/call","params":{{"_meta":{},"name":"set","arguments":{{"params":[{{"id":3}}]}}}},"jsonrpc":"2.0","id":99999}}"#,
        meta()
    );
    let got = Post::raw("tools/call", body).set("mcp-name", "set").send(&service).await;
    assert_eq!((got.json()["id"].as_i64(), got.text()), (Some(99999), "1"));
}

#[tokio::test]
async fn header_values_are_decoded_before_they_are_compared() {
    let service = service();
    for row in rows(include_str!("../data/http/header_values.json")) {
        let (method, mut params) = match row.get("uri") {
            Some(uri) => ("resources/read", json!({"uri": uri})),
            None => ("tools/call", json!({"name": row["tool"]})),
        };
        if let Some(arguments) = row.get("arguments") {
            params["arguments"] = arguments.clone();
        }
        let got = Post::new(method, params)
            .set_all(Some(&json!({"mcp-name": row["header"]})))
            .set_all(row.get("set"))
            .send(&service)
            .await;
        let expected = if row["accepted"] == true { (200, None) } else { (400, Some(-32020)) };
        assert_eq!((got.status, got.code().filter(|code| *code == -32020)), expected, "{row} {got:?}");
    }
}

#[tokio::test]
async fn what_is_refused_is_refused_with_the_right_status_code_and_id() {
    let service = service();
    for row in rows(include_str!("../data/http/refusals.json")) {
        let post = match row["method"].as_str() {
            None => Post::raw("tools/list", row["body"].as_str().unwrap().to_owned()),
            Some(method) => {
                let mut meta = meta();
                if let Some(key) = row["without"].as_str() {
                    meta.as_object_mut().unwrap().remove(key);
                }
                let mut post = Post::new(method, json!({"_meta": meta}));
                if let Some(revision) = row["revision"].as_str() {
                    meta["io.modelcontextprotocol/protocolVersion"] = revision.into();
                    post = Post::new(method, json!({"_meta": meta})).set("mcp-protocol-version", revision);
                }
                post
            }
        };
        let got = post.set_all(row.get("set")).send(&service).await;
        assert_eq!(got.status, row["status"], "{row} {got:?}");
        assert_eq!(got.code(), row["code"].as_i64(), "{row} {got:?}");
        assert_eq!(got.json().get("id"), row.get("id"), "{row} {got:?}");
    }
}

#[cfg(not(feature = "legacy"))]
#[tokio::test]
async fn a_legacy_handshake_is_told_what_is_spoken_here() {
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    let bare = json!({"mcp-method": null, "mcp-protocol-version": null});
    let got = Post::raw("initialize", body).set_all(Some(&bare)).send(&service()).await;
    assert_eq!((got.status, got.code()), (400, Some(-32022)));
    assert!(got.json()["error"]["message"].as_str().unwrap().contains("2026-07-28"));
}

#[tokio::test]
async fn only_a_post_is_served() {
    let service = service();
    for method in ["GET", "DELETE", "PUT", "HEAD", "OPTIONS"] {
        let mut request = Post::new("tools/list", json!({})).request();
        *request.method_mut() = method.parse().unwrap();
        let got = Answer::read(answer(&service, request).await, "").await;
        assert_eq!((got.status, got.headers["allow"].to_str().unwrap()), (405, "POST"), "{method}");
    }
}

#[tokio::test]
async fn a_path_may_be_all_that_is_served() {
    let service = server(Limits::default()).0.http().path("/here").into_service();
    let mut request = Post::new("tools/list", json!({})).request();
    let got = Answer::read(answer(&service, request.clone()).await, "").await;
    assert_eq!((got.status, got.messages.len()), (404, 0));
    *request.uri_mut() = "/here?x=1".parse().unwrap();
    let got = Answer::read(answer(&service, request).await, "tools/list").await;
    assert_eq!(got.status, 200);
}

#[tokio::test]
async fn a_notification_is_accepted_without_a_body() {
    let body = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let got = Post::raw("notifications/cancelled", body).send(&service()).await;
    assert_eq!((got.status, got.messages.len()), (202, 0));
    assert!(!got.headers.contains_key("content-type"));
}

#[tokio::test]
async fn what_was_put_into_the_request_reaches_the_handler() {
    let service = service();
    let mut request = Post::tool("whoami", json!({})).request();
    request.extensions_mut().insert(Caller("somebody"));
    let got = Answer::read(answer(&service, request).await, "tools/call").await;
    assert_eq!(got.text(), "somebody");
    let got = Post::tool("agent", json!({})).set("user-agent", "tester/1").send(&service).await;
    assert_eq!(got.text(), "tester/1");
}

fn small() -> Limits {
    Limits { body_bytes: 1000, ..Limits::default() }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_announced_or_not() {
    let service = server(small()).0.http().into_service();
    for length in [1001, 5000] {
        let announced = Post::raw("tools/list", vec![b' '; length]).send(&service).await;
        assert_eq!((announced.status, announced.code()), (413, Some(-32600)));
        let pieces =
            (0..length).map(|_| Ok::<_, std::io::Error>(http_body::Frame::data(Bytes::from_static(b" "))));
        let body = StreamBody::new(futures_util::stream::iter(pieces));
        let mut request = Request::post("/mcp").body(body).unwrap();
        *request.headers_mut() = Post::new("tools/list", json!({})).headers;
        let got = Answer::read(answer(&service, request).await, "").await;
        assert_eq!((got.status, got.code()), (413, Some(-32600)));
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_is_asked_for() {
    let serving = server(small()).0.http().bind("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(serving.local_addr()).await.unwrap();
    let post = Post::raw("tools/list", vec![b' '; 5000]).set("expect", "100-continue");
    let request = wire(post);
    connection.write_all(&request[..request.len() - 5000]).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn a_body_in_pieces_is_read_as_one() {
    let service = server(small()).0.http().into_service();
    let post = Post::tool("fast", json!({}));
    let pieces: Vec<_> = post.body.chunks(7).map(Bytes::copy_from_slice).collect();
    let frames = pieces.into_iter().map(|piece| Ok::<_, std::io::Error>(http_body::Frame::data(piece)));
    let mut request =
        Request::post("/mcp").body(StreamBody::new(futures_util::stream::iter(frames))).unwrap();
    *request.headers_mut() = post.headers;
    let got = Answer::read(answer(&service, request).await, "tools/call").await;
    assert_eq!(got.text(), "quick");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let service = service();
    let never =
        StreamBody::new(futures_util::stream::pending::<Result<http_body::Frame<Bytes>, std::io::Error>>());
    let mut request = Request::post("/mcp").body(never).unwrap();
    *request.headers_mut() = Post::new("tools/list", json!({})).headers;
    let got = Answer::read(answer(&service, request).await, "").await;
    assert_eq!((got.status, got.code()), (408, Some(-32600)));
}

#[tokio::test]
async fn one_json_answer_becomes_a_stream_at_the_first_notification() {
    let (server, desk, mut seen) = server(Limits::default());
    let service = server.http().into_service();
    let got = Post::tool("fast", json!({})).send(&service).await;
    assert_eq!(got.headers["content-type"], "application/json");

    let mut wanting = meta();
    wanting["progressToken"] = json!("token");
    let post = Post::new("tools/call", json!({"name": "report", "arguments": {}, "_meta": wanting}));
    let mut events = post.open(&service).await;
    assert_eq!(events.headers["x-accel-buffering"], "no");
    assert_eq!(events.headers["cache-control"], "no-cache");
    let first = events.next().await.unwrap();
    assert_eq!(
        (&first["params"]["progressToken"], &first["params"]["progress"]),
        (&json!("token"), &json!(1.0))
    );
    assert_eq!(seen.recv().await, Some("entered"));
    desk.go.notify_one();
    assert_eq!(events.next().await.unwrap()["params"]["progress"], 2.0);
    let last = events.next().await.unwrap();
    assert_eq!((&last["id"], &last["result"]["content"][0]["text"]), (&json!(7), &json!("reported")));
    assert_eq!(events.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_silent_handler_keeps_its_connection_alive() {
    let (server, desk, mut seen) = server(Limits::default());
    let service = server.http().into_service();
    let mut events = Post::tool("wait", json!({})).open(&service).await;
    assert_eq!(seen.recv().await, Some("entered"));
    for _ in 0..3 {
        assert_eq!(&events.chunk().await.unwrap()[..], b": \n\n");
    }
    desk.go.notify_one();
    assert_eq!(events.next().await.unwrap()["result"]["content"][0]["text"], "waited");
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_drops_the_handler() {
    let (server, _desk, mut seen) = server(Limits::default());
    let service = server.http().into_service();
    let mut wanting = meta();
    wanting["progressToken"] = json!(1);
    let post = Post::new("tools/call", json!({"name": "report", "arguments": {}, "_meta": wanting}));
    let mut events = post.open(&service).await;
    events.next().await.unwrap();
    assert_eq!(seen.recv().await, Some("entered"));
    drop(events);
    assert_eq!(seen.recv().await, Some("dropped"));
}

#[tokio::test]
async fn a_client_that_hangs_up_drops_the_handler() {
    let (server, _desk, mut seen) = server(Limits::default());
    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(serving.local_addr()).await.unwrap();
    connection.write_all(&wire(Post::tool("wait", json!({})))).await.unwrap();
    assert_eq!(seen.recv().await, Some("entered"));
    drop(connection);
    assert_eq!(seen.recv().await, Some("dropped"));
}

/// The bytes of a request.
pub(crate) fn wire(post: Post) -> Vec<u8> {
    let mut text = format!("POST /mcp HTTP/1.1\r\ncontent-length: {}\r\n", post.body.len()).into_bytes();
    for (name, value) in &post.headers {
        text.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(&post.body);
    text
}

#[tokio::test]
async fn two_callers_with_the_same_id_get_their_own_answers() {
    let (server, desk, mut seen) = server(Limits::default());
    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let mut a = TcpStream::connect(serving.local_addr()).await.unwrap();
    let mut b = TcpStream::connect(serving.local_addr()).await.unwrap();
    a.write_all(&wire(Post::tool("wait", json!({})))).await.unwrap();
    assert_eq!(seen.recv().await, Some("entered"));
    b.write_all(&wire(Post::tool("agent", json!({})).set("user-agent", "b"))).await.unwrap();
    assert!(read_answer(&mut b).await.contains(r#""text":"b""#));
    desk.go.notify_one();
    assert!(read_answer(&mut a).await.contains(r#""text":"waited""#));
}

async fn read_answer(connection: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"}}") && !text.ends_with(b"}]}}") {
        assert_ne!(connection.read_buf(&mut text).await.unwrap(), 0, "the connection ended early");
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn quick_calls_pass_a_slow_one() {
    let (server, desk, mut seen) = server(Limits::default());
    let service = server.http().into_service();
    let slow = tokio::spawn({
        let service = service.clone();
        async move { Post::tool("wait", json!({})).send(&service).await.text().to_owned() }
    });
    assert_eq!(seen.recv().await, Some("entered"));
    for _ in 0..100 {
        assert_eq!(Post::tool("fast", json!({})).send(&service).await.text(), "quick");
    }
    desk.go.notify_one();
    assert_eq!(slow.await.unwrap(), "waited");
}

#[tokio::test]
async fn beyond_the_limit_of_concurrency_a_request_is_sent_away() {
    let limits = Limits { concurrent_exchanges: 1, ..Limits::default() };
    let (server, desk, mut seen) = server(limits);
    let service = server.http().into_service();
    let first = tokio::spawn({
        let service = service.clone();
        async move { Post::tool("wait", json!({})).send(&service).await.status }
    });
    assert_eq!(seen.recv().await, Some("entered"));
    let got = Post::tool("fast", json!({})).send(&service).await;
    assert_eq!((got.status, got.code()), (503, Some(-32603)));
    assert_eq!(got.headers["retry-after"], "1");
    desk.go.notify_one();
    assert_eq!(first.await.unwrap(), 200);
    assert_eq!(Post::tool("fast", json!({})).send(&service).await.status, 200);
}

#[tokio::test]
async fn a_service_takes_any_body_and_answers_with_a_known_length() {
    let service = service();
    let boxed = Full::new(Post::tool("fast", json!({})).body).boxed_unsync();
    let mut request = Request::post("/").body(boxed).unwrap();
    *request.headers_mut() = Post::tool("fast", json!({})).headers;
    let response = answer(&service, request).await;
    assert!(http_body::Body::size_hint(response.body()).exact().is_some());
}

#[tokio::test]
async fn slow_headers_do_not_hold_a_connection() {
    let limits = Limits { read_timeout: Duration::from_millis(20), ..Limits::default() };
    let serving = server(limits).0.http().bind("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(serving.local_addr()).await.unwrap();
    connection.write_all(b"POST /mcp HT").await.unwrap();
    let mut rest = Vec::new();
    connection.read_to_end(&mut rest).await.unwrap();
    let text = String::from_utf8(rest).unwrap();
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 408"), "{text}");
}

/// A client that asks for much and reads nothing holds its connection until the limit, not for ever.
#[tokio::test]
async fn a_client_that_does_not_read_is_let_go() {
    let limits = Limits { connections: 1, write_timeout: Duration::from_millis(50), ..Limits::default() };
    let server = Server::builder("test", "1.0.0")
        .limits(limits)
        .tool(Tool::new("much", async || "x".repeat(32 * 1024 * 1024)))
        .build(())
        .unwrap();
    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let mut deaf = TcpStream::connect(serving.local_addr()).await.unwrap();
    deaf.write_all(&wire(Post::tool("much", json!({})))).await.unwrap();
    let mut next = TcpStream::connect(serving.local_addr()).await.unwrap();
    next.write_all(&wire(Post::tool("nobody", json!({})))).await.unwrap();
    let answered = tokio::time::timeout(Duration::from_secs(20), read_answer(&mut next)).await;
    assert!(answered.unwrap().contains("nobody"));
    drop(deaf);
}
