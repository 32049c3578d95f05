//! Our own client and our own servers, with every message of both sides held against the published schema: what the
//! suite has no eye for.
//!
//! `fixture` is the server under test on every transport; `story` is one story in every combination of revisions and
//! transports, and `legacy` what is particular to the revisions with a handshake.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod fixture;
#[cfg(feature = "legacy")]
mod legacy;
mod story;
