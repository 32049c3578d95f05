//! Handshakes over HTTP that go on otherwise than they began, and sessions whose end nobody takes note of.

use std::time::Duration;

use serde_json::json;
use switchboard_client::{Delivery, Era};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};
use tokio::time::timeout;

use super::{NEWEST, bare, builder, call, check_done, connect, handshake, methods, server, text};
use crate::support::pass;

#[tokio::test]
async fn a_server_that_refuses_to_begin_is_told_so_and_asked_nothing_else() {
    let json = "content-type: application/json\r\n";
    let refusal = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}"#;
    for (status, era) in [(400, Era::Legacy), (404, Era::Legacy), (405, Era::Auto), (500, Era::Auto)] {
        let server = ScriptedHttp::play([("notifications/initialized", Reply::http(status, json, refusal))])
            .await
            .of_legacy_era()
            .always("server/discover", Reply::http(404, "", ""))
            .always("initialize", handshake(NEWEST, Some("s-1")));
        let error = builder().era(era).http(server.url()).await.unwrap_err();
        assert!(error.to_string().contains("-32600: no"), "{status}: {error}");
        let received = server.finish();
        let asked = methods(&received);
        assert_eq!(asked[asked.len() - 2..], ["initialize", "notifications/initialized"], "{status}");
        // It is no reason to look for an older transport, and a session that is open is ended.
        let ends = received.iter().filter(|request| request.method() == "DELETE").count();
        assert_eq!(ends, usize::from(status != 404), "{status}");
        assert!(received.iter().all(|request| request.method() != "GET"), "{status}");
    }
}

#[tokio::test]
async fn a_server_that_names_legacy_revisions_is_offered_the_newest_of_them_over_http_too() {
    let refusal = json!({"code": -32022, "message": "Unsupported protocol version",
        "data": {"supported": ["2027-03-01", "2025-06-18", "2024-11-05"], "requested": "2026-07-28"}});
    let server = ScriptedHttp::play([("server/discover", Reply::error(400, &refusal))])
        .await
        .of_legacy_era()
        .always("initialize", handshake("2025-06-18", None))
        .always("notifications/initialized", Reply::http(202, "", ""))
        .always("tools/call", Reply::result(&text("done")));
    let client = builder().era(Era::Auto).http(server.url()).await.unwrap();
    check_done(call(&client).await);
    assert_eq!(client.revision().date(), "2025-06-18");
    assert_eq!(server.asked("initialize")[0].params()["protocolVersion"], "2025-06-18");
    assert_eq!(server.asked("tools/call")[0].header("mcp-protocol-version"), Some("2025-06-18"));
}

#[tokio::test]
async fn a_server_that_agrees_on_another_revision_the_next_time_is_spoken_to_in_that() {
    let server = bare([
        ("initialize", handshake(NEWEST, Some("s-1"))),
        ("initialize", handshake("2025-03-26", Some("s-2"))),
        ("tools/call", Reply::http(404, "", "")),
        ("tools/call", Reply::result(&text("done"))),
        // Inside a session nothing is negotiated any more.
        (
            "tools/call",
            Reply::events(&[json!({"jsonrpc": "2.0", "id": "$id", "result": super::initialized(NEWEST)})]),
        ),
        ("tools/call", Reply::result(&text("done"))),
    ])
    .await;
    let client = connect(&server).await;
    check_done(call(&client).await);
    assert_eq!(client.revision().date(), "2025-03-26");
    assert!(call(&client).await.unwrap_err().is_server_fault());
    check_done(call(&client).await);
    assert_eq!(client.revision().date(), "2025-03-26");
    let versions: Vec<_> = server.asked("tools/call");
    let versions: Vec<_> = versions.iter().map(|call| call.header("mcp-protocol-version")).collect();
    assert_eq!(versions, [Some(NEWEST), None, None, None]);
    // No id is used twice, in whichever session it was.
    let mut ids: Vec<_> = server.received().iter().map(|request| request.json()["id"].clone()).collect();
    ids.retain(|id| !id.is_null());
    let mut seen = std::collections::BTreeSet::new();
    assert!(ids.iter().all(|id| seen.insert(id.to_string())), "{ids:?}");
}

#[tokio::test]
async fn a_server_that_never_takes_note_of_the_end_is_left() {
    let server = server([
        ("DELETE", Reply::raw("").then_hold()),
        ("tools/call", Reply::raw("").then_hold()),
        ("notifications/cancelled", Reply::raw("").then_hold()),
    ])
    .await;
    let client = connect(&server).await;
    let asked = json!({});
    let calling = client.call("f", &asked).timeout(Duration::from_secs(5)).into_future();
    let heard = async {
        server.heard("tools/call", 1).await;
        pass(Duration::from_secs(5)).await;
    };
    let (outcome, ()) = tokio::join!(calling, heard);
    let error = outcome.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    timeout(Duration::from_secs(10), client.close()).await.unwrap();
    let error = call(&client).await.unwrap_err();
    assert!(error.is_cancelled() && error.delivery() == Delivery::NotSent, "{error}");
}
