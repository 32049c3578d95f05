//! A server as a file has it: nothing expanded, every text with its place.

use std::time::Duration;

use serde_json::Value;

use crate::digest;
use crate::entry::{EraChoice, HttpTransport, Trust};
use crate::origin::{Origin, Problem};
use crate::text::Position;

/// A text of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) at: Position,
}

/// A server of a file.
#[derive(Clone, Debug)]
pub(crate) struct RawServer {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// Nothing if the entry only says more about a server of another file.
    pub(crate) target: Option<RawTarget>,
    pub(crate) settings: Settings,
    /// The entry as it is written, for what decisions are bound to.
    pub(crate) written: Value,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub(crate) enum RawTarget {
    Command {
        command: Text,
        args: Vec<Text>,
        env: Vec<(String, Text)>,
        env_file: Option<Text>,
        cwd: Option<Text>,
    },
    Http {
        url: Text,
        headers: Vec<(String, Text)>,
        transport: Option<HttpTransport>,
    },
}

impl RawTarget {
    /// All texts that references may stand in.
    pub(crate) fn texts(&self) -> Vec<&Text> {
        let values = |pairs| <[(String, Text)]>::iter(pairs).map(|(_, text)| text);
        match self {
            Self::Command { command, args, env, env_file, cwd } => {
                std::iter::once(command).chain(args).chain(values(env)).chain(env_file).chain(cwd).collect()
            }
            Self::Http { url, headers, .. } => std::iter::once(url).chain(values(headers)).collect(),
        }
    }
}

/// Everything else about a server. What is absent is decided by a lower layer, or by the host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) enabled: Option<bool>,
    pub(crate) era: Option<EraChoice>,
    pub(crate) required: Option<bool>,
    pub(crate) lazy: Option<bool>,
    pub(crate) idle_stop: Option<Duration>,
    pub(crate) startup_timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) hard_timeout: Option<Duration>,
    pub(crate) max_concurrency: Option<usize>,
    pub(crate) include: Option<Vec<String>>,
    pub(crate) exclude: Option<Vec<String>>,
    pub(crate) rename: Option<Vec<(String, String)>>,
    pub(crate) trust: Option<Trust>,
}

impl Settings {
    /// These settings, and where they are silent those.
    pub(crate) fn or(self, lower: Self) -> Self {
        Self {
            enabled: self.enabled.or(lower.enabled),
            era: self.era.or(lower.era),
            required: self.required.or(lower.required),
            lazy: self.lazy.or(lower.lazy),
            idle_stop: self.idle_stop.or(lower.idle_stop),
            startup_timeout: self.startup_timeout.or(lower.startup_timeout),
            idle_timeout: self.idle_timeout.or(lower.idle_timeout),
            hard_timeout: self.hard_timeout.or(lower.hard_timeout),
            max_concurrency: self.max_concurrency.or(lower.max_concurrency),
            include: self.include.or(lower.include),
            exclude: self.exclude.or(lower.exclude),
            rename: self.rename.or(lower.rename),
            trust: self.trust.or(lower.trust),
        }
    }
}

impl RawServer {
    /// What a decision about this entry is bound to: its file, its name and everything that it says.
    pub(crate) fn hash(&self, env_file: Option<&str>) -> String {
        let file = self.origin.file.to_string_lossy();
        digest::of(&[file.as_ref(), &self.name, &self.written.to_string(), env_file.unwrap_or_default()])
    }

    /// A problem of this server at this place of its file.
    pub(crate) fn problem(
        &self,
        at: Position,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        Problem {
            origin: Origin { line: at.line, ..self.origin.clone() },
            column: Some(at.column),
            server: Some(self.name.clone()),
            model: None,
            variable: None,
            message: message.into(),
            hint: hint.into(),
        }
    }
}
