//! Our side of the story that `cargo xtask interop` plays with other implementations, over the public API alone.
//!
//! The steps are in `README.md`; every peer in `peers/` has the same two programs. `server` is what our server
//! exposes, `steps` what our client does with theirs, `subject` what it does with a server of the corpus. The
//! programs are in `bin/`.

pub mod server;
pub mod steps;
pub mod subject;
