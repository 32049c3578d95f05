//! The client under test: what is done in each of the suite's client scenarios.
//!
//! Every scenario connects, lists and calls through the public API alone; what the suite checks (headers, metadata,
//! rounds, tools that are left out) is the library's doing.

#[cfg(feature = "legacy")]
mod legacy;

use std::error::Error;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use switchboard_client::{
    Client, ClientBuilder, ElicitForm, ElicitReply, PrimitiveSchema, Refused, Revision,
};
use switchboard_protocol::model::content::{ContentBlock, Role};
use switchboard_protocol::model::roots::Root;
use switchboard_protocol::model::sampling::{CreateMessage, CreateMessageResult, OneOrMany, SamplingContent};
use switchboard_protocol::model::tool::Tool;

type Done = Result<(), Box<dyn Error>>;

/// What the suite says when it starts the client.
#[derive(Clone, Copy, Debug)]
pub struct Scenario<'a> {
    /// What is to be done.
    pub name: &'a str,
    /// The mock server.
    pub url: &'a str,
    /// The revision that the scenario is played in.
    pub revision: Option<Revision>,
    /// The scenario's data, as JSON.
    pub context: Option<&'a str>,
}

/// Plays one scenario.
///
/// # Errors
/// When a request fails, or the server is not what the scenario promises.
pub async fn run(scenario: Scenario<'_>) -> Done {
    let client = connect(&scenario).await?;
    let done = match (client.revision(), scenario.revision) {
        (spoken, Some(asked)) if spoken > asked => {
            Err(format!("{spoken} is spoken, in a scenario of {asked}").into())
        }
        _ => play(&client, &scenario).await,
    };
    client.close().await;
    done
}

async fn play(client: &Client, scenario: &Scenario<'_>) -> Done {
    match scenario.name {
        "tools_call" => tools_call(client).await,
        "request-metadata" => request_metadata(client).await,
        "sep-2322-client-request-state" => input_rounds(client).await,
        "http-standard-headers" => standard_headers(client).await,
        "http-custom-headers" => custom_headers(client, scenario.context).await,
        "http-invalid-tool-headers" => invalid_tools(client).await,
        "json-schema-ref-no-deref" => list_tools(client).await,
        "json-schema-2020-12-preservation" => preserve_schema(client).await,
        other => elsewhere(other, client).await,
    }
}

#[cfg(feature = "legacy")]
async fn elsewhere(scenario: &str, client: &Client) -> Done {
    legacy::run(scenario, client).await.unwrap_or_else(|| unknown(scenario))
}

#[cfg(not(feature = "legacy"))]
async fn elsewhere(scenario: &str, _client: &Client) -> Done {
    unknown(scenario)
}

fn unknown(scenario: &str) -> Done {
    Err(format!("the scenario {scenario} is not played here; see client::play").into())
}

async fn connect(scenario: &Scenario<'_>) -> Result<Client, switchboard_client::Error> {
    let client = able();
    #[cfg(feature = "legacy")]
    let client = client.era(legacy::era(scenario.revision));
    client.http(scenario.url).await
}

/// A client that can answer every question, so that every capability is declared.
fn able() -> ClientBuilder {
    Client::builder()
        .info("switchboard-conformance", env!("CARGO_PKG_VERSION"))
        .on_elicit(|form| async move { ElicitReply::Accept(Value::Object(agree(&form))) })
        .on_sampling(|asked| async move { sampled(&asked) })
        .on_roots(|| async { vec![Root { uri: "file:///workspace".into(), ..Root::default() }] })
}

/// Says yes where that is asked, and leaves the rest as it is filled in beforehand.
fn agree(form: &ElicitForm) -> Map<String, Value> {
    let fields = form.requested_schema.properties.0.iter();
    let asked = fields.filter(|(_, field)| matches!(field, PrimitiveSchema::Boolean { default: None, .. }));
    asked.map(|(name, _)| (name.clone(), Value::Bool(true))).collect()
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
    call_for(client, "add_numbers", &json!({"a": 5, "b": 3}), "The sum of 5 and 3 is 8").await
}

/// Calls a tool, whose answer begins like this.
async fn call_for(client: &Client, tool: &str, arguments: &Value, expected: &str) -> Done {
    let result = client.call(tool, arguments).await?;
    let text = result.content.iter().find_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    match text {
        Some(text) if text.starts_with(expected) && !result.is_error() => Ok(()),
        other => Err(format!("{tool} answered {other:?}, not {expected:?}").into()),
    }
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
