//! The client and the chain against scripted endpoints on loopback.
#![expect(clippy::unwrap_used, reason = "test helpers outside of test functions may unwrap too")]

mod chain;
mod probe;
mod refusals;
mod support;
mod time;
mod turns;
mod wires;
