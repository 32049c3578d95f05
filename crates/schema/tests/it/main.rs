//! Schemas as published tools write them, and as an attacker would.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests may panic")]

mod compile;
mod covered;
mod hostile;
mod validate;
