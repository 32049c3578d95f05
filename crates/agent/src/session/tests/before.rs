//! What a command at a terminal needs: it looks before it asks, and the person may leave a question.

use super::*;
use crate::journal::Discovery;

#[tokio::test]
async fn a_question_that_is_left_is_no_yes() {
    let models = script([calls(&[("greeter__greeting", "{}")])]);
    let session = host(models, Mode::Interactive, &memory()).open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Greet me")).unwrap();
    let view = session.settled(&run).await.unwrap();
    let [request] = view.requests.as_slice() else { panic!("{view:?}") };
    let withdraw = || session.desk().withdraw(&request.id, "nobody answered it");
    assert!(withdraw() && !withdraw());
    let view = session.ended(&run).await.unwrap();
    assert_eq!(view.outcome.error.unwrap().code, "approval_needed");
}

#[tokio::test]
async fn what_happens_before_the_first_question_is_passed_on_and_not_kept() {
    let store = memory();
    let session = host(script([say("Hello.")]), Mode::Yes, &store).open(interactive()).unwrap();
    session.journal().record(Discovery::Connecting { server: name("greeter") });
    let first = session.events(0).next().await.unwrap();
    assert!(matches!(first.event, Event::Discovery(Discovery::Connecting { .. })), "{first:?}");
    assert!(store.sessions().unwrap().is_empty());
    let run = session.ask(RunRequest::new("Hi")).unwrap();
    session.ended(&run).await.unwrap();
    let kept = store.entries(session.id(), 0, 1).unwrap();
    assert!(matches!(kept[0].event, Event::Run(RunEvent::Begun { .. })) && kept[0].seq == 2, "{kept:?}");
}

#[tokio::test]
async fn an_agent_of_the_host_goes_by_its_policy_and_knows_which_servers_are_not_there() {
    let builder = || {
        Host::builder(script([]))
            .connect(name("greeter"), Client::builder().in_process(&server()))
            .policy(Policy::new(Mode::Yes).rule("deny gone/x".parse().unwrap()))
    };
    let agent = builder().absent(name("gone")).build().agent().unwrap().build().unwrap();
    let nothing = || serde_json::value::to_raw_value(&serde_json::json!({})).unwrap();
    let result = agent.call(&name("greeter"), "greeting", nothing()).await.unwrap();
    assert!(serde_json::to_string(&result).unwrap().contains("Good morning!"));
    let unknown = builder().build().agent().unwrap().build().unwrap();
    assert_eq!(unknown.tools().await.unwrap_err().kind(), ErrorKind::Configuration);
}
