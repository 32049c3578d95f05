//! The seam: what a host says to a language model and what comes back, whoever serves it.
//!
//! No provider's wire format appears here. `openai` and `anthropic` are the implementations; `message` has what a
//! conversation is made of, `capabilities` what a model can do; `answer` folds the events into one value for
//! callers that do not stream.

use futures_core::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::capabilities::Capabilities;
use crate::error::ModelError;
use crate::message::{Message, ToolCallRequest, is_false};

/// What a model sends back: events until [`ModelEvent::Finish`], or one error, after which the stream ends.
///
/// Dropping it cancels the request.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A language model that can be asked for the next message of a conversation.
pub trait ChatModel: Send + Sync {
    /// The model's name, as its provider knows it.
    fn name(&self) -> &str;

    /// What the model can do. What nobody knows is taken carefully.
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::UNKNOWN
    }

    /// Starts one answer. Nothing is sent before the stream is polled.
    fn chat(&self, request: ChatRequest) -> ModelStream;
}

/// One question to a model: the whole conversation so far and what the model may call.
#[derive(Clone, Debug, Default)]
pub struct ChatRequest {
    /// The conversation, oldest message first.
    pub messages: Vec<Message>,
    /// The tools, in an order that stays the same between turns so that prompt caches hold.
    pub tools: Vec<ToolDefinition>,
    /// Whether the model may, must or must not call.
    pub tool_choice: ToolChoice,
    /// Whether one answer may hold several calls. `None` leaves it to the provider.
    pub parallel_tool_calls: Option<bool>,
    /// Sampling temperature. `None` leaves it to the provider.
    pub temperature: Option<f32>,
    /// The longest answer, in tokens. `None` leaves it to the provider.
    pub max_tokens: Option<u32>,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// At most 64 of `[A-Za-z0-9_-]`; unique in the request.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON schema of its arguments, an object. Kept as text: the order of its members means something to
    /// models.
    pub parameters: Box<RawValue>,
    /// Whether the provider is to guarantee arguments that fit the schema, which must then be one it takes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub strict: bool,
}

impl ToolDefinition {
    /// A tool without guarantees of the provider.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Box<RawValue>) -> Self {
        Self { name: name.into(), description: description.into(), parameters, strict: false }
    }
}

/// Whether the model may, must or must not call a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call at least one.
    Required,
    /// It must call this one.
    Named(String),
}

/// One step of an answer, in the order in which it happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// More visible text.
    TextDelta(String),
    /// More thinking.
    ThinkingDelta(String),
    /// The model began to write a call. For display only.
    CallStart {
        /// The position of the call in this answer, from 0; the key of the other events about it.
        call: usize,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments. For display only: they may be cut off or repaired later.
    CallArgumentsDelta {
        /// The position of the call in this answer.
        call: usize,
        /// The next piece of the text.
        delta: String,
    },
    /// A call in its final form. Sent for every call once the answer has ended, so nothing can be executed
    /// before that.
    CallEnd {
        /// The position of the call in this answer.
        call: usize,
        /// The call.
        request: ToolCallRequest,
    },
    /// What the provider wants back, as it stands, while the calls of this answer are being answered: opaque JSON
    /// for [`Message::Assistant`]. Sent at most once.
    Reasoning(String),
    /// What the answer cost, if the provider says so.
    Usage(Usage),
    /// Something a person may want to know; the answer goes on.
    Warning(Warning),
    /// The last event.
    Finish(Finish),
}

/// Why the model stopped. Decided by what the answer holds first and by what the provider says second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finish {
    /// It was done.
    Stop,
    /// It made at least one call and waits for the answers.
    ToolCalls,
    /// It ran out of tokens.
    Length,
    /// The provider refused or withheld the answer.
    ContentFilter,
    /// A reason that this crate does not know.
    Other(String),
}

/// Tokens of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written, thinking included.
    pub output_tokens: u64,
    /// Tokens read from the provider's prompt cache, a part of `input_tokens`.
    pub cached_input_tokens: u64,
    /// Tokens that were put into the provider's prompt cache, a part of `input_tokens`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Something a person may want to know about an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The endpoint refused for now; the request is sent again after a delay.
    Retrying {
        /// The reason and the delay, for people.
        reason: String,
    },
    /// The endpoint does not know an option of the request. It is left out from now on.
    OptionDropped {
        /// The option, as the wire spells it.
        option: &'static str,
    },
    /// The provider's finish reason and the content of the answer do not agree.
    FinishMismatch {
        /// The reason as it came, `none` if it did not.
        reason: String,
    },
    /// The text looks like a call of a tool, printed because the server has no template for this model. It was
    /// not made and must not be without a person's consent.
    PrintedCall {
        /// The tool.
        name: String,
        /// The text of the arguments.
        arguments: String,
    },
    /// The connection ended after the answer was complete but before the endpoint said so.
    Unterminated,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Retrying { reason } => write!(f, "{reason}"),
            Self::OptionDropped { option } => {
                write!(f, "the endpoint does not accept `{option}`; going on without it")
            }
            Self::FinishMismatch { reason } => {
                write!(f, "the answer does not fit its finish reason `{reason}`; its content decides")
            }
            Self::PrintedCall { name, arguments } => write!(
                f,
                "the model printed a call of `{name}` with {arguments} as text; it was not made. The server may \
                 lack a tool template for this model"
            ),
            Self::Unterminated => {
                write!(f, "the stream ended without its closing mark; the answer looks complete")
            }
        }
    }
}
