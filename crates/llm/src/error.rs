//! Why a model could not answer.
//!
//! [`ModelError`] is opaque: ask its predicates. Its text names the cause and the next action, and never holds
//! an API key.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// A model could not answer.
#[derive(Debug)]
pub struct ModelError {
    kind: Kind,
    message: String,
    hint: Option<String>,
    status: Option<u16>,
    retry_after: Option<Duration>,
    transient: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What we were given cannot work: address, key, name.
    Configuration,
    /// No model was named, and the endpoint does not say which it has.
    Unnamed,
    /// Nothing was sent.
    Connect,
    Timeout,
    /// The endpoint answered with an error status.
    Status,
    /// The connection broke, or the endpoint reported an error in the middle of an answer.
    Interrupted,
    /// The answer cannot be understood.
    Malformed,
    /// The answer exceeds a limit of ours.
    TooLarge,
}

impl ModelError {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            status: None,
            retry_after: None,
            transient: false,
            source: None,
        }
    }

    /// Says what to do next. The first hint wins: it is the closest to the cause.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    pub(crate) fn with_status(mut self, status: u16, retry_after: Option<Duration>) -> Self {
        self.status = Some(status);
        self.retry_after = retry_after;
        self
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says whether it may go better next time.
    pub(crate) fn transient(mut self, transient: bool) -> Self {
        self.transient = transient;
        self
    }

    pub(crate) fn is_transient(&self) -> bool {
        self.transient
    }

    pub(crate) fn map_message(mut self, map: impl FnOnce(String) -> String) -> Self {
        self.message = map(self.message);
        self
    }

    /// The HTTP status that the endpoint answered with.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// How long the endpoint asks to wait before the next attempt.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// What went wrong, without what to do about it.
    pub fn cause(&self) -> &str {
        &self.message
    }

    /// What to do next.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Address, key or name cannot work.
    pub fn is_configuration(&self) -> bool {
        matches!(self.kind, Kind::Configuration | Kind::Unnamed)
    }

    /// No model was named, and the endpoint does not say which it has.
    pub fn needs_model_name(&self) -> bool {
        self.kind == Kind::Unnamed
    }

    /// The endpoint could not be reached; nothing was sent.
    pub fn is_connect(&self) -> bool {
        self.kind == Kind::Connect
    }

    /// A limit of time was reached.
    pub fn is_timeout(&self) -> bool {
        self.kind == Kind::Timeout
    }

    /// The endpoint does not accept the key (401, 403).
    pub fn is_unauthorized(&self) -> bool {
        matches!(self.status, Some(401 | 403))
    }

    /// The endpoint limits the rate (429).
    pub fn is_rate_limited(&self) -> bool {
        self.status == Some(429)
    }

    /// The answer began and broke off: what was shown of it is not whole.
    pub fn is_interrupted(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    /// The answer cannot be understood.
    pub fn is_malformed(&self) -> bool {
        self.kind == Kind::Malformed
    }

    /// The answer exceeds one of the client's limits.
    pub fn is_too_large(&self) -> bool {
        self.kind == Kind::TooLarge
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
