//! Language models behind one trait.
//!
//! [`ChatModel`] is the seam; it speaks of messages, tools and events and knows no provider and no tool
//! protocol. Nothing here executes a call: a model only asks for it.

mod answer;
mod anthropic;
mod capabilities;
pub mod chain;
mod config;
mod error;
mod http_client;
mod message;
mod model;
mod openai;
mod probe;
#[cfg(feature = "scripted")]
pub mod scripted;
mod secret;
mod timer;
mod wire;

pub use crate::answer::ModelAnswer;
pub use crate::anthropic::AnthropicModel;
pub use crate::capabilities::{Capabilities, SchemaDialect, UnknownDialect};
pub use crate::config::{KeyHeader, Limits, ModelConfig, Provider, RetryPolicy, Thinking, Timeouts, connect};
pub use crate::error::ModelError;
pub use crate::message::{CallDefect, Image, Message, ToolCallRequest};
pub use crate::model::{
    ChatModel, ChatRequest, Finish, ModelEvent, ModelStream, ToolChoice, ToolDefinition, Usage, Warning,
};
pub use crate::openai::OpenAiModel;
pub use crate::probe::{Outcome, ProbeReport, ProbeStep, probe};
pub use crate::secret::Secret;
pub use crate::timer::{Timer, TokioTimer};
