//! The client under test: what is done in each of the suite's client scenarios.
//!
//! Every scenario connects, lists and calls through the public API alone; what the suite checks (headers, metadata,
//! rounds, tools that are left out) is the library's doing.

use std::error::Error;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use switchboard_client::{Client, ClientBuilder, ElicitReply, Refused};
use switchboard_protocol::model::content::Role;
use switchboard_protocol::model::roots::Root;
use switchboard_protocol::model::sampling::{CreateMessage, CreateMessageResult, OneOrMany, SamplingContent};
use switchboard_protocol::model::tool::Tool;

type Done = Result<(), Box<dyn Error>>;

/// Plays one scenario against the mock server at `url`; `context` is the scenario's data, as JSON.
///
/// # Errors
/// When a request fails, or the server is not what the scenario promises.
pub async fn run(scenario: &str, url: &str, context: Option<&str>) -> Done {
    match scenario {
        "tools_call" => tools_call(&connect(url).await?).await,
        "request-metadata" => request_metadata(&connect(url).await?).await,
        "sep-2322-client-request-state" => input_rounds(&connect(url).await?).await,
        "http-standard-headers" => standard_headers(&connect(url).await?).await,
        "http-custom-headers" => custom_headers(&connect(url).await?, context).await,
        "http-invalid-tool-headers" => invalid_tools(&connect(url).await?).await,
        "json-schema-ref-no-deref" => list_tools(&connect(url).await?).await,
        "json-schema-2020-12-preservation" => preserve_schema(&connect(url).await?).await,
        other => Err(format!("the scenario {other} is not played here; see client::run").into()),
    }
}

async fn connect(url: &str) -> Result<Client, switchboard_client::Error> {
    able().http(url).await
}

/// A client that can answer every question, so that every capability is declared.
fn able() -> ClientBuilder {
    Client::builder()
        .info("switchboard-conformance", env!("CARGO_PKG_VERSION"))
        .on_elicit(|_| async { ElicitReply::Accept(json!({"confirmed": true})) })
        .on_sampling(|asked| async move { sampled(&asked) })
        .on_roots(|| async { vec![Root { uri: "file:///workspace".into(), ..Root::default() }] })
}

fn sampled(asked: &CreateMessage) -> Result<CreateMessageResult, Refused> {
    let text = format!("An answer to {} messages", asked.messages.len());
    Ok(CreateMessageResult {
        role: Role::Assistant,
        content: OneOrMany::One(SamplingContent::text(text)),
        model: "none".into(),
        stop_reason: Some("endTurn".into()),
        meta: None,
    })
}

async fn tools_call(client: &Client) -> Done {
    find(&client.tools().await?, "add_numbers")?;
    client.call("add_numbers", &json!({"a": 5, "b": 3})).await?;
    Ok(())
}

async fn request_metadata(client: &Client) -> Done {
    client.tools().await?;
    client.call("any", &json!({})).await?;
    Ok(())
}

/// The unrelated call is made while the others are between their rounds.
async fn input_rounds(client: &Client) -> Done {
    client.tools().await?;
    let call = |tool: &str| client.call(tool, &json!({})).into_future();
    tokio::try_join!(
        call("test_mrtr_echo_state"),
        call("test_mrtr_no_state"),
        call("test_mrtr_unrelated"),
        call("test_mrtr_no_result_type"),
    )?;
    Ok(())
}

async fn standard_headers(client: &Client) -> Done {
    for tool in &*client.tools().await? {
        client.call(tool.name.as_str(), &json!({})).await?;
    }
    for resource in &*client.resources().await? {
        client.read(resource.uri.as_str()).await?;
    }
    for prompt in &*client.prompts().await? {
        client.prompt(prompt.name.as_str(), &json!({})).await?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Calls {
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    arguments: Map<String, Value>,
}

async fn custom_headers(client: &Client, context: Option<&str>) -> Done {
    let calls: Calls = serde_json::from_str(context.ok_or("MCP_CONFORMANCE_CONTEXT is not set")?)?;
    client.tools().await?;
    for ToolCall { name, arguments } in calls.tool_calls {
        client.call(name, &arguments).await?;
    }
    Ok(())
}

/// Calls every tool that the client still shows.
async fn invalid_tools(client: &Client) -> Done {
    for tool in &*client.tools().await? {
        client.call(tool.name.as_str(), &json!({"region": "us-west1"})).await?;
    }
    Ok(())
}

async fn list_tools(client: &Client) -> Done {
    client.tools().await?;
    Ok(())
}

async fn preserve_schema(client: &Client) -> Done {
    let tools = client.tools().await?;
    let schema: &RawValue = &find(&tools, "json_schema_2020_12_tool")?.input_schema;
    client.call("json_schema_echo", &Echo { schema }).await?;
    Ok(())
}

#[derive(serde::Serialize)]
struct Echo<'a> {
    schema: &'a RawValue,
}

fn find<'a>(tools: &'a [Tool], name: &str) -> Result<&'a Tool, String> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| format!("the server has no tool {name}"))
}
