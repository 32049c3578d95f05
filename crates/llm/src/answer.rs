//! Folds the events of one answer into one value.
//!
//! For callers that show events as they come, [`ModelAnswer::apply`] does the same step by step.

use futures_util::StreamExt;

use crate::error::ModelError;
use crate::message::{Message, ToolCallRequest};
use crate::model::{Finish, ModelEvent, ModelStream, Usage, Warning};

/// One whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAnswer {
    /// The visible text.
    pub text: String,
    /// The thinking.
    pub thinking: String,
    /// The calls, in the model's order, the defective ones among them: see [`ToolCallRequest::is_executable`].
    pub tool_calls: Vec<ToolCallRequest>,
    /// What the provider wants back unchanged, if anything: see [`Message::Assistant`].
    pub reasoning: Option<String>,
    /// Why the model stopped.
    pub finish: Finish,
    /// What it cost, if the provider said so.
    pub usage: Option<Usage>,
    /// What a person may want to know.
    pub warnings: Vec<Warning>,
}

impl Default for ModelAnswer {
    fn default() -> Self {
        Self {
            text: String::new(),
            thinking: String::new(),
            tool_calls: Vec::new(),
            reasoning: None,
            finish: Finish::Other("unfinished".to_owned()),
            usage: None,
            warnings: Vec::new(),
        }
    }
}

impl ModelAnswer {
    /// Reads a stream to its end.
    ///
    /// # Errors
    /// The stream's own error. What had arrived before it is dropped: a part of an answer is no answer.
    pub async fn collect(mut events: ModelStream) -> Result<Self, ModelError> {
        let mut answer = Self::default();
        while let Some(event) = events.next().await {
            answer.apply(event?);
        }
        Ok(answer)
    }

    /// Takes one event.
    pub fn apply(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::TextDelta(delta) => self.text.push_str(&delta),
            ModelEvent::ThinkingDelta(delta) => self.thinking.push_str(&delta),
            ModelEvent::CallStart { .. } | ModelEvent::CallArgumentsDelta { .. } => {}
            ModelEvent::CallEnd { request, .. } => self.tool_calls.push(request),
            ModelEvent::Reasoning(reasoning) => self.reasoning = Some(reasoning),
            ModelEvent::Usage(usage) => self.usage = Some(usage),
            ModelEvent::Warning(warning) => self.warnings.push(warning),
            ModelEvent::Finish(finish) => self.finish = finish,
        }
    }

    /// Whether the model returned nothing at all, which is worth one retry and a word to the person.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.tool_calls.is_empty()
    }

    /// The message to append to the conversation, all calls included: each must be answered.
    pub fn into_message(self) -> Message {
        Message::Assistant {
            text: self.text,
            thinking: self.thinking,
            tool_calls: self.tool_calls,
            reasoning: self.reasoning,
        }
    }
}
