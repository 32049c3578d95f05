//! Connects to any MCP server and hides which revision and transport it speaks.
//!
//! [`Client::builder`] makes a [`Client`], a cheap clone; its methods are requests that are sent when
//! they are awaited ([`Request`]). What a server asks is answered by handlers, lists are merged and
//! kept, changes come as a stream ([`Changes`]) and errors say how far a request came
//! ([`Error::delivery`]).
//!
//! This crate never sees the server library: the two meet in memory through a trait of the transport
//! crate. Legacy revisions are recognised and reported, not spoken yet.
//!
//! Where to look next: `core` is how one request becomes an answer, `link` the seam to the
//! transports, `rounds` the questions of servers, `list` and `cache` what is kept.

mod backoff;
mod builder;
mod cache;
mod client;
mod connect;
mod core;
mod error;
mod flight;
mod form;
mod http;
mod inputs;
mod limits;
mod link;
mod list;
mod listen;
mod pages;
mod params;
mod pipe;
mod request;
mod rounds;
mod secret;
mod structured;
mod tools;
mod verdict;
mod wire;

pub use builder::{ClientBuilder, Connect};
pub use cache::Cache;
pub use client::Client;
pub use error::{CallError, Delivery, Error, ToolFailure};
pub use inputs::{ElicitReply, Refused};
pub use limits::Limits;
pub use listen::{Change, Changes};
pub use request::{Request, Rounds};
pub use switchboard_protocol::method::Answer;
pub use switchboard_protocol::model::subscription::SubscriptionFilter;
pub use switchboard_transport::child::ChildCommand;
pub use verdict::EraVerdict;
pub use wire::{Direction, WireMessage};
