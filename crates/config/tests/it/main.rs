//! Files as people have them, and what becomes of them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod asking;
mod layers;
mod place;
#[cfg(target_os = "linux")]
mod products;
mod robust;
mod schema;
mod secrets;
mod show;
mod transfer;
mod trust;
mod variables;
