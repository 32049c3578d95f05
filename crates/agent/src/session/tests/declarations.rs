//! What a run writes down of hundreds of tools: little, and everything else once.

use super::*;
use crate::journal::{Declaration, Exposed};

const TOOLS: usize = 300;

fn host(models: OneModel, count: usize, store: &Arc<dyn Store>) -> Host {
    let tool =
        |number| Tool::new(format!("find_{number:03}"), greet).describe("Finds entries by their words");
    let server = (0..count).map(tool).fold(Server::builder("many", "1.0"), |server, tool| server.tool(tool));
    Host::builder(models)
        .connect(name("many"), Client::builder().in_process(&server.build(()).unwrap()))
        .policy(Policy::new(Mode::Yes))
        .store(Arc::clone(store))
        .build()
}

async fn asked(session: &Session) {
    let run = session.ask(RunRequest::new("Anything?")).unwrap();
    assert_eq!(session.ended(&run).await.unwrap().status, RunStatus::Finished);
}

#[tokio::test]
async fn tools_are_declared_in_an_entry_a_server_and_kept_once_for_all_sessions() {
    let store = memory();
    let host = host(script([say("No."), say("No."), say("No.")]), TOOLS, &store);
    let (one, other) = (host.open(interactive()).unwrap(), host.open(interactive()).unwrap());
    asked(&one).await;
    asked(&one).await;
    asked(&other).await;
    let kept = |session: &Session| -> Vec<_> {
        let artefacts = store.artefacts(session.id()).unwrap();
        artefacts.into_iter().map(|artefact| (artefact.kind, artefact.id)).collect()
    };
    let [(kind, id)] = kept(&one).try_into().unwrap();
    assert_eq!((kind.as_str(), kept(&other)), ("declarations", vec![(kind.clone(), id.clone())]));
    let entries = store.entries(one.id(), 0, 1000).unwrap();
    let bytes: usize = entries.iter().map(|entry| serde_json::to_vec(entry).unwrap().len()).sum();
    assert!(bytes < 2 * TOOLS * 20, "{bytes} bytes for two runs");
    let listed = entries.iter().filter(|entry| match &entry.event {
        Event::Declaration(Declaration::Listed { server, tools, kept }) => {
            (server.as_str(), tools.len(), kept) == ("many", TOOLS, &id)
        }
        Event::Exposure(Exposed::Listed { tools, kept }) => (*tools, kept) == (TOOLS, &id),
        other => panic_if_a_tool(other),
    });
    assert_eq!(listed.count(), 4);
    let bytes = store.artefact_bytes(&id, 0, usize::MAX).unwrap();
    let declared: Vec<serde_json::Value> = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        (declared.len(), &declared[7]["name"], &declared[7]["tool"]),
        (TOOLS, &"many__find_007".into(), &"find_007".into())
    );
    host.delete(one.id()).unwrap();
    assert_eq!(store.artefact_bytes(&id, 0, usize::MAX).unwrap(), bytes, "another session has it");
    host.delete(other.id()).unwrap();
    assert!(store.artefact(&id).unwrap().is_none());
}

fn panic_if_a_tool(event: &Event) -> bool {
    assert!(!matches!(event, Event::Declaration(_) | Event::Exposure(_)), "{event:?}");
    false
}

#[tokio::test]
async fn other_tools_are_another_artefact() {
    let store = memory();
    let mut ids = std::collections::BTreeSet::new();
    for count in [3, 4, 3] {
        let session = host(script([say("No.")]), count, &store).open(interactive()).unwrap();
        asked(&session).await;
        ids.extend(store.artefacts(session.id()).unwrap().into_iter().map(|artefact| artefact.id));
    }
    assert_eq!(ids.len(), 2);
}
