//! The time that a run has taken, without the time in which a person was asked.

use std::time::{Duration, Instant};

/// Counts time from one look at a clock to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    active: Duration,
    last: Option<Instant>,
}

impl Clock {
    /// Goes on from what an earlier process counted.
    pub(super) fn resumed(active: Duration) -> Self {
        Self { active, last: None }
    }

    /// Looks at the clock. What has passed since the last look counts, unless a person was waited for.
    pub(super) fn look(&mut self, now: Instant, waited: bool) {
        if let (Some(last), false) = (self.last, waited) {
            self.active += now.saturating_duration_since(last);
        }
        self.last = Some(now);
    }

    pub(super) fn active(&self) -> Duration {
        self.active
    }

    /// When it will have counted this much, if nobody is waited for until then.
    pub(super) fn reaches(&self, limit: Duration) -> Option<Instant> {
        self.last.map(|last| last + limit.saturating_sub(self.active))
    }
}
