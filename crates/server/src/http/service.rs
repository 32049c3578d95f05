//! The way of one request: is it for us, read it, decode it, run it, answer it.
//!
//! Generic over the body only; everything after the bytes are there is compiled once.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::EXPECT;
use http::request::Parts;
use http::{Request, Response};
use switchboard_protocol::ProtocolError;
use switchboard_protocol::http::classify::{self, Claim, Post};
use tokio::sync::watch;

use super::body::Body;
use super::checks::Allowed;
use super::collect::{CollectError, collect};
use super::stream::EventStream;
use super::{Http, answer};
use crate::call::{self, Call};
use crate::exchange::{Dispatch, Exchange, ExchangeEvent, ListenRequest};
#[cfg(feature = "legacy")]
use crate::legacy::http::{Places, Received};
use crate::listen::{ListenStream, Slot, Slots};
use crate::server::Server;

/// The server as a tower service. Cloning costs one reference count.
///
/// It serves any request body and needs a tokio runtime with time enabled. What layers put into the
/// request's extensions reaches the handler, and so do the request's parts (`http::request::Parts`).
#[derive(Clone)]
pub struct HttpService {
    inner: Arc<Inner>,
}

struct Inner {
    server: Server,
    allowed: Allowed,
    path: Option<String>,
    exchanges: Slots,
    closing: watch::Sender<bool>,
    #[cfg(feature = "legacy")]
    legacy: Option<crate::legacy::http::Legacy>,
    /// No modern request is served.
    #[cfg(feature = "legacy")]
    is_legacy: bool,
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("server", &self.inner.server).finish_non_exhaustive()
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.answer(request)
    }
}

impl HttpService {
    pub(super) fn new(http: Http) -> Self {
        let limits = http.server.limits();
        let closing = watch::Sender::new(false);
        #[cfg(feature = "legacy")]
        let legacy = crate::legacy::http::Legacy::new(&http, closing.clone());
        let inner = Inner {
            exchanges: Slots::new(limits.concurrent_exchanges),
            server: http.server,
            allowed: http.allowed,
            path: http.path,
            closing,
            #[cfg(feature = "legacy")]
            is_legacy: legacy.as_ref().is_some_and(crate::legacy::http::Legacy::is_all),
            #[cfg(feature = "legacy")]
            legacy,
        };
        Self { inner: Arc::new(inner) }
    }

    /// As the tower service does, through a shared reference.
    pub(crate) fn answer<B>(&self, request: Request<B>) -> Answering
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
    {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { Ok(respond(&inner, request).await) })
    }

    /// Ends every open subscription with its result, and each later one right after its
    /// acknowledgement, and the streams of sessions that belong to no request: the first step of a graceful
    /// shutdown, before connections are drained.
    pub fn end_subscriptions(&self) {
        self.inner.closing.send_replace(true);
    }

    /// Drops what sessions still run without a connection, once connections are drained.
    #[cfg(feature = "legacy")]
    pub(crate) async fn end_sessions(&self) {
        if let Some(legacy) = &self.inner.legacy {
            legacy.end().await;
        }
    }
}

/// What a request leads to.
enum Step {
    Answer(Response<Body>),
    Run(Exchange),
    Listen(ListenRequest),
    /// A message of the legacy era.
    #[cfg(feature = "legacy")]
    Legacy(Parts),
}

async fn respond<B>(inner: &Inner, request: Request<B>) -> Response<Body>
where
    B: http_body::Body,
{
    let (parts, body) = request.into_parts();
    #[cfg(feature = "legacy")]
    let mut is_legacy = inner.is_legacy;
    if let Some(refused) = inner.refuse(&parts) {
        #[cfg(not(feature = "legacy"))]
        return refused;
        #[cfg(feature = "legacy")]
        match inner.reconsider(&parts, refused) {
            Ok(()) => is_legacy = true,
            Err(answer) => return *answer,
        }
    }
    let limits = inner.server.limits();
    if body.size_hint().lower() > limits.body_bytes as u64 {
        // No slot is held for a body that is thrown away. Who waits for a go-ahead gets the refusal in its
        // place, and has sent nothing that would have to be read first.
        if !parts.headers.contains_key(EXPECT) {
            let _ = collect(body, limits.body_bytes, limits.read_timeout).await;
        }
        return answer::no_body(CollectError::TooLarge, limits.body_bytes);
    }
    let Some(slot) = inner.exchanges.take() else {
        #[cfg(feature = "legacy")]
        return Box::pin(inner.beside(parts, body, is_legacy)).await;
        #[cfg(not(feature = "legacy"))]
        return full();
    };
    let body = match collect(body, limits.body_bytes, limits.read_timeout).await {
        Ok(body) => body,
        Err(error) => return answer::no_body(error, limits.body_bytes),
    };
    #[cfg(feature = "legacy")]
    let step = if is_legacy { Step::Legacy(parts) } else { inner.start(parts, &body) };
    #[cfg(not(feature = "legacy"))]
    let step = inner.start(parts, &body);
    match step {
        Step::Answer(response) => response,
        Step::Run(exchange) => inner.run(exchange, slot).await,
        Step::Listen(request) => inner.listen(request),
        #[cfg(feature = "legacy")]
        Step::Legacy(parts) => inner.legacy(parts, &body, slot).await,
    }
}

impl Inner {
    /// What the head alone says against a request.
    fn refuse(&self, parts: &Parts) -> Option<Response<Body>> {
        if let Some(path) = self.path.as_deref().filter(|path| !is_at(path, parts.uri.path())) {
            return Some(answer::not_here(path));
        }
        let checked =
            self.allowed.check(parts).and_then(|()| classify::check_head(&parts.method, &parts.headers));
        checked.err().map(|refusal| answer::refusal(&refusal))
    }

    /// The headers say how to read the body in one pass. Whatever is unusual about either is read again by
    /// `explain`, which knows in which order to complain.
    fn start(&self, mut parts: Parts, body: &Bytes) -> Step {
        let Some(claim) = Claim::read(&parts.headers) else { return self.start_unclaimed(parts, body) };
        let extensions = std::mem::take(&mut parts.extensions);
        match Call::decode_as(claim.method, body, extensions) {
            Ok(mut call) if claim.holds(call.method, call.meta.revision, call.name()) => {
                drop(claim);
                call.extensions.insert(parts);
                self.dispatch(call)
            }
            Ok(_) => explain(&parts, body, None),
            Err(fault) => explain(&parts, body, Some(fault)),
        }
    }

    #[cold]
    #[cfg_attr(
        not(feature = "legacy"),
        expect(clippy::needless_pass_by_value, reason = "the legacy era goes on with it")
    )]
    fn start_unclaimed(&self, parts: Parts, body: &Bytes) -> Step {
        #[cfg(feature = "legacy")]
        if self.legacy.as_ref().is_some_and(|legacy| legacy.takes(&parts, body)) {
            return Step::Legacy(parts);
        }
        explain(&parts, body, None)
    }

    fn dispatch(&self, call: Call) -> Step {
        let id = call.id.clone();
        match self.server.dispatch(call) {
            Dispatch::Ready(reply) => Step::Answer(answer::reply(reply, &id)),
            Dispatch::Running(exchange) => Step::Run(exchange),
            Dispatch::Listen(request) => Step::Listen(request),
        }
    }

    /// Whether a request that is refused by its head is one of the legacy era, of which the body is to be
    /// read.
    #[cfg(feature = "legacy")]
    #[cold]
    fn reconsider(&self, parts: &Parts, refused: Response<Body>) -> Result<(), Box<Response<Body>>> {
        let Some(legacy) = &self.legacy else { return Err(Box::new(refused)) };
        self.allowed.check(parts).map_err(|refusal| Box::new(answer::refusal(&refusal)))?;
        legacy.head(parts, self.path.as_deref(), refused)
    }

    #[cfg(feature = "legacy")]
    async fn legacy(&self, parts: Parts, body: &Bytes, slot: Slot) -> Response<Body> {
        let places = Places { own: Some(slot), all: &self.exchanges };
        let received = Received { parts, body, places };
        match &self.legacy {
            Some(legacy) => Box::pin(legacy.post(received, self.path.as_deref())).await,
            None => answer::accepted(),
        }
    }

    /// Where every place is taken, what may free one is read nevertheless: answers and cancellations of
    /// sessions. What wants to run gets a place that has become free meanwhile, or none.
    #[cfg(feature = "legacy")]
    #[cold]
    async fn beside<B: http_body::Body>(&self, parts: Parts, body: B, is_legacy: bool) -> Response<Body> {
        let Some(legacy) = &self.legacy else { return full() };
        let Some(_place) = legacy.beside(&parts, self.path.as_deref()) else { return full() };
        let limits = self.server.limits();
        let body = match collect(body, limits.body_bytes, limits.read_timeout).await {
            Ok(body) => body,
            Err(error) => return answer::no_body(error, limits.body_bytes),
        };
        let is_claimed = || Claim::read(&parts.headers).is_some();
        if !is_legacy && (is_claimed() || !legacy.takes(&parts, &body)) {
            return full();
        }
        let places = Places { own: None, all: &self.exchanges };
        let received = Received { parts, body: &body, places };
        legacy.post(received, self.path.as_deref()).await
    }

    /// Runs a handler to its end, or up to the moment when its answer becomes an event stream.
    async fn run(&self, mut exchange: Exchange, slot: Slot) -> Response<Body> {
        let interval = self.server.limits().keep_alive;
        let mut silence = None;
        let event = poll_fn(|cx| match exchange.poll_event(cx) {
            Poll::Ready(event) => Poll::Ready(Some(event)),
            Poll::Pending => {
                let silence = silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(interval)));
                silence.as_mut().poll(cx).map(|()| None)
            }
        });
        match event.await {
            Some(ExchangeEvent::Reply(reply)) => answer::reply(reply, &exchange.id),
            Some(ExchangeEvent::Notification(first)) => {
                answer::events(EventStream::exchange(exchange, Some(first), (slot, interval)))
            }
            // Whatever is between us and the client would take a longer silence for death.
            None => answer::events(EventStream::exchange(exchange, None, (slot, interval))),
        }
    }

    fn listen(&self, request: ListenRequest) -> Response<Body> {
        let Some(slot) = self.server.listens().take() else { return answer::busy("open subscriptions") };
        let mut closing = self.closing.subscribe();
        let end = async move {
            // An error means that the service is gone, which is an end as well.
            let _ = closing.wait_for(|closing| *closing).await;
        };
        let stream = ListenStream::open(request, &**self.server.bus(), end);
        answer::events(EventStream::listen(stream, (slot, self.server.limits().keep_alive)))
    }
}

#[cold]
fn full() -> Response<Body> {
    answer::busy("requests at the same time")
}

/// Whether a path is the endpoint: with a slash behind it and without, since a redirect from one to the other
/// loses the body or the credentials with many clients.
fn is_at(endpoint: &str, path: &str) -> bool {
    let unslashed = |path: &str| path.strip_suffix('/').unwrap_or(path).len();
    endpoint == path || endpoint[..unslashed(endpoint)] == path[..unslashed(path)]
}

/// What is wrong with a message whose head is in order; nothing, where it is a notification.
#[cold]
fn explain(parts: &Parts, body: &Bytes, fault: Option<call::Refusal>) -> Step {
    let id = match classify::classify(&parts.headers, body) {
        Ok(Post::Notification(_)) => return Step::Answer(answer::accepted()),
        Ok(Post::Request(frame)) => frame.id,
        Err(refusal) => return Step::Answer(answer::refusal(&refusal)),
    };
    // The headers are in order and so is the envelope: what is left are the parameters.
    let fault = fault.unwrap_or_else(|| call::Refusal {
        id: Some(id),
        error: ProtocolError::header_mismatch("Header mismatch: the headers do not describe the body"),
    });
    let refusal = classify::Refusal { status: fault.http_status(), id: fault.id, error: fault.error };
    Step::Answer(answer::refusal(&refusal))
}
