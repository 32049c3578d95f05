//! What happens at the same time: requests that share an id, and cancellations that race with replies.
//! Each script of `tests/data/same_ids.json` and `tests/data/cancellations.json` is a list of steps, played
//! over HTTP or over a pipe; `timeline/legacy` plays those over a pipe once more, in sessions.

#[cfg(feature = "legacy")]
mod legacy;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use http::request::Parts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_server::{Args, Builder, Call, Ctx, FromCall, HttpService, Rejection, Server, State, Tool};
use switchboard_testkit::wire::check_server_message;
use switchboard_transport::{Lines, Pipe};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::calls::request;
use crate::endpoint::{Answer, Post};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "why")]
    _why: String,
    scripts: Vec<Script>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    name: String,
    over: String,
    /// Why it cannot be played in a session.
    #[cfg_attr(not(feature = "legacy"), expect(dead_code, reason = "there are no sessions"))]
    modern: Option<String>,
    steps: Vec<Step>,
}

/// A verb and what it is about. Callers are named; each has its own credentials over HTTP.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// Caller, id, tool: `quick`, `wait`, or `talk`, which reports progress first.
    Call(String, Value, String),
    /// The caller's handler has begun.
    Entered(String),
    /// Lets the caller's handler end.
    Go(String),
    /// The caller's handler was dropped or has ended.
    Left(String),
    /// The caller gets its own answer.
    Answer(String),
    /// The caller gets an error with this code.
    Error(String, i64),
    /// The caller hears of progress.
    Progress(String),
    /// The caller goes away: over HTTP it hangs up, over a pipe it cancels.
    Leave(String),
    /// Any text of the client.
    Say(String),
    /// Over a pipe: the next message is an error with this id and code.
    Refused(Value, i64),
    /// Over a pipe: nothing is due.
    Silent,
    /// Over a pipe: the caller got its answer or nothing, and nothing else is due.
    AtMostOne(String),
}

/// What handlers and the test tell each other.
struct Desk {
    going: Mutex<HashMap<String, Arc<Semaphore>>>,
    events: mpsc::UnboundedSender<(String, &'static str)>,
}

impl Desk {
    fn gate(&self, by: &str) -> Arc<Semaphore> {
        let mut going = self.going.lock().unwrap();
        Arc::clone(going.entry(by.into()).or_insert_with(|| Arc::new(Semaphore::new(0))))
    }
}

struct Held(Arc<Desk>, String);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.events.send((self.1.clone(), "left"));
    }
}

#[derive(Deserialize, JsonSchema)]
struct By {
    by: String,
}

/// The caller's credentials, where the transport has any.
struct Credentials(String);

impl<S: Sync> FromCall<S> for Credentials {
    async fn from_call(call: &Call, _state: &S) -> Result<Self, Rejection> {
        let header = call.extensions.get::<Parts>().and_then(|parts| parts.headers.get("authorization"));
        Ok(Self(header.map_or("nothing", |value| value.to_str().unwrap()).to_owned()))
    }
}

fn greeting(by: &str, Credentials(credentials): &Credentials) -> String {
    format!("for {by} with {credentials}")
}

async fn quick(Args(By { by }): Args<By>, credentials: Credentials) -> String {
    greeting(&by, &credentials)
}

async fn wait(State(desk): State<Arc<Desk>>, Args(By { by }): Args<By>, credentials: Credentials) -> String {
    let _held = Held(Arc::clone(&desk), by.clone());
    let _ = desk.events.send((by.clone(), "entered"));
    desk.gate(&by).acquire().await.unwrap().forget();
    greeting(&by, &credentials)
}

async fn talk(ctx: Ctx, state: State<Arc<Desk>>, args: Args<By>, credentials: Credentials) -> String {
    ctx.progress(1.0, 2.0).await;
    wait(state, args, credentials).await
}

struct House {
    server: Server,
    desk: Arc<Desk>,
    events: mpsc::UnboundedReceiver<(String, &'static str)>,
    /// Events that came before somebody waited for them.
    early: Vec<(String, &'static str)>,
}

impl House {
    fn new() -> Self {
        Self::with(|builder| {
            // What a handshake does has tests of its own.
            #[cfg(feature = "legacy")]
            let builder = builder.eras(switchboard_server::Eras::MODERN_ONLY);
            builder
        })
    }

    fn with(prepare: fn(Builder<Arc<Desk>>) -> Builder<Arc<Desk>>) -> Self {
        let (tx, events) = mpsc::unbounded_channel();
        let desk = Arc::new(Desk { going: Mutex::default(), events: tx });
        let server = prepare(Server::builder("test", "1"))
            .tool(Tool::new("quick", quick))
            .tool(Tool::new("wait", wait))
            .tool(Tool::new("talk", talk))
            .build(Arc::clone(&desk))
            .unwrap();
        Self { server, desk, events, early: Vec::new() }
    }

    async fn event(&mut self, by: &str, what: &'static str) {
        let wanted = (by.to_owned(), what);
        if let Some(place) = self.early.iter().position(|event| *event == wanted) {
            self.early.remove(place);
            return;
        }
        loop {
            let event = self.events.recv().await.unwrap();
            if event == wanted {
                return;
            }
            self.early.push(event);
        }
    }

    /// The steps that are the same on every transport. Says whether it was one of them.
    async fn common(&mut self, step: &Step) -> bool {
        match step {
            Step::Entered(by) => self.event(by, "entered").await,
            Step::Left(by) => self.event(by, "left").await,
            Step::Go(by) => self.desk.gate(by).add_permits(1),
            _ => return false,
        }
        true
    }
}

fn call(by: &str, id: &Value, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {"by": by}, "_meta": {"progressToken": by}});
    let mut message = request("tools/call", params);
    message["id"] = id.clone();
    message
}

async fn play(script: &Script) {
    match script.over.as_str() {
        "http" => OverHttp::new().play(script).await,
        "pipe" => OverPipe::new().play(script).await,
        other => panic!("{}: no transport {other}", script.name),
    }
}

struct OverHttp {
    house: House,
    service: HttpService,
    callers: HashMap<String, (Value, JoinHandle<Answer>)>,
}

impl OverHttp {
    fn new() -> Self {
        let house = House::new();
        let service = house.server.http().into_service();
        Self { house, service, callers: HashMap::new() }
    }

    async fn play(mut self, script: &Script) {
        for (number, step) in script.steps.iter().enumerate() {
            let place = format!("{}, step {}: {step:?}", script.name, number + 1);
            if !self.house.common(step).await {
                self.step(step, &place).await;
            }
        }
    }

    async fn step(&mut self, step: &Step, place: &str) {
        match step {
            Step::Call(by, id, tool) => {
                let post = Post::raw("tools/call", call(by, id, tool).to_string())
                    .set("mcp-name", tool)
                    .set("authorization", &format!("Bearer {by}"));
                let service = self.service.clone();
                let answer = tokio::spawn(async move { post.send(&service).await });
                self.callers.insert(by.clone(), (id.clone(), answer));
            }
            Step::Answer(by) => {
                let (id, answer) = self.callers.remove(by).unwrap();
                let answer = answer.await.unwrap();
                assert_eq!(answer.messages.last().unwrap()["id"], id, "{place}");
                assert_eq!(answer.text(), format!("for {by} with Bearer {by}"), "{place}");
            }
            Step::Error(by, code) => {
                let (id, answer) = self.callers.remove(by).unwrap();
                let answer = answer.await.unwrap();
                assert_eq!((answer.code(), &answer.json()["id"]), (Some(*code), &id), "{place}");
            }
            Step::Leave(by) => self.callers.remove(by).unwrap().1.abort(),
            Step::Say(text) => {
                let message: Value = serde_json::from_str(text).unwrap();
                let got = Post::raw(message["method"].as_str().unwrap(), text.clone());
                let got = got.send(&self.service).await;
                assert_eq!((got.status, got.messages.len()), (202, 0), "{place}");
            }
            other => panic!("{place}: {other:?} has no meaning over HTTP"),
        }
    }
}

struct OverPipe {
    house: House,
    pipe: Pipe,
    lines: Lines,
    callers: HashMap<String, Value>,
    /// How a call is written, and how a message of the server is held against the published schema.
    words: Words,
}

#[derive(Clone, Copy)]
struct Words {
    call: fn(&str, &Value, &str) -> Value,
    check: fn(&[u8], &'static str),
    date: &'static str,
}

/// Those of requests that say their revision.
const MODERN: Words = Words { call, check: |line, _| check_server_message(line, "tools/call"), date: "" };

impl OverPipe {
    fn new() -> Self {
        Self::at(House::new(), MODERN)
    }

    fn at(house: House, words: Words) -> Self {
        let (pipe, Pipe { reader, writer }) = Pipe::in_memory(1 << 16);
        let server = house.server.clone();
        tokio::spawn(async move { server.serve_io(reader, writer).await });
        Self { house, pipe, lines: Lines::new(1 << 20), callers: HashMap::new(), words }
    }

    async fn play(mut self, script: &Script) {
        for (number, step) in script.steps.iter().enumerate() {
            let place = format!("{} {}, step {}: {step:?}", script.name, self.words.date, number + 1);
            if !self.house.common(step).await {
                self.step(step, &place).await;
            }
        }
        assert!(self.until_marker().await.is_empty(), "{}: something was left to hear", script.name);
    }

    async fn say(&mut self, text: &str) {
        self.pipe.writer.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        loop {
            if let Some(line) = self.lines.next_line().unwrap() {
                (self.words.check)(&line, self.words.date);
                return serde_json::from_slice(&line).unwrap();
            }
            assert!(self.lines.fill(&mut self.pipe.reader).await.unwrap() > 0, "the server is gone");
        }
    }

    /// Everything that comes before the answer to a call of its own.
    async fn until_marker(&mut self) -> Vec<Value> {
        let marker = (self.words.call)("marker", &json!("marker"), "quick");
        self.say(&marker.to_string()).await;
        let mut heard = Vec::new();
        loop {
            let message = self.hear().await;
            if message["id"] == "marker" {
                return heard;
            }
            heard.push(message);
        }
    }

    fn check_answer(&self, message: &Value, by: &str, place: &str) {
        assert_eq!(message["id"], self.callers[by], "{place}: {message}");
        let text = &message["result"]["content"][0]["text"];
        assert_eq!(*text, format!("for {by} with nothing"), "{place}: {message}");
    }

    async fn step(&mut self, step: &Step, place: &str) {
        match step {
            Step::Call(by, id, tool) => {
                self.callers.insert(by.clone(), id.clone());
                self.say(&(self.words.call)(by, id, tool).to_string()).await;
            }
            Step::Answer(by) => {
                let message = self.hear().await;
                self.check_answer(&message, by, place);
            }
            Step::Error(by, code) => {
                let message = self.hear().await;
                assert_eq!(message["id"], self.callers[by], "{place}: {message}");
                assert_eq!(message["error"]["code"], *code, "{place}: {message}");
            }
            Step::Progress(by) => {
                let message = self.hear().await;
                assert_eq!(message["params"]["progressToken"], **by, "{place}: {message}");
            }
            Step::Leave(by) => {
                let params = json!({"requestId": self.callers[by], "reason": "enough"});
                let message =
                    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
                self.say(&message.to_string()).await;
            }
            Step::Say(text) => self.say(text).await,
            Step::Refused(id, code) => {
                let message = self.hear().await;
                assert_eq!((&message["id"], &message["error"]["code"]), (id, &json!(code)), "{place}");
            }
            Step::Silent => assert_eq!(self.until_marker().await, Vec::<Value>::new(), "{place}"),
            Step::AtMostOne(by) => match self.until_marker().await.as_slice() {
                [] => {}
                [message] => self.check_answer(message, by, place),
                more => panic!("{place}: {more:?}"),
            },
            other => panic!("{place}: {other:?} has no meaning over a pipe"),
        }
    }
}

async fn check(text: &str) {
    let file: File = serde_json::from_str(text).unwrap();
    for script in &file.scripts {
        play(script).await;
    }
}

#[tokio::test]
async fn requests_that_share_an_id_get_their_own_answers() {
    check(include_str!("../data/same_ids.json")).await;
}

#[tokio::test]
async fn a_cancellation_ends_what_it_names_and_nothing_else() {
    check(include_str!("../data/cancellations.json")).await;
}
