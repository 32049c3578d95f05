//! What belongs to a call: its messages, its questions, its end.

use std::sync::Mutex;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_client::{Elicit, ElicitAction, ElicitResult, Era, InputRequiredResult};
use switchboard_server::{Call, Elicited, Need, Question, Server, Tool as Offer, ToolError};

use super::fake::Fake;
use super::*;
use crate::name::CallId;
use crate::policy::WireSink;
use crate::questions::Questions;

/// Keeps the methods and ids of the messages of one call.
fn listener() -> (WireSink, Arc<Mutex<Vec<String>>>) {
    let heard = shared(Vec::new());
    let log = Arc::clone(&heard);
    let sink: WireSink = Arc::new(move |message| {
        let value: Value = serde_json::from_slice(message.bytes).unwrap();
        let what = value["method"].as_str().unwrap_or("answer").to_owned();
        let id = value.get("id").or_else(|| value["params"].get("requestId"));
        log.lock().unwrap().push(format!("{what} {}", id.unwrap_or(&Value::Null)));
    });
    (sink, heard)
}

fn context(call: u32, wire: WireSink) -> CallContext {
    CallContext { call: Some(CallId(call)), wire: Some(wire), ..CallContext::default() }
}

#[tokio::test(start_paused = true)]
async fn each_call_hears_its_own_messages_and_the_server_log_all_of_them() {
    let fake = Fake::new([]);
    let supervisor = supervisor(vec![ServerConfig { max_concurrency: Some(2), ..config("s", &fake) }]);
    reach(&supervisor, ServerState::Ready).await;
    let ((first, first_heard), (second, second_heard)) = (listener(), listener());
    let late = tokio::spawn({
        let supervisor = supervisor.clone();
        async move { call(&supervisor, "s", "late", context(1, first)).await }
    });
    until(&fake, 1).await;
    call(&supervisor, "s", "echo", context(1, second)).await.unwrap();
    fake.0.late.notify_one();
    assert_eq!(late.await.unwrap().as_deref(), Ok("at last"));
    let id = |heard: &Arc<Mutex<Vec<String>>>| -> String {
        let heard = heard.lock().unwrap();
        let id = heard[0].strip_prefix("tools/call ").unwrap().to_owned();
        assert_eq!(*heard, [format!("tools/call {id}"), format!("answer {id}")]);
        id
    };
    assert_ne!(id(&first_heard), id(&second_heard));
    let wire = supervisor.wire(&name("s"), 100).unwrap();
    assert!(wire.iter().any(|line| line.sent && line.text.contains("server/discover")));
    assert_eq!(wire.iter().filter(|line| line.text.contains("tools/call")).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_reaches_the_server_which_may_go_on_and_its_late_answer_is_told() {
    let fake = Fake::new([]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    reach(&supervisor, ServerState::Ready).await;
    let (wire, heard) = listener();
    let calling = tokio::spawn({
        let supervisor = supervisor.clone();
        async move { call(&supervisor, "s", "late", context(7, wire)).await }
    });
    until(&fake, 1).await;
    calling.abort();
    while fake.heard("notifications/cancelled").is_empty() {
        tokio::task::yield_now().await;
    }
    let status = supervisor.status().remove(0);
    assert_eq!((status.calls, status.cancelled_running), (0, 1));
    assert!(
        host_lines(&supervisor, "s").contains("#7 late: cancel sent, the server may still be running it")
    );
    assert!(heard.lock().unwrap().iter().any(|line| line.starts_with("notifications/cancelled")));
    fake.0.late.notify_one();
    while supervisor.status()[0].cancelled_running > 0 {
        tokio::task::yield_now().await;
    }
    assert!(host_lines(&supervisor, "s").contains("#7 late ended 0 s after it was cancelled"));
    // It has its turn back.
    call(&supervisor, "s", "echo", quiet()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_silent_too_long_ends() {
    let fake = Fake::new([]);
    let limits = ServerConfig { idle_timeout: Some(5 * SECOND), ..config("s", &fake) };
    let supervisor = supervisor(vec![limits]);
    let since = tokio::time::Instant::now();
    let error = call(&supervisor, "s", "hang", quiet()).await.unwrap_err();
    assert!(error.contains("5 s") && since.elapsed() < 6 * SECOND, "{error}");
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

/// A person who needs a minute for every answer.
struct Person {
    name: &'static str,
    asked: Mutex<Vec<String>>,
}

impl Person {
    fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, asked: Mutex::default() })
    }
}

impl Questions for Person {
    fn elicit<'a>(
        &'a self,
        server: &'a ServerName,
        call: Option<CallId>,
        asked: Elicit,
    ) -> BoxFuture<'a, ElicitResult> {
        Box::pin(async move {
            pass(60 * SECOND).await;
            let Elicit::Form(form) = asked else { panic!("no form") };
            let call = call.map(|call| call.to_string());
            self.asked.lock().unwrap().push(format!("{server} {call:?} {}", form.message));
            let content = json!({"name": self.name}).as_object().cloned();
            ElicitResult { action: ElicitAction::Accept, content }
        })
    }

    fn input_required(&self, _: &ServerName, call: Option<CallId>, asked: &InputRequiredResult) {
        let state = asked.request_state.is_some();
        self.asked.lock().unwrap().push(format!("{call:?} state {state}"));
    }
}

/// Two sessions call at the same time, each with a person of its own, and a clock that is shorter than they need.
async fn check_questions(era: Era, expected: [Vec<&str>; 2]) {
    let server = Server::builder("greeter", "1").tool(Offer::new("greet", greet)).build(()).unwrap();
    let config = ServerConfig {
        era,
        idle_timeout: Some(10 * SECOND),
        max_concurrency: Some(2),
        ..config("s", &server)
    };
    let supervisor = supervisor(vec![config]);
    let people = [Person::new("Ann"), Person::new("Bob")];
    let ask = |number: u32| {
        let questions: Arc<dyn Questions> = Arc::clone(&people[number as usize - 1]) as _;
        let context = CallContext { call: Some(CallId(number)), questions, ..CallContext::default() };
        call(&supervisor, "s", "greet", context)
    };
    if expected[1].is_empty() {
        assert_eq!(ask(1).await.as_deref(), Ok("Hello, Ann"));
    } else {
        let (ann, bob) = tokio::join!(ask(1), ask(2));
        assert_eq!((ann.as_deref(), bob.as_deref()), (Ok("Hello, Ann"), Ok("Hello, Bob")));
    }
    for (person, expected) in people.iter().zip(expected) {
        assert_eq!(*person.asked.lock().unwrap(), expected, "{era:?}");
    }
    // Nobody is there.
    let error = call(&supervisor, "s", "greet", quiet()).await;
    assert!(!error.is_ok_and(|text| text.starts_with("Hello")));
}

#[tokio::test(start_paused = true)]
async fn a_question_finds_the_call_that_made_the_server_ask_and_no_clock_runs_meanwhile() {
    let question = |call| match call {
        1 => vec!["Some(CallId(1)) state true", "s Some(\"#1\") Who are you?"],
        _ => vec!["Some(CallId(2)) state true", "s Some(\"#2\") Who are you?"],
    };
    check_questions(Era::Auto, [question(1), question(2)]).await;
}

#[cfg(feature = "legacy")]
#[tokio::test(start_paused = true)]
async fn a_legacy_server_asks_the_newest_call() {
    check_questions(Era::Legacy, [vec!["s Some(\"#1\") Who are you?"], Vec::new()]).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_that_a_server_announces_is_taken_over_at_once() {
    async fn one() -> &'static str {
        "1"
    }
    for era in [Era::Auto, Era::Legacy] {
        if era == Era::Legacy && !cfg!(feature = "legacy") {
            continue;
        }
        let server = Server::builder("growing", "1").tool(Offer::new("one", one)).build(()).unwrap();
        let supervisor = supervisor(vec![ServerConfig { era, ..config("s", &server) }]);
        reach(&supervisor, ServerState::Ready).await;
        // The subscription opens after it is ready.
        pass(SECOND).await;
        let since = tokio::time::Instant::now();
        server.catalog().insert(Offer::new("two", one)).unwrap();
        reach_where(&supervisor, |server| server.tools == Some(2)).await;
        assert!(since.elapsed() < 10 * SECOND, "{era:?} {:?}", since.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn an_order_about_an_earlier_connection_is_no_order() {
    let fake = Fake::new([]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    reach(&supervisor, ServerState::Ready).await;
    supervisor.restart(&name("s")).unwrap();
    reach_where(&supervisor, |_| fake.connections() == 2).await;
    reach(&supervisor, ServerState::Ready).await;
    let asked = fake.heard("tools/list").len();
    let entry = supervisor.entry(&name("s")).unwrap();
    entry.server.suspect(1);
    pass(SECOND).await;
    assert_eq!(fake.heard("tools/list").len(), asked);
    entry.server.suspect(2);
    pass(SECOND).await;
    assert_eq!(fake.heard("tools/list").len(), asked + 1);
}
