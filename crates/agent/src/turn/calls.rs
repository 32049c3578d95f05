//! The calls of one answer, and the memory of calls that repeat themselves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_llm::ToolCallRequest;

use super::arguments;
use crate::answer::CallStatus;
use crate::digest::Digest;
use crate::exposure::Exposure;
use crate::integration::Content;
use crate::journal::JournaledCall;
use crate::name::{CallId, ServerName};
use crate::policy::{Permit, Proposal};

/// The longest name of a tool that providers take back.
const MAX_NAME: usize = 64;

/// The longest text that says why a call was not made, in bytes.
const MAX_SAID: usize = 16 * 1024;

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
    /// How often its tool was another one by the time at which it would have been made.
    pub(super) changes: u32,
    pub(super) state: CallState,
}

#[derive(Debug)]
pub(super) enum CallState {
    /// Checked, and not yet decided about.
    Proposed(Proposal),
    /// It is being decided about.
    ExpectDecision,
    /// A person is being asked about it.
    ExpectPerson,
    /// Permitted, and waits for its turn.
    Permitted(Permit),
    /// It runs.
    ExpectOutcome,
    /// The model's answer to it is known.
    Answered { content: Content, status: CallStatus },
}

impl CallState {
    pub(super) fn answered(text: impl AsRef<str>, status: CallStatus) -> Self {
        Self::Answered { content: Content::said(text, MAX_SAID), status }
    }
}

impl Call {
    pub(super) fn new(id: CallId, provider_id: String, name: String) -> Self {
        let state = CallState::ExpectDecision;
        Self { id, provider_id, name, tool: None, arguments: None, key: None, changes: 0, state }
    }

    /// The call as it stands in the conversation: its arguments are always JSON, because chat templates choke on less,
    /// and its name is one that every provider takes back.
    pub(super) fn in_history(&self) -> ToolCallRequest {
        let arguments = self.arguments.as_ref().map_or("{}", |raw| raw.get());
        ToolCallRequest::new(&self.provider_id, name_in_history(&self.name), arguments)
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

    /// Checks it against its tool as that is now.
    pub(super) fn check_again(&mut self, exposure: &Exposure) {
        let tool = self.tool.as_ref().and_then(|(server, tool)| exposure.by_origin(server, tool));
        let text = self.arguments.as_ref().map_or("{}", |raw| raw.get());
        let checked = match tool {
            Some(tool) => arguments::checked(tool, text).map(|arguments| (tool, arguments.raw)),
            None => Err("The call was not executed: the tool cannot be used any more.".to_owned()),
        };
        self.state = match checked {
            Ok((tool, arguments)) => {
                self.arguments = Some(arguments.clone());
                CallState::Proposed(Proposal::new(self.id, tool, arguments))
            }
            Err(problem) => {
                let text = format!("The tool has changed since the call was written. {problem}");
                CallState::answered(text, CallStatus::Invalid)
            }
        };
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
        if !self.is_answered() {
            self.state = CallState::answered(text, status);
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        matches!(self.state, CallState::Answered { .. })
    }

    /// Whether somebody is asked whether it may be made.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, CallState::ExpectDecision | CallState::ExpectPerson)
    }

    /// Why it cannot be made, if it cannot.
    pub(super) fn problem(&self) -> Option<String> {
        match &self.state {
            CallState::Answered { content, status: CallStatus::Invalid } => Some(content.whole()),
            _ => None,
        }
    }
}

/// A name that a model made up may be anything; providers refuse a conversation that holds it.
fn name_in_history(name: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let name: String = name
        .chars()
        .take(MAX_NAME)
        .map(|character| if allowed(character) { character } else { '_' })
        .collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Remembers calls by tool and arguments, to notice a model that goes in circles.
///
/// Only calls in a row with the same result count, so that waiting for something to change is possible. Calls
/// whose result is not known yet count as the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Repeats(BTreeMap<Digest, Repeated>);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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

    /// Takes what came of a call, or `None` if nothing is known of it.
    pub(super) fn answered(&mut self, call: &Call, result: Option<Digest>) {
        let Some(seen) = call.key.and_then(|key| self.0.get_mut(&key)) else { return };
        seen.running = seen.running.saturating_sub(1);
        if result.is_some() {
            seen.same = if seen.last == result { seen.same + 1 } else { 1 };
            seen.last = result;
        }
    }
}

pub(super) fn journaled(id: CallId, call: &ToolCallRequest) -> JournaledCall {
    let arguments =
        serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone()));
    JournaledCall { call: id, name: call.name.clone(), arguments }
}
