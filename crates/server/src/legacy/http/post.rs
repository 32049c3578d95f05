//! Messages that a client sends: a handshake, one message of a session or several, or one of a client of
//! HTTP+SSE.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, Response, StatusCode};
use switchboard_protocol::era::Era;
use switchboard_protocol::era::legacy::name::INITIALIZE;
use switchboard_protocol::frame::{Frame, FrameError, RequestFrame};
use switchboard_protocol::http::PROTOCOL_VERSION;
use switchboard_protocol::http::legacy::era_of_post;
use switchboard_protocol::{ProtocolError, Revision};

use super::Legacy;
use super::answer::{self, Answered};
use super::live::Live;
use super::places::{Held, Places};
use super::route::{self, Route};
use super::stream::Stream;
use super::work::{Place, Work};
use crate::entry::Core;
use crate::http::{Body, answer as modern};
use crate::legacy::{self, Event, Exchange, Step};

/// A message that was read, and what else is needed to serve it.
pub(crate) struct Received<'a> {
    pub(crate) parts: Parts,
    pub(crate) body: &'a Bytes,
    /// For what it asks to be run.
    pub(crate) places: Places<'a>,
}

/// What the messages of one POST led to so far.
#[derive(Default)]
struct Outcome {
    /// Answers that are there.
    replies: Vec<Bytes>,
    work: Work,
    /// What was said before all of it was at work.
    said: Option<Bytes>,
}

impl Outcome {
    /// What is said before the first wait, if it is more than answers.
    async fn first_said(&mut self) -> Option<Bytes> {
        if self.said.is_some() {
            return self.said.take();
        }
        poll_fn(|cx| {
            loop {
                match self.work.poll_next(cx) {
                    Poll::Ready(Some(Event::Reply(reply))) => self.replies.push(reply.into()),
                    Poll::Ready(Some(Event::Cancelled)) => {}
                    Poll::Ready(Some(Event::Message(message))) => return Poll::Ready(Some(message)),
                    Poll::Ready(None) | Poll::Pending => return Poll::Ready(None),
                }
            }
        })
        .await
    }
}

impl Legacy {
    /// Whether a message that is no modern claim is one of this era.
    pub(crate) fn takes(&self, parts: &Parts, body: &[u8]) -> bool {
        self.is_all()
            || era_of_post(&parts.headers, body) == Era::Legacy
            || route::route(parts, None) == Route::Message
    }

    /// Serves a message.
    pub(crate) async fn post(&self, received: Received<'_>, endpoint: Option<&str>) -> Response<Body> {
        if route::route(&received.parts, endpoint) == Route::Message {
            return self.message(received);
        }
        if self.is_all() && era_of_post(&received.parts.headers, received.body) == Era::Modern {
            return self.refuse_modern(&received.parts);
        }
        let answered =
            if is_array(received.body) { self.batch(received).await } else { self.single(received).await };
        answered.unwrap_or_else(|refused| *refused)
    }

    async fn single(&self, received: Received<'_>) -> Answered<Response<Body>> {
        let Received { parts, body, mut places } = received;
        let frame = match Frame::decode(body) {
            Ok(frame) => frame,
            Err(fault) => return self.malformed(&parts, fault),
        };
        if let Frame::Request(request) = &frame
            && request.method == INITIALIZE
        {
            return Ok(self.initialize(&parts, request));
        }
        let id = if let Frame::Request(request) = &frame { Some(request.id.clone()) } else { None };
        let live = self.enter(&parts, id.as_ref())?;
        let answer = match frame {
            Frame::Notification(notification) => {
                live.session().handle_notification(&notification);
                modern::accepted()
            }
            Frame::Response(response) => {
                // Whoever answers too late, or what was withdrawn meanwhile, does nothing wrong.
                live.session().handle_response(response);
                modern::accepted()
            }
            Frame::Request(request) => {
                let extensions = extensions(parts);
                let step = legacy::dispatch(&self.server, live.session(), request, (body, extensions));
                match step {
                    Step::Ready(reply) => answer::json(reply),
                    Step::Running(exchange) => match places.take(live.places()) {
                        Ok(held) => self.run_one(&live, exchange, held).await,
                        Err(full) => full.response(exchange.id(), self.limits()),
                    },
                }
            }
        };
        live.settle();
        Ok(answer)
    }

    /// Most handlers are ready at once and need no stream.
    async fn run_one(&self, live: &Arc<Live>, mut exchange: Exchange, held: Held) -> Response<Body> {
        let mut outcome = Outcome::default();
        match poll_fn(|cx| Poll::Ready(exchange.poll_event(cx))).await {
            Poll::Ready(Event::Reply(reply)) => return answer::json(reply),
            Poll::Ready(Event::Cancelled) => return self.run(live, outcome, false).await,
            Poll::Ready(Event::Message(message)) => outcome.said = Some(message),
            Poll::Pending => {}
        }
        outcome.work.add(exchange, held);
        self.run(live, outcome, false).await
    }

    /// Whoever sends something unreadable learns first whether there is a session to send it in.
    fn malformed(&self, parts: &Parts, fault: FrameError) -> Answered<Response<Body>> {
        if parts.headers.contains_key(switchboard_protocol::http::legacy::SESSION_ID) {
            self.enter(parts, fault.id.as_ref())?;
        }
        let id = fault.id.filter(|_| fault.answerable);
        Ok(answer::error(StatusCode::BAD_REQUEST, id.as_ref(), fault.error))
    }

    /// Opens a session. Whatever session the request names is left alone: a client that lost one may still
    /// name it.
    fn initialize(&self, parts: &Parts, request: &RequestFrame<'_>) -> Response<Body> {
        let (terms, reply) = match legacy::initialize(&self.server, request) {
            Ok(opened) => opened,
            Err(error) => return answer::error(StatusCode::BAD_REQUEST, Some(&request.id), error),
        };
        let caller = Core::caller(&parts.extensions);
        match self.ids.seal(&terms, caller, self.limits().sessions.life) {
            Ok(session) => answer::opened(reply, &session),
            Err(reason) => {
                tracing::error!(%reason, "a session id cannot be made");
                let why = ProtocolError::internal("The server cannot open sessions; its log says why");
                answer::error(StatusCode::INTERNAL_SERVER_ERROR, Some(&request.id), why)
            }
        }
    }

    async fn batch(&self, received: Received<'_>) -> Answered<Response<Body>> {
        let Received { parts, body, mut places } = received;
        let live = self.enter(&parts, None)?;
        if !Self::features(&live).batches {
            let revision = live.session().terms().revision;
            let why = format!("Revision {revision} has no batches: send one message at a time");
            return Err(Box::new(answer::bad(None, why)));
        }
        let most = self.limits().batch_messages;
        let messages = legacy::split_batch(body, most)
            .map_err(|error| Box::new(answer::error(StatusCode::BAD_REQUEST, None, error)))?;
        let extensions = extensions(parts);
        let mut outcome = Outcome::default();
        let mut malformed = None;
        for message in &messages {
            match Frame::decode(message) {
                Err(FrameError { answerable: false, error, .. }) => malformed = Some(error),
                Err(FrameError { id, error, .. }) => {
                    outcome.replies.push(legacy::error(id.as_ref(), None, error).into());
                }
                Ok(Frame::Notification(notification)) => live.session().handle_notification(&notification),
                Ok(Frame::Response(response)) => live.session().handle_response(response),
                Ok(Frame::Request(request)) => {
                    let what = (message, extensions.clone());
                    match legacy::dispatch(&self.server, live.session(), request, what) {
                        Step::Ready(reply) => outcome.replies.push(reply.into()),
                        Step::Running(exchange) => match places.take(live.places()) {
                            Ok(held) => outcome.work.add(exchange, held),
                            Err(full) => {
                                outcome.replies.push(full.message(exchange.id(), self.limits()).into());
                            }
                        },
                    }
                }
            }
        }
        let answer = if outcome.replies.is_empty() && outcome.work.is_empty() {
            match malformed {
                Some(error) => answer::error(StatusCode::BAD_REQUEST, None, error),
                None => modern::accepted(),
            }
        } else {
            self.run(&live, outcome, true).await
        };
        live.settle();
        Ok(answer)
    }

    /// Answers with what is there after the first look at what runs, or with an event stream, while the
    /// rest runs on in a task: it belongs to the session, and goes on if the connection breaks.
    async fn run(&self, live: &Arc<Live>, mut outcome: Outcome, is_batch: bool) -> Response<Body> {
        let said = outcome.first_said().await;
        if said.is_none() && outcome.work.is_empty() {
            return all_at_once(outcome.replies, is_batch);
        }
        let log = self.new_log();
        live.add_stream(&log);
        let reader = log.attach(None);
        outcome.replies.into_iter().chain(said).for_each(|message| log.push(message));
        let place = Place {
            log,
            live: Arc::clone(live),
            service: self.service.subscribe(),
            abandoned: Arc::clone(&self.abandoned),
            budget: Arc::clone(&self.budget),
            patience: self.limits().sessions.idle,
        };
        tokio::spawn(place.run(outcome.work));
        match reader {
            Some(reader) => answer::events(Stream::of_request(reader, (Self::features(live), self.limits()))),
            // A log that nobody has seen yet can be read.
            None => modern::busy("streams"),
        }
    }

    /// A message of a client of HTTP+SSE, which is answered on its stream.
    fn message(&self, received: Received<'_>) -> Response<Body> {
        let Received { parts, body, mut places } = received;
        let caller = Core::caller(&parts.extensions);
        let Some(id) = route::peer(&parts.uri) else {
            return answer::bad(None, "session_id is missing: send to the address that the stream said");
        };
        let Some(peer) = self.peers.find(id, caller) else { return answer::no_session(None) };
        if !peer.reads(self.limits().sessions.unread_bytes) {
            return modern::busy("answers that were not read from the stream");
        }
        let messages = match is_array(body) && peer.takes_batches() {
            false => vec![body.clone()],
            true => match legacy::split_batch(body, self.limits().batch_messages) {
                Ok(messages) => messages,
                Err(error) => return answer::error(StatusCode::BAD_REQUEST, None, error),
            },
        };
        let extensions = extensions(parts);
        let mut refused = None;
        for message in &messages {
            if let Err(refusal) = peer.take(&self.server, (message, extensions.clone()), &mut places) {
                refused = Some(refusal);
            }
        }
        match refused {
            Some((id, error)) => answer::error(StatusCode::BAD_REQUEST, id.as_ref(), error),
            None => modern::accepted(),
        }
    }

    /// As a server answers that was never ported to the modern era.
    #[cold]
    fn refuse_modern(&self, parts: &Parts) -> Response<Body> {
        let asked = parts.headers.get(&PROTOCOL_VERSION).and_then(|value| value.to_str().ok());
        let newest = self.server.legacy().eras.newest_legacy();
        let spoken = Revision::LEGACY.iter().filter(|revision| newest.is_some_and(|most| **revision <= most));
        let spoken: Vec<&str> = spoken.map(|revision| revision.date()).collect();
        let asked: String = asked.unwrap_or("not said").chars().take(40).collect();
        answer::bad(
            None,
            format!(
                "Unsupported protocol version: {asked}; this server speaks {}, in sessions that begin with \
                 initialize",
                spoken.join(", ")
            ),
        )
    }
}

/// The answer where nothing runs any more.
fn all_at_once(replies: Vec<Bytes>, is_batch: bool) -> Response<Body> {
    match <[Bytes; 1]>::try_from(replies) {
        Ok([reply]) if !is_batch => answer::json(reply),
        Ok([reply]) => answer::json(array(&[reply])),
        // What was cancelled is not answered.
        Err(replies) if replies.is_empty() => modern::accepted(),
        Err(replies) => answer::json(array(&replies)),
    }
}

fn array(messages: &[Bytes]) -> Vec<u8> {
    let mut out = vec![b'['];
    out.extend_from_slice(&messages.join(&b','));
    out.push(b']');
    out
}

fn is_array(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

/// What reaches the handler: what layers put into the request, and its head.
fn extensions(mut parts: Parts) -> Extensions {
    let mut extensions = std::mem::take(&mut parts.extensions);
    extensions.insert(parts);
    extensions
}
