//! Tools that change while a run goes on: when that is noticed, and what becomes of the calls.

use std::sync::Mutex;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use serde_json::{Value, json};
use switchboard_llm::{Finish, ModelEvent, ToolCallRequest};

use super::fake::Fake;
use super::*;
use crate::error::AgentError;
use crate::exposure::Exposure;
use crate::policy::{Approval, ArgumentRule, Choice, Consent, ConsentReply, Mode, Policy, Scope, Why};
use crate::selector::{Selected, Selector};
use crate::store::{MemoryStore, Store};
use crate::turn::Step;
use crate::{Agent, Answer};

/// A model that calls the tool so many times, each after a while.
struct Model {
    calls: u32,
    /// How many at once.
    batch: u32,
    /// What passes in each step while it thinks, and whether the tools change then.
    thinks: fn(&Fake, u32) -> Duration,
    fake: Fake,
    seen: Arc<Mutex<Vec<Arc<Exposure>>>>,
}

impl Selector for Model {
    fn name(&self) -> &str {
        "model"
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let last = step.number > self.calls;
        self.seen.lock().unwrap().push(step.exposure);
        let thinking = (self.thinks)(&self.fake, step.number);
        let events = if last {
            vec![ModelEvent::TextDelta("Done.".to_owned()), ModelEvent::Finish(Finish::Stop)]
        } else {
            // Not the same twice.
            let call = |call: u32| {
                let arguments = format!(r#"{{"n":{}}}"#, step.number * 10 + call);
                let request = ToolCallRequest::new("id", "s__echo", arguments);
                ModelEvent::CallEnd { call: call as usize, request }
            };
            (0..self.batch).map(call).chain([ModelEvent::Finish(Finish::ToolCalls)]).collect()
        };
        let events = stream::iter(events.into_iter().map(|event| Ok(Selected::Event(event))));
        stream::once(pass(thinking)).flat_map(move |()| events.clone()).boxed()
    }
}

/// Says yes for as long as it says, and keeps why it was asked.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) choice: Choice,
    /// How long they take for each question, and what happens meanwhile.
    pub(super) takes: fn(&Fake, usize) -> Duration,
    fake: Fake,
    asked: Arc<Mutex<Vec<Why>>>,
}

impl Consent for Person {
    fn ask<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, ConsentReply> {
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(approval.why().clone());
            asked.len()
        };
        Box::pin(async move {
            let takes = (self.takes)(&self.fake, number);
            if !takes.is_zero() {
                // The clock is paused.
                let _ = tokio::time::timeout(takes, std::future::pending::<()>()).await;
            }
            approval.reply_where(self.choice, ArgumentRule::any())
        })
    }
}

/// One host with one server, whose tool `echo` is described anew after its first call.
pub(super) struct World {
    pub(super) fake: Fake,
    store: Arc<dyn Store>,
    pub(super) policy: Policy,
    pub(super) person: Person,
    pub(super) batch: u32,
    /// How many calls the server takes at once.
    pub(super) places: Option<usize>,
    pub(super) thinks: fn(&Fake, u32) -> Duration,
    seen: Arc<Mutex<Vec<Arc<Exposure>>>>,
}

pub(super) fn echo(description: &str) -> Vec<Value> {
    vec![json!({"name": "echo", "description": description, "inputSchema": {"type": "object"}})]
}

impl World {
    pub(super) fn new(set: impl FnOnce(&super::fake::Stage)) -> Self {
        let fake = Fake::new([]);
        *fake.0.tools.lock().unwrap() = echo("Old.");
        *fake.0.tools_after_call.lock().unwrap() = Some(echo("New."));
        set(&fake.0);
        let person = Person {
            choice: Choice::AllowRun,
            takes: |_, _| Duration::ZERO,
            fake: fake.clone(),
            asked: Arc::default(),
        };
        Self {
            fake,
            store: Arc::new(MemoryStore::default()),
            policy: Policy::new(Mode::Interactive),
            person,
            batch: 1,
            places: None,
            thinks: |_, _| Duration::from_millis(1),
            seen: Arc::default(),
        }
    }

    pub(super) fn supervisor(&self, lazy: bool) -> Supervisor {
        let store = Arc::clone(&self.store);
        let supervisor = Supervisor::new(SupervisorOptions { store, ..SupervisorOptions::default() });
        let config = config("s", &self.fake);
        supervisor.start(vec![ServerConfig { lazy, max_concurrency: self.places, ..config }]);
        supervisor
    }

    pub(super) async fn run(&self, supervisor: &Supervisor, calls: u32) -> Result<Answer, AgentError> {
        let (fake, seen) = (self.fake.clone(), Arc::clone(&self.seen));
        let agent = Agent::builder(Model { calls, batch: self.batch, thinks: self.thinks, fake, seen })
            .supervisor(supervisor)
            .policy(self.policy.clone())
            .consent(self.person.clone())
            .store(Arc::clone(&self.store))
            .scope(Scope::run().in_session("a"))
            .build()
            .unwrap();
        agent.run("q").await
    }

    /// How the tool was described to the model, step by step.
    fn seen(&self) -> Vec<String> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        seen.iter().map(|exposure| exposure.tools()[0].definition().description.clone()).collect()
    }

    /// Why the person was asked: by a rule, or because the tool changed.
    pub(super) fn asked(&self) -> Vec<String> {
        let asked = std::mem::take(&mut *self.person.asked.lock().unwrap());
        asked
            .into_iter()
            .map(|why| match why {
                Why::Rule { .. } => "rule".to_owned(),
                Why::Changed { difference, .. } => {
                    let shown = serde_json::to_string(&difference).unwrap();
                    assert!(shown.contains("Old.") && shown.contains("New."), "{shown}");
                    "changed".to_owned()
                }
                other => format!("{other:?}"),
            })
            .collect()
    }

    pub(super) fn lists(&self) -> usize {
        self.fake.heard("tools/list").len()
    }
}

pub(super) type Set = fn(&super::fake::Stage);

pub(super) const SILENT: Set = |_| {};
pub(super) const TELLS: Set = |stage| *stage.tells.lock().unwrap() = true;
pub(super) const LASTS: Set = |stage| *stage.ttl_ms.lock().unwrap() = 60_000;
#[cfg(feature = "legacy")]
const LEGACY: Set = |stage| *stage.legacy.lock().unwrap() = true;
#[cfg(feature = "legacy")]
const LEGACY_TELLS: Set = |stage| {
    LEGACY(stage);
    TELLS(stage);
};

/// Every kind of server, and the most lists that four steps may cost.
pub(super) fn kinds() -> Vec<(&'static str, Set, usize)> {
    let mut kinds = vec![("modern, ttlMs 0", SILENT, 4), ("modern, subscription", TELLS, 3)];
    #[cfg(feature = "legacy")]
    kinds.extend([("legacy", LEGACY, 4), ("legacy, listChanged", LEGACY_TELLS, 3)]);
    kinds
}

/// Those that tell of changes.
fn telling() -> impl Iterator<Item = (&'static str, Set)> {
    let telling = |kind: &str| kind.contains("subscription") || kind.contains("listChanged");
    kinds().into_iter().filter(move |(kind, ..)| telling(kind)).map(|(kind, set, _)| (kind, set))
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_changes_between_two_calls_is_asked_about_again_whatever_was_said_before() {
    for (kind, set, most) in kinds() {
        for choice in [Choice::AllowRun, Choice::AllowSession, Choice::AllowAlways] {
            let mut world = World::new(set);
            world.person.choice = choice;
            let supervisor = world.supervisor(false);
            reach(&supervisor, ServerState::Ready).await;
            world.run(&supervisor, 3).await.unwrap();
            assert_eq!(world.seen(), ["Old.", "New.", "New.", "New."], "{kind}");
            assert_eq!(world.asked(), ["rule", "changed"], "{kind} {choice:?}");
            assert!(world.lists() <= most, "{kind}: {} lists", world.lists());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn where_nobody_can_be_asked_a_tool_that_changed_ends_the_run_with_exit_code_2() {
    for (kind, set, _) in kinds() {
        for mode in [Mode::Yes, Mode::Fail] {
            let mut world = World::new(set);
            world.policy = Policy::new(mode).rule("allow s/echo".parse().unwrap());
            let supervisor = world.supervisor(false);
            reach(&supervisor, ServerState::Ready).await;
            let error = world.run(&supervisor, 3).await.unwrap_err();
            assert_eq!((error.exit_code(), error.code()), (2, "approval_needed"), "{kind}");
            assert!(error.next_action().unwrap().contains("pins accept s echo"), "{kind}: {error}");
            assert_eq!(world.fake.heard("tools/call").len(), 1, "{kind}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_is_believed_for_as_long_as_the_server_said() {
    let mut world = World::new(LASTS);
    let supervisor = world.supervisor(false);
    reach(&supervisor, ServerState::Ready).await;
    world.run(&supervisor, 3).await.unwrap();
    assert_eq!(world.seen(), ["Old."; 4]);
    assert_eq!((world.asked(), world.lists()), (vec!["rule".to_owned()], 1));
    // The time is over while the model thinks for the second time.
    world.thinks = |_, step| if step == 2 { 60 * SECOND } else { Duration::ZERO };
    world.run(&supervisor, 3).await.unwrap();
    assert_eq!(world.seen(), ["Old.", "Old.", "New.", "New."]);
    assert_eq!((world.asked(), world.lists()), (vec!["rule".to_owned(), "changed".to_owned()], 2));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_told_while_the_model_thinks_counts_for_the_call_that_it_makes() {
    for (_, set) in telling() {
        let mut world = World::new(set);
        *world.fake.0.tools_after_call.lock().unwrap() = None;
        world.thinks = |fake, step| {
            if step == 2 {
                *fake.0.tools.lock().unwrap() = echo("New.");
                fake.0.changed.notify_one();
            }
            Duration::from_millis(1)
        };
        let supervisor = world.supervisor(false);
        reach(&supervisor, ServerState::Ready).await;
        world.run(&supervisor, 2).await.unwrap();
        assert_eq!(world.seen(), ["Old.", "Old.", "New."]);
        assert_eq!(world.asked(), ["rule", "changed"]);
    }
}

/// A change is told of while the model thinks for the second time, and others while the tools are listed for it.
fn changes_while_it_is_listed(
    fake: &Fake,
    step: u32,
    meanwhile: impl IntoIterator<Item = Vec<Value>>,
) -> Duration {
    if step == 2 {
        fake.0.tools_while_listed.lock().unwrap().extend(meanwhile);
        fake.0.changed.notify_one();
    }
    Duration::from_millis(1)
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_told_while_the_tools_are_listed_counts_for_the_call_that_waits_for_them() {
    for (kind, set) in telling() {
        let mut world = World::new(set);
        *world.fake.0.tools_after_call.lock().unwrap() = None;
        world.thinks = |fake, step| changes_while_it_is_listed(fake, step, [echo("New.")]);
        let supervisor = world.supervisor(false);
        reach(&supervisor, ServerState::Ready).await;
        world.run(&supervisor, 2).await.unwrap();
        assert_eq!(world.seen(), ["Old.", "Old.", "New."], "{kind}");
        assert_eq!(world.asked(), ["rule", "changed"], "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_tells_of_a_change_during_each_list_is_not_listed_for_ever_and_it_is_said() {
    let mut world = World::new(TELLS);
    *world.fake.0.tools_after_call.lock().unwrap() = None;
    world.thinks = |fake, step| changes_while_it_is_listed(fake, step, vec![echo("Old."); 1_000]);
    let supervisor = world.supervisor(false);
    reach(&supervisor, ServerState::Ready).await;
    let answer = world.run(&supervisor, 2).await.unwrap();
    assert!(answer.calls.iter().all(|call| call.status.is_success()), "{:?}", answer.calls);
    assert!(world.lists() < 20, "{} lists", world.lists());
    let said = host_lines(&supervisor, "s");
    assert!(
        said.contains("it said 3 times in a row that its tools changed while they were listed"),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_did_not_change_is_the_very_same_and_a_new_tool_comes_last() {
    let mut world = World::new(SILENT);
    *world.fake.0.tools_after_call.lock().unwrap() = None;
    world.thinks = |fake, step| {
        if step == 3 {
            fake.0.tools.lock().unwrap().insert(0, super::fake::tool("a", true));
        }
        Duration::ZERO
    };
    let supervisor = world.supervisor(false);
    reach(&supervisor, ServerState::Ready).await;
    world.run(&supervisor, 3).await.unwrap();
    let seen = world.seen.lock().unwrap().clone();
    assert!(Arc::ptr_eq(&seen[0], &seen[1]) && Arc::ptr_eq(&seen[1], &seen[2]));
    let names: Vec<_> = seen[3].tools().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["s__echo", "s__a"]);
    let written = |step: usize| format!("{:?}", seen[step].tools()[0].definition());
    assert_eq!(written(3), written(0));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lists_its_tools_no_more_keeps_those_that_are_known_and_holds_up_one_step() {
    let mut world = World::new(SILENT);
    world.thinks = |fake, step| {
        *fake.0.lists_nothing.lock().unwrap() |= step == 1;
        Duration::ZERO
    };
    let supervisor = world.supervisor(false);
    reach(&supervisor, ServerState::Ready).await;
    let since = Instant::now();
    world.run(&supervisor, 3).await.unwrap();
    assert_eq!(since.elapsed(), 3 * SECOND);
    assert_eq!(world.seen(), ["Old."; 4]);
    assert!(host_lines(&supervisor, "s").contains("did not list its tools within 3 s"));
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_that_is_started_by_a_call_is_not_given_it_if_the_tool_is_another_now() {
    let mut world = World::new(SILENT);
    world.person.choice = Choice::AllowAlways;
    *world.fake.0.tools_after_call.lock().unwrap() = None;
    let first = world.supervisor(true);
    world.run(&first, 1).await.unwrap();
    first.close().await;
    *world.fake.0.tools.lock().unwrap() = echo("New.");
    // The next process offers what it remembers.
    let second = world.supervisor(true);
    let answer = world.run(&second, 2).await.unwrap();
    assert_eq!(world.seen(), ["Old.", "Old.", "Old.", "New.", "New."]);
    // The call is asked about with the difference, and made.
    assert_eq!(world.asked(), ["rule", "changed"]);
    assert_eq!(world.fake.heard("tools/call").len(), 3);
    assert!(answer.calls[0].status.is_success(), "{:?}", answer.calls);
}
