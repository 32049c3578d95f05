//! The seam: what a host says to a language model and what comes back, whoever serves it.
//!
//! No provider's wire format appears here. `openai` is one implementation; `answer` folds the events into one
//! value for callers that do not stream.

use futures_core::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::ModelError;

/// What a model sends back: events until [`ModelEvent::Finish`], or one error, after which the stream ends.
///
/// Dropping it cancels the request.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A language model that can be asked for the next message of a conversation.
pub trait ChatModel: Send + Sync {
    /// The model's name, as its provider knows it.
    fn name(&self) -> &str;

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

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// Instructions of the host.
    System {
        /// The instructions.
        text: String,
    },
    /// What the person said.
    User {
        /// The words.
        text: String,
    },
    /// What the model answered.
    Assistant {
        /// The visible text, often empty beside calls.
        text: String,
        /// The model's thinking. Sent back only within the round it belongs to, and only to an endpoint that
        /// delivered it in a field of its own.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// Its calls, in order. Each must be answered by one [`Message::Tool`] before the next user message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCallRequest>,
    },
    /// The answer to one call.
    Tool {
        /// The [`ToolCallRequest::id`] that this answers.
        call_id: String,
        /// What the model reads.
        text: String,
    },
}

impl Message {
    /// Instructions of the host.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// What the person said.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// A plain answer of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), thinking: String::new(), tool_calls: Vec::new() }
    }

    /// The answer to one call.
    pub fn tool(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Tool { call_id: call_id.into(), text: text.into() }
    }
}

/// A call that the model wants made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallRequest {
    /// Unique in the conversation. Where the provider's own id was missing or already used, it is replaced, so
    /// the assistant message and the tool message that answers it carry the new one together.
    pub id: String,
    /// The tool's name as the model wrote it. It may name no tool at all.
    pub name: String,
    /// The arguments: the text of one JSON object, `{}` if the model sent nothing. If there is a
    /// [`defect`](Self::defect) of the arguments, the text as it came.
    pub arguments: String,
    /// Why this call must not be executed, if so. The model is to be told instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defect: Option<CallDefect>,
}

impl ToolCallRequest {
    /// A complete call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into(), defect: None }
    }

    /// Whether the call is complete. A call that is not must never be made.
    pub fn is_executable(&self) -> bool {
        self.defect.is_none()
    }
}

/// Why a call must not be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallDefect {
    /// The answer ended inside the arguments.
    Truncated,
    /// The arguments are not JSON, or not a JSON object.
    InvalidArguments,
    /// The model named no tool.
    Nameless,
}

impl CallDefect {
    /// What to tell the model.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::Truncated => {
                "The call was not executed: the answer was cut off inside its arguments. Make the call again with \
                 shorter arguments, or in several smaller calls."
            }
            Self::InvalidArguments => {
                "The call was not executed: its arguments are not a JSON object. Make the call again with a JSON \
                 object that fits the tool's schema."
            }
            Self::Nameless => {
                "The call was not executed: it names no tool. Make it again with a tool's name."
            }
        }
    }
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
