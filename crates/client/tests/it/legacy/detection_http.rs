//! How a client finds out that it needs a session over HTTP, and that nobody in between can talk it into one.

use serde_json::json;
use switchboard_client::{EraVerdict, Error};
use switchboard_testkit::scripted_http::{Live, Reply, ScriptedHttp};

use super::detection::unsupported;
use super::http::handshake;
use super::peer::{NEWEST, described};
use crate::support::{builder, discovered, page, text_result, tool};

/// A server that answers the probe like this, and everything after it as a legacy server does.
async fn over_http(probe: Reply) -> ScriptedHttp {
    ScriptedHttp::play([("server/discover", probe)])
        .await
        .of_legacy_era()
        .always("initialize", handshake(NEWEST, None))
        .always("notifications/initialized", Reply::http(202, "", ""))
        .always("GET", Reply::http(405, "", ""))
}

#[tokio::test]
async fn over_http_a_refusal_of_the_message_is_followed_by_the_handshake() {
    let json = "content-type: application/json\r\n";
    let foreign = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Unsupported protocol version: 2026-07-28"}}"#;
    let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Mcp-Session-Id header is required"}}"#;
    let refusals = [
        Reply::http(400, json, foreign),
        Reply::http(400, json, null),
        Reply::http(400, "", ""),
        Reply::http(400, "content-type: text/html\r\n", "<html>"),
        Reply::http(404, "content-type: text/html\r\n", "<html>"),
        Reply::http(405, "", ""),
        Reply::http(406, "", ""),
        Reply::http(415, "", ""),
        Reply::http(422, json, r#"{"detail":"no"}"#),
        Reply::error(200, &json!({"code": -32601, "message": "Method not found"})),
    ];
    for (row, refusal) in refusals.into_iter().enumerate() {
        let server = over_http(refusal).await;
        let client = builder().http(server.url()).await.unwrap_or_else(|error| panic!("{row}: {error}"));
        assert_eq!(client.revision().date(), NEWEST, "{row}");
        assert!(!client.verdict().http_sse, "{row}");
        let asked: Vec<_> = server.received().iter().map(|request| request.method()).take(3).collect();
        assert_eq!(asked, ["server/discover", "initialize", "notifications/initialized"], "{row}");
    }
}

#[tokio::test]
async fn nothing_that_anybody_in_between_can_say_leads_to_a_handshake() {
    for status in [
        301, 302, 307, 401, 402, 403, 407, 408, 413, 421, 423, 425, 426, 429, 431, 451, 500, 501, 502, 503,
        504,
    ] {
        let server = over_http(Reply::http(status, "location: https://elsewhere.example/\r\n", "no")).await;
        let failed = builder().http(server.url()).await.unwrap_err();
        assert_eq!(failed.http_status(), Some(status), "{failed}");
        assert_eq!(server.received().len(), 1, "{status}");
    }
    for reply in [Reply::drop_connection(), Reply::http(200, "content-type: text/html\r\n", "<h1>hi</h1>")] {
        let server = over_http(reply.clone()).await;
        server.then("server/discover", reply);
        builder().http(server.url()).await.unwrap_err();
        let asked: Vec<_> = server.received().iter().map(|request| request.method()).collect();
        assert!(asked.iter().all(|method| method == "server/discover"), "{asked:?}");
    }
    // A modern server that has no revision in common.
    let server = over_http(Reply::error(400, &unsupported(&json!(["2027-03-01"])))).await;
    let failed = builder().http(server.url()).await.unwrap_err();
    assert!(
        failed.to_string().contains("it offers 2027-03-01, this client speaks 2026-07-28, 2025"),
        "{failed}"
    );
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_modern_server_behind_a_refusal_is_modern_the_next_time() {
    let server = ScriptedHttp::play([("server/discover", Reply::http(503, "retry-after: 1\r\n", ""))])
        .await
        .always("server/discover", Reply::result(&discovered()))
        .always("tools/call", Reply::result(&text_result("done")))
        .always("tools/list", Reply::result(&page("tools", json!([tool("f")]), None)));
    builder().http(server.url()).await.unwrap_err();
    let client = builder().http(server.url()).await.unwrap();
    client.call("f", &()).await.unwrap();
    assert!(client.verdict().is_modern() && server.asked("initialize").is_empty());
}

async fn failing(probe: Reply, initialize: Reply, stream: Reply) -> (Error, Vec<String>) {
    let server =
        ScriptedHttp::play([("server/discover", probe), ("initialize", initialize), ("GET", stream)])
            .await
            .of_legacy_era();
    let failed = builder().server_name("S").http(server.url()).await.unwrap_err();
    (failed, server.received().iter().map(|request| request.method()).collect())
}

#[tokio::test]
async fn what_was_tried_over_http_is_named() {
    let nothing = || Reply::http(404, "content-type: text/html\r\n", "<html>");
    let (failed, asked) = failing(nothing(), nothing(), nothing()).await;
    assert_eq!(asked, ["server/discover", "initialize", "GET"]);
    let text = failed.to_string();
    for shown in
        ["HTTP 404 at http://", "tried server/discover, initialize and GET for HTTP+SSE", "initialize: "]
    {
        assert!(text.contains(shown), "{text}");
    }
    // Who asks is asked at the second step: that is what is wrong, and it is no reason to go on.
    let (failed, asked) =
        failing(nothing(), Reply::http(401, "www-authenticate: Bearer\r\n", ""), nothing()).await;
    assert_eq!(asked, ["server/discover", "initialize"]);
    assert!(failed.is_unauthorized() && failed.challenge() == Some("Bearer"), "{failed}");
    assert!(failed.to_string().contains("before that, server/discover:"), "{failed}");
    let (failed, asked) =
        failing(nothing(), Reply::error(400, &unsupported(&json!(["2027-03-01"]))), nothing()).await;
    assert_eq!((asked.len(), failed.code().unwrap().0), (2, -32022), "{failed}");
    let (failed, asked) = failing(nothing(), Reply::http(500, "", ""), nothing()).await;
    assert_eq!((asked.len(), failed.http_status()), (2, Some(500)), "{failed}");
}

/// A server of the oldest transport, for so many sessions.
async fn event_stream(refusals: &[&'static str]) -> (ScriptedHttp, Live) {
    let (stream, live) = Reply::live("event: endpoint\ndata: /message?id=1\n\n");
    let refused = refusals.iter().map(|method| (*method, Reply::http(405, "", "")));
    let server = ScriptedHttp::play(refused)
        .await
        .of_legacy_era()
        .always("notifications/initialized", Reply::http(202, "", ""));
    server.then("GET", stream);
    let described = json!({"jsonrpc": "2.0", "id": "$id", "result": described("2024-11-05")});
    server.then("initialize", Reply::elsewhere(&live, &described));
    (server, live)
}

#[tokio::test]
async fn an_event_stream_is_found_at_last_and_remembered() {
    let methods = |server: &ScriptedHttp| -> Vec<String> {
        server.received().iter().map(|request| request.method()).collect()
    };
    let (server, _live) = event_stream(&["server/discover", "initialize"]).await;
    let client = builder().http(server.url()).await.unwrap();
    assert_eq!(client.revision().date(), "2024-11-05");
    let steps = ["server/discover", "initialize", "GET", "initialize", "notifications/initialized"];
    assert_eq!(methods(&server), steps);
    let known = client.verdict();
    assert!(known.http_sse && !known.is_modern());
    client.close().await;

    let known: EraVerdict = serde_json::from_str(&serde_json::to_string(&known).unwrap()).unwrap();
    let (server, _live) = event_stream(&[]).await;
    let client = builder().verdict(known.clone()).http(server.url()).await.unwrap();
    assert_eq!(methods(&server), ["GET", "initialize", "notifications/initialized"]);
    assert!(client.verdict().http_sse);
    client.close().await;

    // It was upgraded, and has no such stream any more.
    let server = ScriptedHttp::play([("GET", Reply::http(405, "", ""))])
        .await
        .always("server/discover", Reply::result(&discovered()));
    let client = builder().verdict(known).http(server.url()).await.unwrap();
    assert!(client.verdict().is_modern());
}
