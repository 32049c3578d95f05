//! The turn: from a question to an answer, as a machine without IO.
//!
//! Answers of the model, decisions and outcomes go in through `handle_*`; what to do next comes out of
//! [`poll_output`](Turn::poll_output), and what happened out of [`poll_event`](Turn::poll_event). It never
//! executes, asks or waits, and it knows no provider and no transport.
//!
//! Its invariants: every call of the model is answered by exactly one tool message, in the model's order,
//! whatever became of it; ids of the provider are unique in the conversation; nothing is proposed that does not
//! fit the tool's own schema; and every way to end says why. Where to look next: `turn/arguments.rs` for what
//! counts as arguments, `turn/calls.rs` for the calls of one answer, `agent` for the driver.

mod arguments;
mod calls;
mod conversation;
mod output;

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::value::RawValue;
use switchboard_llm::{ChatRequest, Finish, Message, ModelAnswer, ToolCallRequest, Usage};

use self::calls::{Call, CallState};
pub use self::conversation::Conversation;
pub use self::output::{Output, Step, StopReason};
use crate::answer::{Answer, CallRecord, CallStatus};
use crate::exposure::{ExposedTool, Exposure};
use crate::integration::integrate;
use crate::journal::{Event, Integration, Selection};
use crate::limits::Limits;
use crate::name::CallId;
use crate::outcome::ToolOutcome;
use crate::policy::{Denial, Permit, Proposal};

/// A question on its way to an answer.
#[derive(Debug)]
pub struct Turn {
    exposure: Arc<Exposure>,
    limits: Limits,
    question: Arc<str>,
    conversation: Conversation,
    state: State,
    outputs: VecDeque<Output>,
    events: VecDeque<Event>,
    records: Vec<Arc<CallRecord>>,
    repeats: calls::Repeats,
    steps: u32,
    next_call: u32,
    calls_made: u32,
    corrections: u32,
    empty_answers: u32,
    usage: Usage,
    notes: Vec<String>,
}

#[derive(Debug)]
enum State {
    /// The model was asked.
    ExpectAnswer,
    /// Its calls are being decided about and made. `stop` ends the run once all are answered.
    ExpectCalls { calls: Vec<Call>, stop: Option<StopReason> },
    /// The run is over.
    Over,
}

impl Turn {
    /// Begins with a question, as the next message of a conversation.
    pub fn new(exposure: Arc<Exposure>, limits: Limits, conversation: Conversation, question: &str) -> Self {
        let mut turn = Self {
            exposure,
            limits,
            question: question.into(),
            next_call: conversation.calls(),
            conversation,
            state: State::Over,
            outputs: VecDeque::new(),
            events: VecDeque::new(),
            records: Vec::new(),
            repeats: calls::Repeats::default(),
            steps: 0,
            calls_made: 0,
            corrections: 0,
            empty_answers: 0,
            usage: Usage::default(),
            notes: Vec::new(),
        };
        turn.conversation.push(Message::user(question));
        turn.event(Selection::Question { text: question.to_owned() });
        turn.ask_model();
        turn
    }

    /// What to do next; `None` while the machine waits for what it asked for.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// What happened, for the journal.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The conversation, for a further question. While a run goes on it may end with calls that are not
    /// answered yet.
    #[must_use]
    pub fn into_conversation(self) -> Conversation {
        self.conversation
    }

    /// The conversation so far.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// What became of the calls so far, in the model's order.
    #[must_use]
    pub fn records(&self) -> &[Arc<CallRecord>] {
        &self.records
    }

    /// Whether the run is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Takes something that the person should know beside the answer.
    pub fn handle_note(&mut self, text: String) {
        self.note(text);
    }

    /// Takes the model's whole answer. Complete calls count, whatever the reason to finish.
    pub fn handle_answer(&mut self, answer: ModelAnswer) {
        if !matches!(self.state, State::ExpectAnswer) {
            return;
        }
        if let Some(usage) = answer.usage {
            self.usage.input_tokens += usage.input_tokens;
            self.usage.output_tokens += usage.output_tokens;
            self.usage.cached_input_tokens += usage.cached_input_tokens;
        }
        for warning in &answer.warnings {
            self.note(warning.to_string());
        }
        if !answer.tool_calls.is_empty() {
            self.empty_answers = 0;
            self.begin_calls(answer);
            return;
        }
        self.event(self.answered(&answer, &[]));
        if answer.finish == Finish::ContentFilter {
            self.stop(StopReason::Refused(answer.text));
        } else if answer.is_empty() {
            self.handle_empty(&answer.finish);
        } else {
            if answer.finish == Finish::Length {
                self.note("the answer was cut off: the model reached its limit of tokens".to_owned());
            }
            self.finish(answer);
        }
    }

    /// An empty answer gets one more try. After that a model that says it is done is believed, visibly.
    fn handle_empty(&mut self, finish: &Finish) {
        self.empty_answers += 1;
        if self.empty_answers == 1 {
            self.event(Selection::Empty { step: self.steps });
            self.ask_model();
        } else if *finish == Finish::Stop {
            self.note("the model returned nothing".to_owned());
            self.finish(ModelAnswer::default());
        } else {
            self.stop(StopReason::Nothing);
        }
    }

    /// Takes the decision about a call that was proposed.
    pub fn handle_decision(&mut self, call: CallId, decision: Result<Permit, Denial>) {
        let State::ExpectCalls { calls, stop } = &mut self.state else { return };
        let Some(waiting) = calls.iter_mut().find(|waiting| waiting.id == call) else { return };
        if !matches!(waiting.state, CallState::ExpectDecision) {
            return;
        }
        match decision {
            Ok(permit) => waiting.state = CallState::Permitted(permit),
            Err(denial) => {
                waiting.state = CallState::answered(denial.for_model(), CallStatus::Denied(denial.clone()));
                if denial.ends_run() {
                    *stop = Some(StopReason::ApprovalNeeded(denial));
                }
            }
        }
        self.advance();
    }

    /// Takes what came of a call that was invoked.
    pub fn handle_outcome(&mut self, call: CallId, outcome: ToolOutcome) {
        let State::ExpectCalls { calls, .. } = &mut self.state else { return };
        let Some(waiting) = calls.iter_mut().find(|waiting| waiting.id == call) else { return };
        if !matches!(waiting.state, CallState::ExpectOutcome) {
            return;
        }
        let message = integrate(&outcome, &self.limits);
        self.repeats.answered(waiting, &message.text);
        waiting.state = CallState::Answered {
            text: message.text,
            left_out_bytes: message.left_out_bytes,
            status: CallStatus::of(outcome),
        };
        self.advance();
    }

    /// Somebody wants it to end. Calls without an outcome are answered as interrupted.
    pub fn handle_interrupt(&mut self) {
        self.outputs.clear();
        match &mut self.state {
            State::Over => {}
            State::ExpectAnswer => self.stop(StopReason::Interrupted),
            State::ExpectCalls { calls, stop } => {
                for call in calls {
                    let text = if matches!(call.state, CallState::ExpectOutcome) {
                        "The call was interrupted; it may have been executed."
                    } else {
                        "The call was not made: the run was interrupted."
                    };
                    call.give_up(text, CallStatus::Interrupted);
                }
                *stop = Some(StopReason::Interrupted);
                self.advance();
            }
        }
    }

    fn ask_model(&mut self) {
        if self.steps >= self.limits.steps {
            self.stop(StopReason::StepLimit(self.limits.steps));
            return;
        }
        self.steps += 1;
        self.state = State::ExpectAnswer;
        let request = ChatRequest {
            messages: self.conversation.messages().to_vec(),
            tools: self.exposure.definitions(),
            ..ChatRequest::default()
        };
        self.outputs.push_back(Output::AskModel(Step {
            number: self.steps,
            request,
            question: Arc::clone(&self.question),
            exposure: Arc::clone(&self.exposure),
            calls: self.records.clone(),
        }));
    }

    fn begin_calls(&mut self, answer: ModelAnswer) {
        let ids: Vec<CallId> = answer
            .tool_calls
            .iter()
            .map(|_| {
                self.next_call = self.next_call.saturating_add(1);
                CallId(self.next_call)
            })
            .collect();
        self.event(self.answered(&answer, &ids));
        let (mut calls, mut in_history) = (Vec::new(), Vec::new());
        let mut problem = None;
        let mut stop = None;
        for (id, request) in ids.into_iter().zip(answer.tool_calls) {
            let provider_id = self.conversation.claim_id(&request.id);
            let call = self.begin_call(id, provider_id, &request);
            if let CallState::Answered { text, status: CallStatus::Invalid, .. } = &call.state {
                problem.get_or_insert_with(|| text.clone());
            }
            if matches!(call.state, CallState::Answered { status: CallStatus::OverLimit, .. }) {
                stop = Some(StopReason::CallLimit(self.limits.calls));
            }
            in_history.push(ToolCallRequest::new(&call.provider_id, request.name, call.in_history()));
            calls.push(call);
        }
        self.conversation.push(Message::Assistant {
            text: answer.text,
            thinking: answer.thinking,
            tool_calls: in_history,
        });
        if let Some(exhausted) = self.count_corrections(problem, &calls) {
            stop = stop.or(Some(exhausted));
        }
        if stop.is_some() {
            for call in &mut calls {
                call.give_up("The call was not made: the run ends here.", CallStatus::OverLimit);
            }
        }
        self.state = State::ExpectCalls { calls, stop };
        self.advance();
    }

    /// Counts the answers in a row that hold a call that cannot be made.
    fn count_corrections(&mut self, problem: Option<String>, calls: &[Call]) -> Option<StopReason> {
        let Some(problem) = problem else {
            self.corrections = 0;
            return None;
        };
        if self.corrections == self.limits.corrections {
            return Some(StopReason::Corrections { rounds: self.corrections, problem });
        }
        self.corrections += 1;
        for call in calls {
            if let CallState::Answered { text, status: CallStatus::Invalid, .. } = &call.state {
                let (name, problem, round) = (call.name.clone(), text.clone(), self.corrections);
                self.event(Selection::Corrected { call: call.id, name, problem, round });
            }
        }
        None
    }

    fn begin_call(&mut self, id: CallId, provider_id: String, request: &ToolCallRequest) -> Call {
        let mut call = Call::new(id, provider_id, request.name.clone());
        let exposure = Arc::clone(&self.exposure);
        let (tool, arguments) = match arguments::check(request, &exposure) {
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
        } else if self.calls_made == self.limits.calls {
            let text = format!("The call was not made: the limit of {} calls is reached.", self.limits.calls);
            call.state = CallState::answered(text, CallStatus::OverLimit);
        } else {
            self.calls_made += 1;
            self.repeats.started(&call);
            call.state = CallState::Proposed(Proposal::new(id, tool, arguments.raw));
        }
        call
    }

    /// Proposes one call after the other; once all are decided, invokes those that were permitted; once all
    /// are answered, goes on.
    fn advance(&mut self) {
        let State::ExpectCalls { calls, stop } = &mut self.state else { return };
        if let Some(stop) = stop {
            // The denial or limit that ends the run also ends its other calls.
            for call in calls.iter_mut().filter(|call| !matches!(call.state, CallState::ExpectOutcome)) {
                let ended_by = if *stop == StopReason::Interrupted {
                    CallStatus::Interrupted
                } else {
                    CallStatus::OverLimit
                };
                call.give_up("The call was not made: the run ends here.", ended_by);
            }
        }
        if calls.iter().any(|call| matches!(call.state, CallState::ExpectDecision)) {
            return;
        }
        if let Some(proposal) = calls.iter_mut().find_map(Call::propose) {
            self.outputs.push_back(Output::AskConsent(proposal));
            return;
        }
        self.outputs.extend(calls.iter_mut().filter_map(Call::invoke).map(Output::Invoke));
        if calls.iter().all(|call| matches!(call.state, CallState::Answered { .. })) {
            self.integrate_calls();
        }
    }

    fn integrate_calls(&mut self) {
        let State::ExpectCalls { calls, stop } = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        for call in calls {
            let CallState::Answered { text, left_out_bytes, status } = call.state else { continue };
            self.event(Integration::Added { call: call.id, text: text.clone(), left_out_bytes });
            self.conversation.push(Message::tool(call.provider_id, text));
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

    fn finish(&mut self, answer: ModelAnswer) {
        self.state = State::Over;
        self.event(Integration::Finished {
            text: answer.text.clone(),
            steps: self.steps,
            calls: self.calls_made,
        });
        let text = answer.text.clone();
        if !answer.is_empty() {
            self.conversation.push(answer.into_message());
        }
        self.outputs.push_back(Output::Finished(Answer {
            text,
            selector: String::new(),
            notes: std::mem::take(&mut self.notes),
            calls: self.records.clone(),
            steps: self.steps,
            usage: self.usage,
        }));
    }

    fn stop(&mut self, reason: StopReason) {
        self.state = State::Over;
        self.event(Integration::Stopped { reason: reason.to_string() });
        self.outputs.push_back(Output::Stopped(reason));
    }

    fn answered(&self, answer: &ModelAnswer, ids: &[CallId]) -> Selection {
        Selection::Answered {
            step: self.steps,
            text: answer.text.clone(),
            calls: ids.iter().zip(&answer.tool_calls).map(|(id, call)| calls::journaled(*id, call)).collect(),
            finish: answer.finish.clone(),
            usage: answer.usage,
        }
    }

    fn note(&mut self, text: String) {
        self.event(Selection::Note { text: text.clone() });
        self.notes.push(text);
    }

    fn event(&mut self, event: impl Into<Event>) {
        self.events.push_back(event.into());
    }
}

/// Arguments that a person or a program gives for a tool, or what is wrong with them.
pub(crate) fn checked_arguments(tool: &ExposedTool, arguments: &RawValue) -> Result<Box<RawValue>, String> {
    arguments::fit(tool, arguments.get())
}

#[cfg(test)]
mod tests;
