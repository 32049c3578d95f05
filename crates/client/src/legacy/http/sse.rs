//! HTTP+SSE: an event stream on which everything comes, and an address where messages are sent
//! [spec: basic/transports, HTTP with SSE].
//!
//! The stream is the session: it ends with it. The first event says where messages go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use switchboard_protocol::frame::{Frame, NotificationFrame, ResponseFrame, answers_in};
use switchboard_protocol::model::notification::name;
use switchboard_protocol::{RequestId, Revision};
use switchboard_sse::DEFAULT_EVENT_NAME;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::batch::split;
use super::cancel::{Cancellations, Guard};
use super::exchange::{hear, progress};
use super::way::Way;
use super::{Acknowledgement, End, GOODBYE, endpoint, forgotten, lock};
use crate::error::{Delivery, Error, Kind, seconds};
use crate::http::HttpLink;
use crate::http::answer::{decode, outcome};
use crate::http::body::EventStream;
use crate::legacy::{Ears, Over};
use crate::link::{Opening, Said};

/// How long a server may take to say where messages are sent, but at most half of the time that it has for
/// its first answer.
const ENDPOINT_TIME: Duration = Duration::from_secs(10);
/// Requests open at a time.
const OPEN: usize = 4096;
/// What may wait for the reader of one request; the last place is kept for the result.
const MAILBOX: usize = 64;
/// Bytes of a message about progress; what is larger is not kept.
const PROGRESS_BYTES: usize = 64 << 10;

/// One session over HTTP+SSE.
pub(crate) struct HttpSse {
    shared: Arc<Shared>,
    cancellations: Arc<Cancellations>,
    acknowledgement: Acknowledgement,
    reader: AbortHandle,
}

struct Shared {
    way: Mutex<Arc<Way>>,
    ears: Arc<Ears>,
    open: Mutex<Open>,
    end: End,
}

#[derive(Default)]
struct Open {
    waiting: HashMap<RequestId, Sender<Result<Said, Error>>>,
    /// Why nothing can be opened any more.
    over: Option<Ended>,
}

/// Why a session has ended.
#[derive(Clone)]
struct Ended {
    kind: Kind,
    why: String,
}

impl Ended {
    fn lost(why: &str) -> Self {
        Self { kind: Kind::Lost, why: why.to_owned() }
    }

    fn error(&self, delivery: Delivery) -> Error {
        let tail = if delivery == Delivery::NotSent { "" } else { "; the request may have been executed" };
        Error::new(self.kind, delivery, format!("{}{tail}", self.why))
    }
}

impl HttpSse {
    /// Opens the stream and waits for the server to say where messages are sent.
    pub(crate) async fn begin(link: &Arc<HttpLink>, ears: &Arc<Ears>) -> Result<Self, Error> {
        let mut way = Way::new(link);
        let patience = link.limits().connect_time;
        let silent = |_| Err(Error::timeout("opening the event stream", patience, false));
        let mut events = timeout(patience, way.get(None)).await.unwrap_or_else(silent)?;
        let patience = ENDPOINT_TIME.min(patience / 2);
        let named = timeout(patience, endpoint_of(&mut events)).await;
        way.url = named.unwrap_or_else(|_| Err(no_endpoint(patience)))?;
        let shared = Arc::new(Shared {
            way: Mutex::new(Arc::new(way)),
            ears: Arc::clone(ears),
            open: Mutex::default(),
            end: End::new(),
        });
        let reader = tokio::spawn(read(Arc::clone(&shared), events)).abort_handle();
        Ok(Self {
            shared,
            cancellations: Arc::new(Cancellations::new()),
            acknowledgement: Acknowledgement::default(),
            reader,
        })
    }

    pub(crate) async fn open(&self, opening: &Opening<'_>) -> Result<SseExchange, Error> {
        let way = self.shared.way();
        let id = way.link.next_id();
        let body = opening.body(&id)?;
        let said = self.shared.expect(&id)?;
        let guard = if opening.unannounced {
            Guard::silent(&self.cancellations)
        } else {
            Guard::new(&self.cancellations, &way, &id)
        };
        let mut exchange = SseExchange { id, said, guard, shared: Arc::clone(&self.shared) };
        match self.post(&way, body).await {
            Ok(()) => Ok(exchange),
            // The answer may be faster than the word that the request has come.
            Err(error) if error.delivery() != Delivery::NotSent && exchange.has_heard() => Ok(exchange),
            Err(error) => {
                exchange.guard.disarm();
                Err(error)
            }
        }
    }

    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        let way = self.shared.way();
        self.post(&way, Bytes::from(message)).await
    }

    async fn post(&self, way: &Way, message: Bytes) -> Result<(), Error> {
        match way.post(message).await {
            Ok(response) => {
                self.acknowledgement.take(&response);
                Ok(())
            }
            // The address was for this session alone, and the server does not know it any more.
            Err(error) if error.http_status() == Some(StatusCode::NOT_FOUND.as_u16()) => {
                let error = forgotten(&error);
                self.reader.abort();
                self.shared.end(&Ended::lost("the server has forgotten the session"));
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn agreed(&self, revision: Revision) {
        Arc::make_mut(&mut lock(&self.shared.way)).revision = Some(revision);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.shared.end.is_set()
    }

    pub(crate) fn over(&self) -> Over {
        self.shared.end.wait()
    }

    /// The end of the stream is the end of the session; there is no message for it.
    pub(crate) async fn close(&self) {
        if timeout(GOODBYE, self.cancellations.sent()).await.is_err() {
            tracing::debug!("the server did not take note of cancellations in time");
        }
        self.reader.abort();
        self.shared.end(&Ended::lost("the session was closed"));
    }
}

impl Drop for HttpSse {
    fn drop(&mut self) {
        self.reader.abort();
        self.shared.end(&Ended::lost("the session was closed"));
    }
}

impl Shared {
    fn way(&self) -> Arc<Way> {
        Arc::clone(&lock(&self.way))
    }

    /// Makes room for what is said about a request.
    fn expect(&self, id: &RequestId) -> Result<Receiver<Result<Said, Error>>, Error> {
        let mut open = lock(&self.open);
        if let Some(over) = &open.over {
            return Err(over.error(Delivery::NotSent));
        }
        if open.waiting.len() >= OPEN {
            return Err(Error::new(
                Kind::Limit,
                Delivery::NotSent,
                format!("{OPEN} requests are in flight already"),
            )
            .hint("wait for one to end"));
        }
        let (tx, rx) = mpsc::channel(MAILBOX);
        open.waiting.insert(id.clone(), tx);
        Ok(rx)
    }

    /// Ends everything that is open.
    fn end(&self, why: &Ended) {
        let waiting = {
            let mut open = lock(&self.open);
            open.over.get_or_insert_with(|| why.clone());
            std::mem::take(&mut open.waiting)
        };
        for (_, said) in waiting {
            // One place is always free for the end.
            let _ = said.try_send(Err(why.error(Delivery::MaybeExecuted)));
        }
        self.end.set();
    }

    fn take(&self, message: &[u8]) {
        match Frame::decode(message) {
            Ok(Frame::Response(response)) => self.take_response(response),
            Ok(Frame::Notification(notification)) if notification.method == name::PROGRESS => {
                self.take_progress(&notification, message.len());
            }
            Ok(frame) => self.ears.hear(frame),
            Err(_) => self.take_refused(message),
        }
    }

    /// Whoever waits for an answer that is no message learns of it; what else is none is for nobody.
    fn take_refused(&self, message: &[u8]) {
        let mut found = false;
        for id in answers_in(message) {
            if let Some(said) = lock(&self.open).waiting.remove(&id)
                && let Err(fault) = decode(message)
            {
                let _ = said.try_send(Err(fault));
                found = true;
            }
        }
        if !found {
            hear(&self.ears, message);
        }
    }

    fn take_response(&self, response: ResponseFrame<'_>) {
        let id = response.id.clone();
        let waiting = id.and_then(|id| lock(&self.open).waiting.remove_entry(&id));
        let Some((id, said)) = waiting else { return self.ears.hear(Frame::Response(response)) };
        if let Ok(result) = &response.outcome {
            self.ears.open_by(result);
        }
        let _ = said.try_send(outcome(response, &id));
    }

    fn take_progress(&self, notification: &NotificationFrame<'_>, bytes: usize) {
        let Some(progress) = progress(notification).filter(|_| bytes <= PROGRESS_BYTES) else { return };
        let open = lock(&self.open);
        // The one place that is left is for the end. Progress that nobody takes is no loss.
        if let Some(said) = open.waiting.get(&progress.progress_token.0)
            && said.capacity() > 1
        {
            let _ = said.try_send(Ok(Said::Progress(progress)));
        }
    }
}

/// One request in a session over HTTP+SSE.
pub(crate) struct SseExchange {
    id: RequestId,
    said: Receiver<Result<Said, Error>>,
    guard: Guard,
    shared: Arc<Shared>,
}

impl SseExchange {
    pub(crate) async fn next(&mut self) -> Result<Said, Error> {
        let said = self.said.recv().await;
        let said = said.unwrap_or_else(|| Err(Error::server_fault("the exchange had ended before")));
        if !matches!(said, Ok(Said::Progress(_))) {
            self.guard.disarm();
        }
        said
    }

    fn has_heard(&self) -> bool {
        !self.said.is_empty()
    }
}

impl Drop for SseExchange {
    fn drop(&mut self) {
        lock(&self.shared.open).waiting.remove(&self.id);
    }
}

fn no_endpoint(waited: Duration) -> Error {
    let waited = seconds(waited);
    let message = format!(
        "the server opened an event stream, but did not say within {waited} where messages are sent \
         (the endpoint event)"
    );
    Error::new(Kind::Timeout, Delivery::NotSent, message)
        .hint("check that the address is that of an MCP endpoint")
}

/// Waits for the event that says where messages are sent.
async fn endpoint_of(events: &mut EventStream) -> Result<url::Url, Error> {
    while let Some(event) = events.next().await? {
        match event.name() {
            "endpoint" => return endpoint::resolve(events.response().url(), &event.data),
            DEFAULT_EVENT_NAME => {
                return Err(Error::server_fault(
                    "the server sent a message before it said where messages are sent (the endpoint event)",
                ));
            }
            _ => {}
        }
    }
    Err(Error::server_fault("the server ended the event stream before it said where messages are sent"))
}

/// Reads the stream to its end, which is the end of the session.
async fn read(shared: Arc<Shared>, mut events: EventStream) {
    let why = loop {
        match events.next().await {
            Ok(Some(event)) if event.name() == DEFAULT_EVENT_NAME => {
                let way = shared.way();
                for message in split(event.data, way.batches()) {
                    way.link.tap().received(&message);
                    shared.take(&message);
                }
                // A server that floods this stream must not keep everything else from running.
                tokio::task::yield_now().await;
            }
            Ok(Some(event)) => {
                tracing::debug!(event = %crate::error::excerpt(event.name()), "an event that is no message; ignored");
            }
            Ok(None) => {
                let unfinished = events.unfinished().map(|piece| split(piece, shared.way().batches()));
                unfinished.into_iter().flatten().for_each(|message| shared.take(&message));
                break Ended::lost("the server ended the event stream of the session");
            }
            Err(error) if error.kind() == Kind::Lost => {
                break Ended::lost("the event stream of the session broke off");
            }
            Err(error) => break Ended { kind: error.kind(), why: error.cause().to_owned() },
        }
    };
    shared.end(&why);
}
