//! The legacy revisions: a handshake opens a session, and both sides may ask.
//!
//! Everything here turns what those revisions say into the one model of this crate and back, without IO and
//! without inventing anything: what a revision has not is left out, and what cannot be said in it is an
//! error that says so. Between the dates the difference is data ([`Features`]). Sessions and streams are
//! the business of the server and of the client.
//!
//! Where to look next: [`Features`] is the table, `mark` tells a request of the other era, `handshake` is
//! the beginning of a session, `result` and `list` are what a server answers, `question` what it asks,
//! `upgrade` what a client reads, `batch` several messages in one.

pub mod batch;
mod block;
pub mod capability;
mod error;
mod features;
mod form;
mod handshake;
mod list;
mod mark;
mod members;
pub mod name;
pub mod question;
mod result;
mod sampling;
pub mod upgrade;

pub use error::error;
pub use features::Features;
pub use handshake::{Disagreement, Initialize, InitializeResult, agree, answered_revision, negotiate};
pub use list::list;
pub(crate) use mark::may_name_revision;
pub use mark::names_revision;
pub use result::{call_tool, complete, get_prompt, read_resource};
