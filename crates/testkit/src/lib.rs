//! Shared test support, never published: the published schema as a check on every message, and
//! the places where test data lives.

#![expect(clippy::panic, clippy::expect_used, reason = "a test that cannot go on says so and ends")]

pub mod canned;
pub mod dated;
#[cfg(feature = "http")]
pub mod scripted_http;
pub mod spec;
pub mod wire;
