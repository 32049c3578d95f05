//! The places of what runs: a session gets a part of all, so that no client keeps the others out.
//!
//! Answers to questions, cancellations and pings need none: where every place is taken by questions, they
//! are what frees one. They are read in a few places of their own then, which nothing holds for longer than
//! it takes to read one message.

use http::{Response, StatusCode};
use switchboard_protocol::{ProtocolError, RequestId};

use super::answer;
use crate::http::{Body, answer as modern};
use crate::limits::Limits;
use crate::listen::{Slot, Slots};

/// Of so many places one may be held by one session, and one for clients that have left; and one more is
/// there for messages that are read while all are taken.
const SHARE: usize = 4;

/// A part of so many places that everybody shares.
pub(super) fn share(places: usize) -> usize {
    (places / SHARE).max(1)
}

/// The places of one session, or those for messages beside a full server.
pub(super) fn part(limits: &Limits) -> Slots {
    Slots::new(share(limits.concurrent_exchanges))
}

/// The place of an exchange that runs, among all and among those of its session.
pub(super) struct Held {
    _of_all: Slot,
    _of_session: Slot,
}

/// Where the exchanges of one POST get theirs.
pub(crate) struct Places<'a> {
    /// Its own, if it has one.
    pub(crate) own: Option<Slot>,
    pub(crate) all: &'a Slots,
}

/// Whose places are taken.
#[derive(Clone, Copy, Debug)]
pub(super) enum Full {
    Session,
    Server,
}

impl Places<'_> {
    /// A place for an exchange of this session.
    pub(super) fn take(&mut self, session: &Slots) -> Result<Held, Full> {
        let of_session = session.take().ok_or(Full::Session)?;
        let of_all = self.own.take().or_else(|| self.all.take()).ok_or(Full::Server)?;
        Ok(Held { _of_all: of_all, _of_session: of_session })
    }
}

impl Full {
    #[cold]
    fn error(self, limits: &Limits) -> ProtocolError {
        ProtocolError::internal(match self {
            Self::Session => format!(
                "The server is busy: too many requests at the same time in this session; one session may run \
                 {} of them; answer its questions, cancel one, or try again later",
                share(limits.concurrent_exchanges)
            ),
            Self::Server => {
                "The server is busy: too many requests at the same time; try again later".to_owned()
            }
        })
    }

    /// As a message among others.
    pub(super) fn message(self, id: &RequestId, limits: &Limits) -> Vec<u8> {
        crate::legacy::error(Some(id), None, self.error(limits))
    }

    /// As the whole answer.
    pub(super) fn response(self, id: &RequestId, limits: &Limits) -> Response<Body> {
        let refusal = answer::error(StatusCode::SERVICE_UNAVAILABLE, Some(id), self.error(limits));
        modern::retried(refusal)
    }
}
