//! The events, by stage. Each has the shape that it has in a JSON line, so that a line can be read back.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_llm::{Finish, Usage};

use super::authorization::Authorization;
use super::declaration::{Declaration, Exposed};
use super::size::reduced;
use crate::integration::small_copy;
use crate::name::{CallId, ServerName};
use crate::outcome::{FailureKind, ToolOutcome};
use crate::policy::Proposal;
use crate::store::RunStatus;

/// Something that happened, by the stage of a call that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Event {
    /// A server declares a tool.
    Declaration(Declaration),
    /// A server was found, or not.
    Discovery(Discovery),
    /// Tools were compiled for the model.
    Exposure(Exposed),
    /// Somebody chooses.
    Selection(Selection),
    /// Somebody consents, or not.
    Authorization(Authorization),
    /// A call is made.
    Invocation(Invocation),
    /// A call runs.
    Execution(Execution),
    /// A call ended.
    Result {
        /// Which.
        call: CallId,
        /// How long it took, in milliseconds, without the wait for its turn on the server.
        took_ms: u64,
        /// How it ended.
        outcome: ResultEvent,
    },
    /// The result goes into the conversation, or the run ends.
    Integration(Integration),
    /// A run of a session begins, goes on after a restart, or ends. No stage of a call.
    Run(RunEvent),
}

impl Event {
    /// The stage's name.
    #[must_use]
    pub fn stage(&self) -> &'static str {
        match self {
            Self::Declaration(_) => "declaration",
            Self::Discovery(_) => "discovery",
            Self::Exposure(_) => "exposure",
            Self::Selection(_) => "selection",
            Self::Authorization(_) => "authorization",
            Self::Invocation(_) => "invocation",
            Self::Execution(_) => "execution",
            Self::Result { .. } => "result",
            Self::Integration(_) => "integration",
            Self::Run(_) => "run",
        }
    }

    /// Whether it is a piece of an answer that is still being written.
    #[must_use]
    pub fn is_piece(&self) -> bool {
        matches!(
            self,
            Self::Selection(
                Selection::TextDelta { .. } | Selection::ThinkingDelta { .. } | Selection::CallStarted { .. }
            )
        )
    }
}

/// A run of a session begins, goes on after a restart, or ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum RunEvent {
    /// It begins.
    Begun {
        /// What it was asked, in the person's words.
        question: String,
    },
    /// It goes on where an earlier process left it.
    Resumed,
    /// It is over.
    Ended {
        /// How.
        status: RunStatus,
        /// Why, where there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// What it cost, as far as the provider says so.
        usage: Usage,
    },
}

/// A server was found, or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Discovery {
    /// A server is connected to.
    Connecting {
        /// Which.
        server: ServerName,
    },
    /// It is known how to speak with a server. Nothing was listed yet.
    Opened {
        /// Which.
        server: ServerName,
        /// The revision that is spoken with it.
        revision: String,
        /// Whether that takes a session, as it does in the legacy revisions.
        #[serde(default)]
        session: bool,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// A server answers.
    Connected {
        /// Which.
        server: ServerName,
        /// What it calls itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        implementation: Option<String>,
        /// The revision that is spoken with it.
        revision: String,
        /// Whether that takes a session, as it does in the legacy revisions.
        #[serde(default)]
        session: bool,
        /// How many tools it declares.
        tools: usize,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// A server does not answer. The run goes on without it if there is another.
    Failed {
        /// Which.
        server: ServerName,
        /// Why, and what to do.
        error: String,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// The state of a server changed while a session was open.
    State {
        /// Which.
        server: ServerName,
        /// What it is now, such as `ready` or `restarting`.
        state: String,
        /// Why, and what to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// Somebody chooses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Selection {
    /// What the person asks.
    Question {
        /// Their words.
        text: String,
    },
    /// The model is asked.
    Asked {
        /// Which time, from 1.
        step: u32,
        /// Who is asked.
        selector: String,
        /// Messages of the conversation.
        messages: usize,
        /// Tools that are offered.
        tools: usize,
    },
    /// The first piece of the answer is there; the pieces themselves are not kept.
    FirstToken {
        /// Which time it was asked, from 1.
        step: u32,
    },
    /// A piece of the answer's text.
    TextDelta {
        /// The piece.
        text: String,
    },
    /// A piece of the model's thinking.
    ThinkingDelta {
        /// The piece.
        text: String,
    },
    /// The model begins to write a call.
    CallStarted {
        /// What it calls the tool.
        name: String,
    },
    /// The whole answer.
    Answered {
        /// Which time, from 1.
        step: u32,
        /// Its text.
        text: String,
        /// Its calls, as they came.
        calls: Vec<JournaledCall>,
        /// Why it ended.
        finish: Finish,
        /// What it cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// A call that cannot be made; the model is told.
    Corrected {
        /// Which.
        call: CallId,
        /// What it called the tool.
        name: String,
        /// What is wrong.
        problem: String,
        /// Which correction in a row, from 1.
        round: u32,
    },
    /// The model returned nothing and is asked once more.
    Empty {
        /// Which time it was asked.
        step: u32,
    },
    /// A call that would repeat earlier ones with the same result; the model is told instead.
    Repeated {
        /// Which.
        call: CallId,
        /// What it called the tool.
        name: String,
    },
    /// Something worth knowing.
    Note {
        /// What.
        text: String,
    },
}

/// A call as a model wrote it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournaledCall {
    /// The host's number.
    pub call: CallId,
    /// What it calls the tool.
    pub name: String,
    /// The arguments: JSON if they are, else the text.
    pub arguments: Value,
}

/// A call is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Invocation {
    /// It is sent.
    Started {
        /// Which.
        call: CallId,
        /// Whose tool.
        server: ServerName,
        /// The tool's own name.
        tool: String,
        /// What it is called with.
        arguments: Value,
    },
}

impl Invocation {
    pub(crate) fn started(proposal: &Proposal) -> Self {
        let Proposal { call, server, tool, arguments, .. } = proposal;
        Self::Started {
            call: *call,
            server: server.clone(),
            tool: tool.name.clone(),
            arguments: value_of(arguments),
        }
    }
}

/// A call runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Execution {
    /// The server says how far it is.
    Progress {
        /// Which call.
        call: CallId,
        /// How much is done.
        done: f64,
        /// Of how much.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// In words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The server is told that nobody waits for the call any more. It may still work on it.
    Cancelled {
        /// Which call.
        call: CallId,
    },
    /// A message of the wire.
    Wire {
        /// To or from which server.
        server: ServerName,
        /// The call that it belongs to, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// Which way.
        direction: WireDirection,
        /// The message: JSON if it is, else text.
        message: Value,
    },
    /// Messages of the wire that nobody asked for, and that are not recorded because there are too many.
    WireLeftOut {
        /// From which server.
        server: ServerName,
        /// How many.
        messages: u64,
    },
}

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireDirection {
    /// To the server.
    Sent,
    /// From the server.
    Received,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ResultEvent {
    /// With a result.
    Returned {
        /// Whether the tool says that it failed.
        is_error: bool,
        /// The result as it came.
        result: Value,
    },
    /// Without one.
    Failed {
        /// Which way.
        kind: FailureKind,
        /// What was said.
        message: String,
        /// Whether the tool may have done its work all the same.
        maybe_executed: bool,
    },
}

pub(crate) fn journaled_result(outcome: &ToolOutcome) -> ResultEvent {
    match outcome {
        ToolOutcome::Result(result) => ResultEvent::Returned {
            is_error: result.is_error(),
            result: reduced(serde_json::to_value(small_copy(result)).unwrap_or_default()),
        },
        ToolOutcome::Failed(failure) => ResultEvent::Failed {
            kind: failure.kind,
            message: failure.message.clone(),
            maybe_executed: failure.maybe_executed,
        },
    }
}

/// The result goes into the conversation, or the run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Integration {
    /// The model is given an answer to its call.
    Added {
        /// Which call.
        call: CallId,
        /// What the model reads.
        text: String,
        /// Bytes that were left out of the middle.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_out_bytes: Option<usize>,
    },
    /// The run ends with an answer.
    Finished {
        /// The answer.
        text: String,
        /// Times the model was asked.
        steps: u32,
        /// Calls that were made.
        calls: u32,
    },
    /// The run ends without one.
    Stopped {
        /// Why.
        reason: String,
    },
}

pub(crate) fn value_of(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| Value::String(raw.get().to_owned()))
}

macro_rules! into_event {
    ($($variant:ident($inner:ident)),* $(,)?) => {$(
        impl From<$inner> for Event {
            fn from(event: $inner) -> Self {
                Self::$variant(event)
            }
        }
    )*};
}

into_event!(
    Declaration(Declaration),
    Discovery(Discovery),
    Exposure(Exposed),
    Selection(Selection),
    Authorization(Authorization),
    Invocation(Invocation),
    Execution(Execution),
    Integration(Integration),
    Run(RunEvent),
);
