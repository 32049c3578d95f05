//! Tools that change between the leave to call them and the call: it is decided about again.

use super::fake::Fake;
use super::freshness::{LASTS, SILENT, Set, TELLS, World, echo, kinds};
use super::*;
use crate::answer::CallRecord;
use crate::policy::{Choice, Mode, Policy};

/// The server ends, and comes back with another tool, while the model thinks about its second call.
fn comes_back_another(fake: &Fake, step: u32) -> Duration {
    if step == 2 {
        *fake.0.tools.lock().unwrap() = echo("New.");
        fake.0.end.notify_one();
    }
    Duration::from_millis(1)
}

fn all_worked(calls: &[Arc<CallRecord>]) -> bool {
    calls.iter().all(|call| call.status.is_success())
}

async fn ready(world: &World) -> Supervisor {
    let supervisor = world.supervisor(false);
    reach(&supervisor, ServerState::Ready).await;
    supervisor
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_with_another_tool_is_asked_about_before_the_call_is_made() {
    let all = kinds().into_iter().map(|(kind, set, _)| (kind, set)).chain([("ttlMs", LASTS)]);
    for (kind, set) in all {
        let world = || {
            let mut world = World::new(set);
            *world.fake.0.tools_after_call.lock().unwrap() = None;
            world.thinks = comes_back_another;
            world
        };
        let asking = world();
        let answer = asking.run(&ready(&asking).await, 2).await.unwrap();
        assert_eq!(asking.asked(), ["rule", "changed"], "{kind}");
        assert!(all_worked(&answer.calls), "{kind}: {:?}", answer.calls);
        assert_eq!(asking.fake.heard("tools/call").len(), 2, "{kind}");

        let mut headless = world();
        headless.policy = Policy::new(Mode::Yes);
        let error = headless.run(&ready(&headless).await, 2).await.unwrap_err();
        assert_eq!((error.exit_code(), error.code()), (2, "approval_needed"), "{kind}");
        assert!(error.message().contains("- Old.\n+ New."), "{kind}: {error}");
        assert_eq!(headless.fake.heard("tools/call").len(), 1, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_changes_between_two_calls_of_one_step_is_asked_about_again() {
    for (kind, set, _) in kinds() {
        let world = |mode| {
            let mut world = World::new(set);
            world.policy = Policy::new(mode).rule("allow s/echo".parse().unwrap());
            (world.batch, world.places) = (3, Some(1));
            world
        };
        let asking = world(Mode::Interactive);
        let answer = asking.run(&ready(&asking).await, 1).await.unwrap();
        let asked = asking.asked();
        assert!(!asked.is_empty() && asked.iter().all(|why| why == "changed"), "{kind}: {asked:?}");
        assert!(all_worked(&answer.calls), "{kind}: {:?}", answer.calls);
        assert_eq!(asking.fake.heard("tools/call").len(), 3, "{kind}");

        for mode in [Mode::Fail, Mode::Yes] {
            let headless = world(mode);
            let error = headless.run(&ready(&headless).await, 1).await.unwrap_err();
            assert_eq!((error.exit_code(), error.code()), (2, "approval_needed"), "{kind}");
            assert_eq!(headless.fake.heard("tools/call").len(), 1, "{kind}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_that_no_longer_fit_the_changed_tool_go_back_to_the_model() {
    let mut world = World::new(SILENT);
    world.policy = Policy::new(Mode::Interactive).rule("allow s/echo".parse().unwrap());
    (world.batch, world.places) = (2, Some(1));
    let schema = serde_json::json!({"type": "object", "required": ["path"]});
    let other = serde_json::json!({"name": "echo", "description": "New.", "inputSchema": schema});
    *world.fake.0.tools_after_call.lock().unwrap() = Some(vec![other]);
    let answer = world.run(&ready(&world).await, 1).await.unwrap();
    assert!(answer.calls[0].status.is_success());
    assert!(format!("{:?}", answer.calls[1].status).contains("Invalid"), "{:?}", answer.calls);
    assert_eq!((world.asked().len(), world.fake.heard("tools/call").len()), (0, 1));
}

/// What passes before the person answers their first question.
type Takes = fn(&Fake, usize) -> Duration;

#[tokio::test(start_paused = true)]
async fn a_tool_that_changes_while_it_is_asked_about_is_asked_about_as_it_is_now() {
    // One that is told of withdraws the question; of another one is heard when the question is answered.
    let told: (Set, Takes) = (TELLS, |fake, number| {
        if number > 1 {
            return Duration::ZERO;
        }
        *fake.0.tools.lock().unwrap() = echo("New.");
        fake.0.changed.notify_one();
        1_000_000 * SECOND
    });
    let silent: (Set, Takes) = (SILENT, |fake, number| {
        *fake.0.tools.lock().unwrap() = echo("New.");
        if number == 1 { 60 * SECOND } else { Duration::ZERO }
    });
    for (set, takes) in [told, silent] {
        for choice in [Choice::AllowOnce, Choice::AllowAlways] {
            let mut world = World::new(set);
            *world.fake.0.tools_after_call.lock().unwrap() = None;
            (world.person.choice, world.person.takes) = (choice, takes);
            let began = tokio::time::Instant::now();
            let answer = world.run(&ready(&world).await, 1).await.unwrap();
            assert!(began.elapsed() < 100 * SECOND, "the first question was not withdrawn");
            assert_eq!(world.asked(), ["rule", "changed"]);
            assert!(all_worked(&answer.calls), "{:?}", answer.calls);
            assert_eq!(world.fake.heard("tools/call").len(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_stays_the_same_is_not_decided_about_for_ever() {
    let mut world = World::new(SILENT);
    *world.fake.0.tools_after_call.lock().unwrap() = None;
    world.person.takes = |fake, number| {
        *fake.0.tools.lock().unwrap() = echo(&format!("Old. New. {number}"));
        60 * SECOND
    };
    let answer = world.run(&ready(&world).await, 1).await.unwrap();
    assert_eq!((world.asked().len(), world.fake.heard("tools/call").len()), (4, 0));
    assert!(format!("{:?}", answer.calls[0].status).contains("Changed"), "{:?}", answer.calls);
}

#[tokio::test(start_paused = true)]
async fn calls_side_by_side_and_what_is_fresh_cost_no_list() {
    // On a server that announces nothing: one with the connection, and one for each step and call after an answer.
    for (set, most) in [(SILENT, 5), (TELLS, 2), (LASTS, 1)] {
        let mut world = World::new(set);
        *world.fake.0.tools_after_call.lock().unwrap() = None;
        (world.batch, world.places) = (3, Some(1));
        world.policy = Policy::new(Mode::Yes);
        world.run(&ready(&world).await, 1).await.unwrap();
        assert!(world.lists() <= most, "{} lists, not {most}", world.lists());
    }
    let mut world = World::new(SILENT);
    *world.fake.0.tools.lock().unwrap() = vec![super::fake::tool("echo", true)];
    *world.fake.0.tools_after_call.lock().unwrap() = None;
    (world.batch, world.policy) = (3, Policy::new(Mode::Yes));
    world.run(&ready(&world).await, 1).await.unwrap();
    assert!(world.lists() <= 2, "{} lists", world.lists());
}

#[tokio::test(start_paused = true)]
async fn whatever_a_server_tells_its_tools_are_listed_once_a_second_and_the_last_word_counts() {
    let world = World::new(TELLS);
    let supervisor = ready(&world).await;
    pass(10 * SECOND).await;
    let before = world.lists();
    for number in 0..500 {
        *world.fake.0.tools.lock().unwrap() = echo(&format!("{number}"));
        world.fake.0.changed.notify_one();
        pass(Duration::from_millis(10)).await;
    }
    let lists = world.lists() - before;
    assert!((4..=6).contains(&lists), "{lists} lists in 5 s");
    let mut tools = echo("Last.");
    tools.push(super::fake::tool("other", true));
    *world.fake.0.tools.lock().unwrap() = tools;
    world.fake.0.changed.notify_one();
    pass(2 * SECOND).await;
    assert_eq!(reach(&supervisor, ServerState::Ready).await.tools, Some(2));
}
