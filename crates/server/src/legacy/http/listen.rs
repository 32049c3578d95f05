//! The streams that a client opens itself: the one of a session, one that broke, and that of HTTP+SSE.

use http::request::Parts;
use http::{Response, StatusCode};
use switchboard_protocol::ProtocolError;
use switchboard_protocol::http::legacy::{LAST_EVENT_ID, accepts_events};

use super::answer::{self, Answered};
use super::log::EventId;
use super::stream::{Closing, Standing, Stream};
use super::{Legacy, places, route};
use crate::entry::Core;
use crate::http::{Body, answer as modern};

impl Legacy {
    /// Opens the stream of a session that belongs to no request, or takes up one that broke.
    pub(super) fn get(&self, parts: &Parts) -> Response<Body> {
        if !accepts_events(&parts.headers) {
            let why = ProtocolError::invalid_request("The Accept header must allow text/event-stream");
            return answer::error(StatusCode::NOT_ACCEPTABLE, None, why);
        }
        self.listen(parts).map_or_else(|refused| *refused, answer::events)
    }

    fn listen(&self, parts: &Parts) -> Answered<Stream> {
        let live = self.enter(parts, None)?;
        let Some(slot) = self.server.listens().take() else {
            return Err(Box::new(modern::busy("open streams")));
        };
        let how = (Self::features(&live), self.limits());
        if let Some(event) = last_event(parts)? {
            match live.resume(event) {
                Some(reader) if !event.is_standing() => return Ok(Stream::resumed(reader, slot, how)),
                Some(reader) => {
                    let closing = self.closing();
                    return Ok(Stream::standing(Standing { reader, live, closing }, slot, how));
                }
                // Of a stream of notices nothing is missed that the client could not ask for.
                None if event.is_standing() => {}
                None => return Err(Box::new(unknown_event())),
            }
        }
        let Some(reader) = live.stand(|| self.new_standing_log()) else {
            return Err(Box::new(answer::no_session(None)));
        };
        let closing = self.closing();
        Ok(Stream::standing(Standing { reader, live, closing }, slot, how))
    }

    /// Opens a stream of HTTP+SSE.
    pub(super) fn open(&self, parts: &Parts) -> Response<Body> {
        let Some(slot) = self.server.listens().take() else { return modern::busy("open streams") };
        let until = (self.closing(), self.limits().read_timeout);
        match self.peers.open(Core::caller(&parts.extensions), until, places::part(self.limits())) {
            Ok((reading, id)) => {
                let address = route::address(&parts.uri, self.public_url.as_deref(), &id);
                answer::events(Stream::peer(reading.from(address), slot, self.limits()))
            }
            Err(fault) => {
                let why = ProtocolError::internal(format!("no randomness for a session: {fault}"));
                answer::error(StatusCode::INTERNAL_SERVER_ERROR, None, why)
            }
        }
    }

    /// Resolves once the service ends its streams.
    fn closing(&self) -> Closing {
        let mut closing = self.closing.subscribe();
        Box::pin(async move {
            // An error means that the service is gone, which is an end as well.
            let _ = closing.wait_for(|closing| *closing).await;
        })
    }
}

/// The last event that arrived, if the client says.
fn last_event(parts: &Parts) -> Answered<Option<EventId>> {
    let Some(text) = parts.headers.get(LAST_EVENT_ID) else { return Ok(None) };
    match text.to_str().ok().and_then(|text| EventId::parse(text.trim())) {
        Some(event) => Ok(Some(event)),
        None => Err(Box::new(unknown_event())),
    }
}

#[cold]
fn unknown_event() -> Response<Body> {
    answer::bad(
        None,
        "Last-Event-ID is not known here, or no longer: what that stream said is not kept any more; send the \
         request again, or listen without Last-Event-ID",
    )
}
