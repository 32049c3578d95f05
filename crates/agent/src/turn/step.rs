//! The calls of one answer: checked, decided about, made, and answered in the model's order.
//!
//! All calls are put up for a decision at once. Where a rule decides, that takes no time; where a person is asked, the
//! calls that need nobody are made meanwhile, so that a slow answer holds up nothing but its own server: within one
//! server, calls begin in the model's order. Nothing is made before every rule has spoken, because what a rule says may
//! end the run.

use std::sync::Arc;

use switchboard_llm::{Message, ModelAnswer, ToolCallRequest};

use super::calls::{Call, CallState};
use super::{Output, State, StopReason, Turn, arguments};
use crate::answer::{CallRecord, CallStatus};
use crate::exposure::Exposure;
use crate::integration::{Content, Pictures, Returned, ToolMessage, shares};
use crate::journal::{Integration, Selection};
use crate::name::CallId;
use crate::policy::{Denial, Permit, Proposal};

/// Bytes that every result gets, even if the budget of the step or the run is used up.
const LEAST: usize = 512;

/// How often a call is decided about again because its tool has changed.
pub(crate) const MOST_CHANGES: u32 = 3;

/// What is said of a call that the end of the run leaves unmade.
const RUN_ENDS: &str = "The call was not made: the run ends here.";

impl Turn {
    /// A person is asked about a call that was proposed: the decision will take its time.
    pub fn handle_asked(&mut self, call: CallId) {
        if let Some(waiting) = self.call(call).filter(|call| matches!(call.state, CallState::ExpectDecision))
        {
            waiting.state = CallState::ExpectPerson;
            self.advance();
        }
    }

    /// Takes the decision about a call that was proposed.
    pub fn handle_decision(&mut self, call: CallId, decision: Result<Permit, Denial>) {
        self.revision += 1;
        let State::ExpectCalls { calls, stop } = &mut self.state else { return };
        let Some(waiting) = calls.iter_mut().find(|waiting| waiting.id == call) else { return };
        if !waiting.is_open() {
            return;
        }
        match decision {
            Ok(permit) => waiting.state = CallState::Permitted(permit),
            Err(denial) => {
                waiting.state = CallState::answered(denial.for_model(), CallStatus::Denied(denial.clone()));
                if denial.ends_run() {
                    stop.get_or_insert(StopReason::ApprovalNeeded(denial));
                }
            }
        }
        self.advance();
    }

    /// Takes what came of a call that was invoked.
    pub fn handle_outcome(&mut self, call: CallId, outcome: impl Into<Returned>) {
        self.revision += 1;
        let State::ExpectCalls { calls, .. } = &mut self.state else { return };
        let Some(waiting) = calls.iter_mut().find(|waiting| waiting.id == call) else { return };
        if !matches!(waiting.state, CallState::ExpectOutcome) {
            return;
        }
        let Returned { outcome, content, problem } = outcome.into();
        self.repeats.answered(waiting, Some(content.fingerprint()));
        waiting.state = CallState::Answered { content, status: CallStatus::of(outcome) };
        if let Some(problem) = problem {
            self.note(problem);
        }
        self.advance();
    }

    /// Takes that a call was not made, because its tool is another one by now: of the tools that are there, it is checked
    /// against that one and put up for a decision once more. `unmade` is what becomes of it where it would go on for
    /// ever.
    pub fn handle_changed(&mut self, call: CallId, exposure: &Exposure, unmade: impl Into<Returned>) {
        self.revision += 1;
        let State::ExpectCalls { calls, .. } = &mut self.state else { return };
        let Some(waiting) = calls.iter_mut().find(|waiting| waiting.id == call) else { return };
        if !waiting.is_open() && !matches!(waiting.state, CallState::ExpectOutcome) {
            return;
        }
        if waiting.changes >= MOST_CHANGES {
            waiting.state = CallState::ExpectOutcome;
            return self.handle_outcome(call, unmade);
        }
        waiting.changes += 1;
        waiting.check_again(exposure);
        if waiting.is_answered() {
            let waiting = &*waiting;
            self.repeats.answered(waiting, None);
        }
        self.advance();
    }

    /// The person cancels one call. The run goes on, and the model is told.
    pub fn handle_cancel(&mut self, call: CallId) {
        self.revision += 1;
        let unsent = |output: &Output| match output {
            Output::AskConsent(proposal) => proposal.call == call,
            Output::Invoke(permit) => permit.proposal().call == call,
            _ => false,
        };
        let unsent = self.outputs.iter().position(unsent);
        let Some(waiting) = self.call(call).filter(|call| !call.is_answered()) else { return };
        let made = matches!(waiting.state, CallState::ExpectOutcome) && unsent.is_none();
        let known = made || (waiting.is_open() && unsent.is_none());
        let text = if made {
            "The person cancelled the call; the server may still be running it."
        } else {
            "The call was not made: the person cancelled it."
        };
        waiting.give_up(text, CallStatus::Cancelled);
        if let Some(unsent) = unsent {
            self.outputs.remove(unsent);
        }
        if known {
            self.outputs.push_back(Output::Cancel(call));
        }
        self.advance();
    }

    fn call(&mut self, call: CallId) -> Option<&mut Call> {
        match &mut self.state {
            State::ExpectCalls { calls, .. } => calls.iter_mut().find(|waiting| waiting.id == call),
            _ => None,
        }
    }

    /// Answers everything that is open, because the run ends now. Calls that run may have been executed.
    pub(super) fn end_calls(&mut self, reason: StopReason, text: &str, status: &CallStatus) {
        self.outputs.clear();
        let State::ExpectCalls { calls, stop } = &mut self.state else { return };
        for call in calls {
            let text = if matches!(call.state, CallState::ExpectOutcome) { text } else { RUN_ENDS };
            call.give_up(text, status.clone());
        }
        *stop = Some(reason);
        self.advance();
    }

    pub(super) fn begin_calls(&mut self, mut answer: ModelAnswer) {
        // An answer with more calls than a whole run may make is none; what it says beyond that is not even kept.
        let most = usize::try_from(self.limits.calls).unwrap_or(usize::MAX).max(1);
        let flood = answer.tool_calls.len() > most;
        answer.tool_calls.truncate(most);
        let ids: Vec<CallId> = answer.tool_calls.iter().map(|_| self.next_id()).collect();
        self.event(self.answered(&answer, &ids));
        let mut calls: Vec<Call> = Vec::new();
        for (id, request) in ids.into_iter().zip(&answer.tool_calls) {
            let provider_id = self.conversation.claim_id(&request.id);
            calls.push(self.begin_call(id, provider_id, request));
        }
        self.conversation.push(Message::Assistant {
            text: answer.text,
            thinking: answer.thinking,
            tool_calls: calls.iter().map(Call::in_history).collect(),
            reasoning: answer.reasoning,
        });
        let over =
            |call: &Call| matches!(call.state, CallState::Answered { status: CallStatus::OverLimit, .. });
        let over = flood || calls.iter().any(over);
        let exhausted = self.count_corrections(&calls);
        let stop = if over { Some(StopReason::CallLimit(self.limits.calls)) } else { exhausted };
        self.state = State::ExpectCalls { calls, stop };
        self.advance();
    }

    fn next_id(&mut self) -> CallId {
        self.counts.next_call = self.counts.next_call.saturating_add(1);
        CallId(self.counts.next_call)
    }

    /// Counts the answers in a row that hold a call that cannot be made.
    fn count_corrections(&mut self, calls: &[Call]) -> Option<StopReason> {
        let Some(problem) = calls.iter().find_map(Call::problem) else {
            self.counts.corrections = 0;
            return None;
        };
        if self.counts.corrections == self.limits.corrections {
            return Some(StopReason::Corrections { rounds: self.counts.corrections, problem });
        }
        self.counts.corrections += 1;
        for call in calls {
            if let Some(problem) = call.problem() {
                let (name, round) = (call.name.clone(), self.counts.corrections);
                self.event(Selection::Corrected { call: call.id, name, problem, round });
            }
        }
        None
    }

    fn begin_call(&mut self, id: CallId, provider_id: String, request: &ToolCallRequest) -> Call {
        let mut call = Call::new(id, provider_id, request.name.clone());
        let (tool, arguments) = match arguments::check(request, &self.offer) {
            Ok(checked) => checked,
            Err(problem) => {
                call.state = CallState::answered(problem, CallStatus::Invalid);
                return call;
            }
        };
        call.tool = Some((tool.server().clone(), tool.tool().name.clone()));
        call.arguments = Some(arguments.raw.clone());
        if self.repeats.repeats(&mut call, &arguments.value, self.limits.identical_calls) {
            self.event(Selection::Repeated { call: id, name: call.name.clone() });
            let text = "The call was not made again: the same call with the same arguments has given the same \
                        result before. Use that result, or change the arguments.";
            call.state = CallState::answered(text, CallStatus::Repeated);
        } else if self.counts.calls_made == self.limits.calls {
            let text = format!("The call was not made: the limit of {} calls is reached.", self.limits.calls);
            call.state = CallState::answered(text, CallStatus::OverLimit);
        } else {
            let proposal = Proposal::new(id, tool, arguments.raw);
            self.counts.calls_made += 1;
            self.repeats.started(&call);
            call.state = CallState::Proposed(proposal);
        }
        call
    }

    /// Does what can be done now, and goes on once all calls are answered.
    pub(super) fn advance(&mut self) {
        let State::ExpectCalls { calls, stop } = &mut self.state else { return };
        if let Some(stop) = stop {
            // The denial or limit that ends the run also ends its other calls.
            let status = match stop {
                StopReason::Interrupted => CallStatus::Interrupted,
                _ => CallStatus::OverLimit,
            };
            for call in calls.iter_mut().filter(|call| !matches!(call.state, CallState::ExpectOutcome)) {
                let withdrawn = call.is_open().then_some(Output::Cancel(call.id));
                self.outputs.extend(withdrawn);
                call.give_up(RUN_ENDS, status.clone());
            }
        }
        self.outputs.extend(calls.iter_mut().filter_map(Call::propose).map(Output::AskConsent));
        if !calls.iter().any(|call| matches!(call.state, CallState::ExpectDecision)) {
            let mut held = Vec::new();
            for call in calls.iter_mut() {
                let server = call.tool.as_ref().map(|(server, _)| server.clone());
                if matches!(call.state, CallState::ExpectPerson) {
                    held.extend(server);
                } else if server.is_none_or(|server| !held.contains(&server)) {
                    self.outputs.extend(call.invoke().map(Output::Invoke));
                }
            }
        }
        if calls.iter().all(Call::is_answered) {
            self.integrate_calls();
        }
    }

    fn integrate_calls(&mut self) {
        let State::ExpectCalls { calls, stop } = std::mem::replace(&mut self.state, State::Over(None)) else {
            return;
        };
        let contents: Vec<&Content> = calls
            .iter()
            .filter_map(|call| match &call.state {
                CallState::Answered { content, .. } => Some(content),
                _ => None,
            })
            .collect();
        let messages = self.fit(&contents);
        for (call, message) in calls.into_iter().zip(messages) {
            let CallState::Answered { status, .. } = call.state else { continue };
            self.answer_call(call.id, call.provider_id, message);
            self.records.push(Arc::new(CallRecord {
                call: call.id,
                name: call.name,
                tool: call.tool,
                arguments: call.arguments,
                status,
            }));
        }
        match stop {
            Some(reason) => self.stop(reason),
            None => self.ask_model(),
        }
    }

    /// Cuts the results to the budgets of result, step and run: the longest first.
    fn fit(&mut self, contents: &[&Content]) -> Vec<ToolMessage> {
        let left = self.limits.run_bytes.saturating_sub(self.counts.result_bytes);
        let asked: Vec<usize> =
            contents.iter().map(|content| content.bytes().min(self.limits.result_bytes)).collect();
        let given = shares(&asked, self.limits.step_bytes.min(left));
        let mut pictures = Pictures {
            taken: self.capabilities.vision,
            left: self.limits.images.saturating_sub(self.counts.images),
        };
        let fit = |(content, share): (&&Content, usize)| {
            content.fit(share.max(LEAST).min(self.limits.result_bytes), &mut pictures)
        };
        let messages: Vec<ToolMessage> = contents.iter().zip(given).map(fit).collect();
        let bytes: usize = messages.iter().map(|message| message.text.len()).sum();
        self.counts.images = self.limits.images.saturating_sub(pictures.left).max(self.counts.images);
        if left > 0 && bytes >= left {
            let limit = self.limits.run_bytes;
            self.note(format!(
                "the results of this run have filled their {limit} bytes; further ones are cut to a few lines: ask \
                 for less, or raise the limit of bytes of a run"
            ));
        }
        self.counts.result_bytes = self.counts.result_bytes.saturating_add(bytes);
        messages
    }

    fn answer_call(&mut self, call: CallId, call_id: String, message: ToolMessage) {
        let ToolMessage { text, images, left_out_bytes, failed, readable, .. } = message;
        self.event(Integration::Added { call, text: text.clone(), left_out_bytes });
        if readable {
            self.offer.readable = true;
            self.conversation.has_readable();
        }
        self.conversation.push(Message::Tool { call_id, text, images, is_error: failed });
    }
}
