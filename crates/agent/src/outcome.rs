//! What came of a call: a result, or one of the ways to have none. They are kept apart to the end, because a
//! person who asks "did it happen?" needs to know which it was.
//!
//! Where to look next: `integration` for what a model is told about each.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_protocol::model::tool::CallToolResult;

/// What came of a call that was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// The tool answered. It may still say that it failed.
    Result(Box<CallToolResult>),
    /// There is no answer of the tool.
    Failed(CallFailure),
}

/// Why there is no answer of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFailure {
    /// Which of the ways.
    pub kind: FailureKind,
    /// What the server or the transport said, for people. May be long and may hold anything.
    pub message: String,
    /// Whether the tool may have done its work all the same.
    pub maybe_executed: bool,
}

/// The ways to have no answer of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The server answered with a protocol error.
    Protocol {
        /// Its JSON-RPC code.
        code: i64,
    },
    /// The server cannot be reached, or the connection broke.
    Transport,
    /// The server wants a login first.
    Unauthorized,
    /// The limit of time was reached.
    Timeout {
        /// The limit, in milliseconds.
        after_ms: Option<u64>,
    },
    /// A limit of the client was reached: the size of an answer, or the rounds of input.
    Limit,
    /// The server answered with something that is no result.
    Malformed,
    /// The tool asks the person something, and nobody can be asked.
    InputNeeded,
    /// The tool is not the one any more that the call was allowed for. The call was not made.
    Changed,
    /// The run was interrupted.
    Interrupted,
}

impl ToolOutcome {
    /// Whether the call was not made because its tool is another one than it was allowed for.
    pub(crate) fn has_changed(&self) -> bool {
        matches!(self, Self::Failed(CallFailure { kind: FailureKind::Changed, .. }))
    }
}

impl CallFailure {
    /// A failure of which nothing more is known.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), maybe_executed: false }
    }

    /// Says that the tool may have done its work all the same.
    #[must_use]
    pub fn maybe_executed(mut self, maybe: bool) -> Self {
        self.maybe_executed = maybe;
        self
    }
}

impl FailureKind {
    /// The limit of time that was reached.
    #[must_use]
    pub fn timeout(after: Option<Duration>) -> Self {
        Self::Timeout { after_ms: after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)) }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol { code } => write!(f, "protocol error {code}"),
            Self::Transport => f.write_str("server unreachable"),
            Self::Unauthorized => f.write_str("login needed"),
            Self::Timeout { after_ms: Some(after) } => {
                write!(f, "timed out after {}", Seconds(*after))
            }
            Self::Timeout { after_ms: None } => f.write_str("timed out"),
            Self::Limit => f.write_str("limit reached"),
            Self::Malformed => f.write_str("malformed result"),
            Self::InputNeeded => f.write_str("the tool asks the person, and nobody can be asked"),
            Self::Changed => f.write_str("the tool has changed"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// Milliseconds, shown as seconds without needless zeros.
pub(crate) struct Seconds(pub(crate) u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1000, self.0 % 1000);
        if rest == 0 { write!(f, "{whole} s") } else { write!(f, "{whole}.{:03} s", rest) }
    }
}
