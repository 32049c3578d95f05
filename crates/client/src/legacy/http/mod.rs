//! Sessions over HTTP: one endpoint for everything, or an event stream beside an address for messages.
//!
//! `streamable` is Streamable HTTP, `sse` the HTTP+SSE of before it. Both send messages along a `way`, which
//! knows what goes on every request of the session. What comes back for one request is an `answer`, which
//! takes a broken stream up again where it was; `standing` is the stream that belongs to no request.
//! `exchange` sorts messages, `batch` takes several out of one array, `id` holds what the server gave to be sent back, `endpoint` resolves where an
//! HTTP+SSE server wants its messages, `cancel` tells the server that nobody waits any more.
//!
//! Redirects, TLS and the host's headers are those of [`crate::http`].

mod answer;
mod batch;
mod cancel;
mod endpoint;
mod exchange;
mod id;
mod sse;
mod standing;
mod streamable;
mod way;

pub(crate) use sse::{HttpSse, SseExchange};
pub(crate) use streamable::{StreamableExchange, StreamableHttp};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::Over;
use crate::error::{Delivery, Error, Kind};

/// How long the last words to a server may take.
const GOODBYE: Duration = Duration::from_secs(2);

// No code of others runs under the locks of these sessions, so a poisoned one is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a session has ended.
struct End(watch::Sender<bool>);

impl End {
    fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    fn set(&self) {
        self.0.send_replace(true);
    }

    fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    fn wait(&self) -> Over {
        let mut ended = self.0.subscribe();
        // Where the carrier is gone, so is its session.
        Box::pin(async move { drop(ended.wait_for(|ended| *ended).await) })
    }
}

/// Servers take note of a message in several ways; that one of them does it otherwise than the
/// specification says is told once.
#[derive(Default)]
struct Acknowledgement(AtomicBool);

impl Acknowledgement {
    fn take(&self, response: &reqwest::Response) {
        let status = response.status();
        if status != http::StatusCode::ACCEPTED && !self.0.swap(true, Ordering::Relaxed) {
            tracing::debug!(
                status = status.as_u16(),
                "the server takes note of messages with another status than 202"
            );
        }
    }
}

/// The server does not know the session any more, so it did not carry anything out in it.
fn forgotten(error: &Error) -> Error {
    let lost = Error::new(
        Kind::Lost,
        Delivery::NotSent,
        format!("the server has forgotten the session: {}", error.cause()),
    )
    .hint("send it again; the client opens a new session");
    match error.http_status() {
        Some(status) => lost.status(status, None),
        None => lost,
    }
}
