//! HTTP+SSE: one stream that says everything, and an address that everything is sent to.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::Features;
use switchboard_server::{Eras, HttpService, Limits, SessionLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{Events, call, initialize, notice, request};
use super::desk::{caller, server};
use crate::endpoint::answer;

/// A client of HTTP+SSE.
pub(super) struct Peer {
    service: HttpService,
    events: Events,
    address: String,
}

impl Peer {
    /// Opens a stream at this path, and resolves the address that it says.
    pub(super) async fn open(service: &HttpService, path: &str) -> Self {
        let response = answer(service, request("GET", path, &[("accept", "text/event-stream")], "")).await;
        let mut events = Events::new(response);
        let first = events.event().await.unwrap();
        assert_eq!(first.name, "endpoint");
        let folder = path.rsplit_once('/').unwrap().0;
        let address = format!("{folder}/{}", first.data.unwrap());
        Self { service: service.clone(), events, address }
    }

    pub(super) async fn send(&self, message: &Value) -> u16 {
        let headers = [("content-type", "application/json")];
        let request = request("POST", &self.address, &headers, message.to_string());
        answer(&self.service, request).await.status().as_u16()
    }

    /// Sends a request and hears the next message.
    pub(super) async fn ask(&mut self, message: &Value) -> Value {
        assert_eq!(self.send(message).await, 202);
        self.hear().await
    }

    pub(super) async fn hear(&mut self) -> Value {
        let (event, message) = self.events.next().await.unwrap();
        assert_eq!((event.name.as_str(), event.id.as_str()), ("message", ""));
        message
    }

    pub(super) async fn shake_hands(&mut self, revision: Revision) {
        let opened = self.ask(&initialize(revision)).await;
        assert_eq!(opened["result"]["protocolVersion"], revision.date());
        assert_eq!(self.send(&notice("notifications/initialized", json!({}))).await, 202);
    }
}

fn service(limits: Limits) -> HttpService {
    server(Eras::ALL, limits).0.http().into_service()
}

#[tokio::test]
async fn a_session_lasts_as_long_as_its_stream_in_every_revision() {
    for revision in Revision::LEGACY {
        let (server, desk, mut seen) = server(Eras::ALL, Limits::default());
        let service = server.http().into_service();
        let mut peer = Peer::open(&service, "/gw/sse").await;
        assert!(peer.address.starts_with("/gw/message?session_id="), "{}", peer.address);
        assert_eq!(
            peer.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await["result"],
            json!({})
        );
        let early = peer.ask(&call(1, "fast")).await;
        assert!(early["error"]["message"].as_str().unwrap().contains("initialize"), "{early}");
        peer.shake_hands(*revision).await;
        assert_eq!(peer.ask(&call(1, "fast")).await["result"]["content"][0]["text"], "quick");
        assert_eq!(peer.send(&call(2, "report")).await, 202);
        assert_eq!(peer.hear().await["params"]["data"], "one");
        server.notifier().tools_changed();
        assert_eq!(peer.hear().await["method"], "notifications/tools/list_changed");
        assert_eq!(seen.recv().await, Some("entered"));
        assert_eq!(peer.send(&notice("notifications/cancelled", json!({"requestId": 2}))).await, 202);
        let level =
            json!({"jsonrpc": "2.0", "id": 3, "method": "logging/setLevel", "params": {"level": "error"}});
        assert_eq!(peer.ask(&level).await["result"], json!({}));
        assert_eq!(seen.recv().await, Some("left"));
        if Features::of(*revision).elicitation {
            let question = peer.ask(&call(4, "confirm")).await;
            let result = json!({"action": "accept", "content": {"ok": false}});
            let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
            assert_eq!(peer.ask(&answer).await["result"]["content"][0]["text"], "confirmed false");
            assert_eq!(peer.send(&answer).await, 202, "it is late, which is no mistake");
        }
        if Features::of(*revision).batches {
            assert_eq!(peer.send(&json!([call(5, "fast"), call(6, "fast")])).await, 202);
            assert_eq!(
                (peer.hear().await["id"].as_i64(), peer.hear().await["id"].as_i64()),
                (Some(5), Some(6))
            );
        } else {
            assert_eq!(peer.send(&json!([call(5, "fast")])).await, 400);
        }
        assert_eq!(peer.send(&call(7, "wait")).await, 202);
        assert!(peer.events.is_silent().await);
        assert_eq!(seen.recv().await, Some("entered"));
        let Peer { events, address, .. } = peer;
        drop(events);
        assert_eq!(seen.recv().await, Some("left"));
        let request =
            request("POST", &address, &[("content-type", "application/json")], call(8, "fast").to_string());
        assert_eq!(answer(&service, request).await.status(), 404);
        drop(desk);
    }
}

#[tokio::test]
async fn a_stream_belongs_to_its_caller() {
    let service = service(Limits::default());
    let mut open = request("GET", "/sse", &[], "");
    open.extensions_mut().insert(caller("alice"));
    let mut events = Events::new(answer(&service, open).await);
    let address = format!("/{}", events.event().await.unwrap().data.unwrap());
    for (by, status) in [(Some("bob"), 404), (None, 404), (Some("alice"), 202)] {
        let body = initialize(Revision::NEWEST_LEGACY).to_string();
        let mut post = request("POST", &address, &[("content-type", "application/json")], body);
        if let Some(by) = by {
            post.extensions_mut().insert(caller(by));
        }
        assert_eq!(answer(&service, post).await.status(), status, "{by:?}");
    }
    assert_eq!(events.next().await.unwrap().1["id"], 0);
}

#[tokio::test]
async fn the_address_is_the_public_one_where_the_operator_names_it() {
    let http = server(Eras::ALL, Limits::default()).0.http().public_url("https://h.example/gw");
    let service = http.into_service();
    let mut events = Events::new(answer(&service, request("GET", "/sse", &[], "")).await);
    let address = events.event().await.unwrap().data.unwrap();
    assert!(address.starts_with("https://h.example/gw/message?session_id="), "{address}");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_from() {
    let sessions = SessionLimits { unread_bytes: 1_000, ..SessionLimits::default() };
    let service = service(Limits { sessions, ..Limits::default() });
    let mut peer = Peer::open(&service, "/sse").await;
    peer.shake_hands(Revision::NEWEST_LEGACY).await;
    let mut taken = 0;
    while peer.send(&call(taken, "nobody")).await == 202 {
        taken += 1;
        assert!(taken < 100);
    }
    assert_eq!(peer.send(&call(taken, "nobody")).await, 503);
    for id in 0..taken {
        assert_eq!(peer.hear().await["id"], id);
    }
    assert_eq!(peer.ask(&call(0, "fast")).await["id"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_begins_no_session_is_left() {
    let service = service(Limits::default());
    let (mut idle, mut busy) = (Peer::open(&service, "/sse").await, Peer::open(&service, "/sse").await);
    busy.shake_hands(Revision::NEWEST_LEGACY).await;
    assert_eq!(idle.events.event().await, None);
    assert_eq!(idle.send(&initialize(Revision::NEWEST_LEGACY)).await, 404);
    tokio::time::advance(Limits::default().read_timeout * 2).await;
    assert_eq!(busy.ask(&call(1, "fast")).await["id"], 1);
}

#[tokio::test]
async fn streams_are_counted_and_end_with_the_service() {
    let (server, _, _) = server(Eras::ALL, Limits { listen_streams: 2, ..Limits::default() });
    let service = server.http().into_service();
    let mut one = Peer::open(&service, "/sse").await;
    let two = Peer::open(&service, "/sse").await;
    let refused = answer(&service, request("GET", "/sse", &[], "")).await;
    assert_eq!(refused.status(), 503);
    drop(two);
    let mut three = Peer::open(&service, "/sse").await;
    service.end_subscriptions();
    assert_eq!((one.events.event().await, three.events.event().await), (None, None));
}

#[tokio::test]
async fn a_bound_listener_serves_it_beside_its_endpoint() {
    let (server, _desk, _seen) = server(Eras::ALL, Limits::default());
    let serving = server.http().path("/a/mcp").bind("127.0.0.1:0").await.unwrap();
    let address = serving.local_addr();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /a/sse HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut seen = String::new();
    read_until(&mut stream, &mut seen, "\n\n").await;
    let id = seen.split("data: message?session_id=").nth(1).unwrap().lines().next().unwrap().to_owned();
    let mut post = TcpStream::connect(address).await.unwrap();
    let body = initialize(Revision::NEWEST_LEGACY).to_string();
    let head = format!(
        "POST /a/message?session_id={id} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    post.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answered = String::new();
    read_until(&mut post, &mut answered, "\r\n\r\n").await;
    assert!(answered.starts_with("HTTP/1.1 202 ") && answered.contains("content-length: 0"), "{answered}");
    read_until(&mut stream, &mut seen, "serverInfo").await;
    serving.shutdown(Duration::from_secs(60)).await;
    stream.read_to_string(&mut seen).await.unwrap();
}

async fn read_until(connection: &mut TcpStream, seen: &mut String, text: &str) {
    let mut bytes = std::mem::take(seen).into_bytes();
    // The head of the answer has no blank line of its own kind.
    while !String::from_utf8_lossy(&bytes).contains(text) {
        assert_ne!(connection.read_buf(&mut bytes).await.unwrap(), 0, "the connection ended early");
    }
    *seen = String::from_utf8(bytes).unwrap();
}
