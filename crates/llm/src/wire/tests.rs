//! What holds on every wire.

pub(crate) mod answers;
mod words;
