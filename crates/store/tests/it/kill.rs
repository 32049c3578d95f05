//! A host that is killed in the middle of a run, and one that goes on with it.
//!
//! The child is this very program, running the test `child` with a folder and a moment in its environment. It says
//! when the moment has come, waits, and is killed.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_agent::desk::{Question as Pending, Reply};
use switchboard_agent::host::{ModelChoice, OneModel};
use switchboard_agent::policy::{Choice, Mode, Policy};
use switchboard_agent::store::{RunStatus, Store};
use switchboard_agent::supervisor::{Local, ServerConfig, ServerTarget, Supervisor, SupervisorOptions};
use switchboard_agent::turn::Step;
use switchboard_agent::{
    AgentError, Host, RunRequest, RunView, Selected, Selector, ServerName, Session, SessionOptions,
};
use switchboard_llm::{Finish, ModelEvent, ToolCallRequest};
use switchboard_server::{Call, Elicited, Keys, Need, Question, Server, Tool, ToolError};

use crate::support::sqlite;

const FOLDER: &str = "SWITCHBOARD_TEST_KILL_FOLDER";
const MOMENT: &str = "SWITCHBOARD_TEST_KILL_MOMENT";
const READY: &str = "the moment has come";

/// A model that says its answers one after the other, and then nothing for ever.
struct Script(Mutex<VecDeque<Vec<ModelEvent>>>);

impl Selector for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn select(&self, _: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        match self.0.lock().unwrap().pop_front() {
            Some(events) => stream::iter(events.into_iter().map(|event| Ok(Selected::Event(event)))).boxed(),
            None => {
                say_ready("model");
                stream::pending().boxed()
            }
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

impl<S: Sync> Question<S> for Name {
    async fn need(_: &Call, _: &S) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask("Who are you?".into()))
    }
}

async fn greet(Elicited(name): Elicited<Name>) -> String {
    format!("Hello, {}", name.name)
}

async fn quick() -> String {
    "It is done.".to_owned()
}

async fn slow() -> String {
    say_ready("call");
    std::future::pending().await
}

/// Only in the child, and only at the moment that it waits for.
fn say_ready(moment: &str) {
    if std::env::var(MOMENT).is_ok_and(|wanted| wanted == moment) {
        println!("\n{READY}");
    }
}

pub(crate) fn call(id: &str, tool: &str) -> Vec<ModelEvent> {
    let request = ToolCallRequest::new(id, tool, "{}");
    vec![ModelEvent::CallEnd { call: 0, request }, ModelEvent::Finish(Finish::ToolCalls)]
}

pub(crate) fn say(text: &str) -> Vec<ModelEvent> {
    vec![ModelEvent::TextDelta(text.to_owned()), ModelEvent::Finish(Finish::Stop)]
}

fn host(folder: &Path, mode: Mode, answers: Vec<Vec<ModelEvent>>) -> Host {
    hosted(Arc::new(sqlite(folder)), mode, answers)
}

/// A host with three tools and a model that says these answers.
pub(crate) fn hosted(store: Arc<dyn Store>, mode: Mode, answers: Vec<Vec<ModelEvent>>) -> Host {
    // What a server seals must be read by the one that is started after it.
    let server = Server::builder("s", "1.0")
        .tool(Tool::new("greet", greet).describe("Greets"))
        .tool(Tool::new("quick", quick).describe("Is quick"))
        .tool(Tool::new("slow", slow).describe("Never ends"))
        .state_keys(Keys::new([[7; 32]]).unwrap())
        .build(())
        .unwrap();
    let mut options = SupervisorOptions::default();
    options.store = Arc::clone(&store);
    let supervisor = Supervisor::new(options);
    let name = ServerName::new("s").unwrap();
    let mut config = ServerConfig::new(name, ServerTarget::InProcess(Local::new(server)));
    // The same configuration in every process, as of a server that stands in a file.
    "s".clone_into(&mut config.hash);
    "a file".clone_into(&mut config.origin);
    supervisor.start(vec![config]);
    let script = Script(Mutex::new(answers.into_iter().collect()));
    Host::builder(OneModel(ModelChoice::other(script)))
        .supervisor(supervisor)
        .policy(Policy::new(mode))
        .store(store)
        .build()
}

/// A moment to be killed at: what the model says until then and after it, and how the run ends.
struct Moment {
    name: &'static str,
    mode: Mode,
    before: fn() -> Vec<Vec<ModelEvent>>,
    after: fn() -> Vec<Vec<ModelEvent>>,
    statuses: &'static [&'static str],
}

const MOMENTS: &[Moment] = &[
    Moment { name: "model", mode: Mode::Yes, before: Vec::new, after: || vec![say("Done.")], statuses: &[] },
    Moment {
        name: "approval",
        mode: Mode::Interactive,
        before: || vec![call("1", "s__quick")],
        after: || vec![say("Done.")],
        statuses: &["ok"],
    },
    Moment {
        name: "call",
        mode: Mode::Yes,
        before: || vec![call("1", "s__quick"), call("2", "s__slow")],
        after: || vec![say("Done.")],
        statuses: &["ok", "unknown"],
    },
    Moment {
        name: "form",
        mode: Mode::Yes,
        before: || vec![call("1", "s__quick"), call("2", "s__greet")],
        after: || vec![say("Done.")],
        statuses: &["ok", "ok"],
    },
];

#[tokio::test]
async fn child() {
    let (Ok(folder), Ok(moment)) = (std::env::var(FOLDER), std::env::var(MOMENT)) else { return };
    let moment = MOMENTS.iter().find(|known| known.name == moment).unwrap();
    let host = host(Path::new(&folder), moment.mode, (moment.before)());
    let session = host.open(SessionOptions { interactive: true, ..SessionOptions::default() }).unwrap();
    let run = session.ask(RunRequest::new("Do it")).unwrap();
    let view = session.settled(&run).await.unwrap();
    assert_eq!(view.status, RunStatus::InputRequired, "{view:?}");
    say_ready("approval");
    say_ready("form");
    std::future::pending().await
}

/// Runs the child up to its moment and kills it there.
fn killed_at(folder: &Path, moment: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture"])
        .envs([(FOLDER, folder.as_os_str()), (MOMENT, moment.as_ref())])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines.map_while(Result::ok).any(|line| line == READY);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ready, "{moment}: the child ended before it");
}

/// Answers whatever waits.
fn answer(session: &Session, view: &RunView) {
    for request in &view.requests {
        let reply = match &request.question {
            Pending::Approval(approval) => {
                Reply::Approval { digest: approval.digest, choice: Choice::AllowOnce, rule: None }
            }
            Pending::Form { .. } => {
                let content = serde_json::from_str(r#"{"name": "Ada"}"#).unwrap();
                Reply::Form { action: switchboard_client::ElicitAction::Accept, content: Some(content) }
            }
            other => panic!("{other:?}"),
        };
        session.answer(&request.id, reply).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wherever_a_host_is_killed_the_run_goes_on_and_what_was_finished_stays() {
    for moment in MOMENTS {
        let folder = tempfile::tempdir().unwrap();
        killed_at(folder.path(), moment.name);
        let host = host(folder.path(), moment.mode, (moment.after)());
        let sessions = host.sessions().unwrap();
        let [record] = sessions.as_slice() else { panic!("{}: {sessions:?}", moment.name) };
        let session = host.session(&record.id).unwrap();
        let view = session.current().unwrap();
        let waits = matches!(moment.name, "approval" | "form");
        let status = if waits { RunStatus::InputRequired } else { RunStatus::Interrupted };
        assert_eq!(view.status, status, "{}: {view:?}", moment.name);
        assert_eq!(view.requests.len(), usize::from(waits), "{}: before any server is up", moment.name);
        if waits {
            answer(&session, &view);
        } else {
            session.resume().unwrap();
        }
        let over = session.ended(&view.id).await.unwrap();
        assert_eq!(over.outcome.answer.as_deref(), Some("Done."), "{}: {over:?}", moment.name);
        let statuses: Vec<_> = over.outcome.calls.iter().map(|call| call.status.as_str()).collect();
        assert_eq!(statuses, moment.statuses, "{}", moment.name);
        if moment.name == "form" {
            let said = serde_json::to_string(&over.outcome.calls[1].result).unwrap();
            assert!(said.contains("Hello, Ada"), "{said}");
        }
    }
}
