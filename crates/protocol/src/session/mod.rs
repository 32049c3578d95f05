//! Session machines for pipes: many exchanges over one pair of byte streams, told apart by id.
//!
//! [`ClientSession`] opens exchanges and reads what a server says about them; [`ServerSession`]
//! is the other end. Both are without IO and without a clock: a driver hands in whole lines and
//! the time, writes what [`poll_transmit`](ClientSession::poll_transmit) shows, and acts on the
//! events. Over HTTP no such machine is needed: there an exchange is one POST.
//!
//! Where to look next: the drivers are in the transport crate (client) and in the server crate.

mod client;
mod outbox;
mod server;

pub use client::{
    ClientLimits, ClientSession, Counters, Delivery, End, Event, ExchangeId, Noise, OpenError, Opening,
    PeerFault, Timeout,
};
#[cfg(feature = "legacy")]
pub use server::InSession;
pub use server::{Incoming, ServerCounters, ServerLimits, ServerSession};
