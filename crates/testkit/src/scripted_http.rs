//! An HTTP server that plays a script: raw replies, cut into pieces, broken off or held open, so that
//! clients are tested against what servers and proxies really send.
//!
//! It understands just enough HTTP/1.1 to read requests. It is no MCP server: the script is.

mod live;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;

pub use live::Live;
use live::{Piece, Source};

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// The request line, such as `POST /mcp HTTP/1.1`.
    pub line: String,
    /// Names in lower case, values as sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Counts connections; equal for requests on the same one.
    pub connection: usize,
    /// When it had come whole.
    pub at: Instant,
}

impl Received {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The method of the JSON-RPC message in the body; `response` if that is one; for a request without
    /// a message its HTTP method.
    #[must_use]
    pub fn method(&self) -> String {
        let message = self.json();
        match message["method"].as_str() {
            Some(method) => method.to_owned(),
            None if message.is_object() => "response".to_owned(),
            None => self.line.split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    /// The parameters of the JSON-RPC message in the body.
    #[must_use]
    pub fn params(&self) -> Value {
        self.json()["params"].clone()
    }
}

/// What is sent back. `$id` in it is replaced by the id of the request, or of the one before where it has
/// none, as JSON.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pieces: Vec<Vec<u8>>,
    then: Then,
    also: Vec<(Live, String)>,
}

#[derive(Clone, Debug, Default)]
enum Then {
    /// The connection takes the next request.
    #[default]
    KeepAlive,
    Close,
    /// The connection stays open until the client leaves.
    Hold,
    /// The connection says what it is given, until that ends or the client leaves.
    Live(Source),
}

impl Reply {
    /// Exactly these bytes.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { pieces: vec![bytes.into()], ..Self::default() }
    }

    /// A status and a body, with further headers, each ended by CRLF.
    #[must_use]
    pub fn http(status: u16, headers: &str, body: &str) -> Self {
        // The length is filled in once the id is known.
        Self::raw(format!("HTTP/1.1 {status} Scripted\r\n{headers}content-length: $length\r\n\r\n{body}"))
    }

    /// A status and a JSON body.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self::http(status, "content-type: application/json\r\n", &with_id(body))
    }

    /// A result.
    #[must_use]
    pub fn result(result: &Value) -> Self {
        Self::json(200, &json!({"jsonrpc": "2.0", "id": "$id", "result": result}))
    }

    /// A JSON-RPC error; `error` is its object.
    #[must_use]
    pub fn error(status: u16, error: &Value) -> Self {
        Self::json(status, &json!({"jsonrpc": "2.0", "id": "$id", "error": error}))
    }

    /// An event stream of these messages, whose end is the end of the connection.
    #[must_use]
    pub fn events(messages: &[Value]) -> Self {
        let events: String =
            messages.iter().map(|message| format!("data: {}\n\n", with_id(message))).collect();
        Self::stream(&events)
    }

    /// An event stream with this text, whose end is the end of the connection.
    #[must_use]
    pub fn stream(text: &str) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        Self::raw(format!("{head}{text}")).then_close()
    }

    /// Sends the bytes in pieces of this size.
    #[must_use]
    pub fn cut(mut self, size: usize) -> Self {
        let whole = self.pieces.concat();
        self.pieces = whole.chunks(size.max(1)).map(<[u8]>::to_vec).collect();
        self
    }

    /// Closes the connection afterwards.
    #[must_use]
    pub fn then_close(mut self) -> Self {
        self.then = Then::Close;
        self
    }

    /// Keeps the connection open until the client leaves, which [`ScriptedHttp::left`] reports.
    #[must_use]
    pub fn then_hold(mut self) -> Self {
        self.then = Then::Hold;
        self
    }

    /// Nothing at all: the connection is closed instead.
    #[must_use]
    pub fn drop_connection() -> Self {
        Self { then: Then::Close, ..Self::default() }
    }
}

fn with_id(message: &Value) -> String {
    message.to_string().replace("\"$id\"", "$id")
}

/// A scripted server on a free port of the loopback interface.
#[derive(Debug)]
pub struct ScriptedHttp {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    steps: VecDeque<(String, Reply)>,
    always: Vec<(String, Reply)>,
    received: Vec<Received>,
    unexpected: Vec<String>,
    connections: usize,
    left: usize,
    last_id: String,
    /// Requests are not held against the schema of the modern revision.
    session: bool,
}

impl ScriptedHttp {
    /// Plays these replies: each request takes the first one that is left for its JSON-RPC method.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn play<M: Into<String>>(steps: impl IntoIterator<Item = (M, Reply)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let steps = steps.into_iter().map(|(method, reply)| (method.into(), reply)).collect();
        let state = State { steps, ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Notify::new() });
        tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared }
    }

    /// Plays a server of the legacy era: only the probe is held against the modern schema. Unless the script
    /// says otherwise, it has no stream of its own, and takes note of the end of a session.
    #[must_use]
    pub fn of_legacy_era(self) -> Self {
        self.shared.lock().session = true;
        self
    }

    /// Adds a reply for a method whose steps are used up, as often as it is asked for.
    #[must_use]
    pub fn always(self, method: &str, reply: Reply) -> Self {
        self.shared.lock().always.push((method.to_owned(), reply));
        self
    }

    /// Adds a step to a script that is playing already.
    pub fn then(&self, method: &str, reply: Reply) {
        self.shared.lock().steps.push_back((method.to_owned(), reply));
    }

    /// The endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Another address of the same server.
    #[must_use]
    pub fn url_of(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Everything that was asked so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.shared.lock().received.clone()
    }

    /// The requests for this method so far.
    #[must_use]
    pub fn asked(&self, method: &str) -> Vec<Received> {
        self.received().into_iter().filter(|request| request.method() == method).collect()
    }

    /// Waits until the client has left this many held connections.
    pub async fn left(&self, count: usize) {
        self.wait(|state| state.left >= count).await;
    }

    /// Waits until this many requests for this method have come.
    pub async fn heard(&self, method: &str, count: usize) {
        self.wait(|state| state.received.iter().filter(|known| known.method() == method).count() >= count)
            .await;
    }

    /// Waits until this many requests have come.
    pub async fn asked_for(&self, count: usize) {
        self.wait(|state| state.received.len() >= count).await;
    }

    async fn wait(&self, done: impl Fn(&State) -> bool) {
        loop {
            let changed = self.shared.changed.notified();
            if done(&self.shared.lock()) {
                return;
            }
            changed.await;
        }
    }

    /// Ends the script.
    ///
    /// # Panics
    /// When steps are left, or something was asked that is not in the script.
    pub fn finish(self) -> Vec<Received> {
        let state = self.shared.lock();
        assert!(state.unexpected.is_empty(), "not in the script: {:?}", state.unexpected);
        let left: Vec<_> = state.steps.iter().map(|(method, _)| method).collect();
        assert!(left.is_empty(), "never asked: {left:?}");
        state.received.clone()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply(&self, request: Received) -> Reply {
        let mut state = self.lock();
        let method = request.method();
        // Methods below `x/` are the tests' own; so are all notifications over HTTP.
        let modern = !state.session || method == "server/discover";
        if request.json().get("id").is_some() && !method.starts_with("x/") && modern {
            crate::wire::check_client_message(&request.body);
        }
        state.received.push(request);
        let step = state.steps.iter().position(|(known, _)| *known == method);
        let reply = match step.and_then(|step| state.steps.remove(step)) {
            Some((_, reply)) => Some(reply),
            None => state.always.iter().find(|(known, _)| *known == method).map(|(_, reply)| reply.clone()),
        };
        // A client of that era asks for a stream and says goodbye at times of its own.
        let own_time = |status| Some(Reply::http(status, "", ""));
        let reply = reply.or_else(|| match method.as_str() {
            "GET" if state.session => own_time(405),
            "DELETE" if state.session => own_time(204),
            _ => None,
        });
        let reply = reply.unwrap_or_else(|| {
            state.unexpected.push(method);
            Reply::http(500, "content-type: text/plain\r\n", "not in the script")
        });
        drop(state);
        self.changed.notify_waiters();
        reply
    }
}

impl Shared {
    /// The id of the request; that of the last one where there is none, since a stream that is taken up
    /// again goes on with its answer.
    fn id(&self, request: &Received) -> String {
        let mut state = self.lock();
        if let (Some(id), true) = (request.json().get("id"), request.method() != "response") {
            state.last_id = id.to_string();
        }
        state.last_id.clone()
    }

    fn client_left(&self) {
        self.lock().left += 1;
        self.changed.notify_waiters();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let connection = {
            let mut state = shared.lock();
            state.connections += 1;
            state.connections
        };
        tokio::spawn(serve(stream, connection, Arc::clone(&shared)));
    }
}

async fn serve(mut stream: TcpStream, connection: usize, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer, connection).await {
        let id = shared.id(&request);
        let reply = shared.reply(request);
        let pieces = fill(&reply, &id);
        for piece in pieces {
            if stream.write_all(&piece).await.is_err() || stream.flush().await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        for (live, text) in &reply.also {
            live.text(text.replace("$id", &id));
        }
        match &reply.then {
            Then::KeepAlive => {}
            Then::Close => return,
            Then::Hold => {
                left(&mut stream).await;
                return shared.client_left();
            }
            Then::Live(source) => {
                let Some(mut pieces) = source.take() else { return };
                if !write_live(&mut stream, &mut pieces).await {
                    shared.client_left();
                }
                return;
            }
        }
    }
}

/// Writes what comes until it ends; false if the client left before.
async fn write_live(stream: &mut TcpStream, pieces: &mut UnboundedReceiver<Piece>) -> bool {
    loop {
        let piece = tokio::select! {
            piece = pieces.recv() => piece,
            () = left(stream) => return false,
        };
        match piece {
            Some(Piece::Text(text)) if stream.write_all(text.as_bytes()).await.is_err() => return false,
            Some(Piece::Text(_)) => {}
            Some(Piece::End) => return true,
            // The test has let go of it: it stays open.
            None => {
                left(stream).await;
                return false;
            }
        }
    }
}

/// Waits until the client has closed the connection.
async fn left(stream: &mut TcpStream) {
    let mut byte = [0];
    while matches!(stream.read(&mut byte).await, Ok(1..)) {}
}

/// Puts the id and the length in; pieces keep their size where neither is in them.
fn fill(reply: &Reply, id: &str) -> Vec<Vec<u8>> {
    let size = reply.pieces.first().map_or(1, Vec::len);
    let whole = reply.pieces.concat();
    let Ok(text) = String::from_utf8(whole) else { return reply.pieces.clone() };
    let text = text.replace("$id", id);
    let length = text.split_once("\r\n\r\n").map_or(0, |(_, body)| body.len());
    let text = text.replacen("$length", &length.to_string(), 1);
    if reply.pieces.len() <= 1 {
        return vec![text.into_bytes()];
    }
    text.as_bytes().chunks(size).map(<[u8]>::to_vec).collect()
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>, connection: usize) -> Option<Received> {
    let head_end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse::<usize>().ok())
        .unwrap_or(0);
    let end = head_end + 4 + length;
    while buffer.len() < end {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer[head_end + 4..end].to_vec();
    buffer.drain(..end);
    Some(Received { line, headers, body, connection, at: Instant::now() })
}
