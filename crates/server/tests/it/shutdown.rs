//! Graceful shutdown: subscriptions end with their result, work finishes or is dropped at the deadline,
//! and nobody is let in any more.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_server::{Server, State, Tool};
use switchboard_testkit::wire::check_server_message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};

use crate::endpoint::Post;
use crate::http::wire;

struct Desk {
    go: Notify,
    events: mpsc::UnboundedSender<&'static str>,
}

struct Held(Arc<Desk>);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.events.send("dropped");
    }
}

async fn wait(State(desk): State<Arc<Desk>>) -> &'static str {
    let _held = Held(Arc::clone(&desk));
    let _ = desk.events.send("entered");
    desk.go.notified().await;
    "waited"
}

fn server() -> (Server, Arc<Desk>, mpsc::UnboundedReceiver<&'static str>) {
    let (events, seen) = mpsc::unbounded_channel();
    let desk = Arc::new(Desk { go: Notify::new(), events });
    let server =
        Server::builder("test", "1.0.0").tool(Tool::new("wait", wait)).build(Arc::clone(&desk)).unwrap();
    (server, desk, seen)
}

/// Reads from a connection until it has seen `text`.
async fn read_until(connection: &mut TcpStream, seen: &mut String, text: &str) {
    let mut bytes = std::mem::take(seen).into_bytes();
    while !String::from_utf8_lossy(&bytes).contains(text) {
        assert_ne!(connection.read_buf(&mut bytes).await.unwrap(), 0, "the connection ended early");
    }
    *seen = String::from_utf8(bytes).unwrap();
}

/// Where every address of this kind is there, one of this process alone: nobody else is given the port once it is free.
fn own_address() -> Ipv4Addr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    if cfg!(target_os = "linux") { Ipv4Addr::new(127, high | 0x80, middle, low) } else { Ipv4Addr::LOCALHOST }
}

#[tokio::test]
async fn a_hundred_subscriptions_end_with_their_result() {
    let (server, _desk, _seen) = server();
    let serving = server.http().bind((own_address(), 0)).await.unwrap();
    let address = serving.local_addr();
    let mut open = Vec::new();
    for id in 0..100 {
        let params = json!({"notifications": {"toolsListChanged": true}});
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(&wire(Post::with_id("subscriptions/listen", params, &json!(id)))).await.unwrap();
        let mut seen = String::new();
        read_until(&mut connection, &mut seen, "acknowledged").await;
        open.push((id, connection, seen));
    }
    serving.shutdown(Duration::from_secs(60)).await;
    for (id, mut connection, mut seen) in open {
        connection.read_to_string(&mut seen).await.unwrap();
        let last = seen.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
        check_server_message(last.as_bytes(), "subscriptions/listen");
        let last: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!(last["id"], id);
        assert_eq!(last["result"]["resultType"], "complete");
    }
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn running_work_finishes_before_the_deadline() {
    let (server, desk, mut seen) = server();
    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(serving.local_addr()).await.unwrap();
    let _idle = TcpStream::connect(serving.local_addr()).await.unwrap();
    connection.write_all(&wire(Post::tool("wait", json!({})))).await.unwrap();
    assert_eq!(seen.recv().await, Some("entered"));
    let shutdown = tokio::spawn(serving.shutdown(Duration::from_secs(60)));
    desk.go.notify_one();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains(r#""text":"waited""#), "{answer}");
    shutdown.await.unwrap();
}

#[tokio::test]
async fn at_the_deadline_what_is_left_is_dropped() {
    let (server, _desk, mut seen) = server();
    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(serving.local_addr()).await.unwrap();
    connection.write_all(&wire(Post::tool("wait", json!({})))).await.unwrap();
    assert_eq!(seen.recv().await, Some("entered"));
    serving.shutdown(Duration::ZERO).await;
    assert_eq!(seen.recv().await, Some("dropped"));
    assert_eq!(connection.read(&mut [0; 16]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn dropping_the_server_drops_its_connections() {
    let (server, _desk, mut seen) = server();
    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(serving.local_addr()).await.unwrap();
    connection.write_all(&wire(Post::tool("wait", json!({})))).await.unwrap();
    assert_eq!(seen.recv().await, Some("entered"));
    drop(serving);
    assert_eq!(seen.recv().await, Some("dropped"));
}
