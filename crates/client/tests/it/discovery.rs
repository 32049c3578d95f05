//! Which era and revision a server speaks, by what it answers to the probe.

use serde_json::{Value, json};
use switchboard_client::{Delivery, Era, EraVerdict, Error};
use switchboard_testkit::canned;
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use crate::support::{builder, connect, discovered, server, text_result};

async fn probe(reply: Reply) -> Error {
    let server = ScriptedHttp::play([("server/discover", reply)]).await;
    let error = builder().era(Era::Modern).server_name("S").http(server.url()).await.unwrap_err();
    server.finish();
    error
}

async fn check(reply: Reply, legacy: bool, shown: &[&str]) {
    let error = probe(reply).await;
    let text = error.to_string();
    assert_eq!(error.is_legacy(), legacy, "{text}");
    for part in shown {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    assert!(text.starts_with("S: "), "{text}");
    assert!(!text.contains('<'), "{text}");
}

fn method_not_found() -> Value {
    json!({"code": -32601, "message": "Method not found"})
}

#[tokio::test]
async fn only_what_a_legacy_server_alone_would_say_is_taken_for_one() {
    let legacy = ["legacy revision", "this client speaks 2026-07-28", "use a newer version of the server"];
    for status in [400, 404, 405] {
        check(Reply::error(status, &method_not_found()), true, &legacy).await;
    }
    check(Reply::error(200, &method_not_found()), true, &["-32601", "Method not found"]).await;
    check(Reply::error(200, &json!({"code": -32602, "message": "no session"})), true, &["no session"]).await;
    let foreign = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Bad Request"}});
    check(Reply::json(400, &foreign), true, &["Bad Request"]).await;
}

#[tokio::test]
async fn refusals_faults_redirects_and_failing_networks_are_reported_as_what_they_are() {
    let html = "content-type: text/html\r\n";
    for (status, shown) in [
        (401, "who is asking (HTTP 401)"),
        (403, "does not allow this (HTTP 403)"),
        (429, "too many requests (HTTP 429)"),
        (500, "the server failed (HTTP 500)"),
        (502, "behind its gateway, or overloaded (HTTP 502)"),
        (503, "behind its gateway, or overloaded (HTTP 503)"),
    ] {
        check(Reply::http(status, html, "<h1>no</h1>"), false, &[shown, "; "]).await;
    }
    let redirect = "location: https://login.example/sign-in?secret=1\r\n";
    for status in [302, 307] {
        check(Reply::http(status, redirect, ""), false, &["redirects to https://login.example/sign-in"])
            .await;
    }
    check(Reply::http(200, html, "<h1>hello</h1>"), false, &["text/html", "MCP endpoint"]).await;
    let unauthorized = probe(Reply::http(401, "www-authenticate: Bearer realm=\"x\"\r\n", "")).await;
    assert!(unauthorized.is_unauthorized());
    assert_eq!(unauthorized.challenge(), Some("Bearer realm=\"x\""));
}

#[tokio::test]
async fn nobody_at_the_address_is_unreachable_and_not_legacy() {
    let error = builder().http(format!("http://{}/mcp", canned::nobody())).await.unwrap_err();
    assert!(error.is_unreachable() && error.is_transient() && !error.is_legacy(), "{error}");
    assert_eq!(error.delivery(), Delivery::NotSent);
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

fn unsupported(supported: &Value) -> Reply {
    Reply::error(
        400,
        &json!({"code": -32022, "message": "Unsupported protocol version",
                "data": {"supported": supported, "requested": "2026-07-28"}}),
    )
}

#[tokio::test]
async fn a_refused_revision_is_replaced_by_one_that_both_sides_speak() {
    let server = server([("server/discover", unsupported(&json!(["2027-01-01", "2026-07-28"])))]).await;
    let client = connect(&server).await;
    assert_eq!(client.revision().date(), "2026-07-28");
    let asked = server.asked("server/discover");
    assert_eq!(asked.len(), 2);
    assert_ne!(asked[0].json()["id"], asked[1].json()["id"]);
    assert_eq!(asked[1].header("mcp-protocol-version"), Some("2026-07-28"));
}

#[tokio::test]
async fn a_later_request_renegotiates_too_and_only_once() {
    let refuse = || unsupported(&json!(["2026-07-28"]));
    let server = server([
        ("tools/call", refuse()),
        ("tools/call", Reply::result(&text_result("done"))),
        ("tools/call", refuse()),
        ("tools/call", refuse()),
    ])
    .await;
    let client = connect(&server).await;
    assert_eq!(client.call("f", &()).await.unwrap().content.len(), 1);
    let error = client.call("f", &()).await.unwrap_err();
    assert_eq!(error.code().map(|code| code.0), Some(-32022));
    server.finish();
}

#[tokio::test]
async fn no_common_revision_names_both_lists() {
    let error = probe(unsupported(&json!(["2027-01-01"]))).await;
    assert!(!error.is_legacy(), "{error}");
    assert!(error.to_string().contains("it offers 2027-01-01, this client speaks 2026-07-28"), "{error}");
    assert_eq!(error.offered_revisions(), ["2027-01-01"]);

    let mut result = discovered();
    result["supportedVersions"] = json!(["2027-01-01"]);
    let error = probe(Reply::result(&result)).await;
    assert!(error.to_string().contains("it offers 2027-01-01"), "{error}");
}

#[tokio::test]
async fn a_stored_verdict_saves_the_probe() {
    let first = server([("tools/call", Reply::result(&text_result("done")))]).await;
    let verdict = connect(&first).await.verdict();
    let stored: EraVerdict = serde_json::from_str(&serde_json::to_string(&verdict).unwrap()).unwrap();
    assert!(stored.is_modern() && stored.holds_at(std::time::SystemTime::now()));

    let client = builder().verdict(stored).http(first.url()).await.unwrap();
    client.call("f", &()).await.unwrap();
    assert_eq!(first.asked("server/discover").len(), 1);
}

#[tokio::test]
async fn the_server_is_known_by_what_it_said() {
    let server = server::<&str>([]).await;
    let client = connect(&server).await;
    assert_eq!(client.server_info().unwrap().name, "scripted");
    assert!(client.capabilities().unwrap().tools.is_some());
    // Fresh for a minute, so nothing is asked.
    assert_eq!(client.discover().await.unwrap().supported_versions, ["2026-07-28"]);
    assert_eq!(server.asked("server/discover").len(), 1);
    client.discover().fresh().await.unwrap();
    assert_eq!(server.asked("server/discover").len(), 2);
}

#[tokio::test]
async fn an_address_that_cannot_be_right_is_refused_before_anything_is_sent() {
    for (url, shown) in [
        ("localhost:8080", "starts with localhost:"),
        ("not a url", "is no URL"),
        ("file:///tmp", "starts with file:"),
        ("https://user:secret@example.com/mcp", "holds credentials"),
    ] {
        let error = builder().http(url).await.unwrap_err();
        assert!(error.to_string().contains(shown), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(error.delivery(), Delivery::NotSent);
    }
}

#[tokio::test]
async fn secrets_are_not_printed() {
    let server = server::<&str>([]).await;
    let connect = builder().bearer("s3cret").header("x-key", "hidden").http(server.url());
    let before = format!("{connect:?}");
    let client = connect.await.unwrap();
    let after = format!("{client:?}");
    for text in [before, after] {
        assert!(!text.contains("s3cret") && !text.contains("hidden"), "{text}");
    }
    let asked = server.asked("server/discover");
    assert_eq!(asked[0].header("authorization"), Some("Bearer s3cret"));
    assert_eq!(asked[0].header("x-key"), Some("hidden"));
}

#[cfg(not(feature = "legacy"))]
#[tokio::test]
async fn a_build_without_sessions_says_so_when_one_is_wanted() {
    let server = ScriptedHttp::play::<String>([]).await;
    let error = builder().era(Era::Legacy).http(server.url()).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::NotSent);
    for shown in ["not supported in this build", "feature legacy"] {
        assert!(error.to_string().contains(shown), "{error}");
    }
    assert!(server.received().is_empty());
}
