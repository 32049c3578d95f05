//! Clocks that stop while a person is asked: the server waits for an answer then, not this client for the
//! server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// When the clocks of a session's requests stood still.
#[derive(Default)]
pub(crate) struct Pauses {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// How many questions are being asked.
    asking: usize,
    since: Option<Instant>,
    /// All pauses that are over.
    past: Duration,
}

/// The clocks of one request, as far as they stand still.
pub(crate) struct RequestPauses {
    pauses: Arc<Pauses>,
    /// How long all clocks had stood still when the request began, and when it was heard of last.
    began: Duration,
    heard: Duration,
}

impl RequestPauses {
    pub(super) fn new(pauses: &Arc<Pauses>) -> Self {
        let now = pauses.so_far();
        Self { pauses: Arc::clone(pauses), began: now, heard: now }
    }

    pub(crate) fn heard(&mut self) {
        self.heard = self.pauses.so_far();
    }

    /// How long the clocks stood still since the request began.
    pub(crate) fn in_all(&self) -> Duration {
        self.pauses.so_far().saturating_sub(self.began)
    }

    /// Waits until one of the clocks is over and gives its length: the one for silence, the one for the whole.
    pub(crate) async fn over(&self, clocks: [(Option<Instant>, Duration); 2]) -> Duration {
        let [(silence, idle), (whole, total)] = clocks;
        tokio::select! {
            biased;
            () = self.until(whole, self.began) => total,
            () = self.until(silence, self.heard) => idle,
        }
    }

    async fn until(&self, deadline: Option<Instant>, before: Duration) {
        match deadline {
            Some(deadline) => self.pauses.until(deadline, before).await,
            // A time beyond what a clock can hold never comes.
            None => std::future::pending().await,
        }
    }
}

/// The clocks stand still as long as this lives.
pub(super) struct Pause(Arc<Pauses>);

impl Pauses {
    // No code of others runs under the lock, so a poisoned one is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pause(self: &Arc<Self>) -> Pause {
        let mut state = self.lock();
        state.asking += 1;
        state.since.get_or_insert_with(Instant::now);
        drop(state);
        self.changed.notify_waiters();
        Pause(Arc::clone(self))
    }

    /// How long all clocks together stood still until now.
    fn so_far(&self) -> Duration {
        let state = self.lock();
        state.past + state.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// Waits until the clocks have come to `deadline`, which was set when they had stood still for `before`.
    async fn until(&self, deadline: Instant, before: Duration) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is read, so that no change is missed in between.
            changed.as_mut().enable();
            let target = {
                let state = self.lock();
                match state.since {
                    Some(_) => None,
                    None => deadline.checked_add(state.past.saturating_sub(before)),
                }
            };
            match target {
                Some(target) => {
                    tokio::select! {
                        () = sleep_until(target) => {
                            if self.lock().since.is_none() {
                                return;
                            }
                        }
                        () = changed => {}
                    }
                }
                // They stand still, or the time is beyond what a clock can hold.
                None => changed.await,
            }
        }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        {
            let mut state = self.0.lock();
            state.asking = state.asking.saturating_sub(1);
            if state.asking == 0
                && let Some(since) = state.since.take()
            {
                state.past += since.elapsed();
            }
        }
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::Pauses;

    #[tokio::test(start_paused = true)]
    async fn a_deadline_moves_by_the_pauses_and_by_nothing_else() {
        let second = Duration::from_secs(1);
        let pauses = Arc::new(Pauses::default());
        // One that is over before the clock starts.
        let early = pauses.pause();
        advance(3 * second).await;
        drop(early);
        let started = Instant::now();
        let waiting = tokio::spawn({
            let pauses = Arc::clone(&pauses);
            let before = pauses.so_far();
            async move { pauses.until(started + 10 * second, before).await }
        });
        tokio::task::yield_now().await;
        advance(4 * second).await;
        let (first, second_one) = (pauses.pause(), pauses.pause());
        advance(60 * second).await;
        drop(first);
        advance(40 * second).await;
        drop(second_one);
        waiting.await.unwrap();
        assert_eq!(started.elapsed(), 110 * second);
        assert_eq!(pauses.so_far(), 103 * second);
    }
}
