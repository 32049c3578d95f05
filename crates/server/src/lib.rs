//! Write an async function, serve it as an MCP tool, over stdio and HTTP.
//!
//! A handler is a plain async function; its parameters are extractors ([`Args`], [`State`], [`Ctx`], …) and
//! its output is text, [`Json`], content, or a `Result` of those. [`Tool`], [`Resource`] and [`Prompt`] say
//! what is exposed; [`Server::builder`] checks all of it at once. There is no macro, no session and no task
//! a call.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use switchboard_server::{Args, BuildError, Json, Say, Server, State, Tool, ToolError};
//!
//! /// The state of the application.
//! #[derive(Clone)]
//! struct Rates {
//!     usd: f64,
//! }
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Convert {
//!     /// Amount in euro
//!     euro: f64,
//!     /// Currency, such as USD
//!     to: String,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Amount {
//!     amount: f64,
//!     currency: String,
//! }
//!
//! async fn convert(
//!     State(rates): State<Rates>,
//!     Args(Convert { euro, to }): Args<Convert>,
//! ) -> Result<Json<Amount>, ToolError> {
//!     let rate = (to == "USD").then_some(rates.usd).say("only USD is known")?;
//!     Ok(Json(Amount { amount: euro * rate, currency: to }))
//! }
//!
//! async fn currencies() -> &'static str {
//!     "USD"
//! }
//!
//! fn server() -> Result<Server, BuildError> {
//!     Server::builder("exchange", "1.0.0")
//!         .tool(Tool::new("convert", convert).describe("Converts euro").read_only())
//!         .tool(Tool::new("currencies", currencies).describe("Which currencies are known").read_only())
//!         .build(Rates { usd: 1.08 })
//! }
//!
//! let server = server()?;
//! // server.serve_stdio().await, or server.http().bind("127.0.0.1:8000").await
//! # let _ = server;
//! # Ok::<(), BuildError>(())
//! ```
//!
//! Where to look next: `server.rs` finds the handler of a [`Call`], `exchange.rs` runs it, `extract` and
//! `into_reply.rs` are what goes in and comes out, `rounds` asks the person, `catalog` holds what is exposed;
//! `http` and `stdio` are the transports.

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
mod linger;
mod listen;
mod middleware;
mod needs;
mod outbox;
mod output;
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
mod visible;

pub use build::{BuildError, Builder};
pub use bus::{Change, ChangeBus, Changes, Notifier, next_change};
pub use call::{Call, CallMeta, CallParts, Completing, Params, Refusal, Target};
pub use catalog::{Catalog, Expose, Items};
pub use ctx::Ctx;
pub use entry::Cache;
pub use errors::{Say, ToolError};
pub use exchange::{Dispatch, Exchange, ExchangeEvent, ListenRequest, ReplyFuture};
pub use extract::{Args, CallerId, Extension, FromCall, FromRef, Principal, Rejection, State, Vars};
pub use handler::{AsyncFunction, Handler, Parameters};
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
pub use visible::{Caller, Item};
