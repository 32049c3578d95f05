//! Why a run has no answer, by what the caller can do about it.
//!
//! An [`AgentError`] names the cause, the server it is about, and the next action. Its [`code`](AgentError::code)
//! is for programs and its [`exit_code`](AgentError::exit_code) for scripts; both are stable.

use std::fmt;

use serde::Serialize;
use switchboard_llm::ModelError;
use switchboard_protocol::model::tool::CallToolResult;

use crate::name::ServerName;
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
use crate::policy::{RuleToAdd, UnmatchedRule};
use crate::store::StoreError;
use crate::turn::StopReason;
use crate::{integrate, integration, limits::Limits, visible};

/// How a server speaks of a fault of its own whose cause it keeps to its log.
const INTERNAL: &str = "internal error, reference ";
const LOOK_INTO_THE_LOG: &str =
    "the server's log has the cause under this reference (-v shows what a server writes to stderr)";

/// Why a run has no answer.
#[derive(Debug)]
pub struct AgentError {
    kind: ErrorKind,
    message: String,
    server: Option<ServerName>,
    hint: Option<String>,
    rule: Option<Box<RuleToAdd>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// What the host was given cannot work.
    Configuration,
    /// The question does not say what a tool must know.
    MissingArguments,
    /// A call needs a person's approval and nobody can be asked.
    ApprovalNeeded,
    /// The person or a rule said no.
    Denied,
    /// A tool asks the person something, and nobody can be asked.
    InputNeeded,
    /// A server wants a login.
    LoginNeeded,
    /// A server cannot be reached.
    ServerUnreachable,
    /// A tool failed.
    ToolFailed,
    /// A limit of the run was reached.
    LimitReached,
    /// The model failed.
    ModelFailed,
    /// There is no language model, and no tool fits the words of the question.
    NoToolFits,
    /// Somebody interrupted the run.
    Interrupted,
    /// Another run of the session goes on.
    Busy,
    /// The idempotency key belongs to another question.
    KeyReused,
    /// There is no such session or run.
    NotFound,
    /// The session is open in another process.
    SessionHeld,
    /// What must be kept cannot be written or read.
    Storage,
}

impl ErrorKind {
    /// The kind as a program reads it, such as `approval_needed`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::MissingArguments => "missing_arguments",
            Self::ApprovalNeeded => "approval_needed",
            Self::Denied => "denied",
            Self::InputNeeded => "input_needed",
            Self::LoginNeeded => "login_needed",
            Self::ServerUnreachable => "server_unreachable",
            Self::ToolFailed => "tool_failed",
            Self::LimitReached => "limit_reached",
            Self::ModelFailed => "model_failed",
            Self::NoToolFits => "no_tool_fits",
            Self::Interrupted => "interrupted",
            Self::Busy => "busy",
            Self::KeyReused => "key_reused",
            Self::NotFound => "not_found",
            Self::SessionHeld => "session_held",
            Self::Storage => "storage",
        }
    }

    /// The kind of this code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        const ALL: [ErrorKind; 17] = [
            ErrorKind::Configuration,
            ErrorKind::MissingArguments,
            ErrorKind::ApprovalNeeded,
            ErrorKind::Denied,
            ErrorKind::InputNeeded,
            ErrorKind::LoginNeeded,
            ErrorKind::ServerUnreachable,
            ErrorKind::ToolFailed,
            ErrorKind::LimitReached,
            ErrorKind::ModelFailed,
            ErrorKind::NoToolFits,
            ErrorKind::Interrupted,
            ErrorKind::Busy,
            ErrorKind::KeyReused,
            ErrorKind::NotFound,
            ErrorKind::SessionHeld,
            ErrorKind::Storage,
        ];
        ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The exit code of a program that ends because of it.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Configuration
            | Self::MissingArguments
            | Self::Busy
            | Self::KeyReused
            | Self::NotFound
            | Self::SessionHeld
            | Self::Storage => 1,
            Self::ApprovalNeeded | Self::Denied | Self::InputNeeded => 2,
            Self::LoginNeeded => 3,
            Self::ServerUnreachable => 4,
            Self::ToolFailed => 5,
            Self::LimitReached => 6,
            Self::ModelFailed | Self::NoToolFits => 7,
            Self::Interrupted => 130,
        }
    }
}

impl AgentError {
    /// A failure with its cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), server: None, hint: None, rule: None, source: None }
    }

    /// Names the server that it is about.
    #[must_use]
    pub fn at(mut self, server: &ServerName) -> Self {
        self.server = Some(server.clone());
        self
    }

    /// Names the next action.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with another cause, in words that fit where it is said.
    pub(crate) fn saying(self, message: String) -> Self {
        Self { message, ..self }
    }

    /// Names the rule that would have allowed the call.
    pub(crate) fn with_rule(mut self, rule: RuleToAdd) -> Self {
        self.rule = Some(Box::new(rule));
        self
    }

    /// The result of a call.
    ///
    /// # Errors
    /// Why there is none, or what the tool said when it failed.
    pub(crate) fn unless_result<'a>(
        (server, tool): (&ServerName, &str),
        outcome: &'a ToolOutcome,
    ) -> Result<&'a CallToolResult, Self> {
        let tool = visible::name(tool);
        let limits = Limits::default();
        let error = match outcome {
            ToolOutcome::Result(result) if !result.is_error() => return Ok(result),
            ToolOutcome::Result(result) => {
                let said = visible::text(&integration::said(result, limits.error_bytes));
                let hint = if said.contains(INTERNAL) {
                    LOOK_INTO_THE_LOG
                } else {
                    "correct what was asked for, or look at the tool's description"
                };
                Self::new(ErrorKind::ToolFailed, format!("{server}/{tool} failed: {said}")).hint(hint)
            }
            ToolOutcome::Failed(failure) => {
                let said = visible::text(&integrate(outcome, &limits).text);
                let error = Self::new(kind_of(failure), format!("{server}/{tool}: {said}"));
                error.hint(if failure.message.contains(INTERNAL) {
                    LOOK_INTO_THE_LOG
                } else {
                    usual_hint(failure.kind)
                })
            }
        };
        Err(error.at(server))
    }

    /// What kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The kind as a program reads it, such as `approval_needed`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// The exit code of a program that ends because of it.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }

    /// The cause.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The server that it is about.
    #[must_use]
    pub fn server(&self) -> Option<&ServerName> {
        self.server.as_ref()
    }

    /// The rule that would have allowed the call that it is about, where a rule would.
    #[must_use]
    pub fn rule_to_add(&self) -> Option<&RuleToAdd> {
        self.rule.as_deref()
    }

    /// The next action.
    #[must_use]
    pub fn next_action(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// One JSON object: `code`, `message`, and `server`, `hint` and `rule` where there is one.
impl Serialize for AgentError {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            code: &'static str,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            server: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            hint: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            rule: Option<&'a RuleToAdd>,
        }
        let server = self.server.as_ref().map(ServerName::as_str);
        let (hint, rule) = (self.hint.as_deref(), self.rule_to_add());
        Shape { code: self.code(), message: &self.message, server, hint, rule }.serialize(serializer)
    }
}

fn kind_of(failure: &CallFailure) -> ErrorKind {
    match failure.kind {
        FailureKind::Transport => ErrorKind::ServerUnreachable,
        FailureKind::Unauthorized => ErrorKind::LoginNeeded,
        FailureKind::Interrupted => ErrorKind::Interrupted,
        FailureKind::InputNeeded => ErrorKind::InputNeeded,
        FailureKind::Changed => ErrorKind::ApprovalNeeded,
        FailureKind::Timeout { .. } | FailureKind::Limit => ErrorKind::LimitReached,
        FailureKind::Protocol { .. } | FailureKind::Malformed => ErrorKind::ToolFailed,
    }
}

fn usual_hint(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Transport => "check that the server runs and that its address is right",
        FailureKind::Unauthorized => "log in to the server first",
        FailureKind::InputNeeded => "run it in a terminal, where the question can be shown and answered",
        FailureKind::Changed => "call it again to be asked about the tool as it is now",
        FailureKind::Timeout { .. } => "ask for less, or allow more time",
        FailureKind::Limit => "ask for less; if that does not help, report it to the author of the server",
        FailureKind::Protocol { .. } | FailureKind::Malformed => {
            "this is between the host and the server; see what they say with: switchboard inspect SERVER METHOD --wire"
        }
        FailureKind::Interrupted => "start it again",
    }
}

impl From<ModelError> for AgentError {
    fn from(error: ModelError) -> Self {
        let kind = if error.is_configuration() { ErrorKind::Configuration } else { ErrorKind::ModelFailed };
        let (message, hint) = (error.cause().to_owned(), error.hint().map(str::to_owned));
        Self { kind, message, server: None, hint, rule: None, source: Some(Box::new(error)) }
    }
}

impl From<StopReason> for AgentError {
    fn from(reason: StopReason) -> Self {
        let message = reason.to_string();
        match reason {
            StopReason::StepLimit(_) => Self::new(ErrorKind::LimitReached, message)
                .hint("ask for less at once, or raise the limit of steps"),
            StopReason::CallLimit(_) => Self::new(ErrorKind::LimitReached, message)
                .hint("ask for less at once, or raise the limit of calls"),
            StopReason::TokenLimit(_) => Self::new(ErrorKind::LimitReached, message)
                .hint("ask for less at once, or raise the limit of tokens"),
            StopReason::TimeLimit(_) => Self::new(ErrorKind::LimitReached, message)
                .hint("ask for less at once, or raise the limit of time"),
            StopReason::Corrections { .. } => {
                Self::new(ErrorKind::ModelFailed, message).hint("ask in other words, or use a stronger model")
            }
            StopReason::Nothing => {
                Self::new(ErrorKind::ModelFailed, message).hint("ask again, or use another model")
            }
            StopReason::Refused(_) => {
                Self::new(ErrorKind::ModelFailed, message).hint("ask in other words, or use another provider")
            }
            StopReason::ApprovalNeeded(denial) => Self::from(denial),
            StopReason::Interrupted => Self::new(ErrorKind::Interrupted, message),
        }
    }
}

impl From<StoreError> for AgentError {
    fn from(error: StoreError) -> Self {
        let kind = if error.is_held() { ErrorKind::SessionHeld } else { ErrorKind::Storage };
        Self::new(kind, error.to_string())
    }
}

impl From<UnmatchedRule> for AgentError {
    fn from(error: UnmatchedRule) -> Self {
        let hint = format!(
            "correct the option that it stands in; a rule that is kept goes with: switchboard policy remove {}",
            visible::argument(error.rule())
        );
        Self::new(ErrorKind::Configuration, error.to_string()).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::model::content::ContentBlock;

    use super::*;

    #[test]
    fn what_a_tool_says_when_it_fails_cannot_move_the_cursor() {
        let said = "one\ntwo\u{1b}]0;x\u{7}\u{9b}2J\u{8}\u{202e}\u{200b}";
        let mut result = CallToolResult::of(vec![ContentBlock::text(said)]);
        result.is_error = Some(true);
        let server = ServerName::new("s").unwrap();
        let outcome = ToolOutcome::Result(Box::new(result));
        let error = AgentError::unless_result((&server, "t "), &outcome).unwrap_err();
        let shown = error.to_string();
        assert!(shown.starts_with("s/\"t \" failed: one\ntwo\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{8}"), "{shown}");
        assert!(!shown.replace('\n', "").contains(visible::is_invisible), "{shown}");
    }
}
