//! Input rounds.

/// The input round that a request continues.
#[derive(Debug)]
pub(crate) struct OpenRound {}
