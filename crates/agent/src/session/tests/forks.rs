//! A fork reads what the session that it came from was given, and outlives it.

use super::*;

/// A result that is too long for the model, so that it is told how to read it.
fn long() -> String {
    "Good morning! ".repeat(10_000)
}

fn host(models: OneModel, store: &Arc<dyn Store>) -> Host {
    let server =
        Server::builder("greeter", "1.0").tool(Tool::new("greeting", async || long())).build(()).unwrap();
    Host::builder(models)
        .connect(name("greeter"), Client::builder().in_process(&server))
        .policy(Policy::new(Mode::Yes))
        .store(Arc::clone(store))
        .build()
}

/// Each question calls the tool, reads the whole of what it gave, and answers.
fn asked_twice() -> Vec<Vec<ModelEvent>> {
    let turn = |text| [calls(&[("greeter__greeting", "{}")]), say(text)];
    turn("First.").into_iter().chain(turn("Second.")).collect()
}

fn texts(host: &Host, id: &str) -> Vec<String> {
    let of = |artefact: ArtefactRecord| {
        assert_eq!(artefact.session, id);
        let bytes = host.store().artefact_bytes(&artefact.id, 0, usize::MAX).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let artefacts = host.store().artefacts(id).unwrap();
    artefacts.into_iter().filter(|artefact| artefact.kind == "text").map(of).collect()
}

#[tokio::test]
async fn a_fork_reads_the_artefacts_up_to_its_run_also_once_its_parent_is_gone() {
    let tool = crate::artefact::model_name(crate::artefact::READ_ARTEFACT);
    let read = |id: &str| calls(&[(tool.as_str(), &format!(r#"{{"id":"{id}"}}"#))]);
    let store = memory();
    let host = host(script(asked_twice()), &store);
    let session = host.open(interactive()).unwrap();
    let mut runs = Vec::new();
    for question in ["One?", "Two?"] {
        let run = session.ask(RunRequest::new(question)).unwrap();
        session.ended(&run).await.unwrap();
        runs.push(run);
        // The next artefact is of another millisecond.
        let now = unix_ms();
        while unix_ms() == now {
            tokio::task::yield_now().await;
        }
    }
    let fork = host.fork(session.id(), Some(&runs[0])).unwrap();
    let of_fork = host.fork(&fork.id, None).unwrap();
    assert_eq!(texts(&host, session.id()), [long(), long()]);
    assert_eq!(texts(&host, &fork.id), [long()]);
    let [first, second] = store
        .artefacts(session.id())
        .unwrap()
        .into_iter()
        .filter(|artefact| artefact.kind == "text")
        .map(|artefact| artefact.id)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    host.delete(session.id()).unwrap();
    host.delete(&fork.id).unwrap();
    assert_eq!(texts(&host, &of_fork.id), [long()]);
    let mut export = Vec::new();
    host.export(&of_fork.id, &mut export).unwrap();
    assert!(String::from_utf8(export).unwrap().contains(&format!(r#""id":"{first}""#)));

    let host = self::host(script([read(&first), read(&second), say("Read.")]), &store);
    let forked = host.session(&of_fork.id).unwrap();
    let run = forked.ask(RunRequest::new("What was it?")).unwrap();
    let view = forked.ended(&run).await.unwrap();
    let read: Vec<_> = view.outcome.calls.iter().map(|call| call.status.as_str()).collect();
    assert_eq!(read, ["ok", "tool_error"], "{view:?}");
}
