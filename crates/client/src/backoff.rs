//! Waits that grow and scatter, so that many clients of one server do not come back at once.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    failures: u32,
}

impl Backoff {
    pub(crate) fn new(first: Duration) -> Self {
        Self { first, failures: 0 }
    }

    /// All is well again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// How long to wait now: between half of and the whole time, which doubles.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = self.first.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        whole / 2 + (whole / 2).mul_f64(fraction())
    }
}

/// A number from 0 to 1 that differs from process to process and from call to call. The hasher's
/// random keys are random enough to scatter clients.
fn fraction() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 32;
    f64::from(u32::try_from(bits).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Backoff, LONGEST};

    #[test]
    fn waits_grow_to_a_bound_and_start_over_after_a_reset() {
        let mut backoff = Backoff::new(Duration::from_millis(500));
        for whole in [500, 1000, 2000, 4000] {
            let wait = backoff.next();
            let whole = Duration::from_millis(whole);
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} of {whole:?}");
        }
        for _ in 0..100 {
            assert!(backoff.next() <= LONGEST);
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(500));
    }
}
