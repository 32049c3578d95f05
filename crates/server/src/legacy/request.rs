//! One request of a session, from its frame to its answer or to what runs.

use std::sync::Arc;

use bytes::Bytes;
use http::Extensions;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_protocol::era::legacy::Features;
use switchboard_protocol::era::legacy::name::{INITIALIZE, PING, SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE};
use switchboard_protocol::frame::RequestFrame;
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_protocol::{Method, ProtocolError, RequestId};

use super::encode::{self, To};
use super::exchange::Exchange;
use super::handshake;
use super::session::Session;
use super::watch::Full;
use crate::call::Call;
use crate::exchange::Dispatch;
use crate::limits::Limits;
use crate::outbox::Outbox;
use crate::reply::ReplyBody;
use crate::server::Server;

/// What became of a request.
pub(crate) enum Step {
    /// The whole answer is there.
    Ready(Vec<u8>),
    /// A handler runs.
    Running(Exchange),
}

/// Runs a request of a session, or answers it at once. `body` is the message that the frame was split from.
pub(crate) fn dispatch(
    server: &Server,
    session: &Arc<Session>,
    frame: RequestFrame<'_>,
    (body, extensions): (&Bytes, Extensions),
) -> Step {
    let id = frame.id.clone();
    let done = match &*frame.method {
        PING => Ok(()),
        SET_LEVEL => set_level(session, frame.params),
        SUBSCRIBE | UNSUBSCRIBE => subscribe(server, session, frame, (body, extensions)),
        INITIALIZE => Err(handshake::is_open()),
        _ => return call(server, session, frame, (body, extensions)),
    };
    Step::Ready(match done {
        Ok(()) => encode::empty(&id),
        // What is wrong with a resource is what reading it would say; the others have nothing like it.
        Err(error) => encode::error(Some(&id), Some(Method::ReadResource), error),
    })
}

fn set_level(session: &Session, params: Option<&RawValue>) -> Result<(), ProtocolError> {
    #[derive(Deserialize)]
    struct Params {
        level: String,
    }
    let params: Params = serde_json::from_str(params.map_or("{}", RawValue::get))
        .map_err(|error| ProtocolError::invalid_params(format!("Invalid params: {error}")))?;
    let level = LoggingLevel::from_name(&params.level).ok_or_else(|| {
        ProtocolError::invalid_params(
            "Invalid params: level must be debug, info, notice, warning, error, critical, alert or emergency",
        )
    })?;
    session.set_level(level);
    Ok(())
}

/// `resources/subscribe` and `resources/unsubscribe`, whose parameters are those of `resources/read`.
fn subscribe(
    server: &Server,
    session: &Session,
    frame: RequestFrame<'_>,
    (body, extensions): (&Bytes, Extensions),
) -> Result<(), ProtocolError> {
    if !server.takes_subscriptions() {
        return Err(ProtocolError::method_not_found(&frame.method));
    }
    let ends = frame.method == UNSUBSCRIBE;
    let frame = RequestFrame { method: Method::ReadResource.name().into(), ..frame };
    let call = Call::from_session(frame, (body, extensions), session).map_err(|refusal| refusal.error)?;
    let uri = call.name();
    if ends && session.unsubscribe(uri) {
        return Ok(());
    }
    server.find_resource(&call)?;
    if ends {
        return Ok(());
    }
    session.subscribe(uri).map_err(|full| no_room(full, server.limits()))
}

#[cold]
fn no_room(full: Full, limits: &Limits) -> ProtocolError {
    ProtocolError::internal(match full {
        Full::Session => format!(
            "The session cannot be subscribed to more: the limits of this server are {} resources and {} bytes \
             of URIs; unsubscribe from one first",
            limits.listen_uris, limits.line_bytes
        ),
        Full::Server => format!(
            "The server cannot take more subscriptions: all its sessions together are subscribed to as much as \
             they may, {} bytes of URIs; unsubscribe from one that is not needed, or try again later",
            limits.sessions.subscribed_bytes
        ),
    })
}

fn call(
    server: &Server,
    session: &Arc<Session>,
    frame: RequestFrame<'_>,
    (body, extensions): (&Bytes, Extensions),
) -> Step {
    let id = frame.id.clone();
    let refuse = |error| Step::Ready(encode::error(Some(&id), Method::from_name(&frame.method), error));
    let method = match Method::from_name(&frame.method) {
        None | Some(Method::Discover | Method::SubscriptionsListen) => {
            return refuse(ProtocolError::method_not_found(&frame.method));
        }
        Some(method) => method,
    };
    let Some(entry) = session.enter(&id) else { return refuse(duplicate(&id)) };
    // From here on the id is given back when this is dropped.
    let entered = Exchange::new(server, session, (entry, method));
    let mut call = match Call::from_session(frame, (body, extensions), session) {
        Ok(call) => call,
        Err(refusal) => return Step::Ready(encode::error(Some(&id), Some(method), refusal.error)),
    };
    call.outbox = outbox(server, &call);
    let seed = call.seed();
    match server.dispatch(call) {
        Dispatch::Ready(reply) if !matches!(reply.body, ReplyBody::InputRequired(_)) => {
            let to = To { id: &id, method, revision: session.terms().revision };
            Step::Ready(encode::reply(server, to, reply))
        }
        dispatched => Step::Running(entered.running(dispatched, seed)),
    }
}

/// The outbox of a call, in the words of its revision.
fn outbox(server: &Server, call: &Call) -> Option<Arc<Outbox>> {
    let (token, level) = (call.meta.progress_token.clone(), call.meta.log_level);
    let mut outbox = Outbox::new(token, level, server.limits());
    outbox.has_words = Features::of(call.meta.revision).progress_message;
    Some(Arc::new(outbox))
}

fn duplicate(id: &RequestId) -> ProtocolError {
    ProtocolError::invalid_request(format!(
        "The id {id} belongs to a request that is still in flight; give every request its own"
    ))
}
