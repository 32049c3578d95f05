//! Which revisions a server speaks.

use switchboard_protocol::era::{Era, Revision};

/// The revisions that a server speaks: all of them, unless the builder is told otherwise
/// ([`Builder::eras`](crate::Builder::eras)).
///
/// Handlers are the same for every revision; what a revision lacks is left out of the answers to it.
///
/// ```
/// use switchboard_protocol::Revision;
/// use switchboard_server::{Eras, Server, Tool};
///
/// // Clients of every revision are served. This is the default.
/// let server = Server::builder("demo", "1.0.0").eras(Eras::ALL).build(())?;
///
/// // A client that opens with a handshake is refused, and told which revisions are spoken.
/// let server = Server::builder("demo", "1.0.0").eras(Eras::MODERN_ONLY).build(())?;
///
/// // As a server that was never ported: handshakes only, and none of a later revision than this.
/// let newest = Revision::NEWEST_LEGACY;
/// let server = Server::builder("demo", "1.0.0").eras(Eras::up_to(newest)).build(())?;
/// # Ok::<(), switchboard_server::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eras {
    modern: bool,
    /// The newest revision that a handshake can agree on.
    handshake: Option<Revision>,
}

impl Eras {
    /// Every revision: the modern ones, and the legacy ones with a handshake.
    pub const ALL: Self = Self { modern: true, handshake: Some(Revision::NEWEST_LEGACY) };

    /// The modern revisions only; `initialize` is answered with an error that names them.
    pub const MODERN_ONLY: Self = Self { modern: true, handshake: None };

    /// This revision and every earlier one. If it is a legacy revision, the server speaks no modern one and
    /// answers modern requests as a legacy server does, which lets their clients fall back to the handshake.
    #[must_use]
    pub fn up_to(newest: Revision) -> Self {
        match newest.era() {
            Era::Modern => Self::ALL,
            Era::Legacy => Self { modern: false, handshake: Some(newest) },
        }
    }

    /// Whether requests without a session are served.
    pub(crate) fn has_modern(self) -> bool {
        self.modern
    }

    /// The newest revision that a handshake can agree on, if there are handshakes.
    pub(crate) fn newest_legacy(self) -> Option<Revision> {
        self.handshake
    }
}

impl Default for Eras {
    fn default() -> Self {
        Self::ALL
    }
}
