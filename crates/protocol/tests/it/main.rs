//! The model against the published examples, and properties of the codecs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod examples;
#[cfg(feature = "legacy")]
mod legacy;
mod session;
