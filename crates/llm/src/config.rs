//! Where a model is and how to talk to it, whoever serves it; [`connect`] makes a model of it.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::anthropic::AnthropicModel;
use crate::capabilities::Capabilities;
use crate::error::{Kind, ModelError};
use crate::http_client;
use crate::model::ChatModel;
use crate::openai::OpenAiModel;
use crate::secret::Secret;

/// Which wire an endpoint speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI Chat Completions, which most servers speak.
    #[default]
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
}

impl Provider {
    /// As the configuration spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// The header that carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyHeader {
    /// `Authorization: Bearer …`, as OpenAI takes it.
    Bearer,
    /// `x-api-key`, as Anthropic takes it.
    XApiKey,
}

/// Whether a model is told to think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// As much as it finds right.
    Adaptive,
    /// At most so many tokens.
    Budget(u32),
}

/// Where a model is and how to talk to it.
///
/// ```
/// use switchboard_llm::{ModelConfig, Secret, connect};
///
/// let mut config = ModelConfig::openai("http://127.0.0.1:11434/v1", "qwen3:0.6b")?;
/// config.api_key = Some(Secret::new("not needed by this server"));
/// config.capabilities.vision = true;
/// let model = connect(config)?;
/// assert_eq!(model.name(), "qwen3:0.6b");
/// # Ok::<(), switchboard_llm::ModelError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelConfig {
    /// The wire.
    pub provider: Provider,
    /// The base URL, such as `https://api.openai.com/v1`. Without a path, `/v1` is taken.
    pub base_url: Url,
    /// The model's name.
    pub model: String,
    /// The key, if the endpoint wants one.
    pub api_key: Option<Secret>,
    /// How the key is sent.
    pub key_header: KeyHeader,
    /// Whether to ask for a stream. An endpoint that answers with one JSON value is understood all the same.
    pub stream: bool,
    /// Whether to think, where that must be asked for. Only Anthropic Messages reads it.
    pub thinking: Option<Thinking>,
    /// What the model can do: by default what the table of known models says.
    pub capabilities: Capabilities,
    /// Limits of time.
    pub timeouts: Timeouts,
    /// Limits of size.
    pub limits: Limits,
    /// When to try again.
    pub retry: RetryPolicy,
}

impl ModelConfig {
    /// A model behind `provider`'s wire, with the usual limits.
    ///
    /// # Errors
    /// [`ModelError::is_configuration`] if the base URL is not an HTTP URL or holds credentials, or the name is
    /// empty.
    pub fn new(provider: Provider, base_url: &str, model: impl Into<String>) -> Result<Self, ModelError> {
        let model = model.into();
        if model.trim().is_empty() {
            return Err(ModelError::new(Kind::Configuration, "the model's name is empty")
                .with_hint("name one, as the endpoint's list of models spells it"));
        }
        let base_url = http_client::parse_base_url(base_url)?;
        Ok(Self {
            provider,
            capabilities: Capabilities::known(provider, &base_url, &model),
            base_url,
            model,
            api_key: None,
            key_header: match provider {
                Provider::OpenAi => KeyHeader::Bearer,
                Provider::Anthropic => KeyHeader::XApiKey,
            },
            stream: true,
            thinking: None,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            retry: RetryPolicy::default(),
        })
    }

    /// Host and port of the endpoint, without a path that may hold a key.
    pub fn endpoint(&self) -> String {
        let host = self.base_url.host_str().unwrap_or("?");
        match self.base_url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// A model behind an OpenAI-compatible endpoint.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn openai(base_url: &str, model: impl Into<String>) -> Result<Self, ModelError> {
        Self::new(Provider::OpenAi, base_url, model)
    }

    /// A model behind Anthropic Messages.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn anthropic(base_url: &str, model: impl Into<String>) -> Result<Self, ModelError> {
        Self::new(Provider::Anthropic, base_url, model)
    }
}

/// The model that a configuration describes. Nothing is sent yet.
///
/// # Errors
/// [`ModelError::is_configuration`] if TLS cannot be set up.
pub fn connect(config: ModelConfig) -> Result<Arc<dyn ChatModel>, ModelError> {
    Ok(match config.provider {
        Provider::OpenAi => Arc::new(OpenAiModel::new(config)?),
        Provider::Anthropic => Arc::new(AnthropicModel::new(config)?),
    })
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
