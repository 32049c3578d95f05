//! Plays a script over one transport and looks at what came of it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{
    Cache, CallError, CallToolResult, Client, ClientBuilder, CompletionReference, Connect, ContentBlock,
    CreateMessageResult, Delivery, ElicitReply, Era, Error, Limits, OneOrMany, Pipe, Request, Role, Root,
    SamplingContent,
};
use switchboard_testkit::scripted_http::ScriptedHttp;

use super::format::{Ask, Expect, Played, Script, Setup, Step};
use crate::support::{answer, builder, discovered, page, pipe_server, tool};

/// A request as the server saw it.
struct Seen {
    message: Value,
    headers: Option<HashMap<String, String>>,
}

/// What a server on a pipe has yet to answer, by method.
pub(super) type Replies = Arc<Mutex<VecDeque<(String, Played)>>>;
/// What a server on a pipe has heard so far.
pub(super) type Heard = Box<dyn Fn() -> Vec<Value>>;

/// The server's end, and the way to it.
pub(super) enum End {
    Http(ScriptedHttp),
    Pipe { replies: Replies, open: fn(Replies) -> (Pipe, Heard), heard: Vec<Heard> },
}

pub(super) struct Play<'a> {
    script: &'a Script,
    end: End,
    era: Era,
    clients: HashMap<String, Client>,
    cache: Cache,
    asked: Arc<AtomicUsize>,
}

impl<'a> Play<'a> {
    pub(super) async fn over_http(script: &'a Script) {
        let steps = script.replies.iter().map(|(method, played)| (method.clone(), played.reply()));
        let probe = Played::Result(discovered()).reply();
        let mut server = ScriptedHttp::play(steps).await.always("server/discover", probe);
        if !script.lists_tools() {
            // A cold client asks before its first call.
            let tools = page("tools", json!([tool("f")]), None);
            server = server.always("tools/list", Played::Result(tools).reply());
        }
        Self::new(script, End::Http(server), Era::Auto).run().await;
    }

    pub(super) async fn over_a_pipe(script: &'a Script) {
        let replies = Arc::new(Mutex::new(script.replies.iter().cloned().collect()));
        Self::new(script, End::Pipe { replies, open, heard: Vec::new() }, Era::Auto).run().await;
    }

    pub(super) fn new(script: &'a Script, end: End, era: Era) -> Self {
        let cache = Cache::new(&Limits::default());
        let cache = if script.client.share_public { cache.share_public() } else { cache };
        Self { script, end, era, clients: HashMap::new(), cache, asked: Arc::default() }
    }

    pub(super) async fn run(mut self) {
        for (number, step) in self.script.steps.iter().enumerate() {
            let place = format!("{}, step {}, {}", self.script.name, number + 1, self.end.name());
            if let Ask::AdvanceMs(passed) = step.ask {
                tokio::time::advance(Duration::from_millis(passed)).await;
                continue;
            }
            let client = self.client(&step.caller).await;
            Outcome::of(&client, step).await.check(&step.expect, &place);
            if let Some(excluded) = &step.expect.excluded {
                let found = client.excluded_tools();
                let names: Vec<&str> = found.iter().map(|tool| tool.name.as_str()).collect();
                let expected: Vec<&str> = excluded.iter().map(|(name, _)| name.as_str()).collect();
                assert_eq!(names, expected, "{place}: {found:?}");
                for (tool, (_, word)) in found.iter().zip(excluded) {
                    assert!(tool.reason.contains(word), "{place}: {tool:?} lacks {word:?}");
                }
            }
            if let Some(asked) = step.expect.asked {
                assert_eq!(self.asked.load(Ordering::Relaxed), asked, "{place}: people asked");
            }
        }
        let (name, sent) = (self.script.name.clone(), &self.script.sent);
        let mut seen = self.end.finish(&name).await;
        seen.retain(|seen| self.script.lists_tools() || seen.message["method"] != "tools/list");
        check_sent(&name, &seen, (sent.as_deref(), self.era == Era::Auto));
    }

    async fn client(&mut self, caller: &str) -> Client {
        if let Some(client) = self.clients.get(caller) {
            return client.clone();
        }
        let builder = people(builder().era(self.era), &self.script.client, &self.asked);
        let builder = builder.cache(self.cache.clone()).limits(limits(&self.script.client));
        let builder = if caller.is_empty() { builder } else { builder.bearer(caller) };
        let client = self.end.connect(builder).await.unwrap();
        self.clients.insert(caller.to_owned(), client.clone());
        client
    }
}

impl End {
    fn name(&self) -> &'static str {
        match self {
            Self::Http(_) => "HTTP",
            Self::Pipe { .. } => "pipe",
        }
    }

    fn connect(&mut self, builder: ClientBuilder) -> Connect {
        match self {
            Self::Http(server) => builder.http(server.url()),
            Self::Pipe { replies, open, heard } => {
                let (pipe, seen) = open(Arc::clone(replies));
                heard.push(seen);
                builder.pipe(pipe)
            }
        }
    }

    /// Everything that was asked; nothing of the script may be left.
    async fn finish(self, name: &str) -> Vec<Seen> {
        match self {
            Self::Http(server) => server
                .finish()
                .into_iter()
                .map(|request| Seen {
                    message: request.json(),
                    headers: Some(request.headers.into_iter().collect()),
                })
                .collect(),
            Self::Pipe { replies, heard, .. } => {
                assert!(replies.lock().unwrap().is_empty(), "{name}: replies are left");
                let all = heard.iter().flat_map(|heard| heard());
                all.map(|message| Seen { message, headers: None }).collect()
            }
        }
    }
}

/// A server on a pipe that answers the probe, and then as the script says.
fn open(replies: Replies) -> (Pipe, Heard) {
    let (pipe, heard) = pipe_server(move |message| match message["method"].as_str() {
        Some("server/discover") => Some(vec![answer(message, &discovered())]),
        _ => play(&replies, message),
    });
    (pipe, Box::new(move || heard.lock().unwrap().clone()))
}

/// What the script says to a message on a pipe.
pub(super) fn play(replies: &Replies, message: &Value) -> Option<Vec<Value>> {
    if message.get("id").is_none() {
        return Some(vec![]);
    }
    let mut replies = replies.lock().unwrap();
    let place = replies.iter().position(|(method, _)| message["method"] == **method);
    let (_, played) = place
        .and_then(|place| replies.remove(place))
        .unwrap_or_else(|| panic!("not in the script: {message}"));
    played.lines(&message["id"])
}

/// `with_headers`: whether the headers must be those of the script, too.
fn check_sent(name: &str, seen: &[Seen], (expected, with_headers): (Option<&[super::format::Sent]>, bool)) {
    let requests: Vec<&Seen> = seen
        .iter()
        .filter(|seen| {
            let opens =
                ["server/discover", "initialize"].iter().any(|known| seen.message["method"] == **known);
            seen.message.get("id").is_some() && !opens
        })
        .collect();
    // Ids are the client's own; clients are told apart by their credentials.
    let ids: HashSet<(String, Option<&String>)> = requests
        .iter()
        .map(|seen| {
            let credentials = seen.headers.as_ref().and_then(|headers| headers.get("authorization"));
            (seen.message["id"].to_string(), credentials)
        })
        .collect();
    assert_eq!(ids.len(), requests.len(), "{name}: every request has its own id");
    let Some(expected) = expected else { return };
    let methods: Vec<&str> = requests.iter().filter_map(|seen| seen.message["method"].as_str()).collect();
    let wanted: Vec<&str> = expected.iter().map(|sent| sent.method.as_str()).collect();
    assert_eq!(methods, wanted, "{name}");
    for (number, (seen, sent)) in requests.iter().zip(expected).enumerate() {
        for (pointer, value) in &sent.params {
            let found = seen.message["params"].pointer(pointer).unwrap_or(&Value::Null);
            assert_eq!(found, value, "{name}: {pointer} of request {}", number + 1);
        }
        for (header, value) in sent.headers.iter().filter(|_| with_headers && seen.headers.is_some()) {
            let found = seen.headers.as_ref().and_then(|headers| headers.get(header));
            assert_eq!(found, value.as_ref(), "{name}: {header} of request {}", number + 1);
        }
    }
}

fn limits(setup: &Setup) -> Limits {
    let mut limits = Limits::default();
    limits.rounds = setup.rounds.unwrap_or(limits.rounds);
    limits.pages = setup.pages.unwrap_or(limits.pages);
    limits.items = setup.items.unwrap_or(limits.items);
    limits
}

fn says(said: &Value) -> ElicitReply {
    match said.as_str() {
        Some("decline") => ElicitReply::Decline,
        Some("cancel") => ElicitReply::Cancel,
        _ => ElicitReply::Accept(said.clone()),
    }
}

/// Gives the client those who can be asked.
fn people(mut builder: ClientBuilder, setup: &Setup, asked: &Arc<AtomicUsize>) -> ClientBuilder {
    let count = || {
        let asked = Arc::clone(asked);
        move || asked.fetch_add(1, Ordering::Relaxed)
    };
    if let Some(said) = setup.form.clone() {
        let count = count();
        builder = builder.on_elicit(move |_| {
            count();
            std::future::ready(says(&said))
        });
    }
    if let Some(said) = setup.url.clone() {
        let count = count();
        builder = builder.on_elicit_url(move |_| {
            count();
            std::future::ready(says(&said))
        });
    }
    if let Some(text) = setup.sampling.clone() {
        let count = count();
        builder = builder.on_sampling(move |_| {
            count();
            std::future::ready(Ok(CreateMessageResult {
                role: Role::Assistant,
                content: OneOrMany::One(SamplingContent::text(text.clone())),
                model: "m".into(),
                stop_reason: None,
                meta: None,
            }))
        });
    }
    if let Some(uris) = setup.roots.clone() {
        let count = count();
        builder = builder.on_roots(move || {
            count();
            let roots = uris.iter().map(|uri| Root { uri: uri.clone(), ..Root::default() });
            std::future::ready(roots.collect())
        });
    }
    if setup.sampling_tools { builder.allow_sampling_tools() } else { builder }
}

/// What one request came to.
enum Outcome {
    Names(Vec<String>),
    Result(Box<CallToolResult>),
    Done,
    Failed(Error),
    ToolFailed(String),
}

impl Outcome {
    async fn of(client: &Client, step: &Step) -> Self {
        Self::asked(client, step).await.unwrap_or_else(Self::Failed)
    }

    async fn asked(client: &Client, step: &Step) -> Result<Self, Error> {
        fn timed<T>(request: Request<T>, step: &Step) -> Request<T> {
            match step.timeout_ms {
                Some(ms) => request.timeout(Duration::from_millis(ms)),
                None => request,
            }
        }
        fn names<'a, T: 'a>(items: &'a [T], name: impl Fn(&'a T) -> &'a String) -> Outcome {
            Outcome::Names(items.iter().map(|item| name(item).clone()).collect())
        }
        Ok(match &step.ask {
            Ask::Tools => names(&timed(client.tools(), step).await?, |tool| &tool.name),
            Ask::Resources => names(&timed(client.resources(), step).await?, |resource| &resource.uri),
            Ask::Templates => {
                names(&timed(client.resource_templates(), step).await?, |template| &template.uri_template)
            }
            Ask::Prompts => names(&timed(client.prompts(), step).await?, |prompt| &prompt.name),
            Ask::Discover => timed(client.discover().fresh(), step).await.map(|_| Self::Done)?,
            Ask::Read(uri) => timed(client.read(uri), step).await.map(|_| Self::Done)?,
            Ask::Prompt(name, arguments) => {
                timed(client.prompt(name, arguments), step).await.map(|_| Self::Done)?
            }
            Ask::Complete(name) => {
                let of = CompletionReference::Prompt { name: name.clone(), title: None };
                timed(client.complete(&of, "a", "", None), step).await.map(|_| Self::Done)?
            }
            Ask::Call(name, arguments) => timed(client.call(name, arguments), step)
                .await
                .map(|result| Self::Result(Box::new(result)))?,
            Ask::CallAs(name, arguments) => match client.call_as::<Value>(name, arguments).await {
                Ok(_) => Self::Done,
                Err(CallError::Tool(failure)) => Self::ToolFailed(failure.text()),
                Err(CallError::Failed(error)) => return Err(error),
            },
            Ask::AdvanceMs(_) => Self::Done,
        })
    }

    fn check(self, expect: &Expect, place: &str) {
        match (self, &expect.error) {
            (Self::Failed(error), Some(words)) => check_error(&error, words, expect, place),
            (Self::Failed(error), None) => panic!("{place}: {error}"),
            (Self::ToolFailed(text), Some(words)) => {
                assert!(words.iter().all(|word| text.contains(word)), "{place}: {text}");
                assert_eq!(expect.is.as_deref(), Some("tool_failure"), "{place}");
            }
            (Self::ToolFailed(text), None) => panic!("{place}: {text}"),
            (_, Some(words)) => panic!("{place}: no error, but {words:?} was expected"),
            (Self::Names(names), None) => {
                if let Some(expected) = &expect.names {
                    assert_eq!(names, *expected, "{place}");
                }
            }
            (Self::Result(result), None) => check_result(&result, expect, place),
            (Self::Done, None) => {}
        }
    }
}

fn check_result(result: &CallToolResult, expect: &Expect, place: &str) {
    if let Some(expected) = &expect.text {
        let text = result.content.iter().find_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        assert_eq!(text.unwrap_or("absent"), expected, "{place}");
    }
    if let Some(expected) = &expect.structured {
        let found = result.structured_content.as_deref().map_or("absent", |content| content.get());
        assert_eq!(found, expected, "{place}");
    }
    assert_eq!(result.is_error(), expect.is.as_deref() == Some("tool_failure"), "{place}");
}

fn check_error(error: &Error, words: &[String], expect: &Expect, place: &str) {
    for shown in [error.to_string(), format!("{error:?}")] {
        assert!(shown.len() < 2000, "{place}: {} bytes are shown", shown.len());
        for secret in &expect.not_shown {
            assert!(!shown.contains(secret.as_str()), "{place}: {shown}");
        }
    }
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word.as_str()), "{place}: {text:?} lacks {word:?}");
    }
    if let Some(delivery) = &expect.delivery {
        let found = match error.delivery() {
            Delivery::NotSent => "not_sent",
            Delivery::Rejected => "rejected",
            Delivery::MaybeExecuted => "maybe_executed",
        };
        assert_eq!(found, delivery, "{place}: {text}");
    }
    if let Some(code) = expect.code {
        assert_eq!(error.code().map(|code| code.0), Some(code), "{place}: {text}");
    }
    if let Some(is) = &expect.is {
        let holds = match is.as_str() {
            "timeout" => error.is_timeout(),
            "server_fault" => error.is_server_fault(),
            "unreachable" => error.is_unreachable(),
            "cancelled" => error.is_cancelled(),
            "transient" => error.is_transient(),
            other => panic!("{place}: unknown predicate {other}"),
        };
        assert!(holds, "{place}: {text} is not {is}");
    }
}
