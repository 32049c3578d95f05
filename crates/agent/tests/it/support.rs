//! A server with one tool of each temper, and agents that use it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_agent::journal::{Entry, Event, Journal, Memory};
use switchboard_agent::policy::{Mode, Policy};
use switchboard_agent::{Agent, AgentBuilder, LanguageModel, Selector, ServerName};
use switchboard_client::{Client, Connect};
use switchboard_llm::scripted::{Script, ScriptedModel};
use switchboard_llm::{ModelConfig, OpenAiModel};
use switchboard_server::{Args, Ctx, Json, Server, State, Tool, ToolError};
use tokio::sync::Notify;

#[derive(Clone, Default)]
pub(crate) struct Signals {
    /// A call of `wait` has begun.
    pub(crate) started: Arc<Notify>,
    /// A call of `wait` was cancelled.
    pub(crate) cancelled: Arc<Notify>,
}

#[derive(Serialize, JsonSchema)]
struct Place {
    #[serde(rename = "Temperature")]
    temperature: f64,
}

#[derive(Serialize, JsonSchema)]
struct Climate {
    #[serde(rename = "Indoor")]
    indoor: Place,
    #[serde(rename = "Balcony")]
    balcony: Place,
}

#[derive(Deserialize, JsonSchema)]
struct Date {
    /// A day, such as 2026-07-28.
    day: String,
}

async fn get_climate() -> Json<Climate> {
    Json(Climate { indoor: Place { temperature: 21.5 }, balcony: Place { temperature: 7.3 } })
}

async fn book(Args(date): Args<Date>) -> Result<String, ToolError> {
    Err(ToolError::say(format!("{} must be in the future", date.day)))
}

async fn slow(ctx: Ctx) -> String {
    ctx.progress(1.0, 2.0).await;
    "done".to_owned()
}

async fn crash() -> String {
    panic!("a bug of the tool")
}

struct OnDrop(Arc<Notify>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

async fn wait(State(signals): State<Signals>) -> String {
    let _cancelled = OnDrop(Arc::clone(&signals.cancelled));
    signals.started.notify_one();
    std::future::pending().await
}

pub(crate) fn server(signals: &Signals) -> Server {
    Server::builder("house", "1.0")
        .tool(Tool::new("get_climate", get_climate).describe("The temperature indoors and on the balcony"))
        .tool(Tool::new("book", book).describe("Books a day"))
        .tool(Tool::new("slow", slow).describe("Takes its time"))
        .tool(Tool::new("crash", crash).describe("Has a bug"))
        .tool(Tool::new("wait", wait).describe("Never ends"))
        .build(signals.clone())
        .unwrap()
}

pub(crate) fn name() -> ServerName {
    ServerName::new("house").unwrap()
}

pub(crate) fn connect(server: &Server, journal: &Journal) -> Connect {
    Client::builder().on_wire(journal.tap(name())).in_process(server)
}

/// An agent with the server, and everything that happens to it.
pub(crate) fn agent(selector: impl Selector + 'static, signals: &Signals) -> (AgentBuilder, Memory) {
    let memory = Memory::default();
    let journal = Journal::new().with_sink(memory.clone());
    let builder = Agent::builder(selector)
        .connect(name(), connect(&server(signals), &journal))
        .policy(Policy::new(Mode::Yes))
        .journal(journal);
    (builder, memory)
}

pub(crate) async fn scripted(script: &str) -> (ScriptedModel, LanguageModel) {
    let endpoint = ScriptedModel::start(Script::from_json(script).unwrap()).await.unwrap();
    let model = OpenAiModel::new(ModelConfig::openai(&endpoint.base_url(), "scripted").unwrap()).unwrap();
    (endpoint, LanguageModel::new(model))
}

/// The stages that happened, each once.
pub(crate) fn stages(entries: &[Entry]) -> Vec<&'static str> {
    let mut stages: Vec<&str> = entries.iter().map(|entry| entry.event.stage()).collect();
    stages.sort_unstable();
    stages.dedup();
    stages
}

pub(crate) fn events(memory: &Memory) -> Vec<Event> {
    memory.entries().into_iter().map(|entry| entry.event).collect()
}
