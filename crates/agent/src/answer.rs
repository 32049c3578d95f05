//! What a run gives: the answer, and what became of every call on the way to it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_llm::Usage;

use crate::name::{CallId, ServerName};
use crate::outcome::ToolOutcome;
use crate::policy::Denial;

/// What a run gives.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The answer. Empty only if the model returned nothing, which a note says.
    pub text: String,
    /// Who selected the calls and worded the answer.
    pub selector: String,
    /// What the person should know beside it, such as that it was cut off or that no language model spoke.
    pub notes: Vec<String>,
    /// The calls, in the order in which they were made.
    pub calls: Vec<Arc<CallRecord>>,
    /// Times the model was asked.
    pub steps: u32,
    /// What it cost, as far as the provider says so.
    pub usage: Usage,
}

/// One call and what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallRecord {
    /// The host's number.
    pub call: CallId,
    /// What the model calls the tool.
    pub name: String,
    /// The server and the tool's own name, unless the model named no tool of ours.
    pub tool: Option<(ServerName, String)>,
    /// The arguments, if they could be sent.
    pub arguments: Option<Box<RawValue>>,
    /// What became of it.
    pub status: CallStatus,
}

/// What became of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It was made, and this came of it.
    Made(Arc<ToolOutcome>),
    /// It was not allowed.
    Denied(Denial),
    /// It could not be made; the model was told.
    Invalid,
    /// It repeated earlier calls and was not made.
    Repeated,
    /// It was not made because the run had to end.
    OverLimit,
    /// It was interrupted.
    Interrupted,
    /// The person cancelled it. The server may still be running it.
    Cancelled,
    /// It was being made when the host ended; whether it did anything is not known.
    Unknown,
}

impl CallStatus {
    pub(crate) fn of(outcome: ToolOutcome) -> Self {
        Self::Made(Arc::new(outcome))
    }

    /// Whether the tool did what it was asked to do, as far as it says.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Made(outcome) if matches!(&**outcome, ToolOutcome::Result(result) if !result.is_error()))
    }
}
