//! What a conversation is made of: messages, images, and the calls that a model wants made.
//!
//! Kept by hosts as JSON; a field that is absent means what it meant before it existed.

use std::fmt;

use serde::{Deserialize, Serialize};

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
        /// Pictures that belong to them. A model that takes none is told so in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
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
        /// What the provider wants back unchanged beside the answers to the calls: JSON that only the provider
        /// reads which wrote it, such as signed thinking.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
    },
    /// The answer to one call.
    Tool {
        /// The [`ToolCallRequest::id`] that this answers.
        call_id: String,
        /// What the model reads.
        text: String,
        /// Pictures of the result. A model that takes none is told so in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// Whether the call failed or was not made.
        #[serde(default, skip_serializing_if = "is_false")]
        is_error: bool,
    },
}

impl Message {
    /// Instructions of the host.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// What the person said.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), images: Vec::new() }
    }

    /// A plain answer of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant {
            text: text.into(),
            thinking: String::new(),
            tool_calls: Vec::new(),
            reasoning: None,
        }
    }

    /// The answer to one call.
    pub fn tool(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Tool { call_id: call_id.into(), text: text.into(), images: Vec::new(), is_error: false }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

/// A picture.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
}

impl Image {
    /// A picture whose bytes are in base64 already.
    pub fn new(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self { media_type: media_type.into(), data: data.into() }
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.data.trim_end_matches('=').len() / 4 * 3 + self.data.trim_end_matches('=').len() % 4 * 3 / 4
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Without the bytes, which nobody reads.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({}, {} bytes)", self.media_type, self.len())
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
