//! Parameters that headers mirror: which, how they are written, on a cold client, and after the
//! schema has changed.

use serde_json::{Value, json};
use switchboard_client::Delivery;
use switchboard_testkit::scripted_http::{Received, Reply, ScriptedHttp};

use crate::support::{builder, connect, discovered, page, text_result, tool};

fn done() -> Reply {
    Reply::result(&text_result("done"))
}

fn annotated(name: &str, properties: Value) -> Reply {
    let tool = json!({"name": name, "inputSchema": {"type": "object", "properties": properties}});
    Reply::result(&page("tools", json!([tool]), None))
}

fn mismatch() -> Reply {
    Reply::error(400, &json!({"code": -32020, "message": "Header mismatch: Mcp-Param-Region is missing"}))
}

async fn plain_server<M: Into<String>>(steps: impl IntoIterator<Item = (M, Reply)>) -> ScriptedHttp {
    ScriptedHttp::play(steps).await.always("server/discover", Reply::result(&discovered()))
}

fn methods(received: &[Received]) -> Vec<String> {
    received.iter().map(Received::method).filter(|method| method != "server/discover").collect()
}

#[tokio::test]
async fn a_cold_client_lists_before_its_first_call_and_not_before_the_next() {
    let properties = json!({"region": {"type": "string", "x-mcp-header": "Region"}});
    let server = plain_server([
        ("tools/list", annotated("f", properties)),
        ("tools/call", done()),
        ("tools/call", done()),
    ])
    .await;
    let client = connect(&server).await;
    for _ in 0..2 {
        client.call("f", &json!({"region": "eu"})).await.unwrap();
    }
    let received = server.finish();
    assert_eq!(methods(&received), ["tools/list", "tools/call", "tools/call"]);
    assert!(received[2..].iter().all(|call| call.header("mcp-param-region") == Some("eu")));
}

#[tokio::test]
async fn a_tool_that_is_not_listed_is_called_without() {
    let server = plain_server([
        ("tools/list", Reply::result(&page("tools", json!([tool("other")]), None))),
        ("tools/call", done()),
    ])
    .await;
    connect(&server).await.call("f", &json!({"region": "eu"})).await.unwrap();
    assert_eq!(methods(&server.finish()), ["tools/list", "tools/call"]);

    let refused = Reply::error(404, &json!({"code": -32601, "message": "Method not found"}));
    let server = plain_server([("tools/list", refused), ("tools/call", done())]).await;
    connect(&server).await.call("f", &()).await.unwrap();
    server.finish();
}

#[tokio::test]
async fn calls_that_meet_a_mismatch_together_share_the_listing() {
    let region = json!({"region": {"type": "string", "x-mcp-header": "Region"}});
    let server = plain_server([
        ("tools/list", annotated("f", json!({}))),
        ("tools/call", mismatch()),
        ("tools/call", mismatch()),
        ("tools/list", annotated("f", region)),
        ("tools/call", done()),
        ("tools/call", done()),
    ])
    .await;
    let client = builder().http(server.url()).await.unwrap();
    client.tools().await.unwrap();
    let arguments = json!({"region": "eu"});
    let (one, two) = tokio::join!(client.call("f", &arguments), client.call("f", &arguments));
    one.unwrap();
    two.unwrap();
    // Whether they meet depends on the network; never more than one listing each.
    assert!(server.asked("tools/list").len() <= 3);
}

#[tokio::test]
async fn calls_that_wait_for_one_listing_were_not_sent_if_it_fails() {
    let server = plain_server([
        ("tools/list", Reply::drop_connection()),
        // A read is sent once more.
        ("tools/list", Reply::drop_connection()),
    ])
    .await;
    let client = connect(&server).await;
    let (one, two) = tokio::join!(client.call("f", &()), client.call("f", &()));
    for error in [one.unwrap_err(), two.unwrap_err()] {
        assert_eq!(error.delivery(), Delivery::NotSent, "{error}");
    }
    assert_eq!(methods(&server.finish()), ["tools/list", "tools/list"]);
}
