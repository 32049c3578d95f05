//! What servers and calls are called inside the host.
//!
//! A [`ServerName`] is the person's name for a server, never the server's own; a [`CallId`] is the host's
//! number for a call, never the provider's. Where to look next: `exposure` for the names that a model sees.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::visible;

/// What the host is called where a server's name stands. No server can be called so.
pub const HOST_SERVER: &str = "switchboard";

/// The most characters of a server's name.
pub const MAX_SERVER_NAME_CHARS: usize = 64;

/// A server's name, given by whoever configured it.
///
/// One to 64 visible characters without `/`, `=`, `*` and spaces at the ends, so that it can stand in a policy
/// rule and on a command line.
///
/// ```
/// use switchboard_agent::ServerName;
///
/// let name = ServerName::new("weather")?;
/// assert_eq!(name.as_str(), "weather");
/// assert!(ServerName::new("a/b").is_err());
/// # Ok::<(), switchboard_agent::InvalidServerName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerName(Arc<str>);

/// A text that cannot name a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{shown} cannot name a server: {problem}; use 1 to {MAX_SERVER_NAME_CHARS} visible characters without '/', '=' and '*'"
)]
pub struct InvalidServerName {
    shown: String,
    problem: &'static str,
}

impl ServerName {
    /// Checks and takes a name.
    ///
    /// # Errors
    /// When the text is empty, too long, or holds a character that is invisible or has a meaning in rules.
    pub fn new(name: impl AsRef<str>) -> Result<Self, InvalidServerName> {
        let name = name.as_ref();
        if name == HOST_SERVER {
            let problem = "that is what the host itself is called";
            return Err(InvalidServerName { shown: visible::quoted(name, MAX_SERVER_NAME_CHARS), problem });
        }
        Self::read(name)
    }

    /// The host itself, which has a few tools of its own.
    #[must_use]
    pub fn host() -> Self {
        Self(HOST_SERVER.into())
    }

    /// As [`new`](Self::new), for what was written down and may name the host.
    fn read(name: &str) -> Result<Self, InvalidServerName> {
        let problem = if name.is_empty() {
            "it is empty"
        } else if name.chars().count() > MAX_SERVER_NAME_CHARS {
            "it is too long"
        } else if name.trim() != name {
            "it begins or ends with a space"
        } else if name.contains(['/', '=', '*']) {
            "it holds a character that has a meaning in rules"
        } else if name.chars().any(visible::is_invisible) {
            "it holds an invisible character"
        } else {
            return Ok(Self(name.into()));
        };
        Err(InvalidServerName { shown: visible::quoted(name, MAX_SERVER_NAME_CHARS), problem })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ServerName {
    type Error = InvalidServerName;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::read(&name)
    }
}

impl From<ServerName> for String {
    fn from(name: ServerName) -> Self {
        name.as_str().to_owned()
    }
}

/// A run's name: unique, visible ASCII, fit for an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct RunId(Arc<str>);

impl RunId {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for RunId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for RunId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.as_str().to_owned()
    }
}

/// The host's number for one call within a conversation, from 1. Approvals, events and results are keyed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u32);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
