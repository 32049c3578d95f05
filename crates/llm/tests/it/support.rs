//! A clock that only moves when a test says so, and the usual model.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use switchboard_llm::scripted::{Script, ScriptedModel, Turn};
use switchboard_llm::{
    AnthropicModel, ChatModel, ChatRequest, Message, ModelConfig, OpenAiModel, Provider, RetryPolicy, Secret,
    Timer, ToolDefinition,
};
use tokio::net::TcpSocket;
use tokio::sync::watch;

pub(crate) const KEY: &str = "sk-very-secret";

/// Sleeps end when their span is in the released set; every sleep is recorded.
#[derive(Clone)]
pub(crate) struct TestTimer {
    released: watch::Sender<Vec<Duration>>,
    slept: Arc<Mutex<Vec<Duration>>>,
}

impl TestTimer {
    pub(crate) fn new(released: &[Duration]) -> Self {
        Self { released: watch::Sender::new(released.to_vec()), slept: Arc::default() }
    }

    /// Lets all sleeps of this span end, those that run included.
    pub(crate) fn release(&self, span: Duration) {
        self.released.send_modify(|released| released.push(span));
    }

    /// How often a sleep of this span was begun.
    pub(crate) fn count(&self, span: Duration) -> usize {
        self.slept.lock().unwrap().iter().filter(|slept| **slept == span).count()
    }
}

impl Timer for TestTimer {
    fn sleep(&self, span: Duration) -> BoxFuture<'static, ()> {
        self.slept.lock().unwrap().push(span);
        let mut released = self.released.subscribe();
        Box::pin(async move {
            if released.wait_for(|released| released.contains(&span)).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

pub(crate) async fn serve(turns: Vec<Turn>) -> ScriptedModel {
    ScriptedModel::start(Script { turns, ..Script::default() }).await.unwrap()
}

pub(crate) fn config(server: &ScriptedModel) -> ModelConfig {
    let mut config = ModelConfig::openai(&server.base_url(), "m").unwrap();
    config.api_key = Some(Secret::new(KEY));
    config
}

/// A model whose retries come at once.
pub(crate) fn model(server: &ScriptedModel) -> OpenAiModel {
    let policy = RetryPolicy::default();
    let timer = TestTimer::new(&[policy.delay, policy.delay * 2, Duration::from_secs(7)]);
    OpenAiModel::with_timer(config(server), Arc::new(timer)).unwrap()
}

pub(crate) fn tool(name: &str) -> ToolDefinition {
    let parameters = serde_json::from_str(r#"{"type":"object"}"#).unwrap();
    ToolDefinition::new(name, format!("Does {name}."), parameters)
}

pub(crate) fn question() -> ChatRequest {
    ChatRequest {
        messages: vec![Message::user("?")],
        tools: vec![tool("f"), tool("g")],
        ..ChatRequest::default()
    }
}

/// Both wires.
pub(crate) const WIRES: [Provider; 2] = [Provider::OpenAi, Provider::Anthropic];

pub(crate) fn config_of(wire: Provider, server: &ScriptedModel) -> ModelConfig {
    let mut config = ModelConfig::new(wire, &server.base_url(), "m").unwrap();
    config.api_key = Some(Secret::new(KEY));
    config
}

/// A model of either wire whose retries come at once.
pub(crate) fn model_of(wire: Provider, server: &ScriptedModel) -> Box<dyn ChatModel> {
    let delay = RetryPolicy::default().delay;
    timed_of(config_of(wire, server), TestTimer::new(&[delay, delay * 2, Duration::from_secs(7)]))
}

pub(crate) fn timed_of(config: ModelConfig, timer: TestTimer) -> Box<dyn ChatModel> {
    let timer = Arc::new(timer);
    match config.provider {
        Provider::Anthropic => Box::new(AnthropicModel::with_timer(config, timer).unwrap()),
        _ => Box::new(OpenAiModel::with_timer(config, timer).unwrap()),
    }
}

/// One event of a stream that says one word.
pub(crate) fn word_of(wire: Provider) -> serde_json::Value {
    match wire {
        Provider::Anthropic => serde_json::json!({ "type": "content_block_delta", "index": 0,
            "delta": { "type": "text_delta", "text": "x" } }),
        _ => serde_json::json!({ "choices": [{ "delta": { "content": "x" } }] }),
    }
}

/// A port of the loopback interface on which nobody listens, and which nobody else is given while this is kept.
pub(crate) fn nobody() -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    socket
}
