//! The story's client on the official Rust SDK.
//!
//! `client ERA stdio COMMAND ARG…` or `client ERA http URL`; ERA is `modern`, `legacy` or `auto`. Prints one JSON
//! object for each step, and ends with 1 at the first that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
    ElicitRequestParams, ElicitResult, ElicitationAction, GetPromptRequestParams, Implementation,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData};
use serde_json::json;
use tokio::process::Command;

#[derive(Clone, Default)]
struct Story {
    progress: Arc<AtomicUsize>,
}

impl ClientHandler for Story {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("interop-rmcp", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"})))
    }

    async fn on_progress(
        &self,
        _params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.fetch_add(1, Ordering::SeqCst);
    }
}

type Client = RunningService<RoleClient, Story>;

async fn connect(era: &str, transport: &str, target: &[String]) -> Result<Client> {
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match era {
        "modern" => ClientLifecycleMode::Discover { preferred_versions: modern },
        "auto" => ClientLifecycleMode::Auto { preferred_versions: modern, legacy_version: None },
        _ => ClientLifecycleMode::Initialize,
    };
    let (first, rest) = target.split_first().context("no target")?;
    Ok(match transport {
        "http" => {
            let wire = StreamableHttpClientTransport::from_uri(first.as_str());
            Story::default().serve_with_lifecycle(wire, lifecycle).await?
        }
        _ => {
            let mut command = Command::new(first);
            command.args(rest);
            Story::default().serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
        }
    })
}

async fn call(client: &Client, name: &'static str, arguments: serde_json::Value) -> Result<CallToolResult> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    Ok(client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await?)
}

fn words(content: &[ContentBlock]) -> String {
    content.iter().filter_map(|block| block.as_text()).map(|text| text.text.as_str()).collect()
}

async fn play(client: &Client, step: &str) -> Result<String> {
    match step {
        "connect" => {
            let revision = client.peer().peer_info().map(|info| info.protocol_version.clone());
            Ok(revision.context("no revision")?.to_string())
        }
        "list" => {
            let tools = client.list_all_tools().await?;
            for name in ["echo", "count", "fail"] {
                ensure!(tools.iter().any(|tool| tool.name == name), "no {name} in {tools:?}");
            }
            Ok(format!("{} tools", tools.len()))
        }
        "call" => said(&call(client, "echo", json!({"text": "hello"})).await?, "hello"),
        "progress" => {
            said(&call(client, "count", json!({"to": 3})).await?, "counted to 3")?;
            let seen = client.service().progress.load(Ordering::SeqCst);
            ensure!(seen >= 2, "{seen} times progress");
            Ok(format!("{seen} times"))
        }
        "elicit" => said(&call(client, "greet", json!({})).await?, "Hello, Ada!"),
        "fail" => {
            let result = call(client, "fail", json!({})).await?;
            ensure!(result.is_error == Some(true), "fail is no error: {result:?}");
            Ok(words(&result.content))
        }
        "read" => {
            let result = client.read_resource(ReadResourceRequestParams::new("story://greeting")).await?;
            let text = serde_json::to_value(&result.contents)?;
            ensure!(text[0]["text"] == "Hello from the story", "{text}");
            Ok("Hello from the story".into())
        }
        "prompt" => {
            let arguments = json!({"topic": "tea"}).as_object().cloned().unwrap_or_default();
            let asked = GetPromptRequestParams::new("summarise").with_arguments(arguments);
            let messages = serde_json::to_value(client.get_prompt(asked).await?.messages)?;
            ensure!(messages[0]["content"]["text"] == "Summarise tea", "{messages}");
            Ok("Summarise tea".into())
        }
        other => bail!("no step {other}"),
    }
}

fn said(result: &CallToolResult, expected: &str) -> Result<String> {
    let said = words(&result.content);
    ensure!(said == expected, "it said {result:?}");
    Ok(said)
}

/// Prints the outcome; `None` ends the story.
fn tell<T>(step: &str, outcome: Result<T>, detail: impl Fn(&T) -> String) -> Option<T> {
    let told = match &outcome {
        Ok(done) => json!({"step": step, "ok": true, "detail": detail(done)}),
        Err(error) => json!({"step": step, "ok": false, "detail": format!("{error:#}")}),
    };
    println!("{told}");
    outcome.ok()
}

async fn story() -> Option<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let without = std::env::var("INTEROP_WITHOUT").unwrap_or_default();
    let [era, transport, target @ ..] = arguments.as_slice() else {
        eprintln!("usage: client ERA stdio COMMAND ARG… | client ERA http URL");
        return None;
    };
    let client = match connect(era, transport, target).await {
        Ok(client) => client,
        Err(error) => return tell("connect", Err(error), |()| String::new()),
    };
    for step in ["connect", "list", "call", "progress", "elicit", "fail", "read", "prompt"] {
        if !without.split(',').any(|absent| absent == step) {
            tell(step, play(&client, step).await, String::clone)?;
        }
    }
    let closed = client.cancel().await.map_err(anyhow::Error::from);
    tell("close", closed, |reason| format!("{reason:?}")).map(drop)
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    rustls::crypto::ring::default_provider().install_default().ok();
    match story().await {
        Some(()) => std::process::ExitCode::SUCCESS,
        None => std::process::ExitCode::FAILURE,
    }
}
