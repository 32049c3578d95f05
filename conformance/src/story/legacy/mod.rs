//! The server of the story, with a choice of the revisions that it speaks.

use switchboard_server::{BuildError, Eras, Server};

use super::{builder, finish};

/// Makes the server for clients of these revisions.
///
/// # Errors
/// What is wrong with the things that it exposes.
pub fn server_of(eras: Eras) -> Result<Server, BuildError> {
    finish(builder().eras(eras))
}
