//! Structured content: every JSON value is kept apart from its absence, checked and decoded.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_client::{CallError, Client};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use crate::support::{connect, discovered, page, server};

async fn one_call(result: &Value) -> (ScriptedHttp, Client) {
    let server = server([("tools/call", Reply::result(result))]).await;
    let client = connect(&server).await;
    (server, client)
}

#[derive(Debug, Deserialize, Serialize)]
struct Receipt {
    id: String,
}

async fn call_as<O>(result: &Value) -> Result<Value, CallError>
where
    O: for<'de> Deserialize<'de> + Serialize + 'static,
{
    let (_server, client) = one_call(result).await;
    client.call_as::<O>("f", &()).await.map(|value| serde_json::to_value(value).unwrap())
}

#[derive(Deserialize)]
struct File {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    r#as: String,
    result: Value,
    #[serde(default)]
    value: Value,
    error: Option<String>,
}

#[tokio::test]
async fn a_result_becomes_a_value_or_says_why_not() {
    let file: File = serde_json::from_str(include_str!("../data/typed_results.json")).unwrap();
    for Row { name, r#as, result, value, error } in file.rows {
        let found = match &*r#as {
            "text" => call_as::<String>(&result).await,
            "number" => call_as::<i64>(&result).await,
            "nothing" => call_as::<()>(&result).await,
            "perhaps" => call_as::<Option<String>>(&result).await,
            "receipt" => call_as::<Receipt>(&result).await,
            other => panic!("{name}: unknown type {other}"),
        };
        match (found, error) {
            (Ok(found), None) => assert_eq!(found, value, "{name}"),
            (Err(CallError::Failed(found)), Some(error)) => {
                assert!(found.cause().starts_with(&error), "{name}: {found}");
                assert!(found.is_unreadable() && !found.is_server_fault(), "{name}: {found}");
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn a_failed_tool_is_no_value() {
    let failed = json!({"content": [{"type": "text", "text": "no money"}], "isError": true});
    let error = call_as::<String>(&failed).await.unwrap_err();
    assert_eq!(error.to_string(), "the tool failed: no money");
    assert_eq!(format!("{error:?}"), "the tool failed: no money");
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
