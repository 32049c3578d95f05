//! The driver: runs a turn with a selector, a policy and servers.
//!
//! All decisions are in `turn` and `policy`; this file moves values between them, waits, and records what
//! happened. Where to look next: `agent/build.rs` for how an agent is made, `agent/discovery.rs` for the first
//! three stages.

mod attached;
mod build;
mod compiled;
mod declared;
mod discovery;
mod drive;
mod interrupt;
mod questions;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::value::RawValue;
use switchboard_llm::{ModelAnswer, ModelEvent, SchemaDialect};
use switchboard_protocol::model::tool::CallToolResult;
use tokio::sync::{Mutex, watch};

pub use self::build::AgentBuilder;
pub(crate) use self::build::INSTRUCTIONS;
pub(crate) use self::compiled::Compiled;
use self::discovery::Known;
use self::drive::Unwatched;
pub(crate) use self::drive::Watch;
pub use self::interrupt::Interrupt;
use crate::answer::Answer;
use crate::error::{AgentError, ErrorKind};
use crate::exposure::{Exposure, ToolFilter};
use crate::integration::{Attached, Keeper};
use crate::journal::{Integration, Journal, Selection};
use crate::limits::Limits;
use crate::name::{CallId, ServerName};
use crate::outcome::ToolOutcome;
use crate::policy::{Authority, DenialReason, Gate, Proposal, Scope, exchange};
use crate::selector::{Selected, Selector};
use crate::turn::{Conversation, MOST_CHANGES, Step, Turn, TurnOptions};

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
    dialect: SchemaDialect,
    offered: Vec<String>,
    scope: Scope,
    filters: BTreeMap<ServerName, ToolFilter>,
    without_servers: bool,
    keeper: Option<Keeper>,
    open_questions: watch::Sender<u32>,
    compiled: Compiled,
    known: Mutex<Option<Known>>,
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

    /// What decides about calls: rules, pins, and what the person said before.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        self.gate.authority()
    }

    /// What reaches the servers.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
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
        let asked = self.tools_now();
        let exposure = tokio::select! {
            exposure = asked => exposure?,
            () = self.interrupt.triggered() => return Err(interrupted()),
        };
        let mut turn = Turn::begin(self.turn(exposure, conversation.clone(), question.to_owned()));
        let result = self.run_turn(&mut turn, &Unwatched).await;
        *conversation = turn.into_conversation();
        result
    }

    /// What a turn of this agent begins with.
    pub(crate) fn turn(
        &self,
        exposure: Arc<Exposure>,
        conversation: Conversation,
        question: String,
    ) -> TurnOptions {
        TurnOptions {
            exposure,
            limits: self.limits.clone(),
            conversation,
            question,
            attachments: Attached::default(),
            capabilities: self.selector.capabilities(),
        }
    }

    /// Carries a turn to its end, also one that an earlier process began.
    pub(crate) async fn run_turn(&self, turn: &mut Turn, watch: &dyn Watch) -> Result<Answer, AgentError> {
        let mut result = tokio::select! {
            result = self.drive(turn, watch) => result,
            () = self.interrupt.triggered() => {
                turn.handle_interrupt();
                Err(interrupted())
            }
        };
        self.record(turn);
        // Where this is not kept, the run is what it was before: nothing more comes of it.
        let _ = watch.turned(turn, None);
        if let (Err(error), false) = (&result, turn.is_over()) {
            self.journal.record(Integration::Stopped { reason: error.to_string() });
        }
        if let Ok(answer) = &mut result {
            answer.selector = self.selector.name().to_owned();
        }
        result
    }

    /// Asks the selector and shows what it says as it says it.
    async fn ask(&self, step: Step) -> Result<(ModelAnswer, Vec<String>), AgentError> {
        self.journal.record(Selection::Asked {
            step: step.number,
            selector: self.selector.name().to_owned(),
            messages: step.request.messages.len(),
            tools: step.request.tools.len(),
        });
        let (number, mut begun) = (step.number, false);
        let mut events = self.selector.select(step);
        let (mut answer, mut notes) = (ModelAnswer::default(), Vec::new());
        while let Some(selected) = events.next().await {
            match selected? {
                Selected::Note(text) => notes.push(text),
                Selected::Event(event) => {
                    if !begun && is_piece(&event) {
                        begun = true;
                        self.journal.record(Selection::FirstToken { step: number });
                    }
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
        let mut exposure = self.tools().await?;
        let mut changes = 0;
        let made = async {
            loop {
                let outcome = self.call_of(&exposure, (server, tool), &arguments).await?;
                if !outcome.has_changed() || changes >= MOST_CHANGES {
                    return Ok(outcome);
                }
                changes += 1;
                match self.tools_of(server).await {
                    Some(now) => exposure = now,
                    None => return Ok::<_, AgentError>(outcome),
                }
            }
        };
        let outcome = tokio::select! {
            outcome = made => outcome?,
            () = self.interrupt.triggered() => return Err(interrupted()),
        };
        AgentError::unless_result((server, tool), &outcome).cloned()
    }

    /// One call of a tool as it is among these.
    async fn call_of(
        &self,
        exposure: &Exposure,
        (server, tool): (&ServerName, &str),
        arguments: &RawValue,
    ) -> Result<ToolOutcome, AgentError> {
        let exposed = exposure
            .by_origin(server, tool)
            .ok_or_else(|| discovery::no_such_tool(exposure, server, tool))?;
        let arguments = crate::turn::checked_arguments(exposed, arguments)
            .map_err(|problem| AgentError::new(ErrorKind::Configuration, problem).at(server))?;
        let proposal = Proposal::new(CallId(1), exposed, arguments);
        match self.gate.authorize(proposal, &Scope::run()).await {
            Ok(permit) => Ok(self.gate.invoke(permit).await),
            Err(denial) if denial.reason == DenialReason::OtherThanShown => Ok(exchange::changed()),
            Err(denial) => Err(denial.into()),
        }
    }

    fn record(&self, turn: &mut Turn) {
        while let Some(event) = turn.poll_event() {
            self.journal.record(event);
        }
    }
}

/// Whether the model has begun to answer.
fn is_piece(event: &ModelEvent) -> bool {
    matches!(event, ModelEvent::TextDelta(_) | ModelEvent::ThinkingDelta(_) | ModelEvent::CallStart { .. })
}

fn interrupted() -> AgentError {
    AgentError::new(ErrorKind::Interrupted, "interrupted")
}

#[cfg(test)]
mod tests;
