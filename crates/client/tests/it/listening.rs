//! Subscriptions: what is heard, what heals, what is forgotten, and where they end.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{Change, Changes, Client, Limits, SubscriptionFilter};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use crate::support::{builder, discovered, page, server, tool};

/// A client that comes back at once.
async fn impatient(server: &ScriptedHttp) -> Client {
    let mut limits = Limits::default();
    limits.reconnect_wait = Duration::from_millis(1);
    builder().limits(limits).http(server.url()).await.unwrap()
}

fn said(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": "$id"});
    json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params})
}

fn acknowledged(granted: &Value) -> Value {
    said("subscriptions/acknowledged", &json!({"notifications": granted}))
}

fn tools_only() -> SubscriptionFilter {
    SubscriptionFilter::new().tools()
}

fn all() -> SubscriptionFilter {
    SubscriptionFilter::new().tools().prompts().resources().resource("x://1")
}

fn granted(filter: &SubscriptionFilter) -> Value {
    acknowledged(&serde_json::to_value(filter).unwrap())
}

fn graceful() -> Value {
    json!({"jsonrpc": "2.0", "id": "$id", "result": {"resultType": "complete",
           "_meta": {"io.modelcontextprotocol/subscriptionId": "$id"}}})
}

fn refused() -> Reply {
    Reply::error(404, &json!({"code": -32601, "message": "Method not found"}))
}

async fn heard(changes: &mut Changes) -> Vec<Change> {
    let mut heard = Vec::new();
    while let Some(change) = changes.next().await {
        heard.push(change);
    }
    heard
}

#[tokio::test]
async fn changes_are_heard_in_order() {
    let foreign = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                         "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": "other"}}});
    let messages = [
        granted(&all()),
        said("tools/list_changed", &json!({})),
        said("prompts/list_changed", &json!({})),
        foreign,
        said("x/unknown", &json!({})),
        said("resources/updated", &json!({"uri": "x://1"})),
        said("resources/list_changed", &json!({})),
    ];
    let server =
        server([("subscriptions/listen", Reply::events(&messages)), ("subscriptions/listen", refused())])
            .await;
    let mut changes = impatient(&server).await.listen(all()).await.unwrap();
    assert_eq!(changes.granted(), all());
    assert_eq!(
        heard(&mut changes).await,
        [Change::Tools, Change::Prompts, Change::Updated("x://1".into()), Change::Resources]
    );
    // The refusal ended it for good, and says so.
    assert!(changes.failure().unwrap().to_string().contains("Method not found"));
    assert_eq!(
        server.asked("subscriptions/listen")[0].params()["notifications"],
        json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["x://1"]})
    );
    server.finish();
}

#[tokio::test]
async fn after_every_gap_comes_a_resync_whichever_way_the_stream_ended() {
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "$id"}});
    let tools = || said("tools/list_changed", &json!({}));
    let server = server([
        ("subscriptions/listen", Reply::events(&[granted(&tools_only()), tools()])),
        ("subscriptions/listen", Reply::events(&[granted(&tools_only()), tools(), graceful()])),
        ("subscriptions/listen", Reply::drop_connection()),
        ("subscriptions/listen", Reply::events(&[granted(&tools_only()), tools(), cancelled])),
        ("subscriptions/listen", Reply::events(&[granted(&tools_only())])),
        ("subscriptions/listen", refused()),
    ])
    .await;
    let mut changes = impatient(&server).await.listen(tools_only()).await.unwrap();
    assert_eq!(
        heard(&mut changes).await,
        [Change::Tools, Change::Resync, Change::Tools, Change::Resync, Change::Tools, Change::Resync]
    );
    server.finish();
}

#[tokio::test]
async fn less_than_was_asked_is_an_event() {
    let server = server([
        ("subscriptions/listen", Reply::events(&[acknowledged(&json!({"toolsListChanged": true}))])),
        ("subscriptions/listen", refused()),
    ])
    .await;
    let mut changes = impatient(&server).await.listen(all()).await.unwrap();
    assert_eq!(heard(&mut changes).await, [Change::Narrowed(tools_only())]);
    assert_eq!(changes.granted(), tools_only());
}

#[tokio::test]
async fn a_server_that_refuses_is_an_error_at_once() {
    let server = server([("subscriptions/listen", refused())]).await;
    let error = impatient(&server).await.listen(all()).await.unwrap_err();
    assert_eq!(error.code().map(|code| code.0), Some(-32601));
}

#[tokio::test]
async fn dropping_the_stream_closes_it() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let ack = granted(&tools_only()).to_string().replace("\"$id\"", "$id");
    let reply = Reply::raw(format!("{head}data: {ack}\n\n: alive\n\n")).then_hold();
    let server = server([("subscriptions/listen", reply)]).await;
    let changes = impatient(&server).await.listen(tools_only()).await.unwrap();
    drop(changes);
    server.left(1).await;
}

#[tokio::test]
async fn a_change_empties_what_was_kept() {
    let kept = |name: &str| {
        let mut list = page("tools", json!([tool(name)]), None);
        list["ttlMs"] = 60_000.into();
        Reply::result(&list)
    };
    let messages = [granted(&tools_only()), said("tools/list_changed", &json!({}))];
    let server = ScriptedHttp::play([
        ("tools/list", kept("before")),
        ("subscriptions/listen", Reply::events(&messages)),
        ("tools/list", kept("after")),
    ])
    .await
    .always("server/discover", Reply::result(&discovered()));
    let client = builder().http(server.url()).await.unwrap();
    let name = async || client.tools().await.unwrap()[0].name.clone();
    assert_eq!(name().await, "before");
    let mut changes = client.listen(tools_only()).await.unwrap();
    assert_eq!(name().await, "before");
    assert_eq!(changes.next().await, Some(Change::Tools));
    assert_eq!(name().await, "after");
    server.finish();
}
