//! What is shown of a server.

use serde::{Deserialize, Serialize};

use crate::name::ServerName;

/// How far a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Switched off in the configuration.
    Disabled,
    /// Not started, or stopped because nobody used it; the next use starts it.
    Idle,
    /// Being connected to for the first time.
    Starting,
    /// Its tools can be called.
    Ready,
    /// It ended, or cannot be reached, and is tried again.
    Restarting,
    /// It does not work, and is not tried again by itself.
    Failed,
    /// Somebody stopped it.
    Stopped,
}

impl ServerState {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Restarting => "restarting",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// A server as a person sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// What the person calls it.
    pub name: ServerName,
    /// Where its entry stands.
    pub origin: String,
    /// `stdio` or `http`.
    pub transport: String,
    /// How far it is.
    pub state: ServerState,
    /// Whether nothing works without it.
    pub required: bool,
    /// `modern` or `legacy`, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
    /// The revision that is spoken with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What it calls itself, with its version. Its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// How long its last answer to a small request took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// How many tools of it a model is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// How many it is not offered, because a person left them out or their definition is invalid; absent if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<usize>,
    /// What a model is sent of them costs in every request, in tokens, estimated: for the model that
    /// [`Supervisor::measure_for`](super::Supervisor::measure_for) said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_cost: Option<usize>,
    /// What went wrong last. May hold the server's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// Whether it wants a login.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub login_needed: bool,
    /// How often it was started again by itself.
    pub restarts: u64,
    /// Lines on its standard output that are no messages.
    pub noise_lines: u64,
    /// Calls that are under way.
    pub calls: usize,
    /// Calls that were cancelled, of which the server has not said that they ended.
    pub cancelled_running: usize,
    /// Since when it is in this state, in milliseconds since 1970-01-01 UTC.
    pub since: u64,
    /// The process, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

impl ServerStatus {
    /// A server that is switched off.
    #[must_use]
    pub fn disabled(name: ServerName) -> Self {
        Self {
            name,
            origin: String::new(),
            transport: String::new(),
            state: ServerState::Disabled,
            required: false,
            era: None,
            revision: None,
            identity: None,
            latency_ms: None,
            tools: None,
            left_out: None,
            token_cost: None,
            last_error: None,
            next_step: None,
            login_needed: false,
            restarts: 0,
            noise_lines: 0,
            calls: 0,
            cancelled_running: 0,
            since: 0,
            pid: None,
        }
    }

    /// How many tools a model is offered, and of how many where some are left out: `9`, or `9 of 12`.
    #[must_use]
    pub fn tools_shown(&self) -> Option<String> {
        let tools = self.tools?;
        Some(self.left_out.map_or_else(|| tools.to_string(), |out| format!("{tools} of {}", tools + out)))
    }
}

/// Where a line of a server's log comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogStream {
    /// The server's standard error.
    Stderr,
    /// A line on its standard output that is no message.
    Noise,
    /// The host says what it did with the server.
    Host,
}

impl LogStream {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stderr => "stderr",
            Self::Noise => "noise",
            Self::Host => "host",
        }
    }
}

/// One line of a server's log, with its secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// When, in milliseconds since 1970-01-01 UTC.
    pub unix_ms: u64,
    /// Where it comes from.
    pub stream: LogStream,
    /// Its text, without the line end.
    pub text: String,
}

/// One message to or from a server, with its secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireLine {
    /// When, in milliseconds since 1970-01-01 UTC.
    pub unix_ms: u64,
    /// Whether it went to the server.
    pub sent: bool,
    /// How long it was, in bytes.
    pub bytes: usize,
    /// The message, or its beginning and what was left out.
    pub text: String,
}

/// What came of trying a server out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestReport {
    /// Which server.
    pub name: ServerName,
    /// Whether every step went well.
    pub ok: bool,
    /// The steps up to the one that failed.
    pub steps: Vec<TestStep>,
    /// What to do if one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// Whether the server wants a login.
    #[serde(default)]
    pub login_needed: bool,
}

/// One step of trying a server out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestStep {
    /// What was tried: `program`, `start`, `era`, `tools` or `latency`.
    pub step: String,
    /// Whether it went well.
    pub ok: bool,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// What was found, or why it failed.
    pub detail: String,
}
