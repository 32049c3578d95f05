//! How servers begin and end.

use switchboard_llm::SchemaDialect;
use tokio::time::Instant;

use super::fake::{Fake, Part};
use super::*;
use crate::exposure::{Declared, Exposure, ExposureOptions};
use crate::store::{MemoryStore, Store};

#[tokio::test(start_paused = true)]
async fn a_silent_server_holds_up_nobody_longer_than_the_grace_and_joins_later() {
    let (quick, slow) = (Fake::new([]), Fake::new([Part::IsSilent]));
    let supervisor = supervisor(vec![config("slow", &slow), config("quick", &quick)]);
    let since = Instant::now();
    supervisor.ready(supervisor.grace()).await.unwrap();
    assert_eq!(since.elapsed(), 3 * SECOND);
    let states: Vec<_> = supervisor.status().iter().map(|server| server.state).collect();
    assert_eq!(states, [ServerState::Starting, ServerState::Ready]);
    let listed = supervisor.upstream(&name("slow")).unwrap().list().await;
    assert_eq!(listed.unwrap_err().message, "it is still starting; its tools join when it is there");
    // The grace is over, so nothing waits for it any more.
    assert_eq!(since.elapsed(), 3 * SECOND);
    // It gives up, and somebody starts it anew; now it answers.
    let failed = reach(&supervisor, ServerState::Failed).await;
    assert!(failed.last_error.unwrap().contains("answered nothing"));
    supervisor.restart(&name("slow")).unwrap();
    let ready = reach(&supervisor, ServerState::Ready).await;
    assert_eq!(ready.tools, Some(3));
    assert!(ready.last_error.is_none() && ready.token_cost > Some(10), "{ready:?}");
    assert_eq!((ready.era.as_deref(), ready.identity.as_deref()), (Some("modern"), Some("fake 1")));
    let listed = supervisor.upstream(&name("slow")).unwrap().list().await.unwrap();
    assert_eq!(listed.tools.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn tools_cost_what_the_model_is_sent_of_them() {
    let fake = Fake::new([]);
    let mut few = config("few", &fake);
    few.exclude = vec!["*".to_owned()];
    let supervisor = supervisor(vec![config("all", &fake), few]);
    supervisor.ready(supervisor.grace()).await.unwrap();
    let listed = supervisor.upstream(&name("all")).unwrap().list().await.unwrap();
    let mut changes = supervisor.changes();
    for dialect in SchemaDialect::ALL {
        supervisor.measure_for(dialect);
        let declared = Declared { tools: listed.tools.to_vec(), invalid: Vec::new() };
        let options = ExposureOptions { dialect, ..ExposureOptions::default() };
        let sent = Exposure::compile_for([(name("all"), declared)], &options).total_token_cost();
        let costs: Vec<_> = supervisor.status().iter().map(|server| server.token_cost).collect();
        assert_eq!(costs, [Some(sent), Some(0)], "{dialect}");
    }
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    supervisor.measure_for(SchemaDialect::Generic);
    assert!(!changes.has_changed().unwrap(), "nothing that is shown is another");
}

#[tokio::test(start_paused = true)]
async fn the_tools_are_those_that_a_model_is_offered() {
    let all = [("all", Vec::new(), "3", None), ("two", vec!["hang".to_owned()], "2 of 3", Some(1))];
    for (what, exclude, shown, left_out) in all {
        let fake = Fake::new([]);
        let supervisor = supervisor(vec![ServerConfig { exclude, ..config("s", &fake) }]);
        let ready = reach(&supervisor, ServerState::Ready).await;
        assert_eq!((ready.tools_shown().as_deref(), ready.left_out), (Some(shown), left_out), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_required_server_is_waited_for_and_its_failure_is_everybodys() {
    let required = |part| {
        let fake = Fake::new([part]);
        supervisor(vec![ServerConfig { required: true, ..config("s", &fake) }])
    };
    let broken = required(Part::IsSilent);
    let since = Instant::now();
    let error = broken.ready(SECOND).await.unwrap_err();
    assert!(error.message.contains("answered nothing"), "{error}");
    assert!(since.elapsed() >= 30 * SECOND, "{:?}", since.elapsed());
    assert!(broken.upstream(&name("s")).unwrap().is_required());
    required(Part::Serves).ready(SECOND).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_required_server_that_ends_at_once_is_told_of_before_the_others_are_known() {
    let (slow, broken) = (Fake::new([Part::IsSilent]), Fake::new([Part::Ends; 9]));
    let broken = ServerConfig { required: true, ..config("broken", &broken) };
    let supervisor = supervisor(vec![config("slow", &slow), broken]);
    let since = Instant::now();
    assert_eq!(supervisor.ready(60 * SECOND).await.unwrap_err().server, name("broken"));
    assert!(since.elapsed() < SECOND, "{:?}", since.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_is_started_again_until_its_budget_is_spent() {
    let fake = Fake::new([]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    reach(&supervisor, ServerState::Ready).await;
    for restart in 1..=5 {
        fake.0.end.notify_waiters();
        let ready = reach_where(&supervisor, |server| {
            server.state == ServerState::Ready && server.restarts == restart
        });
        ready.await;
    }
    assert_eq!(fake.connections(), 6);
    fake.0.end.notify_waiters();
    let failed = reach(&supervisor, ServerState::Failed).await;
    assert!(failed.last_error.unwrap().ends_with("it was started again 5 times within 5 min"));
    assert!(failed.next_step.is_some());
    let error = call(&supervisor, "s", "echo", quiet()).await.unwrap_err();
    assert!(error.contains("started again 5 times") && error.contains("maybe executed: false"), "{error}");
    // A turn that needs it tries once more when the failure is old.
    tokio::time::advance(31 * SECOND).await;
    supervisor.ready(SECOND).await.unwrap();
    reach(&supervisor, ServerState::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn a_person_who_starts_a_server_anew_gives_it_a_fresh_budget() {
    let fake = Fake::new([]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    reach(&supervisor, ServerState::Ready).await;
    let end = async |times: usize| {
        for _ in 0..times {
            let before = fake.connections();
            fake.0.end.notify_waiters();
            reach_where(&supervisor, |status| {
                status.state == ServerState::Ready && fake.connections() > before
            })
            .await;
        }
    };
    end(5).await;
    let before = fake.connections();
    supervisor.restart(&name("s")).unwrap();
    reach_where(&supervisor, |status| status.state == ServerState::Ready && fake.connections() > before)
        .await;
    end(5).await;
}

#[tokio::test(start_paused = true)]
async fn one_that_never_worked_is_not_started_again_by_itself() {
    let fake = Fake::new([Part::Ends, Part::Ends]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    let failed = reach(&supervisor, ServerState::Failed).await;
    assert_eq!(failed.restarts, 0);
    assert!(fake.connections() <= 2, "once, and once more in case it is of the legacy era");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_restart_and_is_not_repeated_once_it_was_sent() {
    let fake = Fake::new([Part::EndsOnCall]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    reach(&supervisor, ServerState::Ready).await;
    let error = call(&supervisor, "s", "echo", quiet()).await.unwrap_err();
    assert!(error.ends_with("(maybe executed: true)"), "{error}");
    assert_eq!(call(&supervisor, "s", "echo", quiet()).await.as_deref(), Ok(r#"{"n":1}"#));
    assert_eq!(fake.heard("tools/call").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_starts_with_its_first_call_and_stops_when_nobody_uses_it() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let fake = Fake::new([]);
    let lazy = || ServerConfig { lazy: true, idle_stop: Some(60 * SECOND), ..config("s", &fake) };
    let begin = || {
        let supervisor =
            Supervisor::new(SupervisorOptions { store: Arc::clone(&store), ..Default::default() });
        supervisor.start(vec![lazy()]);
        supervisor
    };
    // Nothing is known of it the first time, so a turn starts it.
    let first = begin();
    assert_eq!(first.status()[0].state, ServerState::Idle);
    first.ready(SECOND).await.unwrap();
    assert_eq!((first.status()[0].state, fake.connections()), (ServerState::Ready, 1));
    let since = Instant::now();
    reach(&first, ServerState::Idle).await;
    assert!(since.elapsed() >= 60 * SECOND && since.elapsed() < 70 * SECOND, "{:?}", since.elapsed());
    first.close().await;
    // The next process offers its tools without it.
    let second = begin();
    second.ready(SECOND).await.unwrap();
    let listed = second.upstream(&name("s")).unwrap().list().await.unwrap();
    assert_eq!((listed.tools.len(), fake.connections()), (3, 1));
    assert_eq!(call(&second, "s", "echo", quiet()).await.as_deref(), Ok(r#"{"n":1}"#));
    assert_eq!((second.status()[0].state, fake.connections()), (ServerState::Ready, 2));
}

#[tokio::test(start_paused = true)]
async fn a_call_keeps_a_server_from_being_stopped() {
    let fake = Fake::new([]);
    let supervisor = supervisor(vec![ServerConfig { idle_stop: Some(10 * SECOND), ..config("s", &fake) }]);
    reach(&supervisor, ServerState::Ready).await;
    let calling = tokio::spawn({
        let supervisor = supervisor.clone();
        async move { call(&supervisor, "s", "late", quiet()).await }
    });
    until(&fake, 1).await;
    tokio::time::advance(30 * SECOND).await;
    assert_eq!(supervisor.status()[0].state, ServerState::Ready);
    fake.0.late.notify_one();
    assert_eq!(calling.await.unwrap().as_deref(), Ok("at last"));
    reach(&supervisor, ServerState::Idle).await;
}

#[tokio::test(start_paused = true)]
async fn names_of_one_configuration_share_a_server_and_a_new_configuration_keeps_what_is_unchanged() {
    let (one, two) = (Fake::new([]), Fake::new([]));
    let alias = ServerConfig { name: name("alias"), ..config("one", &one) };
    let supervisor = supervisor(vec![config("one", &one), alias, config("two", &two)]);
    supervisor.ready(SECOND).await.unwrap();
    assert_eq!((one.connections(), two.connections()), (1, 1));
    supervisor.start(vec![config("one", &one), ServerConfig { enabled: false, ..config("three", &two) }]);
    supervisor.ready(SECOND).await.unwrap();
    assert_eq!(one.connections(), 1);
    let states: Vec<_> = supervisor.status().into_iter().map(|s| (s.name.to_string(), s.state)).collect();
    assert_eq!(states, [("one".into(), ServerState::Ready), ("three".into(), ServerState::Disabled)]);
    assert_eq!(supervisor.upstream(&name("two")).err(), Some(NoSuchServer(name("two"))));
    supervisor.close().await;
    assert_eq!(supervisor.status()[0].state, ServerState::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_person_stops_and_starts_a_server() {
    let fake = Fake::new([]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    reach(&supervisor, ServerState::Ready).await;
    supervisor.stop(&name("s")).unwrap();
    let stopped = reach(&supervisor, ServerState::Stopped).await;
    assert_eq!(stopped.next_step.as_deref(), Some("switchboard servers restart s"));
    let error = call(&supervisor, "s", "echo", quiet()).await.unwrap_err();
    assert!(error.starts_with("it was stopped"), "{error}");
    supervisor.restart(&name("s")).unwrap();
    reach(&supervisor, ServerState::Ready).await;
    assert_eq!((fake.connections(), supervisor.status()[0].restarts), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn what_was_learned_of_the_era_is_believed_until_it_proves_wrong() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let fake = Fake::new([]);
    let begin = || {
        let supervisor =
            Supervisor::new(SupervisorOptions { store: Arc::clone(&store), ..Default::default() });
        supervisor.start(vec![config("s", &fake)]);
        supervisor
    };
    reach(&begin(), ServerState::Ready).await;
    let kept = store.document("verdict", "hash of s").unwrap().unwrap();
    assert!(kept.contains("2026-07-28"), "{kept}");
    // A verdict that a newer version wrote, and one that no longer holds.
    let verdict = |revision: &str| format!(r#"{{"revision":"{revision}","seenAt":9999999999}}"#);
    let wrong = [verdict("2099-01-01"), "no JSON".to_owned()].into_iter();
    #[cfg(feature = "legacy")]
    let wrong = wrong.chain([verdict(switchboard_protocol::era::Revision::NEWEST_LEGACY.date())]);
    for wrong in wrong {
        store.put_document("verdict", "hash of s", Some(&wrong)).unwrap();
        reach(&begin(), ServerState::Ready).await;
        let kept = store.document("verdict", "hash of s").unwrap().unwrap();
        assert!(kept.contains("2026-07-28"), "{kept}");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_that_change_silently_are_found_by_asking_now_and_then() {
    let fake = Fake::new([]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    reach(&supervisor, ServerState::Ready).await;
    fake.0.tools.lock().unwrap().push(super::fake::tool("new", true));
    let since = Instant::now();
    reach_where(&supervisor, |server| server.tools == Some(4)).await;
    assert!(since.elapsed() <= 5 * 60 * SECOND + SECOND, "{:?}", since.elapsed());
    assert!(host_lines(&supervisor, "s").contains("its tools have changed"));
}

#[tokio::test(start_paused = true)]
async fn noise_is_skipped_counted_and_shown() {
    let fake = Fake::new([]).noisy(&["Server started", "", "password=hunter2 {"]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    let ready = reach(&supervisor, ServerState::Ready).await;
    assert_eq!(ready.noise_lines, 2);
    let lines = supervisor.logs(&name("s"), 100).unwrap();
    let noise: Vec<_> = lines.iter().filter(|line| line.stream == LogStream::Noise).collect();
    assert_eq!(noise[0].text, "Server started");
    assert!(host_lines(&supervisor, "s").contains("is no message; such lines are skipped"));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_noise_at_the_start_is_skipped_and_little_of_it_is_kept() {
    let long = "x".repeat(2_000_000);
    let mut noise = vec!["noise"; 20_000];
    noise.push(&long);
    let fake = Fake::new([]).noisy(&noise);
    let supervisor = supervisor(vec![config("s", &fake)]);
    let ready = reach(&supervisor, ServerState::Ready).await;
    assert!(ready.noise_lines > 20_000, "{}", ready.noise_lines);
    let lines = supervisor.logs(&name("s"), usize::MAX).unwrap();
    let kept: usize = lines.iter().map(|line| line.text.len()).sum();
    assert!(lines.len() <= 5_000 && kept <= 256 * 1024, "{} lines, {kept} bytes", lines.len());
    assert!(host_lines(&supervisor, "s").contains("ready after"));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said_to_be_where_it_was_looked_for() {
    let mut missing = ServerConfig::command(name("s"), "no-such-program-here", ["x"]);
    if let ServerTarget::Command { env, cwd, .. } = &mut missing.target {
        env.push(("PATH".to_owned(), Secret::new("/nowhere:/neither")));
        *cwd = Some("/".into());
    }
    let supervisor = supervisor(vec![missing]);
    supervisor.ready(30 * SECOND).await.unwrap();
    let status = supervisor.status().remove(0);
    let report = supervisor.test(&name("s")).await.unwrap();
    assert_eq!((status.state, report.ok), (ServerState::Failed, false));
    let step = report.steps.last().unwrap();
    assert_eq!(step.step, "program");
    for said in [status.last_error.unwrap(), step.detail.clone()] {
        for part in ["no-such-program-here", "PATH=", "working directory /"] {
            assert!(said.contains(part), "{part} is not in: {said}");
        }
    }
    assert!(report.next_step.unwrap().contains("install"));
}

#[tokio::test(start_paused = true)]
async fn a_test_says_step_by_step_what_works() {
    let fake = Fake::new([Part::Serves, Part::Serves, Part::Ends, Part::Ends]);
    let supervisor = supervisor(vec![config("s", &fake)]);
    reach(&supervisor, ServerState::Ready).await;
    let steps = |report: &TestReport| -> Vec<String> {
        report.steps.iter().map(|step| format!("{} {}", step.step, step.ok)).collect()
    };
    let report = supervisor.test(&name("s")).await.unwrap();
    assert_eq!(steps(&report), ["start true", "era true", "tools true", "latency true"]);
    assert_eq!((report.ok, fake.connections()), (true, 1));
    supervisor.stop(&name("s")).unwrap();
    reach(&supervisor, ServerState::Stopped).await;
    let report = supervisor.test(&name("s")).await.unwrap();
    assert_eq!((report.ok, fake.connections()), (true, 2));
    let report = supervisor.test(&name("s")).await.unwrap();
    assert_eq!(steps(&report), ["start false"]);
    assert!(report.next_step.is_some());
}
