//! Who answers: the models that a host knows, and the one that is chosen for a run.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;
use switchboard_llm::{ChatModel, SchemaDialect};

use crate::error::{AgentError, ErrorKind};
use crate::selector::{LanguageModel, Selector};
use crate::visible;

/// The models that a host knows.
pub trait Models: Send + Sync {
    /// The model of this name, or the one to take where none is named.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be used.
    fn select<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Result<ModelChoice, AgentError>>;

    /// What can be chosen.
    fn list(&self) -> Vec<ModelInfo>;

    /// What the endpoint of this model says that it has, by the endpoint's own names. Empty where that is not known.
    fn beside<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<String>> {
        let _ = name;
        std::future::ready(Vec::new()).boxed()
    }
}

/// Who answers a run.
#[derive(Clone)]
pub struct ModelChoice {
    /// Who selects the calls and words the answer.
    pub selector: Arc<dyn Selector>,
    /// The same as a language model, if it is one: servers may ask it, too, once the person consents.
    pub chat: Option<Arc<dyn ChatModel>>,
    /// Which schemas it takes.
    pub dialect: SchemaDialect,
    /// Why it was chosen, for people, where that should be said.
    pub note: Option<String>,
}

impl std::fmt::Debug for ModelChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelChoice").field("selector", &self.selector.name()).finish_non_exhaustive()
    }
}

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelInfo {
    /// What it is chosen by.
    pub name: String,
    /// What its provider calls it.
    pub model: String,
    /// Where it is, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// How many tokens a conversation may have, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Whether it takes pictures.
    pub vision: bool,
}

impl ModelChoice {
    /// A language model.
    #[must_use]
    pub fn chat(model: Arc<dyn ChatModel>) -> Self {
        let dialect = model.capabilities().dialect;
        Self {
            selector: Arc::new(LanguageModel::from(Arc::clone(&model))),
            chat: Some(model),
            dialect,
            note: None,
        }
    }

    /// Somebody else who selects, such as the router.
    pub fn other(selector: impl Selector + 'static) -> Self {
        Self { selector: Arc::new(selector), chat: None, dialect: SchemaDialect::Generic, note: None }
    }

    /// Says why it was chosen.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// A host that knows one model.
#[derive(Clone, Debug)]
pub struct OneModel(pub ModelChoice);

impl Models for OneModel {
    fn select<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Result<ModelChoice, AgentError>> {
        let known = self.0.selector.name();
        let chosen = match name {
            Some(name) if name != known => {
                let message = format!("there is no model {}", visible::quoted(name, 100));
                Err(AgentError::new(ErrorKind::Configuration, message).hint(format!("use {known}")))
            }
            _ => Ok(self.0.clone()),
        };
        std::future::ready(chosen).boxed()
    }

    fn list(&self) -> Vec<ModelInfo> {
        let capabilities = self.0.chat.as_ref().map(|model| model.capabilities().clone()).unwrap_or_default();
        let name = self.0.selector.name().to_owned();
        vec![ModelInfo {
            model: name.clone(),
            name,
            place: None,
            context_tokens: capabilities.context_tokens,
            vision: capabilities.vision,
        }]
    }
}
