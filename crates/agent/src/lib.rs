//! The agent host: a question goes to a model, the model picks tools, a person consents, the tools run, the model
//! answers.
//!
//! An [`Agent`] has servers, a [`Selector`] (a [`LanguageModel`] or the [`Router`], which is none), a
//! [`policy::Policy`] and a [`journal::Journal`]. A call passes through nine stages, each in one place:
//! declaration and discovery (the servers and `agent`), exposure ([`exposure`]), selection ([`Selector`]),
//! authorization, invocation and execution ([`policy`], the one choke point), result ([`ToolOutcome`]),
//! integration ([`integrate`]). What happened is in the journal, and everything that is shown is a view of it.
//!
//! It does not read configuration, print, or prompt: whoever embeds it does. It speaks no protocol itself: that
//! is `switchboard-client`. Where to look next: `turn` is the machine that everything turns around, `agent` its
//! driver.
//!
//! ```
//! use switchboard_agent::policy::{Mode, Policy};
//! use switchboard_agent::{Agent, Router, ServerName};
//! use switchboard_client::Client;
//! use switchboard_server::{Server, Tool};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! async fn greet() -> String {
//!     "Good morning!".to_owned()
//! }
//! let server = Server::builder("greeter", "1.0").tool(Tool::new("greeting", greet)).build(())?;
//!
//! let agent = Agent::builder(Router::new())
//!     .connect(ServerName::new("greeter")?, Client::builder().in_process(&server))
//!     .policy(Policy::new(Mode::Yes))
//!     .build()?;
//! let answer = agent.run("Please give me a greeting").await?;
//! assert_eq!(answer.text, "Good morning!");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
mod answer;
mod artefact;
pub mod desk;
mod digest;
mod error;
pub mod exposure;
pub mod host;
mod identity;
mod integration;
pub mod journal;
mod limits;
mod name;
mod outcome;
pub mod policy;
pub mod questions;
pub mod render;
mod router;
mod selector;
pub mod session;
pub mod store;
pub mod supervisor;
pub mod turn;
pub mod visible;

pub use crate::agent::{Agent, AgentBuilder, Interrupt};
pub use crate::answer::{Answer, CallRecord, CallStatus};
pub use crate::artefact::{
    ArtefactSink, HostTools, NewArtefact, ResourceReader, SessionArtefacts, host_exposure, is_host_tool,
};
pub use crate::digest::{Digest, InvalidDigest};
pub use crate::error::{AgentError, ErrorKind};
pub use crate::host::{Host, HostBuilder};
pub use crate::identity::Identity;
pub use crate::integration::{
    Attached, Attachment, AttachmentContent, Keeper, Returned, ToolMessage, integrate,
};
pub use crate::limits::{Limits, MESSAGE_BYTES};
pub use crate::name::{CallId, HOST_SERVER, InvalidServerName, MAX_SERVER_NAME_CHARS, RunId, ServerName};
pub use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
pub use crate::router::{Ask, Missing, Router};
pub use crate::selector::{LanguageModel, Selected, Selector};
pub use crate::session::{RunRequest, RunView, Session, SessionOptions};
pub use crate::turn::{Conversation, Turn};
