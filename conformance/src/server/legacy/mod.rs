//! The server under test for clients that open with a handshake: one that ends its event streams early, and one that
//! has nothing newer than a given revision. What is exposed is the same.

use std::time::Duration;

use switchboard_protocol::Revision;
use switchboard_server::{BuildError, Builder, Eras, Limits, Server, SessionLimits};

use super::{builder, finish};

/// How long one connection carries an event stream. A scenario wants to see one end before the answer; the tool that
/// it calls outlasts this.
const STREAM_TIME: Duration = Duration::from_secs(1);

/// After how long a client shall take up a stream again.
const RETRY: Duration = Duration::from_millis(100);

/// Makes the server as one that was never ported to anything newer than this revision.
///
/// # Errors
/// What is wrong with the things that it exposes.
pub fn server_up_to(newest: Revision) -> Result<Server, BuildError> {
    finish(builder().eras(Eras::up_to(newest)))
}

/// Lets event streams end early.
pub(super) fn limit(builder: Builder<()>) -> Builder<()> {
    let sessions = SessionLimits { stream_time: STREAM_TIME, retry: RETRY, ..SessionLimits::default() };
    builder.limits(Limits { sessions, ..Limits::default() })
}
