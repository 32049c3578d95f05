//! Drives a protocol session over the standard streams, a child process or memory, on tokio.
//!
//! It knows pipes and processes, and no HTTP. What is said over a pipe is decided by the session
//! machines of the protocol crate; who serves it, by the server crate.
//!
//! Where to look next: [`PipeClient`] is the client's driver, [`Lines`] the framing, [`stdio`] the
//! streams of this process, [`child`] the processes that a client starts, [`Stall`] a connection whose peer must read.

#[cfg(feature = "process")]
pub mod child;
mod lines;
mod memory;
mod pipe;
mod stall;
pub mod stdio;

pub use lines::{LineTooLong, Lines};
pub use memory::{InProcess, Pipe};
pub use pipe::{
    Disconnected, LogSink, MailboxLimits, Message, OpenError, PipeClient, PipeExchange, PipeOptions,
};
#[cfg(feature = "legacy")]
pub use pipe::{Unsolicited, UnsolicitedSink};
pub use stall::Stall;
