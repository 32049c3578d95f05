//! Language models behind one trait.
//!
//! [`ChatModel`] is the seam; it speaks of messages, tools and events and knows no provider and no tool
//! protocol. Nothing here executes a call: a model only asks for it.

mod answer;
mod error;
mod model;
mod secret;

pub use crate::answer::ModelAnswer;
pub use crate::error::ModelError;
pub use crate::model::{
    CallDefect, ChatModel, ChatRequest, Finish, Message, ModelEvent, ModelStream, ToolCallRequest,
    ToolChoice, ToolDefinition, Usage, Warning,
};
pub use crate::secret::Secret;
