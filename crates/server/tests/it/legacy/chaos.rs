//! Whatever a client says, in whatever order: the server answers each request at most once, and the next one
//! is served.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::{ProptestConfig, any, prop, prop_assert, proptest};
use proptest::sample::Index;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_server::{Eras, Limits};
use switchboard_transport::{InProcess, Lines};
use tokio::io::AsyncWriteExt;

use super::house::{Desk, house, usual_capabilities};
use crate::endpoint::meta;

/// What may be said; `ID` is an id that is said for the first time.
fn lines(revision: Revision) -> Vec<String> {
    let hello = json!({
        "protocolVersion": revision.date(),
        "capabilities": usual_capabilities(),
        "clientInfo": {"name": "client", "version": "7"},
    });
    let ask = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": "ID", "method": method, "params": params}).to_string()
    };
    let tell = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
    };
    let call = |tool: &str| ask("tools/call", json!({"name": tool, "_meta": {"progressToken": "t"}}));
    let mut lines = vec![
        ask("initialize", hello),
        ask("initialize", json!({})),
        tell("notifications/initialized", json!({})),
        tell("notifications/cancelled", json!({"requestId": "LAST"})),
        tell("notifications/cancelled", json!({"requestId": []})),
        ask("ping", json!({})),
        ask("tools/list", json!({})),
        ask("logging/setLevel", json!({"level": "debug"})),
        ask("resources/subscribe", json!({"uri": "note://1"})),
        ask("resources/unsubscribe", json!({"uri": "note://1"})),
        ask("resources/read", json!({"uri": "note://ask"})),
        ask("tools/call", json!({"name": "client", "_meta": meta()})),
        ask("server/discover", json!({"_meta": meta()})),
        json!({"jsonrpc": "2.0", "id": "ASKED", "result": {"action": "accept", "content": {"ok": true}}})
            .to_string(),
        json!({"jsonrpc": "2.0", "id": "ASKED", "result": {"roots": []}}).to_string(),
        json!({"jsonrpc": "2.0", "id": "ASKED", "error": {"code": -1, "message": "no"}}).to_string(),
        "[]".into(),
        "[{}, 1, [[]]]".into(),
        "{".into(),
        "\u{feff}".into(),
        String::new(),
    ];
    lines.extend(["steps", "confirm", "trip", "both", "turns", "endless", "wait", "panics"].map(call));
    let batch = format!("[{},{}]", ask("ping", json!({})), tell("notifications/initialized", json!({})));
    lines.extend([batch.clone(), batch]);
    lines
}

async fn play(revision: Revision, chosen: &[Index]) -> Result<(), TestCaseError> {
    let server = house(Desk::new().0, (Eras::ALL, Limits::default()));
    let mut pipe = server.connect();
    let mut heard = Lines::new(1 << 20);
    let lines = lines(revision);
    let mut answers: HashMap<String, u32> = HashMap::new();
    let mut asked = "nobody".to_owned();
    for (number, index) in chosen.iter().enumerate() {
        let line = index.get(&lines).replace("ID", &format!("{number}"));
        let line = line.replace("LAST", &format!("{}", number.saturating_sub(1))).replace("ASKED", &asked);
        let end = json!({"jsonrpc": "2.0", "id": format!("end {number}"), "method": "ping"});
        pipe.writer.write_all(format!("{line}\n{end}\n").as_bytes()).await.unwrap();
        loop {
            let Some(line) = heard.next_line().unwrap() else {
                prop_assert!(heard.fill(&mut pipe.reader).await.unwrap() > 0, "the server is gone");
                continue;
            };
            let message: Value = serde_json::from_slice(&line).unwrap();
            let Some(id) = message["id"].as_str() else { continue };
            if message.get("method").is_some() {
                id.clone_into(&mut asked);
                continue;
            }
            *answers.entry(id.to_owned()).or_default() += 1;
            if id == format!("end {number}") {
                break;
            }
        }
    }
    prop_assert!(answers.values().all(|count| *count == 1), "{:?}", answers);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered_at_most_once_and_the_next_one_is_served(
        revision in prop::sample::select(Revision::LEGACY),
        chosen in prop::collection::vec(any::<Index>(), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let played = tokio::time::timeout(Duration::from_secs(20), play(revision, &chosen)).await;
            played.unwrap_or_else(|_| Err(TestCaseError::fail("nothing happens any more")))
        })?;
    }
}
