//! The scenarios whose mock servers open with a handshake and have no later form.

use serde_json::json;
use switchboard_client::{Client, Era, Revision};

use super::{Done, call_for, find};

/// The newest revision of each era is what a client finds out by itself, as whoever uses it lets it do; an older one
/// is offered because it was asked for.
pub(super) fn era(revision: Option<Revision>) -> Era {
    match revision {
        Some(older) if older < Revision::NEWEST_LEGACY => Era::Pinned(older),
        _ => Era::Auto,
    }
}

/// Plays a scenario; `None` if it is none of these.
pub(super) async fn run(scenario: &str, client: &Client) -> Option<Done> {
    match scenario {
        "initialize" => Some(initialize(client)),
        "elicitation-sep1034-client-defaults" => Some(defaults(client).await),
        "sse-retry" => Some(retry(client).await),
        _ => None,
    }
}

/// The server says who it is, and that it has nothing, so that there is nothing to ask for.
fn initialize(client: &Client) -> Done {
    let server = client.server_info().ok_or("the server did not say who it is")?;
    let capabilities = client.capabilities().ok_or("the server did not say what it has")?;
    if server.name != "test-server" || capabilities.tools.is_some() {
        return Err(format!("the server is not the one of the scenario: {server:?}, {capabilities:?}").into());
    }
    Ok(())
}

/// The person answers nothing; what the server gets are the defaults.
async fn defaults(client: &Client) -> Done {
    find(&client.tools().await?, "test_client_elicitation_defaults")?;
    call_for(client, "test_client_elicitation_defaults", &json!({}), "Elicitation completed: ").await
}

/// The event stream ends before the answer, which comes on the next one.
async fn retry(client: &Client) -> Done {
    find(&client.tools().await?, "test_reconnection")?;
    call_for(client, "test_reconnection", &json!({}), "Reconnection test completed").await
}
