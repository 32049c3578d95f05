//! What comes out of a turn: what to do next, and why there is no answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_llm::ChatRequest;

#[cfg(doc)]
use super::Turn;
use crate::answer::{Answer, CallRecord};
use crate::exposure::Exposure;
use crate::name::CallId;
use crate::policy::{Denial, Permit, Proposal};

/// What the driver is to do next.
#[derive(Debug)]
pub enum Output {
    /// Ask the model, then [`Turn::handle_answer`].
    AskModel(Step),
    /// Have the call decided about, then [`Turn::handle_decision`]; [`Turn::handle_asked`] first if a person is asked.
    /// Several may be decided about at the same time.
    AskConsent(Proposal),
    /// Make the call, then [`Turn::handle_outcome`]. Several may run at the same time.
    Invoke(Permit),
    /// Nobody waits for the decision about the call, or for its outcome, any more: withdraw the question, or drop the
    /// call, which tells the server.
    Cancel(CallId),
    /// The run is over, with an answer.
    Finished(Answer),
    /// The run is over, without one.
    Stopped(StopReason),
}

/// One question to whoever selects: what a language model needs, and what the router needs.
#[derive(Clone, Debug)]
pub struct Step {
    /// Which time it is asked, from 1.
    pub number: u32,
    /// The conversation so far and the tools.
    pub request: ChatRequest,
    /// What the person asked in this turn.
    pub question: Arc<str>,
    /// The tools as their servers define them.
    pub exposure: Arc<Exposure>,
    /// What became of the calls of this turn so far, in order.
    pub calls: Vec<Arc<CallRecord>>,
}

/// Why a run ended without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model was asked as often as the limit allows.
    StepLimit(u32),
    /// As many calls were made as the limit allows.
    CallLimit(u32),
    /// The run cost as many tokens as the limit allows.
    TokenLimit(u64),
    /// The run took as long as the limit allows, in milliseconds.
    TimeLimit(u64),
    /// The model kept making calls that cannot be made.
    Corrections {
        /// How often it was told in a row.
        rounds: u32,
        /// What was wrong the last time.
        problem: String,
    },
    /// The model returned nothing, twice in a row.
    Nothing,
    /// The provider withheld the answer. What there was of it.
    Refused(String),
    /// A call needs a person's approval and nobody can be asked.
    ApprovalNeeded(Denial),
    /// Somebody interrupted it.
    Interrupted,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::StepLimit(limit) => write!(f, "the limit of {limit} steps is reached"),
            Self::CallLimit(limit) => write!(f, "the limit of {limit} calls is reached"),
            Self::TokenLimit(limit) => write!(f, "the limit of {limit} tokens is reached"),
            Self::TimeLimit(ms) => write!(f, "the limit of {} is reached", crate::outcome::Seconds(*ms)),
            Self::Corrections { rounds, problem } => {
                write!(
                    f,
                    "the model still makes calls that cannot be made after {rounds} corrections: {problem}"
                )
            }
            Self::Nothing => f.write_str("the model returned nothing"),
            Self::Refused(text) if text.is_empty() => f.write_str("the provider refused to answer"),
            Self::Refused(text) => write!(f, "the provider refused to answer in full; what it gave: {text}"),
            Self::ApprovalNeeded(denial) => denial.fmt(f),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
