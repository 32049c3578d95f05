//! Plays a script of requests against two replicas of one server, in one revision.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::Features;
use switchboard_server::{Eras, HttpService, Limits};
use switchboard_testkit::dated;

use super::client::{Got, initialize};
use super::desk::{caller, server};
use crate::endpoint::answer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(rename = "why")]
    _why: String,
    pub(super) scripts: Vec<Script>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    name: String,
    /// All of them, unless said otherwise.
    revisions: Option<Vec<String>>,
    /// `all`, `modern_only`, or `up_to` the revision that it is played in.
    #[serde(default = "all")]
    eras: String,
    /// For how many seconds a session id is good.
    life: Option<u64>,
    batch_messages: Option<usize>,
    page_size: Option<usize>,
    /// Serves this path only, as a bound listener does.
    path: Option<String>,
    steps: Vec<Step>,
}

fn all() -> String {
    "all".into()
}

/// One request and its whole answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// `POST`, unless said otherwise, and the path.
    #[serde(default)]
    line: String,
    /// The second replica is asked.
    #[serde(default)]
    replica: bool,
    #[serde(rename = "as")]
    by: Option<String>,
    /// Over the usual ones, the session and its revision among them once they are known; `null` takes one
    /// away, `$name` is what was kept, `$revision` the one that is played.
    #[serde(default)]
    headers: Map<String, Value>,
    /// The message. `initialize` is the usual one, any other text the body itself.
    body: Option<Value>,
    status: u16,
    /// `json`, `events`, or nothing, by the content type.
    #[serde(default)]
    kind: String,
    /// What the last message says, by pointer; `$absent`, `$text`, `~part` and `$revision` are what they say.
    #[serde(default)]
    with: BTreeMap<String, Value>,
    /// How many messages there are.
    count: Option<usize>,
    /// Headers of the answer.
    #[serde(default)]
    says: BTreeMap<String, String>,
    /// The method whose result the last message is, to hold it against the published schema.
    of: Option<String>,
    /// Headers of the answer to keep, by name.
    #[serde(default)]
    keep: BTreeMap<String, String>,
    /// Texts of the last message to keep, by name and pointer.
    #[serde(default)]
    take: BTreeMap<String, String>,
}

impl Script {
    pub(super) fn is_about(&self, revision: Revision) -> bool {
        self.revisions.as_ref().is_none_or(|dates| dates.iter().any(|date| date == revision.date()))
    }

    fn service(&self, revision: Revision) -> HttpService {
        let eras = match self.eras.as_str() {
            "all" => Eras::ALL,
            "modern_only" => Eras::MODERN_ONLY,
            "up_to" => Eras::up_to(revision),
            other => panic!("no eras {other}"),
        };
        let mut limits = Limits::default();
        limits.batch_messages = self.batch_messages.unwrap_or(limits.batch_messages);
        limits.page_size = self.page_size.unwrap_or(limits.page_size);
        limits.sessions.life = self.life.map_or(limits.sessions.life, std::time::Duration::from_secs);
        let http = server(eras, limits).0.http();
        match &self.path {
            Some(path) => http.path(path).into_service(),
            None => http.into_service(),
        }
    }
}

struct Playing {
    revision: Revision,
    kept: HashMap<String, String>,
}

pub(super) async fn play(script: &Script, revision: Revision) {
    let replicas = [script.service(revision), script.service(revision)];
    let mut playing = Playing { revision, kept: HashMap::new() };
    for (at, step) in script.steps.iter().enumerate() {
        let request = playing.request(step);
        let got = Got::read(answer(&replicas[usize::from(step.replica)], request).await).await;
        let place = format!("{} in {revision}, step {at}: {got:?}", script.name);
        playing.check(step, &got, &place);
    }
}

impl Playing {
    fn fill(&self, text: &str) -> String {
        let text = text.replace("$revision", self.revision.date());
        self.kept.iter().fold(text, |text, (name, value)| text.replace(&format!("${name}"), value))
    }

    fn request(&self, step: &Step) -> Request<Full<Bytes>> {
        let line = if step.line.is_empty() { "POST /mcp" } else { &step.line };
        let (method, uri) = line.split_once(' ').unwrap();
        let mut headers: BTreeMap<&str, String> = BTreeMap::new();
        headers.insert("host", "localhost".into());
        headers.insert("accept", "application/json, text/event-stream".into());
        if method == "POST" {
            headers.insert("content-type", "application/json".into());
        }
        if let Some(session) = self.kept.get("session") {
            headers.insert("mcp-session-id", session.clone());
            if Features::of(self.revision).version_header {
                headers.insert("mcp-protocol-version", self.revision.date().into());
            }
        }
        for (name, value) in &step.headers {
            match value.as_str() {
                Some(value) => drop(headers.insert(name, self.fill(value))),
                None => drop(headers.remove(name.as_str())),
            }
        }
        let body = match &step.body {
            None => String::new(),
            Some(Value::String(text)) if text == "initialize" => initialize(self.revision).to_string(),
            Some(Value::String(text)) => self.fill(text),
            Some(message) => self.fill(&message.to_string()),
        };
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(by) = &step.by {
            request = request.extension(caller(by));
        }
        request.body(Full::new(body.into())).unwrap()
    }

    fn check(&mut self, step: &Step, got: &Got, place: &str) {
        assert_eq!(got.status, step.status, "{place}");
        let kind = match got.kind() {
            "application/json" => "json",
            "text/event-stream" => "events",
            "" => "",
            other => other,
        };
        assert_eq!(kind, step.kind, "{place}");
        assert!(!kind.is_empty() || got.body.is_empty(), "{place}");
        let messages = got.messages();
        if let Some(count) = step.count {
            assert_eq!(messages.len(), count, "{place}");
        }
        for (pointer, expected) in &step.with {
            let last = messages.last().unwrap_or_else(|| panic!("no message: {place}"));
            self.compare(last.pointer(pointer), expected, &format!("{pointer} of {place}"));
        }
        for (name, expected) in &step.says {
            let said = got.headers.get(name).map_or("$absent", |value| value.to_str().unwrap());
            assert_eq!(said, self.fill(expected), "{name} of {place}");
        }
        if let Some(method) = &step.of {
            dated::check_result(self.revision.date(), method, &messages.last().unwrap()["result"]);
        }
        for (name, pointer) in &step.take {
            let taken = messages.last().unwrap().pointer(pointer).and_then(Value::as_str);
            self.kept.insert(name.clone(), taken.unwrap_or_else(|| panic!("{place}")).to_owned());
        }
        for (name, header) in &step.keep {
            let value = got.headers[header].to_str().unwrap();
            assert!(value.len() < 4096 && value.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{place}");
            self.kept.insert(name.clone(), value.to_owned());
        }
    }

    fn compare(&self, found: Option<&Value>, expected: &Value, place: &str) {
        match expected.as_str() {
            Some("$absent") => assert_eq!(found, None, "{place}"),
            Some("$text") => assert!(found.is_some_and(Value::is_string), "{place}"),
            Some(text) => {
                let found = found.and_then(Value::as_str).unwrap_or_else(|| panic!("no text at {place}"));
                let text = self.fill(text);
                match text.strip_prefix('~') {
                    Some(part) => assert!(found.contains(part), "{found:?} has no {part:?} at {place}"),
                    None => assert_eq!(found, text, "{place}"),
                }
            }
            None => assert_eq!(found.unwrap_or(&json!(null)), expected, "{place}"),
        }
    }
}
