//! Waiting, as a seam: tests decide when time has passed.

use std::time::Duration;

use futures_core::future::BoxFuture;

/// Waits for a span of time.
pub trait Timer: Send + Sync {
    /// A future that is ready once `duration` has passed.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The runtime's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
