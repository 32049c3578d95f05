//! What the wires of all providers share: sending, learning, waiting, retrying, and reading what arrives.
//!
//! A wire is a [`Dialect`]: how a request is encoded and what the pieces of its answer mean. It does no IO; `run`
//! has all of it. Reading is lenient everywhere (`lenient`, `body`), sending is strict, and what one endpoint
//! does not accept is learned from its error (`learned`).

pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod delay;
pub(crate) mod failure;
pub(crate) mod finish;
pub(crate) mod image;
pub(crate) mod learned;
pub(crate) mod lenient;
mod run;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

use self::learned::{Learned, RequestOption};
use self::run::Run;
use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::http_client;
use crate::model::{ChatRequest, ModelEvent, ModelStream};
use crate::timer::Timer;

/// One provider's wire.
pub(crate) trait Dialect: Send + Sync + 'static {
    /// What reads one answer.
    type Reply: Reply;

    /// Headers beside the key and the media types.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];

    /// Where requests go.
    fn url(config: &ModelConfig) -> Url;

    /// Encodes `request` for an endpoint of which `learned` is known.
    fn encode(
        request: &ChatRequest,
        config: &ModelConfig,
        learned: Learned,
    ) -> Result<Encoded<Self::Reply>, ModelError>;
}

/// A request in its wire form.
#[derive(Debug)]
pub(crate) struct Encoded<R> {
    pub(crate) body: Vec<u8>,
    /// The optional parts that it holds.
    pub(crate) sent: Vec<RequestOption>,
    /// What reads the answer.
    pub(crate) reply: R,
}

/// What the pieces of one answer mean.
pub(crate) trait Reply: Send + 'static {
    /// What to check if the answer is no answer of this wire.
    const HINT: &'static str;

    /// Takes one event of a stream. `true` if the endpoint says that it was the last.
    fn take_event(&mut self, name: &str, data: &[u8]) -> Result<bool, ModelError>;

    /// Takes a whole answer.
    fn take_whole(&mut self, body: &[u8]) -> Result<(), ModelError>;

    /// The answer has ended; `terminated` says that the endpoint said so itself.
    fn finish(&mut self, terminated: bool) -> Result<(), ModelError>;

    /// The events so far that nobody has taken.
    fn events(&mut self) -> &mut VecDeque<ModelEvent>;

    /// Whether the endpoint has given its reason for stopping. Only the usage may still come.
    fn has_finish_reason(&self) -> bool;

    /// What this answer teaches about its endpoint.
    fn teach(&self, _learned: &mut Learned) {}
}

/// An endpoint with what was learned about it.
pub(crate) struct Endpoint {
    pub(crate) config: ModelConfig,
    http: reqwest::Client,
    learned: Mutex<Learned>,
    timer: Arc<dyn Timer>,
}

impl Endpoint {
    pub(crate) fn new(config: ModelConfig, timer: Arc<dyn Timer>) -> Result<Arc<Self>, ModelError> {
        let http = http_client::client(&config.base_url, config.timeouts.connect)?;
        Ok(Arc::new(Self { config, http, learned: Mutex::default(), timer }))
    }

    /// Asks in the words of one wire.
    pub(crate) fn ask<D: Dialect>(self: &Arc<Self>, request: ChatRequest) -> ModelStream {
        Run::<D>::new(Arc::clone(self), request).into_stream()
    }

    fn learned(&self) -> Learned {
        *self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, lesson: impl FnOnce(&mut Learned)) {
        lesson(&mut self.learned.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
