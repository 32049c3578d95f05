//! How the program fails: an exit code that scripts can rely on, the cause and the next action.
//!
//! What the libraries' errors amount to is decided where they occur; this file only knows the outcome.

use std::fmt;
use std::process::ExitCode;

use serde::Serialize;
use switchboard_agent::policy::RuleToAdd;
use switchboard_agent::{AgentError, ErrorKind, visible};

use crate::screen::Screen;

/// What to do where a server wants to know who is asking.
pub(crate) const LOGIN: &str =
    "give a token with --bearer-env VAR, or check the one that was given; OAuth login is not built yet";

/// What the program's exit code says. The numbers are part of the interface; 2, for a call that needs approval or was
/// denied, only comes from the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command line, a file or an address cannot work.
    Usage = 1,
    /// The server wants a login.
    Login = 3,
    /// The server cannot be reached, or does not speak the protocol.
    Unreachable = 4,
    /// A tool or the server reported an error.
    Tool = 5,
    /// A limit on steps, calls, tokens or time was reached.
    Limit = 6,
    /// The language model could not answer.
    Model = 7,
    /// The person stopped it.
    Interrupted = 130,
}

impl Exit {
    /// The kind as a program reads it.
    fn kind(self) -> &'static str {
        match self {
            Self::Usage => ErrorKind::Configuration,
            Self::Login => ErrorKind::LoginNeeded,
            Self::Unreachable => ErrorKind::ServerUnreachable,
            Self::Tool => ErrorKind::ToolFailed,
            Self::Limit => ErrorKind::LimitReached,
            Self::Model => ErrorKind::ModelFailed,
            Self::Interrupted => ErrorKind::Interrupted,
        }
        .code()
    }
}

/// Why the program ends without a result.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    code: u8,
    kind: &'static str,
    message: String,
    server: Option<String>,
    hint: String,
    /// The rule that would allow the call that it is about.
    rule: Option<Box<RuleToAdd>>,
}

/// The last line on stderr with `--json`.
#[derive(Serialize)]
struct ErrorObject<'a> {
    code: u8,
    kind: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    hint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a RuleToAdd>,
}

impl Failure {
    /// A failure with its cause and the next action, without a full stop.
    pub(crate) fn new(exit: Exit, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self { code: exit as u8, kind: exit.kind(), message, server: None, hint, rule: None }
    }

    /// The command line cannot work.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message, hint)
    }

    /// The person pressed ctrl-c, or the program was told to end.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted", "run it again to start over")
    }

    /// Says what to do in this command's words, if it is a failure of this kind.
    pub(crate) fn hint_for(mut self, exit: Exit, hint: &str) -> Self {
        if self.is(exit) {
            hint.clone_into(&mut self.hint);
        }
        self
    }

    /// Whether it is a failure of this kind.
    pub(crate) fn is(&self, exit: Exit) -> bool {
        self.code == exit as u8
    }

    /// The same as a failure of another kind, since more is known here than where it occurred.
    pub(crate) fn turned_into(mut self, kind: ErrorKind, hint: &str) -> Self {
        (self.code, self.kind) = (kind.exit_code(), kind.code());
        hint.clone_into(&mut self.hint);
        self
    }

    /// Says more about the cause.
    pub(crate) fn explained(mut self, why: &str) -> Self {
        self.message = format!("{} ({why})", self.message);
        self
    }

    /// The server that it is about.
    pub(crate) fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Says what to do in other words.
    pub(crate) fn map_hint(mut self, map: impl FnOnce(String) -> String) -> Self {
        self.hint = map(self.hint);
        self
    }

    /// Names the server that it is about.
    pub(crate) fn on_server(mut self, name: &str) -> Self {
        self.server.get_or_insert_with(|| name.to_owned());
        self
    }

    /// What went wrong, without the server's name and without what to do about it.
    pub(crate) fn cause(&self) -> &str {
        &self.message
    }

    /// What to do about it, or what is known of its cause.
    pub(crate) fn hint(&self) -> &str {
        &self.hint
    }

    /// The exit code.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    /// Says it on stderr: for people, or as one JSON object that is the last line.
    pub(crate) fn report(&self, screen: &Screen, json: bool) {
        if json {
            let Self { code, kind, message, server, hint, rule } = self;
            let (server, rule) = (server.as_deref(), rule.as_deref());
            let object = ErrorObject { code: *code, kind, message, server, hint, rule };
            if let Ok(text) = serde_json::to_string(&object) {
                screen.line(&visible::json_line(&text));
            }
        } else {
            screen.error(&self.to_string());
            if !self.hint.is_empty() {
                screen.hint(&self.hint);
            }
            if let Some(text) = self.rule.as_ref().and_then(|rule| serde_json::to_string(rule).ok()) {
                screen.line(&format!("rule: {}", visible::json_line(&text)));
            }
        }
    }
}

/// The agent's own errors know their exit codes.
impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        Self::from(&error)
    }
}

impl From<&AgentError> for Failure {
    fn from(error: &AgentError) -> Self {
        let hint = match error.kind() {
            ErrorKind::LoginNeeded => LOGIN,
            kind => error.next_action().unwrap_or_else(|| usual_hint(kind)),
        };
        Self {
            code: error.exit_code(),
            kind: error.code(),
            message: error.message().to_owned(),
            server: error.server().map(ToString::to_string),
            hint: hint.to_owned(),
            rule: error.rule_to_add().cloned().map(Box::new),
        }
    }
}

/// What to do where the agent does not say.
fn usual_hint(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Configuration => "correct the command line; switchboard --help explains it",
        ErrorKind::Interrupted => "run it again to start over",
        _ => "run it again with -v to see each stage",
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) if !begins_with(&self.message, server) => {
                write!(f, "{server}: {}", self.message)
            }
            _ => f.write_str(&self.message),
        }
    }
}

/// Whether a message begins with the server that it is about, as `SERVER: …` or `SERVER/TOOL …`.
fn begins_with(message: &str, server: &str) -> bool {
    message.strip_prefix(server).is_some_and(|rest| rest.starts_with([':', '/']))
}

#[cfg(test)]
mod tests {
    use super::{Exit, Failure};

    #[test]
    fn a_failure_names_its_server_once() {
        let failure = |message| Failure::new(Exit::Tool, message, "").on_server("station");
        assert_eq!(failure("no answer").to_string(), "station: no answer");
        assert_eq!(failure("station/get_climate failed").to_string(), "station/get_climate failed");
        assert_eq!(failure("station: no answer").to_string(), "station: no answer");
        assert_eq!(failure("the station failed").to_string(), "station: the station failed");
    }
}
