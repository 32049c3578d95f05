//! A host that listens on a free port, with a scripted model and a server in this process.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_agent::host::{ModelChoice, OneModel};
use switchboard_agent::policy::{Mode, Policy};
use switchboard_agent::store::{MemoryStore, Store};
use switchboard_agent::supervisor::{ServerConfig, Supervisor, SupervisorOptions};
use switchboard_agent::turn::Step;
use switchboard_agent::{AgentError, Host, Selected, Selector, ServerName};
use switchboard_app::{ListenOptions, bind};
use switchboard_llm::{Finish, ModelEvent, ToolCallRequest};
use switchboard_server::{Args, Completing, Ctx, Prompt, Resource, Server, Tool};
use tokio::sync::{oneshot, watch};

/// What lets a test in.
pub(crate) const TOKEN: &str = "a-token-for-tests";

/// A model that says its answers one after the other, whoever asks, as soon as it may.
#[derive(Clone)]
struct Script {
    answers: Arc<Mutex<VecDeque<Vec<ModelEvent>>>>,
    may: watch::Receiver<bool>,
}

impl Selector for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn select(&self, _: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let events =
            self.answers.lock().unwrap().pop_front().unwrap_or_else(|| say("I have nothing more to say."));
        let mut may = self.may.clone();
        // Who let it speak and went away lets it speak for good.
        let may = async move { drop(may.wait_for(|may| *may).await) };
        let events = stream::iter(events.into_iter().map(|event| Ok(Selected::Event(event))));
        stream::once(may).flat_map(move |()| events.clone()).boxed()
    }
}

/// An answer that calls one tool.
pub(crate) fn call(tool: &str, arguments: Value) -> Vec<ModelEvent> {
    let request = ToolCallRequest::new("id-1", format!("desk__{tool}"), arguments.to_string());
    vec![ModelEvent::CallEnd { call: 0, request }, ModelEvent::Finish(Finish::ToolCalls)]
}

/// An answer in words.
pub(crate) fn say(text: &str) -> Vec<ModelEvent> {
    let pieces = text.split_inclusive(' ').map(|piece| ModelEvent::TextDelta(piece.to_owned()));
    pieces.chain([ModelEvent::Finish(Finish::Stop)]).collect()
}

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    /// What it is about.
    topic: String,
}

fn desk() -> Server {
    let sum_up = async |Args(Topic { topic }): Args<Topic>| format!("Sum up {topic}.");
    let topics = async |typed: Completing| {
        ["tea", "cups"].into_iter().filter(|word| word.starts_with(&typed.value)).collect::<Vec<_>>()
    };
    let hang = async |ctx: Ctx| {
        ctx.cancelled().await;
        "stopped"
    };
    Server::builder("desk", "1.0")
        .tool(Tool::new("greeting", async || "Good morning!").describe("Greets"))
        .tool(Tool::new("open", async |Args(File { path }): Args<File>| format!("{path} is open")))
        .tool(Tool::new("hang", hang))
        .tool(Tool::new("long", async || "0123456789".repeat(50_000)))
        .prompt(Prompt::new("sum_up", sum_up).complete("topic", topics))
        .resource(Resource::new("note://tea", async || "All about tea.").name("tea").mime("text/plain"))
        .build(())
        .unwrap()
}

pub(crate) struct Listening {
    url: String,
    client: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.take().map(|stop| stop.send(()));
    }
}

impl Listening {
    /// A host that asks about every call.
    pub(crate) async fn asking(answers: impl IntoIterator<Item = Vec<ModelEvent>>) -> Self {
        Self::start(answers, Mode::Interactive, Arc::new(MemoryStore::default())).await
    }

    /// A host that allows every call.
    pub(crate) async fn allowing(answers: impl IntoIterator<Item = Vec<ModelEvent>>) -> Self {
        Self::start(answers, Mode::Yes, Arc::new(MemoryStore::default())).await
    }

    /// A host whose model says nothing until it is told that it may.
    pub(crate) async fn holding(
        answers: impl IntoIterator<Item = Vec<ModelEvent>>,
    ) -> (Self, watch::Sender<bool>) {
        let (may, held) = watch::channel(false);
        let store = Arc::new(MemoryStore::default());
        (Self::with_model((answers, held), Mode::Yes, store).await, may)
    }

    pub(crate) async fn start(
        answers: impl IntoIterator<Item = Vec<ModelEvent>>,
        mode: Mode,
        store: Arc<dyn Store>,
    ) -> Self {
        Self::with_model((answers, watch::channel(true).1), mode, store).await
    }

    async fn with_model(
        (answers, may): (impl IntoIterator<Item = Vec<ModelEvent>>, watch::Receiver<bool>),
        mode: Mode,
        store: Arc<dyn Store>,
    ) -> Self {
        let script = Script { answers: Arc::new(Mutex::new(answers.into_iter().collect())), may };
        let mut options = SupervisorOptions::default();
        options.store = Arc::clone(&store);
        let supervisor = Supervisor::new(options);
        supervisor.start(vec![ServerConfig::in_process(ServerName::new("desk").unwrap(), desk())]);
        let host = Host::builder(OneModel(ModelChoice::other(script)))
            .supervisor(supervisor.clone())
            .policy(Policy::new(mode))
            .store(store)
            .build();
        let options = ListenOptions {
            address: ([127, 0, 0, 1], 0).into(),
            token: TOKEN.to_owned(),
            chosen_token: false,
            public_urls: Vec::new(),
        };
        let bound = bind(host, supervisor, options).await.unwrap();
        let url = format!("http://{}", bound.address());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(bound.serve(async {
            let _ = stopped.await;
        }));
        Self { url, client: client(), stop: Some(stop) }
    }

    /// `host:port`.
    pub(crate) fn authority(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// A request without the token.
    pub(crate) fn bare(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.bare(method, path).bearer_auth(TOKEN)
    }

    /// Sends a request with this body, if it is not null, and expects this status.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Value, status: u16) -> Value {
        let request = self.request(method, path);
        let request = if body.is_null() { request } else { request.json(&body) };
        json_of(request.send().await.unwrap(), status).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.ask("GET", path, Value::Null, 200).await
    }

    /// Begins a run and waits until it is over or asks something.
    pub(crate) async fn run(&self, input: &str, status: u16) -> Value {
        self.ask("POST", "/run", json!({ "input": input }), status).await
    }

    /// The events of a stream.
    pub(crate) async fn events(&self, path: &str) -> Events {
        let response = self.request("GET", path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Events::of(response)
    }
}

/// A client that goes nowhere but where it is sent.
pub(crate) fn client() -> reqwest::Client {
    // An error means that another test was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

pub(crate) async fn json_of(response: Response, status: u16) -> Value {
    let (got, text) = (response.status(), response.text().await.unwrap());
    assert_eq!(got, status, "{text}");
    if text.is_empty() {
        return Value::Null;
    }
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text:?}"))
}

/// The first offer with this choice to the first thing that waits in a run, taken as it came.
pub(crate) fn reply(run: &Value, choice: &str) -> Value {
    let (request, question) = (&run["requests"][0], &run["requests"][0]["question"]);
    let offers = question["offers"].as_array().unwrap();
    let offer = offers.iter().find(|offer| offer["choice"] == choice).unwrap();
    let (digest, rule) = (&question["digest"], &offer["rule"]);
    json!({
        "request": request["id"],
        "reply": { "kind": "approval", "digest": digest, "choice": choice, "rule": rule },
    })
}

/// An event of a stream.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<u64>,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

/// A stream of events as it arrives.
pub(crate) struct Events {
    pieces: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    text: String,
}

impl Events {
    pub(crate) fn of(response: Response) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { pieces: response.bytes_stream().boxed(), text: String::new() }
    }

    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                if !block.starts_with(':') {
                    return Some(event(&block));
                }
                continue;
            }
            let piece = self.pieces.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// All events up to the first for which this holds.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            let done = wanted(&event);
            events.push(event);
            if done {
                return events;
            }
        }
        panic!("the stream ended after {events:?}");
    }
}

fn event(block: &str) -> Event {
    let field = |name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim_start))
    };
    Event {
        id: field("id").map(|id| id.parse().unwrap()),
        kind: field("event").unwrap_or_default().to_owned(),
        data: field("data").map(|data| serde_json::from_str(data).unwrap()).unwrap_or_default(),
    }
}
