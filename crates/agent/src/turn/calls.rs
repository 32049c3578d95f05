//! The calls of one answer, and the memory of calls that repeat themselves.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_llm::ToolCallRequest;

use crate::answer::CallStatus;
use crate::digest::Digest;
use crate::journal::JournaledCall;
use crate::name::{CallId, ServerName};
use crate::policy::{Permit, Proposal};

/// One call on its way to its answer.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
    /// Unique in the conversation.
    pub(super) provider_id: String,
    pub(super) name: String,
    pub(super) tool: Option<(ServerName, String)>,
    pub(super) arguments: Option<Box<RawValue>>,
    pub(super) key: Option<Digest>,
    pub(super) state: CallState,
}

#[derive(Debug)]
pub(super) enum CallState {
    /// Checked, and waits for its turn to be decided about.
    Proposed(Proposal),
    /// It is being decided about.
    ExpectDecision,
    /// Permitted, and waits until all others are decided about.
    Permitted(Permit),
    /// It runs.
    ExpectOutcome,
    /// The model's answer to it is known.
    Answered { text: String, left_out_bytes: Option<usize>, status: CallStatus },
}

impl CallState {
    pub(super) fn answered(text: impl Into<String>, status: CallStatus) -> Self {
        Self::Answered { text: text.into(), left_out_bytes: None, status }
    }
}

impl Call {
    pub(super) fn new(id: CallId, provider_id: String, name: String) -> Self {
        let state = CallState::ExpectDecision;
        Self { id, provider_id, name, tool: None, arguments: None, key: None, state }
    }

    /// The arguments as they stand in the conversation: always JSON, because chat templates choke on less.
    pub(super) fn in_history(&self) -> String {
        self.arguments.as_ref().map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned())
    }

    /// The proposal, if it waits to be made.
    pub(super) fn propose(&mut self) -> Option<Proposal> {
        if !matches!(self.state, CallState::Proposed(_)) {
            return None;
        }
        match std::mem::replace(&mut self.state, CallState::ExpectDecision) {
            CallState::Proposed(proposal) => Some(proposal),
            _ => None,
        }
    }

    /// The permit, if it waits to be used.
    pub(super) fn invoke(&mut self) -> Option<Permit> {
        if !matches!(self.state, CallState::Permitted(_)) {
            return None;
        }
        match std::mem::replace(&mut self.state, CallState::ExpectOutcome) {
            CallState::Permitted(permit) => Some(permit),
            _ => None,
        }
    }

    /// Answers it without an outcome, unless it is answered.
    pub(super) fn give_up(&mut self, text: &str, status: CallStatus) {
        if !matches!(self.state, CallState::Answered { .. }) {
            self.state = CallState::answered(text, status);
        }
    }
}

/// Remembers calls by tool and arguments, to notice a model that goes in circles.
///
/// Only calls in a row with the same result count, so that waiting for something to change is possible. Calls
/// whose result is not known yet count as the same.
#[derive(Debug, Default)]
pub(super) struct Repeats(HashMap<Digest, Repeated>);

#[derive(Debug, Default)]
struct Repeated {
    last: Option<Digest>,
    same: u32,
    running: u32,
}

impl Repeats {
    /// Whether the call would repeat `limit` earlier ones. Gives the call its key.
    pub(super) fn repeats(&self, call: &mut Call, arguments: &Value, limit: u32) -> bool {
        // Objects are sorted, so that the order of members makes no difference.
        let canonical = arguments.to_string();
        let key = Digest::of(&[call.name.as_bytes(), canonical.as_bytes()]);
        call.key = Some(key);
        self.0.get(&key).is_some_and(|seen| seen.same + seen.running >= limit)
    }

    pub(super) fn started(&mut self, call: &Call) {
        if let Some(key) = call.key {
            self.0.entry(key).or_default().running += 1;
        }
    }

    pub(super) fn answered(&mut self, call: &Call, text: &str) {
        let Some(seen) = call.key.and_then(|key| self.0.get_mut(&key)) else { return };
        let result = Digest::of(&[text.as_bytes()]);
        seen.running = seen.running.saturating_sub(1);
        seen.same = if seen.last == Some(result) { seen.same + 1 } else { 1 };
        seen.last = Some(result);
    }
}

pub(super) fn journaled(id: CallId, call: &ToolCallRequest) -> JournaledCall {
    let arguments =
        serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone()));
    JournaledCall { call: id, name: call.name.clone(), arguments }
}
