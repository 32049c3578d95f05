//! The stream that belongs to no request.

use std::time::Duration;

use serde_json::json;
use switchboard_client::{Change, Changes, Client, ElicitReply, Limits, SubscriptionFilter};
use switchboard_testkit::scripted_http::{Live, Reply, ScriptedHttp};

use super::{NEWEST, bare, builder, call, check_done, handshake, server, text};

async fn connect(server: &ScriptedHttp) -> Client {
    let mut limits = Limits::default();
    limits.stream_time = Duration::from_secs(600);
    limits.reconnect_wait = Duration::from_millis(1);
    builder().limits(limits).http(server.url()).await.unwrap()
}

async fn listen(client: &Client) -> Changes {
    let filter = SubscriptionFilter { tools_list_changed: Some(true), ..SubscriptionFilter::default() };
    client.listen(filter).await.unwrap()
}

fn tools_changed(live: &Live) {
    live.event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
}

#[tokio::test]
async fn what_the_server_says_of_its_own_accord_is_heard_and_answered() {
    let (stream, live) = Reply::live("id: g-1\ndata:\n\n");
    let server = server([("GET", stream)]).await;
    let client = connect(&server).await;
    let mut changes = listen(&client).await;
    server.heard("GET", 1).await;
    let get = server.asked("GET").remove(0);
    assert_eq!(get.header("last-event-id"), None);
    assert_eq!(get.header("mcp-session-id"), Some("s-1"));
    tools_changed(&live);
    assert_eq!(changes.next().await.unwrap(), Change::Tools);
    live.event(&json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}));
    server.heard("response", 1).await;
    assert_eq!(server.asked("response")[0].json(), json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    // It is kept as long as the session, and no longer.
    client.close().await;
    server.left(1).await;
    assert_eq!(server.asked("GET").len(), 1);
}

#[tokio::test]
async fn nothing_that_the_server_may_ask_about_is_sent_before_it_can_ask() {
    for get in [Reply::live(": hello\n\n").0, Reply::http(405, "", "")] {
        let server = server([("GET", get), ("tools/call", Reply::result(&text("done")))]).await;
        let client = connect(&server).await;
        check_done(call(&client).await);
        let order: Vec<_> = server.received().iter().map(|request| request.method()).collect();
        let at = |method: &str| order.iter().position(|known| known == method);
        assert!(at("GET") < at("tools/call"), "{order:?}");
    }
}

#[tokio::test]
async fn no_clock_runs_while_a_person_is_asked_before_the_answer_has_begun() {
    let (stream, live) = Reply::live(": hello\n\n");
    let asked = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {
        "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}
    }});
    let silent = Reply::raw("").then_hold().and_on(&live, format!("data: {asked}\n\n"));
    let server = server([("GET", stream), ("tools/call", silent)]).await;
    // A person who takes an hour.
    let builder = builder().on_elicit(|_| async {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(3600)).await;
        tokio::time::resume();
        ElicitReply::Decline
    });
    let client = builder.http(server.url()).await.unwrap();
    let calling = tokio::spawn({
        let client = client.clone();
        async move { call(&client).await }
    });
    server.heard("response", 1).await;
    assert!(!calling.is_finished(), "{:?}", calling.await);
}

#[tokio::test]
async fn a_client_that_is_dropped_leaves_the_stream_and_the_session() {
    let (stream, _live) = Reply::live(": hello\n\n");
    let server = server([("GET", stream)]).await;
    let client = connect(&server).await;
    server.heard("GET", 1).await;
    drop(client);
    server.left(1).await;
    // The session is no longer needed either.
    server.heard("DELETE", 1).await;
}

#[tokio::test]
async fn an_answer_that_is_not_taken_keeps_no_session_that_nobody_uses() {
    let (stream, live) = Reply::live(": hello\n\n");
    let server = server([("GET", stream), ("response", Reply::raw("").then_hold())]).await;
    let client = connect(&server).await;
    server.heard("GET", 1).await;
    live.event(&json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}));
    server.heard("response", 1).await;
    drop(client);
    let goodbye = server.heard("DELETE", 1);
    tokio::time::timeout(Duration::from_secs(30), goodbye).await.expect("the session is still kept");
}

#[tokio::test]
async fn a_server_without_such_a_stream_is_asked_once() {
    for reply in [
        Reply::http(405, "", ""),
        Reply::http(404, "", ""),
        Reply::http(400, "", ""),
        Reply::http(401, "", ""),
        Reply::json(200, &json!({})),
    ] {
        let server = server([
            ("GET", reply),
            ("tools/call", Reply::result(&text("done"))),
            ("tools/call", Reply::result(&text("done"))),
        ])
        .await;
        let client = connect(&server).await;
        server.heard("GET", 1).await;
        for _ in 0..2 {
            check_done(call(&client).await);
        }
        assert_eq!(server.asked("GET").len(), 1);
        assert_eq!(server.asked("initialize").len(), 1);
        server.finish();
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_opened_again_where_it_was_and_not_before_it_asks_to() {
    let (last, live) = Reply::live("");
    let server = server([
        ("GET", Reply::http(503, "", "")),
        ("GET", Reply::stream("id: g-1\nretry: 100\ndata:\n\n")),
        ("GET", Reply::drop_connection()),
        ("GET", Reply::stream("id: g-2\ndata:\n\n")),
        ("GET", last),
    ])
    .await;
    let client = connect(&server).await;
    let mut changes = listen(&client).await;
    server.heard("GET", 5).await;
    tools_changed(&live);
    // The server went on where it was each time: nothing was missed.
    assert_eq!(changes.next().await.unwrap(), Change::Tools);
    let gets = server.asked("GET");
    let after: Vec<_> = gets.iter().map(|get| get.header("last-event-id")).collect();
    assert_eq!(after, [None, None, Some("g-1"), Some("g-1"), Some("g-2")]);
    for (earlier, later) in [(1, 2), (2, 3), (3, 4)] {
        let waited = gets[later].at - gets[earlier].at;
        assert!(waited >= Duration::from_millis(100), "{waited:?}");
    }
}

#[tokio::test]
async fn a_stream_without_event_ids_leaves_a_gap_when_it_breaks_off() {
    let (first, live) = Reply::live("");
    let (second, _second_live) = Reply::live(": hello\n\n");
    let server = server([("GET", first), ("GET", second)]).await;
    let client = connect(&server).await;
    let mut changes = listen(&client).await;
    live.end();
    assert_eq!(changes.next().await.unwrap(), Change::Resync);
    assert_eq!(server.asked("GET")[1].header("last-event-id"), None);
}

#[tokio::test]
async fn a_stream_that_was_open_and_is_refused_for_good_leaves_one_gap() {
    for (session, refusal) in [
        (Some("s-1"), Reply::http(405, "", "")),
        (Some("s-1"), Reply::http(403, "", "")),
        (Some("s-1"), Reply::json(200, &json!({}))),
        // Without a session there is none that could have been forgotten.
        (None, Reply::http(404, "", "")),
    ] {
        let (first, live) = Reply::live("id: g-1\ndata:\n\n");
        let server = bare([("GET", first), ("GET", refusal)]).await;
        let server = server.always("initialize", handshake(NEWEST, session));
        let client = connect(&server).await;
        let mut changes = listen(&client).await;
        live.end();
        assert_eq!(changes.next().await.unwrap(), Change::Resync);
        assert_eq!(server.asked("GET").len(), 2);
        // Nothing more is said of it, and the session goes on.
        assert!(futures_util::FutureExt::now_or_never(changes.next()).is_none());
        server.then("tools/call", Reply::result(&text("done")));
        check_done(call(&client).await);
        assert_eq!(server.asked("initialize").len(), 1);
    }
}

#[tokio::test]
async fn a_flood_is_read_and_costs_a_bounded_amount() {
    let (stream, live) = Reply::live("");
    let server = server([("GET", stream), ("tools/call", Reply::result(&text("done")))]).await;
    let client = connect(&server).await;
    let mut changes = listen(&client).await;
    for id in 0..20_000 {
        tools_changed(&live);
        live.event(&json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"}));
        live.event(
            &json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"text": "x".repeat(100)}}),
        );
    }
    live.event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    assert_eq!(changes.next().await.unwrap(), Change::Tools);
    check_done(call(&client).await);
}

#[tokio::test]
async fn a_stream_that_was_open_and_is_unknown_is_the_end_of_the_session() {
    let server = server([
        ("GET", Reply::stream("id: g-1\ndata:\n\n")),
        ("GET", Reply::http(404, "", "")),
        ("tools/call", Reply::result(&text("done"))),
    ])
    .await;
    let client = connect(&server).await;
    server.heard("GET", 2).await;
    // A new session is opened for whoever needs one, without a request that fails before.
    loop {
        tokio::task::yield_now().await;
        if call(&client).await.is_ok() {
            break;
        }
        server.then("tools/call", Reply::result(&text("done")));
    }
    assert!(server.asked("initialize").len() <= 2);
}
