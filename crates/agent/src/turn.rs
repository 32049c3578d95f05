//! The turn: from a question to an answer, as a machine without IO.
//!
//! Answers of the model, decisions and outcomes go in through `handle_*`; what to do next comes out of
//! [`poll_output`](Turn::poll_output), and what happened out of [`poll_event`](Turn::poll_event). It never
//! executes, asks or waits, and it knows no provider, no transport and no clock.
//!
//! Its invariants: every call of the model is answered by exactly one tool message, in the model's order,
//! whatever became of it; ids of the provider are unique in the conversation; nothing is proposed that does not
//! fit the tool's own schema; and every way to end says why. Where to look next: `turn/arguments.rs` for what
//! counts as arguments, `turn/step.rs` for the calls of one answer, `turn/snapshot.rs` for a turn that outlives its
//! process, `agent` for the driver.

mod arguments;
mod calls;
mod clock;
mod conversation;
mod offer;
mod output;
mod snapshot;
mod step;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_llm::{Capabilities, ChatRequest, Finish, Message, ModelAnswer, Usage};

pub use self::arguments::read_arguments;
use self::calls::{Call, CallState};
use self::clock::Clock;
pub use self::conversation::Conversation;
use self::offer::Offer;
pub use self::output::{Output, Step, StopReason};
pub use self::snapshot::TurnSnapshot;
pub(crate) use self::step::MOST_CHANGES;
use crate::answer::{Answer, CallRecord, CallStatus};
use crate::exposure::{ExposedTool, Exposure};
use crate::integration::{Attached, Pictures};
use crate::journal::{Event, Integration, Selection};
use crate::limits::Limits;
use crate::name::CallId;

/// A question on its way to an answer.
#[derive(Debug)]
pub struct Turn {
    offer: Offer,
    limits: Limits,
    capabilities: Capabilities,
    question: Arc<str>,
    conversation: Conversation,
    state: State,
    outputs: VecDeque<Output>,
    events: VecDeque<Event>,
    records: Vec<Arc<CallRecord>>,
    repeats: calls::Repeats,
    counts: Counts,
    clock: Clock,
    /// Questions of servers that a person is asked at the moment.
    questions: u32,
    notes: Vec<String>,
    /// The answer, once the run is over with one.
    answer: String,
    /// Counts the changes of what a snapshot holds.
    revision: u64,
}

/// What a turn begins with.
#[derive(Debug)]
pub struct TurnOptions {
    /// The tools of the servers.
    pub exposure: Arc<Exposure>,
    /// How far it may go.
    pub limits: Limits,
    /// What was said before.
    pub conversation: Conversation,
    /// What the person asks.
    pub question: String,
    /// What they give beside it.
    pub attachments: Attached,
    /// What the model takes.
    pub capabilities: Capabilities,
}

#[derive(Debug)]
enum State {
    /// The model was asked.
    ExpectAnswer,
    /// Its calls are being decided about and made. `stop` ends the run once all are answered.
    ExpectCalls { calls: Vec<Call>, stop: Option<StopReason> },
    /// The run is over: without an answer for this reason, or with one.
    Over(Option<StopReason>),
}

/// What the limits are about.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Counts {
    steps: u32,
    next_call: u32,
    calls_made: u32,
    corrections: u32,
    empty_answers: u32,
    result_bytes: usize,
    images: u32,
    usage: Usage,
}

impl Turn {
    /// Begins with a question, as the next message of a conversation.
    #[must_use]
    pub fn new(exposure: Arc<Exposure>, limits: Limits, conversation: Conversation, question: &str) -> Self {
        Self::begin(TurnOptions {
            exposure,
            limits,
            conversation,
            question: question.to_owned(),
            attachments: Attached::default(),
            capabilities: Capabilities::UNKNOWN,
        })
    }

    /// Begins with a question, what goes with it, and what is known of the model.
    #[must_use]
    pub fn begin(options: TurnOptions) -> Self {
        let TurnOptions { exposure, limits, conversation, question, attachments, capabilities } = options;
        let mut turn = Self {
            offer: Offer::new(exposure, conversation.is_readable()),
            limits,
            capabilities,
            question: question.as_str().into(),
            counts: Counts { next_call: conversation.calls(), ..Counts::default() },
            conversation,
            state: State::ExpectAnswer,
            outputs: VecDeque::new(),
            events: VecDeque::new(),
            records: Vec::new(),
            repeats: calls::Repeats::default(),
            clock: Clock::default(),
            questions: 0,
            notes: Vec::new(),
            answer: String::new(),
            revision: 0,
        };
        turn.event(Selection::Question { text: question.clone() });
        turn.push_question(question, &attachments);
        turn.ask_model();
        turn
    }

    fn push_question(&mut self, mut text: String, attachments: &Attached) {
        let mut pictures = Pictures { taken: self.capabilities.vision, left: self.limits.images };
        let mut images = Vec::new();
        if !attachments.is_empty() {
            let message = attachments.0.fit(self.limits.step_bytes, &mut pictures);
            text.push_str("\n\n");
            text.push_str(&message.text);
            images = message.images;
            self.counts.images = self.limits.images - pictures.left;
            if message.readable {
                self.offer.readable = true;
                self.conversation.has_readable();
            }
        }
        self.conversation.push(Message::User { text, images });
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

    /// Another number whenever a snapshot holds something else than its time.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether the run is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    /// Takes something that the person should know beside the answer.
    pub fn handle_note(&mut self, text: String) {
        self.revision += 1;
        self.note(text);
    }

    /// Takes the tools as they are now, while the model is to be asked: it is asked with these.
    pub fn handle_tools(&mut self, exposure: Arc<Exposure>) {
        if !matches!(self.state, State::ExpectAnswer) {
            return;
        }
        self.offer = Offer::new(exposure, self.offer.readable);
        self.outputs.clear();
        self.ask_again();
    }

    /// The tools of the servers that the model was offered last.
    #[must_use]
    pub fn exposure(&self) -> &Arc<Exposure> {
        &self.offer.servers
    }

    /// Takes the model's whole answer. Complete calls count, whatever the reason to finish.
    pub fn handle_answer(&mut self, answer: ModelAnswer) {
        self.revision += 1;
        if !matches!(self.state, State::ExpectAnswer) {
            return;
        }
        if let Some(usage) = answer.usage {
            self.count(usage);
        }
        for warning in &answer.warnings {
            self.note(warning.to_string());
        }
        if !answer.tool_calls.is_empty() {
            self.counts.empty_answers = 0;
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

    /// What a provider says it cost is not believed to be small enough to add up.
    fn count(&mut self, usage: Usage) {
        let total = &mut self.counts.usage;
        let add = |total: &mut u64, more: u64| *total = total.saturating_add(more);
        add(&mut total.input_tokens, usage.input_tokens);
        add(&mut total.output_tokens, usage.output_tokens);
        add(&mut total.cached_input_tokens, usage.cached_input_tokens);
        add(&mut total.cache_write_tokens, usage.cache_write_tokens);
    }

    /// An empty answer gets one more try. After that a model that says it is done is believed, visibly.
    fn handle_empty(&mut self, finish: &Finish) {
        self.counts.empty_answers += 1;
        if self.counts.empty_answers == 1 {
            self.event(Selection::Empty { step: self.counts.steps });
            self.ask_model();
        } else if *finish == Finish::Stop {
            self.note("the model returned nothing".to_owned());
            self.finish(ModelAnswer::default());
        } else {
            self.stop(StopReason::Nothing);
        }
    }

    /// Takes that the answer will not do. The same turn goes on, within its limits: the model is told, and asked again.
    pub(crate) fn handle_misfit(&mut self, text: String) {
        self.revision += 1;
        if !matches!(self.state, State::Over(None)) {
            return;
        }
        self.outputs.clear();
        self.answer.clear();
        self.event(Selection::Question { text: text.clone() });
        self.conversation.push(Message::User { text, images: Vec::new() });
        self.ask_model();
    }

    /// Somebody wants it to end. Calls without an outcome are answered as interrupted.
    pub fn handle_interrupt(&mut self) {
        self.revision += 1;
        match &self.state {
            State::Over(_) => {}
            State::ExpectAnswer => {
                self.outputs.clear();
                self.stop(StopReason::Interrupted);
            }
            State::ExpectCalls { .. } => {
                let text = "The call was interrupted; it may have been executed.";
                self.end_calls(StopReason::Interrupted, text, &CallStatus::Interrupted);
            }
        }
    }

    /// So many questions of servers are open, which a person is asked during calls. No time counts meanwhile.
    pub fn handle_questions(&mut self, open: u32) {
        self.questions = open;
    }

    /// Looks at the clock. Call it first whenever something happens, and when [`poll_timeout`](Self::poll_timeout)
    /// says so: the time since the last look counts, unless a person was being asked.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.clock.look(now, self.waits_for_person());
        let Some(limit) = self.limits.wall_clock.filter(|limit| self.clock.active() >= *limit) else {
            return;
        };
        if !self.is_over() {
            self.revision += 1;
        }
        let reason = StopReason::TimeLimit(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        match &self.state {
            State::Over(_) => {}
            State::ExpectAnswer => {
                self.outputs.clear();
                self.stop(reason);
            }
            State::ExpectCalls { .. } => {
                let text = "The call was interrupted, because the time of the run is over; it may have been executed.";
                self.end_calls(reason, text, &CallStatus::Interrupted);
            }
        }
    }

    /// When the time of the run is over, if nothing happens until then. `None` while no time counts.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let limit = self.limits.wall_clock.filter(|_| !self.is_over() && !self.waits_for_person())?;
        self.clock.reaches(limit)
    }

    fn waits_for_person(&self) -> bool {
        let asked = |call: &Call| matches!(call.state, CallState::ExpectPerson);
        self.questions > 0
            || matches!(&self.state, State::ExpectCalls { calls, .. } if calls.iter().any(asked))
    }

    /// How long it has taken, without the time in which a person was asked.
    #[must_use]
    pub fn active_time(&self) -> Duration {
        self.clock.active()
    }

    fn ask_model(&mut self) {
        if self.counts.steps >= self.limits.steps {
            self.stop(StopReason::StepLimit(self.limits.steps));
            return;
        }
        let tokens = self.counts.usage.input_tokens.saturating_add(self.counts.usage.output_tokens);
        if let Some(limit) = self.limits.tokens.filter(|limit| tokens >= *limit) {
            self.stop(StopReason::TokenLimit(limit));
            return;
        }
        self.counts.steps += 1;
        self.ask_again();
    }

    /// Asks the model without counting it.
    fn ask_again(&mut self) {
        self.state = State::ExpectAnswer;
        let request = ChatRequest {
            messages: self.conversation.messages().to_vec(),
            tools: self.offer.definitions(),
            ..ChatRequest::default()
        };
        self.outputs.push_back(Output::AskModel(Step {
            number: self.counts.steps,
            request,
            question: Arc::clone(&self.question),
            exposure: Arc::clone(&self.offer.servers),
            calls: self.records.clone(),
        }));
    }

    fn finish(&mut self, answer: ModelAnswer) {
        self.state = State::Over(None);
        self.event(Integration::Finished {
            text: answer.text.clone(),
            steps: self.counts.steps,
            calls: self.counts.calls_made,
        });
        self.answer.clone_from(&answer.text);
        if !answer.is_empty() {
            self.conversation.push(answer.into_message());
        }
        self.outputs.push_back(Output::Finished(self.answered_with()));
    }

    /// What the run gives, once it is over with an answer.
    fn answered_with(&self) -> Answer {
        Answer {
            text: self.answer.clone(),
            selector: String::new(),
            notes: self.notes.clone(),
            calls: self.records.clone(),
            steps: self.counts.steps,
            usage: self.counts.usage,
        }
    }

    fn stop(&mut self, reason: StopReason) {
        self.state = State::Over(Some(reason.clone()));
        self.event(Integration::Stopped { reason: reason.to_string() });
        self.outputs.push_back(Output::Stopped(reason));
    }

    fn answered(&self, answer: &ModelAnswer, ids: &[CallId]) -> Selection {
        Selection::Answered {
            step: self.counts.steps,
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
