//! Whole runs against servers and models made of closures.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use switchboard_llm::{Finish, ToolCallRequest};
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::tool::Tool;
use tokio::sync::{Barrier, Notify};

use super::*;
use crate::journal::{Entry, Event, Memory};
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
use crate::policy::{
    Approval, CallContext, Choice, Consent, ConsentReply, Listing, Mode, Policy, Upstream, UpstreamError,
};
use crate::router::Router;

type Answers = Box<dyn Fn(&str, &RawValue) -> BoxFuture<'static, ToolOutcome> + Send + Sync>;

/// A server made of a list of tools and a closure.
struct Fake {
    tools: Result<Vec<Tool>, UpstreamError>,
    answers: Answers,
}

impl Upstream for Fake {
    fn list(&self) -> BoxFuture<'_, Result<Arc<Listing>, UpstreamError>> {
        let identity = crate::Identity {
            implementation: Some("fake 1".to_owned()),
            revision: "2026-07-28".to_owned(),
            session: false,
        };
        let listing =
            self.tools.clone().map(|tools| Arc::new(Listing::new(identity, tools.into(), Arc::default())));
        Box::pin(std::future::ready(listing))
    }

    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: &'a RawValue,
        _: CallContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        (self.answers)(&tool.name, arguments)
    }
}

fn text(text: &str) -> ToolOutcome {
    ToolOutcome::Result(Box::new(CallToolResult::of(vec![ContentBlock::text(text)])))
}

fn fake(
    tools: &[&str],
    answers: impl Fn(&str, &RawValue) -> BoxFuture<'static, ToolOutcome> + Send + Sync + 'static,
) -> Arc<Fake> {
    let tool = |name: &&str| {
        serde_json::from_str(&format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#)).unwrap()
    };
    Arc::new(Fake { tools: Ok(tools.iter().map(tool).collect()), answers: Box::new(answers) })
}

fn echo(tools: &[&str]) -> Arc<Fake> {
    fake(tools, |name, arguments| {
        let said = text(&format!("{name} {arguments}"));
        Box::pin(std::future::ready(said))
    })
}

fn broken(message: &str, unauthorized: bool) -> Arc<Fake> {
    let tools = Err(UpstreamError { message: message.to_owned(), unauthorized });
    Arc::new(Fake { tools, answers: Box::new(|_, _| Box::pin(std::future::ready(text("")))) })
}

fn server(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

/// A model that says its answers one after the other.
struct Script(Mutex<VecDeque<Vec<ModelEvent>>>);

impl Script {
    fn new(answers: impl IntoIterator<Item = Vec<ModelEvent>>) -> Self {
        Self(Mutex::new(answers.into_iter().collect()))
    }
}

impl Selector for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn select(&self, _: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let events =
            self.0.lock().unwrap().pop_front().expect("the model is asked once more than it can answer");
        stream::iter(events.into_iter().map(|event| Ok(Selected::Event(event)))).boxed()
    }
}

fn calls(names: &[&str]) -> Vec<ModelEvent> {
    let call = |(call, name): (usize, &&str)| ModelEvent::CallEnd {
        call,
        request: ToolCallRequest::new(format!("id{call}"), *name, r#"{"n":1}"#),
    };
    names.iter().enumerate().map(call).chain([ModelEvent::Finish(Finish::ToolCalls)]).collect()
}

fn say(text: &str) -> Vec<ModelEvent> {
    vec![ModelEvent::TextDelta(text.to_owned()), ModelEvent::Finish(Finish::Stop)]
}

fn stages(entries: &[Entry]) -> Vec<&'static str> {
    let mut stages: Vec<&str> = entries.iter().map(|entry| entry.event.stage()).collect();
    stages.dedup();
    stages
}

#[tokio::test]
async fn a_run_passes_through_all_nine_stages() {
    let memory = Memory::default();
    let agent = Agent::builder(Script::new([calls(&["s__t"]), say("It is 21.")]))
        .upstream(server("s"), echo(&["t"]))
        .policy(Policy::new(Mode::Yes))
        .journal(Journal::new().with_sink(memory.clone()))
        .build()
        .unwrap();
    let answer = agent.run("How warm is it?").await.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.selector.as_str(), answer.calls.len()),
        ("It is 21.", "script", 1)
    );
    assert_eq!(
        stages(&memory.entries()),
        [
            "discovery",
            "declaration",
            "exposure",
            "selection",
            "authorization",
            "invocation",
            "result",
            "integration",
            "selection",
            "integration"
        ]
    );
    let lines: Vec<String> = memory.entries().iter().filter_map(crate::journal::line).collect();
    assert!(lines.iter().any(|line| line.ends_with("finished after 2 steps and 1 call")), "{lines:#?}");
}

#[tokio::test]
async fn calls_to_different_servers_run_side_by_side_and_their_results_stay_in_order() {
    // Both calls must be under way before either ends.
    let barrier = Arc::new(Barrier::new(2));
    let waiting = |name: &'static str| {
        let barrier = Arc::clone(&barrier);
        fake(&["t"], move |_, _| {
            let barrier = Arc::clone(&barrier);
            Box::pin(async move {
                barrier.wait().await;
                text(name)
            })
        })
    };
    let agent = Agent::builder(Script::new([calls(&["b__t", "a__t"]), say("done")]))
        .upstream(server("a"), waiting("from a"))
        .upstream(server("b"), waiting("from b"))
        .policy(Policy::new(Mode::Yes))
        .build()
        .unwrap();
    let mut conversation = agent.conversation();
    agent.run_in(&mut conversation, "q").await.unwrap();
    let tools: Vec<_> = conversation
        .messages()
        .iter()
        .filter_map(|message| match message {
            switchboard_llm::Message::Tool { call_id, text, .. } => Some((call_id.as_str(), text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(tools, [("id0", "from b"), ("id1", "from a")]);
}

#[tokio::test]
async fn calls_to_one_server_run_one_after_the_other() {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&running);
    let upstream = fake(&["t", "u"], move |_, _| {
        let running = Arc::clone(&counted);
        Box::pin(async move {
            assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two calls at the same time");
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            text("ok")
        })
    });
    let agent = Agent::builder(Script::new([calls(&["s__t", "s__u"]), say("done")]))
        .upstream(server("s"), upstream)
        .policy(Policy::new(Mode::Yes))
        .build()
        .unwrap();
    assert_eq!(agent.run("q").await.unwrap().calls.len(), 2);
}

#[tokio::test]
async fn a_broken_server_is_left_out_unless_it_is_the_only_one() {
    let memory = Memory::default();
    let agent = Agent::builder(Script::new([say("hello")]))
        .upstream(server("bad"), broken("connection refused", false))
        .upstream(server("good"), echo(&["t"]))
        .policy(Policy::new(Mode::Fail).rule("deny bad/*".parse().unwrap()))
        .journal(Journal::new().with_sink(memory.clone()))
        .build()
        .unwrap();
    assert_eq!(agent.run("q").await.unwrap().text, "hello");
    assert!(memory.entries().iter().any(|entry| matches!(
        &entry.event,
        Event::Discovery(crate::journal::Discovery::Failed { server, .. }) if server.as_str() == "bad"
    )));
    let exposure = agent.tools().await.unwrap();
    let failed = exposure.failed_servers().iter().map(|failed| (failed.server.as_str(), &*failed.message));
    assert_eq!(failed.collect::<Vec<_>>(), [("bad", "connection refused")]);

    for (unauthorized, code) in [(false, 4), (true, 3)] {
        let agent = Agent::builder(Script::new([]))
            .upstream(server("bad"), broken("no", unauthorized))
            .build()
            .unwrap();
        let error = agent.run("q").await.unwrap_err();
        assert_eq!((error.exit_code(), error.server().map(ServerName::as_str)), (code, Some("bad")));
    }
}

/// A server that never lists its tools.
struct Hanging;

impl Upstream for Hanging {
    fn list(&self) -> BoxFuture<'_, Result<Arc<Listing>, UpstreamError>> {
        Box::pin(std::future::pending())
    }

    fn call<'a>(&'a self, _: &'a Tool, _: &'a RawValue, _: CallContext) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_list_that_never_comes_can_be_interrupted() {
    let interrupt = Interrupt::default();
    let agent = Agent::builder(Script::new([]))
        .upstream(server("s"), Arc::new(Hanging))
        .interrupt(interrupt.clone())
        .build()
        .unwrap();
    let (listed, ()) = tokio::join!(agent.tools(), async { interrupt.trigger() });
    assert_eq!(listed.unwrap_err().exit_code(), 130);
}

#[tokio::test]
async fn a_call_that_reaches_a_limit_is_6() {
    let timeout = FailureKind::timeout(None);
    for kind in [timeout, FailureKind::Limit] {
        let upstream = fake(&["t"], move |_, _| {
            Box::pin(std::future::ready(ToolOutcome::Failed(CallFailure::new(kind, "too much"))))
        });
        let agent = Agent::builder(Script::new([]))
            .upstream(server("s"), upstream)
            .policy(Policy::new(Mode::Yes))
            .build()
            .unwrap();
        let arguments = RawValue::from_string("{}".to_owned()).unwrap();
        let error = agent.call(&server("s"), "t", arguments).await.unwrap_err();
        assert_eq!((error.exit_code(), error.code()), (6, "limit_reached"), "{error}");
    }
}

#[tokio::test]
async fn the_default_asks_nobody_and_fails_closed() {
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    let upstream = fake(&["t"], move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(text("ok")))
    });
    let agent =
        Agent::builder(Script::new([calls(&["s__t"])])).upstream(server("s"), upstream).build().unwrap();
    let error = agent.run("q").await.unwrap_err();
    assert_eq!((error.exit_code(), error.code()), (2, "approval_needed"));
    assert!(error.next_action().unwrap().contains("--allow s/t"), "{error}");
    assert_eq!(called.load(Ordering::SeqCst), 0);
}

struct Says(Choice);

impl Consent for Says {
    fn ask<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, ConsentReply> {
        Box::pin(std::future::ready(approval.reply(self.0)))
    }
}

#[tokio::test]
async fn a_direct_call_passes_the_same_checks() {
    let agent = |choice| {
        Agent::builder(Router::new())
            .upstream(server("s"), echo(&["t"]))
            .consent(Says(choice))
            .build()
            .unwrap()
    };
    let arguments = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let allowed = agent(Choice::AllowOnce);
    let result = allowed.call(&server("s"), "t", arguments(r#"{"n":1}"#)).await.unwrap();
    assert_eq!(result.content, [ContentBlock::text(r#"t {"n":1}"#)]);
    let error = allowed.call(&server("s"), "t", arguments("[]")).await.unwrap_err();
    assert_eq!((error.exit_code(), error.message()), (1, "the arguments are not a JSON object"));
    let error = allowed.call(&server("s"), "u", arguments("{}")).await.unwrap_err();
    assert_eq!((error.exit_code(), error.message()), (1, "s has no tool \"u\""));
    let error = agent(Choice::Deny).call(&server("s"), "t", arguments("{}")).await.unwrap_err();
    assert_eq!((error.exit_code(), error.message()), (2, "s/t was declined"));
}

#[tokio::test]
async fn an_interrupt_cancels_the_calls_and_answers_them() {
    struct Cancelled(Arc<AtomicUsize>);
    impl Drop for Cancelled {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (started, cancelled) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let (start, cancel) = (Arc::clone(&started), Arc::clone(&cancelled));
    let upstream = fake(&["t"], move |_, _| {
        let (start, cancelled) = (Arc::clone(&start), Cancelled(Arc::clone(&cancel)));
        Box::pin(async move {
            let _cancelled = cancelled;
            start.notify_one();
            std::future::pending().await
        })
    });
    let interrupt = Interrupt::default();
    let memory = Memory::default();
    let agent = Agent::builder(Script::new([calls(&["s__t"])]))
        .upstream(server("s"), upstream)
        .policy(Policy::new(Mode::Yes))
        .journal(Journal::new().with_sink(memory.clone()))
        .interrupt(interrupt.clone())
        .build()
        .unwrap();
    let mut conversation = agent.conversation();
    let stop = async {
        started.notified().await;
        interrupt.trigger();
    };
    let (result, ()) = tokio::join!(agent.run_in(&mut conversation, "q"), stop);
    assert_eq!(result.unwrap_err().exit_code(), 130);
    assert_eq!(cancelled.load(Ordering::SeqCst), 1);
    assert!(matches!(conversation.messages().last(), Some(switchboard_llm::Message::Tool { .. })));
    let lines: Vec<String> = memory.entries().iter().filter_map(crate::journal::line).collect();
    assert!(lines.iter().any(|line| line.contains("#1 interrupted, ")), "{lines:#?}");
    assert!(lines.last().unwrap().ends_with("stopped: interrupted"), "{lines:#?}");
}

/// Cancels the first call once it is told to.
struct CancelsFirst(Arc<Notify>);

impl Watch for CancelsFirst {
    fn turned(&self, _: &Turn, _: Option<&crate::policy::Permit>) -> Result<(), AgentError> {
        Ok(())
    }

    fn cancelled(&self) -> BoxFuture<'_, crate::name::CallId> {
        Box::pin(async {
            self.0.notified().await;
            crate::name::CallId(1)
        })
    }
}

/// A model that answers the second time only after something has happened.
struct Waits(Script, Arc<Notify>);

impl Selector for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let waits = step.number > 1;
        let answer = async move {
            if waits {
                self.1.notified().await;
            }
            self.0.select(step)
        };
        stream::once(answer).flatten().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_dropped_while_the_model_thinks() {
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (started, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (start, drops) = (Arc::clone(&started), Arc::clone(&dropped));
    let upstream = fake(&["t"], move |_, _| {
        let (start, dropped) = (Arc::clone(&start), Dropped(Arc::clone(&drops)));
        Box::pin(async move {
            let _dropped = dropped;
            start.notify_one();
            std::future::pending().await
        })
    });
    let agent = Agent::builder(Waits(Script::new([calls(&["s__t"]), say("Never mind.")]), dropped))
        .upstream(server("s"), upstream)
        .policy(Policy::new(Mode::Yes))
        .build()
        .unwrap();
    let options = agent.turn(agent.tools().await.unwrap(), agent.conversation(), "q".to_owned());
    let mut turn = crate::turn::Turn::begin(options);
    let watch = CancelsFirst(started);
    let run = agent.run_turn(&mut turn, &watch);
    let answer = tokio::time::timeout(std::time::Duration::from_secs(60), run).await.unwrap().unwrap();
    assert_eq!(answer.text, "Never mind.");
}

#[tokio::test]
async fn a_rule_for_no_tool_and_two_servers_of_one_name_are_errors_at_start() {
    let agent = Agent::builder(Script::new([]))
        .upstream(server("s"), echo(&["t"]))
        .policy(Policy::new(Mode::Yes).rule("deny s/x".parse().unwrap()))
        .build()
        .unwrap();
    assert_eq!(agent.run("q").await.unwrap_err().exit_code(), 1);
    let twice =
        Agent::builder(Script::new([])).upstream(server("s"), echo(&[])).upstream(server("s"), echo(&[]));
    assert_eq!(twice.build().unwrap_err().exit_code(), 1);
}

fn three_servers(
    outcome: impl Fn(&str) -> ToolOutcome + Send + Sync + Clone + 'static,
) -> crate::AgentBuilder {
    let servers: std::collections::BTreeMap<String, Vec<Tool>> =
        serde_json::from_str(include_str!("../../tests/data/three_servers.json")).unwrap();
    servers.into_iter().fold(Agent::builder(Router::new()), |builder, (name, tools)| {
        let outcome = outcome.clone();
        let answers: Answers = Box::new(move |tool, _| Box::pin(std::future::ready(outcome(tool))));
        builder.upstream(server(&name), Arc::new(Fake { tools: Ok(tools), answers }))
    })
}

#[tokio::test]
async fn the_router_answers_without_a_language_model_and_says_so() {
    let climate = CallToolResult {
        structured_content: Some(
            RawValue::from_string(include_str!("../../tests/data/climate.json").trim().to_owned()).unwrap(),
        ),
        ..CallToolResult::default()
    };
    let agent = three_servers(move |_| ToolOutcome::Result(Box::new(climate.clone())))
        .policy(Policy::new(Mode::Yes))
        .build()
        .unwrap();
    let answer = agent.run("How warm is it right now?").await.unwrap();
    assert!(
        answer.text.starts_with("Temperature: Indoor 21.5 °C, Bedroom 18.9 °C, Balcony 7.3 °C\n\n"),
        "{}",
        answer.text
    );
    assert_eq!(answer.calls[0].tool, Some((server("station"), "get_climate".to_owned())));
    assert!(answer.selector.contains("no language model"));
    assert!(
        answer.notes[0].starts_with("the router picked station/get_climate by \"warm\" → temperature"),
        "{:?}",
        answer.notes
    );
}

#[tokio::test]
async fn the_router_ends_with_the_code_of_what_went_wrong() {
    let failing = |tool: &str| match tool {
        "get_climate" => ToolOutcome::Failed(CallFailure::new(FailureKind::Transport, "connection refused")),
        _ => ToolOutcome::Result(Box::new(CallToolResult::error("no place is called \"Parris\""))),
    };
    for (question, mode, code, message) in [
        (
            "How warm is it?",
            Mode::Yes,
            4,
            "station/get_climate: The server could not be reached: connection refused",
        ),
        (
            "What's the weather in Parris?",
            Mode::Yes,
            5,
            "city/get_weather failed: no place is called \"Parris\"",
        ),
        ("How warm is it?", Mode::Fail, 2, "station/get_climate needs approval"),
        ("How warm is it?", Mode::Deny, 2, "station/get_climate needs approval"),
        (
            "What's the weather?",
            Mode::Yes,
            1,
            "the question does not say what city/get_weather must know: location",
        ),
        ("Tell me a joke", Mode::Yes, 7, "no tool fits the words of the question"),
    ] {
        let agent = three_servers(failing).policy(Policy::new(mode)).build().unwrap();
        let error = agent.run(question).await.unwrap_err();
        assert_eq!(error.exit_code(), code, "{question}: {error}");
        assert!(error.message().starts_with(message), "{question}: {error}");
        assert!(error.next_action().is_some(), "{question}: {error}");
    }
}
