//! The API as programs and pages use it: a host that listens, asked over HTTP.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on says so and ends"
)]

mod access;
mod bad_input;
mod runs;
mod servers;
mod sessions;
mod streams;
mod support;
