//! A model that plays a script, over the same HTTP wires as real endpoints, so that the real clients run.
//!
//! For tests only (feature `scripted`). It binds a free loopback port, answers `POST …/chat/completions` and
//! `POST …/messages` with the turns of its script in order, each as that wire writes it, checks what the script
//! expects of each request, and records what it got. The format of scripts is in [`Script`].
//!
//! ```
//! use switchboard_llm::scripted::{Script, ScriptedModel};
//! use switchboard_llm::{ChatModel, ChatRequest, Message, ModelAnswer, ModelConfig, OpenAiModel};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let script = Script::from_json(r#"{ "turns": [ { "expect": { "last_role": "user" }, "say": "Hello." } ] }"#)?;
//! let server = ScriptedModel::start(script).await?;
//!
//! let model = OpenAiModel::new(ModelConfig::openai(&server.base_url(), "scripted")?)?;
//! let request = ChatRequest { messages: vec![Message::user("Hi!")], ..ChatRequest::default() };
//! let answer = ModelAnswer::collect(model.chat(request)).await?;
//!
//! assert_eq!(answer.text, "Hello.");
//! server.verify()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
mod expect;
mod render;
mod script;

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use self::body::ScriptedBody;
pub use self::script::{Call, Ending, Expect, Figures, Piece, Script, Turn};

/// The largest request that is read, in bytes.
const MAX_REQUEST_BYTES: usize = 64 << 20;

/// The status for a request that the script does not expect. No client retries it.
const MISMATCH: StatusCode = StatusCode::IM_A_TEAPOT;

/// A running scripted model. It stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// `GET` or `POST`.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; null if it was empty or no JSON.
    pub body: Value,
    /// The body's bytes.
    pub bytes: Bytes,
}

/// The requests did not fit the script.
#[derive(Debug)]
pub struct ScriptMismatch {
    problems: Vec<String>,
}

impl fmt::Display for ScriptMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the requests do not fit the script: {}", self.problems.join("; "))
    }
}

impl std::error::Error for ScriptMismatch {}

/// Which wire a request came on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    ChatCompletions,
    Messages,
}

impl Wire {
    fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            _ if path.ends_with("/chat/completions") => Some(Self::ChatCompletions),
            _ if path.ends_with("/messages") => Some(Self::Messages),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct State {
    script: Script,
    next: usize,
    requests: Vec<RecordedRequest>,
    problems: Vec<String>,
    released: watch::Sender<bool>,
}

impl ScriptedModel {
    /// Binds a free port of 127.0.0.1 and begins to answer.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State {
            script,
            next: 0,
            requests: Vec::new(),
            problems: Vec::new(),
            released: watch::Sender::new(false),
        }));
        let task = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { address, state, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL to give to a client, such as `http://127.0.0.1:40123/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Lets go on what is held now and what would be held later.
    pub fn release(&self) {
        lock(&self.state).released.send_replace(true);
    }

    /// What has arrived so far, in order.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.state).requests.clone()
    }

    /// The bodies of the chat requests so far.
    pub fn chats(&self) -> Vec<Value> {
        let chats = |request: &RecordedRequest| request.method == Method::POST;
        lock(&self.state)
            .requests
            .iter()
            .filter(|request| chats(request))
            .map(|request| request.body.clone())
            .collect()
    }

    /// Checks that every request was expected and every turn was played.
    ///
    /// # Errors
    /// [`ScriptMismatch`] with everything that did not fit.
    pub fn verify(&self) -> Result<(), ScriptMismatch> {
        let state = lock(&self.state);
        let mut problems = state.problems.clone();
        let turns = state.script.turns.len();
        if state.next < turns && !state.script.repeat {
            problems.push(format!("{} of {turns} turns were played", state.next));
        }
        if problems.is_empty() { Ok(()) } else { Err(ScriptMismatch { problems }) }
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves until it is aborted; the connections end with it.
async fn accept(listener: TcpListener, state: Arc<Mutex<State>>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(serve(stream, Arc::clone(&state))); }
                Err(_) => return,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    // Small pieces are the point of many scripts; the network must not collect them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(answer(request, &state).await) }
    });
    // A client that leaves early is part of many scripts and no fault.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, state: &Mutex<State>) -> Response<ScriptedBody> {
    let (head, body) = request.into_parts();
    let bytes = match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return refuse(&format!("the request's body cannot be read: {error}")),
    };
    let recorded = RecordedRequest {
        method: head.method,
        path: head.uri.path_and_query().map_or_else(String::new, |path| path.as_str().to_owned()),
        headers: head.headers,
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        bytes,
    };
    let mut state = lock(state);
    let response = state.play(&recorded);
    state.requests.push(recorded);
    response
}

impl State {
    fn play(&mut self, request: &RecordedRequest) -> Response<ScriptedBody> {
        if request.method == Method::GET {
            return match self.script.get.get(&request.path) {
                Some(value) => ScriptedBody::json(StatusCode::OK, value),
                None => ScriptedBody::json(StatusCode::NOT_FOUND, &Value::Null),
            };
        }
        let turns = self.script.turns.len();
        let position = if self.script.repeat && turns > 0 { self.next % turns } else { self.next };
        let Some(turn) = self.script.turns.get(position) else {
            return self.mismatch(format!("request {} comes after the last turn", self.next + 1));
        };
        if let Err(problem) = turn.expect.check(request) {
            return self.mismatch(format!("request {}: {problem}", self.next + 1));
        }
        let mut released = self.released.subscribe();
        let gate = async move {
            // The script ends with its model.
            let _ = released.wait_for(|released| *released).await;
        };
        let response = turn.respond(self.next, request, Box::pin(gate));
        self.next += 1;
        match response {
            Ok(response) => response,
            Err(problem) => self.mismatch(format!("turn {}: {problem}", self.next)),
        }
    }

    fn mismatch(&mut self, problem: String) -> Response<ScriptedBody> {
        let response = refuse(&problem);
        self.problems.push(problem);
        response
    }
}

fn refuse(problem: &str) -> Response<ScriptedBody> {
    ScriptedBody::json(MISMATCH, &serde_json::json!({ "error": { "message": format!("script: {problem}") } }))
}
