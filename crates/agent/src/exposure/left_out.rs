//! The tools that are not offered, and why.

use serde::Serialize;

use crate::name::ServerName;

/// A tool that is not offered, or not checked, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Whose it is.
    pub server: ServerName,
    /// The tool's own name, cut after 128 characters.
    pub tool: String,
    /// The kind of reason.
    pub cause: LeftOutCause,
    /// Why.
    pub reason: String,
}

/// The kinds of reasons for which a tool is not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LeftOutCause {
    /// Its definition is not valid.
    Invalid,
    /// Its schema is in a dialect that nobody here knows. Such a tool is offered, but not checked.
    UnknownDialect,
    /// Its schema cannot be said in the words of the model's provider.
    NotLowerable,
    /// A person filtered it out.
    Filtered,
    /// Its name is that of another.
    Clash,
}

impl LeftOutCause {
    /// What to do about it.
    #[must_use]
    pub fn next_action(self) -> &'static str {
        match self {
            Self::Invalid => "correct the definition in the server",
            Self::UnknownDialect => "declare a dialect of JSON Schema that is known, or none for 2020-12",
            Self::NotLowerable => "make the schema smaller or flatter, or use a model of another provider",
            Self::Filtered => "change `include` or `exclude` of the server in the configuration",
            Self::Clash => "rename one of the two, with `rename` of the server in the configuration",
        }
    }

    /// Whether something is wrong, so that people should be told. What they filtered out themselves they know.
    #[must_use]
    pub fn is_fault(self) -> bool {
        self != Self::Filtered
    }
}
