//! A server's HTTP service without a network: requests in, answers and events out, each message checked
//! against the published schema.

use std::pin::Pin;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use switchboard_server::{Body, HttpService};
use switchboard_sse::Decoder;
use switchboard_testkit::wire;
use tower_service::Service;

pub(crate) const REVISION: &str = "2026-07-28";

/// The `_meta` of an ordinary request.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    })
}

/// A request that everything about is in order, to be spoilt.
#[derive(Clone)]
pub(crate) struct Post {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) method: String,
}

impl Post {
    /// Asks `method` with these parameters under the id 7.
    pub(crate) fn new(method: &str, params: Value) -> Self {
        Self::with_id(method, params, &json!(7))
    }

    pub(crate) fn with_id(method: &str, mut params: Value, id: &Value) -> Self {
        if params.get("_meta").is_none() {
            params["_meta"] = meta();
        }
        let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut post = Self::raw(method, body.to_string());
        if let Some(name) = name.filter(|name| name.is_ascii()) {
            post = post.set("mcp-name", &name);
        }
        post
    }

    /// Any body under the headers of `method`.
    pub(crate) fn raw(method: &str, body: impl Into<Bytes>) -> Self {
        let post = Self { headers: HeaderMap::new(), body: body.into(), method: method.into() };
        post.set("host", "localhost")
            .set("content-type", "application/json")
            .set("accept", "application/json, text/event-stream")
            .set("mcp-protocol-version", REVISION)
            .set("mcp-method", method)
    }

    pub(crate) fn tool(name: &str, arguments: Value) -> Self {
        Self::new("tools/call", json!({"name": name, "arguments": arguments}))
    }

    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    /// `null` takes the header away, an array sends it several times.
    pub(crate) fn set_all(mut self, headers: Option<&Value>) -> Self {
        for (name, value) in headers.and_then(Value::as_object).into_iter().flatten() {
            self.headers.remove(name.as_str());
            let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            for value in values.iter().filter_map(Value::as_str) {
                let name: HeaderName = name.parse().unwrap();
                self.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
        }
        self
    }

    pub(crate) fn request(self) -> Request<Full<Bytes>> {
        let mut request = Request::post("/mcp").body(Full::new(self.body)).unwrap();
        *request.headers_mut() = self.headers;
        request
    }

    /// Sends it and reads the whole answer.
    pub(crate) async fn send(self, service: &HttpService) -> Answer {
        let method = self.method.clone();
        let response = answer(service, self.request()).await;
        Answer::read(response, &method).await
    }

    /// Sends it and reads the answer event by event.
    pub(crate) async fn open(self, service: &HttpService) -> Events {
        let method = self.method.clone();
        let response = answer(service, self.request()).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events::new(response, method)
    }
}

pub(crate) async fn answer<B>(service: &HttpService, request: Request<B>) -> Response<Body>
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    service.clone().call(request).await.unwrap()
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) messages: Vec<Value>,
}

impl Answer {
    pub(crate) async fn read(response: Response<Body>, method: &str) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let kind = parts.headers.get("content-type").map(|value| value.to_str().unwrap());
        let messages = match kind {
            Some("application/json") => vec![checked(&body, method)],
            Some("text/event-stream") => {
                let mut decoder = Decoder::new(1 << 20);
                decoder.push(body);
                let events = std::iter::from_fn(|| decoder.next_event().unwrap());
                events.map(|event| checked(&event.data, method)).collect()
            }
            _ => Vec::new(),
        };
        Self { status: parts.status.as_u16(), headers: parts.headers, messages }
    }

    /// The one message of a JSON answer.
    pub(crate) fn json(&self) -> &Value {
        assert_eq!(self.messages.len(), 1, "{self:?}");
        &self.messages[0]
    }

    pub(crate) fn code(&self) -> Option<i64> {
        self.messages.last()?["error"]["code"].as_i64()
    }

    /// The first text of a tool's result.
    pub(crate) fn text(&self) -> &str {
        self.messages.last().unwrap()["result"]["content"][0]["text"].as_str().unwrap()
    }
}

fn checked(bytes: &[u8], method: &str) -> Value {
    wire::check_server_message(bytes, method);
    serde_json::from_slice(bytes).unwrap()
}

/// An event stream while it is open.
pub(crate) struct Events {
    body: Pin<Box<Body>>,
    decoder: Decoder,
    method: String,
    pub(crate) headers: HeaderMap,
}

impl Events {
    fn new(response: Response<Body>, method: String) -> Self {
        let (parts, body) = response.into_parts();
        Self { body: Box::pin(body), decoder: Decoder::new(1 << 20), method, headers: parts.headers }
    }

    /// The next piece of the body, as it left the server.
    pub(crate) async fn chunk(&mut self) -> Option<Bytes> {
        let frame = self.body.frame().await?.unwrap();
        Some(frame.into_data().unwrap())
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.decoder.next_event().unwrap() {
                return Some(checked(&event.data, &self.method));
            }
            let chunk = self.chunk().await?;
            self.decoder.push(chunk);
        }
    }
}
