//! Cancellation: in a session it is a message of its own, since a stream that closes says nothing
//! [spec: basic/utilities/cancellation].

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::RequestId;
use switchboard_protocol::frame;
use switchboard_protocol::model::notification::{Cancelled, name};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::way::Way;

/// Cancellations under way at a time. A server that does not take them hears of no more.
const AT_A_TIME: u32 = 32;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends cancellations in the background.
pub(super) struct Cancellations {
    permits: Arc<Semaphore>,
    runtime: Handle,
}

impl Cancellations {
    /// Only within a runtime, which they run on.
    pub(super) fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(AT_A_TIME as usize)), runtime: Handle::current() }
    }

    /// Where what nobody waits for is done.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    fn send(&self, way: Arc<Way>, id: &RequestId) {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            tracing::warn!("too many cancellations are under way; the server is not told of another one");
            return;
        };
        let cancelled =
            Cancelled { request_id: id.clone(), reason: Some("nobody waits for it".into()), meta: None };
        let mut message = Vec::new();
        if frame::encode_notification(&mut message, name::CANCELLED, Some(&cancelled)).is_err() {
            return;
        }
        self.runtime.spawn(async move {
            if let Ok(Err(error)) = timeout(PATIENCE, way.post(Bytes::from(message))).await {
                tracing::debug!(%error, "the server took no note of a cancellation");
            }
            drop(permit);
        });
    }

    /// Waits until none is under way.
    pub(super) async fn sent(&self) {
        drop(self.permits.acquire_many(AT_A_TIME).await);
    }
}

/// Tells the server when it is dropped before the request has ended.
pub(super) struct Guard {
    cancellations: Arc<Cancellations>,
    request: Option<(Arc<Way>, RequestId)>,
}

impl Guard {
    pub(super) fn new(cancellations: &Arc<Cancellations>, way: &Arc<Way>, id: &RequestId) -> Self {
        Self { cancellations: Arc::clone(cancellations), request: Some((Arc::clone(way), id.clone())) }
    }

    /// For a request that cannot be cancelled.
    pub(super) fn silent(cancellations: &Arc<Cancellations>) -> Self {
        Self { cancellations: Arc::clone(cancellations), request: None }
    }

    /// The request has ended.
    pub(super) fn disarm(&mut self) {
        self.request = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some((way, id)) = self.request.take() {
            self.cancellations.send(way, &id);
        }
    }
}
