//! Write an async function, serve it as an MCP tool.

mod build;
mod bus;
mod call;
mod catalog;
mod ctx;
mod entry;
mod errors;
mod exchange;
mod extract;
mod handler;
#[cfg(feature = "serve")]
mod http;
mod hub;
mod into_reply;
mod limits;
mod listen;
mod middleware;
mod needs;
mod outbox;
mod prompt;
mod reply;
mod resource;
mod rounds;
mod schema;
mod seal;
#[cfg(feature = "serve")]
mod serve;
mod server;
mod stdio;
mod tool;

pub use build::{BuildError, Builder};
pub use bus::{Change, ChangeBus, Changes, Notifier, next_change};
pub use call::{Call, CallMeta, Completing, Params, Refusal, Target};
pub use catalog::{Catalog, Expose, Items};
pub use ctx::Ctx;
pub use entry::Cache;
pub use errors::{Say, ToolError};
pub use exchange::{Dispatch, Exchange, ExchangeEvent, ListenRequest, ReplyFuture};
pub use extract::{Args, CallerId, Extension, FromCall, FromRef, Principal, Rejection, State, Vars};
pub use handler::Handler;
#[cfg(feature = "serve")]
pub use http::{Body, Http, HttpService};
pub use hub::Hub;
pub use into_reply::{ForCompletion, ForPrompt, ForResource, ForTool, IntoReply, Json, Kind, Suggestions};
pub use limits::Limits;
pub use listen::ListenStream;
pub use middleware::{CallFuture, CallService};
pub use needs::Needs;
pub use prompt::Prompt;
pub use reply::{Reply, ReplyBody};
pub use resource::Resource;
pub use rounds::{Elicitation, Elicited, MultiRoundTrip, Need, Outcome, Question, Questions};
pub use seal::Keys;
#[cfg(feature = "serve")]
pub use serve::{ServeError, Serving, until_signal};
pub use server::Server;
pub use tool::Tool;
