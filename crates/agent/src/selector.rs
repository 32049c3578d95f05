//! Who selects the calls: a language model, or the router.
//!
//! The fourth stage of a call. Both are asked the same way and both go through the same turn, policy and
//! journal. Where to look next: `router` for the one that is no language model.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use switchboard_llm::{Capabilities, ChatModel, ModelEvent};

use crate::error::AgentError;
use crate::turn::Step;

/// Whoever selects the calls and words the answer.
pub trait Selector: Send + Sync {
    /// Who it is, for people.
    fn name(&self) -> &str;

    /// What it takes. Default: text only.
    fn capabilities(&self) -> Capabilities {
        Capabilities::UNKNOWN
    }

    /// Answers one step: events up to [`ModelEvent::Finish`], or an error, which ends the run. Dropping the
    /// stream cancels it.
    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>>;
}

impl<S: Selector + ?Sized> Selector for Arc<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        (**self).select(step)
    }
}

/// A part of what a selector says.
#[derive(Clone, Debug, PartialEq)]
pub enum Selected {
    /// A part of its answer.
    Event(ModelEvent),
    /// Something that the person should know beside the answer.
    Note(String),
}

/// A language model.
#[derive(Clone)]
pub struct LanguageModel(Arc<dyn ChatModel>);

impl LanguageModel {
    /// Selects by asking `model`.
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self(Arc::new(model))
    }
}

impl From<Arc<dyn ChatModel>> for LanguageModel {
    fn from(model: Arc<dyn ChatModel>) -> Self {
        Self(model)
    }
}

impl fmt::Debug for LanguageModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LanguageModel").field(&self.0.name()).finish()
    }
}

impl Selector for LanguageModel {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities().clone()
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let answer = self.0.chat(step.request);
        answer.map(|event| event.map(Selected::Event).map_err(AgentError::from)).boxed()
    }
}
