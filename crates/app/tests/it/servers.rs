//! Servers, their tools and pins, and what they have beside tools.

use serde_json::{Value, json};

use crate::support::Listening;

#[tokio::test]
async fn a_server_is_shown_tested_and_restarted() {
    let listening = Listening::asking([]).await;
    listening.events("/events").await.until(|event| event.data[0]["state"] == "ready").await;
    let servers = listening.get("/servers").await;
    assert_eq!((&servers[0]["name"], &servers[0]["era"]), (&json!("desk"), &json!("modern")));
    let report = listening.ask("POST", "/servers/desk/test", Value::Null, 200).await;
    assert_eq!(report["ok"], true, "{report}");
    assert!(!listening.get("/servers/desk/wire?n=5").await.as_array().unwrap().is_empty());
    listening.get("/servers/desk/logs").await;
    listening.ask("POST", "/servers/desk/stop", Value::Null, 202).await;
    let mut events = listening.events("/events").await;
    events.until(|event| event.data[0]["state"] == "stopped").await;
    listening.ask("POST", "/servers/desk/restart", Value::Null, 202).await;
    events.until(|event| event.data[0]["state"] == "ready").await;
    for (method, path, status) in [
        ("POST", "/servers/none/restart", 404),
        ("POST", "/servers/none/stop", 404),
        ("POST", "/servers/none/test", 404),
        ("GET", "/servers/none/logs", 404),
        ("GET", "/servers/none/tools", 404),
        ("GET", "/servers/%00/wire", 404),
        ("GET", "/servers/desk/logs?n=-1", 400),
        ("GET", "/servers/desk/tools?model=none", 422),
    ] {
        listening.ask(method, path, Value::Null, status).await;
    }
}

#[tokio::test]
async fn tools_are_shown_as_defined_and_as_compiled() {
    let listening = Listening::asking([]).await;
    let tools = listening.get("/servers/desk/tools").await;
    let greeting = &tools.as_array().unwrap().iter().find(|tool| tool["name"] == "greeting").unwrap();
    assert_eq!(greeting["exposed_name"], "desk__greeting");
    assert_eq!(greeting["pin"], json!({ "state": "pinned" }));
    assert_eq!(greeting["lowered"]["type"], "object");
    assert!(greeting["tokens"].as_u64().unwrap() > 0);
    let accept = |body| listening.ask("POST", "/servers/desk/pins/accept", body, 200);
    assert_eq!(accept(json!({ "tool": "greeting" })).await, json!({ "accepted": [] }));
    assert_eq!(accept(json!({ "all": true })).await, json!({ "accepted": [] }));
    for unclear in
        [Value::Null, json!({}), json!({ "all": false }), json!({ "tool": "greeting", "all": true })]
    {
        listening.ask("POST", "/servers/desk/pins/accept", unclear, 400).await;
    }
    listening.ask("POST", "/servers/desk/pins/accept", json!({ "tool": "none" }), 404).await;
}

#[tokio::test]
async fn prompts_resources_and_completion() {
    let listening = Listening::asking([]).await;
    let prompts = listening.get("/prompts").await;
    assert_eq!((&prompts[0]["server"], &prompts[0]["name"]), (&json!("desk"), &json!("sum_up")));
    let ask = json!({ "server": "desk", "name": "sum_up", "arguments": { "topic": "tea" } });
    let said = listening.ask("POST", "/prompts", ask, 200).await;
    assert_eq!(said["messages"][0]["content"]["text"], "Sum up tea.");
    assert_eq!(listening.get("/resources?query=TEA").await[0]["uri"], "note://tea");
    assert_eq!(listening.get("/resources?query=coffee").await, json!([]));
    let typing = json!({
        "server": "desk", "reference": { "type": "ref/prompt", "name": "sum_up" }, "argument": "topic", "value": "t",
    });
    assert_eq!(listening.ask("POST", "/complete", typing, 200).await["values"], json!(["tea"]));
    for (path, body, status) in [
        ("/prompts", json!({ "server": "none", "name": "sum_up" }), 404),
        ("/prompts", json!({ "server": "desk", "name": "none" }), 502),
        ("/prompts", json!({ "server": "desk" }), 400),
        (
            "/complete",
            json!({ "server": "none", "reference": { "type": "ref/prompt", "name": "x" }, "argument": "y" }),
            404,
        ),
    ] {
        listening.ask("POST", path, body, status).await;
    }
    assert_eq!(listening.get("/models").await[0]["name"], "script");
    assert_eq!(listening.get("/openapi.json").await["openapi"], "3.1.0");
}
