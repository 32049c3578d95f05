//! Language models behind one trait.
//!
//! [`ChatModel`] is the seam; it speaks of messages, tools and events and knows no provider and no tool
//! protocol. Nothing here executes a call: a model only asks for it.

mod answer;
pub mod chain;
mod error;
mod http_client;
mod model;
mod openai;
#[cfg(feature = "scripted")]
pub mod scripted;
mod secret;
mod timer;

pub use crate::answer::ModelAnswer;
pub use crate::error::ModelError;
pub use crate::model::{
    CallDefect, ChatModel, ChatRequest, Finish, Message, ModelEvent, ModelStream, ToolCallRequest,
    ToolChoice, ToolDefinition, Usage, Warning,
};
pub use crate::openai::{Limits, OpenAiConfig, OpenAiModel, RetryPolicy, Timeouts};
pub use crate::secret::Secret;
pub use crate::timer::{Timer, TokioTimer};
