//! Sessions: runs that go on, wait, and survive.

mod approvals;
mod before;
mod declarations;
mod forks;
mod full;
mod left_out;
mod other_server;
mod own_rules;
mod secrets;

use std::collections::VecDeque;
use std::sync::Mutex;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use switchboard_client::Client;
use switchboard_llm::{Finish, ModelEvent, ToolCallRequest};
use switchboard_server::{Server, Tool};

use super::*;
use crate::host::{ModelChoice, OneModel};
use crate::policy::{Choice, Mode, Policy};
use crate::selector::{Selected, Selector};
use crate::store::{ArtefactRecord, MemoryStore, Store};
use crate::turn::Step;

/// A model that says its answers one after the other.
struct Script(Mutex<VecDeque<Vec<ModelEvent>>>);

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

fn script(answers: impl IntoIterator<Item = Vec<ModelEvent>>) -> OneModel {
    OneModel(ModelChoice::other(Script(Mutex::new(answers.into_iter().collect()))))
}

fn calls(calls: &[(&str, &str)]) -> Vec<ModelEvent> {
    let call = |(at, (name, arguments)): (usize, &(&str, &str))| ModelEvent::CallEnd {
        call: at,
        request: ToolCallRequest::new(format!("id{at}-{name}"), *name, *arguments),
    };
    let mut events: Vec<_> = calls.iter().enumerate().map(call).collect();
    events.push(ModelEvent::Finish(Finish::ToolCalls));
    events
}

fn say(text: &str) -> Vec<ModelEvent> {
    let pieces = text.split_inclusive(' ').map(|piece| ModelEvent::TextDelta(piece.to_owned()));
    pieces.chain([ModelEvent::Finish(Finish::Stop)]).collect()
}

async fn greet() -> String {
    "Good morning!".to_owned()
}

fn server() -> Server {
    Server::builder("greeter", "1.0").tool(Tool::new("greeting", greet)).build(()).unwrap()
}

fn name(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

fn host(models: OneModel, mode: Mode, store: &Arc<dyn Store>) -> Host {
    Host::builder(models)
        .connect(name("greeter"), Client::builder().in_process(&server()))
        .policy(Policy::new(mode))
        .store(Arc::clone(store))
        .build()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

fn interactive() -> SessionOptions {
    SessionOptions { interactive: true, ..SessionOptions::default() }
}

#[tokio::test]
async fn a_question_is_answered_in_a_task_and_everything_is_kept() {
    let store = memory();
    let models = script([calls(&[("greeter__greeting", "{}")]), say("It said good morning.")]);
    let session = host(models, Mode::Yes, &store).open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Greet me, please.\nNow.")).unwrap();
    let view = session.ended(&run).await.unwrap();
    assert_eq!(
        (view.status, view.outcome.answer.as_deref()),
        (RunStatus::Finished, Some("It said good morning."))
    );
    assert_eq!((view.outcome.calls.len(), view.outcome.calls[0].status.as_str()), (1, "ok"));
    assert_eq!(session.record().title, "Greet me, please.");
    let kept = store.entries(session.id(), 0, 1000).unwrap();
    assert!(kept.iter().all(|entry| !entry.event.is_piece()));
    assert!(matches!(kept.first().map(|entry| &entry.event), Some(Event::Run(RunEvent::Begun { .. }))));
    assert!(matches!(
        kept.last().map(|entry| &entry.event),
        Some(Event::Run(RunEvent::Ended { status: RunStatus::Finished, .. }))
    ));
    assert_eq!(store.run(run.as_str()).unwrap().unwrap().status, RunStatus::Finished);
}

#[tokio::test]
async fn an_approval_waits_and_the_first_answer_counts() {
    let models = script([calls(&[("greeter__greeting", "{}")]), say("Done.")]);
    let session = host(models, Mode::Interactive, &memory()).open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Greet me")).unwrap();
    let view = session.settled(&run).await.unwrap();
    assert_eq!(view.status, RunStatus::InputRequired);
    let [request] = view.requests.as_slice() else { panic!("{view:?}") };
    assert_eq!(request.id, format!("{run}.1"));
    let crate::desk::Question::Approval(approval) = &request.question else { panic!("{request:?}") };
    let yes = Reply::Approval { digest: approval.digest, choice: Choice::AllowOnce, rule: None };
    let other = Reply::Approval { digest: crate::Digest::of(&[]), choice: Choice::AllowOnce, rule: None };
    assert!(matches!(session.answer(&request.id, other), Err(AnswerError::NotThis(_))));
    assert!(matches!(session.answer("nothing", yes.clone()), Err(AnswerError::Unknown(_))));
    session.answer(&request.id, yes.clone()).unwrap();
    assert_eq!(session.answer(&request.id, yes), Err(AnswerError::Taken(request.id.clone())));
    let view = session.ended(&run).await.unwrap();
    assert_eq!(view.outcome.answer.as_deref(), Some("Done."));
}

/// Runs what one process does, and ends that process with everything that goes on in it.
fn process<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(work)
}

fn yes(view: &RunView) -> (String, Reply) {
    let [request] = view.requests.as_slice() else { panic!("{view:?}") };
    let crate::desk::Question::Approval(approval) = &request.question else { panic!("{request:?}") };
    let reply = Reply::Approval { digest: approval.digest, choice: Choice::AllowOnce, rule: None };
    (request.id.clone(), reply)
}

fn answers(entries: &[Entry], word: &str) -> usize {
    let lines = entries.iter().map(|entry| serde_json::to_string(entry).unwrap());
    lines.filter(|line| line.contains(&format!(r#""what":"{word}""#))).count()
}

#[test]
fn an_approval_survives_the_process_and_answering_it_goes_on() {
    let store = memory();
    let (id, before) = process(async {
        let models = script([calls(&[("greeter__greeting", "{}")])]);
        let session = host(models, Mode::Interactive, &store).open(interactive()).unwrap();
        let run = session.ask(RunRequest::new("Greet me")).unwrap();
        (session.id().to_owned(), session.settled(&run).await.unwrap())
    });
    assert_eq!(store.run(before.id.as_str()).unwrap().unwrap().status, RunStatus::InputRequired);
    process(async {
        let host = host(script([say("Done.")]), Mode::Interactive, &store);
        let shown = host.run(&before.id).unwrap();
        assert_eq!((shown.status, &shown.requests), (before.status, &before.requests), "before it is opened");
        let session = host.session_of(&before.id).unwrap();
        assert_eq!(session.id(), id);
        assert_eq!(session.pending(), before.requests);
        let error = session.ask(RunRequest::new("Another?")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        let (request, reply) = yes(&before);
        session.answer(&request, reply.clone()).unwrap();
        assert!(matches!(session.answer(&request, reply), Err(AnswerError::Taken(_))));
        let view = session.ended(&before.id).await.unwrap();
        assert_eq!((view.status, view.outcome.answer.as_deref()), (RunStatus::Finished, Some("Done.")));
        assert_eq!(view.outcome.calls.len(), 1);
    });
    let kept = store.entries(&id, 0, 1000).unwrap();
    assert_eq!(
        (answers(&kept, "requested"), answers(&kept, "answered"), answers(&kept, "withdrawn")),
        (1, 3, 0),
        "one answer of a person, two of the model"
    );
    assert!(kept.windows(2).all(|pair| pair[0].seq < pair[1].seq), "numbers go on");
}

const INTERRUPTED: SessionState = SessionState::Interrupted;

#[test]
fn a_call_in_flight_is_unknown_after_the_process_ended_and_the_model_is_told() {
    let store = memory();
    let (id, run) = process(async {
        let started = Arc::new(tokio::sync::Notify::new());
        let notify = Arc::clone(&started);
        let never = Tool::new("greeting", move || {
            let notify = Arc::clone(&notify);
            async move {
                notify.notify_one();
                std::future::pending::<String>().await
            }
        });
        let server = Server::builder("greeter", "1.0").tool(never).build(()).unwrap();
        let host = Host::builder(script([calls(&[("greeter__greeting", "{}")])]))
            .connect(name("greeter"), Client::builder().in_process(&server))
            .policy(Policy::new(Mode::Yes))
            .store(Arc::clone(&store))
            .build();
        let session = host.open(interactive()).unwrap();
        let run = session.ask(RunRequest::new("Greet me")).unwrap();
        started.notified().await;
        (session.id().to_owned(), run)
    });
    process(async {
        let host = host(script([say("I do not know.")]), Mode::Yes, &store);
        let state = || host.session_list(1).unwrap().pop().map(|(_, state)| state);
        assert_eq!(host.run(&run).unwrap().status, RunStatus::Interrupted, "before it is opened");
        assert_eq!((host.runs(&id).unwrap()[0].status, state()), (RunStatus::Interrupted, Some(INTERRUPTED)));
        let session = host.session(&id).unwrap();
        assert_eq!((session.run(&run).unwrap().status, state()), (RunStatus::Interrupted, Some(INTERRUPTED)));
        assert_eq!(session.resume(), Some(run.clone()));
        assert_eq!(session.resume(), None);
        let view = session.ended(&run).await.unwrap();
        assert_eq!(view.outcome.answer.as_deref(), Some("I do not know."));
        assert_eq!(view.outcome.calls[0].status, "unknown");
        let told = session.conversation().messages().iter().any(
            |message| matches!(message, switchboard_llm::Message::Tool { text, .. } if text.contains("not known")),
        );
        assert!(told, "{:?}", session.conversation());
    });
}

#[tokio::test]
async fn a_key_begins_one_run_and_a_second_question_waits_its_turn() {
    let models = script([calls(&[("greeter__greeting", "{}")]), say("Done."), say("Again.")]);
    let session = host(models, Mode::Interactive, &memory()).open(interactive()).unwrap();
    let request = RunRequest { idempotency_key: Some("k".to_owned()), ..RunRequest::new("Greet me") };
    let run = session.ask(request.clone()).unwrap();
    assert_eq!(session.ask(request.clone()).unwrap(), run);
    assert_eq!(session.ask(RunRequest::new("q")).unwrap_err().code(), "busy");
    let (id, reply) = yes(&session.settled(&run).await.unwrap());
    session.answer(&id, reply).unwrap();
    session.ended(&run).await.unwrap();
    assert_eq!(session.ask(request).unwrap(), run);
    let next = session.ask(RunRequest::new("And now?")).unwrap();
    assert_eq!(session.ended(&next).await.unwrap().outcome.answer.as_deref(), Some("Again."));
    assert_eq!(
        session
            .conversation()
            .messages()
            .iter()
            .filter(|message| { matches!(message, switchboard_llm::Message::User { .. }) })
            .count(),
        2
    );
}

#[tokio::test]
async fn a_run_that_waits_can_be_cancelled_and_the_session_goes_on() {
    let models = script([calls(&[("greeter__greeting", "{}")]), say("Again.")]);
    let session = host(models, Mode::Interactive, &memory()).open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Greet me")).unwrap();
    let (id, reply) = yes(&session.settled(&run).await.unwrap());
    assert!(session.cancel(&run));
    let view = session.ended(&run).await.unwrap();
    assert_eq!((view.status, view.requests.len()), (RunStatus::Cancelled, 0));
    assert_eq!(view.outcome.error.unwrap().code, "interrupted");
    assert!(matches!(session.answer(&id, reply), Err(AnswerError::Unknown(_))));
    assert!(!session.cancel(&run));
    let next = session.ask(RunRequest::new("And now?")).unwrap();
    assert_eq!(session.ended(&next).await.unwrap().status, RunStatus::Finished);
}

#[tokio::test]
async fn events_are_followed_from_anywhere_without_a_gap() {
    let models = script([calls(&[("greeter__greeting", "{}")]), say("one two three")]);
    let session = host(models, Mode::Yes, &memory()).open(interactive()).unwrap();
    let from_the_start = session.events(0);
    let run = session.ask(RunRequest::new("Greet me")).unwrap();
    session.ended(&run).await.unwrap();
    let last = session.run(&run).unwrap().outcome.last_seq.unwrap();
    let entries = usize::try_from(last).unwrap();
    let live: Vec<_> = from_the_start.take(entries).map(|entry| entry.seq).collect().await;
    assert_eq!(live, (1..=last).collect::<Vec<_>>(), "pieces are passed on");
    let middle: Vec<_> = session.events(5).take(entries - 5).map(|entry| entry.seq).collect().await;
    assert_eq!(middle, (6..=last).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_slow_reader_reads_from_the_store_what_memory_has_let_go() {
    let session = host(script([]), Mode::Yes, &memory()).open(interactive()).unwrap();
    session.put_record(&mut session.lock(), &RunRequest::new("q")).unwrap();
    let note = |number: u32| Selection::Note { text: format!("{number}") };
    let mut slow = session.events(0);
    (0..10_000).for_each(|number| session.journal().record(note(number)));
    let mut expected = 0;
    while expected < 10_000 {
        let entry = slow.next().await.unwrap();
        assert_eq!(entry.event, note(expected).into());
        expected += 1;
    }
}

#[tokio::test]
async fn an_answer_must_fit_the_schema_and_gets_one_correction() {
    let schema = serde_json::json!({"type": "object", "required": ["n"]});
    let request = |schema| RunRequest { output_schema: Some(schema), ..RunRequest::new("How many?") };
    for (answers, expected) in [
        (vec![say("{\"n\": 1}")], Ok(serde_json::json!({"n": 1}))),
        (vec![say("One, I think."), say("```json\n{\"n\": 1}\n```")], Ok(serde_json::json!({"n": 1}))),
        (vec![say("One."), say("{}")], Err("model_failed")),
    ] {
        let session = host(script(answers), Mode::Yes, &memory()).open(interactive()).unwrap();
        let run = session.ask(request(schema.clone())).unwrap();
        let view = session.ended(&run).await.unwrap();
        match expected {
            Ok(output) => assert_eq!((view.status, view.outcome.output), (RunStatus::Finished, Some(output))),
            Err(code) => assert_eq!(view.outcome.error.unwrap().code, code),
        }
    }
    let session = host(script([]), Mode::Yes, &memory()).open(interactive()).unwrap();
    let error = session.ask(request(serde_json::json!({"type": "nothing"}))).unwrap_err();
    assert_eq!(error.code(), "configuration");
}

#[tokio::test]
async fn a_correction_goes_on_within_the_run() {
    let schema = serde_json::json!({"type": "object", "required": ["n"]});
    let request = RunRequest { output_schema: Some(schema), ..RunRequest::new("How many?") };
    let call = || calls(&[("greeter__greeting", "{}")]);
    let session = host(script([call(), say("One."), call(), say("{\"n\": 1}")]), Mode::Yes, &memory())
        .open(interactive())
        .unwrap();
    let run = session.ask(request).unwrap();
    let outcome = session.ended(&run).await.unwrap().outcome;
    assert_eq!((outcome.calls.len(), outcome.steps), (2, 4), "of both answers");
}

/// A model that thinks for ever once it has said all it has to say.
struct ThenSilent(Script);

impl Selector for ThenSilent {
    fn name(&self) -> &str {
        "then silent"
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        if self.0.0.lock().unwrap().is_empty() { stream::pending().boxed() } else { self.0.select(step) }
    }
}

#[test]
fn a_correction_goes_on_after_the_process_ended() {
    let store = memory();
    let (id, run) = process(async {
        let script = Script(Mutex::new(VecDeque::from([say("One.")])));
        let models = OneModel(ModelChoice::other(ThenSilent(script)));
        let session = host(models, Mode::Yes, &store).open(interactive()).unwrap();
        let schema = serde_json::json!({"type": "object", "required": ["n"]});
        let request = RunRequest { output_schema: Some(schema), ..RunRequest::new("How many?") };
        let mut events = session.events(0);
        let run = session.ask(request).unwrap();
        let corrected = |event: &Event| matches!(event, Event::Selection(Selection::Question { text }) if text.starts_with("Your answer"));
        while !corrected(&events.next().await.unwrap().event) {}
        (session.id().to_owned(), run)
    });
    process(async {
        let session = host(script([say("{\"n\": 1}")]), Mode::Yes, &store).session(&id).unwrap();
        session.resume().unwrap();
        let view = session.ended(&run).await.unwrap();
        assert_eq!((view.status, view.outcome.steps), (RunStatus::Finished, 2));
        let asked =
            |message: &&switchboard_llm::Message| matches!(message, switchboard_llm::Message::User { .. });
        assert_eq!(session.conversation().messages().iter().filter(asked).count(), 2);
    });
}

/// Secrets that are called like members of what is kept, and one in a number.
#[tokio::test]
async fn a_secret_that_is_called_like_a_member_leaves_everything_readable() {
    let store = memory();
    let models = script([calls(&[("greeter__greeting", "{}")]), say("The content is 1234567.")]);
    let host = Host::builder(models)
        .connect(name("greeter"), Client::builder().in_process(&server()))
        .policy(Policy::new(Mode::Interactive))
        .store(Arc::clone(&store));
    let host = ["content", "arguments", "misfits", "used_ids", "provider_id", "1234567"]
        .into_iter()
        .fold(host, |host, it| host.secret(it));
    let host = host.build();
    let session = host.open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("What are the arguments?")).unwrap();
    let (id, reply) = yes(&session.settled(&run).await.unwrap());
    let kept = store.run(run.as_str()).unwrap().unwrap();
    serde_json::from_str::<RunRequest>(&kept.options).unwrap();
    serde_json::from_str::<live::Progress>(&kept.turn.unwrap()).unwrap();
    serde_json::from_str::<Vec<PendingView>>(&kept.requests.unwrap()).unwrap();
    session.answer(&id, reply).unwrap();
    session.ended(&run).await.unwrap();
    let kept = store.session(session.id()).unwrap().unwrap();
    let conversation: Conversation = serde_json::from_str(&kept.conversation).unwrap();
    let said = format!("{:?}", conversation.messages());
    // What is a word of our own is not masked.
    assert!(said.contains("What are the arguments?") && said.contains("The content is ***."), "{said}");
    let kept = store.run(run.as_str()).unwrap().unwrap();
    serde_json::from_str::<RunOutcome>(&kept.outcome.unwrap()).unwrap();
}

#[tokio::test]
async fn what_only_looks_like_a_secret_is_not_in_the_outcome() {
    let store = memory();
    let key = "ghp_0123456789abcdefghij";
    let models =
        script([calls(&[("greeter__greeting", r#"{"password":"hunter2"}"#)]), say(&format!("It is {key}."))]);
    let session = host(models, Mode::Yes, &store).open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Greet me")).unwrap();
    session.ended(&run).await.unwrap();
    let outcome = store.run(run.as_str()).unwrap().unwrap().outcome.unwrap();
    assert!(!outcome.contains(key) && !outcome.contains("hunter2"), "{outcome}");
}

#[tokio::test]
async fn why_a_model_was_chosen_is_said_once() {
    let store = memory();
    let OneModel(choice) = script([say("First."), say("Second.")]);
    let host = host(OneModel(choice.note("it is the only one")), Mode::Yes, &store);
    let session = host.open(interactive()).unwrap();
    for question in ["One?", "Two?"] {
        let run = session.ask(RunRequest::new(question)).unwrap();
        session.ended(&run).await.unwrap();
    }
    let entries = store.entries(session.id(), 0, 1000).unwrap();
    let is_note = |entry: &&Entry| matches!(entry.event, Event::Selection(Selection::Note { .. }));
    assert_eq!(entries.iter().filter(is_note).count(), 1);
}

#[tokio::test]
async fn nothing_of_a_deleted_session_comes_back() {
    let store = memory();
    let host = host(script([calls(&[("greeter__greeting", "{}")])]), Mode::Interactive, &store);
    let session = host.open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Greet me")).unwrap();
    session.settled(&run).await.unwrap();
    store.put_document("grant-session", session.id(), Some("[]")).unwrap();
    let mut events = session.events(0);
    host.delete(session.id()).unwrap();
    assert_eq!(store.document("grant-session", session.id()).unwrap(), None);
    session.journal().record(Selection::Note { text: "late".to_owned() });
    while events.next().await.is_some() {}
    assert_eq!(session.ended(&run).await.map(|view| view.status), None);
    assert!(store.entries(session.id(), 0, 1000).unwrap().is_empty());
    assert!(store.run(run.as_str()).unwrap().is_none());
}

#[tokio::test]
async fn a_run_may_only_be_stricter_than_the_host() {
    let policy = |rules: &[&str]| RunPolicy {
        rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        on_ask: None,
    };
    let ask = |rules: &[&str]| RunRequest { policy: Some(policy(rules)), ..RunRequest::new("Greet me") };
    let models = script([calls(&[("greeter__greeting", "{}")]), say("It was not allowed.")]);
    let session = host(models, Mode::Yes, &memory()).open(interactive()).unwrap();
    for rules in [["allow greeter/greeting"], ["permit everything"]] {
        assert_eq!(session.ask(ask(&rules)).unwrap_err().code(), "configuration");
    }
    let run = session.ask(ask(&["deny greeter/greeting principal *"])).unwrap();
    assert_eq!(session.ended(&run).await.unwrap().outcome.calls[0].status, "denied");
}

#[tokio::test]
async fn a_fork_holds_what_was_said_up_to_a_run_and_goes_its_own_way() {
    let models = script([say("First."), say("Second."), say("Third, elsewhere.")]);
    let store = memory();
    let host = host(models, Mode::Yes, &store);
    let session = host.open(interactive()).unwrap();
    let mut runs = Vec::new();
    for question in ["One?", "Two?"] {
        let run = session.ask(RunRequest::new(question)).unwrap();
        session.ended(&run).await.unwrap();
        runs.push(run);
    }
    let fork = host.fork(session.id(), Some(&runs[0])).unwrap();
    assert_eq!((fork.parent.as_deref(), fork.title.as_str()), (Some(session.id()), "One?"));
    let forked = host.session(&fork.id).unwrap();
    assert_eq!(host.runs(&fork.id).unwrap().len(), 1);
    let run = forked.ask(RunRequest::new("Three?")).unwrap();
    assert_eq!(forked.ended(&run).await.unwrap().outcome.answer.as_deref(), Some("Third, elsewhere."));
    let messages = |session: &Session| session.conversation().messages().len();
    assert_eq!(
        (messages(&session), messages(&forked)),
        (5, 5),
        "instructions, and two questions with answers"
    );
    host.delete(session.id()).unwrap();
    assert_eq!(host.session(session.id()).map(|_| ()).unwrap_err().code(), "not_found");
    let mut transcript = Vec::new();
    host.transcript(&fork.id, &mut transcript).unwrap();
    let transcript = String::from_utf8(transcript).unwrap();
    assert!(
        transcript.contains("## One?")
            && transcript.contains("First.")
            && transcript.contains("Third, elsewhere.")
    );
    assert!(!transcript.contains("Second."), "{transcript}");
    let mut export = Vec::new();
    host.export(&fork.id, &mut export).unwrap();
    let export: serde_json::Value = serde_json::from_slice(&export).unwrap();
    assert_eq!(export["session"]["id"], fork.id);
    assert_eq!(export["runs"].as_array().unwrap().len(), 2);
    assert!(!export["journal"].as_array().unwrap().is_empty() && export["artefacts"].is_array());
}

#[tokio::test]
async fn secrets_are_written_nowhere() {
    let secret = "correct-horse-battery";
    let store = memory();
    let models = script([calls(&[("greeter__greeting", "{}")]), say(&format!("It is {secret}."))]);
    let host = Host::builder(models)
        .connect(name("greeter"), Client::builder().in_process(&server()))
        .policy(Policy::new(Mode::Yes))
        .store(Arc::clone(&store))
        .secret(secret)
        .build();
    let session = host.open(interactive()).unwrap();
    let run = session.ask(RunRequest::new(format!("Is it {secret}?"))).unwrap();
    session.ended(&run).await.unwrap();
    let written = format!(
        "{:?} {:?} {:?}",
        store.session(session.id()).unwrap(),
        store.runs(session.id()).unwrap(),
        store.entries(session.id(), 0, 1000).unwrap()
    );
    assert!(!written.contains(secret), "{written}");
    assert!(written.contains("***"));
}
