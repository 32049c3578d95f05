//! The codec against recorded streams (`tests/data`) and properties over every way of cutting them.

#![expect(clippy::unwrap_used, reason = "test helpers outside of test functions may unwrap too")]

mod limits;
mod properties;
mod streams;
