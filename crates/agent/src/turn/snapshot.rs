//! A turn as it can be written down, and a turn that goes on from there.
//!
//! What was answered stays. A call that was being made gets *outcome unknown* as its answer, because the host cannot
//! know; it is never made again by itself. A call that was not made yet is checked again, against the tools as they
//! are now, and proposed again with its number and its very arguments: so an approval that is still open is for the
//! same digest. A driver must take the snapshot after it was told to make a call and before it makes it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_llm::{Capabilities, ToolCallRequest};

use super::calls::{Call, CallState, Repeats};
use super::clock::Clock;
use super::offer::Offer;
use super::{Conversation, Counts, Output, State, StopReason, Turn, arguments};
use crate::answer::{CallRecord, CallStatus};
use crate::digest::Digest;
use crate::exposure::Exposure;
use crate::integration::Content;
use crate::journal::{MASK, Selection};
use crate::limits::Limits;
use crate::name::{CallId, ServerName};
use crate::policy::Proposal;

/// The form that is written.
const VERSION: u32 = 1;

const UNKNOWN: &str = "The outcome of the call is not known: the host ended while it was being made. It may have been \
                       executed. Find out whether it was before you make it again.";

const NOT_WHOLE: &str = "The call was not made: the host ended before it could be, and its arguments held a secret that is \
                         not kept. Make it again if it is still needed.";

const ROUND_NOT_WHOLE: &str = "The call cannot go on: the host ended while it waited for an answer, and what belongs to it \
                               held a secret that is not kept. A part of it may have been executed. Find out what was \
                               before you make it again.";

/// A turn as it can be written down, as JSON. Restored by [`Turn::restore`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TurnSnapshot {
    version: u32,
    question: String,
    conversation: Conversation,
    capabilities: Capabilities,
    state: SavedState,
    records: Vec<Arc<CallRecord>>,
    repeats: Repeats,
    counts: Counts,
    active_ms: u64,
    notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedState {
    ExpectAnswer,
    ExpectCalls { calls: Vec<SavedCall>, stop: Option<StopReason> },
    Answered { text: String },
    Stopped(StopReason),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedCall {
    id: CallId,
    provider_id: String,
    name: String,
    tool: Option<(ServerName, String)>,
    arguments: Option<Box<RawValue>>,
    /// That of the arguments as they are sent: what is kept of them may be masked.
    #[serde(default)]
    whole: Option<Digest>,
    key: Option<Digest>,
    state: SavedCallState,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedCallState {
    /// Not made.
    Open,
    /// Being made.
    InFlight,
    Answered(Box<(Content, CallStatus)>),
}

impl TurnSnapshot {
    /// Whether this host can read it.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.version == VERSION
    }

    /// The same, but calls that were being made and wait for an answer of the person count as not made: they go on with
    /// the answer, unless what belongs to them is not kept whole. `waits` is whether it is, where there is something to
    /// wait for.
    pub(crate) fn reopened(mut self, waits: impl Fn(CallId) -> Option<bool>) -> Self {
        if let SavedState::ExpectCalls { calls, .. } = &mut self.state {
            for call in calls.iter_mut().filter(|call| matches!(call.state, SavedCallState::InFlight)) {
                call.state = match waits(call.id) {
                    None => continue,
                    Some(whole) if whole && call.is_whole() => SavedCallState::Open,
                    Some(_) => SavedCallState::lost(),
                };
            }
        }
        self
    }

    /// The calls that cannot go on, because a secret in their arguments is not kept.
    pub(crate) fn lost(&self) -> impl Iterator<Item = CallId> {
        let calls = match &self.state {
            SavedState::ExpectCalls { calls, .. } => calls.as_slice(),
            _ => &[],
        };
        calls.iter().filter(|call| !call.is_whole()).map(|call| call.id)
    }

    /// What the person asked.
    #[must_use]
    pub fn question(&self) -> &str {
        &self.question
    }

    /// The conversation so far.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }
}

impl SavedCallState {
    /// It cannot go on.
    fn lost() -> Self {
        let content = Content::said(ROUND_NOT_WHOLE, ROUND_NOT_WHOLE.len());
        Self::Answered(Box::new((content, CallStatus::Unknown)))
    }
}

impl SavedCall {
    fn of(call: &Call) -> Self {
        let state = match &call.state {
            CallState::Proposed(_)
            | CallState::ExpectDecision
            | CallState::ExpectPerson
            | CallState::Permitted(_) => SavedCallState::Open,
            CallState::ExpectOutcome => SavedCallState::InFlight,
            CallState::Answered { content, status } => {
                SavedCallState::Answered(Box::new((content.clone(), status.clone())))
            }
        };
        Self {
            id: call.id,
            provider_id: call.provider_id.clone(),
            name: call.name.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            whole: call.arguments.as_deref().map(digest),
            key: call.key,
            state,
        }
    }

    /// Whether its arguments are those that would be sent.
    fn is_whole(&self) -> bool {
        match (&self.arguments, self.whole) {
            (Some(arguments), Some(whole)) => digest(arguments) == whole,
            // An earlier version has not written it down.
            (Some(arguments), None) => !arguments.get().contains(MASK),
            (None, _) => true,
        }
    }

    fn restore(self, offer: &Offer) -> Call {
        let is_whole = self.is_whole();
        let state = match self.state {
            SavedCallState::Open if !is_whole => CallState::answered(NOT_WHOLE, CallStatus::Interrupted),
            SavedCallState::Open => reopened(self.id, &self.name, self.arguments.as_deref(), offer),
            SavedCallState::InFlight => CallState::answered(UNKNOWN, CallStatus::Unknown),
            SavedCallState::Answered(answered) => {
                let (content, status) = *answered;
                CallState::Answered { content, status }
            }
        };
        let Self { id, provider_id, name, tool, arguments, key, .. } = self;
        Call { id, provider_id, name, tool, arguments, key, changes: 0, state }
    }
}

fn digest(arguments: &RawValue) -> Digest {
    Digest::of(&[b"arguments", arguments.get().as_bytes()])
}

/// A call that was not made, checked against the tools as they are now.
fn reopened(id: CallId, name: &str, arguments: Option<&RawValue>, offer: &Offer) -> CallState {
    let request = ToolCallRequest::new("", name, arguments.map_or("{}", RawValue::get));
    match arguments::check(&request, offer) {
        Ok((tool, arguments)) => CallState::Proposed(Proposal::new(id, tool, arguments.raw)),
        Err(problem) => {
            let text = format!("The tools have changed since the call was written. {problem}");
            CallState::answered(text, CallStatus::Invalid)
        }
    }
}

impl Turn {
    /// The turn as it is now.
    #[must_use]
    pub fn snapshot(&self) -> TurnSnapshot {
        let state = match &self.state {
            State::ExpectAnswer => SavedState::ExpectAnswer,
            State::ExpectCalls { calls, stop } => SavedState::ExpectCalls {
                calls: calls.iter().map(SavedCall::of).collect(),
                stop: stop.clone(),
            },
            State::Over(Some(reason)) => SavedState::Stopped(reason.clone()),
            State::Over(None) => SavedState::Answered { text: self.answer.clone() },
        };
        TurnSnapshot {
            version: VERSION,
            question: self.question.to_string(),
            conversation: self.conversation.clone(),
            capabilities: self.capabilities.clone(),
            state,
            records: self.records.clone(),
            repeats: self.repeats.clone(),
            counts: self.counts,
            active_ms: u64::try_from(self.clock.active().as_millis()).unwrap_or(u64::MAX),
            notes: self.notes.clone(),
        }
    }

    /// A turn that goes on from a snapshot, with the tools and limits as they are now. It has no events of what
    /// happened before.
    #[must_use]
    pub fn restore(exposure: Arc<Exposure>, limits: Limits, saved: TurnSnapshot) -> Self {
        let mut turn = Self {
            offer: Offer::new(exposure, saved.conversation.is_readable()),
            limits,
            capabilities: saved.capabilities,
            question: saved.question.into(),
            conversation: saved.conversation,
            state: State::ExpectAnswer,
            outputs: VecDeque::new(),
            events: VecDeque::new(),
            records: saved.records,
            repeats: saved.repeats,
            counts: saved.counts,
            clock: Clock::resumed(Duration::from_millis(saved.active_ms)),
            questions: 0,
            notes: saved.notes,
            answer: String::new(),
            revision: 0,
        };
        match saved.state {
            SavedState::ExpectAnswer => turn.ask_again(),
            SavedState::ExpectCalls { calls, stop } => turn.resume_calls(calls, stop),
            SavedState::Answered { text } => {
                turn.answer = text;
                turn.state = State::Over(None);
                turn.outputs.push_back(Output::Finished(turn.answered_with()));
            }
            SavedState::Stopped(reason) => {
                turn.state = State::Over(Some(reason.clone()));
                turn.outputs.push_back(Output::Stopped(reason));
            }
        }
        turn
    }

    fn resume_calls(&mut self, calls: Vec<SavedCall>, stop: Option<StopReason>) {
        let calls: Vec<Call> = calls.into_iter().map(|call| call.restore(&self.offer)).collect();
        for call in &calls {
            if let CallState::Answered { status: CallStatus::Unknown, .. } = call.state {
                let text = format!(
                    "the outcome of {} {} is not known: the host ended meanwhile",
                    call.id, call.name
                );
                self.event(Selection::Note { text: text.clone() });
                self.notes.push(text);
            }
        }
        self.state = State::ExpectCalls { calls, stop };
        self.advance();
    }
}
