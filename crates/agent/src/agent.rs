//! The driver: runs a turn with a selector, a policy and servers.
//!
//! All decisions are in `turn` and `policy`; this file moves values between them, waits, and records what
//! happened. Where to look next: `agent/build.rs` for how an agent is made, `agent/discovery.rs` for the first
//! three stages.

mod build;
mod discovery;
mod interrupt;

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::value::RawValue;
use switchboard_llm::{ModelAnswer, ModelEvent};
use switchboard_protocol::model::tool::CallToolResult;
use tokio::sync::OnceCell;

pub use self::build::AgentBuilder;
pub use self::interrupt::Interrupt;
use crate::answer::Answer;
use crate::error::{AgentError, ErrorKind};
use crate::exposure::Exposure;
use crate::journal::{Integration, Journal, Selection};
use crate::limits::Limits;
use crate::name::{CallId, ServerName};
use crate::policy::{Gate, Proposal, RunGrants};
use crate::selector::{Selected, Selector};
use crate::turn::{Conversation, Output, Step, Turn};

/// The host: answers questions with the tools of its servers.
///
/// Runs may go on at the same time. Dropping the future of a run cancels everything that it waits for.
pub struct Agent {
    gate: Gate,
    absent: Vec<ServerName>,
    selector: Box<dyn Selector>,
    limits: Limits,
    journal: Journal,
    instructions: String,
    interrupt: Interrupt,
    discovered: OnceCell<Arc<Exposure>>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("selector", &self.selector.name()).finish_non_exhaustive()
    }
}

impl Agent {
    /// Answers one question.
    ///
    /// # Errors
    /// When there is no answer: see [`ErrorKind`].
    pub async fn run(&self, question: &str) -> Result<Answer, AgentError> {
        self.run_in(&mut self.conversation(), question).await
    }

    /// A conversation that begins with the instructions of this agent.
    #[must_use]
    pub fn conversation(&self) -> Conversation {
        if self.instructions.is_empty() {
            Conversation::default()
        } else {
            Conversation::with_instructions(&self.instructions)
        }
    }

    /// Answers one question as part of a conversation, which is longer afterwards. If the future is dropped it
    /// stays as it was.
    ///
    /// # Errors
    /// When there is no answer: see [`ErrorKind`].
    pub async fn run_in(
        &self,
        conversation: &mut Conversation,
        question: &str,
    ) -> Result<Answer, AgentError> {
        let exposure = self.tools().await?;
        let mut turn = Turn::new(exposure, self.limits.clone(), conversation.clone(), question);
        let mut result = tokio::select! {
            result = self.drive(&mut turn) => result,
            () = self.interrupt.triggered() => {
                turn.handle_interrupt();
                Err(interrupted())
            }
        };
        self.record(&mut turn);
        if let (Err(error), false) = (&result, turn.is_over()) {
            self.journal.record(Integration::Stopped { reason: error.to_string() });
        }
        if let Ok(answer) = &mut result {
            answer.selector = self.selector.name().to_owned();
        }
        *conversation = turn.into_conversation();
        result
    }

    /// The loop: does what the turn says and tells it what came of it.
    async fn drive(&self, turn: &mut Turn) -> Result<Answer, AgentError> {
        let grants = RunGrants::default();
        let mut running = FuturesUnordered::new();
        loop {
            self.record(turn);
            match turn.poll_output() {
                Some(Output::AskModel(step)) => {
                    let (answer, notes) = self.ask(step).await?;
                    notes.into_iter().for_each(|note| turn.handle_note(note));
                    turn.handle_answer(answer);
                }
                Some(Output::AskConsent(proposal)) => {
                    let call = proposal.call;
                    turn.handle_decision(call, self.gate.authorize(proposal, &grants).await);
                }
                Some(Output::Invoke(permit)) => {
                    let call = permit.proposal().call;
                    running.push(async move { (call, self.gate.invoke(permit).await) });
                }
                Some(Output::Finished(answer)) => return Ok(answer),
                Some(Output::Stopped(reason)) => return Err(reason.into()),
                None => match running.next().await {
                    Some((call, outcome)) => turn.handle_outcome(call, outcome),
                    // Would be a fault of ours: the turn waits for something that was never asked for.
                    None => {
                        return Err(AgentError::new(ErrorKind::ModelFailed, "the run came to a standstill"));
                    }
                },
            }
        }
    }

    /// Asks the selector and shows what it says as it says it.
    async fn ask(&self, step: Step) -> Result<(ModelAnswer, Vec<String>), AgentError> {
        self.journal.record(Selection::Asked {
            step: step.number,
            selector: self.selector.name().to_owned(),
            messages: step.request.messages.len(),
            tools: step.request.tools.len(),
        });
        let mut events = self.selector.select(step);
        let (mut answer, mut notes) = (ModelAnswer::default(), Vec::new());
        while let Some(selected) = events.next().await {
            match selected? {
                Selected::Note(text) => notes.push(text),
                Selected::Event(event) => {
                    match &event {
                        ModelEvent::TextDelta(text) => {
                            self.journal.record(Selection::TextDelta { text: text.clone() });
                        }
                        ModelEvent::ThinkingDelta(text) => {
                            self.journal.record(Selection::ThinkingDelta { text: text.clone() });
                        }
                        ModelEvent::CallStart { name, .. } => {
                            self.journal.record(Selection::CallStarted { name: name.clone() });
                        }
                        _ => {}
                    }
                    answer.apply(event);
                }
            }
        }
        Ok((answer, notes))
    }

    /// Makes one call that a person or a program asks for by name, through the same checks and the same policy
    /// as a model's.
    ///
    /// # Errors
    /// When there is no such tool, the arguments do not fit, the call is not allowed, or it fails.
    pub async fn call(
        &self,
        server: &ServerName,
        tool: &str,
        arguments: Box<RawValue>,
    ) -> Result<CallToolResult, AgentError> {
        let exposure = self.tools().await?;
        let exposed = exposure
            .by_origin(server, tool)
            .ok_or_else(|| discovery::no_such_tool(&exposure, server, tool))?;
        let arguments = crate::turn::checked_arguments(exposed, &arguments)
            .map_err(|problem| AgentError::new(ErrorKind::Configuration, problem).at(server))?;
        let proposal = Proposal::new(CallId(1), exposed, arguments);
        let made = async {
            let permit = self.gate.authorize(proposal, &RunGrants::default()).await?;
            Ok::<_, AgentError>(self.gate.invoke(permit).await)
        };
        let outcome = tokio::select! {
            outcome = made => outcome?,
            () = self.interrupt.triggered() => return Err(interrupted()),
        };
        AgentError::unless_result((server, tool), &outcome).cloned()
    }

    fn record(&self, turn: &mut Turn) {
        while let Some(event) = turn.poll_event() {
            self.journal.record(event);
        }
    }
}

fn interrupted() -> AgentError {
    AgentError::new(ErrorKind::Interrupted, "interrupted")
}

#[cfg(test)]
mod tests;
