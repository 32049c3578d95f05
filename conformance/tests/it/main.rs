//! The fixture server under our own client, on every transport: what the suite has no eye for.
//!
//! The suite checks the schema of some messages only; here every message of both sides is held against it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

mod story;
