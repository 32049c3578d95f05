//! A client of sessions that says every byte itself.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::Features;
use switchboard_server::{Body, HttpService};

use crate::endpoint::answer;

/// A client in a session.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) service: HttpService,
    pub(super) revision: Revision,
    pub(super) session: String,
}

/// A request with what every one has.
pub(super) fn request(
    method: &str,
    uri: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(uri).header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body.into())).unwrap()
}

const POST: &[(&str, &str)] =
    &[("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

pub(super) fn initialize(revision: Revision) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": revision.date(),
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"}
    }})
}

pub(super) fn call(id: u32, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}

pub(super) fn notice(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

impl Client {
    /// Opens a session in this revision.
    pub(super) async fn open(service: &HttpService, revision: Revision) -> Self {
        let body = initialize(revision).to_string();
        let got = Got::read(answer(service, request("POST", "/mcp", POST, body)).await).await;
        assert_eq!(got.status, 200, "{got:?}");
        let session = got.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let client = Self { service: service.clone(), revision, session };
        assert_eq!(client.send(&notice("notifications/initialized", json!({}))).await.status, 202);
        client
    }

    fn headers<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let mut headers = vec![("mcp-session-id", self.session.as_str())];
        if Features::of(self.revision).version_header {
            headers.push(("mcp-protocol-version", self.revision.date()));
        }
        headers.extend(more);
        headers
    }

    pub(super) fn post(&self, message: &Value) -> Request<Full<Bytes>> {
        request("POST", "/mcp", &self.headers(POST), message.to_string())
    }

    /// Sends a message and reads the whole answer.
    pub(super) async fn send(&self, message: &Value) -> Got {
        Got::read(answer(&self.service, self.post(message)).await).await
    }

    /// Sends a message that is answered with a stream.
    pub(super) async fn ask(&self, message: &Value) -> Events {
        Events::new(answer(&self.service, self.post(message)).await)
    }

    /// Listens, after an event if there is one.
    pub(super) async fn get(&self, last_event: Option<&str>) -> Response<Body> {
        let mut more = vec![("accept", "text/event-stream")];
        more.extend(last_event.map(|id| ("last-event-id", id)));
        answer(&self.service, request("GET", "/mcp", &self.headers(&more), "")).await
    }

    pub(super) async fn listen(&self, last_event: Option<&str>) -> Events {
        Events::new(self.get(last_event).await)
    }

    pub(super) async fn end(&self) -> u16 {
        answer(&self.service, request("DELETE", "/mcp", &self.headers(&[]), "")).await.status().as_u16()
    }
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Got {
    pub(super) async fn read(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Self { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// The media type, or nothing.
    pub(super) fn kind(&self) -> &str {
        self.headers.get("content-type").map_or("", |value| value.to_str().unwrap())
    }

    /// The messages: of the events, or the only one.
    pub(super) fn messages(&self) -> Vec<Value> {
        match self.kind() {
            "application/json" => vec![serde_json::from_slice(&self.body).unwrap()],
            "text/event-stream" => {
                events(std::str::from_utf8(&self.body).unwrap()).filter_map(|event| event.message()).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// One event as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) id: String,
    pub(super) retry: String,
    pub(super) data: Option<String>,
}

impl Event {
    pub(super) fn message(&self) -> Option<Value> {
        self.data.as_ref().filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).unwrap())
    }
}

/// The events of a text, comments left out.
pub(super) fn events(text: &str) -> impl Iterator<Item = Event> {
    text.split("\n\n").filter(|block| !block.is_empty() && !block.starts_with(':')).map(|block| {
        let mut event = Event::default();
        for line in block.lines() {
            let (field, value) = line.split_once(": ").unwrap();
            match field {
                "event" => event.name = value.into(),
                "id" => event.id = value.into(),
                "retry" => event.retry = value.into(),
                "data" => event.data = Some(value.into()),
                other => panic!("a field {other:?} in {block:?}"),
            }
        }
        event
    })
}

/// An event stream while it is open.
pub(super) struct Events {
    body: Pin<Box<Body>>,
    text: String,
}

impl Events {
    pub(super) fn new(response: Response<Body>) -> Self {
        assert_eq!(response.status(), 200, "{response:?}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        Self { body: Box::pin(response.into_body()), text: String::new() }
    }

    /// The next event; `None` at the end.
    pub(super) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if let Some(event) = events(&block).next() {
                    return Some(event);
                }
                continue;
            }
            let data = self.body.frame().await?.unwrap().into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    /// The next event that is a message, and that message.
    pub(super) async fn next(&mut self) -> Option<(Event, Value)> {
        loop {
            let event = self.event().await?;
            if let Some(message) = event.message() {
                return Some((event, message));
            }
        }
    }

    /// Whether nothing is there to be read.
    pub(super) async fn is_silent(&mut self) -> bool {
        let mut next = std::pin::pin!(self.next());
        std::future::poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx).is_pending())).await
    }

    /// The messages up to the end.
    pub(super) async fn rest(&mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some((_, message)) = self.next().await {
            messages.push(message);
        }
        messages
    }
}
