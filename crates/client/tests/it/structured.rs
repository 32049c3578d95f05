//! Structured content: every JSON value is kept apart from its absence, checked and decoded.

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_client::{CallError, Client};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use crate::support::{connect, discovered, page, server};

async fn one_call(result: &Value) -> (ScriptedHttp, Client) {
    let server = server([("tools/call", Reply::result(result))]).await;
    let client = connect(&server).await;
    (server, client)
}

#[derive(Debug, Deserialize, PartialEq)]
struct Receipt {
    id: String,
}

async fn receipt(result: Value) -> Result<Receipt, CallError> {
    let (_server, client) = one_call(&result).await;
    client.call_as("f", &()).await
}

#[tokio::test]
async fn a_result_becomes_a_value_or_says_why_not() {
    let expected = Receipt { id: "r1".into() };
    let structured =
        json!({"resultType": "complete", "content": [], "structuredContent": {"id": "r1", "more": 1}});
    assert_eq!(receipt(structured).await.unwrap(), expected);
    let text = json!({"resultType": "complete", "content": [{"type": "text", "text": "{\"id\":\"r1\"}"}]});
    assert_eq!(receipt(text).await.unwrap(), expected);

    for (result, shown) in [
        (json!({"content": [], "structuredContent": {"id": 7}}), "at id: invalid type"),
        (json!({"content": []}), "neither structuredContent nor one text block"),
        (json!({"content": [{"type": "text", "text": "all good"}]}), "not what was expected"),
    ] {
        let Err(CallError::Failed(error)) = receipt(result).await else { panic!("{shown}") };
        assert!(error.is_server_fault() && error.to_string().contains(shown), "{error}");
    }
    let failed = json!({"content": [{"type": "text", "text": "no money"}], "isError": true});
    let error = receipt(failed).await.unwrap_err();
    assert_eq!(error.to_string(), "the tool failed: no money");
}

#[tokio::test]
async fn a_mismatch_with_the_output_schema_fails_the_typed_call_only() {
    let tool = json!({"name": "f", "inputSchema": {"type": "object"}, "outputSchema": {
        "type": "object", "properties": {"id": {"type": "string", "minLength": 5}}, "required": ["id"]}});
    let server = ScriptedHttp::play::<String>([])
        .await
        .always("server/discover", Reply::result(&discovered()))
        .always("tools/list", Reply::result(&page("tools", json!([tool]), None)));
    let client = connect(&server).await;
    for (result, fits) in [
        (json!({"content": [], "structuredContent": {"id": "r1234"}}), true),
        (json!({"content": [], "structuredContent": {"id": "r1"}}), false),
        (json!({"content": [{"type": "text", "text": "{\"id\":\"r1234\"}"}]}), false),
    ] {
        server.then("tools/call", Reply::result(&result));
        server.then("tools/call", Reply::result(&result));
        client.call("f", &()).await.unwrap();
        match client.call_as::<Receipt>("f", &()).await {
            Ok(_) => assert!(fits, "{result}"),
            Err(error) => {
                assert!(!fits && error.to_string().contains("output schema"), "{error}");
            }
        }
    }
    server.finish();
}
