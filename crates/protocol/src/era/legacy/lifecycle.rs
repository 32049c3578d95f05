//! The phases of a session, from the server's view [spec: basic/lifecycle].

use super::{Initialize, name, negotiate};
use crate::era::Revision;
use crate::error::ProtocolError;

/// Which phase a session is in.
///
/// ```
/// use switchboard_protocol::Revision;
/// use switchboard_protocol::era::legacy::{Initialize, Lifecycle};
///
/// let params = serde_json::value::RawValue::from_string(
///     r#"{"protocolVersion":"2099-01-01","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#.into(),
/// )?;
/// let mut lifecycle = Lifecycle::new();
/// assert!(lifecycle.handle_request("tools/list").is_err());
///
/// let agreed = lifecycle.handle_initialize(&Initialize::decode(Some(&params))?, Revision::NEWEST_LEGACY)?;
/// assert_eq!(agreed, Revision::NEWEST_LEGACY);
/// assert!(lifecycle.handle_request("tools/list").is_ok() && !lifecycle.may_ask());
///
/// lifecycle.handle_initialized();
/// assert!(lifecycle.may_ask());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifecycle {
    phase: Phase,
    revision: Option<Revision>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Only `initialize` and `ping` are answered.
    #[default]
    ExpectInitialize,
    /// Requests are served; the server itself may only ping and log.
    ExpectInitialized,
    /// Both sides may ask.
    Open,
    /// Nothing is said any more.
    Closed,
}

impl Lifecycle {
    /// A session that nobody has opened yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A session whose handshake happened elsewhere: at another replica, say.
    #[must_use]
    pub fn resumed(revision: Revision) -> Self {
        Self { phase: Phase::Open, revision: Some(revision) }
    }

    /// Whether a request of the client may be served now.
    ///
    /// # Errors
    /// `-32600`, with the rule that it breaks and what to do.
    pub fn handle_request(&self, method: &str) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Closed => Err(ProtocolError::invalid_request("The session is closed; open another one")),
            Phase::ExpectInitialize if matches!(method, name::INITIALIZE | name::PING) => Ok(()),
            Phase::ExpectInitialize => Err(ProtocolError::invalid_request(format!(
                "{method} came before the session was opened: send {} first, then {}",
                name::INITIALIZE,
                name::INITIALIZED
            ))),
            Phase::ExpectInitialized | Phase::Open if method == name::INITIALIZE => {
                Err(ProtocolError::invalid_request(format!(
                    "{} opens a session once, and this one is open; for other terms open another session",
                    name::INITIALIZE
                )))
            }
            Phase::ExpectInitialized | Phase::Open => Ok(()),
        }
    }

    /// Opens the session in the revision that is returned. `newest` caps what is spoken.
    ///
    /// # Errors
    /// As [`Lifecycle::handle_request`]: a session is opened once.
    pub fn handle_initialize(
        &mut self,
        params: &Initialize<'_>,
        newest: Revision,
    ) -> Result<Revision, ProtocolError> {
        self.handle_request(name::INITIALIZE)?;
        let revision = negotiate(&params.protocol_version, newest);
        *self = Self { phase: Phase::ExpectInitialized, revision: Some(revision) };
        Ok(revision)
    }

    /// The client is ready for requests. Out of place it changes nothing: a notification has no answer.
    pub fn handle_initialized(&mut self) {
        if self.phase == Phase::ExpectInitialized {
            self.phase = Phase::Open;
        }
    }

    /// The transport ended, or the client ended the session.
    pub fn close(&mut self) {
        self.phase = Phase::Closed;
    }

    /// The revision of the session, once there is one.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Whether the server may send requests other than `ping`.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Whether the session is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }
}
