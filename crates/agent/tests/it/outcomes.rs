//! However a call ends, the run goes on: each row of `tests/data/call_outcomes.json` is what a server does with
//! a call, and what the model must be told of it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_agent::journal::{Event, Integration, Journal, Memory, ResultEvent};
use switchboard_agent::policy::{Mode, Policy};
use switchboard_agent::{Agent, ServerName};
use switchboard_client::Client;
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use crate::support::{events, scripted};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "why")]
    _why: String,
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcome {
    name: String,
    reply: Played,
    /// Parts of the one message that the model gets.
    told: Vec<String>,
    #[serde(default)]
    not_told: Vec<String>,
    /// How the journal calls it: `returned`, `tool_failed`, or the kind of failure.
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Played {
    Result(Value),
    Error(Value),
    Http(u16, String, String),
    Drop,
    Hold,
}

impl Played {
    fn reply(&self) -> Reply {
        match self {
            Self::Result(result) => Reply::result(result),
            Self::Error(error) => Reply::error(200, error),
            Self::Http(status, kind, body) => {
                Reply::http(*status, &format!("content-type: {kind}\r\n"), body)
            }
            Self::Drop => Reply::drop_connection(),
            Self::Hold => Reply::raw("").then_hold(),
        }
    }
}

/// How long a call waits for its answer; it passes at once where there is none.
const PATIENCE: Duration = Duration::from_secs(10);

/// `"$long"` stands for 200 kB.
fn lengthen(text: &str) -> String {
    text.replace("$long", &"x".repeat(200_000))
}

async fn server(outcome: &Outcome) -> ScriptedHttp {
    let discovered = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}}, "ttlMs": 60_000, "cacheScope": "private"});
    let tools = json!({"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private",
        "tools": [{"name": "f", "inputSchema": {"type": "object"}}]});
    ScriptedHttp::play([("tools/call", outcome.reply.reply())])
        .await
        .always("server/discover", Reply::result(&discovered))
        .always("tools/list", Reply::result(&tools))
}

/// The messages to the model in one run in which it calls `f` once, and what the journal says of the call.
async fn told(outcome: &Outcome) -> (Vec<String>, String) {
    let server = server(outcome).await;
    let script = json!({"turns": [
        {"call": [{"id": "c1", "name": "s__f", "arguments": {}}]},
        {"expect": {"last_role": "tool", "messages": 4}, "say": "It is over."}
    ]});
    let (endpoint, model) = scripted(&script.to_string()).await;
    let memory = Memory::default();
    let journal = Journal::new().with_sink(memory.clone());
    let client = Client::builder().timeout(PATIENCE).http(server.url());
    let agent = Agent::builder(model)
        .connect(ServerName::new("s").unwrap(), client)
        .policy(Policy::new(Mode::Yes))
        .journal(journal)
        .build()
        .unwrap();
    let silence = async {
        if matches!(outcome.reply, Played::Hold) {
            server.heard("tools/call", 1).await;
            tokio::time::pause();
            tokio::time::advance(PATIENCE).await;
            tokio::time::resume();
        }
    };
    let (answer, ()) = tokio::join!(agent.run("Do it"), silence);
    let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", outcome.name));
    assert_eq!(answer.text, "It is over.", "{}", outcome.name);
    endpoint.verify().unwrap_or_else(|fault| panic!("{}: {fault}", outcome.name));
    assert_eq!(server.asked("tools/call").len(), 1, "{}: nothing is repeated", outcome.name);
    let (mut told, mut kind) = (Vec::new(), String::new());
    for event in events(&memory) {
        match event {
            Event::Integration(Integration::Added { text, .. }) => told.push(text),
            Event::Result { outcome, .. } => kind = describe(&outcome),
            _ => {}
        }
    }
    (told, kind)
}

fn describe(outcome: &ResultEvent) -> String {
    match outcome {
        ResultEvent::Returned { is_error: false, .. } => "returned".into(),
        ResultEvent::Returned { is_error: true, .. } => "tool_failed".into(),
        ResultEvent::Failed { kind, .. } => {
            let kind = serde_json::to_value(kind).unwrap();
            let name = kind.as_object().and_then(|members| members.keys().next());
            name.map_or_else(|| kind.as_str().unwrap().to_owned(), Clone::clone)
        }
    }
}

#[tokio::test]
async fn however_a_call_ends_the_model_is_told_once_and_the_run_goes_on() {
    let file: File = serde_json::from_str(&lengthen(include_str!("../data/call_outcomes.json"))).unwrap();
    for outcome in &file.outcomes {
        let (all, kind) = told(outcome).await;
        let name = &outcome.name;
        let [text] = all.as_slice() else { panic!("{name}: {all:?}") };
        assert!(!text.trim().is_empty() && text.len() < 60_000, "{name}: {} bytes", text.len());
        assert_eq!(kind, outcome.kind, "{name}: {text}");
        for part in &outcome.told {
            assert!(text.contains(part.as_str()), "{name}: {text:?} lacks {part:?}");
        }
        for part in &outcome.not_told {
            assert!(!text.contains(part.as_str()), "{name}: {text:?}");
        }
    }
}
