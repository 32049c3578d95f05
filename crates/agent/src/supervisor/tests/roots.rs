//! Which servers can ask for folders.

use serde_json::Value;
use switchboard_client::{Era, Root};

use super::fake::Fake;
use super::*;

/// What a server is told of the client's capabilities when a connection begins.
async fn declared(roots: Vec<Root>, legacy: bool, offers: Offers) -> Value {
    let fake = Fake::new([]);
    *fake.0.legacy.lock().unwrap() = legacy;
    let era = if legacy { Era::Legacy } else { Era::Modern };
    let supervisor = Supervisor::new(SupervisorOptions { offers, ..SupervisorOptions::default() });
    supervisor.start(vec![ServerConfig { era, roots, ..config("s", &fake) }]);
    reach(&supervisor, ServerState::Ready).await;
    if legacy {
        return fake.heard("initialize")[0]["params"]["capabilities"].clone();
    }
    let meta = fake.heard("tools/list")[0]["params"]["_meta"].clone();
    meta["io.modelcontextprotocol/clientCapabilities"].clone()
}

async fn check(legacy: bool) {
    let root = Root { uri: "file:///project/".to_owned(), ..Root::default() };
    for offers in [Offers::default(), Offers::none()] {
        for roots in [Vec::new(), vec![root.clone()]] {
            let is_told = !roots.is_empty();
            let declared = declared(roots, legacy, offers).await;
            assert_eq!(declared.get("roots").is_some(), is_told, "{offers:?}: {declared}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_server_with_folders_of_its_own_can_ask_for_them_whatever_else_is_offered() {
    check(false).await;
}

#[cfg(feature = "legacy")]
#[tokio::test(start_paused = true)]
async fn so_it_is_in_a_session() {
    check(true).await;
}
