//! Write an async function, serve it as an MCP tool, over stdio and HTTP.
//!
//! A handler is a plain async function; its parameters are extractors ([`Args`], [`State`], [`Ctx`], …) and
//! its output is text, [`Json`], content, or a `Result` of those. [`Tool`], [`Resource`] and [`Prompt`] say
//! what is exposed; [`Server::builder`] checks all of it at once. There is no macro, no session and no task
//! a call. Clients of every revision of the protocol are served, unless `Builder::eras` says otherwise; a
//! handler cannot tell.
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
//! # I want → I write
//!
//! | I want | I write |
//! |---|---|
//! | arguments | a parameter [`Args<T>`](Args), `T: Deserialize + JsonSchema`; its doc comments are the descriptions |
//! | structured output | the return type [`Json<T>`](Json), `T: Serialize + JsonSchema` |
//! | a failure that the model reads | `Result<_, ToolError>` and [`.say("…")?`](Say::say); a bare `?` is for the log only, see [`ToolError`] |
//! | the state of the application | a parameter [`State<T>`](State), and `build(state)`; a part of it by [`FromRef`] |
//! | progress, log messages, the end of a call | a parameter [`Ctx`]: [`progress`](Ctx::progress), [`log`](Ctx::log), [`cancelled`](Ctx::cancelled) |
//! | a question before the call | a parameter [`Elicited<Q>`](Elicited), and [`Question`] for `Q` |
//! | several rounds of questions | a parameter [`MultiRoundTrip<S>`](MultiRoundTrip), and the return type [`Outcome<S, T>`](Outcome) |
//! | the caller | a parameter [`Principal<P>`](Principal), and [`Builder::authenticated`] |
//! | a header, whatever a layer put there | a parameter [`Extension<T>`](Extension); over HTTP there is an `http::request::Parts` |
//! | a resource | [`Resource::new("res://…", handler)`](Resource::new) |
//! | a resource template | [`Resource::template("res://{id}", handler)`](Resource::template), a parameter [`Vars<T>`](Vars) |
//! | a prompt | [`Prompt::new(name, handler)`](Prompt::new) |
//! | completion of an argument | [`Prompt::complete`] or [`Resource::complete`], a parameter [`Completing`] |
//! | change notices | a parameter [`Notifier`], or [`Server::notifier`] from outside of a call |
//! | tools that come and go | [`Server::catalog`] |
//! | a parameter of my own | [`FromCall`] for it |
//! | middleware | [`Builder::layer`], [`Tool::layer`] |
//!
//! # What a handler may return
//!
//! | returned | tool | resource | prompt | completion |
//! |---|---|---|---|---|
//! | `String`, `&'static str`, `Cow<'static, str>`, `Box<str>` | text | text | a message of the person | – |
//! | [`Json<T>`](Json) | structured content, the same as text, an output schema | JSON | – | – |
//! | `()` | no content | – | – | – |
//! | `ContentBlock`, `Vec<ContentBlock>` | content | – | – | – |
//! | `Vec<u8>`, `Bytes` | – | a blob | – | – |
//! | `ResourceContents`, `Vec<ResourceContents>` | – | contents | – | – |
//! | `PromptMessage`, `Vec<PromptMessage>` | – | – | messages | – |
//! | `Vec<String>`, [`Suggestions`] | – | – | – | suggestions |
//! | the result of the method | `CallToolResult` | `ReadResourceResult` | `GetPromptResult` | – |
//!
//! and of each `T` of these `Result<T, ToolError>`, `Result<T, ProtocolError>` and [`Outcome<S, T>`](Outcome)
//! (no questions in a completion). The trait is [`IntoReply`]. The types without a link are in
//! `switchboard_protocol`.
//!
//! Where to look next in the source: `server.rs` finds the handler of a [`Call`], `exchange.rs` runs it,
//! `extract` and `into_reply.rs` are what goes in and comes out, `rounds` asks the person, `catalog` holds
//! what is exposed; `http` and `stdio` are the transports.

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
#[cfg(feature = "legacy")]
mod legacy;
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
#[cfg(feature = "legacy")]
pub use legacy::{Eras, SessionLimits};
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
