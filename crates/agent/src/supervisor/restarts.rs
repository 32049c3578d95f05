//! How often a server that ended is started again, and how long after. Knows no clock: whoever asks says what time it is.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// The budget of restarts and the waits between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// So many restarts of a program within [`within`](Self::within). Default 5. A server at an address, which costs
    /// nothing while it is away, is tried for ever.
    pub most: usize,
    /// The time over which they are counted. Default 5 min.
    pub within: Duration,
    /// The first wait; it doubles with every failure. Default 500 ms.
    pub first_wait: Duration,
    /// The longest wait. Default 60 s.
    pub longest_wait: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            most: 5,
            within: Duration::from_secs(5 * 60),
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
        }
    }
}

/// The restarts of one server so far.
#[derive(Debug)]
pub(super) struct Restarts {
    policy: RestartPolicy,
    bounded: bool,
    times: VecDeque<Instant>,
    failures: u32,
    /// From 0 to 1.
    scatter: fn() -> f64,
}

impl Restarts {
    pub(super) fn new(policy: RestartPolicy, bounded: bool) -> Self {
        Self { policy, bounded, times: VecDeque::new(), failures: 0, scatter }
    }

    /// How long to wait until the next start; `None` if the budget is spent.
    pub(super) fn next(&mut self, now: Instant) -> Option<Duration> {
        while self.times.front().is_some_and(|time| now.duration_since(*time) > self.policy.within) {
            self.times.pop_front();
        }
        if self.bounded && self.times.len() >= self.policy.most {
            return None;
        }
        // Where nothing is bounded, what is counted would only grow.
        if self.bounded {
            self.times.push_back(now);
        }
        let doubled = self.policy.first_wait.saturating_mul(2_u32.saturating_pow(self.failures));
        let whole = doubled.min(self.policy.longest_wait);
        self.failures = self.failures.saturating_add(1);
        Some(whole / 2 + (whole / 2).mul_f64((self.scatter)()))
    }

    /// It has worked for a while: the next wait is short again. The budget is not touched.
    pub(super) fn worked(&mut self) {
        self.failures = 0;
    }

    /// Somebody who knows better starts it.
    pub(super) fn forgive(&mut self) {
        self.failures = 0;
        self.times.clear();
    }

    pub(super) fn spent(&self) -> String {
        let (most, minutes) = (self.policy.most, self.policy.within.as_secs().div_ceil(60));
        format!("it was started again {most} times within {minutes} min")
    }
}

/// The hasher's random keys are random enough to scatter hosts that start at the same time.
pub(super) fn scatter() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 32;
    f64::from(u32::try_from(bits).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{RestartPolicy, Restarts};

    fn restarts(bounded: bool) -> Restarts {
        let policy = RestartPolicy {
            most: 3,
            within: Duration::from_secs(60),
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(2),
        };
        Restarts { scatter: || 1.0, ..Restarts::new(policy, bounded) }
    }

    fn waits(restarts: &mut Restarts, now: Instant, times: usize) -> Vec<Option<u128>> {
        (0..times).map(|_| restarts.next(now).map(|wait| wait.as_millis())).collect()
    }

    #[test]
    fn waits_double_up_to_a_bound_until_the_budget_is_spent() {
        let (mut restarts, now) = (restarts(true), Instant::now());
        assert_eq!(waits(&mut restarts, now, 4), [Some(500), Some(1000), Some(2000), None]);
        assert!(restarts.spent().contains("3 times within 1 min"));
    }

    #[test]
    fn the_budget_comes_back_with_time_and_the_short_wait_with_work() {
        let (mut restarts, now) = (restarts(true), Instant::now());
        waits(&mut restarts, now, 3);
        let later = now + Duration::from_secs(61);
        restarts.worked();
        assert_eq!(waits(&mut restarts, later, 1), [Some(500)]);
        waits(&mut restarts, later, 2);
        restarts.forgive();
        assert_eq!(waits(&mut restarts, later, 4), [Some(500), Some(1000), Some(2000), None]);
    }

    #[test]
    fn an_address_is_tried_for_ever_and_the_waits_are_scattered() {
        let (mut endless, now) = (restarts(false), Instant::now());
        assert_eq!(waits(&mut endless, now, 9).last(), Some(&Some(2000)));
        let mut scattered = Restarts { scatter: super::scatter, ..restarts(true) };
        let wait = scattered.next(now).unwrap();
        assert!(wait >= Duration::from_millis(250) && wait <= Duration::from_millis(500), "{wait:?}");
    }
}
