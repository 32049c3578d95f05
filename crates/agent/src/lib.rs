//! The agent host: a question goes to a model, the model picks tools, a person consents, the tools run, the
//! model answers.

mod agent;
mod answer;
mod digest;
mod error;
pub mod exposure;
mod integration;
pub mod journal;
mod limits;
mod name;
mod outcome;
pub mod policy;
pub mod render;
mod router;
mod selector;
pub mod turn;
pub mod visible;

pub use crate::agent::{Agent, AgentBuilder, Interrupt};
pub use crate::answer::{Answer, CallRecord, CallStatus};
pub use crate::digest::{Digest, InvalidDigest};
pub use crate::error::{AgentError, ErrorKind};
pub use crate::integration::{ToolMessage, integrate};
pub use crate::limits::Limits;
pub use crate::name::{CallId, InvalidServerName, MAX_SERVER_NAME_CHARS, ServerName};
pub use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
pub use crate::router::{Ask, Missing, Router};
pub use crate::selector::{LanguageModel, Selected, Selector};
pub use crate::turn::{Conversation, Turn};
