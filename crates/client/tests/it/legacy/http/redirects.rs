//! Where a session is redirected to: followed within the origin, with method, body and headers; nowhere else.

use serde_json::json;
use switchboard_client::{Delivery, Era};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use super::{bare, builder, call, check_done, handshake, initialized, response, server, text};

fn moved(status: u16, to: &str) -> Reply {
    Reply::http(status, &format!("location: {to}\r\n"), "")
}

#[tokio::test]
async fn each_request_of_a_session_follows_its_redirect() {
    for status in [307, 308] {
        let (stream, live) = Reply::live("");
        let server = bare([
            ("initialize", moved(status, "/mcp/")),
            ("initialize", handshake(super::NEWEST, Some("s-1"))),
            ("notifications/initialized", moved(status, "/mcp/")),
            ("GET", moved(status, "/mcp/")),
            ("GET", stream),
            ("response", moved(status, "/mcp/")),
        ])
        .await;
        let client = builder().bearer("t").http(server.url()).await.unwrap();
        server.heard("GET", 2).await;
        live.event(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        server.heard("response", 2).await;
        client.close().await;
        for method in ["initialize", "notifications/initialized", "GET", "response"] {
            let [first, second] = &server.asked(method)[..] else { panic!("{method}") };
            assert!(first.line.contains(" /mcp ") && second.line.contains(" /mcp/ "), "{method}");
            assert_eq!(second.body, first.body, "{method}");
            for header in
                ["authorization", "mcp-session-id", "mcp-protocol-version", "accept", "content-type"]
            {
                assert_eq!(second.header(header), first.header(header), "{method} {header}");
            }
        }
        server.finish();
    }
}

#[tokio::test]
async fn a_stream_that_was_redirected_says_where_messages_go_from_there() {
    let (stream, live) = Reply::live("event: endpoint\ndata: message?id=1\n\n");
    let server = ScriptedHttp::play([
        ("initialize", Reply::http(404, "", "")),
        ("GET", moved(307, "/behind/sse")),
        ("GET", stream),
    ])
    .await
    .of_legacy_era();
    server.then("initialize", moved(307, "/elsewhere"));
    server.then("initialize", Reply::elsewhere(&live, &response(&initialized("2024-11-05"))));
    server.then("notifications/initialized", Reply::http(202, "", ""));
    let client = builder().http(server.url()).await.unwrap();
    let lines: Vec<_> = server.asked("initialize").into_iter().map(|request| request.line).collect();
    assert_eq!(lines[1..], ["POST /behind/message?id=1 HTTP/1.1", "POST /elsewhere HTTP/1.1"]);
    client.close().await;
    server.finish();
}

#[tokio::test]
async fn a_redirect_to_a_page_is_not_followed_and_no_evidence() {
    for status in [301, 302, 303] {
        let server = server([("tools/call", moved(status, "/login"))]).await;
        let client = builder().http(server.url()).await.unwrap();
        let error = call(&client).await.unwrap_err();
        let shown = error.to_string();
        assert!(shown.contains("/login") && shown.contains("not followed"), "{shown}");
        assert_eq!(error.delivery(), Delivery::Rejected, "{error}");
        server.finish();

        // Neither the handshake nor the probe before it leads to anything else.
        for era in [Era::Legacy, Era::Auto] {
            let server = ScriptedHttp::play::<String>([])
                .await
                .of_legacy_era()
                .always("initialize", moved(status, "/login"))
                .always("server/discover", moved(status, "/login"));
            let error = builder().era(era).http(server.url()).await.unwrap_err();
            assert_eq!(error.http_status(), Some(status), "{error}");
            assert_eq!(server.received().len(), 1, "{status}");
        }
    }
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let server = server([]).await.always("tools/call", moved(307, "/mcp"));
    let client = builder().http(server.url()).await.unwrap();
    let error = call(&client).await.unwrap_err();
    assert!(error.to_string().contains("redirected more than"), "{error}");
    assert!(server.asked("tools/call").len() < 10);
}

#[tokio::test]
async fn an_address_is_used_as_it_was_given() {
    for path in ["/mcp", "/mcp/", "/a//b/?x=%2F&y", "/"] {
        let server = server([("tools/call", Reply::result(&text("done")))]).await;
        let client = builder().http(server.url_of(path)).await.unwrap();
        check_done(call(&client).await);
        server.heard("GET", 1).await;
        client.close().await;
        for request in server.finish() {
            assert_eq!(request.line.split(' ').nth(1), Some(path), "{}", request.line);
        }
    }
}
