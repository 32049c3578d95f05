//! A run as an API, a page or a terminal shows it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_llm::Usage;

use super::live::waiting;
use crate::answer::{Answer, CallRecord, CallStatus};
use crate::desk::PendingView;
use crate::error::{AgentError, ErrorKind};
use crate::journal::{Journal, reduced, value_of};
use crate::name::{CallId, RunId, ServerName};
use crate::outcome::ToolOutcome;
use crate::policy::RuleToAdd;
use crate::store::{RunRecord, RunStatus};

/// A run as it is now.
#[derive(Clone, Debug, Serialize)]
pub struct RunView {
    /// Its name.
    pub id: RunId,
    /// Its session.
    pub session: String,
    /// How far it is.
    pub status: RunStatus,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
    /// The question.
    pub input: String,
    /// The journal entry that it began with.
    pub first_seq: u64,
    /// What waits for an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<PendingView>,
    /// What came of it so far.
    #[serde(flatten)]
    pub outcome: RunOutcome,
}

/// How a session stands, by its last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Nothing was asked yet.
    New,
    /// A process works on it.
    Running,
    /// It waits for the person's answer, however long, whether a process runs or not.
    InputRequired,
    /// It was under way when its process ended; `Session::resume` goes on with it.
    Interrupted,
    /// Its last question is answered, or has come to nothing.
    Ended,
}

impl SessionState {
    /// How a session stands whose runs are these, the oldest first.
    #[must_use]
    pub fn of(runs: &[RunView]) -> Self {
        runs.last().map_or(Self::New, |last| last.status.into())
    }
}

impl From<RunStatus> for SessionState {
    fn from(last: RunStatus) -> Self {
        match last {
            RunStatus::Running => Self::Running,
            RunStatus::InputRequired => Self::InputRequired,
            RunStatus::Interrupted => Self::Interrupted,
            RunStatus::Finished | RunStatus::Failed | RunStatus::Cancelled => Self::Ended,
        }
    }
}

/// The word for it, the same as in JSON.
impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New => "new",
            Self::Running => "running",
            Self::InputRequired => "input_required",
            Self::Interrupted => "interrupted",
            Self::Ended => "ended",
        })
    }
}

/// What came of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOutcome {
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The answer as the schema of the run wanted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Who selected the calls and worded the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// What the person should know beside it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The calls that are answered, in their order.
    pub calls: Vec<CallView>,
    /// Times the model was asked.
    pub steps: u32,
    /// What it cost, as far as the provider says so.
    pub usage: Usage,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorView>,
    /// The last journal entry of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// Messages of the conversation after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<usize>,
}

/// One call of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallView {
    /// The host's number.
    pub call: CallId,
    /// The server, unless the model named no tool of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool's own name, or what the model called it.
    pub tool: String,
    /// What it was called with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// What became of it: `ok`, `tool_error`, `failed`, `denied`, `invalid`, `repeated`, `over_limit`, `interrupted`,
    /// `cancelled` or `unknown`.
    pub status: String,
    /// Its result. Long texts are cut; they are whole in the artefacts of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorView {
    /// For a program, such as `approval_needed`.
    pub code: String,
    /// The cause.
    pub message: String,
    /// The server that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The next action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The rule that would allow the call that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleToAdd>,
}

impl RunOutcome {
    /// What came of it once it is over.
    pub(super) fn of(result: &Result<Answer, AgentError>, calls: Vec<CallView>) -> Self {
        match result {
            Ok(answer) => Self {
                answer: Some(answer.text.clone()),
                selector: Some(answer.selector.clone()),
                notes: answer.notes.clone(),
                calls,
                steps: answer.steps,
                usage: answer.usage,
                ..Self::default()
            },
            Err(error) => Self { calls, error: Some(error.into()), ..Self::default() },
        }
    }

    /// Masks what the journal masks: what looks like a secret where a person, a model or a server wrote it, and known
    /// secrets everywhere.
    pub(super) fn mask(&mut self, journal: &Journal) {
        self.answer.iter_mut().chain(&mut self.notes).for_each(|text| mask_text(journal, text));
        self.output.iter_mut().for_each(|value| journal.mask_value(value));
        self.calls.iter_mut().for_each(|call| call.mask(journal));
        if let Some(error) = &mut self.error {
            mask_text(journal, &mut error.message);
            // Those are our own words.
            if let Some(known) = journal.masker().known_in(error) {
                *error = known;
            }
        }
    }
}

impl CallView {
    /// As [`RunOutcome::mask`].
    pub(super) fn mask(&mut self, journal: &Journal) {
        mask_text(journal, &mut self.tool);
        self.arguments.iter_mut().chain(&mut self.result).for_each(|value| journal.mask_value(value));
    }
}

fn mask_text(journal: &Journal, text: &mut String) {
    let mut value = Value::String(std::mem::take(text));
    journal.mask_value(&mut value);
    if let Value::String(masked) = value {
        *text = masked;
    }
}

impl CallStatus {
    /// The status in a word, such as `ok`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Made(outcome) => match &**outcome {
                ToolOutcome::Result(result) if result.is_error() => "tool_error",
                ToolOutcome::Result(_) => "ok",
                ToolOutcome::Failed(_) => "failed",
            },
            Self::Denied(_) => "denied",
            Self::Invalid => "invalid",
            Self::Repeated => "repeated",
            Self::OverLimit => "over_limit",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

impl From<&CallRecord> for CallView {
    fn from(record: &CallRecord) -> Self {
        let (server, tool) = match &record.tool {
            Some((server, tool)) => (Some(server.to_string()), tool.clone()),
            None => (None, record.name.clone()),
        };
        let result = match &record.status {
            CallStatus::Made(outcome) => match &**outcome {
                ToolOutcome::Result(result) => serde_json::to_value(result).ok().map(reduced),
                ToolOutcome::Failed(_) => None,
            },
            _ => None,
        };
        Self {
            call: record.call,
            server,
            tool,
            arguments: record.arguments.as_deref().map(value_of),
            status: record.status.word().to_owned(),
            result,
        }
    }
}

impl From<&AgentError> for ErrorView {
    fn from(error: &AgentError) -> Self {
        Self {
            code: error.code().to_owned(),
            message: error.message().to_owned(),
            server: error.server().map(ToString::to_string),
            hint: error.next_action().map(str::to_owned),
            rule: error.rule_to_add().cloned(),
        }
    }
}

impl From<ErrorView> for AgentError {
    fn from(view: ErrorView) -> Self {
        let kind = ErrorKind::from_code(&view.code).unwrap_or(ErrorKind::ToolFailed);
        let mut error = Self::new(kind, view.message);
        if let Some(server) = view.server.and_then(|name| ServerName::new(name).ok()) {
            error = error.at(&server);
        }
        view.hint.into_iter().fold(error, Self::hint)
    }
}

impl RunView {
    /// A run that is over, or that nobody here works on; `elsewhere` is whether another process may.
    pub(super) fn stored(record: &RunRecord, input: String, elsewhere: bool) -> Self {
        let (requests, lost) = waiting(record, elsewhere);
        let status = match record.status {
            RunStatus::Running if !elsewhere => RunStatus::Interrupted,
            RunStatus::InputRequired if requests.is_empty() && !lost.is_empty() => RunStatus::Interrupted,
            kept => kept,
        };
        let outcome = record.outcome.as_deref().and_then(|text| serde_json::from_str(text).ok());
        Self {
            id: record.id.as_str().into(),
            session: record.session.clone(),
            status,
            created_ms: record.created_ms,
            input,
            first_seq: record.first_seq,
            requests,
            outcome: outcome.unwrap_or_default(),
        }
    }
}
