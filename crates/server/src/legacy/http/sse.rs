//! HTTP+SSE, the transport of the first revision [spec: basic/transports, HTTP with SSE]: one stream that
//! says everything, and an address that everything is sent to.
//!
//! The session ends with its stream. What runs in it is polled by the stream's own connection, so a client
//! that does not read stops its handlers, and one that leaves drops them.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchboard_protocol::era::legacy::Features;
use switchboard_protocol::frame::{Frame, RequestFrame};
use switchboard_protocol::{ProtocolError, RequestId};
use switchboard_sse::EventRef;
use tokio::time::Sleep;

use super::places::{Held, Places};
use super::stream::{Closing, put};
use super::work::Work;
use crate::legacy::{self, Event, Exchange, Session, Step};
use crate::listen::Slots;
use crate::server::Server;

type Key = [u8; 16];

/// The clients whose streams are open.
#[derive(Default)]
pub(super) struct Peers {
    open: Mutex<HashMap<Key, Arc<Peer>>>,
}

/// One client of HTTP+SSE.
pub(super) struct Peer {
    caller: Option<String>,
    session: OnceLock<Arc<Session>>,
    /// Of what runs in it.
    places: Slots,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Answers that wait to be read, and their bytes.
    unread: VecDeque<Bytes>,
    bytes: usize,
    /// What was started and is not polled by the stream yet.
    started: Vec<(Exchange, Held)>,
    is_over: bool,
    waker: Option<Waker>,
}

impl Peers {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Peer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new client; the reading end, and the id that it sends under.
    pub(super) fn open(
        self: &Arc<Self>,
        caller: Option<&str>,
        (closing, patience): (Closing, Duration),
        places: Slots,
    ) -> Result<(Reading, String), getrandom::Error> {
        let mut key = [0; 16];
        getrandom::fill(&mut key)?;
        let peer = Arc::new(Peer {
            caller: caller.map(str::to_owned),
            session: OnceLock::new(),
            places,
            state: Mutex::default(),
        });
        self.lock().insert(key, Arc::clone(&peer));
        let peers = Arc::clone(self);
        let reading = Reading {
            key,
            peer,
            peers,
            work: Work::default(),
            address: None,
            closing,
            patience: Some(Box::pin(tokio::time::sleep(patience))),
            ends: false,
        };
        Ok((reading, format!("{:032x}", u128::from_be_bytes(key))))
    }

    /// The client with this id, if it is this caller.
    pub(super) fn find(&self, id: &str, caller: Option<&str>) -> Option<Arc<Peer>> {
        let key = u128::from_str_radix(id, 16).ok()?.to_be_bytes();
        let peer = self.lock().get(&key).map(Arc::clone)?;
        (peer.caller.as_deref() == caller).then_some(peer)
    }
}

impl Peer {
    // Nothing panics while it holds the lock, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it reads what it is told.
    pub(super) fn reads(&self, most: usize) -> bool {
        self.lock().bytes <= most
    }

    /// Whether several messages may come in one array.
    pub(super) fn takes_batches(&self) -> bool {
        self.session.get().is_some_and(|session| Features::of(session.terms().revision).batches)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.lock();
            if state.is_over {
                return;
            }
            change(&mut state);
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Says something, without being asked by what runs.
    pub(super) fn say(&self, message: impl Into<Bytes>) {
        let message = message.into();
        self.change(|state| {
            state.bytes += message.len();
            state.unread.push_back(message);
        });
    }

    /// Takes a message of the client. What is to be answered is answered on the stream.
    ///
    /// # Errors
    /// What the sender is owed for something that is no message, or for an answer before there is a session.
    pub(super) fn take(
        &self,
        server: &Server,
        (body, extensions): (&Bytes, http::Extensions),
        places: &mut Places<'_>,
    ) -> Result<(), (Option<RequestId>, ProtocolError)> {
        match Frame::decode(body).map_err(|fault| (fault.id.filter(|_| fault.answerable), fault.error))? {
            Frame::Request(request) => {
                let id = request.id.clone();
                let step = match self.session.get() {
                    Some(session) => legacy::dispatch(server, session, request, (body, extensions)),
                    None => Step::Ready(self.before_the_session(server, &request)),
                };
                match step {
                    Step::Ready(answer) => self.say(answer),
                    Step::Running(exchange) => match places.take(&self.places) {
                        Ok(held) => self.change(|state| state.started.push((exchange, held))),
                        Err(full) => self.say(full.message(&id, server.limits())),
                    },
                }
            }
            Frame::Notification(notification) => {
                if let Some(session) = self.session.get() {
                    session.handle_notification(&notification);
                    self.change(|_| {});
                }
            }
            Frame::Response(response) => {
                let Some(session) = self.session.get() else {
                    let why = "This answers nothing: no session is open; send initialize first";
                    return Err((None, ProtocolError::invalid_request(why)));
                };
                session.handle_response(response);
            }
        }
        Ok(())
    }

    fn before_the_session(&self, server: &Server, request: &RequestFrame<'_>) -> Vec<u8> {
        let (answer, session) = legacy::before_the_session(server, request);
        if let Some(session) = session {
            // Of two at the same time one opens the session, and both are told the same.
            let _ = self.session.set(Arc::new(session));
        }
        answer
    }
}

/// The reading end of a client's stream. Dropping it ends the session.
pub(super) struct Reading {
    key: Key,
    peer: Arc<Peer>,
    peers: Arc<Peers>,
    work: Work,
    /// Where the client sends to, until it was told.
    address: Option<String>,
    closing: Closing,
    /// When a client that has not begun a session is left.
    patience: Option<Pin<Box<Sleep>>>,
    /// The service ends: nothing new is begun.
    ends: bool,
}

impl Reading {
    /// Tells the client first of all where to send to.
    pub(super) fn from(mut self, address: String) -> Self {
        self.address = Some(address);
        self
    }

    /// Writes the next event; `None` at the end.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, out: &mut BytesMut) -> Poll<Option<()>> {
        if let Some(address) = self.address.take() {
            let data = Some(address.as_bytes());
            put(out, &EventRef { event: Some("endpoint"), data, ..EventRef::default() });
            return Poll::Ready(Some(()));
        }
        self.ends = self.ends || self.closing.as_mut().poll(cx).is_ready() || self.is_out_of_patience(cx);
        loop {
            match self.poll_message(cx) {
                Poll::Ready(Some(message)) => {
                    put(
                        out,
                        &EventRef { event: Some("message"), data: Some(&message), ..EventRef::default() },
                    );
                    return Poll::Ready(Some(()));
                }
                Poll::Ready(None) => {}
                Poll::Pending if self.ends && self.work.is_empty() => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn is_out_of_patience(&mut self, cx: &mut Context<'_>) -> bool {
        if self.peer.session.get().is_some() {
            self.patience = None;
        }
        self.patience.as_mut().is_some_and(|patience| patience.as_mut().poll(cx).is_ready())
    }

    /// `Ready(None)` if something happened that says nothing.
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        {
            let mut state = self.peer.lock();
            if let Some(message) = state.unread.pop_front() {
                state.bytes -= message.len();
                return Poll::Ready(Some(message));
            }
            for (exchange, held) in state.started.drain(..) {
                self.work.add(exchange, held);
            }
            state.waker = Some(cx.waker().clone());
        }
        match self.work.poll_next(cx) {
            Poll::Ready(Some(Event::Message(message))) => return Poll::Ready(Some(message)),
            Poll::Ready(Some(Event::Reply(reply))) => return Poll::Ready(Some(reply.into())),
            Poll::Ready(Some(Event::Cancelled)) => return Poll::Ready(None),
            Poll::Ready(None) | Poll::Pending => {}
        }
        match self.peer.session.get() {
            Some(session) if !self.ends => session.poll_change(cx).map(Some),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.peers.lock().remove(&self.key);
        let left = {
            let mut state = self.peer.lock();
            state.is_over = true;
            std::mem::take(&mut state.started)
        };
        // Handlers that are dropped may do whatever they like, but not under the lock.
        drop(left);
    }
}
