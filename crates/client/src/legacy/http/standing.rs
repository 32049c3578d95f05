//! The stream that belongs to no request: what the server says of its own accord
//! [spec: basic/transports, Listening for Messages from the Server].
//!
//! A server may have none; then there is nothing to hear. One that breaks off is opened again, for as long as
//! its session lasts.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use switchboard_sse::DEFAULT_EVENT_NAME;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use super::answer::LONGEST_RETRY;
use super::batch::split;
use super::exchange::hear;
use super::id;
use super::streamable::Shared;
use super::way::Way;
use crate::backoff::Backoff;
use crate::http::body::EventStream;
use crate::legacy::Ears;

/// A stream that was open for this long was a good one, even if nothing was said on it.
const GOOD: Duration = Duration::from_secs(30);

/// The task that listens. It ends with this.
pub(super) struct Standing(AbortHandle);

impl Drop for Standing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Standing {
    pub(super) fn open(shared: Arc<Shared>, ears: Arc<Ears>) -> Self {
        let over = shared.over();
        ears.set_deaf(true);
        let task = tokio::spawn(async move {
            tokio::select! {
                () = over => {}
                () = listen(shared, ears) => {}
            }
        });
        Self(task.abort_handle())
    }
}

async fn listen(shared: Arc<Shared>, ears: Arc<Ears>) {
    let way = shared.way();
    let limits = way.link.limits();
    let mut backoff = Backoff::new(limits.reconnect_wait);
    let (mut after, mut retry) = (None::<HeaderValue>, None::<Duration>);
    let (begun, mut was_open) = (Instant::now(), false);
    loop {
        let mut asked = None;
        match way.get(after.as_ref()).await {
            Ok(mut events) => {
                ears.set_deaf(false);
                shared.set_listening();
                if (was_open || begun.elapsed() >= limits.stream_time) && after.is_none() {
                    // Nothing tells the server where to go on, and somebody may have listened meanwhile.
                    ears.gap();
                }
                was_open = true;
                let opened = Instant::now();
                let heard = take_all(&way, &mut events, &ears).await;
                ears.set_deaf(true);
                if heard || opened.elapsed() >= GOOD {
                    backoff.reset();
                }
                after = id::last_event(events.decoder()).or(after);
                retry = events.decoder().retry().or(retry);
            }
            Err(error) if was_open && way.is_lost(&error) => {
                tracing::debug!(%error, "the server has forgotten the session");
                return shared.set_over();
            }
            Err(error) if error.is_transient() => {
                tracing::debug!(%error, "the server's event stream cannot be opened yet");
                asked = error.retry_after();
            }
            // There is none (405), or this client may not have it. Where a session was forgotten before it had
            // such a stream, the next request finds out: a server without one may say 404, too.
            Err(error) => {
                tracing::debug!(%error, "the server has no event stream besides those of its answers");
                if was_open {
                    // What is said from now on is not heard.
                    ears.gap();
                }
                return shared.set_listening();
            }
        }
        // Not earlier than the server asks, and not all clients at once.
        let asked = asked.or(retry).unwrap_or_default().min(LONGEST_RETRY);
        sleep(backoff.next().max(asked)).await;
    }
}

/// Hands on everything that comes until the stream ends. Says whether anything came.
async fn take_all(way: &Way, events: &mut EventStream, ears: &Ears) -> bool {
    let mut heard = false;
    loop {
        match events.next().await {
            Ok(Some(event)) => {
                heard = true;
                if event.name() != DEFAULT_EVENT_NAME {
                    continue;
                }
                for message in split(event.data, way.batches()) {
                    way.link.tap().received(&message);
                    hear(ears, &message);
                }
                // A server that floods this stream must not keep everything else from running.
                tokio::task::yield_now().await;
            }
            Ok(None) => return heard,
            Err(error) => {
                tracing::debug!(%error, "the server's event stream broke off");
                return heard;
            }
        }
    }
}
