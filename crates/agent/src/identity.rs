//! What a server says it is, and what is spoken with it: for display and for the journal, never a reason to trust it.

use std::fmt;

use switchboard_client::Client;
use switchboard_protocol::Era;

use crate::visible;

/// The most characters of a server's own words that are shown.
const SHOWN_CHARS: usize = 100;

/// What is known of a server that was connected to. Shown as `NAME VERSION, revision DATE`, and `in a session` after it
/// where that is so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// What it calls itself, with its version.
    pub implementation: Option<String>,
    /// The revision that is spoken with it.
    pub revision: String,
    /// Whether a handshake opened a session, as the legacy revisions want it.
    pub session: bool,
}

impl Identity {
    /// The server at the other end of this connection.
    #[must_use]
    pub fn of(client: &Client) -> Self {
        let revision = client.revision();
        Self {
            implementation: client.server_info().map(|info| format!("{} {}", info.name, info.version)),
            revision: revision.to_string(),
            session: revision.era() == Era::Legacy,
        }
    }

    /// What it calls itself, without its version.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let implementation = self.implementation.as_deref()?;
        Some(implementation.rsplit_once(' ').map_or(implementation, |(name, _)| name))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(implementation) = &self.implementation {
            let mut shown = visible::line(implementation);
            if let Some((end, _)) = shown.char_indices().nth(SHOWN_CHARS) {
                shown.truncate(end);
                shown.push('…');
            }
            write!(f, "{shown}, ")?;
        }
        write!(f, "revision {}{}", visible::line(&self.revision), in_a_session(self.session))
    }
}

/// What follows a revision that takes a session.
pub(crate) fn in_a_session(session: bool) -> &'static str {
    if session { " in a session" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::Identity;

    #[test]
    fn an_identity_is_one_line_whatever_the_server_calls_itself() {
        let identity = |implementation: &str, session| Identity {
            implementation: (!implementation.is_empty()).then(|| implementation.to_owned()),
            revision: "DATE".to_owned(),
            session,
        };
        for (implementation, session, expected) in [
            ("", false, "revision DATE"),
            ("", true, "revision DATE in a session"),
            ("demo 1", true, "demo 1, revision DATE in a session"),
            ("a\n\u{1b}[2J 1", false, "a\\u{a}\\u{1b}[2J 1, revision DATE"),
        ] {
            assert_eq!(identity(implementation, session).to_string(), expected);
        }
        assert!(identity(&"x".repeat(1000), false).to_string().len() < 200);
    }
}
