//! The server library, from its seam: calls in, messages out.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]
#![expect(clippy::needless_pass_by_value, reason = "what json! makes is handed on as it is")]

mod build;
mod calls;
mod catalog;
mod decode;
mod endpoint;
mod http;
#[cfg(feature = "legacy")]
mod legacy;
mod linger;
mod listen;
mod origin;
mod output;
mod rounds;
mod rules;
mod shutdown;
mod speech;
mod stdio;
mod timeline;
mod tools;
mod unlogged;
mod user_code;
mod visible;
