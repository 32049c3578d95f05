//! What our client does with one server of the corpus: connect, list everything, call one harmless tool, shut down,
//! and look whether anything of it is left.

mod ears;
mod remains;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_client::{CallToolResult, ChildCommand, Client, ElicitReply, Root, ServerCapabilities};

use ears::Ears;

/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(60);

/// Characters of an answer that are kept.
const EXCERPT: usize = 200;

/// The variable by which a server's processes are known again.
const MARK: &str = "INTEROP_SUBJECT";

/// One server: how to start it, and which tool to call.
#[derive(Debug, Deserialize)]
pub struct Subject {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: PathBuf,
    tool: String,
    #[serde(default)]
    arguments: Value,
}

/// How far it came, and what was seen.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    ok: bool,
    /// The step that was done last, or that failed.
    step: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    /// From the start of the process to the list of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    templates: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<usize>,
    /// Whether the tool said that it failed, which is an answer, too.
    failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    /// What a person would want to know of this server.
    oddities: Vec<String>,
    /// The process group that was started.
    #[serde(skip)]
    group: Option<u32>,
}

impl Report {
    /// Whether every step was done.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.ok
    }
}

/// Plays everything; every message goes to `log`, too.
pub async fn examine(subject: &Subject, log: impl std::io::Write + Send + 'static) -> Report {
    let mark = format!("{}-{}", std::process::id(), subject.tool);
    let ears = Arc::new(Ears::new(log));
    let mut report = Report { step: "connect".to_owned(), ..Report::default() };
    if let Err(error) = steps(subject, &mark, &ears, &mut report).await {
        report.error = Some(error.to_string());
    }
    report.oddities.extend(ears.oddities());
    look_around(&mark, &mut report);
    report.ok = report.error.is_none();
    report
}

/// Looks for what is left. Our client ends the group that it started; what left the group by itself is the server's.
fn look_around(mark: &str, report: &mut Report) {
    let left = remains::running(MARK, mark);
    let names = |ours: bool| {
        let of = left.iter().filter(|process| (Some(process.group) == report.group) == ours);
        of.map(|process| format!("{} {}", process.id, process.name)).collect::<Vec<_>>()
    };
    let (ours, theirs) = (names(true), names(false));
    if !ours.is_empty() && report.error.is_none() {
        report.error = Some(format!("processes are left: {}", ours.join(", ")));
    }
    if !theirs.is_empty() {
        report
            .oddities
            .push(format!("starts {} processes that outlive it in groups of their own", theirs.len()));
    }
}

async fn steps(
    subject: &Subject,
    mark: &str,
    ears: &Arc<Ears>,
    report: &mut Report,
) -> Result<(), switchboard_client::Error> {
    let began = Instant::now();
    let client = connect(subject, mark, ears).await?;
    report.revision = Some(client.revision().to_string());
    let started = remains::running(MARK, mark);
    let ours = started.iter().find(|process| process.parent == std::process::id());
    report.group = ours.map(|process| process.group);
    let outcome = listed_and_called(&client, subject, began, report).await;
    client.close().await;
    outcome?;
    report.step = "close".to_owned();
    Ok(())
}

async fn connect(
    subject: &Subject,
    mark: &str,
    ears: &Arc<Ears>,
) -> Result<Client, switchboard_client::Error> {
    let mut child =
        ChildCommand::new(&subject.command).args(&subject.args).directory(&subject.cwd).env(MARK, mark);
    for (name, value) in &subject.env {
        child = child.env(name, value);
    }
    let root = Root { uri: format!("file://{}", subject.cwd.display()), ..Root::default() };
    let ears = Arc::clone(ears);
    Client::builder()
        .info("interop", env!("CARGO_PKG_VERSION"))
        .timeout(SILENCE)
        .on_roots(move || {
            let root = root.clone();
            async move { vec![root] }
        })
        .on_elicit(|_| async { ElicitReply::Decline })
        .on_wire(move |message| ears.hear(&message))
        .child(child)
        .await
}

async fn listed_and_called(
    client: &Client,
    subject: &Subject,
    began: Instant,
    report: &mut Report,
) -> Result<(), switchboard_client::Error> {
    let ServerCapabilities { tools, resources, prompts, .. } = client.capabilities().unwrap_or_default();
    if tools.is_some() {
        report.step = "list tools".to_owned();
        report.tools = Some(client.tools().await?.len());
        report.milliseconds = Some(began.elapsed().as_millis());
        let excluded = client.excluded_tools();
        report.oddities.extend(excluded.iter().map(|tool| format!("tool left out: {tool:?}")));
    }
    if resources.is_some() {
        report.step = "list resources".to_owned();
        report.resources = Some(client.resources().await?.len());
        report.step = "list resource templates".to_owned();
        report.templates = Some(client.resource_templates().await?.len());
    }
    if prompts.is_some() {
        report.step = "list prompts".to_owned();
        report.prompts = Some(client.prompts().await?.len());
    }
    report.step = format!("call {}", subject.tool);
    let result = client.call(subject.tool.as_str(), &subject.arguments).await?;
    report.failed = result.is_error == Some(true);
    report.said = Some(excerpt(&result));
    Ok(())
}

fn excerpt(result: &CallToolResult) -> String {
    json!(result.content).to_string().chars().take(EXCERPT).collect()
}
