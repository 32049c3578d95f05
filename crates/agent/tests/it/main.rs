//! Whole runs over the real wires: a real server behind the real client, and a scripted model behind the real
//! provider client.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of test functions may panic too"
)]

mod outcomes;
mod runs;
mod support;
