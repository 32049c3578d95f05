//! Anthropic Messages over any base URL: Anthropic itself, gateways, and local servers that speak it too.
//!
//! `request` maps a conversation (one system text, user and assistant in turns, results of calls as blocks of the
//! user), `reply` reads the events of an answer, `kept` holds the signed thinking that must go back unchanged.
//! What is common to all wires, IO included, is in `crate::wire`.

mod kept;
mod reply;
mod request;
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
use crate::model::{ChatModel, ChatRequest, ModelStream};
use crate::timer::{Timer, TokioTimer};
use crate::wire::learned::Learned;
use crate::wire::{Dialect, Encoded, Endpoint};

/// A model behind Anthropic Messages. Cheap to clone; clones share connections and what was learned.
#[derive(Clone)]
pub struct AnthropicModel {
    endpoint: Arc<Endpoint>,
}

impl AnthropicModel {
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

impl ChatModel for AnthropicModel {
    fn name(&self) -> &str {
        &self.endpoint.config.model
    }

    fn capabilities(&self) -> &Capabilities {
        &self.endpoint.config.capabilities
    }

    fn chat(&self, request: ChatRequest) -> ModelStream {
        self.endpoint.ask::<Messages>(request)
    }
}

impl fmt::Debug for AnthropicModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicModel").field("config", &self.endpoint.config).finish_non_exhaustive()
    }
}

/// The only version that there is.
pub(crate) const VERSION_HEADER: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The wire.
struct Messages;

impl Dialect for Messages {
    type Reply = Reply;

    const HEADERS: &'static [(&'static str, &'static str)] = &[VERSION_HEADER];

    fn url(config: &ModelConfig) -> Url {
        below(&config.base_url, "messages")
    }

    fn encode(
        request: &ChatRequest,
        config: &ModelConfig,
        learned: Learned,
    ) -> Result<Encoded<Reply>, ModelError> {
        request::encode(request, config, learned)
    }
}

/// Where the models of an endpoint are listed.
pub(crate) fn models_url(base_url: &Url) -> Url {
    below(base_url, "models")
}

/// Base URLs of this wire are written without the version, though some people write it, or the whole address.
fn below(base_url: &Url, name: &str) -> Url {
    let mut url = base_url.clone();
    let base = base_url.path().trim_end_matches('/').trim_end_matches("/messages").trim_end_matches("/v1");
    url.set_path(&format!("{base}/v1/{name}"));
    url
}
