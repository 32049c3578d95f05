//! Framing, the client's driver, the standard streams and child processes, the last two with real
//! processes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

#[cfg(unix)]
mod child;
mod data;
mod framing;
#[cfg(unix)]
mod hosts;
#[cfg(feature = "legacy")]
mod legacy;
mod lines;
mod pipe;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod stdio;
