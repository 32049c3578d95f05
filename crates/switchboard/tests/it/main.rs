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
mod child;
mod demo;
#[cfg(unix)]
mod elicit;
mod failures;
mod inspect;
mod interrupt;
#[cfg(feature = "legacy")]
mod legacy;
mod model;
mod program;
mod run;
#[cfg(unix)]
mod terminal;
mod tools;
