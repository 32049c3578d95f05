//! A switch that ends runs from outside, for example when a person presses Ctrl-C.

use std::sync::Arc;

use tokio::sync::watch;

/// Ends the runs of the agents that hold a clone of it. Once triggered it stays so.
///
/// ```
/// use switchboard_agent::Interrupt;
///
/// let interrupt = Interrupt::default();
/// interrupt.clone().trigger();
/// assert!(interrupt.is_triggered());
/// ```
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<watch::Sender<bool>>);

impl Default for Interrupt {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Interrupt {
    /// Ends everything that listens. Calls that run are cancelled at their servers.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was triggered.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it.
    pub async fn triggered(&self) {
        // An error would mean that the sender is gone, but we hold it.
        let _ = self.0.subscribe().wait_for(|triggered| *triggered).await;
    }
}
