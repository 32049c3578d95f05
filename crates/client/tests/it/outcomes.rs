//! How a call can end, and what the error says: its cause, how far the request came, what to do.

use std::time::Duration;

use serde_json::json;
use switchboard_client::{CallError, Delivery, Error};
use switchboard_testkit::scripted_http::Reply;

use crate::support::{builder, connect, pass, server};

async fn fail(reply: Reply) -> Error {
    let server = server([("tools/call", reply)]).await;
    let client = builder().server_name("bank").http(server.url()).await.unwrap();
    let error = client.call("f", &json!({})).await.unwrap_err();
    server.finish();
    error
}

#[tokio::test]
async fn a_failed_tool_is_a_result_and_its_text_is_kept() {
    for (content, shown) in [
        (json!([{"type": "text", "text": "date must be in the future"}]), "date must be in the future"),
        (json!([]), "it gave no reason"),
    ] {
        let result = json!({"resultType": "complete", "content": content, "isError": true});
        let server =
            server([("tools/call", Reply::result(&result)), ("tools/call", Reply::result(&result))]).await;
        let client = connect(&server).await;
        assert!(client.call("f", &()).await.unwrap().is_error());
        let Err(CallError::Tool(failure)) = client.call_as::<u32>("f", &()).await else {
            panic!("no failure")
        };
        assert_eq!(failure.text(), shown);
        server.finish();
    }
}

#[tokio::test]
async fn a_protocol_error_keeps_its_code_and_its_data_and_shows_neither_at_length() {
    let error = fail(Reply::error(200, &json!({"code": -32602, "message": "Unknown tool: f"}))).await;
    assert_eq!(error.to_string(), "bank: the server answered with error -32602: Unknown tool: f");
    assert_eq!(error.delivery(), Delivery::Rejected);
    assert_eq!(error.protocol_message(), Some("Unknown tool: f"));

    let data = "x".repeat(200_000);
    let message = format!("{}\n\u{1b}[31m", "y".repeat(100_000));
    for status in [200, 500] {
        let refusal = json!({"code": -32603, "message": message, "data": {"trace": data}});
        let error = fail(Reply::error(status, &refusal)).await;
        assert_eq!(error.code().map(|code| code.0), Some(-32603));
        assert_eq!(error.delivery(), Delivery::MaybeExecuted);
        assert!(error.data().is_some_and(|data| data.get().len() > 200_000));
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(text.len() < 1500, "{} bytes", text.len());
            assert!(!text.contains(['\n', '\u{1b}']), "{text}");
        }
    }
}

#[tokio::test]
async fn a_status_without_a_protocol_error_is_told_without_its_html() {
    let html = "content-type: text/html\r\n";
    let error = fail(Reply::http(502, html, "<html><h1>Bad gateway</h1></html>")).await;
    assert_eq!(
        error.to_string(),
        "bank: the server is unreachable behind its gateway, or overloaded (HTTP 502); try again later, or look at \
         the server's log"
    );
    assert_eq!((error.http_status(), error.delivery()), (Some(502), Delivery::MaybeExecuted));
    assert!(error.is_transient());

    let error = fail(Reply::http(429, "retry-after: 7\r\n", "")).await;
    assert_eq!((error.retry_after(), error.delivery()), (Some(Duration::from_secs(7)), Delivery::Rejected));
    let error = fail(Reply::http(503, "retry-after: Thu, 01 Jan 2099 00:00:00 GMT\r\n", "")).await;
    assert!(error.retry_after().is_some_and(|wait| wait > Duration::from_secs(1_000_000)));

    let text = "content-type: text/plain\r\n";
    let error = fail(Reply::http(403, text, "the account is locked")).await;
    assert!(error.to_string().contains("(HTTP 403): the account is locked"), "{error}");
    let long = "z".repeat(3_000_000);
    let error = fail(Reply::http(500, text, &long)).await;
    assert!(error.to_string().len() < 1000, "{error}");
}

#[tokio::test]
async fn a_call_that_takes_too_long_says_that_it_may_have_been_executed() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: alive\n\n";
    for reply in [Reply::raw("").then_hold(), Reply::raw(head).then_hold()] {
        let server = server([("tools/call", reply)]).await;
        let client = connect(&server).await;
        let asked = async {
            server.heard("tools/call", 1).await;
            // What the server has said by then has been read, once another answer has come.
            client.tools().fresh().await.unwrap();
            pass(Duration::from_secs(5)).await;
        };
        let call = client.call("f", &()).timeout(Duration::from_secs(5)).into_future();
        let (outcome, ()) = tokio::join!(call, asked);
        let error = outcome.unwrap_err();
        assert!(error.is_timeout() && error.is_transient());
        assert_eq!(error.delivery(), Delivery::MaybeExecuted);
        assert!(error.to_string().contains("timed out after 5 s, and may have been executed"), "{error}");
        // Giving up closes the stream, which tells the server.
        server.left(1).await;
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_not_sent() {
    let server = server::<&str>([]).await;
    let client = connect(&server).await;
    for (error, shown) in [
        (client.call("f", &json!([1])).await.unwrap_err(), "must be a JSON object"),
        (client.call("f", "text").await.unwrap_err(), "must be a JSON object"),
        (client.call("f", &()).meta("no key!", 1).await.unwrap_err(), "no key for _meta"),
    ] {
        assert!(error.to_string().contains(shown), "{error}");
        assert_eq!(error.delivery(), Delivery::NotSent);
    }
    client.close().await;
    let error = client.tools().await.unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    assert!(server.asked("tools/call").is_empty());
}

#[tokio::test]
async fn what_a_server_makes_long_is_shown_short() {
    let long = "x".repeat(100_000);
    for result in [
        json!({"resultType": long}),
        json!({"resultType": "complete", "content": long}),
        json!({"resultType": "input_required", "inputRequests": {"a": {"method": long}}}),
    ] {
        let error = fail(Reply::result(&result)).await;
        assert!(error.is_server_fault() && error.to_string().len() < 2000, "{}", error.to_string().len());
    }
    let mut named = crate::support::discovered();
    named["supportedVersions"] = json!([long]);
    let server =
        switchboard_testkit::scripted_http::ScriptedHttp::play([("server/discover", Reply::result(&named))])
            .await;
    let error = builder().http(server.url()).await.unwrap_err();
    assert!(error.to_string().len() < 2000);
}

#[tokio::test]
async fn a_method_that_no_header_can_carry_is_refused_before_it_is_sent() {
    let server = server(Vec::<(&str, Reply)>::new()).await;
    let client = connect(&server).await;
    for method in ["", "tools/ list", "tools\r\nX: y", "größe", "x\u{7f}"] {
        let error = client.request_raw(method, None).await.unwrap_err();
        assert_eq!(error.delivery(), Delivery::NotSent, "{method:?}: {error}");
        assert!(error.to_string().contains("no header can carry the method"), "{error}");
    }
    server.finish();
}

#[tokio::test]
async fn what_a_server_hides_in_an_error_is_written_out() {
    let message = "\u{9b}31m\u{202e}gpj\u{200b}\u{e0041}";
    let error = fail(Reply::error(200, &json!({"code": -32603, "message": message}))).await;
    let shown = r"\u{9b}31m\u{202e}gpj\u{200b}\u{e0041}";
    assert!(error.to_string().contains(shown), "{error}");
    assert_eq!(error.protocol_message(), Some(message), "the data of the error stays as it came");
}
