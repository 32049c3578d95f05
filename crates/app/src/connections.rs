//! The connections of the listener: bounded in number, in how long a head and a reader may take, and in how long they may
//! stay once everything is to end.
//!
//! Where all places are taken, whoever has shown no login makes room: who has none shuts nobody out. Where to look next:
//! `guard` for what a login is, `body` for how long a body may take.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use switchboard_transport::Stall;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tower_service::Service as _;

/// Connections at the same time. Beyond it, the oldest without a login makes room; where all have one, new ones wait.
pub(crate) const CONNECTIONS: usize = 512;
/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);
/// How long an answer or a stream waits for its reader to take more of it.
const READER: Duration = Duration::from_secs(30);
/// How long what is under way has, once everything is to end.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long to wait where a connection cannot be taken, such as for want of files.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop` is done, and then what is under way, for a while. At most so many `places` are taken at a time.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    places: usize,
    stop: impl Future<Output = ()> + Send,
) {
    let places = Arc::new(Semaphore::new(places));
    let strangers = Arc::new(Strangers::default());
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let taken = tokio::select! {
            taken = async {
                let accepted = listener.accept().await;
                if places.available_permits() == 0 {
                    strangers.make_room();
                }
                // The semaphore is never closed.
                (Arc::clone(&places).acquire_owned().await, accepted)
            } => taken,
            () = &mut stop => break,
        };
        match taken {
            (Ok(place), Ok((stream, _))) => {
                let (visitor, left) = strangers.arrive();
                let connection = graceful.watch(connection(stream, router.clone(), visitor.clone()));
                tokio::spawn(async move {
                    tokio::select! {
                        // Whoever broke off is gone; there is nobody to tell.
                        _ = connection => {}
                        () = left => {}
                    }
                    visitor.is_no_stranger();
                    drop(place);
                });
            }
            (_, Err(error)) => {
                tracing::warn!(%error, "a connection cannot be taken");
                tokio::time::sleep(PAUSE).await;
            }
            (Err(_), Ok(_)) => break,
        }
    }
    drop(listener);
    // Whoever has not ended by then is cut off.
    let _ = tokio::time::timeout(GOODBYE, graceful.shutdown()).await;
}

/// Those who have a connection and have shown no login on it, in the order in which they came.
#[derive(Debug, Default)]
struct Strangers(Mutex<Arrived>);

#[derive(Debug, Default)]
struct Arrived {
    count: u64,
    present: BTreeMap<u64, oneshot::Sender<()>>,
}

impl Strangers {
    /// One more, and what is done once that one is to leave.
    fn arrive(self: &Arc<Self>) -> (Visitor, impl Future<Output = ()> + Send + use<>) {
        let (leave, left) = oneshot::channel();
        let mut arrived = self.lock();
        arrived.count += 1;
        let number = arrived.count;
        arrived.present.insert(number, leave);
        let left = async {
            // Nobody tells who is no stranger any more to leave.
            if left.await.is_err() {
                std::future::pending().await
            }
        };
        (Visitor { number, strangers: Arc::clone(self) }, left)
    }

    /// Sends the oldest away, if there is one.
    fn make_room(&self) {
        let oldest = self.lock().present.pop_first();
        // An error means that it has gone of its own accord.
        oldest.map(|(_, leave)| leave.send(()));
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who has a connection. Each of its requests carries this.
#[derive(Clone, Debug)]
struct Visitor {
    number: u64,
    strangers: Arc<Strangers>,
}

impl Visitor {
    fn is_no_stranger(&self) {
        self.strangers.lock().present.remove(&self.number);
    }
}

/// Behind the check of the login: who came through it keeps the connection.
pub(crate) async fn keep(request: axum::extract::Request, next: Next) -> Response {
    if let Some(visitor) = request.extensions().get::<Visitor>() {
        visitor.is_no_stranger();
    }
    next.run(request).await
}

fn connection<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    router: Router,
    visitor: Visitor,
) -> hyper::server::conn::http1::Connection<
    TokioIo<Stall<S>>,
    impl hyper::service::Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send>,
> {
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(visitor.clone());
        router.clone().call(request.map(Body::new))
    });
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(Stall::new(stream, READER)), service)
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use futures_util::stream;
    use tokio::io::{AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_read_what_is_sent_is_left() {
        let bytes = || Ok::<_, Infallible>(vec![b'x'; 1 << 16]);
        let endless = move || async move { Body::from_stream(stream::repeat_with(bytes)) };
        let router = Router::new()
            .route("/page", get(|| async { vec![b'x'; 1 << 20] }))
            .route("/events", get(endless))
            .route("/short", get(|| async { "short" }));
        for (asked, times) in [("/page", 1), ("/page", 200), ("/events", 1), ("/short", 200)] {
            let (ours, mut theirs) = duplex(1 << 14);
            let requests = format!("GET {asked} HTTP/1.1\r\nhost: x\r\n\r\n").repeat(times);
            theirs.write_all(requests.as_bytes()).await.unwrap();
            let (visitor, _left) = Arc::new(Strangers::default()).arrive();
            let start = Instant::now();
            let ended = connection(ours, router.clone(), visitor).await;
            assert!(ended.is_err(), "{asked}");
            assert_eq!(start.elapsed(), READER, "{asked}");
        }
    }
}
