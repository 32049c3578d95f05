//! Write an async function, serve it as an MCP tool.

mod bus;
mod call;
mod errors;
mod exchange;
mod http;
mod hub;
mod limits;
mod listen;
mod outbox;
mod reply;
mod rounds;
#[cfg(feature = "serve")]
mod serve;
mod server;

pub use bus::{Change, ChangeBus, Changes, Notifier, next_change};
pub use call::{Call, CallMeta, Completing, Params, Refusal, Target};
pub use errors::{Say, ToolError};
pub use exchange::{Dispatch, Exchange, ExchangeEvent, ListenRequest, ReplyFuture};
pub use http::{Body, Http, HttpService};
pub use hub::Hub;
pub use limits::Limits;
pub use listen::ListenStream;
pub use reply::{Reply, ReplyBody};
#[cfg(feature = "serve")]
pub use serve::{ServeError, Serving, until_signal};
pub use server::Server;
