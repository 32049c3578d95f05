//! Connects to any MCP server and hides which revision and transport it speaks.
//!
//! [`Client::builder`] makes a [`Client`], a cheap clone; its methods are requests that are sent when
//! they are awaited ([`Request`]). What a server asks is answered by handlers, lists are merged and
//! kept, changes come as a stream ([`Changes`]) and errors say how far a request came
//! ([`Error::delivery`]).
//!
//! This crate never sees the server library: the two meet in memory through a trait of the transport
//! crate. Which era a server is of is found out when connecting ([`Era`]). The types that signatures
//! name, such as [`CallToolResult`], are those of the protocol crate and can be named from here, too.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use switchboard_client::Client;
//! use switchboard_server::{Args, Json, Server, Tool};
//!
//! #[derive(Serialize, Deserialize, JsonSchema)]
//! struct Summands {
//!     a: i64,
//!     b: i64,
//! }
//!
//! #[derive(Serialize, Deserialize, JsonSchema)]
//! struct Sum {
//!     sum: i64,
//! }
//!
//! async fn add(Args(Summands { a, b }): Args<Summands>) -> Json<Sum> {
//!     Json(Sum { sum: a + b })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::builder("sums", "1.0.0").tool(Tool::new("add", add)).build(())?;
//!
//! // The same with `.http("https://…")` or `.command("npx", ["…"])`.
//! let client = Client::builder().info("example", "1.0.0").in_process(&server).await?;
//! assert_eq!(client.tools().await?[0].name, "add");
//!
//! let answer: Sum = client.call_as("add", &Summands { a: 2, b: 3 }).await?;
//! assert_eq!(answer.sum, 5);
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Where to look next: `core` is how one request becomes an answer, `link` the seam to the
//! transports, `rounds` the questions of servers, `list` and `cache` what is kept, `legacy` the sessions
//! with servers of the legacy era.

mod backoff;
mod builder;
mod cache;
mod client;
mod connect;
mod core;
mod era;
mod error;
mod flight;
mod form;
mod http;
mod inputs;
#[cfg(feature = "legacy")]
mod legacy;
mod limits;
mod link;
mod list;
mod listen;
mod missing;
mod no_answer;
mod pages;
mod params;
mod pipe;
mod request;
mod rounds;
mod secret;
mod structured;
mod tools;
mod verdict;
mod visible;
mod wire;

pub use builder::{ClientBuilder, Connect};
pub use cache::Cache;
pub use client::Client;
pub use era::Era;
pub use error::{CallError, Delivery, Error, ToolFailure};
pub use inputs::{ElicitReply, Refused};
pub use limits::Limits;
pub use listen::{Change, Changes, Hearing};
pub use request::{Request, Rounds};
pub use switchboard_protocol::error::{ErrorCode, ProtocolError};
pub use switchboard_protocol::method::Answer;
pub use switchboard_protocol::model::capability::{
    ClientCapabilities, Icon, Implementation, ServerCapabilities, Settings,
};
pub use switchboard_protocol::model::completion::{
    CompleteResult, Completion, CompletionArgument, CompletionContext, CompletionReference,
};
pub use switchboard_protocol::model::content::{
    Annotations, ContentBlock, EmbeddedResource, MediaContent, Role, TextContent,
};
pub use switchboard_protocol::model::discover::DiscoverResult;
pub use switchboard_protocol::model::elicitation::{
    Elicit, ElicitAction, ElicitForm, ElicitResult, ElicitSchema, ElicitUrl, Fields, PrimitiveSchema,
};
pub use switchboard_protocol::model::input::{
    InputRequest, InputRequests, InputRequiredResult, InputResponses,
};
pub use switchboard_protocol::model::notification::{LoggingLevel, LoggingMessage, Progress};
pub use switchboard_protocol::model::prompt::{GetPromptResult, Prompt, PromptArgument, PromptMessage};
pub use switchboard_protocol::model::resource::{
    ReadResourceResult, Resource, ResourceBody, ResourceContents, ResourceTemplate,
};
pub use switchboard_protocol::model::roots::{ListRootsResult, Root};
pub use switchboard_protocol::model::sampling::{
    CreateMessage, CreateMessageResult, OneOrMany, SamplingContent, SamplingMessage,
};
pub use switchboard_protocol::model::subscription::SubscriptionFilter;
pub use switchboard_protocol::model::tool::{CallToolResult, InvalidTool, Tool, ToolAnnotations};
pub use switchboard_protocol::{RequestId, Revision};
pub use switchboard_transport::child::ChildCommand;
pub use switchboard_transport::{InProcess, Pipe};
pub use verdict::EraVerdict;
pub use wire::{Direction, WireMessage};
