//! What the client does on the wire, against servers that play a script.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]
#![expect(clippy::needless_pass_by_value, reason = "tables are easier to read with values in them")]

mod cancellation;
mod discovery;
mod header_params;
mod http_answers;
#[cfg(feature = "legacy")]
mod legacy;
mod listening;
mod lists;
mod no_answers;
mod outcomes;
mod pipes;
mod rounds;
mod scripts;
mod story;
mod structured;
mod support;
