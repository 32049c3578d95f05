//! What the journal masks is masked wherever a run is shown.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::Args;

use super::*;
use crate::desk::Question;
use crate::journal::Authorization;
use crate::policy::ApprovalView;
use crate::supervisor::{ServerConfig, Supervisor, SupervisorOptions};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Said {
    text: String,
}

#[tokio::test]
async fn a_run_is_shown_without_secrets_while_it_goes_on_and_when_it_is_over() {
    const SECRET: &str = "correct horse battery";
    let arguments = json!({ "text": SECRET }).to_string();
    let say_it = || say(&format!("It is {SECRET}."));
    let echo = async |Args(Said { text }): Args<Said>| text;
    let server = Server::builder("echo", "1.0").tool(Tool::new("echo", echo)).build(()).unwrap();
    let store = memory();
    let host = Host::builder(script([calls(&[("echo__echo", &arguments)]), say_it()]))
        .connect(name("echo"), Client::builder().in_process(&server))
        .policy(Policy::new(Mode::Interactive))
        .store(Arc::clone(&store))
        .build();
    let session = host.open(interactive()).unwrap();
    session.journal().mask(SECRET);
    let run = session.ask(RunRequest::new(format!("Say {SECRET}"))).unwrap();
    let shown = |view: &RunView| serde_json::to_value(view).unwrap();
    let view = session.settled(&run).await.unwrap();
    assert!(!shown(&view).to_string().contains(SECRET), "{view:?}");
    let (request, reply) = yes(&view);
    session.answer(&request, reply).unwrap();
    let view = session.ended(&run).await.unwrap();
    assert!(!shown(&view).to_string().contains(SECRET), "{view:?}");
    assert!(view.outcome.answer.as_deref().is_some_and(|answer| answer.starts_with("It is ")), "{view:?}");
    let kept = stored_view(&store.run(run.as_str()).unwrap().unwrap(), false);
    assert_eq!(shown(&view), shown(&kept), "as it is kept");
}

/// A server that keeps what its one tool is called with, and takes anything.
fn keeps_arguments() -> (Server, Arc<Mutex<Vec<Value>>>) {
    let kept = Arc::<Mutex<Vec<Value>>>::default();
    let seen = Arc::clone(&kept);
    let keep = move |Args(arguments): Args<BTreeMap<String, Value>>| {
        let seen = Arc::clone(&seen);
        async move {
            seen.lock().unwrap().push(serde_json::to_value(arguments).unwrap());
            "kept"
        }
    };
    (Server::builder("keeps", "1.0").tool(Tool::new("keep", keep)).build(()).unwrap(), kept)
}

fn keeping(models: OneModel, server: &Server, store: &Arc<dyn Store>, secret: &str) -> Host {
    Host::builder(models)
        .connect(name("keeps"), Client::builder().in_process(server))
        .policy(Policy::new(Mode::Interactive))
        .store(Arc::clone(store))
        .secret(secret)
        .build()
}

fn approval(view: &RunView) -> &ApprovalView {
    let [request] = view.requests.as_slice() else { panic!("{view:?}") };
    let Question::Approval(approval) = &request.question else { panic!("{request:?}") };
    approval
}

const SECRET: &str = "c4nary/S3cret";

/// What is allowed is what was shown: on the desk, in the answer of the API, in what is kept, and in the events that the
/// page reads.
#[tokio::test]
async fn what_a_person_consents_to_is_shown_as_it_will_be_sent() {
    for arguments in [
        json!({ "cmd": "echo bearer rm -rf ~", "token": "$(evil)" }),
        json!({ "x": "a", "password": "rm -rf ~", "api_key": 12345, "pin": 1 }),
        json!({ "x": "curl -H \"Authorization: Bearer $(rm${IFS}-rf${IFS}~)\" host" }),
        json!({ "x": "bearer;rm -rf", "y": "Authorization: Bearer abcdef123456" }),
        json!({ "x": "echo sk-proj-abcdefghijklmnop;rm${IFS}-rf${IFS}~", "y": "ghp_abcdefghijklmnopqrst$(id)" }),
        json!({ "x": "{\"token\":\"rm -rf ~\"}", "y": "{ \"a\" : 1.00000,  \"password\":\"p\"}" }),
        json!({ "x": "{\"cmd\":\"safe\",\"cmd\":\"rm -rf ~\"}" }),
        json!({ "secret": { "cmd": "rm -rf" }, "path": "/home/bearer/token" }),
        json!({ "x": format!("{} bearer rm -rf", "long ".repeat(100)) }),
    ] {
        let (server, sent) = keeps_arguments();
        let store = memory();
        let models = script([calls(&[("keeps__keep", &arguments.to_string())]), say("Done.")]);
        let session = keeping(models, &server, &store, SECRET).open(interactive()).unwrap();
        let run = session.ask(RunRequest::new("Do it")).unwrap();
        let view = session.settled(&run).await.unwrap();
        let kept = stored_view(&store.run(run.as_str()).unwrap().unwrap(), true);
        let mut surfaces = vec![approval(&view).clone(), approval(&kept).clone()];
        let entries = store.entries(session.id(), 0, 1000).unwrap();
        for entry in &entries {
            match &entry.event {
                Event::Authorization(Authorization::Requested { question, .. }) => {
                    let Question::Approval(approval) = &**question else { panic!("{question:?}") };
                    surfaces.push((**approval).clone());
                }
                Event::Authorization(Authorization::Asked { arguments: shown, .. }) => {
                    assert_eq!(*shown, arguments);
                }
                _ => {}
            }
        }
        assert_eq!(surfaces.len(), 3);
        for shown in surfaces {
            assert_eq!(shown.arguments, arguments);
            assert_eq!(serde_json::from_str::<Value>(&shown.shown).unwrap(), arguments);
            assert!(shown.hidden.is_empty() && !shown.render(true).contains("***"), "{shown:?}");
            assert!(!shown.preview.is_some_and(|preview| preview.contains("***")));
        }
        let (request, reply) = yes(&view);
        session.answer(&request, reply).unwrap();
        session.ended(&run).await.unwrap();
        assert_eq!(*sent.lock().unwrap(), [arguments]);
    }
}

#[tokio::test]
async fn a_question_says_where_a_configured_secret_stands() {
    let arguments = json!({ "a": [{ "b/c": format!("pre {SECRET} post") }], "d": "clean", SECRET: 1 });
    let (server, sent) = keeps_arguments();
    let models = script([calls(&[("keeps__keep", &arguments.to_string())]), say("Done.")]);
    let session = keeping(models, &server, &memory(), SECRET).open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Do it")).unwrap();
    let view = session.settled(&run).await.unwrap();
    let shown = approval(&view);
    assert_eq!(shown.hidden, ["/a/0/b~1c", "/***"]);
    assert_eq!(shown.arguments, json!({ "a": [{ "b/c": "pre *** post" }], "d": "clean", "***": 1 }));
    assert!(
        shown.render(false).contains("at /a/0/b~1c, /*** a configured secret is sent"),
        "{}",
        shown.render(false)
    );
    assert!(view.requests[0].question.hides_secret());
    let (request, reply) = yes(&view);
    session.answer(&request, reply).unwrap();
    session.ended(&run).await.unwrap();
    assert_eq!(*sent.lock().unwrap(), [arguments]);
}

/// No rule is offered that would write a secret down, or that would be another one without it.
#[tokio::test]
async fn no_answer_is_offered_that_holds_a_secret() {
    let arguments = json!({ "path": format!("/srv/{SECRET}/a") }).to_string();
    let (server, _) = keeps_arguments();
    let models = script([calls(&[("keeps__keep", &arguments)]), say("Done.")]);
    let session = keeping(models, &server, &memory(), SECRET).open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Do it")).unwrap();
    let view = session.settled(&run).await.unwrap();
    let rules: Vec<_> = approval(&view).offers.iter().filter_map(|offer| offer.rule.as_ref()).collect();
    assert!(!rules.is_empty() && rules.iter().all(|rule| rule.is_any()), "{rules:?}");
    assert!(!serde_json::to_string(&view).unwrap().contains(SECRET));
}

#[test]
fn what_stands_in_the_place_of_a_secret_is_never_sent_after_a_restart() {
    let store = memory();
    let (server, sent) = keeps_arguments();
    let call = |text: String| calls(&[("keeps__keep", &json!({ "text": text }).to_string())]);
    for (text, goes_on) in [(format!("it is {SECRET}"), false), ("it is ***".to_owned(), true)] {
        sent.lock().unwrap().clear();
        let (id, run, asked) = process(async {
            let session =
                keeping(script([call(text.clone())]), &server, &store, SECRET).open(interactive()).unwrap();
            let run = session.ask(RunRequest::new("Do it")).unwrap();
            let view = session.settled(&run).await.unwrap();
            (session.id().to_owned(), run, yes(&view))
        });
        process(async {
            let models = script([call("again".to_owned()), say("Done.")]);
            let models = if goes_on { script([say("Done.")]) } else { models };
            let host = keeping(models, &server, &store, SECRET);
            let status = if goes_on { RunStatus::InputRequired } else { RunStatus::Interrupted };
            assert_eq!(host.run(&run).unwrap().status, status, "as it is kept");
            let listed = host.session_list(1).unwrap();
            assert_eq!(listed[0].1, status.into());
            let session = host.session(&id).unwrap();
            assert_eq!(session.run(&run).unwrap().status, status);
            let (request, reply) = asked;
            assert_eq!(session.answer(&request, reply).is_ok(), goes_on);
            if !goes_on {
                assert!(session.pending().is_empty());
                session.resume().unwrap();
                // The model was told, and calls again.
                let view = session.settled(&run).await.unwrap();
                assert_eq!(view.outcome.calls[0].status, "interrupted");
                let (request, reply) = yes(&view);
                session.answer(&request, reply).unwrap();
            }
            session.ended(&run).await.unwrap();
            let told = format!("{:?}", session.conversation());
            assert_eq!(told.contains("its arguments held a secret that is not kept"), !goes_on, "{told}");
        });
        let text = if goes_on { "it is ***" } else { "again" };
        assert_eq!(*sent.lock().unwrap(), [json!({ "text": text })]);
        assert_eq!(answers(&store.entries(&id, 0, 1000).unwrap(), "withdrawn"), usize::from(!goes_on));
    }
}

#[test]
fn what_a_run_was_asked_with_is_not_read_without_its_secret() {
    let uri = format!("https://h.example/?k={SECRET}");
    let attachment: crate::integration::Attachment =
        serde_json::from_value(json!({ "resource": { "server": "keeps", "uri": uri } })).unwrap();
    let policy =
        RunPolicy { rules: vec![format!("deny keeps/keep where text = \"{SECRET}\"")], on_ask: None };
    for request in [
        RunRequest { attachments: vec![attachment], ..RunRequest::new("Read it") },
        RunRequest { policy: Some(policy), ..RunRequest::new("Do it") },
    ] {
        let journal = Journal::new();
        journal.mask(SECRET);
        let kept: RunRequest =
            serde_json::from_str(&journal.masked_json(super::json(&request).unwrap())).unwrap();
        assert!(request.is_whole(false) && !kept.is_whole(false), "{kept:?}");
        let record = RunRecord {
            id: "r1".to_owned(),
            session: "s1".to_owned(),
            created_ms: 0,
            status: RunStatus::Running,
            first_seq: 1,
            options: super::json(&kept).unwrap(),
            turn: None,
            requests: None,
            outcome: None,
            idempotency_key: None,
            digest: None,
        };
        assert!(Live::parked(record).unwrap().can_go_on().is_err());
    }
}

#[tokio::test]
async fn what_is_part_of_a_servers_name_is_no_secret() {
    let (server, kept) = keeps_arguments();
    let supervisor = Supervisor::new(SupervisorOptions::default());
    let config = ServerConfig::in_process(name("postgres-prod"), server);
    supervisor.start(vec![config]);
    supervisor.ready(Duration::from_secs(60)).await.unwrap();
    let call = calls(&[("postgres-prod__keep", r#"{"text":"postgres hunter22"}"#)]);
    let host = Host::builder(script([call, say("Done.")]))
        .supervisor(supervisor)
        .policy(Policy::new(Mode::Interactive))
        .secret("postgres")
        .secret("hunter22")
        .build();
    assert_eq!(host.secrets(), ["hunter22"]);
    let session = host.open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Keep it")).unwrap();
    let view = session.settled(&run).await.unwrap();
    let shown = serde_json::to_string(&view).unwrap();
    assert!(shown.contains("postgres-prod") && !shown.contains("hunter22"), "{shown}");
    let (request, reply) = yes(&view);
    session.answer(&request, reply).unwrap();
    session.ended(&run).await.unwrap();
    assert_eq!(*kept.lock().unwrap(), [json!({ "text": "postgres hunter22" })]);
}
