//! Subscriptions: acknowledged first, exactly what was asked for, coalesced, ended with a result.

use serde_json::{Value, json};
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_server::{Ctx, Limits, Prompt, Resource, Server, Tool};

use crate::endpoint::{Events, Post, meta};

async fn text() -> &'static str {
    "text"
}

fn server(limits: Limits) -> Server {
    Server::builder("test", "1.0.0")
        .limits(limits)
        .tool(Tool::new("tool", text))
        .prompt(Prompt::new("prompt", text))
        .resource(Resource::new("res://a", text))
        .resource(Resource::new("res://b", text))
        .resource(Resource::template("item://{name}", text).name("item"))
        .build(())
        .unwrap()
}

fn listen(filter: Value, id: &Value) -> Post {
    Post::with_id("subscriptions/listen", json!({"notifications": filter}), id)
}

async fn next(events: &mut Events, id: &Value) -> Value {
    let message = events.next().await.unwrap();
    let about = if message.get("method").is_some() { &message["params"] } else { &message["result"] };
    assert_eq!(&about["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{message}");
    message
}

#[tokio::test]
async fn a_subscription_is_acknowledged_first_and_then_hears_what_it_asked_for() {
    let server = server(Limits::default());
    let service = server.http().into_service();
    let id = json!("sub-1");
    let filter = json!({"promptsListChanged": true, "resourceSubscriptions": ["res://a"]});
    let mut events = listen(filter.clone(), &id).open(&service).await;
    let notifier = server.notifier();
    notifier.tools_changed();
    notifier.resource_updated("res://b");
    notifier.resource_updated("res://a");
    notifier.prompts_changed();
    notifier.prompts_changed();
    let first = next(&mut events, &id).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], filter);
    let heard = [next(&mut events, &id).await, next(&mut events, &id).await];
    assert_eq!(heard[0]["method"], "notifications/prompts/list_changed");
    assert_eq!(heard[1]["method"], "notifications/resources/updated");
    assert_eq!(heard[1]["params"]["uri"], "res://a");
    service.end_subscriptions();
    let last = next(&mut events, &id).await;
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&id, &json!("complete")));
    assert_eq!(events.next().await, None);
}

async fn chatty(ctx: Ctx) -> &'static str {
    ctx.log(LoggingLevel::Alert, "words").await;
    "done"
}

#[tokio::test]
async fn several_subscriptions_hear_changes_of_every_kind_under_their_own_ids_and_nothing_else() {
    let server = server(Limits::default());
    server.catalog().insert(Tool::new("chatty", chatty)).unwrap();
    let service = server.http().into_service();
    let filter = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
                        "resourceSubscriptions": ["res://a", "item://x"]});
    let mut talkative = meta();
    talkative["progressToken"] = json!("t");
    talkative["io.modelcontextprotocol/logLevel"] = json!("debug");
    let mut open = Vec::new();
    for id in [json!(0), json!(""), json!("0"), json!(9_007_199_254_740_993_i64)] {
        let params = json!({"notifications": filter, "_meta": talkative});
        let mut events = Post::with_id("subscriptions/listen", params, &id).open(&service).await;
        let first = next(&mut events, &id).await;
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(first["params"]["notifications"], filter);
        open.push((id, events));
    }
    // What a call says is said on its own stream.
    let params = json!({"name": "chatty", "_meta": talkative});
    assert_eq!(Post::new("tools/call", params).send(&service).await.messages.len(), 2);
    let notifier = server.notifier();
    notifier.tools_changed();
    notifier.prompts_changed();
    notifier.resources_changed();
    for uri in ["res://a", "res://b", "item://x", "item://y"] {
        notifier.resource_updated(uri);
    }
    service.end_subscriptions();
    for (id, mut events) in open {
        let mut heard = Vec::new();
        loop {
            let message = next(&mut events, &id).await;
            let Some(method) = message["method"].as_str() else {
                assert_eq!((&message["id"], &message["result"]["resultType"]), (&id, &json!("complete")));
                break;
            };
            let uri = message["params"]["uri"].as_str().unwrap_or_default();
            heard.push(format!("{} {uri}", method.trim_start_matches("notifications/")));
        }
        heard.sort();
        let changes = [
            "prompts/list_changed ",
            "resources/list_changed ",
            "resources/updated item://x",
            "resources/updated res://a",
            "tools/list_changed ",
        ];
        assert_eq!(heard, changes, "{id}");
        assert_eq!(events.next().await, None);
    }
}

#[tokio::test]
async fn what_is_no_filter_is_refused_and_what_asks_for_nothing_hears_nothing() {
    let server = server(Limits::default());
    let service = server.http().into_service();
    for filter in [
        json!({"toolsListChanged": "yes"}),
        json!({"toolsListChanged": 1}),
        json!({"resourceSubscriptions": "res://a"}),
        json!({"resourceSubscriptions": [7]}),
        json!("all"),
        json!(null),
    ] {
        let got = listen(filter.clone(), &json!(1)).send(&service).await;
        assert_eq!(got.code(), Some(-32602), "{filter}");
    }
    for filter in [
        json!({}),
        json!({"toolsListChanged": false, "resourceSubscriptions": []}),
        json!({"later": true}),
        json!({"resourceSubscriptions": ["nobody://1", "res://", ""]}),
    ] {
        let id = json!(1);
        let mut events = listen(filter.clone(), &id).open(&service).await;
        let first = next(&mut events, &id).await;
        let granted = first["params"]["notifications"].as_object().unwrap();
        assert!(granted.values().all(|value| *value != true), "{filter}: {first}");
        server.notifier().tools_changed();
        server.notifier().resource_updated("res://a");
        service.end_subscriptions();
        assert!(next(&mut events, &id).await.get("result").is_some(), "{filter}");
    }
}

#[tokio::test]
async fn a_reader_that_is_slow_hears_once_of_many_changes() {
    let server = server(Limits::default());
    let service = server.http().into_service();
    let id = json!(1);
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["res://a", "res://b"]});
    let mut events = listen(filter, &id).open(&service).await;
    next(&mut events, &id).await;
    for _ in 0..10_000 {
        server.notifier().tools_changed();
        server.notifier().resource_updated("res://b");
    }
    assert_eq!(next(&mut events, &id).await["method"], "notifications/tools/list_changed");
    assert_eq!(next(&mut events, &id).await["params"]["uri"], "res://b");
    server.notifier().resource_updated("res://a");
    assert_eq!(next(&mut events, &id).await["params"]["uri"], "res://a");
}

#[tokio::test]
async fn what_the_server_does_not_have_is_not_granted() {
    let server = Server::builder("test", "1.0.0").tool(Tool::new("tool", text)).build(()).unwrap();
    let service = server.http().into_service();
    let filter =
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["res://a"]});
    let mut events = listen(filter, &json!(1)).open(&service).await;
    let first = next(&mut events, &json!(1)).await;
    assert_eq!(first["params"]["notifications"], json!({"toolsListChanged": true}));
}

#[tokio::test]
async fn the_number_of_resources_is_bounded() {
    let server = server(Limits { listen_uris: 3, ..Limits::default() });
    let uris: Vec<String> = (0..10).map(|index| format!("item://{index}")).collect();
    let filter = json!({"resourceSubscriptions": uris});
    let mut events = listen(filter, &json!(1)).open(&server.http().into_service()).await;
    let first = next(&mut events, &json!(1)).await;
    let granted = first["params"]["notifications"]["resourceSubscriptions"].as_array().unwrap();
    assert_eq!(granted.len(), 3);
}

#[tokio::test]
async fn the_number_of_subscriptions_is_bounded_and_a_dropped_one_is_free_again() {
    let server = server(Limits { listen_streams: 2, ..Limits::default() });
    let service = server.http().into_service();
    let filter = json!({"toolsListChanged": true});
    let _first = listen(filter.clone(), &json!(1)).open(&service).await;
    let second = listen(filter.clone(), &json!(2)).open(&service).await;
    let got = listen(filter.clone(), &json!(3)).send(&service).await;
    assert_eq!((got.status, got.code()), (503, Some(-32603)));
    drop(second);
    listen(filter, &json!(4)).open(&service).await;
}

#[tokio::test]
async fn open_subscriptions_do_not_use_up_the_places_of_calls() {
    let server = server(Limits { concurrent_exchanges: 1, ..Limits::default() });
    let service = server.http().into_service();
    let _open = listen(json!({"toolsListChanged": true}), &json!(1)).open(&service).await;
    assert_eq!(Post::tool("tool", json!({})).send(&service).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_subscription_is_kept_alive_by_comments() {
    let server = server(Limits::default());
    let service = server.http().into_service();
    let mut events = listen(json!({"toolsListChanged": true}), &json!(1)).open(&service).await;
    next(&mut events, &json!(1)).await;
    for _ in 0..3 {
        assert_eq!(&events.chunk().await.unwrap()[..], b": \n\n");
    }
    server.notifier().tools_changed();
    assert_eq!(next(&mut events, &json!(1)).await["method"], "notifications/tools/list_changed");
}
