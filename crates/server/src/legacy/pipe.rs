//! The era of each message on a pipe [spec: basic/versioning, Backward Compatibility].
//!
//! A request that says its revision is modern wherever it stands. `initialize` opens the session of the
//! connection, and what does not say its revision belongs to that from then on.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Extensions;
use switchboard_protocol::RequestId;
use switchboard_protocol::era::legacy::name::{INITIALIZE, PING};
use switchboard_protocol::era::legacy::{Features, names_revision};
use switchboard_protocol::frame::RequestFrame;

use super::handshake;
use super::request::{Step, dispatch};
use super::session::Session;
use crate::server::Server;

/// What a connection keeps for the legacy era.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    session: Option<Arc<Session>>,
}

impl Peer {
    /// The session, once it is open.
    pub(crate) fn session(&self) -> Option<&Arc<Session>> {
        self.session.as_ref()
    }

    /// Whether several messages may come in one array.
    pub(crate) fn takes_batches(&self) -> bool {
        self.session().is_some_and(|session| Features::of(session.terms().revision).batches)
    }

    /// Whether a request is of the modern era.
    pub(crate) fn is_modern(&self, server: &Server, request: &RequestFrame<'_>) -> bool {
        let eras = server.legacy().eras;
        let opens = || matches!(&*request.method, INITIALIZE | PING);
        eras.newest_legacy().is_none()
            || eras.has_modern() && (self.session.is_none() && !opens() || names_revision(request.params))
    }

    /// Takes a request of the legacy era; `line` is the message that it was split from.
    pub(crate) fn take(&mut self, server: &Server, request: RequestFrame<'_>, line: &Bytes) -> Step {
        if let Some(session) = &self.session {
            return dispatch(server, session, request, (line, Extensions::new()));
        }
        let (answer, session) = handshake::before_the_session(server, &request);
        self.session = session.map(Arc::new);
        Step::Ready(answer)
    }

    /// The client wants no answer to this request any more.
    pub(crate) fn cancel(&self, request: &RequestId) {
        if let Some(session) = &self.session {
            session.cancel(request);
        }
    }

    /// The next thing that the session says of its own accord, encoded.
    pub(crate) fn poll_change(&self, cx: &mut Context<'_>) -> Poll<Bytes> {
        match &self.session {
            Some(session) => session.poll_change(cx),
            None => Poll::Pending,
        }
    }
}
