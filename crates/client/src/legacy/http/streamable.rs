//! Streamable HTTP: every message is a POST to one address, whose answer holds the response
//! [spec: basic/transports, Streamable HTTP].

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use switchboard_protocol::Revision;
use tokio::sync::watch;
use tokio::time::timeout;

use super::answer::Answer;
use super::cancel::{Cancellations, Guard};
use super::exchange::{Sorter, hear};
use super::id::SessionId;
use super::standing::Standing;
use super::way::Way;
use super::{Acknowledgement, End, GOODBYE, forgotten, lock};
use crate::error::{Error, Kind};
use crate::http::HttpLink;
use crate::legacy::{Ears, Over};
use crate::link::{Opening, Said};

/// One session over Streamable HTTP.
pub(crate) struct StreamableHttp {
    shared: Arc<Shared>,
    ears: Arc<Ears>,
    cancellations: Arc<Cancellations>,
    acknowledgement: Acknowledgement,
    standing: Mutex<Option<Standing>>,
}

/// What the session's streams share with it.
pub(super) struct Shared {
    way: Mutex<Arc<Way>>,
    end: End,
    /// Set once the server has answered whether it has a stream of its own.
    listening: watch::Sender<bool>,
}

impl Shared {
    pub(super) fn way(&self) -> Arc<Way> {
        Arc::clone(&lock(&self.way))
    }

    fn change(&self, change: impl FnOnce(&mut Way)) {
        change(Arc::make_mut(&mut lock(&self.way)));
    }

    /// Notes whether an error is the end of the session. Says what it means for the message that was sent.
    fn judge(&self, way: &Way, error: Error) -> Error {
        if !way.is_lost(&error) {
            return error;
        }
        self.end.set();
        forgotten(&error)
    }

    /// The server does not know the session any more.
    pub(super) fn set_over(&self) {
        self.end.set();
    }

    pub(super) fn over(&self) -> Over {
        self.end.wait()
    }

    /// What the server says of its own accord is heard from now on, as far as it ever will be.
    pub(super) fn set_listening(&self) {
        self.listening.send_replace(true);
    }
}

impl StreamableHttp {
    pub(crate) fn new(link: &Arc<HttpLink>, ears: &Arc<Ears>) -> Self {
        let way = Mutex::new(Arc::new(Way::new(link)));
        Self {
            shared: Arc::new(Shared { way, end: End::new(), listening: watch::Sender::new(false) }),
            ears: Arc::clone(ears),
            cancellations: Arc::new(Cancellations::new()),
            acknowledgement: Acknowledgement::default(),
            standing: Mutex::new(None),
        }
    }

    pub(crate) async fn open(&self, opening: &Opening<'_>) -> Result<StreamableExchange, Error> {
        let mut way = self.shared.way();
        let id = way.link.next_id();
        let body = opening.body(&id)?;
        let handshake = opening.unannounced;
        let mut guard = if handshake {
            Guard::silent(&self.cancellations)
        } else {
            Guard::new(&self.cancellations, &way, &id)
        };
        let response = way.post(body).await.map_err(|error| {
            guard.disarm();
            self.shared.judge(&way, error)
        })?;
        if handshake {
            let session = SessionId::of(response.headers())?;
            self.shared.change(|way| way.session = session);
            way = self.shared.way();
        }
        let answer = Answer::new(&way, response).inspect_err(|_| guard.disarm())?;
        let sorter = Sorter { id, ears: Arc::clone(&self.ears) };
        Ok(StreamableExchange { answer, sorter, guard, shared: Arc::clone(&self.shared) })
    }

    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        let way = self.shared.way();
        let response =
            way.post(Bytes::from(message)).await.map_err(|error| self.shared.judge(&way, error))?;
        self.acknowledgement.take(&response);
        Ok(())
    }

    pub(crate) fn agreed(&self, revision: Revision) {
        self.shared.change(|way| way.revision = Some(revision));
    }

    pub(crate) fn listen(&self) {
        let standing = Standing::open(Arc::clone(&self.shared), Arc::clone(&self.ears));
        *lock(&self.standing) = Some(standing);
    }

    /// Waits until nothing is missed that the server says of its own accord: what it says while it has no stream
    /// to say it on is lost. One that does not answer in time is listened to nevertheless.
    pub(crate) async fn listening(&self) {
        let mut listening = self.shared.listening.subscribe();
        let patience = self.shared.way().link.limits().stream_time;
        // The sender lives as long as `self`, and what counts is that no more is waited for.
        let _ = timeout(patience, listening.wait_for(|listening| *listening)).await;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.shared.end.is_set()
    }

    pub(crate) fn over(&self) -> Over {
        self.shared.over()
    }

    /// Tells the server that the session is no longer needed. It may not want to know.
    pub(crate) async fn close(&self) {
        if let Some(goodbye) = self.goodbye() {
            goodbye.await;
        }
    }

    /// Ends the session on this side; what the server is told then, if it knows of a session.
    fn goodbye(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        drop(lock(&self.standing).take());
        let way = self.shared.way();
        let known = way.session.is_some() && !self.is_over();
        self.shared.end.set();
        let cancellations = Arc::clone(&self.cancellations);
        known.then_some(async move {
            let goodbye = async {
                cancellations.sent().await;
                way.delete().await
            };
            match timeout(GOODBYE, goodbye).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "the server does not end a session that it is asked to")
                }
                Err(_) => tracing::debug!("the server did not take note of the end of the session in time"),
            }
        })
    }
}

// Nobody can wait for it here; a server that does not hear of it keeps the session until it is tired of it.
impl Drop for StreamableHttp {
    fn drop(&mut self) {
        if let Some(goodbye) = self.goodbye() {
            self.cancellations.runtime().spawn(goodbye);
        }
    }
}

/// One request in a session over Streamable HTTP.
pub(crate) struct StreamableExchange {
    answer: Answer,
    sorter: Sorter,
    guard: Guard,
    shared: Arc<Shared>,
}

impl StreamableExchange {
    pub(crate) async fn next(&mut self) -> Result<Said, Error> {
        let said = self.until_said().await;
        if let Ok(Said::Progress(_) | Said::Log(_)) = said {
            return said;
        }
        self.guard.disarm();
        for message in self.answer.rest() {
            hear(&self.sorter.ears, &message);
        }
        said
    }

    async fn until_said(&mut self) -> Result<Said, Error> {
        loop {
            let message = self.answer.next().await.inspect_err(|error| {
                if error.kind() == Kind::Lost && self.answer.way().is_lost(error) {
                    self.shared.set_over();
                }
            })?;
            if let Some(said) = self.sorter.read(&message)? {
                return Ok(said);
            }
        }
    }
}
