//! The real binary against real servers: what scripts and people rely on.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on says so and ends"
)]

mod auth;
#[cfg(unix)]
mod broken;
mod changes;
#[cfg(unix)]
mod chat;
mod child;
mod config;
mod demo;
#[cfg(unix)]
mod elicit;
#[cfg(unix)]
mod environment;
mod failures;
mod hosted;
mod inspect;
mod interrupt;
#[cfg(unix)]
mod leaks;
#[cfg(feature = "legacy")]
mod legacy;
#[cfg(unix)]
mod looking_after;
mod model;
#[cfg(target_os = "linux")]
mod orphans;
mod policy;
mod program;
#[cfg(unix)]
mod questions;
mod restarts;
mod run;
mod serve;
#[cfg(unix)]
mod terminal;
mod tools;
