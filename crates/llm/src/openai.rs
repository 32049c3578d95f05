//! OpenAI Chat Completions over any base URL: OpenAI, OpenRouter, Gemini, Ollama, llama-server, LM Studio, vLLM.
//!
//! The servers agree on the outline and differ in every detail. Reading is lenient (`wire`, `calls`, `reply`),
//! sending is strict (`request`). What is common to all wires, IO included, is in `crate::wire`.

mod calls;
mod content;
mod details;
mod kept;
mod printed;
mod reply;
mod request;
mod think;
mod wire;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use url::Url;

use self::reply::Reply;
use crate::capabilities::Capabilities;
use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::http_client;
use crate::model::{ChatModel, ChatRequest, ModelStream};
use crate::timer::{Timer, TokioTimer};
use crate::wire::learned::Learned;
use crate::wire::{Dialect, Encoded, Endpoint};

/// A model behind an OpenAI-compatible endpoint. Cheap to clone; clones share connections and what was learned.
#[derive(Clone)]
pub struct OpenAiModel {
    endpoint: Arc<Endpoint>,
}

impl OpenAiModel {
    /// A model. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ModelError::is_configuration`] if TLS cannot be set up.
    pub fn new(config: ModelConfig) -> Result<Self, ModelError> {
        Self::with_timer(config, Arc::new(TokioTimer))
    }

    /// The same with a clock of the caller's choice. Reaching the endpoint is timed by the runtime all the same.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_timer(config: ModelConfig, timer: Arc<dyn Timer>) -> Result<Self, ModelError> {
        Ok(Self { endpoint: Endpoint::new(config, timer)? })
    }

    /// Where the model is.
    pub fn base_url(&self) -> &Url {
        &self.endpoint.config.base_url
    }
}

impl ChatModel for OpenAiModel {
    fn name(&self) -> &str {
        &self.endpoint.config.model
    }

    fn capabilities(&self) -> &Capabilities {
        &self.endpoint.config.capabilities
    }

    fn chat(&self, request: ChatRequest) -> ModelStream {
        self.endpoint.ask::<ChatCompletions>(request)
    }
}

impl fmt::Debug for OpenAiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiModel").field("config", &self.endpoint.config).finish_non_exhaustive()
    }
}

/// The wire.
struct ChatCompletions;

impl Dialect for ChatCompletions {
    type Reply = Reply;

    fn url(config: &ModelConfig) -> Url {
        http_client::endpoint(&config.base_url, "/chat/completions")
    }

    fn encode(
        request: &ChatRequest,
        config: &ModelConfig,
        learned: Learned,
    ) -> Result<Encoded<Reply>, ModelError> {
        request::encode(request, config, learned)
    }
}
