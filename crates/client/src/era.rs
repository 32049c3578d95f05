//! Which revisions a client may speak, as its host chooses.

use switchboard_protocol::Revision;

/// Which revisions a client speaks with its server. Legacy revisions need the feature `legacy`, which is on
/// by default; a build without it refuses [`Era::Legacy`] and a legacy [`Era::Pinned`] when connecting.
///
/// ```
/// use switchboard_client::{Client, Era, Revision};
///
/// // A revision is named by its date, as it stands in a configuration.
/// let revision = Revision::from_date("2026-07-28").ok_or("no revision has this date")?;
/// let builder = Client::builder().era(Era::Pinned(revision));
/// # let _ = builder;
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Era {
    /// Asks in the modern way first, and opens a session with a handshake where the answer shows that the
    /// server knows no other. Refusals, faults of servers and failing networks never show that.
    #[default]
    Auto,
    /// Never opens a session: a legacy server is an error.
    Modern,
    /// Opens a session at once, without asking in the modern way, and offers the newest legacy revision.
    Legacy,
    /// Offers this revision as the newest. A modern one is the only one that is spoken then; with a legacy
    /// one a session is opened at once, and a server that answers with an older revision is followed.
    Pinned(Revision),
}
