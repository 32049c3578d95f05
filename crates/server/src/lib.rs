//! Write an async function, serve it as an MCP tool.

mod bus;
mod call;
mod errors;
mod exchange;
mod limits;
mod outbox;
mod reply;
mod rounds;
mod server;

pub use bus::{Change, ChangeBus, Changes, Notifier, next_change};
pub use call::{Call, CallMeta, Completing, Params, Refusal, Target};
pub use errors::{Say, ToolError};
pub use exchange::{Dispatch, Exchange, ExchangeEvent, ListenRequest, ReplyFuture};
pub use limits::Limits;
pub use reply::{Reply, ReplyBody};
pub use server::Server;
