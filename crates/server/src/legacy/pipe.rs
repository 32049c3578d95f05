//! The era of each message on a pipe [spec: basic/versioning, Backward Compatibility].
//!
//! A request that says its revision is modern wherever it stands. `initialize` opens the session of the
//! connection, and what does not say its revision belongs to that from then on.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Extensions;
use switchboard_protocol::era::legacy::name::{INITIALIZE, PING, SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE};
use switchboard_protocol::era::legacy::{Features, Lifecycle};
use switchboard_protocol::frame::RequestFrame;
use switchboard_protocol::{Method, ProtocolError, RequestId};

use super::encode;
use super::exchange::Exchange;
use super::handshake;
use super::request::{Step, dispatch, is_modern};
use super::session::Session;
use crate::server::Server;

/// What a connection keeps for the legacy era.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    session: Option<Arc<Session>>,
}

/// Whose a request is.
pub(crate) enum Turn<'a> {
    /// Of the modern era.
    Modern(RequestFrame<'a>),
    /// Of the legacy era, and answered.
    Ready(Vec<u8>),
    /// Of the legacy era, and running.
    Running(Box<Exchange>),
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

    /// Takes a request; `line` is the message that it was split from.
    pub(crate) fn take<'a>(&mut self, server: &Server, request: RequestFrame<'a>, line: &Bytes) -> Turn<'a> {
        let eras = server.legacy().eras;
        match &self.session {
            _ if eras.newest_legacy().is_none() => Turn::Modern(request),
            Some(session) => {
                if eras.has_modern() && is_modern(request.params) {
                    return Turn::Modern(request);
                }
                match dispatch(server, session, request, (line, Extensions::new())) {
                    Step::Ready(answer) => Turn::Ready(answer),
                    Step::Running(exchange) => Turn::Running(Box::new(exchange)),
                }
            }
            None => {
                let opens = matches!(&*request.method, INITIALIZE | PING);
                if eras.has_modern() && (!opens || is_modern(request.params)) {
                    return Turn::Modern(request);
                }
                Turn::Ready(self.before_the_session(server, &request))
            }
        }
    }

    fn before_the_session(&mut self, server: &Server, request: &RequestFrame<'_>) -> Vec<u8> {
        let error = match &*request.method {
            PING => return encode::empty(&request.id),
            INITIALIZE => match handshake::initialize(server, request) {
                Ok((terms, answer)) => {
                    self.session = Some(Arc::new(Session::new(server, terms)));
                    return answer;
                }
                Err(error) => error,
            },
            method if is_known(method) => match Lifecycle::new().handle_request(method) {
                Ok(()) => return encode::empty(&request.id),
                Err(error) => error,
            },
            method => ProtocolError::method_not_found(method),
        };
        encode::error(Some(&request.id), None, error)
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

fn is_known(method: &str) -> bool {
    matches!(method, SET_LEVEL | SUBSCRIBE | UNSUBSCRIBE)
        || !matches!(Method::from_name(method), None | Some(Method::Discover | Method::SubscriptionsListen))
}
