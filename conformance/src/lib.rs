//! The two programs that the official conformance suite drives: thin over the public API, so that they also prove
//! that the API is enough.
//!
//! | program | what it is | what the suite does with it |
//! |---|---|---|
//! | `conformance-server` | [`server`]: the tools, resources and prompts that the scenarios ask for by name | calls it, scenario by scenario, and looks at every answer |
//! | `conformance-client` | [`client`]: one small program a scenario, over [`switchboard_client::Client`] | starts it against a mock server, and looks at every request |
//!
//! `cargo xtask conformance` installs the suite (pinned in `conformance/suite/package-lock.json`), builds and starts
//! both programs, and judges what the suite wrote down against `conformance/expectations.json`: every revision, and
//! servers that have only older ones. One scenario alone, one revision, and one older server, with what was said left
//! in `conformance/results`:
//!
//! ```text
//! cargo xtask conformance --scenario server-stateless
//! cargo xtask conformance --revision 2026-07-28
//! cargo xtask conformance --cap DATE
//! ```
//!
//! Names, texts and argument names in here are the suite's, not ours. Nothing in here works around the libraries: what
//! the suite finds is mended in them. What the suite does not look at is tested in the crates.

pub mod client;
pub mod server;
pub mod story;

/// The examples of the README, so that they compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
