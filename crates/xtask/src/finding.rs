//! What a check found: where, which rule, and what to do about it.

use std::fmt;

use serde::Serialize;

/// One line of `cargo xtask tidy`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Finding {
    /// Relative to the workspace, with forward slashes.
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    /// The cause and the next action.
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, rule: &'static str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.what)
    }
}
