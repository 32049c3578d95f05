//! OpenAI Chat Completions over any base URL: OpenAI, OpenRouter, Ollama, llama-server, LM Studio, vLLM.
//!
//! The servers agree on the outline and differ in every detail. Reading is lenient (`wire`, `calls`, `reply`),
//! sending is strict (`request`), and what one endpoint does not accept is learned from its error (`learned`).
//! `run` drives one answer; it is the only part with IO.

mod calls;
mod failure;
mod learned;
mod printed;
mod reader;
mod reply;
mod request;
mod run;
mod think;
mod wire;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use url::Url;

use self::learned::Learned;
use self::run::Run;
use crate::error::{Kind, ModelError};
use crate::http_client;
use crate::model::{ChatModel, ChatRequest, ModelStream};
use crate::secret::Secret;
use crate::timer::{Timer, TokioTimer};

/// Where a model is and how to talk to it.
///
/// ```
/// use switchboard_llm::{OpenAiConfig, OpenAiModel, Secret};
///
/// let mut config = OpenAiConfig::new("http://127.0.0.1:11434/v1", "qwen3:0.6b")?;
/// config.api_key = Some(Secret::new("not needed by this server"));
/// let model = OpenAiModel::new(config)?;
/// # Ok::<(), switchboard_llm::ModelError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenAiConfig {
    /// The base URL, such as `https://api.openai.com/v1`. Without a path, `/v1` is taken.
    pub base_url: Url,
    /// The model's name.
    pub model: String,
    /// Sent as a bearer token.
    pub api_key: Option<Secret>,
    /// Whether to ask for a stream. An endpoint that answers with one JSON value is understood all the same.
    pub stream: bool,
    /// Limits of time.
    pub timeouts: Timeouts,
    /// Limits of size.
    pub limits: Limits,
    /// When to try again.
    pub retry: RetryPolicy,
}

impl OpenAiConfig {
    /// A configuration with the usual limits.
    ///
    /// # Errors
    /// [`ModelError::is_configuration`] if the base URL is not an HTTP URL or holds credentials, or the name is
    /// empty.
    pub fn new(base_url: &str, model: impl Into<String>) -> Result<Self, ModelError> {
        let model = model.into();
        if model.trim().is_empty() {
            return Err(ModelError::new(Kind::Configuration, "the model's name is empty")
                .with_hint("name one, as the endpoint's list of models spells it"));
        }
        Ok(Self {
            base_url: http_client::parse_base_url(base_url)?,
            model,
            api_key: None,
            stream: true,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            retry: RetryPolicy::default(),
        })
    }
}

/// Limits of time for one answer.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// To reach the endpoint. 10 s.
    pub connect: Duration,
    /// Between two pieces of an answer, and before the first: a local model may read a long prompt for minutes.
    /// 180 s.
    pub idle: Duration,
    /// For the whole answer with all retries. 15 min.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(180),
            total: Duration::from_secs(15 * 60),
        }
    }
}

/// Limits of size for one answer.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// One event of a stream, in bytes. 4 MiB.
    pub max_event_bytes: usize,
    /// One whole answer, in bytes as sent. 32 MiB.
    pub max_answer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_event_bytes: 4 << 20, max_answer_bytes: 32 << 20 }
    }
}

/// When a refused request is sent again: after 429 and 5xx, never once an answer has begun.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Attempts after the first. 2.
    pub max_retries: u32,
    /// The delay before the first retry where the endpoint names none; doubled each time. 500 ms.
    pub delay: Duration,
    /// An endpoint that asks for more is not waited for: the caller gets the error and the delay. 60 s.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_retries: 2, delay: Duration::from_millis(500), max_delay: Duration::from_secs(60) }
    }
}

/// A model behind an OpenAI-compatible endpoint. Cheap to clone; clones share connections and what was learned.
#[derive(Clone)]
pub struct OpenAiModel {
    shared: Arc<Shared>,
}

struct Shared {
    config: OpenAiConfig,
    http: reqwest::Client,
    learned: Mutex<Learned>,
    timer: Arc<dyn Timer>,
}

impl OpenAiModel {
    /// A model. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ModelError::is_configuration`] if TLS cannot be set up.
    pub fn new(config: OpenAiConfig) -> Result<Self, ModelError> {
        Self::with_timer(config, Arc::new(TokioTimer))
    }

    /// The same with a clock of the caller's choice. Reaching the endpoint is timed by the runtime all the same.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_timer(config: OpenAiConfig, timer: Arc<dyn Timer>) -> Result<Self, ModelError> {
        let http = http_client::client(&config.base_url, config.timeouts.connect)?;
        Ok(Self { shared: Arc::new(Shared { config, http, learned: Mutex::default(), timer }) })
    }

    /// Where the model is.
    pub fn base_url(&self) -> &Url {
        &self.shared.config.base_url
    }
}

impl ChatModel for OpenAiModel {
    fn name(&self) -> &str {
        &self.shared.config.model
    }

    fn chat(&self, request: ChatRequest) -> ModelStream {
        Run::new(Arc::clone(&self.shared), request).into_stream()
    }
}

impl fmt::Debug for OpenAiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiModel").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

impl Shared {
    fn learned(&self) -> Learned {
        *self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, lesson: impl FnOnce(&mut Learned)) {
        lesson(&mut self.learned.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The field in which an endpoint delivers thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThinkingField {
    ReasoningContent,
    Reasoning,
}

impl ThinkingField {
    fn name(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
        }
    }
}
